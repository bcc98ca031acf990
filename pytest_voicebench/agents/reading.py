"""What a provider's JSON holds, read without trust: a field of another kind counts as one that is not there."""

from __future__ import annotations

from typing import Any

Json = Any


class NotAudio(ValueError):  # noqa: N818 - says what is the case
    """A piece that cannot be sound; one line."""


def part(event: dict[str, Json], name: str) -> dict[str, Json]:
    """An object inside; empty where there is none."""
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def parts(event: dict[str, Json], name: str) -> list[dict[str, Json]]:
    """The objects of a list inside."""
    value = event.get(name)
    return [inner for inner in value if isinstance(inner, dict)] if isinstance(value, list) else []


def text(event: dict[str, Json], name: str) -> str:
    """A text inside; empty where there is none."""
    value = event.get(name)
    return value if isinstance(value, str) else ""
