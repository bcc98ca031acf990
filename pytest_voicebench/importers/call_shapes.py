"""A tool call as logs write it, in any of the shapes that are about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

MOST_TEXT = 10_000

Json = Any


class ShapedCall(NamedTuple):
    """A call's tool and arguments. `arguments` is None where they are no JSON object; `text` is what stood there."""

    name: str
    arguments: Mapping[str, Json] | None
    text: str | None = None


def read_call(entry: Json) -> ShapedCall | None:
    """The call in `{function, args}` (the official one), `{name, arguments}`, or `{function: {name, arguments}}`.

    Arguments may be an object, JSON text of one, or nothing. None for every other shape.
    """
    if not isinstance(entry, dict):
        return None
    inner = entry.get("function")
    if isinstance(inner, dict):
        return read_call(inner) if "function" not in inner else None
    name = inner if isinstance(inner, str) else entry.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    key = next((key for key in ("args", "arguments", "parameters", "input") if key in entry), "args")
    return _with_arguments(name.strip(), entry.get(key))


def _with_arguments(name: str, value: Json) -> ShapedCall:
    if value is None:
        return ShapedCall(name, {})
    if isinstance(value, dict):
        return ShapedCall(name, value)
    if isinstance(value, str):
        try:
            parsed = json.loads(value, parse_constant=_no_constant) if value.strip() else {}
        except (ValueError, RecursionError):
            parsed = None
        return ShapedCall(name, parsed) if isinstance(parsed, dict) else ShapedCall(name, None, value[:MOST_TEXT])
    return ShapedCall(name, None, json.dumps(value)[:MOST_TEXT])


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
