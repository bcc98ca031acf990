"""What a Live session is in the middle of: a pure machine from server events to ours, and to what must be sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from pytest_voicebench.agents.openai_live.speech_runs import SpeechRuns
from pytest_voicebench.agents.openai_realtime.calls import ResponseCalls
from pytest_voicebench.agents.openai_realtime.errors import fault_of, kind_of_failure
from pytest_voicebench.agents.openai_realtime.items import ItemAudio
from pytest_voicebench.agents.openai_realtime.usage import usage_counts
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    AgentEvent,
    Fault,
    ToolCall,
    ToolCancelled,
    ToolResult,
    Transcript,
    TurnEnd,
    Usage,
)
from pytest_voicebench.agents.reading import NotAudio, part, text

Json = Any
Event = dict[str, Json]


class LiveState:
    """Follows one session. The voice is one stream, silence included; nothing is ever taken back.

    Tasks run on another model, whose events come wrapped. It may run several at once; its results are handed over, and
    one request to go on follows when no call is open and none of its responses is under way.
    """

    def __init__(self, *, now_s: Callable[[], float]) -> None:
        self._outgoing: list[Event] = []
        self._stream = ItemAudio()
        self._runs = SpeechRuns(now_s)
        self._heard_turns = 1
        self._heard_text = False
        self._tasks: dict[str, str] = {}
        self._asking: set[str] = set()
        self._open_calls: set[str] = set()
        self._wanted = False
        self._calls: dict[str, ResponseCalls] = {}
        self._seconds = 0.0

    def take(self, event: Event) -> list[AgentEvent]:
        """What a server event means; an unknown one means nothing."""
        kind = event.get("type")
        handle = self.HANDLERS.get(kind) if isinstance(kind, str) else None
        return handle(self, event) if handle else []

    def take_outgoing(self) -> list[Event]:
        """What is to be sent now, in order; each is given once."""
        if self._wanted and not (self._open_calls or self._asking):
            self._wanted = False
            self._outgoing.append({"type": "response.create"})
        events, self._outgoing = self._outgoing, []
        return events

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Hand over results."""
        for result in results:
            text = json.dumps(result.result, ensure_ascii=False)
            item = {"type": "function_call_output", "call_id": result.call_id, "output": text}
            self._outgoing.append({"type": "response.item.create", "item": item})
            self._open_calls.discard(result.call_id)
            self._wanted = True

    def cut(self, item_id: str, seconds: float) -> None:
        """Nothing is cut here, and the API has no word for it."""

    def inject(self, text: str) -> None:
        """Context for the model, without a request to speak."""
        self._outgoing.append({"type": "session.thinking.append", "content": text, "delegation_id": None})

    def _sound(self, event: Event) -> list[AgentEvent]:
        try:
            audio = self._stream.read(event.get("delta"))
        except NotAudio as flaw:
            return [Fault(kind="infrastructure", message=f"session.output_audio.delta: {flaw}")]
        run = self._runs.take(audio)
        return [AgentAudio(item_id=run, audio=audio)] if run else []

    def _agent_text(self, event: Event) -> list[AgentEvent]:
        """Words join the stretch that is heard, or that comes next; what the user says after them is another turn."""
        if self._heard_text:
            self._heard_turns, self._heard_text = self._heard_turns + 1, False
        return _said(event, "agent", self._runs.current)

    def _user_text(self, event: Event) -> list[AgentEvent]:
        found = _said(event, "user", f"user_{self._heard_turns}")
        self._heard_text = self._heard_text or bool(found)
        return found

    def _backend(self, event: Event) -> list[AgentEvent]:
        """An event of the model that does the tasks."""
        inner = part(event, "event")
        kind, response = inner.get("type"), part(inner, "response")
        task = text(event, "delegation_id")
        response_id = text(response, "id") or self._tasks.get(task, task)  # items do not name their response
        self._tasks[task] = response_id
        calls = self._calls.setdefault(response_id, ResponseCalls(response_id=response_id))
        match kind:
            case "response.created":
                self._asking.add(response_id)
            case "response.output_item.done":
                return self._noted(calls.made(part(inner, "item")))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                return self._backend_done(calls, response, complete=kind == "response.completed")
        return []

    def _backend_done(self, calls: ResponseCalls, response: Event, *, complete: bool) -> list[AgentEvent]:
        self._asking.discard(calls.response_id)
        output = response.get("output")
        found = self._noted(calls.end(output if isinstance(output, list) else [], complete=complete))
        counts = usage_counts(response.get("usage"), "backend_")
        usage: list[AgentEvent] = [Usage(counts=counts)] if counts else []
        status = text(response, "status")
        remarks: list[AgentEvent] = []
        if not complete and status != "cancelled":
            error = part(response, "error")
            told = error.get("message") or part(response, "incomplete_details").get("reason") or "no reason given"
            kind = kind_of_failure(error) if status == "failed" else "agent"
            remarks = [Fault(kind=kind, message=f"a task is {status or 'incomplete'}: {told}")]
        return [*found, TurnEnd(response_id=calls.response_id), *usage, *remarks]

    def _noted(self, events: Any) -> list[AgentEvent]:
        """Calls are open until they are answered or taken back: nobody answers one that is taken back."""
        found: list[AgentEvent] = list(events)
        for event in found:
            if isinstance(event, ToolCall):
                self._open_calls.add(event.call_id)
            elif isinstance(event, ToolCancelled):
                self._open_calls -= set(event.call_ids)
        return found

    def _usage(self, event: Event) -> list[AgentEvent]:
        """The count is that of the whole session so far."""
        seconds = part(event, "usage").get("seconds")
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= self._seconds:
            return []
        more, self._seconds = float(seconds) - self._seconds, float(seconds)
        return [Usage(counts={"live_seconds": more})]

    def _closed(self, event: Event) -> list[AgentEvent]:
        reason = " ".join(text(event, "reason").split())[:200] or "no reason given"
        ended = Fault(kind=kind_of_failure({"reason": reason}), message=f"the server ended the session: {reason}")
        return [*self._usage(event), ended]

    def _error(self, event: Event) -> list[AgentEvent]:
        fault = fault_of(part(event, "error"))
        return [fault] if fault else []

    HANDLERS: ClassVar[Mapping[str, Callable[[Any, Event], list[AgentEvent]]]] = {
        "session.output_audio.delta": _sound,
        "session.output_transcript.delta": _agent_text,
        "session.input_transcript.delta": _user_text,
        "response.event": _backend,
        "session.usage.updated": _usage,
        "session.closed": _closed,
        "error": _error,
    }
    """What takes a server event, by its name."""


def _said(event: Event, speaker: Any, item_id: str) -> list[AgentEvent]:
    words = text(event, "delta")
    return [Transcript(speaker=speaker, text=words, item_id=item_id, delta=True)] if words else []
