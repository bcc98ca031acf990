"""Text that others wrote, made safe for Markdown as GitHub and GitLab show it; tables; a limit on lines and bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pytest_voicebench.writers.plain_text import one_line

MOST_CHARACTERS = 120
"""Of one cell, before it is escaped."""

MOST_LINES = 200
MOST_BYTES = 60_000
"""GitHub takes comments of at most 65,536 characters."""

_ACTIVE = re.compile(r"[&<>|`*\[\]\\~!$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LINKING = re.compile(r"@|#|://|www\.", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,120}")
_UNSEEN = "\u200b"
"""Keeps what follows from becoming a mention, a reference to an issue, or a link."""


def escaped(text: str, width: int = MOST_CHARACTERS) -> str:
    """One line of text that means nothing to Markdown or HTML, mentions nobody and links to nothing.

    Line ends and control characters are shown as escape sequences; what is longer than `width` ends in `...`.
    """
    shown = _LINKING.sub(lambda found: found.group() + _UNSEEN, one_line(text, width))
    return _ACTIVE.sub(lambda found: f"&#{ord(found.group())};", shown)


def name(text: str) -> str:
    """A name as code where it is a plain one, else escaped."""
    return f"`{text}`" if _PLAIN_NAME.fullmatch(text) else escaped(text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table; nothing without rows. Cells are Markdown."""
    body = [f"| {' | '.join(row)} |" for row in rows]
    if not body:
        return []
    return [f"| {' | '.join(head)} |", "|".join(["", *["---"] * len(head), ""]), *body]


def within_limits(lines: Sequence[str], rest: str) -> str:
    """As many whole lines as there is room for; `rest` is the last one where some were left out."""
    text = "\n".join(lines) + "\n"
    if len(lines) <= MOST_LINES and _size(text) <= MOST_BYTES:
        return text
    kept: list[str] = []
    size = _size(rest) + 2
    for line in lines[: MOST_LINES - 2]:
        size += _size(line) + 1
        if size > MOST_BYTES:
            break
        kept.append(line)
    return "\n".join([*kept, "", rest]) + "\n"


def _size(text: str) -> int:
    """Bytes as they are written: halves of surrogate pairs escaped."""
    return len(text.encode("utf-8", "backslashreplace"))
