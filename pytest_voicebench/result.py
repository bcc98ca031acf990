"""The result of one item as data: outcome, scores, where its evidence lies. One line of results.jsonl."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_voicebench.conversation import AgentInfo, Delivery, TranscriptSource, Withheld
from pytest_voicebench.official_card import OfficialCard
from pytest_voicebench.scorecard import Scorecard

Outcome = Literal["passed", "failed", "error", "skipped", "not_run"]
VALID: tuple[Outcome, ...] = ("passed", "failed")
"""The outcomes of items that were measured."""

ErrorKind = Literal["agent_absent", "infrastructure", "invalid_measurement", "suite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What tables break results down by; copied from the scenario so that a run folder stands alone."""

    suite: str
    kind: str
    stimulus: Literal["synthetic", "human"]
    scenario_id: str
    title: str
    domain: str | None
    difficulty: str | None
    disfluency: tuple[str, ...]
    tags: tuple[str, ...]
    speaker: str | None
    expected_calls: int
    has_retraction: bool
    state_rollback: bool = False
    known_issue: str | None = None
    scenario_sha256: str = ""
    expect_sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One item of one agent. `attempts` holds the outcomes of all attempts, in order, where there were several;
    the score is the first valid one's.

    `scorecard` is None unless the outcome is passed or failed. `official` is given wherever a conversation was held,
    also where the outcome is an error: the official scripts score whatever is there. `folder` is relative to the run
    folder. `trial` counts from 1; None in a run without trials.
    `transcript_source` says on whose words for the agent's voice a score like `mentions` rests; `words_dropped` is None
    where no recogniser listened. `usage` is the provider's, and `session_s` where there was a session. `usd` is what it
    cost (of several attempts: all of them); None where there was no session, and where `usd_unknown` says why nobody
    knows. `withheld` is the conversation's: what of it was not kept; so is
    `delivery`, None where none was held.
    """

    item_id: str
    nodeid: str
    agent: AgentInfo
    facts: Facts
    outcome: Outcome
    error_kind: ErrorKind | None = None
    cause: str | None = None
    scorecard: Scorecard | None = None
    folder: str | None = None
    duration_s: float | None = None
    ended: str | None = None
    warnings: tuple[str, ...] = ()
    attempts: tuple[str, ...] = ()
    usage: Mapping[str, float] = field(default_factory=dict)
    transcript_source: TranscriptSource | None = None
    words_dropped: int | None = None
    taken_from: str | None = None  # run name, after `merge --replace`
    official: OfficialCard | None = None
    usd: float | None = None
    usd_unknown: str | None = None
    trial: int | None = None
    withheld: tuple[Withheld, ...] = ()
    delivery: Delivery | None = None


def score_sets(results: Iterable[Result]) -> list[str]:
    """Which score sets, and which versions of them, made the scores: `voicebench 1`; nothing where nothing has any."""
    return sorted({f"{card.score_set} {card.version}" for row in results if (card := row.scorecard)})
