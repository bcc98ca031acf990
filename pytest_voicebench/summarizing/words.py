"""Whose words the agent's voice was judged by: its own text, or what a recogniser made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_voicebench.result import Result


def transcript_sources(results: Sequence[Result]) -> dict[str, int]:
    """Valid items by source; those without words of the agent are in none."""
    found = Counter(r.transcript_source for r in results if r.scorecard is not None and r.transcript_source)
    return dict(sorted(found.items()))


def words_dropped(results: Sequence[Result]) -> int | None:
    """Words recognised outside detected speech, over valid items; None where no recogniser listened to any."""
    counts = [r.words_dropped for r in results if r.scorecard is not None and r.words_dropped is not None]
    return sum(counts) if counts else None
