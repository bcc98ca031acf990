"""The model's ears: the user's speech as a part of a chat message."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from pytest_voicebench.agents.protocol import Usage
from pytest_voicebench.agents.turn_based.history import History
from pytest_voicebench.agents.turn_based.speaking import Emit

Json = Any

PARTS: Mapping[str, Callable[[str], Json]] = {
    "input_audio": lambda data: {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}},
    "audio_url": lambda data: {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{data}"}},
}
"""A content part with a WAV file in base64: OpenAI's, and the one of servers that take media by address."""


class SoundMessages:
    """Puts speech into the history. `part` is one of PARTS; `prompt` is a text before each piece of speech, or none.

    The model is told all speech of the conversation with every request, and gives no text of it: there is no transcript
    of the user.
    """

    def __init__(self, part: str, prompt: str, history: History, emit: Emit) -> None:
        self._part = PARTS[part]
        self._prompt = [{"type": "text", "text": prompt}] if prompt else []
        self._history = history
        self._emit = emit

    async def take(self, number: int, wav: bytes, seconds: float) -> None:
        """The user's speech joins the history at once."""
        self._emit(Usage(counts={"user_speech_s": round(seconds, 3)}))
        self._history.heard([*self._prompt, self._part(base64.b64encode(wav).decode())])
