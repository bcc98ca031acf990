"""What a call is in the middle of: a pure machine from the server's frames to our events, and to what must be sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pytest_voicebench.agents.play_head import PlayHead
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    AgentEvent,
    Fault,
    ToolCall,
    ToolResult,
    Transcript,
    TurnEnd,
)
from pytest_voicebench.agents.reading import text as text_of
from pytest_voicebench.agents.ultravox.creation import duration
from pytest_voicebench.agents.ultravox.replies import Replies
from pytest_voicebench.audio import RATE_HZ, Audio

Json = Any
Event = dict[str, Json]

_SILENT = ("listening", "idle")


class CallState:
    """Follows one call. `take` gives our events; `take_outgoing` gives what must be sent because of them.

    Each call of a tool is a message of its own and is answered by one: the server itself waits for all of them. `over`:
    the server said that the call has ended.
    """

    def __init__(self, *, now_s: Callable[[], float], tool_timeout_s: float) -> None:
        self._now_s = now_s
        self._tool_timeout_s = tool_timeout_s
        self._outgoing: list[Event] = []
        self._replies = Replies()
        self._state = ""
        self._rest = b""
        self._head = PlayHead()
        self._final: set[str] = set()
        self._unnumbered = 0
        self._known: set[str] = set()
        self._invoked: dict[str, tuple[str, float]] = {}  # calls without an answer: their tool, and since when
        self.over = False

    def take(self, frame: Event | bytes) -> list[AgentEvent]:
        """What a frame means: bytes are sound; a message that is unknown means nothing."""
        found = self._overdue()
        if isinstance(frame, bytes):
            return found + self._sound(frame)
        kind = frame.get("type")
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else None
        return found + (handle(self, frame) if handle else [])

    def take_outgoing(self) -> list[Event]:
        """What is to be sent now, in order; each is given once."""
        events, self._outgoing = self._outgoing, []
        return events

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Hand over results. An error is a result too: the model does not see the protocol's own error messages."""
        for result in results:
            self._invoked.pop(result.call_id, None)
            self._outgoing.append(
                {
                    "type": "client_tool_result",
                    "invocationId": result.call_id,
                    "result": json.dumps(result.result, ensure_ascii=False),
                    "responseType": "tool-response",
                    "agentReaction": "speaks",
                }
            )

    def inject(self, text: str) -> None:
        """Put a text into the context; `later` asks for no reply."""
        self._outgoing.append({"type": "user_text_message", "text": text, "urgency": "later"})

    def _overdue(self) -> list[AgentEvent]:
        """Calls that the server has given up: each is told once. Their results are sent all the same, and ignored."""
        now_s = self._now_s()
        late = [i for i, (_, since_s) in self._invoked.items() if now_s - since_s > self._tool_timeout_s]
        return [self._gave_up(self._invoked.pop(invocation)[0]) for invocation in late]

    def _gave_up(self, tool: str) -> Fault:
        limit = duration(self._tool_timeout_s)
        told = f"{tool} had no answer within {limit}, the limit that was asked for (tool_timeout_s): the agent went on"
        return Fault(kind="agent", message=told)

    def _sound(self, data: bytes) -> list[AgentEvent]:
        """A piece of the agent's voice. Digital silence while it does not speak is the line's, not the agent's."""
        if self._state != "speaking" and not data.strip(b"\0"):
            return []
        data = self._rest + data
        whole = len(data) - len(data) % 2
        self._rest = data[whole:]
        if not whole:
            return []
        audio = Audio(samples=np.frombuffer(data[:whole], "<i2").astype(np.int16, copy=False), rate_hz=RATE_HZ)
        self._head.add(audio.duration_s, self._now_s())
        return [AgentAudio(item_id=self._replies.sound(), audio=audio)]

    def _state_changed(self, event: Event) -> list[AgentEvent]:
        before, self._state = self._state, text_of(event, "state")
        if self._state == "speaking":
            return []
        self._replies.stop()
        self._rest = b""
        return [TurnEnd()] if self._state in _SILENT and before in ("thinking", "speaking") else []

    def _cleared(self, _: Event) -> list[AgentEvent]:
        self._replies.cut()
        self._rest = b""
        return [*self._head.clear(self._now_s())]

    def _transcript(self, event: Event) -> list[AgentEvent]:
        """A text so far, or what is added to it. A final one is replaced by final ones only."""
        is_delta = not isinstance(event.get("text"), str)
        text, is_final = event.get("delta") if is_delta else event["text"], event.get("final") is True
        role = event.get("role")
        if not isinstance(text, str) or role not in ("user", "agent"):
            return []
        if role == "user" and event.get("medium") == "text":  # what we put into the context comes back
            return []
        ordinal = event.get("ordinal")
        ordinal = ordinal if isinstance(ordinal, int) else None
        item_id = self._replies.words(ordinal) if role == "agent" else self._user_item(ordinal, is_final)
        if item_id in self._final and (is_delta or not is_final):
            return []
        if is_final:
            self._final.add(item_id)
        return [Transcript(speaker=role, text=text, item_id=item_id, delta=is_delta)]

    def _user_item(self, ordinal: int | None, is_final: bool) -> str:
        """Texts without a number follow each other: one lasts until it is final."""
        if ordinal is not None:
            return f"user_{ordinal}"
        item_id = f"user_unnumbered_{self._unnumbered}"
        self._unnumbered += is_final
        return item_id

    def _invocation(self, event: Event) -> list[AgentEvent]:
        parameters = event.get("parameters", {})
        arguments = parameters if isinstance(parameters, dict | str) else json.dumps(parameters)
        call_id, name = text_of(event, "invocationId"), text_of(event, "toolName")
        if call_id not in self._known:  # else it is sent again, and answered only once
            self._known.add(call_id)
            self._invoked[call_id] = (name, self._now_s())
        return [ToolCall(call_id=call_id, name=name, arguments=arguments)]

    def _ended(self, _: Event) -> list[AgentEvent]:
        self.over = True
        return []


_HANDLERS: dict[str, Callable[[CallState, Event], list[AgentEvent]]] = {
    "state": CallState._state_changed,
    "transcript": CallState._transcript,
    "client_tool_invocation": CallState._invocation,
    "playback_clear_buffer": CallState._cleared,
    "call_ended": CallState._ended,
}
