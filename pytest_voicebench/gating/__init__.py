"""What a run decides: its comparison with a baseline and its gates, put into its summary, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytest_voicebench.decisions import GateResult
from pytest_voicebench.gating.grammar import Gate, GateError, NoRegression, parse_gate
from pytest_voicebench.gating.holding import (
    allows_errors,
    asked_of,
    check_names,
    check_trials,
    group_name,
    groups_of,
    held,
    scenario_names,
)
from pytest_voicebench.outcome import STRICT, gates_outcome
from pytest_voicebench.regression import Question, compare_with_baseline
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.summarizing.agents import by_name
from pytest_voicebench.summary import Summary
from pytest_voicebench.writers.plain_text import one_line
from pytest_voicebench.writers.terminal_header import with_distinct_names

__all__ = [
    "Asked",
    "Gate",
    "GateError",
    "allows_errors",
    "as_read",
    "check_names",
    "check_trials",
    "decided",
    "decided_status",
    "needs_baseline",
    "parse_gate",
    "scenario_names",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run is held against. `strict`: a gate that cannot be told fails."""

    gates: tuple[Gate, ...] = ()
    baseline: SavedRun | None = None
    strict: bool = False

    @property
    def nothing(self) -> bool:
        """Whether there is neither a gate nor a baseline."""
        return not self.gates and self.baseline is None


def decided(run: SavedRun, asked: Asked) -> Summary:
    """The run's summary with its comparison and with how each gate came out for each agent, agents in their order.

    Where deciding breaks off by a mistake of ours, everything that was asked fails and says so: the figures stand.
    Raises RunUnreadable as `SavedRun.summary`.
    """
    summary = run.summary()
    if asked.nothing:
        return summary
    if asked.strict and asked.gates:
        summary = replace(summary, header={**summary.header, STRICT: True})
    try:
        return _decided(run, summary, asked)
    except Exception as error:  # noqa: BLE001 - whatever it is, what was measured must not be lost for it
        return _undecided(summary, asked, error)


def _decided(run: SavedRun, summary: Summary, asked: Asked) -> Summary:
    agents = with_distinct_names(summary).agents
    groups = [name for agent in summary.agents for name in groups_of(agent)]
    questions = [q for gate in asked.gates if (q := _question(gate, groups)) is not None]
    comparison = compare_with_baseline(asked.baseline, run, questions) if asked.baseline is not None else None
    results = by_name(run.results)
    gates = [
        as_read(held(gate, a, results[a.name], comparison), run)
        for gate in asked.gates
        for a in agents
        if a.name in asked_of(gate, results)
    ]
    return replace(summary, baseline=comparison, gates=tuple(gates))


def as_read(gate: GateResult, run: SavedRun) -> GateResult:
    """The gate as it is where its run could not be read whole: what is lost might have failed it, so none holds."""
    return replace(gate, holds=None, why=run.damage_told) if run.damage_told and gate.holds else gate


def _undecided(summary: Summary, asked: Asked, error: Exception) -> Summary:
    """Every gate fails, and so does the comparison alone where there is no gate."""
    why = f"deciding broke off, please report it: {type(error).__name__}: {one_line(str(error), 200)}"
    asked_for = [(gate.expression, gate.source) for gate in asked.gates] or [("comparison with the baseline", "")]
    gates = tuple(
        GateResult(expression=expression, agent=agent.name, holds=False, found="n/a", source=source, why=why)
        for expression, source in asked_for
        for agent in with_distinct_names(summary).agents
    )
    return replace(summary, gates=gates)


def _question(gate: Gate, groups: Sequence[str]) -> Question | None:
    """What the gate asks of a comparison; None where it asks nothing, or for a group that is not in this run."""
    if not isinstance(gate.asks, NoRegression):
        return None
    try:
        group = group_name(gate.asks.group, dict.fromkeys(groups)) if gate.asks.group is not None else None
    except GateError:
        return None
    return Question(metric=gate.asks.metric, group=group, min_effect=gate.asks.min_effect)


def needs_baseline(gate: Gate) -> bool:
    """Whether the gate can be told only against another run."""
    return isinstance(gate.asks, NoRegression)


def decided_status(summary: Summary, asked: Asked) -> int:
    """1 where a gate fails, or where items never ran or could not be measured and no gate says how many may; else 0,
    also without gates."""
    if not summary.gates:
        return 0
    return int(gates_outcome(summary.gates, summary.counts, strict=asked.strict).kind == "bad")
