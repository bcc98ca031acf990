"""What an agent did with a value that was taken back, as one sentence for people."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.scorecard import Commit, Rollback
from pytest_voicebench.writers.plain_text import one_line, value_text

UNPLACED = "when the correction was heard cannot be told"


def rollback_sentence(rollback: Rollback) -> str:
    """One sentence: what was taken back, what was called with it and when, the repair, what stayed, what was said.

    Seconds count from the moment when the correction was heard, and are left out where that is unknown. Values are
    escaped and cut, so that the sentence is one line; its length is for the caller to cut.
    """
    deeds = _deeds(rollback)
    if rollback.heard_s is None:
        deeds.append(UNPLACED)
    return f"{retraction_text(rollback)}: {', '.join(deeds)}{_said(rollback)}"


def rollback_sentences(rollbacks: Sequence[Rollback]) -> str:
    """The sentences of all retractions of an item, one after the other; empty where it has none."""
    return "; ".join(map(rollback_sentence, rollbacks))


def retraction_text(rollback: Rollback) -> str:
    """`search_flights destination "Rome" -> "Milan"`; a final value that is a reference to a result has no words."""
    changes = [
        f"{one_line(name)} {value_text(old)} -> {_final(rollback, name)}" for name, old in rollback.retracted.items()
    ]
    return f"{one_line(rollback.tool)} {', '.join(changes)}"


def _final(rollback: Rollback, name: str) -> str:
    if rollback.final is None:
        return "nothing"
    return value_text(rollback.final[name]) if name in rollback.final else "another value"


def _deeds(rollback: Rollback) -> list[str]:
    if not rollback.commits:
        return [_without_commit(rollback)]
    deeds = [
        f"called with the old value{_times(rollback.commits)}{_moment(rollback.commits[0].at_s, rollback.heard_s)}"
    ]
    if rollback.verdict == "repaired":
        deeds.append(_repair(rollback))
    else:
        deeds.append("never repaired")
    if rollback.side_effect_left:
        deeds.append("its side effect stays")
    elif rollback.side_effect_left is None:
        deeds.append("whether a side effect stays cannot be told")
    return deeds


def _repair(rollback: Rollback) -> str:
    """When it was repaired: counted from the correction, or from the first call where that came later."""
    if rollback.commits[0].after_correction and rollback.corrected_s is not None:
        return f"repaired {rollback.corrected_s - rollback.commits[0].at_s:.2f} s later"
    return f"repaired{_moment(rollback.corrected_s, rollback.heard_s)}"


def _without_commit(rollback: Rollback) -> str:
    if rollback.verdict == "no_call":
        return "called with neither the old nor the new value"
    if rollback.corrected is None:
        return "rightly never called"
    return f"only called with the new value{_moment(rollback.corrected_s, rollback.heard_s)}"


def _times(commits: Sequence[Commit]) -> str:
    return "" if len(commits) == 1 else f" {len(commits)} times, first"


def _moment(at_s: float | None, heard_s: float | None) -> str:
    """` 0.77 s before the correction was heard`; ` at 7.15 s` where nobody knows when that was."""
    if at_s is None:
        return ""
    if heard_s is None:
        return f" at {at_s:.2f} s"
    side = "before" if at_s < heard_s else "after"
    return f" {abs(at_s - heard_s):.2f} s {side} the correction was heard"


def _said(rollback: Rollback) -> str:
    """What was heard from the agent; nothing where its words are unknown."""
    old, new = rollback.said_retracted, rollback.said_final
    if old is None and new is None:
        return ""
    told = [name for name, flag in (("the old value", old), ("the new value", new)) if flag]
    return f"; the agent said {' and '.join(told) or 'neither'}"
