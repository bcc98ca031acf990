"""What stands before a connection is made: the way is free here; `admission` has gates that make one wait."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from pytest_voicebench.agents.protocol import Agent, AgentAbsent, Line, Setup
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo

AbsenceKind = Literal["agent_absent", "infrastructure"]


class GateBroken(Exception):  # noqa: N818 - says what is the case, for a person
    """It cannot be known whether a connection may be made; one line."""


class NotBegun(Exception):  # noqa: N818 - says what is the case, for a person
    """The conversation is not to be held, though nothing went wrong; one line that says why."""


class Gate:
    """An open gate: nobody waits, and nothing is tried twice. One gate belongs to one conversation."""

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """The time in which the conversation may have a session; entering it may wait for that. Raises GateBroken,
        NotBegun."""
        yield

    async def start(self) -> None:
        """Wait until a connection may be tried. Raises GateBroken."""

    async def connected(self) -> None:
        """Learn that it came about. Raises nothing."""

    async def again(self, absent: AgentAbsent, log: WireLog) -> bool:
        """After a connection that did not come about: whether to try again, now that this has waited for as long as it
        had to. Raises GateBroken."""
        return False

    def abandon(self) -> None:
        """Give back what the conversation holds, in any thread: its own one is kept for good by its agent."""

    def told(self, absent: AgentAbsent) -> tuple[AbsenceKind, str]:
        """The kind of error that it is in the end, and what is said about it."""
        return "agent_absent", str(absent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """An agent and the gate before it, as one description, for one conversation."""

    agent: Agent
    gate: Gate = field(repr=False)

    @property
    def info(self) -> AgentInfo:
        """The agent's."""
        return self.agent.info

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """The agent's."""
        return self.agent.connect(setup)


def parted(agent: Agent) -> tuple[Agent, Gate]:
    """The agent itself, with all that it may say of itself, and the gate before it; an open one where there is none."""
    return (agent.agent, agent.gate) if isinstance(agent, Gated) else (agent, Gate())
