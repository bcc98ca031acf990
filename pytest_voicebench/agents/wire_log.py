"""What went over the wire in one conversation: every event as sent and received, without audio and without keys."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_voicebench.agents.credentials import Secret, scrubbed
from pytest_voicebench.hidden import HIDDEN, without_secrets

Json = Any
Way = Literal["sent", "received", "note"]

MOST_CHARACTERS = 16_000_000
"""Where a log ends: whoever sends more than this is a fault of its own."""

LONGEST_TEXT = 50_000
"""Longer texts inside an event are cut."""

_BASE64 = re.compile(r"(?:data:[a-z0-9/+.-]*;base64,)?[A-Za-z0-9+/_-]{100,}={0,2}")
_SECRET_NAME = re.compile(r"client_secret|api_?key|authorization|access_?token", re.IGNORECASE)


@dataclass(slots=True)
class _Row:
    """Consecutive events that say the same: how often, and when the last one was."""

    at_s: float
    way: Way
    text: str
    times: int = 1
    until_s: float = 0.0


@dataclass(slots=True)
class WireLog:
    """Collects rows in memory, so that nothing waits for a disk while a conversation runs.

    Equal events one after another (the user's audio, block after block) are one row with a count. `now_s` is the clock
    of the conversation's loop.
    """

    now_s: Callable[[], float]
    _rows: list[_Row] = field(default_factory=list)
    _last_event: Json = None
    _secrets: list[Secret] = field(default_factory=list)
    _characters: int = 0

    def hide(self, secret: Secret | None) -> None:
        """Never let this value into a row, neither as it is nor as JSON writes it."""
        if secret is not None:
            written = json.dumps(secret.reveal())[1:-1]
            self._secrets += {secret.reveal(): secret, written: Secret(written, secret.variable)}.values()

    def sent(self, event: Json) -> None:
        """An event that left."""
        self._add("sent", event)

    def received(self, event: Json, at_s: float | None = None) -> None:
        """An event that came in: at that time of the loop's clock, else now."""
        self._add("received", event, at_s)

    def sent_as(self, shown: str) -> None:
        """An event that left, as JSON text that holds neither audio nor anything secret."""
        if self._characters < MOST_CHARACTERS:
            self._last_event = None
            self._enter("sent", shown)

    def note(self, text: str) -> None:
        """Something that is no event: a connection, its end, a frame that could not be read."""
        self._add("note", without_secrets(text))

    def _add(self, way: Way, event: Json, at_s: float | None = None) -> None:
        if self._characters >= MOST_CHARACTERS:
            return
        last = self._rows[-1] if self._rows else None
        before, self._last_event = self._last_event, event
        if last is not None and last.way == way and _shown_alike(event, before, "", ""):
            last.times, last.until_s = last.times + 1, self.now_s() if at_s is None else at_s
            return
        event = without_audio(event, self._secrets)
        text = json.dumps(event, ensure_ascii=True, separators=(",", ":"))
        self._enter(way, scrubbed(text, self._secrets), at_s)

    def _enter(self, way: Way, text: str, at_s: float | None = None) -> None:
        at_s, last = self.now_s() if at_s is None else at_s, self._rows[-1] if self._rows else None
        if last is not None and (last.way, last.text) == (way, text):
            last.times, last.until_s = last.times + 1, at_s
            return
        self._characters += len(text)
        self._rows.append(_Row(at_s, way, text))
        if self._characters >= MOST_CHARACTERS:
            self._rows.append(_Row(at_s, "note", '"the log is full: what follows is not recorded"'))

    def lines(self, zero_s: float | None) -> tuple[str, ...]:
        """One JSON object a row, by time: `at_s` from the first block of user audio (negative before it), way, event.

        Repeated ones have `times` and `until_s`. Without a first block times count from the first row.
        """
        rows = sorted(self._rows, key=lambda row: row.at_s)  # what waited to be read was entered late
        zero = zero_s if zero_s is not None else rows[0].at_s if rows else 0.0
        return tuple(_line(row, zero) for row in rows)


def _line(row: _Row, zero_s: float) -> str:
    again = f'"times":{row.times},"until_s":{row.until_s - zero_s:.6f},' if row.times > 1 else ""
    return f'{{"at_s":{row.at_s - zero_s:.6f},"way":"{row.way}",{again}"event":{row.text}}}'


def _shown_alike(event: Json, before: Json, name: str, kind: str) -> bool:
    """Whether two events are surely shown alike, found out at a tenth of the cost of showing one.

    So it is with the user's audio, block after block. False means nothing: they have to be shown to be compared.
    """
    if type(event) is not type(before):
        return False
    if type(event) is dict:
        kind = _kind(event, kind)
        return (
            event is not before  # one that is used again was changed in between
            and event.keys() == before.keys()
            and all(_shown_alike(inner, before[key], key, kind) for key, inner in event.items())
        )
    if type(event) is str and len(event) == len(before):
        return event == before or (_is_audio(event, name, kind) and _is_audio(before, name, kind))
    return type(event) in (int, float, bool, type(None)) and event == before


def _is_audio(text: str, name: str, kind: str) -> bool:
    """Whether a text is audio: by its name and what it belongs to, since looking through long ones takes time."""
    if name == "audio" or (name == "delta" and kind.endswith("audio.delta")):
        return True
    if name == "data" and kind.startswith("audio/"):
        return True
    return _BASE64.fullmatch(text) is not None


def _kind(event: Mapping[str, Json], outer: str) -> str:
    """What an object says it is, `response.output_audio.delta` or `audio/pcm`; else what it lies in."""
    for name in ("type", "mimeType"):
        if isinstance(event.get(name), str):
            return str(event[name])
    return outer


def without_audio(event: Json, secrets: Sequence[Secret] = ()) -> Json:
    """The event with audio replaced by its length in characters, very long texts cut, values of keys hidden.

    A text is cut where it holds none of the secrets any more: half of one is not found again.
    """
    return _shown(event, "", "", secrets)


def _shown(value: Json, name: str, kind: str, secrets: Sequence[Secret]) -> Json:
    if isinstance(value, Mapping):
        kind = _kind(value, kind)
        return {
            str(key): HIDDEN if inner and _SECRET_NAME.fullmatch(str(key)) else _shown(inner, str(key), kind, secrets)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_shown(inner, name, kind, secrets) for inner in value]
    if isinstance(value, str):
        if _is_audio(value, name, kind):
            return f"<{len(value)} characters>"
        if len(value) > LONGEST_TEXT:
            return f"{scrubbed(value, secrets)[:200]}... <{len(value)} characters>"
    return value
