"""A number with its noun, singular or plural."""

from __future__ import annotations


def counted(number: int, noun: str, many: str | None = None) -> str:
    """`1 item`, `2 items`; `many` is the plural where that is not the noun with an s."""
    return f"{number} {noun_for(number, noun, many)}"


def noun_for(number: int, noun: str, many: str | None = None) -> str:
    """The noun alone as it stands after that number, or a verb: `fails` after 1, `fail` after 2."""
    return noun if number == 1 else many or f"{noun}s"
