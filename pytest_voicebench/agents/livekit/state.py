"""What a console session is in the middle of: a pure machine from its messages to our events, and to what is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_voicebench.agents.livekit.calls import ReportedCalls
from pytest_voicebench.agents.livekit.usage import counts_of, difference
from pytest_voicebench.agents.play_head import PlayHead
from pytest_voicebench.agents.protocol import AgentAudio, AgentEvent, Fault, ToolRan, Transcript, Usage
from pytest_voicebench.audio import Audio, Samples

if TYPE_CHECKING:
    from livekit.protocol.agent_pb.agent_session import AgentSessionEvent, AgentSessionMessage

NOT_RECOVERABLE = "recoverable=False"
"""How LiveKit writes that a model's failure ended the session; what it tries again is a remark."""


@dataclass(slots=True)
class Speech:
    """One stretch of the agent's sound, from its first frame to the flush or clear that ends it."""

    item_id: str
    ended: bool = False
    rest: bytes = b""


@dataclass(slots=True, kw_only=True)
class ConsoleState:
    """Follows one session. `take` gives our events.

    `playback_due_s` gives the moments, by the loop's clock, at which what was flushed has been heard: the agent must
    then be told so, or it never stops "speaking". Nothing is due for what was cleared: the agent knows.
    """

    now_s: Callable[[], float]
    calls: ReportedCalls
    listening: bool = False
    """Whether the session has said once that the agent listens; sound that comes before is dropped by it."""
    _speeches: list[Speech] = field(default_factory=list)
    _made: int = 0
    _texts: int = 0
    _user_texts: int = 0
    _head: PlayHead = field(default_factory=PlayHead)
    _sounded: bool = False
    _due_s: list[float] = field(default_factory=list)
    _used: dict[str, float] = field(default_factory=dict)

    def take(self, message: AgentSessionMessage) -> list[AgentEvent]:
        """What a message means; an unknown one means nothing."""
        kind = message.WhichOneof("message")
        if kind == "audio_output":
            return self._audio(message.audio_output)
        if kind == "audio_playback_flush":
            return self._flush()
        if kind == "audio_playback_clear":
            return self._clear()
        if kind == "event":
            handle = _HANDLERS.get(message.event.WhichOneof("event") or "")
            return handle(self, message.event) if handle else []
        return []

    def take_due(self) -> int:
        """How often the agent is to be told now that playback has finished."""
        now_s = self.now_s()
        due = [at for at in self._due_s if at <= now_s]
        self._due_s = self._due_s[len(due) :]
        return len(due)

    @property
    def next_due_s(self) -> float | None:
        """When `take_due` will have something to give, by the loop's clock; None while nothing is flushed."""
        return self._due_s[0] if self._due_s else None

    def _audio(self, frame: Any) -> list[AgentEvent]:
        speech = self._current()
        data = speech.rest + frame.data
        whole = len(data) - len(data) % 2
        speech.rest = data[whole:]
        samples = _mono(np.frombuffer(data[:whole], "<i2").astype(np.int16, copy=False), frame.num_channels)
        if not len(samples):
            return []
        self._sounded = True
        rate_hz = int(frame.sample_rate)
        self._head.add(len(samples) / max(1, rate_hz), self.now_s())
        return [AgentAudio(item_id=speech.item_id, audio=Audio(samples=samples, rate_hz=rate_hz))]

    def _current(self) -> Speech:
        """The speech that sound belongs to; a new one after a flush or clear."""
        if not self._speeches or self._speeches[-1].ended:
            self._made += 1
            self._speeches.append(Speech(f"speech_{self._made}"))
        return self._speeches[-1]

    def _flush(self) -> list[AgentEvent]:
        """The end of a speech. One without sound is none: the agent waits for nothing."""
        if self._sounded:
            self._due_s.append(max(self._head.until_s, self.now_s()))
        self._sounded = False
        self._end_speech()
        return []

    def _clear(self) -> list[AgentEvent]:
        self._due_s.clear()
        self._end_speech()
        return [*self._head.clear(self.now_s())]

    def _end_speech(self) -> None:
        if self._speeches:
            self._speeches[-1].ended = True

    def _agent_state(self, event: AgentSessionEvent) -> list[AgentEvent]:
        from livekit.protocol.agent_pb.agent_session import AgentState

        self.listening = self.listening or event.agent_state_changed.new_state == AgentState.AS_LISTENING
        return []

    def _user_text(self, event: AgentSessionEvent) -> list[AgentEvent]:
        """What was heard of the user: texts that replace each other until one is final."""
        told = event.user_input_transcribed
        item_id = f"user_{self._user_texts + 1}"
        self._user_texts += told.is_final
        return [Transcript(speaker="user", text=told.transcript, item_id=item_id)] if told.transcript else []

    def _item_added(self, event: AgentSessionEvent) -> list[AgentEvent]:
        """What the agent said, told when it has been heard. LiveKit has cut the text of an interrupted speech already,
        so that one goes by itself: its text is not cut again by how much was heard."""
        from livekit.protocol.agent_pb.agent_session import ChatRole

        item = event.conversation_item_added.item
        if item.WhichOneof("item") != "message" or item.message.role != ChatRole.ASSISTANT:
            return []
        text = " ".join(part.text for part in item.message.content if part.text)
        speech = self._spoken()
        if not text:
            return []
        self._texts += 1
        item_id = speech.item_id if speech else f"text_{self._texts}"
        return [
            Transcript(speaker="agent", text=text, item_id=None if speech and item.message.interrupted else item_id)
        ]

    def _spoken(self) -> Speech | None:
        """The latest speech that has ended, else the current one; it and what came before get no other text."""
        at = next((i for i in reversed(range(len(self._speeches))) if self._speeches[i].ended), 0)
        if not self._speeches:
            return None
        speech = self._speeches[at]
        del self._speeches[: at + 1]
        if not speech.ended:  # its sound goes on under the same name
            self._speeches.insert(0, speech)
        return speech

    def _tool_update(self, event: AgentSessionEvent) -> list[AgentEvent]:
        update = event.tool_execution_updated
        if update.WhichOneof("update") == "started":
            call = update.started.function_call
            self.calls.begun(call.call_id, call.name, call.arguments)
        return []

    def _tools_started(self, event: AgentSessionEvent) -> list[AgentEvent]:
        for call in event.function_tools_started.function_calls:
            self.calls.begun(call.call_id, call.name, call.arguments)
        return []

    def _tools_ran(self, event: AgentSessionEvent) -> list[AgentEvent]:
        """Calls and their outputs; the n-th output of a call's id is that of its n-th call."""
        outputs: dict[str, list[Any]] = {}
        for output in event.function_tools_executed.function_call_outputs:
            outputs.setdefault(output.call_id, []).append(output)
        found: list[ToolRan] = []
        calls = event.function_tools_executed.function_calls
        for number, call in enumerate(calls, 1):
            given = outputs.get(call.call_id)
            answer = given.pop(0) if given else None
            told, failed = (answer.output, answer.is_error) if answer is not None else ("null", False)
            others = [(later.name, later.arguments) for later in calls[number:]]
            found += self.calls.ran(call.call_id, call.name, call.arguments, told, is_error=failed, others=others)
        return list(found)

    def _used_up(self, event: AgentSessionEvent) -> list[AgentEvent]:
        """Totals so far; ours are what was added."""
        totals = counts_of(event.session_usage_updated.usage)
        more = difference(totals, self._used)
        self._used.update({name: max(value, self._used.get(name, 0.0)) for name, value in totals.items()})
        return [Usage(counts=more)] if more else []

    def _error(self, event: AgentSessionEvent) -> list[AgentEvent]:
        told = " ".join(event.error.message.split()) or "no reason given"
        kind = "infrastructure" if NOT_RECOVERABLE in told else "agent"
        return [Fault(kind=kind, message=f"the agent's session reports: {told[:500]}")]  # type: ignore[arg-type]


def _mono(samples: Samples, channels: int) -> Samples:
    """The mean of all channels; a last frame that lacks some is left out."""
    if channels <= 1:
        return samples
    whole = samples[: len(samples) - len(samples) % channels].reshape(-1, channels)
    mean: Samples = whole.mean(axis=1).astype(np.int16)
    return mean


_HANDLERS: dict[str, Callable[[ConsoleState, Any], list[AgentEvent]]] = {
    "agent_state_changed": ConsoleState._agent_state,
    "user_input_transcribed": ConsoleState._user_text,
    "conversation_item_added": ConsoleState._item_added,
    "tool_execution_updated": ConsoleState._tool_update,
    "function_tools_started": ConsoleState._tools_started,
    "function_tools_executed": ConsoleState._tools_ran,
    "session_usage_updated": ConsoleState._used_up,
    "error": ConsoleState._error,
}
