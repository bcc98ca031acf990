"""What a listener hears: one virtual loudspeaker per conversation, fed faster than it plays."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from pytest_voicebench.audio import RATE_HZ, Samples, StreamResampler
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
    every sample that would play at t or later. Samples are int16 at 24 kHz. What would play at `most_ticks` or later,
    when the conversation is over at the latest, is counted and not kept.
    """

    def __init__(self, most_ticks: int | None = None) -> None:
        self._most_ticks = most_ticks
        self._track: Samples = np.zeros(_GROWTH_TICKS, np.int16)
        self._chunks: list[_Queued] = []
        self.end_ticks = 0
        """Where the queue ends: nothing plays at this tick or later."""
        self.clears_ticks: list[int] = []
        """When something was dropped; a clear that met an empty queue took nothing from anybody."""

    def queue(self, item_id: str, samples: Samples, now_ticks: int) -> int:
        """Append a chunk that has just arrived; returns the tick at which it begins to play."""
        start = max(now_ticks, self.end_ticks)
        if len(samples):
            self.end_ticks = start + len(samples)
            self.rewrite(start, samples)
            if not self._lengthens(item_id, start, len(samples)):
                self._chunks.append(_Queued(item_id, now_ticks, start, len(samples), len(samples)))
        return start

    def _lengthens(self, item_id: str, start_ticks: int, length_ticks: int) -> bool:
        """Add to the latest chunk what follows it where nothing is kept: hours of sound are not as many rows."""
        last = self._chunks[-1] if self._chunks else None
        if last is None or self._most_ticks is None or last.start_ticks < self._most_ticks:
            return False
        if last.item_id != item_id or last.start_ticks + last.heard_ticks != start_ticks:
            return False
        last.length_ticks += length_ticks
        last.heard_ticks += length_ticks
        return True

    @property
    def beyond_ticks(self) -> int:
        """How much of what is queued would play when the conversation is over at the latest."""
        return 0 if self._most_ticks is None else max(0, self.end_ticks - self._most_ticks)

    def rewrite(self, start_ticks: int, samples: Samples) -> None:
        """Put better samples in the place of queued ones; nothing is queued by it."""
        end = start_ticks + len(samples)
        kept = end if self._most_ticks is None else min(end, self._most_ticks)
        if start_ticks < kept:
            self._grow(kept)
            self._track[start_ticks:kept] = samples[: kept - start_ticks]

    def clear(self, now_ticks: int) -> dict[str, int]:
        """Drop all that has not been heard; returns the heard ticks of each item that lost something, oldest first."""
        if now_ticks >= self.end_ticks:
            return {}
        self.clears_ticks.append(now_ticks)
        self._track[now_ticks : self.end_ticks] = 0
        self.end_ticks = now_ticks
        cut: dict[str, int] = {}
        for chunk in self._chunks:
            heard = max(0, min(chunk.heard_ticks, now_ticks - chunk.start_ticks))
            if heard < chunk.heard_ticks:
                cut[chunk.item_id] = 0
                chunk.heard_ticks = heard
        return {item_id: self.heard_ticks(item_id, now_ticks) for item_id in cut}

    def heard_ticks(self, item_id: str, now_ticks: int) -> int:
        """Samples of an item that have played by now; neither what is queued nor a cleared rest counts."""
        return sum(max(0, min(c.heard_ticks, now_ticks - c.start_ticks)) for c in self._chunks if c.item_id == item_id)

    def received_ticks(self, item_id: str) -> int:
        """Samples of an item that arrived."""
        return sum(c.length_ticks for c in self._chunks if c.item_id == item_id)

    def played_at(self, item_id: str, start_ticks: int, end_ticks: int) -> tuple[int, int]:
        """When a stretch of an item's sound plays; both count from the sound's start, and it must have arrived."""
        first = last = passed = 0
        for chunk in (c for c in self._chunks if c.item_id == item_id):
            if passed <= start_ticks < passed + chunk.length_ticks:
                first = chunk.start_ticks + start_ticks - passed
            if passed < end_ticks <= passed + chunk.length_ticks:
                last = chunk.start_ticks + end_ticks - passed
            passed += chunk.length_ticks
        return first, max(first, last)

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


class ResampledItem:
    """Queues one item's chunks that come at another rate, each at once and at its exact length.

    A resampler gives its output late and in lumps, which must not move what is heard: each chunk gets its place when it
    arrives, filled with a draft (linear interpolation) that the resampler's output replaces as it comes.
    """

    def __init__(self, loudspeaker: Loudspeaker, item_id: str, rate_hz: int) -> None:
        self.key = (item_id, rate_hz)
        self._loudspeaker = loudspeaker
        self._resampler = StreamResampler(rate_hz, RATE_HZ)
        self._places: deque[tuple[int, int]] = deque()  # start and length of what still holds a draft
        self._taken = 0
        self._given_ticks = 0

    def queue(self, samples: Samples, now_ticks: int) -> None:
        """Append a chunk that has just arrived."""
        item_id, rate_hz = self.key
        self._taken += len(samples)
        length = round(self._taken * RATE_HZ / rate_hz) - self._given_ticks
        self._given_ticks += length
        if length > 0:
            at = np.arange(length) * (len(samples) / length)
            draft = np.interp(at, np.arange(len(samples)), samples).astype(np.int16)
            self._places.append((self._loudspeaker.queue(item_id, draft, now_ticks), length))
        self._fill(self._resampler.feed(samples))

    def finish(self) -> None:
        """Replace the last drafts; to be called before anything is cleared, and at the end."""
        self._fill(self._resampler.flush())

    def _fill(self, samples: Samples) -> None:
        while len(samples) and self._places:
            start, length = self._places.popleft()
            piece, samples = samples[:length], samples[length:]
            self._loudspeaker.rewrite(start, piece)
            if len(piece) < length:
                self._places.appendleft((start + len(piece), length - len(piece)))


AUDIBLE_DBFS = -50.0
"""Level at which a block of the agent's voice counts as heard (design section 9)."""

PAUSE_TICKS = to_ticks(0.30)
"""Silences shorter than this do not end a stretch of speech."""

TALKED_ON_TICKS = to_ticks(1.0)
"""Speech that began before the user's end and goes on this long after it is taken for the answer too."""

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

    def answered(self, turn_end_ticks: int) -> bool:
        """Whether the agent was heard to answer a turn: it began after the turn's end, or talked on well past it."""
        if self.onset_ticks is None or self.last_heard_ticks is None:
            return False
        return self.onset_ticks >= turn_end_ticks or self.last_heard_ticks - turn_end_ticks >= TALKED_ON_TICKS

    def speaks(self, now_ticks: int) -> bool:
        """Whether the agent is speaking, short pauses included."""
        silent = self.silent_for_ticks(now_ticks)
        return silent is not None and silent < PAUSE_TICKS
