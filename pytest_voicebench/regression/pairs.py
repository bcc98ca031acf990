"""Items of two runs that are one and the same: what can be compared at all, and what cannot, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_voicebench.result import VALID, Result
from pytest_voicebench.scorecard import Scorecard

Key = tuple[str, str, str | None, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One item, measured in both runs, that asks and expects the same in both."""

    before: Result
    after: Result

    @property
    def cluster(self) -> tuple[str, str]:
        """The scenario: its speakers and trials are no independent evidence."""
        return self.after.facts.suite, self.after.facts.scenario_id

    @property
    def cards(self) -> tuple[Scorecard, Scorecard]:
        """The scores before and after."""
        assert self.before.scorecard is not None  # what is VALID was scored
        assert self.after.scorecard is not None
        return self.before.scorecard, self.after.scorecard


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The pairs in order of suite, scenario, speaker and trial; of all other items the ids, in the order of their run.

    `changed`: the scenario or what is expected of it has another hash. `unmeasured`: neither passed nor failed in one
    of the runs.
    """

    pairs: tuple[Pair, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    changed: tuple[str, ...]
    unmeasured: tuple[str, ...]


def key_of(result: Result) -> Key:
    """What makes an item the same in every run: suite, scenario, speaker and trial, whatever its id is."""
    facts = result.facts
    return facts.suite, facts.scenario_id, facts.speaker, result.trial or 1  # the first, where a run has none


def pair_up(before: Sequence[Result], after: Sequence[Result]) -> Paired:
    """The items of one agent in two runs. One that a run has twice is met by none."""
    counts = [Counter(map(key_of, rows)) for rows in (before, after)]
    old = {key_of(row): row for row in before if counts[0][key_of(row)] == 1}
    new = {key_of(row): row for row in after if counts[1][key_of(row)] == 1}
    met = [(old[key], row) for key, row in new.items() if key in old]
    same = [(a, b) for a, b in met if _asks_the_same(a, b)]
    pairs = [Pair(before=a, after=b) for a, b in same if _measured(a) and _measured(b)]
    return Paired(
        pairs=tuple(sorted(pairs, key=lambda pair: _place(key_of(pair.after)))),
        only_before=tuple(row.item_id for row in before if key_of(row) not in new),
        only_after=tuple(row.item_id for row in after if key_of(row) not in old),
        changed=tuple(b.item_id for a, b in met if not _asks_the_same(a, b)),
        unmeasured=tuple(b.item_id for a, b in same if not (_measured(a) and _measured(b))),
    )


def _place(key: Key) -> tuple[str, str, str, int]:
    return key[0], key[1], key[2] or "", key[3]


def _asks_the_same(before: Result, after: Result) -> bool:
    hashes = [(r.facts.scenario_sha256, r.facts.expect_sha256) for r in (before, after)]
    return hashes[0] == hashes[1] and all(hashes[0])


def _measured(row: Result) -> bool:
    return row.outcome in VALID and row.scorecard is not None
