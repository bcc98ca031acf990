"""The cascade's ears: a service of transcription writes the user's speech down for the model."""

from __future__ import annotations

from pytest_voicebench.agents.protocol import Transcript, Usage
from pytest_voicebench.agents.turn_based.endpoints import Endpoint
from pytest_voicebench.agents.turn_based.history import History
from pytest_voicebench.agents.turn_based.speaking import Emit


class WritingDown:
    """Puts words into the history, one turn after the other."""

    def __init__(self, stt: Endpoint, history: History, emit: Emit) -> None:
        self._stt = stt
        self._history = history
        self._emit = emit

    async def take(self, number: int, wav: bytes, seconds: float) -> None:
        """The user's words join the history, if there are any. Raises Unreachable."""
        self._emit(Usage(counts={"stt_requests": 1, "stt_audio_s": round(seconds, 3)}))
        text, counts = await self._stt.transcribe(wav)
        if counts:
            self._emit(Usage(counts=counts))
        if text.strip():
            self._history.heard(text.strip())
            self._emit(Transcript(speaker="user", text=text.strip(), item_id=f"user_{number}"))
