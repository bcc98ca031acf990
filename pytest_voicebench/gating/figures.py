"""The figures of a summary that a gate can name, each with its unit; a new one is one line here, or none.

Every figure of `Scores` has its own name there. What else there is stands in `OF_AN_AGENT` and `COUNTS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from pytest_voicebench.summary import AgentSummary, Counts, Distribution, Mean, Rate, Scores

Unit = Literal["share", "seconds", "count", "usd"]

STATISTICS = ("mean", "p50", "p95")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value and how it is told; `value` is None where nothing was measured."""

    value: float | None
    text: str


COUNTS: Mapping[str, Callable[[Counts], int]] = {
    "errors": lambda c: c.error,
    "failed": lambda c: c.failed,
    "passed": lambda c: c.passed,
    "skipped": lambda c: c.skipped,
}

OF_AN_AGENT: Mapping[str, tuple[Unit, Callable[[AgentSummary], Any]]] = {
    "premature_commit_rate": ("share", lambda a: a.commits.premature_commit_rate),
    "repaired_rate": ("share", lambda a: a.commits.repaired_rate),
    "side_effects_left": ("share", lambda a: a.commits.side_effects_left),
    "rollback_latency_s": ("seconds", lambda a: a.commits.rollback_latency_s),
    "usd": ("usd", lambda a: a.cost.usd),
}
"""Figures of a whole agent, not of a group."""

_DISTRIBUTIONS = [name for name, kind in get_type_hints(Scores).items() if kind is Distribution]

FIGURES: Mapping[str, Unit] = {
    **{name: "share" for name, kind in get_type_hints(Scores).items() if kind in (Rate, Mean)},
    **{f"{name}.{statistic}": "seconds" for name in _DISTRIBUTIONS for statistic in STATISTICS},
    **{name: unit for name, (unit, _) in OF_AN_AGENT.items() if unit != "seconds"},
    **{f"{n}.{s}": unit for n, (unit, _) in OF_AN_AGENT.items() if unit == "seconds" for s in STATISTICS},
    **dict.fromkeys(COUNTS, "count"),
}
"""Every figure by its name in a gate, with its unit."""


_IN_TRIALS = re.compile(r"(pass_hat|pass_at)_([1-9][0-9]{0,5})")  # pass_at_1 is a figure of every run


def unit_of(name: str) -> Unit | None:
    """The unit of a figure, None where there is none of that name."""
    return "share" if _IN_TRIALS.fullmatch(name) else FIGURES.get(name)


def in_trials(name: str) -> int | None:
    """How many trials of each item a figure needs: 3 of `pass_hat_3`; None where it is there without trials."""
    found = _IN_TRIALS.fullmatch(name)
    return int(found[2]) if found is not None and name not in FIGURES else None


def of_groups(name: str) -> bool:
    """Whether the figure is there for groups too."""
    base = name.partition(".")[0]
    return base not in OF_AN_AGENT and (base in FIGURES or not _IN_TRIALS.fullmatch(base))


def figure_of(agent: AgentSummary, scores: Scores, name: str) -> Figure:
    """The figure of that name, of the agent or of one of its groups' scores."""
    base, _, statistic = name.partition(".")
    if base in COUNTS:
        count = COUNTS[base](scores.counts)
        return Figure(value=count, text=str(count))
    trials = _IN_TRIALS.fullmatch(base)
    if trials is not None and base not in FIGURES:
        return _told(_in_trials(agent, trials[1], int(trials[2])), statistic)
    if base in OF_AN_AGENT:
        return _told(OF_AN_AGENT[base][1](agent), statistic)
    return _told(getattr(scores, base), statistic)


def _in_trials(agent: AgentSummary, name: str, k: int) -> Mean:
    """pass^k or pass@k of a run with at least k trials."""
    trials = getattr(agent, "trials", None)
    found = [getattr(one, name) for one in (trials.passes if trials is not None else ()) if one.k == k]
    return Mean(value=found[0].value, n=found[0].n) if found else Mean(value=None, n=0)


def _told(found: Rate | Mean | Distribution | float | None, statistic: str) -> Figure:
    if isinstance(found, Rate):
        text = "n/a (n=0)" if found.value is None else f"{found.value:.3f} ({found.k}/{found.n})"
        return Figure(value=found.value, text=text)
    if isinstance(found, Mean):
        return Figure(value=found.value, text=_with_n(found.value, "", found.n))
    if isinstance(found, Distribution):
        value: float | None = getattr(found, statistic)
        return Figure(value=value, text=_with_n(value, " s", found.n))
    return Figure(value=found, text="n/a" if found is None else f"{found:.2f}")


def _with_n(value: float | None, unit: str, n: int) -> str:
    return "n/a (n=0)" if value is None else f"{value:.3f}{unit} (n={n})"
