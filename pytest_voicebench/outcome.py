"""How a run comes out as one sentence, the same in every output, in the order in which the exit status is decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.decisions import BaselineComparison, GateResult, MetricComparison
from pytest_voicebench.summary import Counts, Summary

STRICT = "strict"
"""The key of a summary's header that says that a gate which cannot be told fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The sentence, and whether it is good news; `open` where it cannot be told. With gates, `bad` is exit status 1."""

    kind: Literal["good", "bad", "open"]
    text: str


def outcome(summary: Summary) -> Outcome | None:
    """By the gates where there are any, else by what was asked of the baseline; None where there is neither."""
    if summary.gates:
        return gates_outcome(summary.gates, summary.counts, strict=bool(summary.header.get(STRICT)))
    return None if summary.baseline is None else _baseline_outcome(summary.baseline)


def gates_outcome(gates: Sequence[GateResult], counts: Counts, *, strict: bool) -> Outcome:
    """Of at least one gate: what fails, what else fails, what fails because it is strict, what cannot be told."""
    failing, untold = sum(gate.holds is False for gate in gates), sum(gate.holds is None for gate in gates)
    some = f"of {counted(len(gates), 'gate')}"
    besides = what_else_fails(gates, errors=counts.error, not_run=counts.not_run)
    if failing:
        told = f"failed: {failing} {some} {noun_for(failing, 'fails', 'fail')}"
        return Outcome(kind="bad", text=told + (f"; {besides}" if besides else ""))
    if besides:
        held = "no gate fails" if untold else f"all gates hold ({len(gates)})"
        return Outcome(kind="bad", text=f"failed, though {held}: {besides}")
    if untold:
        told = f"{untold} {some} cannot be told"
        return Outcome(kind="bad", text=f"failed (strict): {told}") if strict else _open(f"inconclusive: {told}")
    return Outcome(kind="good", text=f"passed: all gates hold ({len(gates)})")


def _baseline_outcome(baseline: BaselineComparison) -> Outcome:
    if baseline.refused is not None:
        return _open("not compared")
    return metrics_outcome(metric for agent in baseline.agents for metric in agent.metrics)


def metrics_outcome(metrics: Iterable[MetricComparison]) -> Outcome:
    """By the metrics that were asked for; the further ones are only shown: each would add its own false alarms."""
    verdicts = {metric.verdict for metric in metrics if metric.asked}
    if "regressed" in verdicts:
        return Outcome(kind="bad", text="regressed")
    return Outcome(kind="good", text="no regression") if verdicts == {"no_regression"} else _open("inconclusive")


def _open(text: str) -> Outcome:
    return Outcome(kind="open", text=text)


def what_else_fails(gates: Sequence[GateResult], *, errors: int, not_run: int) -> str | None:
    """Why a run fails of which every gate holds: items that never ran, or could not be measured where no gate says how
    many may be. None where nothing does, and without gates."""
    if not gates:
        return None
    allowed = any(gate.limits_errors for gate in gates)
    parts = [f"{counted(errors, 'item')} could not be measured"] * bool(errors and not allowed)
    parts += [f"{counted(not_run, 'item')} never ran"] * bool(not_run)
    return ", ".join(parts) or None
