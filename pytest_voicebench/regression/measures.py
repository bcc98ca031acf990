"""What can be compared: each metric by name, as a value of one item, and which way is worse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_voicebench.loading.mistakes import nearest
from pytest_voicebench.scorecard import Scorecard

Kind = Literal["rate", "fraction", "seconds"]
Statistic = Literal["mean", "p50", "p95"]

STATISTICS: tuple[Statistic, ...] = ("mean", "p50", "p95")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A metric of design.md section 9. `value` of an item is None where it does not count there.

    `rate`: each item counts 0 or 1. `fraction`: a value from 0 to 1. `seconds`: any value, of which `statistic` is
    compared. `worse` is +1 where a higher value is worse.
    """

    name: str
    kind: Kind
    worse: Literal[-1, 1]
    value: Callable[[Scorecard], float | None]
    statistic: Statistic = "mean"


class UnknownMetric(ValueError):  # noqa: N818 - says what is the case, for a person
    """A name that no metric has; one line, with the nearest one."""


def _flag(flag: bool | None) -> float | None:
    return None if flag is None else float(flag)


_RATES: Mapping[str, tuple[Literal[-1, 1], Callable[[Scorecard], float | None]]] = {
    "pass_at_1": (-1, lambda c: float(c.passed)),
    "tools_ok": (-1, lambda c: float(c.tools_ok)),
    "args_ok": (-1, lambda c: float(c.args_ok)),
    "turn_take_rate": (-1, lambda c: float(c.manners.turn_taken)),
    "interruption_rate": (1, lambda c: float(c.manners.interrupted) if c.manners.turn_taken else None),
    "interruption_rate_all": (1, lambda c: float(c.manners.interrupted)),
    "filler_rate": (1, lambda c: float(c.manners.filler is True) if c.manners.clean_turn else None),
    "filler_rate_all": (1, lambda c: float(c.manners.filler is True)),
    "preemptive_rate": (1, lambda c: _flag(c.manners.preemptive)),
    "preemptive_rate_all": (1, lambda c: float(c.manners.preemptive is True)),
    "premature_commit_rate": (1, lambda c: float(bool(c.premature_commits)) if c.rollback else None),
}

_FRACTIONS: Mapping[str, Callable[[Scorecard], float | None]] = {
    "f1": lambda c: c.f1_names,
    "f1_match": lambda c: c.f1_match,
    "f1_strict": lambda c: c.f1_strict,
    "precision": lambda c: c.precision,
    "recall": lambda c: c.recall,
    "argument_accuracy": lambda c: c.argument_accuracy,
    "argument_accuracy_strict": lambda c: c.argument_accuracy_strict,
}

_SECONDS: Mapping[str, Callable[[Scorecard], float | None]] = {
    "first_response_latency_s": lambda c: c.times.first_response_latency_s,
    "tool_call_latency_s": lambda c: c.times.tool_call_latency_s,
    "task_completion_latency_s": lambda c: c.times.task_completion_latency_s,
}

MEASURES: Mapping[str, Measure] = {
    **{name: Measure(name=name, kind="rate", worse=worse, value=of) for name, (worse, of) in _RATES.items()},
    **{name: Measure(name=name, kind="fraction", worse=-1, value=of) for name, of in _FRACTIONS.items()},
    **{
        f"{name}.{statistic}": Measure(
            name=f"{name}.{statistic}", kind="seconds", worse=1, value=of, statistic=statistic
        )
        for name, of in _SECONDS.items()
        for statistic in STATISTICS
    },
}
"""Every metric that can be compared, by its name in outputs."""

USUAL = (
    "pass_at_1", "f1", "argument_accuracy", "turn_take_rate", "interruption_rate",
    "first_response_latency_s.mean", "first_response_latency_s.p95", "task_completion_latency_s.mean",
)  # fmt: skip
"""What is compared where nobody asks for anything else."""


JUDGED = ("response_quality", "same_meaning", "information_said", "information_latency_s")
"""What a judge says is shown and decides nothing: its own change of mind is in no interval of ours."""


def measure(name: str) -> Measure:
    """The metric of that name. Raises UnknownMetric."""
    if name in MEASURES:
        return MEASURES[name]
    if name in _SECONDS:
        raise UnknownMetric(f"{name} has several figures: {', '.join(f'{name}.{s}' for s in STATISTICS)}")
    if name.partition(".")[0] in JUDGED:
        raise UnknownMetric(f"{name} is what a judge says, which is shown and decides nothing")
    raise UnknownMetric(f"{name} cannot be compared with a baseline{nearest(name, MEASURES)}")
