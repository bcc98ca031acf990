"""A value as the lines of a proof show it: short, on one line."""

from __future__ import annotations

import json
from typing import Any

_LONGEST = 40


def shown(value: Any) -> str:
    """A plain text as it is, any other value as JSON, so that it stays on one line; at most 40 characters."""
    plain = isinstance(value, str) and value.strip() == value and value != "" and value.isprintable()
    text = value if plain else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
