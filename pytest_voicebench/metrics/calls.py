"""Scores of tool use from the pairing: F1 three times, argument accuracy, order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_voicebench.conversation import Call
from pytest_voicebench.references import referred_calls
from pytest_voicebench.scenario import Expectation
from pytest_voicebench.scorecard import Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class CallScores:
    """Fractions in [0, 1]; the accuracies are None where no call is expected."""

    f1_names: float
    f1_match: float
    f1_strict: float
    precision: float
    recall: float
    argument_accuracy: float | None
    argument_accuracy_strict: float | None


def call_scores(pairs: Sequence[Pair], counted: int) -> CallScores:
    """All scores of `counted` calls against the expected ones.

    An expected call is right or wrong as a whole; one without a pair is wrong. With no expected calls F1 is 1.0 if none
    was made, else 0.0. With expected calls and none made, precision is 0.0.
    """
    paired = sum(p.actual is not None for p in pairs)
    matching = sum(p.matches for p in pairs)
    strict = sum(p.strict for p in pairs)
    return CallScores(
        f1_names=f1(paired, len(pairs), counted),
        f1_match=f1(matching, len(pairs), counted),
        f1_strict=f1(strict, len(pairs), counted),
        precision=paired / counted if counted else float(not pairs),
        recall=paired / len(pairs) if pairs else 1.0,
        argument_accuracy=matching / len(pairs) if pairs else None,
        argument_accuracy_strict=strict / len(pairs) if pairs else None,
    )


def f1(hits: int, expected: int, counted: int) -> float:
    """The harmonic mean of hits / expected and hits / counted; symmetric in the two; 1.0 where both are 0."""
    return 2 * hits / (expected + counted) if expected + counted else 1.0


def surplus_calls(pairs: Sequence[Pair], counted: int) -> tuple[int, ...]:
    """Indexes of the counted calls that no expected call was paired with."""
    paired = {p.actual for p in pairs}
    return tuple(n for n in range(counted) if n not in paired)


def in_order(expect: Expectation, pairs: Sequence[Pair], calls: Sequence[Call]) -> bool | None:
    """Whether calls came in the order that the scenario demands; None where it demands none, or nothing can be said.

    A call whose arguments refer to another's result must come after that result was handed over. With `ordered`, calls
    must come in the order written. Expected calls without a pair say nothing here: they fail elsewhere.
    """
    made = {p.expected: calls[p.actual] for p in pairs if p.actual is not None}
    verdicts = [
        _after_result(made[n], made[source])
        for n, call in enumerate(expect.calls)
        for source in referred_calls(call.args)
        if n in made and source in made
    ]
    if expect.ordered:
        written = [made[n].at_ticks for n in sorted(made)]
        verdicts += [a <= b for a, b in pairwise(written)]
    return all(verdicts) if verdicts else None


def _after_result(call: Call, source: Call) -> bool:
    return source.answered_ticks is not None and call.at_ticks >= source.answered_ticks
