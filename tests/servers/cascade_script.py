"""What the double of OpenAI-compatible services is told to do: what it hears, says and calls, and its faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import stage

from pytest_voicebench.audio import RATE_HZ

Json = Any
Endpoint = Literal["models", "transcriptions", "chat", "speech"]


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    name: str
    arguments: str = "{}"
    call_id: str = ""


@dataclass(frozen=True)
class Chat:
    """One response of the model: a text, calls, or both."""

    text: str = ""
    calls: Sequence[Call] = ()
    finish: str = ""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What goes wrong at an endpoint, from its `first` request on (0 is the first one), `times` times.

    `status`: refused. `hang`: nothing comes. After `after` pieces of a streamed answer: `cut` (the connection breaks),
    `end` (the stream ends as if it were done), `error` (an error object in the stream), `garbage` (what is not JSON),
    `stall` (nothing more comes), `noise` (sound that is not base64).
    `json`, `wav`, `empty`: another body than asked for.
    """

    kind: str = "status"
    status: int = 500
    message: str = "the service failed"
    retry_after: str | None = None
    after: int = 1
    first: int = 0
    times: int = 1000


def tone(seconds: float) -> np.ndarray:
    """A hum."""
    at = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (6000 * np.sin(2 * np.pi * 220 * at)).astype(np.int16)


def reply_voice(_text: str) -> np.ndarray:
    """One second of the package's own voice, whatever the text."""
    return stage.voice("reply")


@dataclass(frozen=True, kw_only=True)
class Script:
    """One way of behaving. `heard` and `chats` are given one after the other, the last one again and again.

    Each may be a function instead: of the WAV file, of the body of the request.
    """

    heard: Sequence[str] | Callable[[bytes], str] = ("words of the user",)
    chats: Sequence[Chat] | Callable[[Json], Chat] = (Chat("All done, as you asked."),)
    voice: Callable[[str], np.ndarray] = reply_voice
    key: str | None = None  # another one is refused with 401, and repeated in the message as servers do
    troubles: Mapping[Endpoint, Trouble] = field(default_factory=dict)
    no_models: bool = False  # a server without that endpoint
    letters: int = 7  # characters of text or arguments in a piece of a chat answer
    pace: float = 0.0  # seconds a piece of sound waits, for each second of it
    writing_s: float = 0.0  # seconds a piece of a text waits
    odd: bool = False  # pieces of sound end in the middle of a sample
    no_index: bool = False  # tool calls without `index`, as some servers send them
    same_ids: bool = False  # every call has the id call_0
    no_usage: bool = False
    shape: str = "words_and_sound"  # of an answer in sound: also sound_beside_text and wav_pieces, as others have it
