"""What judges said, summed up: a section for each judge, a row in it for each agent; too many unjudged, no figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_voicebench.judgement import (
    Asked,
    Judge,
    JudgedScores,
    Judgement,
    Question,
    doubted_arguments,
    judged_scores,
    questions_of,
)
from pytest_voicebench.result import Result
from pytest_voicebench.scorecard import Pair
from pytest_voicebench.stats import mean
from pytest_voicebench.summarizing.figures import distribution, mean_of, rate
from pytest_voicebench.summarizing.official_judged import judged_official, why_withheld
from pytest_voicebench.summary import JudgedAgent, JudgedScore, JudgeSummary

Bounds = tuple[float, float]
"""An item's score were its unjudged questions answered badly, and well: equal where all is judged."""


def judge_summaries(groups: Sequence[Sequence[Result]], judgements: Sequence[Judgement]) -> tuple[JudgeSummary, ...]:
    """One section for each judge, in order of name; `groups` are the results of each agent.

    What is to be judged follows from the results, so that a question nobody asked is unjudged and not forgotten; a
    verdict on something else than the results now hold is left out.
    """
    by_judge: dict[Judge, list[Judgement]] = {}
    for judgement in judgements:
        by_judge.setdefault(judgement.judge, []).append(judgement)
    return tuple(_summary(groups, judge, by_judge[judge]) for judge in sorted(by_judge, key=lambda j: (j.text, j.host)))


def _summary(groups: Sequence[Sequence[Result]], judge: Judge, said: list[Judgement]) -> JudgeSummary:
    by_item: dict[str, list[Judgement]] = {}
    for one in said:
        by_item.setdefault(one.item_id, []).append(one)
    judged = [[_Item(result, by_item.get(result.item_id, ()), judge) for result in group] for group in groups]
    rows = [row for items in judged for item in items for row in item.rows]
    found = [row for row in rows if row is not None]
    dates = sorted(row.judged_at for row in found if row.judged_at and row.unjudged is None)
    causes = Counter("not_asked" if row is None else row.unjudged for row in rows if row is None or row.unjudged)
    return JudgeSummary(
        judge=judge,
        judged_from=dates[0] if dates else None,
        judged_until=dates[-1] if dates else None,
        asked=len(rows),
        judged=len(rows) - causes.total(),
        unjudged=causes.total(),
        unjudged_causes=dict(sorted((str(cause), number) for cause, number in causes.items())),
        cached=sum(row.cached for row in found),
        input_tokens=sum(row.input_tokens for row in found),
        output_tokens=sum(row.output_tokens for row in found),
        cost=_cost(found),
        output_formats=dict(sorted(Counter(row.output_format for row in found if row.output_format).items())),
        agents=tuple(_agent(items) for items in judged if items),
        official=judged_official([[(item.result, item.scores) for item in items] for items in judged if items]),
    )


def _cost(rows: Iterable[Judgement]) -> float | None:
    costs = [row.cost for row in rows]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if known and len(known) == len(costs) else None


class _Item:
    """A result with what one judge said about it; `rows` has None for a question without an answer."""

    def __init__(self, result: Result, said: Sequence[Judgement], judge: Judge) -> None:
        self.result = result
        self.asked: tuple[Asked, ...] = questions_of(result)
        self.scores: JudgedScores = judged_scores(result, said, judge)
        self.rows = [self.scores.verdicts.get(one.key) for one in self.asked]

    def answers(self, question: Question) -> list[Judgement | None]:
        """Of one kind of question; of arguments those that our matchers doubt."""
        asked = doubted_arguments(self.result) if question == "argument" else self.asked
        return [self.scores.verdicts.get(one.key) for one in asked if one.question == question]


def _unjudged(row: Judgement | None) -> bool:
    return row is None or row.unjudged is not None


def _agent(items: Sequence[_Item]) -> JudgedAgent:
    valid = [item for item in items if item.result.scorecard is not None]
    accuracies = [_accuracy(item) for item in valid]
    said = _score("information", valid, [_said(row) for item in valid for row in item.answers("information")])
    return JudgedAgent(
        name=items[0].result.agent.name,
        response_quality=_score("response", valid, [_known(item.scores.response_quality) for item in valid]),
        argument_accuracy=_score("argument", valid, [a for a in accuracies if a is not None], shares=False),
        argument_accuracy_exact=mean_of(i.result.scorecard.argument_accuracy for i in valid if i.result.scorecard),
        same_meaning=_score("argument", valid, [_same(row) for item in valid for row in item.answers("argument")]),
        information_said=said,
        information_latency_s=distribution(() if said.withheld else map(_latency, valid)),
    )


def _score(question: Question, items: Sequence[_Item], bounds: Sequence[Bounds], *, shares: bool = True) -> JudgedScore:
    """The figure over those whose bounds are equal; `shares`: each counts 0 or 1, so that an interval can be given."""
    rows = [row for item in items for row in item.answers(question)]
    missing = sum(map(_unjudged, rows))
    withheld = why_withheld(missing, len(rows))
    known = [least for least, most in bounds if least == most]
    interval = rate(value == 1 for value in known) if shares and not withheld else None
    return JudgedScore(
        value=None if withheld else mean(known),
        n=len(known),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        least=mean([least for least, _ in bounds]),
        most=mean([most for _, most in bounds]),
        asked=len(rows),
        unjudged=missing,
        withheld=withheld,
    )


def _known(value: int | None) -> Bounds:
    return (0.0, 1.0) if value is None else (float(value), float(value))


def _same(row: Judgement | None) -> Bounds:
    return _known(None if row is None or row.correct is None else int(row.correct))


def _said(row: Judgement | None) -> Bounds:
    return _known(None if row is None or row.unjudged is not None else int(row.sentence is not None))


def _accuracy(item: _Item) -> Bounds | None:
    """The share of expected calls whose arguments all match or mean the same; None where no call is expected."""
    card = item.result.scorecard
    if card is None or card.argument_accuracy is None or not card.pairs:
        return None
    pairs = [_pair(item.scores, pair) for pair in card.pairs]
    return sum(least for least, _ in pairs) / len(pairs), sum(most for _, most in pairs) / len(pairs)


def _pair(scores: JudgedScores, pair: Pair) -> Bounds:
    if pair.actual is None:
        return 0.0, 0.0
    least, most = 1.0, 1.0
    for one in pair.arguments:
        if one.verdict == "match":
            continue
        same = False if one.actual is None else scores.same_meaning(pair.tool, one.name, one.expected, one.actual)
        low, high = _known(None if same is None else int(same))
        least, most = min(least, low), min(most, high)
    return least, most


def _latency(item: _Item) -> float | None:
    """From the user's end to the sentence with the information; None unless both are known and the turn was clean."""
    card = item.result.scorecard
    starts = [row.sentence_at_s for row in item.answers("information") if row is not None]
    if card is None or not card.manners.clean_turn or card.times.user_end_s is None or not starts or starts[0] is None:
        return None
    return starts[0] - card.times.user_end_s
