"""OpenBMB's hosted dialect for MiniCPM-o (subprotocol `map.realtime`): its opening message, and a session's state.

Source: the package `openbmb-realtime` 0.1.6, and the vendor's demonstration pages for what it leaves open: the model
takes a second of sound at a time, and gives float samples at 24 kHz.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pytest_voicebench.agents.omni.asked import INPUT_HZ, OUTPUT_HZ, Asked
from pytest_voicebench.agents.omni.errors import error_text
from pytest_voicebench.agents.openai_realtime.usage import usage_counts
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    AgentEvent,
    Fault,
    ToolResult,
    Transcript,
    TurnEnd,
    Unsupported,
    Usage,
)
from pytest_voicebench.audio import Audio, Samples, to_int16
from pytest_voicebench.wav_header import repaired_wav

Json = Any
Event = dict[str, Json]

SUBPROTOCOL = "map.realtime"
UNIT_SAMPLES = INPUT_HZ
"""Of the user's sound in one message."""

QUEUED = ("session.queued", "session.queue_update", "queued", "queue_update")
ADMITTED = ("session.queue_done", "queue_done")


def session_init(asked: Asked) -> Event:
    """What opens a session when the queue is over."""
    payload: Event = {"system_prompt": asked.instructions}
    if asked.reference is not None:
        voice = _floats(_samples_of(asked.reference))
        payload["voice"] = {"ref_audio_base64": voice, "tts_ref_audio_base64": voice}
    return {"type": "session.init", "payload": payload}


def _samples_of(wav: bytes) -> Samples:
    """The samples of a reference, which is a mono WAV file of 16 bits at 16 kHz."""
    data = repaired_wav(wav)[0]
    return np.frombuffer(data[44:], "<i2").astype(np.int16)


def _floats(samples: Samples) -> str:
    return base64.b64encode((samples.astype(np.float32) / 32768.0).astype("<f4").tobytes()).decode()


class MapState:
    """Follows one session: sound out a second at a time, sound and text back by kind.

    The server names no items: what comes until the model listens again, or says that it is done, is one.
    """

    def __init__(self) -> None:
        self._unsent: list[Samples] = []
        self._turns = 1
        self._said = False
        self._cumulative: dict[str, float] = {}

    def block(self, audio: Audio) -> list[Event]:
        """Nothing, or a second of the user's sound."""
        self._unsent.append(audio.samples)
        if sum(map(len, self._unsent)) < UNIT_SAMPLES:
            return []
        whole = np.concatenate(self._unsent)
        self._unsent = [whole[UNIT_SAMPLES:]]
        return [{"type": "input.append", "input": {"audio": _floats(whole[:UNIT_SAMPLES])}}]

    def take_outgoing(self) -> list[Event]:
        """Nothing: the model is only told the user's sound."""
        return []

    def answer(self, results: Sequence[ToolResult]) -> None:
        """There are no tools."""

    def cut(self, item_id: str, seconds: float) -> None:
        """The protocol has no word for what was heard."""

    def inject(self, text: str) -> None:
        """Raises Unsupported: this dialect has no texts in the conversation."""
        raise Unsupported("this dialect takes no text into a conversation")

    def take(self, event: Event) -> list[AgentEvent]:
        """What a server event means; an unknown one means nothing."""
        kind = event.get("type")
        handle = _HANDLERS.get(kind) if isinstance(kind, str) else None
        return [*(handle(self, event) if handle else []), *self._usage(event)]

    @property
    def _item_id(self) -> str:
        return f"turn_{self._turns}"

    def _output(self, event: Event) -> list[AgentEvent]:
        match event.get("kind"):
            case "audio":
                return self._sound(event.get("audio"))
            case "text":
                found = self._words(event.get("text"))
                return [*found, *(self._turn_ended() if event.get("end_of_turn") is True else [])]
            case "listen":
                return self._listens(event)
        return []

    def _old_sound(self, event: Event) -> list[AgentEvent]:
        """Sound and text in one event, as servers before had it."""
        found = [*self._words(event.get("text")), *self._sound(event.get("audio", event.get("delta")))]
        return [*found, *(self._turn_ended() if event.get("end_of_turn") is True else [])]

    def _sound(self, data: Json) -> list[AgentEvent]:
        if not isinstance(data, str) or not data:
            return []
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return [Fault(kind="infrastructure", message="response.output.delta: the audio is not base64")]
        samples = np.frombuffer(raw[: len(raw) - len(raw) % 4], "<f4").astype(np.float64)
        if not len(samples):
            return []
        if not np.isfinite(samples).all():
            return [Fault(kind="infrastructure", message="response.output.delta: the audio holds what is no number")]
        self._said = True
        audio = Audio(samples=to_int16(np.clip(samples, -1.0, 1.0) * 32768.0), rate_hz=OUTPUT_HZ)
        return [AgentAudio(item_id=self._item_id, audio=audio)]

    def _words(self, text: Json) -> list[AgentEvent]:
        if not isinstance(text, str) or not text:
            return []
        self._said = True
        return [Transcript(speaker="agent", text=text, item_id=self._item_id, delta=True)]

    def _listens(self, event: Event) -> list[AgentEvent]:
        """The model decided to be silent; a text with it is what it understood of the user."""
        text = event.get("text", event.get("transcript"))
        heard: list[AgentEvent] = []
        if isinstance(text, str) and text.strip():
            heard = [Transcript(speaker="user", text=text.strip())]
        return [Usage(counts={"listen_decisions": 1}), *heard, *self._turn_ended()]

    def _done(self, _: Event) -> list[AgentEvent]:
        return self._turn_ended()

    def _turn_ended(self) -> list[AgentEvent]:
        """What comes next is another item; nothing where the agent said nothing."""
        if not self._said:
            return []
        ended = TurnEnd(response_id=self._item_id)
        self._turns, self._said = self._turns + 1, False
        return [ended]

    def _closed(self, event: Event) -> list[AgentEvent]:
        reason = event.get("reason")
        told = " ".join(reason.split())[:200] if isinstance(reason, str) else "no reason given"
        return [Fault(kind="infrastructure", message=f"the server ended the session: {told}")]

    def _error(self, event: Event) -> list[AgentEvent]:
        """Any error ends a session of this dialect."""
        return [Fault(kind="infrastructure", message=f"the server reports {error_text(event)}")]

    def _usage(self, event: Event) -> list[AgentEvent]:
        """A count at an event's top is that of the session so far; one in a response is that response's."""
        response = event.get("response")
        if counts := usage_counts(event.get("usage")):
            new = {name: value - self._cumulative.get(name, 0.0) for name, value in counts.items()}
            self._cumulative |= counts
            return [Usage(counts=new)]
        counts = usage_counts(response.get("usage")) if isinstance(response, dict) and not self._cumulative else {}
        return [Usage(counts=counts)] if counts else []


_HANDLERS: dict[str, Callable[[MapState, Event], list[AgentEvent]]] = {
    "response.output.delta": MapState._output,
    "response.output_audio.delta": MapState._old_sound,
    "response.listen": MapState._listens,
    "response.done": MapState._done,
    "session.closed": MapState._closed,
    "error": MapState._error,
}
