"""Text that others wrote, made safe for one line of a terminal: no control characters, no line ends, a known width."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

Json = Any

_JOINERS = "\u200c\u200d"  # change nothing but the shape of the letters beside them
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def one_line(text: str, width: int | None = None) -> str:
    """The text with everything invisible or active (line ends, escapes, bidi marks) shown as an escape sequence.

    With `width` it is cut to that many columns and ends in `...` if something was left out.
    """
    shown = text if text.isprintable() else "".join(_visible(character) for character in text)
    if width is None or columns(shown) <= width:
        return shown
    cut = shown[: max(0, width - 3)]
    while columns(cut) > max(0, width - 3):
        cut = cut[:-1]
    return (cut + "...")[:width]


def _visible(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def columns(text: str) -> int:
    """How many terminal columns the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, width: int) -> str:
    """The text on exactly `width` columns, made safe, cut or filled with spaces on the right."""
    shown = one_line(text, width)
    return shown + " " * (width - columns(shown))


def value_text(value: Json, width: int | None = None) -> str:
    """A JSON value as JSON, so that 1200 and "1200" can be told apart; None is `(absent)`."""
    if value is None:
        return "(absent)"
    return one_line(json.dumps(value, ensure_ascii=False, default=str), width)


def encodable(text: str, encoding: str | None) -> str:
    """The text with what an output's encoding (cp1252, ascii, ...) lacks shown as escape sequences."""
    name = encoding or "ascii"
    return text.encode(name, "backslashreplace").decode(name)


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at spaces."""
    lines = [""]
    for word in one_line(text).split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and columns(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [one_line(line, width) for line in lines]
