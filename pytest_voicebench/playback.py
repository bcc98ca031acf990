"""What a listener hears: one virtual loudspeaker per conversation, fed faster than it plays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_voicebench.audio import RATE_HZ, Samples
from pytest_voicebench.conversation import Chunk, to_ticks

_GROWTH_TICKS = 30 * RATE_HZ


@dataclass(slots=True)
class _Queued:
    item_id: str
    received_ticks: int
    start_ticks: int
    length_ticks: int
    heard_ticks: int


class Loudspeaker:
    """Plays chunks one after another on the conversation's timeline (design section 7).

    A chunk starts at max(its arrival, the end of what is queued); a late chunk leaves silence. A clear at t removes
    every sample that would play at t or later. Samples are int16 at 24 kHz.
    """

    def __init__(self) -> None:
        self._track: Samples = np.zeros(_GROWTH_TICKS, np.int16)
        self._chunks: list[_Queued] = []
        self.end_ticks = 0
        """Where the queue ends: nothing plays at this tick or later."""
        self.clears_ticks: list[int] = []

    def queue(self, item_id: str, samples: Samples, now_ticks: int) -> None:
        """Append a chunk that has just arrived."""
        if not len(samples):
            return
        start = max(now_ticks, self.end_ticks)
        self.end_ticks = start + len(samples)
        self._grow(self.end_ticks)
        self._track[start : self.end_ticks] = samples
        self._chunks.append(_Queued(item_id, now_ticks, start, len(samples), len(samples)))

    def clear(self, now_ticks: int) -> dict[str, int]:
        """Drop all that has not been heard; returns the heard ticks of each item that lost something, oldest first."""
        self.clears_ticks.append(now_ticks)
        if now_ticks >= self.end_ticks:
            return {}
        self._track[now_ticks : self.end_ticks] = 0
        self.end_ticks = now_ticks
        cut: dict[str, int] = {}
        for chunk in self._chunks:
            heard = max(0, min(chunk.heard_ticks, now_ticks - chunk.start_ticks))
            if heard < chunk.heard_ticks:
                cut[chunk.item_id] = 0
                chunk.heard_ticks = heard
        return {item_id: self.heard_ticks(item_id) for item_id in cut}

    def heard_ticks(self, item_id: str) -> int:
        """Samples of an item that play or have played; a cleared rest does not count."""
        return sum(c.heard_ticks for c in self._chunks if c.item_id == item_id)

    def received_ticks(self, item_id: str) -> int:
        """Samples of an item that arrived."""
        return sum(c.length_ticks for c in self._chunks if c.item_id == item_id)

    def between(self, start_ticks: int, end_ticks: int) -> Samples:
        """What plays in a stretch of time, as it stands now; empty where the queue has ended before it."""
        return self._track[start_ticks : min(end_ticks, self.end_ticks)]

    def track(self, duration_ticks: int) -> Samples:
        """The heard track from tick 0, exactly `duration_ticks` long."""
        self._grow(duration_ticks)
        return self._track[:duration_ticks].copy()

    def chunks(self, duration_ticks: int) -> tuple[Chunk, ...]:
        """The table of what arrived; `heard_ticks` ends with the conversation."""
        return tuple(
            Chunk(
                item_id=c.item_id,
                received_ticks=c.received_ticks,
                start_ticks=c.start_ticks,
                length_ticks=c.length_ticks,
                heard_ticks=max(0, min(c.heard_ticks, duration_ticks - c.start_ticks)),
            )
            for c in self._chunks
        )

    def _grow(self, ticks: int) -> None:
        if ticks > len(self._track):
            more = max(_GROWTH_TICKS, ticks - len(self._track))
            self._track = np.concatenate([self._track, np.zeros(more, np.int16)])


AUDIBLE_DBFS = -50.0
"""Level at which a block of the agent's voice counts as heard (design section 9)."""

PAUSE_TICKS = to_ticks(0.30)
"""Silences shorter than this do not end a stretch of speech."""

_AUDIBLE_POWER = (32768.0 * 10 ** (AUDIBLE_DBFS / 20)) ** 2


class Listener:
    """Follows the loudspeaker block by block: does the agent speak now, and since when.

    By level alone, so that triggers cost nothing while a conversation runs; scores use detected speech instead.
    """

    def __init__(self) -> None:
        self.onset_ticks: int | None = None
        """Start of the current or latest stretch of sound."""
        self.last_heard_ticks: int | None = None
        """End of the latest audible block."""

    def hear(self, samples: Samples, start_ticks: int) -> None:
        """Take what played from `start_ticks` on, at most one block; empty is silence."""
        if not len(samples) or not samples.any():
            return
        wide = samples.astype(np.float64)
        if float(wide @ wide) / len(samples) < _AUDIBLE_POWER:
            return
        if self.last_heard_ticks is None or start_ticks - self.last_heard_ticks >= PAUSE_TICKS:
            self.onset_ticks = start_ticks
        self.last_heard_ticks = start_ticks + len(samples)

    def silent_for_ticks(self, now_ticks: int) -> int | None:
        """Ticks since the last sound; None before the first one."""
        return None if self.last_heard_ticks is None else now_ticks - self.last_heard_ticks

    def speaks(self, now_ticks: int) -> bool:
        """Whether the agent is speaking, short pauses included."""
        silent = self.silent_for_ticks(now_ticks)
        return silent is not None and silent < PAUSE_TICKS
