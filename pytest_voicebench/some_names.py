"""The first of many names, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence

MOST_NAMES = 5


def some(names: Sequence[str], most: int = MOST_NAMES, between: str = ", ") -> str:
    """`a, b and 3 more`: the first `most` names, and how many are left."""
    left = len(names) - most
    return between.join(names[:most]) + (f" and {left} more" if left > 0 else "")
