"""The calls of one response: told when an item is complete, taken back where the response says it was not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_voicebench.agents.protocol import ToolCall, ToolCancelled

Json = Any


@dataclass(slots=True)
class _Written:
    """A call as far as it is known."""

    call_id: str = ""
    name: str = ""
    arguments: str = ""
    told: bool = False


@dataclass(slots=True, kw_only=True)
class ResponseCalls:
    """Calls by item. Finished arguments alone make no call: they are sent for cancelled ones too."""

    response_id: str
    _written: dict[str, _Written] = field(default_factory=dict)

    def begun(self, item: dict[str, Json]) -> None:
        """An item was added."""
        if item.get("type") == "function_call":
            self._note(_key(item.get("id"), item), item)

    def written(self, event: dict[str, Json]) -> None:
        """A call's arguments are finished."""
        self._note(_key(event.get("item_id"), event), event)

    def made(self, item: dict[str, Json]) -> Iterator[ToolCall]:
        """An item is done; a call that is complete is made now, once. A server that gives no status means complete."""
        if item.get("type") != "function_call":
            return
        call = self._note(_key(item.get("id"), item), item)
        if item.get("status", "completed") == "completed":
            yield from self._told(call)

    def end(self, output: list[Json], *, complete: bool) -> Iterator[ToolCall | ToolCancelled]:
        """The response is over: calls that were not told before are made, or recorded as cancelled.

        `output` is the response's own list, which has the last word on each call; it may be empty.
        """
        withdrawn = set()
        for item in output:
            if isinstance(item, dict) and item.get("type") == "function_call":
                key = _key(item.get("id"), item)
                call = self._note(key, item)
                if item.get("status", "completed" if complete else "incomplete") == "completed":
                    yield from self._told(call)
                else:
                    withdrawn.add(key)
        for key, call in self._written.items():
            if key in withdrawn or not (complete or call.told):
                yield from self._told(call)
                yield ToolCancelled(call_ids=(call.call_id,))
            else:
                yield from self._told(call)

    def _note(self, key: str, said: dict[str, Json]) -> _Written:
        call = self._written.setdefault(key, _Written())
        for name in ("call_id", "name", "arguments"):
            value = said.get(name)
            if isinstance(value, str) and value:
                setattr(call, name, value)
        return call

    def _told(self, call: _Written) -> Iterator[ToolCall]:
        if not call.told and (call.call_id or call.name):
            call.told = True
            yield ToolCall(call_id=call.call_id, name=call.name, arguments=call.arguments, response_id=self.response_id)


def _key(item_id: Json, said: dict[str, Json]) -> str:
    """What tells the calls of a response apart: the item, or the call where a server names no items."""
    return item_id if isinstance(item_id, str) and item_id else str(said.get("call_id", ""))
