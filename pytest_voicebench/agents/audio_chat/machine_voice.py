"""A voice of this machine in the place of a service of speech."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.voice import Voice
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ, resample

PIECE_BYTES = RATE_HZ * 2 // 10
"""A tenth of a second of 24 kHz PCM."""


class MachineVoice:
    """Speaks a sentence when all of it is made. It takes real time, which counts as the agent's."""

    def __init__(self, voice: Voice, log: WireLog) -> None:
        self._voice = voice
        self._log = log

    async def speech(self, text: str) -> AsyncGenerator[bytes, None]:
        """The text as 24 kHz PCM. Raises Unreachable where the voice fails."""
        try:
            data = await asyncio.to_thread(self._made, text)
        except OSError as problem:
            raise self.broken(" ".join(str(problem).split())) from None
        self._log.note(f"{self._voice.name} spoke {len(text)} characters")
        for start in range(0, len(data), PIECE_BYTES):
            yield data[start : start + PIECE_BYTES]

    def broken(self, told: str) -> Unreachable:
        """Speech that came to no proper end."""
        found = Unreachable("refused", f"voice {self._voice.name}: {told}")
        self._log.note(str(found))
        return found

    def _made(self, text: str) -> bytes:
        return resample(self._voice.say(text), RATE_HZ).samples.astype("<i2").tobytes()
