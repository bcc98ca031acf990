"""The benchmark's tables 2 to 6 for the agents of one run, as data (arXiv 2604.04847)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.summary import AgentSummary, Table


def benchmark_tables(agents: Sequence[AgentSummary]) -> tuple[Table, ...]:
    """Overall scores; Pass@1 by difficulty, disfluency and domain; latencies. One row per agent."""
    return (
        _overall(agents),
        _pass_by(agents, 3, "difficulty"),
        _pass_by(agents, 4, "disfluency"),
        _pass_by(agents, 5, "domain"),
        _latencies(agents),
    )


def _overall(agents: Sequence[AgentSummary]) -> Table:
    return Table(
        number=2,
        title="Overall",
        columns=(
            "f1",
            "argument_accuracy",
            "pass_at_1",
            "turn_take_rate",
            "task_completion_latency_s",
            "interruption_rate",
            "filler_rate",
        ),
        rows=tuple(
            (
                a.name,
                (
                    a.overall.f1.value,
                    a.overall.argument_accuracy.value,
                    a.overall.pass_at_1.value,
                    a.overall.turn_take_rate.value,
                    a.overall.task_completion_latency_s.mean,
                    a.overall.interruption_rate.value,
                    a.overall.filler_rate.value,
                ),
            )
            for a in agents
        ),
    )


def _pass_by(agents: Sequence[AgentSummary], number: int, group: str) -> Table:
    columns = tuple(dict.fromkeys(name for a in agents for name in a.by[group]))
    return Table(
        number=number,
        title=f"Pass@1 by {group}",
        columns=columns,
        rows=tuple(
            (a.name, tuple(a.by[group][c].pass_at_1.value if c in a.by[group] else None for c in columns))
            for a in agents
        ),
    )


def _latencies(agents: Sequence[AgentSummary]) -> Table:
    return Table(
        number=6,
        title="Mean latency after the user's end",
        columns=("first_response_latency_s", "tool_call_latency_s", "task_completion_latency_s", "preemptive_rate"),
        rows=tuple(
            (
                a.name,
                (
                    a.overall.first_response_latency_s.mean,
                    a.overall.tool_call_latency_s.mean,
                    a.overall.task_completion_latency_s.mean,
                    a.overall.preemptive_rate.value,
                ),
            )
            for a in agents
        ),
    )
