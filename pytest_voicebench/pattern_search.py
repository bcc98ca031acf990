"""Where patterns match in a text: as it stands, below the escapes of JSON and Python, and across pieces of one text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

MOST_ESCAPES = 3
"""So many times one text may have been written into another: an event in a message in a log."""

LONGEST_RUN = 400
"""A piece that repeats itself is searched up to so many characters: beyond, long runs cost more than they tell."""

Patterns = Sequence[re.Pattern[str]]
Span = tuple[int, int]

_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL
)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def spans(patterns: Patterns, text: str) -> list[Span]:
    """The parts of the text that match, in order; those that overlap are one."""
    found = sorted(span for plain, at in _readings(text) for span in _matches(patterns, plain, at))
    merged: list[Span] = []
    for start, end in found:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def touched(patterns: Patterns, pieces: Sequence[str], times: Sequence[int] | None = None) -> set[int]:
    """The pieces that a match runs through when they stand in a row, with and without a space between them.

    `times` says how often each stands there (once). A match within one piece of those is none.
    """
    standing = [at for at, count in enumerate(_copies(pieces, times)) for _ in range(count)]
    found: set[int] = set()
    for between in ("", " "):
        starts = [0, *accumulate(len(pieces[at]) + len(between) for at in standing)]
        for plain, at in _readings(between.join(pieces[at] for at in standing)):
            for start, end in _matches(patterns, plain, at):
                run = range(bisect_right(starts, start) - 1, bisect_left(starts, end))
                found.update(standing[place] for place in run if len(run) > 1)
    return found


def _copies(pieces: Sequence[str], times: Sequence[int] | None) -> list[int]:
    """How often each piece is put into the row."""
    counts = times or [1] * len(pieces)
    return [min(count, 2 + LONGEST_RUN // max(1, len(text))) for text, count in zip(pieces, counts, strict=True)]


def _matches(patterns: Patterns, plain: str, at: Sequence[int] | None) -> Iterator[Span]:
    """What matches in a reading, as parts of the text that is read."""
    for pattern in patterns:
        for match in pattern.finditer(plain):
            if match[0]:
                yield match.span() if at is None else (at[match.start()], at[match.end()])


def _readings(text: str) -> Iterator[tuple[str, Sequence[int] | None]]:
    """The text, and what it says when its escapes are read, once, twice, ...; with the place of each character."""
    at: Sequence[int] | None = None
    yield text, at
    for _ in range(MOST_ESCAPES):
        if "\\" not in text:
            return
        text, inner = _unescaped(text)
        at = inner if at is None else [at[place] for place in inner]
        yield text, at


def _unescaped(text: str) -> tuple[str, list[int]]:
    """The text with its escapes read, and where each character of that, and its end, stand in the text."""
    plain: list[str] = []
    at: list[int] = []
    end = 0
    for escape in _ESCAPE.finditer(text):
        said = _said(escape)
        plain += [text[end : escape.start()], said]
        at += [*range(end, escape.start()), *[escape.start()] * len(said)]
        end = escape.end()
    return "".join([*plain, text[end:]]), [*at, *range(end, len(text) + 1)]


def _said(escape: re.Match[str]) -> str:
    code, byte, letter = escape.groups()
    if code is not None and len(code) > 4:  # two halves of one character
        return bytes.fromhex(code[:4] + code[-4:]).decode("utf-16-be")
    if letter is None:
        return chr(int(code or byte, 16))
    return _LETTERS.get(letter, letter)
