"""What an agent is: a description that can be connected to, and the line that a connection gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, Protocol, runtime_checkable

from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import Audio
from pytest_voicebench.conversation import AgentInfo, Word
from pytest_voicebench.tools import Tool

__all__ = [
    "UNREPORTED",
    "Agent",
    "AgentAbsent",
    "AgentAudio",
    "AgentEvent",
    "AgentInfo",
    "Audio",
    "Fault",
    "Json",
    "Line",
    "PlaybackClear",
    "Ready",
    "Setup",
    "ToolCall",
    "ToolCancelled",
    "ToolResult",
    "Transcript",
    "TurnEnd",
    "Unsupported",
    "Usage",
    "Word",
]

Json = Any


class Unsupported(Exception):  # noqa: N818 - the protocol's word, and not a failure
    """The agent cannot do what a step asks for; the item is skipped with this reason."""


class AgentAbsent(Exception):  # noqa: N818 - names the outcome
    """The agent could not be reached, or its line closed before it was ready.

    `kind` says why, where that is known: after `rate_limited` and `server_error` the connection is tried again, not
    before the `retry_after_s` that the provider asked for.
    """

    def __init__(self, message: str = "", *, kind: str | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What an agent is told before the conversation. It never holds the scenario.

    `trial` counts from 1 where the same is asked several times: an agent with a declared seed draws from another stream
    in each. `log` takes what goes over the wire, failed connections included; it becomes the item's events.jsonl.
    """

    conversation_id: str
    instructions: str
    tools: tuple[Tool, ...]
    today: date
    documents: tuple[str, ...] = ()
    log: WireLog | None = field(default=None, repr=False, compare=False)
    trial: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The agent listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAudio:
    """A piece of the agent's voice, at any rate; pieces of one reply share `item_id`."""

    item_id: str
    audio: Audio


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaybackClear:
    """Whatever of the agent's voice has not been heard yet is dropped now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """The agent calls a tool. `arguments` is the raw JSON text, or an object where the provider gives one.

    Calls that share `response_id` are answered together when `TurnEnd` for that response arrives; without one a call is
    answered at once.
    """

    call_id: str
    name: str
    arguments: str | dict[str, Json]
    response_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRan:
    """The agent ran a tool of its own: there is nothing to answer, what it was told is `result`.

    `arguments` as in ToolCall. `took_s`: how long ago the call began; None where nobody says, and the call has no time.
    """

    call_id: str
    name: str
    arguments: str | dict[str, Json]
    result: Json
    is_error: bool = False
    took_s: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCancelled:
    """The agent takes calls back."""

    call_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """Text the agent gives for the user's voice or its own. Later ones of the same item replace or extend earlier ones.

    `delta` says that the text continues the item's text instead of replacing it. Word times are ticks from the start of
    the item's audio for the agent.
    """

    speaker: Literal["user", "agent"]
    text: str
    item_id: str | None = None
    delta: bool = False
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """The agent says that a response is complete. It never ends a conversation."""

    response_id: str | None = None


UNREPORTED = "answers_without_usage"
"""A count of ours among a provider's: answers that were begun, and whose usage it has not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the provider counted, by its own names (input_tokens, audio_seconds, ...); added up over a conversation."""

    counts: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something went wrong on the line. `infrastructure`: network, quota. `agent`: the agent's own error."""

    kind: Literal["infrastructure", "agent"]
    message: str


AgentEvent = (
    Ready | AgentAudio | PlaybackClear | ToolCall | ToolRan | ToolCancelled | Transcript | TurnEnd | Usage | Fault
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The answer to one call, as the tool gave it."""

    call_id: str
    name: str
    result: Json
    is_error: bool = False


@runtime_checkable
class Line(Protocol):
    """An open connection to an agent. What is derived from it has to say only `send` and `receive`.

    It may have a number `arrived_s`: when what the latest event is made of reached this machine, by the loop's clock.
    Without one, and where it is None, an event happens when it is received, even if that had to wait for other work.
    It may have a dict `closing_usage`: what `Usage` would have told, learnt only when the line was closed.
    """

    async def send(self, audio: Audio) -> None:
        """Take one block of the user's audio, in real time, silence included, also while the agent speaks."""

    def receive(self) -> AsyncIterator[AgentEvent]:
        """Events until the line closes."""

    async def answer(self, results: Sequence[ToolResult]) -> None:
        """Take all results of one response together."""

    async def played(self, item_id: str, seconds: float) -> None:
        """Learn how much of an item was heard before it was cut."""

    async def inject(self, text: str) -> None:
        """Take text into the context silently. Raises Unsupported where the provider has no such update."""
        raise Unsupported("the agent takes no text into its context")


@runtime_checkable
class Agent(Protocol):
    """A description of an agent: cheap, printable, without secrets.

    One that takes more than 30 s to connect, since it starts something first, may have a number `connect_timeout_s`;
    one that takes more than 5 s to hang up, a `close_timeout_s`; one whose code computes for more than 120 s without
    awaiting, a `blocks_at_most_s`.
    It may have a `provider`, a text: agents of one provider share its limits. Without one it is the name in `info` and
    the host of its `url`.
    """

    @property
    def info(self) -> AgentInfo:
        """What the report says."""

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Open a line. Loop-bound objects are made here. Raises AgentAbsent."""
