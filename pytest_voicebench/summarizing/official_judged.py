"""`official-judged(ours)`: the official rules and denominators with a judge's verdicts, under our prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_voicebench.judgement import JudgedScores
from pytest_voicebench.official_card import Failure, OfficialCall, OfficialCard
from pytest_voicebench.official_summary import OfficialJudgedAgent, OfficialMean
from pytest_voicebench.result import Result
from pytest_voicebench.stats import mean
from pytest_voicebench.summarizing.official import summarize_official

OFFICIAL_JUDGED = "official-judged(ours)"
MOST_UNJUDGED = 0.02
"""Above this share unjudged, a figure that rests on a judge is withheld."""
DECIMALS = 3

Judged = tuple[Result, JudgedScores]


def why_withheld(missing: int, asked: int) -> str | None:
    """The reason for withholding a figure, None where it may be shown."""
    if not asked or missing / asked <= MOST_UNJUDGED:
        return None
    return f"{missing} of {asked} unjudged, more than {MOST_UNJUDGED:.0%}"


def judged_official(groups: Sequence[Sequence[Judged]]) -> tuple[OfficialJudgedAgent, ...]:
    """One row for each group of results (an agent's), in their order; none where no result has official scores.

    An argument is right where it is equal or the judge says that it means the same; a response without a transcript has
    the quality 0. Everything else is as in exact mode.
    """
    if not any(result.official for group in groups for result, _ in group):
        return ()
    return tuple(_agent(group) for group in groups)


def _agent(group: Sequence[Judged]) -> OfficialJudgedAgent:
    cards = [(result, judged_card(result.official, scores)) for result, scores in group if result.official]
    known = {result.item_id: card for result, card in cards if card is not None}
    missing = len(cards) - len(known)
    withheld = why_withheld(missing, len(cards))
    name = group[0][0].agent.name
    if withheld or not known:
        return OfficialJudgedAgent(
            name=name,
            unjudged=missing,
            withheld=withheld or "nothing was judged",
            scores=None,
            response_quality=None,
            response_quality_all=None,
        )
    kept = [replace(r, official=known.get(r.item_id)) for r, _ in group if r.official is None or r.item_id in known]
    (scores,) = summarize_official([(name, kept)]).agents
    taken = [card.response_quality for card in known.values() if card.turn_taken]
    empty = [0.0] * scores.errors_as_empty
    return OfficialJudgedAgent(
        name=name,
        unjudged=missing,
        withheld=None,
        scores=scores,
        response_quality=_mean(taken),
        response_quality_all=_mean([*(card.response_quality for card in known.values()), *empty]),
    )


def judged_card(card: OfficialCard, scores: JudgedScores) -> OfficialCard | None:
    """The card with what the judge says; None where it has not said all of it."""
    quality = scores.response_quality if card.turn_taken else 0
    calls = [_judged(call, scores) for call in card.calls]
    known = [call for call in calls if call is not None]
    if quality is None or len(known) < len(calls):
        return None
    failure: Failure | None = None if all(call.score == 1.0 for call in known) else "wrong_arguments"
    if card.failure == "wrong_tools":
        failure = "wrong_tools"
    return replace(
        card,
        calls=tuple(known),
        argument_accuracy=round(sum(c.score for c in known) / len(known), DECIMALS)
        if known
        else card.argument_accuracy,
        passed=failure is None,
        failure=failure,
        response_quality=float(quality),
    )


def _judged(call: OfficialCall, scores: JudgedScores) -> OfficialCall | None:
    if call.verdict != "mismatch" or call.lacking:
        return call
    if not call.differing:  # saved before cards told of every difference
        return None
    same = [scores.same_meaning(call.tool, one.argument, one.expected, one.actual) for one in call.differing]
    if False in same:
        return call
    return None if None in same else replace(call, verdict="match", score=1.0, reason="the judge: the same in meaning")


def _mean(values: Sequence[float | None]) -> OfficialMean:
    known = [value for value in values if value is not None]
    return OfficialMean(value=mean(known), n=len(known))
