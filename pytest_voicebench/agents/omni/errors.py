"""Errors as these servers tell them: nested, flat, or a bare text."""

from __future__ import annotations

from typing import Any

Json = Any


def error_text(event: dict[str, Json]) -> str:
    """An error's code and message in one line."""
    error = event.get("error")
    if isinstance(error, dict):
        parts = [error.get("code"), error.get("message")]
    else:
        parts = [event.get("code"), error if isinstance(error, str) else event.get("message")]
    told = ": ".join(part for part in parts if isinstance(part, str) and part)
    return " ".join(told.split())[:300] or "an error without a message"
