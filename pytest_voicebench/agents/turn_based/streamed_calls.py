"""The tool calls of one streamed chat response, put together from its pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any


@dataclass(slots=True)
class WrittenCall:
    """A call as far as it has come; `arguments` is the text as the model wrote it."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class StreamedCalls:
    """Pieces belong to the call of their `index`. Where a server gives none, an id that is new begins a call.

    Some servers give all calls of a response the index 0: a piece with another id and a name begins a call of its own
    when the one before it is complete. Others give one call a new id with every piece: while its arguments are not
    complete, or no name comes with the id, it goes on.
    """

    _calls: dict[Json, WrittenCall] = field(default_factory=dict)
    _made: list[WrittenCall] = field(default_factory=list)
    _last: Json = None

    def add(self, pieces: Json) -> None:
        """Take `delta.tool_calls` of one chunk; what has another shape is passed over."""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, Mapping):
                self._add(piece)

    def _add(self, piece: Mapping[str, Json]) -> None:
        key = piece.get("index")
        if not isinstance(key, int):
            key = piece.get("id") or (self._last if self._last is not None else "")
        self._last = key
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        call = self._calls.get(key)
        if call is None or _is_another(call, _text(piece.get("id")), _text(function.get("name"))):
            call = self._calls[key] = WrittenCall()
            self._made.append(call)
        call.call_id = call.call_id or _text(piece.get("id"))
        call.name = call.name or _text(function.get("name"))  # some servers repeat it with every piece
        call.arguments += _text(function.get("arguments"))

    @property
    def length(self) -> int:
        """Characters of arguments so far."""
        return sum(len(call.arguments) for call in self._made)

    def calls(self) -> list[WrittenCall]:
        """All calls, in the order in which they began."""
        return list(self._made)


def _is_another(call: WrittenCall, call_id: str, name: str) -> bool:
    if not (name and call_id and call.call_id) or call_id == call.call_id:
        return False
    try:
        return isinstance(json.loads(call.arguments), dict)
    except (ValueError, RecursionError):
        return False


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
