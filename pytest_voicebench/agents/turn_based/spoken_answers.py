"""The sound inside the chunks of a chat completion, in each of the shapes in which servers give it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from pytest_voicebench.agents.checks import MAX_RATE_HZ, MIN_RATE_HZ
from pytest_voicebench.agents.openai_realtime.items import ItemAudio
from pytest_voicebench.agents.reading import NotAudio
from pytest_voicebench.agents.turn_based.bare_pcm import bytes_flaw
from pytest_voicebench.agents.turn_based.wav import audio_of
from pytest_voicebench.audio import RATE_HZ, Audio, Samples

Json = Any

_RIFF_IN_BASE64 = "UklGR"


def parts_of(chunk: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The delta of each choice, or its message where the answer was not streamed; the chunk with the usage has none.

    vLLM-Omni gives text and sound as choices of their own, and streams sound as the text of a chunk whose `modality` is
    audio; here it is `audio` in all of them.
    """
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        part = (choice.get("delta") or _numbered(choice.get("message"))) if isinstance(choice, dict) else None
        if not isinstance(part, dict):
            continue
        if chunk.get("modality") == "audio" and part.get("content"):
            part = {**part, "content": None, "audio": {"data": part["content"]}}
        yield part


def _numbered(message: Json) -> Json:
    """A whole message with its calls told apart by number, as pieces of calls are."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [{**c, "index": n} for n, c in enumerate(calls) if isinstance(c, dict)]}


def finish_of(chunk: dict[str, Json]) -> Json:
    """Why the answer ended, where this chunk says so; of several choices, what the last one says."""
    choices = chunk.get("choices")
    found = (
        [choice.get("finish_reason") for choice in choices if isinstance(choice, dict)]
        if isinstance(choices, list)
        else []
    )
    return next((reason for reason in reversed(found) if reason), None)


class SoundPieces:
    """The sound of one answer: WAV files, or bare PCM that is cut anywhere.

    PCM has 24 kHz, or the rate of the WAV file before it.
    """

    def __init__(self) -> None:
        self._bare = ItemAudio()
        self._rate_hz = RATE_HZ
        self._began = False

    def read(self, data: Json) -> Audio:
        """One piece, in base64; whole samples only. Raises NotAudio."""
        if not (isinstance(data, str) and data.startswith(_RIFF_IN_BASE64)):
            return Audio(samples=self._read_bare(data), rate_hz=self._rate_hz)
        audio = self._from_file(data)
        if not MIN_RATE_HZ <= audio.rate_hz <= MAX_RATE_HZ:
            raise NotAudio(f"the sound is said to have {audio.rate_hz} samples a second")
        self._rate_hz, self._began = audio.rate_hz, True
        return audio

    def _read_bare(self, data: Json) -> Samples:
        samples = self._bare.read(data).samples
        is_first, self._began = not self._began, self._began or len(samples) > 0
        if is_first and (flaw := bytes_flaw(samples[:4].astype("<i2").tobytes())):
            raise NotAudio(flaw)
        return samples

    def _from_file(self, data: str) -> Audio:
        try:
            return audio_of(base64.b64decode(data, validate=True))
        except binascii.Error:
            raise NotAudio("the audio is not base64") from None
        except ValueError as flaw:
            raise NotAudio(str(flaw)) from None
