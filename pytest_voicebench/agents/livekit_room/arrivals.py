"""What comes to the caller's seat in a room, one thing after another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_voicebench.audio import Samples

if TYPE_CHECKING:
    from livekit.protocol.agent_pb.agent_session import AgentSessionMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """A frame of the agent's track, at the conversation's rate; silence comes too."""

    samples: Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A message of the agent's session."""

    message: AgentSessionMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """The agent's participant says what the agent is doing: `listening`, `thinking`, `speaking`, ..."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Somebody has subscribed to the caller's track: sound arrives from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Nothing comes any more: the agent hung up, or, with `why`, it or the room was lost."""

    why: str | None = None


Arrival = Sound | Told | States | Heard | Gone
