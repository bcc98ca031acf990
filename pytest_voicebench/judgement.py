"""What a judge (a language model) said about an item as data: which questions an item has, and one answer to each."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pytest_voicebench.result import Result

Json = Any

Question = Literal["response", "argument", "information"]
"""response: does the speech carry what was asked? argument: do two values mean the same? information: in which
sentence does the requested information first stand?"""

Cause = Literal[
    "http_error",
    "rate_limited",
    "timeout",
    "connection",
    "bad_response",
    "cut",
    "filtered",
    "empty",
    "not_json",
    "several_answers",
    "out_of_schema",
    "wrong_index",
    "no_transcript",
    "no_evidence",
    "given_up",
    "interrupted",
    "not_asked",
]
"""Why there is no verdict: the endpoint failed (first five), its answer was none (next seven), or nobody was asked."""

ENDPOINT_FAILED: tuple[Cause, ...] = ("http_error", "rate_limited", "timeout", "connection", "bad_response")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Who judged. Verdicts of judges that differ in any of these are never put into one figure.

    `host` is the endpoint's host and port, nothing else of its address.
    """

    model: str
    host: str
    prompt_version: int
    prompt_sha256: str
    temperature: float

    @property
    def text(self) -> str:
        """`MODEL at HOST, prompts 1 (1a2b3c4d), temperature 0`."""
        prompts = f"prompts {self.prompt_version} ({self.prompt_sha256[:8]})"
        return f"{self.model} at {self.host}, {prompts}, temperature {self.temperature:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question about an item. `tool` to `actual` are given for arguments only."""

    question: Question
    tool: str | None = None
    argument: str | None = None
    expected: Json = None
    actual: Json = None

    @property
    def key(self) -> str:
        """Equal for equal questions; 1, 1.0, "1" and true are four values."""
        return json.dumps([self.question, self.tool, self.argument, self.expected, self.actual], sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer to one question about one item: a line of judgements.jsonl.

    `correct` answers response and argument, `sentence` (from 0; None = in no sentence) answers information, with
    `sentence_at_s` its start where the words have times. Where `unjudged` is given there is no answer, and `detail`
    says more. `judged_at` is when the verdict was given (UTC, ISO 8601), which for a `cached` one was earlier; its
    tokens are then 0. `cost` is in the unit of the prices that were set, None without prices.
    """

    item_id: str
    judge: Judge
    asked: Asked
    correct: bool | None = None
    sentence: int | None = None
    sentence_at_s: float | None = None
    reason: str = ""
    unjudged: Cause | None = None
    detail: str = ""
    judged_at: str = ""
    cached: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    output_format: str | None = None

    def __post_init__(self) -> None:
        """Refuse with ValueError what is neither a verdict nor unjudged, or both."""
        given = self.sentence is not None if self.asked.question == "information" else self.correct is not None
        if self.unjudged is not None and given:
            raise ValueError("a judgement that is unjudged has no verdict")
        if self.unjudged is None and not given and self.asked.question != "information":
            raise ValueError("a judgement without a verdict has a cause")


def questions_of(result: Result) -> tuple[Asked, ...]:
    """What is asked about an item, without repeats: nothing unless it was measured.

    Of an agent that did not speak neither response nor information is asked: silence carries nothing, and no model is
    needed to say so. Arguments: those that no matcher accepted, and those that the official exact mode did not.
    """
    card = result.scorecard
    if card is None or result.outcome not in ("passed", "failed"):
        return ()
    asked = [Asked(question="response"), Asked(question="information")] if card.spoke else []
    asked += [*doubted_arguments(result), *official_arguments(result)]
    return tuple({one.key: one for one in asked}.values())


def doubted_arguments(result: Result) -> tuple[Asked, ...]:
    """Arguments of paired calls that no matcher accepted, without repeats; a missing one means nothing."""
    asked = [
        Asked(question="argument", tool=pair.tool, argument=one.name, expected=one.expected, actual=one.actual)
        for pair in (result.scorecard.pairs if result.scorecard else ())
        if pair.actual is not None
        for one in pair.arguments
        if one.verdict != "match" and one.actual is not None
    ]
    return tuple({one.key: one for one in asked}.values())


def official_arguments(result: Result) -> tuple[Asked, ...]:
    """Arguments that differ by the official rules, of calls that lack none."""
    return tuple(
        Asked(question="argument", tool=call.tool, argument=one.argument, expected=one.expected, actual=one.actual)
        for call in (result.official.calls if result.official else ())
        if not call.lacking
        for one in call.differing
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedScores:
    """What one judge said about one item, by question. `spoke` is None where the item was not measured."""

    spoke: bool | None
    verdicts: dict[str, Judgement]

    @property
    def response_quality(self) -> int | None:
        """1 or 0; an agent that did not speak has 0; None = unjudged."""
        if self.spoke is False:
            return 0
        found = self.verdicts.get(Asked(question="response").key)
        return None if found is None or found.correct is None else int(found.correct)

    def same_meaning(self, tool: str, argument: str, expected: Json, actual: Json) -> bool | None:
        """Whether the two values mean the same; None = unjudged, or nobody asked."""
        asked = Asked(question="argument", tool=tool, argument=argument, expected=expected, actual=actual)
        found = self.verdicts.get(asked.key)
        return None if found is None else found.correct


def judged_scores(result: Result, judgements: Iterable[Judgement], judge: Judge) -> JudgedScores:
    """What `judge` said about the item of `result`, looked up by question, so that a verdict on other values than the
    item now has is not used."""
    verdicts = {j.asked.key: j for j in judgements if j.item_id == result.item_id and j.judge == judge}
    spoke = None if result.scorecard is None else result.scorecard.spoke
    return JudgedScores(spoke=spoke, verdicts=verdicts)
