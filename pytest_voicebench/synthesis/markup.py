"""The markup of spoken text: pauses, cut words and respellings, turned into pieces that are spoken one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

SENTENCE_PAUSE_S = 0.42
"""Pause after `.`, `?` or `!` where the text gives none."""

CUT_PAUSE_S = 0.08
"""Pause after a cut word where the text gives none."""

LONGEST_PAUSE_S = 10.0

_TOKEN = re.compile(r"\[[^\]]*\]|[^\s\[{]*\{[^}]*\}[^\s\[]*|[^\s\[]+")
_PAUSE = re.compile(r"\[(\d+(?:\.\d+)?)\]")
_RESPELLED = re.compile(r"(?P<before>[^\w{]*)\{(?P<written>[^={}\s]+)=(?P<spoken>[^{}]+)\}(?P<after>[^\w{]*)")
_CUT = re.compile(r"(?P<kept>[A-Za-z']+)\{(?P<lost>[A-Za-z']+)\}-(?P<after>[,.]?)")


class MarkupError(ValueError):
    """The markup cannot be read; the message says which part, and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled:
    """A word: as it is written in the transcript, and as it is given to the engine."""

    written: str
    spoken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Words spoken in one go, then a pause. `kept` is the share of the sound that is kept of a cut word, else 1.0."""

    words: tuple[Spelled, ...]
    pause_s: float
    kept: float = 1.0


def transcript(text: str) -> str:
    """The text as people read it: pauses and respellings removed, cut words as `Bos-`.

    >>> transcript("Fly to Bos{ton}- [0.3] to {A=ay} [0.5] Dallas.")
    'Fly to Bos- to A Dallas.'
    """
    return " ".join(_read_word(token)[0].written for token in _tokens(text) if not token.startswith("["))


def pieces(text: str) -> tuple[Piece, ...]:
    """The pieces of a marked text, in order.

    `[0.8]` is a pause of 0.8 s. `Bos{ton}-` is "Boston" cut after its first letters. `{A=ay}` is written "A" and
    spoken as "ay". A sentence end without a pause gets SENTENCE_PAUSE_S. Raises MarkupError.
    """
    found: list[Piece] = []
    words: list[Spelled] = []
    for token in _tokens(text):
        if token.startswith("["):
            _end_piece(found, words, _pause_s(token))
            continue
        word, kept = _read_word(token)
        if kept < 1.0:
            _end_piece(found, words, 0.0 if words else None)
        words.append(word)
        if kept < 1.0:
            _end_piece(found, words, CUT_PAUSE_S, kept)
        elif word.written[-1] in ".?!":
            _end_piece(found, words, SENTENCE_PAUSE_S)
    _end_piece(found, words, 0.0 if words else None)
    if not found:
        raise MarkupError("there are no words")
    return tuple(found)


def _end_piece(found: list[Piece], words: list[Spelled], pause_s: float | None, kept: float = 1.0) -> None:
    """Ends the open piece with a pause; without an open one, the pause replaces that of the piece before."""
    if pause_s is None:
        return
    if words:
        found.append(Piece(words=tuple(words), pause_s=pause_s, kept=kept))
        words.clear()
    elif found:
        found[-1] = replace(found[-1], pause_s=pause_s)


def _pause_s(token: str) -> float:
    match = _PAUSE.fullmatch(token)
    if match is None or float(match[1]) > LONGEST_PAUSE_S:
        raise MarkupError(f"{token} is no pause: write seconds, at most {LONGEST_PAUSE_S:g}, such as [0.8]")
    return float(match[1])


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _read_word(token: str) -> tuple[Spelled, float]:
    """The word of a token and the share of it that is spoken."""
    if not any(letter.isalnum() for letter in token):
        raise MarkupError(f"{token!r} is no word: write what is said, or a pause such as [0.8]")
    if "{" not in token and "}" not in token:
        return Spelled(written=token, spoken=token), 1.0
    if match := _RESPELLED.fullmatch(token):
        around = match["before"], match["after"]
        return Spelled(written=match["written"].join(around), spoken=match["spoken"].join(around)), 1.0
    if match := _CUT.fullmatch(token):
        whole = match["kept"] + match["lost"]
        written = f"{match['kept']}-{match['after']}"
        return Spelled(written=written, spoken=whole), len(match["kept"]) / len(whole)
    raise MarkupError(f"{token!r} is neither a cut word such as Bos{{ton}}- nor a respelling such as {{A=ay}}")
