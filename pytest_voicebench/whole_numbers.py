"""A whole number that somebody typed, within a stated bound."""

from __future__ import annotations

LONGEST_SHOWN = 40


def whole_number(text: str, most: int) -> int:
    """The number from 1 to `most` that a text is, in ASCII digits. Raises ValueError, which goes on after a name."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(most)) else 0
    if not 1 <= number <= most:
        shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
        raise ValueError(f"must be a whole number from 1 to {most}, not {shown!r}")
    return number
