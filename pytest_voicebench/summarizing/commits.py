"""Self-correction over a run: premature commits, how many were repaired, how fast, and what they left behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_voicebench.result import Result
from pytest_voicebench.scorecard import Scorecard
from pytest_voicebench.summarizing.figures import distribution, rate_of
from pytest_voicebench.summarizing.groups import scored
from pytest_voicebench.summary import Commits


def commits(results: Sequence[Result]) -> Commits:
    """The figures of `Commits` over the valid items with a retraction. What could not be told is in no denominator."""
    rows = scored([r for r in results if r.facts.has_retraction])
    cards = [c for _, c in rows]
    committed = [(r, entries) for r, c in rows if (entries := [e for e in c.rollback if e.commits])]
    repaired = [(r, _all_of(e.repaired for e in entries)) for r, entries in committed]
    left = [(r, _any_of(e.side_effect_left for e in entries)) for r, entries in committed]
    return Commits(
        premature_commit_rate=rate_of((r, bool(c.premature_commits)) for r, c in rows),
        calls=sum(len(c.premature_commits) for c in cards),
        before_correction=rate_of((r, before) for r, c in rows for before in _made_before(c)),
        repaired_rate=rate_of((r, flag) for r, flag in repaired if flag is not None),
        rollback_latency_s=distribution(value for card in cards for value in card.rollback_latencies_s),
        side_effects_left=rate_of((r, flag) for r, flag in left if flag is not None),
    )


def _all_of(flags: Iterable[bool | None]) -> bool | None:
    seen = list(flags)
    return False if False in seen else (None if None in seen else True)


def _any_of(flags: Iterable[bool | None]) -> bool | None:
    seen = list(flags)
    return True if True in seen else (None if None in seen else False)


def _made_before(card: Scorecard) -> list[bool]:
    """For each premature call that can be placed, whether none of the values in it was known to be taken back."""
    heard: dict[int, list[bool | None]] = {}
    for entry in card.rollback:
        for commit in entry.commits:
            heard.setdefault(commit.call, []).append(commit.after_correction)
    known = [_any_of(flags) for flags in heard.values()]
    return [not after for after in known if after is not None]
