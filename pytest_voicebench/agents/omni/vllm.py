"""vLLM-Omni's duplex dialect: the session as it is asked for, and what its events mean beyond OpenAI's.

Source: `vllm_omni.protocol.duplex` and the server's own client, version 0.30.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from pytest_voicebench.agents.omni.asked import INPUT_HZ, OUTPUT_HZ, Asked, overlap_policy
from pytest_voicebench.agents.omni.line import appended
from pytest_voicebench.agents.omni.playing import Playing
from pytest_voicebench.agents.openai_realtime.state import SessionState
from pytest_voicebench.agents.protocol import AgentAudio, AgentEvent, Fault, ToolResult, TurnEnd, Usage
from pytest_voicebench.agents.reading import text
from pytest_voicebench.audio import Audio

Json = Any
Event = dict[str, Json]

TOLD_EVERY_MS = 200
"""How often the server hears how much was played: under `ack_only` the model remembers no more than that."""


def session_update(asked: Asked) -> Event:
    """What opens a session: the server says nothing before it."""
    session: Event = {
        "model": asked.model,
        "modalities": ["audio", "text"],
        "instructions": asked.instructions,
        "input_audio_format": "pcm16",
        "output_audio_format": "pcm16",
        "sample_rate_hz": INPUT_HZ,
        "audio": {"input": {"sample_rate_hz": INPUT_HZ}, "output": {"sample_rate_hz": OUTPUT_HZ}},
        "turn_detection": asked.detection,
        "overlap_policy": overlap_policy(asked.detection),
        "playback_commit_policy": asked.playback_commit_policy,
        "extra_body": {"auto_response": True, "force_listen_count": 0},
    }
    if asked.declarations:
        session["tools"] = asked.declarations
    if asked.reference is not None:
        session["ref_audio"] = f"data:audio/wav;base64,{base64.b64encode(asked.reference).decode()}"
    return {"type": "session.update", "session": session}


class VllmState(SessionState):
    """Follows one session. The model may speak, listen and call at once, and decides by itself whether speech cuts it.

    Speech of the user therefore clears nothing; a response that is cancelled does. Results ask for no response. How
    much of each item was played is told while it plays, and at once where it was cut.
    """

    def __init__(self, *, now_s: Callable[[], float]) -> None:
        super().__init__(now_s=now_s)
        self._last_seq = -1
        self._acknowledged = -1
        self._responses: dict[str, str] = {}
        self._playing = Playing(TOLD_EVERY_MS)
        self._sounding: str | None = None  # the response whose sound came last, until it is done

    def take(self, event: Event) -> list[AgentEvent]:
        """What a server event means. One whose number in the session is not new was seen before."""
        seq = event.get("server_event_seq")
        if isinstance(seq, int) and not isinstance(seq, bool):
            if seq <= self._last_seq:
                return []
            self._last_seq = seq
        found = super().take(event)
        for one in found:
            if isinstance(one, AgentAudio):
                self._responses.setdefault(one.item_id, text(event, "response_id"))
                self._sounding = text(event, "response_id") or None
                self._playing.add(one.item_id, one.audio.duration_s, self._now_s())
        return found

    def take_outgoing(self) -> list[Event]:
        """What is to be sent now; with it, up to which number the server's events have come."""
        events = super().take_outgoing()
        if self._last_seq > self._acknowledged:
            self._acknowledged = self._last_seq
            events.append({"type": "session.event_ack", "server_event_seq": self._last_seq})
        return events

    def block(self, audio: Audio) -> list[Event]:
        """One block of the user's sound, and what has been played of the agent's."""
        news = self._playing.news(self._now_s())
        return [appended(audio), *(self._played(item_id, ms) for item_id, ms in news)]

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Hand over results; the model goes on by itself."""
        super().answer(results)
        self._wanted = False

    def cut(self, item_id: str, seconds: float) -> None:
        """What was heard of an item is all that the model is to remember of it."""
        item = self._items.get(item_id)
        heard_ms = int(min(seconds, item.seconds if item else 0.0) * 1000)
        self._playing.stop(item_id, self._now_s())
        self._outgoing.append(self._played(item_id, heard_ms))
        if heard_ms > 0:
            super().cut(item_id, seconds)

    def _played(self, item_id: str, ms: int) -> Event:
        told: Event = {"type": "playback.ack", "item_id": item_id, "played_ms": ms, "committed_ms": ms}
        if response_id := self._responses.get(item_id):
            told["response_id"] = response_id
        return told

    def _goes_on(self, _: Event) -> list[AgentEvent]:
        """The user's speech: the model hears it, and decides."""
        return []

    def _created(self, event: Event) -> list[AgentEvent]:
        """A response begins beside those that are under way: calls are responses of their own here."""
        response = event.get("response")
        self._active = text(response, "id") if isinstance(response, dict) else None
        return []

    def _sound_cleared(self, event: Event) -> list[AgentEvent]:
        """What was sent is not to be played on, though its response may be complete."""
        if response_id := text(event, "response_id"):
            self._over.add(response_id)
        return self._cleared()

    def _overlap(self, event: Event) -> list[AgentEvent]:
        """What the server makes of speech during speech; it is counted by its name."""
        action = text(event, "action")
        counts: list[AgentEvent] = [Usage(counts={f"overlap_{action}_decisions": 1})] if action else []
        if action != "barge_in":
            return counts
        self._over |= {r for r in (text(event, "response_id"), self._sounding) if r}  # what is on its way is late
        return [*counts, *self._cleared()]

    def _done(self, event: Event) -> list[AgentEvent]:
        response = event.get("response")
        if isinstance(response, dict) and response.get("id") == self._sounding:
            self._sounding = None
        return self._response_done(event)

    def _listens(self, event: Event) -> list[AgentEvent]:
        """The model decided to be silent: once for every second or so, and for a response that ends without a word."""
        response_id = text(event, "response_id")
        ended = [TurnEnd(response_id=response_id)] if response_id and response_id == self._active else []
        return [Usage(counts={"listen_decisions": 1}), *ended]

    def _ended_by_server(self, event: Event) -> list[AgentEvent]:
        what = text(event, "type").removeprefix("session.")
        reason = " ".join(text(event, "reason").split())[:200]
        return [Fault(kind="infrastructure", message=f"the server ended the session: {what} {reason}".rstrip())]

    def _flat_error(self, event: Event) -> list[AgentEvent]:
        """Before a session stands, errors are flat."""
        error = event.get("error")
        if not isinstance(error, dict):
            event = {"error": {"message": error, "code": event.get("code"), "type": "invalid_request_error"}}
        return self._error(event)

    HANDLERS: ClassVar[Mapping[str, Callable[[Any, Event], list[AgentEvent]]]] = {
        **SessionState.HANDLERS,
        "input_audio_buffer.speech_started": _goes_on,
        "response.created": _created,
        "response.done": _done,
        "output_audio_buffer.cleared": _sound_cleared,
        "overlap.decision": _overlap,
        "response.listen": _listens,
        "session.closed": _ended_by_server,
        "session.expired": _ended_by_server,
        "session.replaced": _ended_by_server,
        "error": _flat_error,
    }
    """What takes a server event, by its name."""
