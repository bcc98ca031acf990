"""Lines of a run in the terminal: what is about to run, how it came out, whose figures are one by mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_voicebench.plugin.run_folder import run_folder

if TYPE_CHECKING:
    import pytest

    from pytest_voicebench.plan import Plan
    from pytest_voicebench.summary import Summary


def headline(summary: Summary) -> list[str]:
    """The one figure of each agent and the counts; on two lines where one would be longer than 99 columns."""
    from pytest_voicebench.writers.terminal_header import outcomes_text

    parts = []
    for agent in summary.agents:
        rate = agent.overall.pass_at_1
        figure = "n/a" if rate.value is None else f"{rate.value:.2f} ({rate.k}/{rate.n})"
        parts.append(figure if len(summary.agents) == 1 else f"{agent.name} {figure}")
    lines = ["Pass@1 " + (", ".join(parts) or "n/a"), outcomes_text(summary.counts)]
    together = ", ".join(lines)
    return [together] if len("voicebench: " + together) < 100 else lines


def look_alikes(looks: Mapping[str, set[tuple[int, str]]]) -> list[str]:
    """A line for each description that agents of different parameters share: their figures are one."""
    shared = [agents for agents in looks.values() if len(agents) > 1]
    return [
        f"{len(agents)} agents of this run look the same in reports (name {min(agents)[1]!r}): "
        "give each its own AgentInfo.name"
        for agents in shared
    ]


def selection_lines(plan: Plan, config: pytest.Config) -> list[str]:
    """One line for what was selected, and notices."""
    agents = {item.agent.name: item.agent for item in plan.items}
    idle = config.getoption("collectonly")
    given = plan.header.get("given", {})
    known = {
        " ".join([a.name, *(f"{key}={value}" for key, value in given.get(a.name, {}).items())]): a.clock
        for a in agents.values()
        if a.name != "unknown"
    }
    who = ", ".join(name + ("" if idle else f" ({clock} clock)") for name, clock in known.items())
    where = "" if idle else f", run {run_folder(config).shown}"
    number = plan.header.get("trials", 1)
    what = "scenarios" if number == 1 else f"items in {number} trials"
    line = (
        f"voicebench: {len(plan.items)} of {plan.collected} {what} selected, "
        f"agent {who or 'from the `agent` fixture'}{where}"
    )
    return [line, *(f"voicebench: {notice}" for notice in plan.notices)]
