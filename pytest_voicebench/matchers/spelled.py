"""Characters spoken one by one: digits in words, letters by name, the NATO alphabet, `double seven`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from pytest_voicebench.matchers.numerals import TENS, UNITS
from pytest_voicebench.matchers.verdict import Json

_NATO_NAMES = """
    alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec romeo
    sierra tango uniform victor whiskey xray yankee zulu alfa juliett whisky
"""
NATO = {name: name[0] for name in _NATO_NAMES.split()}
_LETTER_NAMES = {"zed": "z", "zee": "z"}
_TIMES = {"double": 2, "triple": 3, "treble": 3, "quadruple": 4}
_SKIPPED = frozenset({"capital", "uppercase", "lowercase", "upper", "lower", "case", "letter"})
_AS_IN = (("as", "in"), ("like",), ("for",))
_WORDS = re.compile(r"[^\W_]+|[^\w\s]|_")
_SIGNS = frozenset("-.,:;!?#'\"()\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
_MOST = 8  # readings
_LONGEST = 200  # characters


@dataclass(frozen=True, slots=True)
class Spelling:
    """What a text spells: every reading, and how many of its words were names of digits or of letters."""

    readings: tuple[str, ...]
    digit_words: int = 0
    letter_words: int = 0
    tokens: int = 0


@lru_cache(maxsize=4096)
def spell(text: str) -> Spelling:
    """The characters that a text stands for, case folded, without spaces, dots, commas and hyphens.

    Words that name nothing stand for themselves. `oh` is the letter or the zero: two readings. `twenty three` is 23,
    `double five` 55, `b as in boy` b. No readings where the text is too long to be said.
    """
    if len(text) > _LONGEST:
        return Spelling(())
    found = _WORDS.findall(text.casefold().replace("x-ray", "xray"))
    words = [w for w in found if w not in _SIGNS and w not in _SKIPPED]
    readings, digits, letters, tokens, at = [""], 0, 0, 0, 0
    while at < len(words):
        forms, size, kind = _take(words, at)
        readings = [r + form for r in readings for form in forms]
        if len(readings) > _MOST:
            return Spelling(())
        digits, letters, tokens = digits + (kind == "digit"), letters + (kind == "letter"), tokens + 1
        at += size
    return Spelling(tuple(dict.fromkeys(readings)), digits, letters, tokens)


def _take(words: list[str], at: int) -> tuple[tuple[str, ...], int, str]:
    """What the word at a place stands for, how many words that took, and whether it named a digit or a letter."""
    word = words[at]
    times = _TIMES.get(word)
    if times and at + 1 < len(words):
        forms, size, kind = _one(words, at + 1)
        if all(len(form) == 1 for form in forms):
            doubled = tuple(form * times for form in forms)
            if times == 2 and words[at + 1] == "u":
                doubled += ("w",)
            return doubled, size + 1, kind or "digit"
    return _one(words, at)


def _one(words: list[str], at: int) -> tuple[tuple[str, ...], int, str]:
    word = words[at]
    for phrase in _AS_IN if len(word) == 1 else ():
        end = at + 1 + len(phrase)
        if tuple(words[at + 1 : end]) == phrase and end < len(words) and words[end][0] == word:
            return (word,), len(phrase) + 2, "letter"
    if word == "oh":
        return ("0", "o"), 1, "digit"
    if word in TENS:
        unit = UNITS.get(words[at + 1], 0) if at + 1 < len(words) else 0
        return ((str(TENS[word] + unit),), 2, "digit") if 0 < unit < 10 else ((str(TENS[word]),), 1, "digit")
    if word in UNITS:
        return (str(UNITS[word]),), 1, "digit"
    letter = NATO.get(word) or _LETTER_NAMES.get(word)
    return ((letter,), 1, "letter") if letter else ((word,), 1, "")


_DIGIT_NOISE = frozenset({"and", "area", "code", "number", "dash", "hyphen", "space", "dot", "point"})


def text_of_digits(value: Json, longest: int) -> str | None:
    """The text that may spell digits: a string of at most `longest` characters, or a whole number up to 20 digits."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**20:
        return str(value)
    return value if isinstance(value, str) and len(value) <= longest else None


def spell_digits(text: str) -> str | None:
    """The digits that a text spells, in figures or words, where it spells nothing else; `o` and `oh` are zero."""
    plain = re.sub(r"[^\w\s]|_", " ", text.casefold())
    words = ["zero" if w in ("o", "oh") else w for w in plain.split() if w not in _DIGIT_NOISE]
    found = "".join(_hundreds(words))
    return found if found.isascii() and found.isdigit() else None


def _hundreds(words: list[str]) -> list[str]:
    """`eight hundred` is 800 and `five thousand` 5000, as people say the ends of telephone numbers."""
    out: list[str] = []
    at = 0
    while at < len(words):
        forms, size, _ = _take(words, at)
        at += size
        text = forms[0]
        if at < len(words) and words[at] in ("hundred", "thousand") and len(text) == 1:
            text += "00" if words[at] == "hundred" else "000"
            at += 1
        out.append(text)
    return out
