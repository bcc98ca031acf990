"""Texts that a provider sends bit by bit: the pieces of one text among the events of a conversation."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
Row = dict[str, Json]

_OWN_IDS = ("id", "event_id")
"""An event's own names: they tell it from the others of its text."""

_LEFT_OUT = re.compile(r"<\d+ characters>")
"""What stands for audio, as `agents/wire_log.py` writes it."""

_TELLING = ("index", "role", "speaker", "medium")


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A text below a row: what holds it, under which key, where, and how often the row stands there."""

    holder: Json
    key: Json
    path: str
    times: int

    @property
    def text(self) -> str:
        """As it is now."""
        return str(self.holder[self.key])

    def hide(self, mark: str) -> None:
        """Put the mark in its place."""
        self.holder[self.key] = mark


def streams(rows: Sequence[Row]) -> Iterator[list[Piece]]:
    """What stands at the same place of events of the same kind, in their order.

    Given several times: of those that are alike in all that tells pieces of one text from another's, of those that name
    the same ids, and of all events of a kind; for pieces of two texts may take turns. Names are no pieces.
    """
    below = [list(_pieces(row, "event", "", int(row.get("times", 1)))) for row in rows]
    for key_of in (_all_ids, _ids, _kind):
        found: dict[Hashable, list[Piece]] = {}
        for row, pieces in zip(rows, below, strict=True):
            key = (row.get("way"), key_of(row["event"])) if pieces else None
            for piece in pieces:
                found.setdefault((key, piece.path), []).append(piece)
        yield from (pieces for pieces in found.values() if len(pieces) > 1 or pieces[0].times > 1)


def _pieces(holder: Json, key: Json, path: str, times: int) -> Iterator[Piece]:
    """Every text below `holder[key]` that is no name; the numbers of lists are not told apart."""
    value = holder[key]
    if isinstance(value, str):
        is_name = isinstance(key, str) and (_is_id(key) or key == "type")
        if value and not is_name and not _LEFT_OUT.fullmatch(value):
            yield Piece(holder, key, path, times)
    elif isinstance(value, dict):
        for name in value:
            yield from _pieces(value, name, f"{path}.{name}", times)
    elif isinstance(value, list):
        for number in range(len(value)):
            yield from _pieces(value, number, path, times)


def _is_id(name: str) -> bool:
    return name == "id" or name.endswith(("_id", "Id", "ID"))


def _kind(event: Json) -> Hashable:
    """What kind of event it is, by its own word for it."""
    return str(event.get("type")) if isinstance(event, dict) else None


def _ids(event: Json) -> Hashable:
    """Kind, and the ids it names but its own."""
    if not isinstance(event, dict):
        return None
    return (_kind(event), tuple((k, str(v)) for k, v in sorted(event.items()) if _is_id(k) and k not in _OWN_IDS))


def _all_ids(event: Json) -> Hashable:
    """Kind, and whatever may tell its text from another's, however deep it stands."""
    return (_kind(event), tuple(_told_apart(event, top=True)))


def _told_apart(value: Json, *, top: bool = False) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            told = _is_id(name) or name in _TELLING or name.endswith("_index")
            if told and not isinstance(inner, dict | list) and not (top and name in _OWN_IDS):
                yield name, str(inner)
            yield from _told_apart(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _told_apart(inner)
