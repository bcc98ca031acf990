"""The judgement of one conversation by the rules of the official FDB-v3 scripts, exact mode, as data.

Kept beside our own scorecard so that a published number can be reproduced to the digit, with the known faults of its
rules. The rules themselves are in `metrics/official.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Any

OFFICIAL_SET = "official"
OFFICIAL_VERSION = 1
OFFICIAL_MODE = "exact"

JUDGED_ONLY: Mapping[str, str] = {
    "response_quality": "judged only: the official scripts ask a language model",
    "task_completion_latency_s": "judged only: the official scripts ask a language model for the sentence",
}
"""What exact mode cannot measure, and why."""

OFFICIAL_RULES: Mapping[str, str] = {
    "pass": "no expected call missing, no other call, every argument right; speech is no condition",
    "calls": "those of the official log: executed and failed, never rejected or cancelled ones",
    "pairing": "expected calls in order, each with the first call of its name not used yet",
    "arguments": "texts lower-cased, stripped, _ as space; all else by Python's ==; expected $... takes anything",
    "user_end": "end of the last word before the first gap of more than 2.0 s",
    "turn_taken": "a transcript or recognised words",
    "rounding": "item scores and latencies to 3 decimals before they are averaged",
}
"""The rules behind the numbers, for reports."""

CallVerdict = Literal["match", "mismatch", "missing_argument", "never_called"]
Failure = Literal["wrong_tools", "wrong_arguments"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSelection:
    """Names of expected calls against names of calls made, as multisets; the fractions are rounded to 3 decimals.

    `missing` and `unexpected` are the names left over on either side, in their order.
    """

    matched: int
    expected: int
    actual: int
    recall: float
    precision: float
    f1: float
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """An argument that was given and is not equal to the expected one."""

    argument: str
    expected: Json
    actual: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialCall:
    """One expected call and what came of it: `score` is 1.0 for a match, else 0.0.

    `argument`, `expected` and `actual` tell of the first argument that was missing or differed, in the order in which
    the scenario writes them; None otherwise. `reason` says the same in words. `lacking` and `differing` are all of
    them, for a judge to look at.
    """

    tool: str
    verdict: CallVerdict
    score: float
    reason: str
    argument: str | None = None
    expected: Json = None
    actual: Json = None
    lacking: tuple[str, ...] = ()
    differing: tuple[Differing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialCard:
    """All official scores of one item. Times in seconds from the start of the stream, latencies rounded to 3 decimals.

    `inputs`: `reported` where an official result file was the source of the times and words, else `derived` from our
    own conversation. `response_latency_s` is signed; below 0 it is an `interruption`. The two latencies of the latency
    script count from the user's end to the first recognised word and to the first call of the log. `unmeasured` says
    why a value is None.
    """

    version: int = OFFICIAL_VERSION
    inputs: Literal["reported", "derived"]
    tools: ToolSelection
    calls: tuple[OfficialCall, ...]
    argument_accuracy: float
    passed: bool
    failure: Failure | None
    turn_taken: bool
    user_end_s: float | None
    agent_start_s: float | None
    response_latency_s: float | None
    interruption: bool | None
    first_response_latency_s: float | None
    tool_call_latency_s: float | None
    task_completion_latency_s: float | None = None
    response_quality: float | None = None
    unmeasured: Mapping[str, str] = field(default_factory=dict)
