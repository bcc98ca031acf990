"""What the agent says, from its frames: a pure machine that finds speech in a stream that never stops."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pytest_voicebench.agents.protocol import AgentAudio, AgentEvent, Fault, Transcript
from pytest_voicebench.agents.reading import NotAudio
from pytest_voicebench.audio import RATE_HZ, Audio, Samples

LOUD_DBFS = -55.0
"""Sound without 5 ms above this is the stream's silence. Scores hear from -50 dBFS on."""

KEPT_S = 0.3
"""So much of the silence after speech still belongs to it."""

PAUSE_S = 1.0
"""A longer silence parts one reply from the next."""

_WINDOW = RATE_HZ * 5 // 1000
_PADDING = (b"", b"\0", b"\3")
"""Text that stands for no word."""


class Reads(Protocol):
    """What turns a piece of the stream into samples."""

    def read(self, data: bytes) -> Samples:
        """The samples. Raises NotAudio."""


class StreamState:
    """Follows one stream. `take` gives our events.

    The agent sends silence, too, in real time. Passed on, it would be sound that waits to be played, and no
    conversation would ever be quiet; so it is left out, and the loudspeaker is silent by itself.
    """

    def __init__(self, decoder: Reads) -> None:
        self._decoder = decoder
        self._number = 0
        self._is_open = False
        self._quiet_s = 0.0

    def take(self, frame: bytes) -> list[AgentEvent]:
        """What a frame means: its first byte is its kind; unknown kinds mean nothing."""
        kind, data = frame[:1], frame[1:]
        if kind == b"\1":
            return self._sound(data)
        if kind == b"\2" and data not in _PADDING:
            self._quiet_s = 0.0
            return [Transcript(speaker="agent", text=data.decode(errors="replace"), item_id=self._reply(), delta=True)]
        if kind == b"\5":
            told = " ".join(data.decode(errors="replace").split())[:200]
            return [Fault(kind="infrastructure", message=f"the server tells an error: {told or 'no reason given'}")]
        return []

    def _sound(self, data: bytes) -> list[AgentEvent]:
        try:
            samples = self._decoder.read(data)
        except NotAudio as flaw:
            return [Fault(kind="infrastructure", message=str(flaw))]
        if not len(samples):
            return []
        if not is_loud(samples):
            self._quiet_s += len(samples) / RATE_HZ
            if not self._is_open or self._quiet_s > KEPT_S:
                self._is_open = self._is_open and self._quiet_s <= PAUSE_S
                return []
        else:
            self._quiet_s = 0.0
        return [AgentAudio(item_id=self._reply(), audio=Audio(samples=samples, rate_hz=RATE_HZ))]

    def _reply(self) -> str:
        """The reply that is going on; where there is none, one begins."""
        if not self._is_open:
            self._number += 1
            self._is_open = True
        return f"reply_{self._number}"


def is_loud(samples: Samples) -> bool:
    """Whether any 5 ms of the sound are above LOUD_DBFS; a shorter rest at the end counts as a window."""
    power = samples.astype(np.float32) ** 2
    starts = np.arange(0, len(power), _WINDOW)
    means = np.add.reduceat(power, starts) / np.minimum(_WINDOW, len(power) - starts)
    return bool(means.max() > (32768.0 * 10 ** (LOUD_DBFS / 20)) ** 2)
