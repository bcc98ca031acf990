"""The tool calls of one streamed chat response, put together from its pieces."""

from __future__ import annotations

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
    """Pieces belong to the call of their `index`. Where a server gives none, an id that is new begins a call."""

    _calls: dict[Json, WrittenCall] = field(default_factory=dict)
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
        call = self._calls.setdefault(key, WrittenCall())
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        call.call_id = call.call_id or _text(piece.get("id"))
        call.name = call.name or _text(function.get("name"))  # some servers repeat it with every piece
        call.arguments += _text(function.get("arguments"))

    @property
    def length(self) -> int:
        """Characters of arguments so far."""
        return sum(len(call.arguments) for call in self._calls.values())

    def calls(self) -> list[WrittenCall]:
        """All calls, in the order in which they began."""
        return list(self._calls.values())


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
