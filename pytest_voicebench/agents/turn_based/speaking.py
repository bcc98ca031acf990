"""The agent's voice: sentences become sound, and what plays is known by the clock."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

import numpy as np

from pytest_voicebench.agents.protocol import AgentAudio, AgentEvent, Fault, Transcript, Usage
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.turn_based.history import Sentence
from pytest_voicebench.audio import RATE_HZ, Audio

Emit = Callable[[AgentEvent], None]


LONGEST_S = 240.0
"""Of one sentence, or of one answer that comes as sound: a service that does not stop is stopped."""


class Speaker(Protocol):
    """Makes sound of text: a service of speech, or a voice of this machine."""

    def speech(self, text: str) -> AsyncGenerator[bytes, None]:
        """The text as 24 kHz PCM, piece by piece. Raises Unreachable."""

    def broken(self, told: str) -> Unreachable:
        """What to raise for an answer that came to no proper end."""


class Loudspeaker:
    """Sends sound and knows how long it plays. `emit` takes our events; `now_s` is the loop's clock."""

    def __init__(self, emit: Emit, now_s: Callable[[], float]) -> None:
        self._emit = emit
        self._now_s = now_s
        self._plays_until_s = 0.0

    @property
    def playing(self) -> bool:
        """Whether something that was sent is still being heard."""
        return self._now_s() < self._plays_until_s

    def stop(self) -> None:
        """What was sent is dropped."""
        self._plays_until_s = self._now_s()

    def play(self, sentence: Sentence, audio: Audio) -> None:
        """Send the next piece of a sentence's sound; of one that was broken off nothing: its maker may not know yet."""
        if sentence.broken_off:
            return
        sentence.sent_s += audio.duration_s
        self._plays_until_s = max(self._plays_until_s, self._now_s()) + audio.duration_s
        self._emit(AgentAudio(item_id=sentence.item_id, audio=audio))


class Mouth:
    """Speaks one sentence after the other."""

    def __init__(self, speaker: Speaker, loudspeaker: Loudspeaker, emit: Emit) -> None:
        self._speaker = speaker
        self._loudspeaker = loudspeaker
        self._emit = emit

    async def speak(self, sentence: Sentence) -> None:
        """Send a sentence's sound as it comes. Raises Unreachable."""
        self._emit(Usage(counts={"tts_requests": 1, "tts_characters": len(sentence.text)}))
        rest = b""
        try:
            async with aclosing(self._speaker.speech(sentence.text)) as pieces:
                async for piece in pieces:
                    rest = self._play(sentence, rest + piece)
                    if sentence.sent_s > LONGEST_S:
                        raise self._speaker.broken(f"more than {LONGEST_S:.0f} s of sound for one sentence")
        finally:
            if sentence.sent_s:
                self._emit(Usage(counts={"tts_audio_s": round(sentence.sent_s, 3)}))
        sentence.complete = True
        if not sentence.sent_s:
            sentence.cut(0.0)
            self._emit(Fault(kind="infrastructure", message=f"no sound came for the sentence {sentence.text[:80]!r}"))

    def _play(self, sentence: Sentence, data: bytes) -> bytes:
        """Send whole samples; a half one waits for its other half."""
        whole = len(data) - len(data) % 2
        if whole:
            if not sentence.sent_s and not sentence.broken_off:
                self._emit(Transcript(speaker="agent", text=sentence.text, item_id=sentence.item_id))
            audio = Audio(samples=np.frombuffer(data[:whole], "<i2").astype(np.int16), rate_hz=RATE_HZ)
            self._loudspeaker.play(sentence, audio)
        return data[whole:]
