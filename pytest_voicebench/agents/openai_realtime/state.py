"""What a session is in the middle of: a pure machine from server events to ours, and to what must be sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from pytest_voicebench.agents.checks import MAX_RATE_HZ, MIN_RATE_HZ
from pytest_voicebench.agents.openai_realtime.calls import ResponseCalls
from pytest_voicebench.agents.openai_realtime.dialects import current_name
from pytest_voicebench.agents.openai_realtime.errors import fault_of, kind_of_failure
from pytest_voicebench.agents.openai_realtime.items import ItemAudio
from pytest_voicebench.agents.openai_realtime.usage import usage_counts
from pytest_voicebench.agents.play_head import PlayHead
from pytest_voicebench.agents.protocol import (
    UNREPORTED,
    AgentAudio,
    AgentEvent,
    Fault,
    ToolResult,
    Transcript,
    TurnEnd,
    Usage,
)
from pytest_voicebench.agents.reading import NotAudio, part, text
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import NOT_WRITTEN_DOWN

Json = Any
Event = dict[str, Json]

_HEARD = "conversation.item.input_audio_transcription"
ALREADY_ACTIVE = "conversation_already_has_active_response"


class SessionState:
    """Follows one session. `take` gives our events; `take_outgoing` gives what must be sent because of them.

    A response is over when the server says so, when the user speaks into it (the server then cancels it, and what still
    comes of it is late: it was told how much was heard, and remembers no more), or when the next one begins. One
    request to go on is made for all results together, and not while a response is active or the user speaks: then the
    server answers the user's turn anyhow.
    """

    def __init__(self, *, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._outgoing: list[Event] = []
        self._seen: set[str] = set()
        self._active: str | None = None
        self._asked = False  # a response.create is on its way, not yet confirmed
        self._blocked = False  # the server refused one since it had a response that we had not heard of
        self._wanted = False
        self._user_speaks = False
        self._over: set[str] = set()
        self._went_on: set[str] = set()  # of which sound was dropped after the user spoke into it
        self._calls: dict[str, ResponseCalls] = {}
        self._items: dict[str, ItemAudio] = {}
        self._head = PlayHead()
        self._final_texts: set[str] = set()

    def take(self, event: Event) -> list[AgentEvent]:
        """What a server event means. One with an id that was seen before means nothing; nor does an unknown one."""
        event_id = event.get("event_id")
        if isinstance(event_id, str) and event_id:
            if event_id in self._seen:
                return []
            self._seen.add(event_id)
        kind = event.get("type")
        handle = self.HANDLERS.get(current_name(kind)) if isinstance(kind, str) else None
        return handle(self, event) if handle else []

    def take_outgoing(self) -> list[Event]:
        """What is to be sent now, in order; each is given once."""
        idle = self._active is None and not (self._asked or self._blocked or self._user_speaks)
        if self._wanted and idle:
            self._wanted, self._asked = False, True
            self._outgoing.append({"type": "response.create"})
        events, self._outgoing = self._outgoing, []
        return events

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Hand over results. Where the user speaks, the answer to his turn will use them."""
        for result in results:
            text = json.dumps(result.result, ensure_ascii=False)
            item = {"type": "function_call_output", "call_id": result.call_id, "output": text}
            self._outgoing.append({"type": "conversation.item.create", "item": item})
        self._wanted = bool(results) and not self._user_speaks

    def cut(self, item_id: str, seconds: float) -> None:
        """Tell the server how much of an item was heard; one of which nothing was heard is deleted."""
        item = self._items.get(item_id)
        heard_ms = int(min(seconds, item.seconds) * 1000) if item else 0
        if item is None or heard_ms <= 0:
            self._outgoing.append({"type": "conversation.item.delete", "item_id": item_id})
            return
        self._outgoing.append(
            {
                "type": "conversation.item.truncate",
                "item_id": item_id,
                "content_index": item.content_index,
                "audio_end_ms": heard_ms,
            }
        )

    def inject(self, text: str) -> None:
        """Put a text into the context, without asking for a response."""
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "system", "content": content}
        self._outgoing.append({"type": "conversation.item.create", "item": item})

    def _speech_started(self, _: Event) -> list[AgentEvent]:
        self._user_speaks = True
        self._wanted = False
        if self._active is not None:
            self._over.add(self._active)
        return self._cleared()

    def _speech_ended(self, _: Event) -> list[AgentEvent]:
        self._user_speaks = False
        return []

    def _cleared(self) -> list[AgentEvent]:
        return [*self._head.clear(self._now_s())]

    def _response_created(self, event: Event) -> list[AgentEvent]:
        response_id = text(part(event, "response"), "id")
        found: list[AgentEvent] = []
        if self._active is not None and self._active != response_id:  # left without an end, as Grok does
            self._over.add(self._active)
            found = self._ended(self._active, [], complete=False)
        self._active, self._asked, self._blocked = response_id, False, False
        return found

    def _response_done(self, event: Event) -> list[AgentEvent]:
        response = part(event, "response")
        response_id, status = text(response, "id") or self._active or "", response.get("status", "completed")
        cancelled = status == "cancelled"
        if self._active in (None, response_id):
            self._active, self._asked = None, False
        went_on = response_id in self._went_on and not cancelled
        self._blocked = False
        if cancelled:
            self._wanted = False
        found: list[AgentEvent] = self._cleared() if cancelled else []
        if status in ("cancelled", "failed") and response_id:
            self._over.add(response_id)
        output = response.get("output")
        found += self._ended(response_id, output if isinstance(output, list) else [], complete=status == "completed")
        counts = usage_counts(response.get("usage") or event.get("usage")) or {UNREPORTED: 1.0}
        return [*found, Usage(counts=counts), *_failure(response, status), *([_WENT_ON] if went_on else [])]

    def _ended(self, response_id: str, output: list[Json], *, complete: bool) -> list[AgentEvent]:
        calls = self._calls_of(response_id)
        return [*calls.end(output, complete=complete), TurnEnd(response_id=response_id)]

    def _audio(self, event: Event) -> list[AgentEvent]:
        item_id, delta = text(event, "item_id"), event.get("delta")
        response_id = text(event, "response_id")
        if response_id in self._over:
            self._went_on.add(response_id)
        if response_id in self._over or not item_id:
            return []
        item = self._items.setdefault(item_id, ItemAudio(content_index=_whole(event.get("content_index"))))
        try:
            audio = item.read(delta, _rate_hz(event.get("sample_rate_hz")))
        except NotAudio as flaw:
            return [Fault(kind="infrastructure", message=f"response.output_audio.delta: {flaw}")]
        if not len(audio.samples):
            return []
        self._head.add(audio.duration_s, self._now_s())
        return [AgentAudio(item_id=item_id, audio=audio)]

    def _agent_text(self, event: Event) -> list[AgentEvent]:
        return self._transcript(event, "agent", event.get("delta"), delta=True)

    def _agent_text_done(self, event: Event) -> list[AgentEvent]:
        return self._transcript(event, "agent", event.get("transcript", event.get("text")), final=True)

    def _user_text(self, event: Event) -> list[AgentEvent]:
        return self._transcript(event, "user", event.get("delta"), delta=True)

    def _user_text_so_far(self, event: Event) -> list[AgentEvent]:
        return self._transcript(event, "user", event.get("transcript"))

    def _user_text_done(self, event: Event) -> list[AgentEvent]:
        counts = usage_counts(event.get("usage"), "transcription_")
        found = self._transcript(event, "user", event.get("transcript"), final=True)
        return found + ([Usage(counts=counts)] if counts else [])

    def _user_text_failed(self, event: Event) -> list[AgentEvent]:
        """Of what the user said here nobody knows what the server heard."""
        error = part(event, "error")
        told = error.get("message") or error.get("code") or error.get("type") or "no reason given"
        return [Fault(kind="agent", message=f"{NOT_WRITTEN_DOWN}: {' '.join(str(told).split())[:300]}")]

    def _transcript(
        self, event: Event, speaker: Any, words: Json, *, delta: bool = False, final: bool = False
    ) -> list[AgentEvent]:
        """A text of an item. A final one is replaced by final ones only; late ones of what was cut are void."""
        item_id = text(event, "item_id")
        if not isinstance(words, str) or text(event, "response_id") in self._over:
            return []
        if item_id in self._final_texts and not final:
            return []
        if final and item_id:
            self._final_texts.add(item_id)
        return [Transcript(speaker=speaker, text=words, item_id=item_id or None, delta=delta)]

    def _calls_of(self, response_id: str) -> ResponseCalls:
        return self._calls.setdefault(response_id, ResponseCalls(response_id=response_id))

    def _item_added(self, event: Event) -> list[AgentEvent]:
        self._calls_of(text(event, "response_id")).begun(part(event, "item"))
        return []

    def _arguments_done(self, event: Event) -> list[AgentEvent]:
        self._calls_of(text(event, "response_id")).written(event)
        return []

    def _item_done(self, event: Event) -> list[AgentEvent]:
        return list(self._calls_of(text(event, "response_id")).made(part(event, "item")))

    def _error(self, event: Event) -> list[AgentEvent]:
        error = part(event, "error")
        self._asked = False  # it may have been refused; if it was not, asking again collides, and waits
        if error.get("code") == ALREADY_ACTIVE:
            self._wanted, self._blocked = True, True
            return []
        fault = fault_of(error)
        return [fault] if fault else []

    HANDLERS: ClassVar[Mapping[str, Callable[[Any, Event], list[AgentEvent]]]] = {
        "input_audio_buffer.speech_started": _speech_started,
        "input_audio_buffer.speech_stopped": _speech_ended,
        "input_audio_buffer.committed": _speech_ended,
        "response.created": _response_created,
        "response.done": _response_done,
        "response.output_audio.delta": _audio,
        "response.output_audio_transcript.delta": _agent_text,
        "response.output_audio_transcript.done": _agent_text_done,
        "response.output_text.done": _agent_text_done,
        f"{_HEARD}.delta": _user_text,
        f"{_HEARD}.updated": _user_text_so_far,
        f"{_HEARD}.completed": _user_text_done,
        f"{_HEARD}.failed": _user_text_failed,
        "response.output_item.added": _item_added,
        "response.function_call_arguments.done": _arguments_done,
        "response.output_item.done": _item_done,
        "error": _error,
    }
    """What takes a server event, by its name of today."""


_WENT_ON = Fault(
    kind="agent",
    message="the server went on with a response that the user had interrupted: what came after that was not played",
)


def _failure(response: Event, status: Json) -> list[AgentEvent]:
    """A response that failed was not the agent's answer, unless for its content; one cut short by a limit was."""
    details = part(response, "status_details")
    if status == "failed":
        error = part(details, "error")
        told = error.get("message") or error.get("code") or error.get("type") or "no reason given"
        kind = kind_of_failure(error)
        return [Fault(kind=kind, message=f"a response failed: {told}")]
    if status == "incomplete":
        return [Fault(kind="agent", message=f"a response is incomplete: {details.get('reason', 'no reason given')}")]
    return []


def _whole(value: Json) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _rate_hz(value: Json) -> int:
    return value if isinstance(value, int) and MIN_RATE_HZ <= value <= MAX_RATE_HZ else RATE_HZ
