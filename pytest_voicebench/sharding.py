"""A selection of items cut into shards that take about the same time, for machines that run beside each other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_voicebench.counted import counted
from pytest_voicebench.result import Result

MOST_SHARDS = 1000

_ASKED = re.compile(r"(\d{1,6})/(\d{1,6})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Which part of a selection a run is: `number` counts from 1, of `of`. `selection` is the whole of it as planned,
    in order, by which a merge knows what is missing; `selection_sha256` is its `selection_hash`."""

    number: int
    of: int
    selection: tuple[Result, ...]
    selection_sha256: str

    @property
    def name(self) -> str:
        """`shard 3 of 8`."""
        return f"shard {self.number} of {self.of}"


def parse_shard(text: str) -> tuple[int, int]:
    """Number and count of `3/8`. Raises ValueError, one line."""
    found = _ASKED.fullmatch(text)
    if found is None:
        raise ValueError(f"must be NUMBER/COUNT, as in 3/8, not {text[:40]!r}")
    number, of = int(found[1]), int(found[2])
    if not 1 <= of <= MOST_SHARDS:
        raise ValueError(f"must be NUMBER/COUNT with a count from 1 to {MOST_SHARDS}, not {text!r}")
    if not 1 <= number <= of:
        raise ValueError(f"there is no shard {text}: of {of} they are 1/{of} to {of}/{of}")
    return number, of


def assign(durations_s: Mapping[str, float], shards: int) -> dict[str, int]:
    """Which shard, from 1, each item goes to: the longest item first, each to the shard with the least to do so far.

    Only names and durations decide, on every machine alike. No shard has more to do than another by more than the
    longest item takes (list scheduling, Graham, SIAM J. Appl. Math. 17 (1969) 416-429). Another selection may put any
    item elsewhere.
    """
    loads = dict.fromkeys(range(1, shards + 1), 0)
    found: dict[str, int] = {}
    for name, seconds in sorted(durations_s.items(), key=lambda item: (-item[1], item[0])):
        number = min(loads, key=lambda n: (loads[n], n))
        found[name] = number
        loads[number] += max(1, round(seconds * 1000))  # whole milliseconds add up alike in any order
    return found


def selection_hash(rows: Iterable[Result]) -> str:
    """SHA-256 of what is asked: ids of the items, what they say and what they expect, in any order."""
    lines = sorted(
        f"{r.facts.suite} {r.item_id} {r.trial} {r.facts.scenario_sha256} {r.facts.expect_sha256}\n" for r in rows
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def shard_of(number: int, of: int, selection: Sequence[Result]) -> Shard:
    """A part of this selection."""
    rows = tuple(selection)
    return Shard(number=number, of=of, selection=rows, selection_sha256=selection_hash(rows))


def shard_text(shard: Shard, items: int) -> str:
    """`shard 3 of 8: 13 of 100 items`."""
    return f"{shard.name}: {items} of {counted(len(shard.selection), 'item')}"
