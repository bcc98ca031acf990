"""An open session whose dialect says how a block goes out: numbered, with word of playback, or a second at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_voicebench.agents.openai_realtime.line import RealtimeLine, State, pcm_text
from pytest_voicebench.agents.protocol import Fault
from pytest_voicebench.agents.wire import Wire
from pytest_voicebench.audio import Audio


class OmniState(State, Protocol):
    """What a session is in the middle of, its blocks among it."""

    def block(self, audio: Audio) -> Sequence[Mapping[str, Any]]:
        """What carries one block of the user's sound to the server."""


class OmniLine(RealtimeLine):
    """Sends what the state makes of each block."""

    def __init__(self, wire: Wire, state: OmniState, first: Sequence[Fault]) -> None:
        super().__init__(wire, state, first)
        self._blocks = state

    async def send(self, audio: Audio) -> None:
        """One block, at the rate that the session was asked for."""
        for event in self._blocks.block(audio):
            await self._wire.send(event)


def appended(audio: Audio) -> dict[str, Any]:
    """A block in the words that most dialects start from."""
    return {"type": "input_audio_buffer.append", "audio": pcm_text(audio)}
