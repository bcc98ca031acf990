"""Which results are whose: agents of one name with other settings are other agents, and are named apart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_voicebench.result import Result

Json = Any


class Described(Protocol):
    """What tells agents apart: an AgentInfo, or an AgentSummary."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str | None: ...
    @property
    def transport(self) -> str: ...
    @property
    def clock(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, Json]: ...


def identity(agent: Described) -> str:
    """The same for the same agent only; sorts by name first."""
    return json.dumps(
        [agent.name, agent.model, agent.transport, agent.clock, dict(agent.settings)], sort_keys=True, default=str
    )


def by_agent(results: Sequence[Result]) -> list[list[Result]]:
    """The results of each agent, agents in the order of a summary's, each one's results in theirs."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(identity(result.agent), []).append(result)
    return [found[key] for key in sorted(found)]


def distinct_names(agents: Sequence[Described]) -> list[str]:
    """The name of each; those that share one are told apart by what differs: `simulated behaviour=slow`."""
    facts = [{**a.settings, "model": a.model, "transport": a.transport, "clock": a.clock} for a in agents]
    names = []
    for agent, own in zip(agents, facts, strict=True):
        others = [fact for other, fact in zip(agents, facts, strict=True) if other.name == agent.name]
        differing = [f"{key}={value}" for key, value in own.items() if any(fact.get(key) != value for fact in others)]
        names.append(" ".join([agent.name, *differing]))
    return names


def by_name(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results of each agent by its distinct name, in the order of `by_agent`."""
    groups = by_agent(results)
    return dict(zip(distinct_names([rows[0].agent for rows in groups]), groups, strict=True))
