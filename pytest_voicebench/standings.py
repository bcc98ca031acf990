"""Agents in order, as data: their places, and which of them cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_voicebench.published import PublishedRow
from pytest_voicebench.summary import AgentSummary

ALPHA = 0.05
"""Two agents are told apart where the corrected p lies below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One agent of one run: its scores over the common items, and its place.

    `place` is the number of agents that passed more, plus 1. `groups`: agents that share a letter cannot be told apart.
    `measured` counts all items that its run measured for it.
    """

    name: str
    run: str
    mode: str
    place: int
    groups: str
    measured: int
    scores: AgentSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Two agents over the common items: `won` only the first passed, `lost` only the second; `p` two-sided, then as
    corrected by Holm over all pairs."""

    first: str
    second: str
    won: int
    lost: int
    p: float
    p_corrected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialRow:
    """An agent by the official rules, over the common items."""

    name: str
    items: int
    passed: int
    f1: float | None
    argument_accuracy: float | None
    turn_take_rate: float | None
    interruption_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """A table of agents. `items` are in every row's figures; `notices` are to be read before them.

    `published` is empty unless the items are as many as the benchmark's, each held once and spoken by people.
    `official` has the same agents by the rules of those figures, where people spoke.
    """

    suites: tuple[str, ...]
    stimulus: str
    items: int
    rows: tuple[Ranked, ...]
    pairings: tuple[Pairing, ...]
    notices: tuple[str, ...]
    official: tuple[OfficialRow, ...] = ()
    published: tuple[PublishedRow, ...] = ()
