"""Which of the detected speech belongs to which item an agent sent, and that speech alone as sound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pytest_voicebench.audio import RATE_HZ, Audio, Samples
from pytest_voicebench.conversation import Conversation, Span, to_ticks

_LEAST_TICKS = to_ticks(0.1)


def speech_by_item(conversation: Conversation) -> dict[str | None, tuple[Span, ...]]:
    """Of each item with sound the detected speech that was heard, in order; all of it under None if no item is known.

    Pieces under 0.1 s, as the borders of items cut them, are no speech. Items appear in the order in which they came.
    """
    speech = conversation.agent_speech or ()
    if not conversation.chunks:
        return {None: speech} if speech else {}
    sounds: dict[str | None, list[Span]] = {}
    for chunk in conversation.chunks:
        end = chunk.start_ticks + max(chunk.heard_ticks, 0)
        sounds.setdefault(chunk.item_id, []).append(Span(start_ticks=chunk.start_ticks, end_ticks=end))
    return {item: _shared(speech, _joined(spans)) for item, spans in sounds.items()}


def cut_ticks(conversation: Conversation, item_id: str | None) -> int | None:
    """When an item's sound was cut off; None where all of it was heard, and for an item without sound."""
    heard = [c for c in conversation.chunks if c.item_id == item_id]
    if all(c.heard_ticks >= c.length_ticks for c in heard):
        return None
    return max(c.start_ticks + max(c.heard_ticks, 0) for c in heard if c.heard_ticks > 0 or c is heard[0])


def speech_alone(track: Samples, spans: Sequence[Span], margin_ticks: int) -> tuple[int, Audio]:
    """The sound of some spans, with silence between and around them, and the tick at which it begins (may be < 0)."""
    start = spans[0].start_ticks - margin_ticks
    sound = np.zeros(spans[-1].end_ticks + margin_ticks - start, np.int16)
    for span in spans:
        piece = track[span.start_ticks : span.end_ticks]
        sound[span.start_ticks - start : span.start_ticks - start + len(piece)] = piece
    return start, Audio(samples=sound, rate_hz=RATE_HZ)


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch made one."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda s: s.start_ticks):
        if joined and span.start_ticks <= joined[-1].end_ticks:
            span = Span(start_ticks=joined[-1].start_ticks, end_ticks=max(span.end_ticks, joined.pop().end_ticks))
        joined.append(span)
    return joined


def _shared(ones: Iterable[Span], others: Sequence[Span]) -> tuple[Span, ...]:
    pairs = ((max(a.start_ticks, b.start_ticks), min(a.end_ticks, b.end_ticks)) for a in ones for b in others)
    return tuple(Span(start_ticks=a, end_ticks=b) for a, b in pairs if b - a >= _LEAST_TICKS)
