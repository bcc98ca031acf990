"""Numbers in a transcript: digits, words, "fifteen hundred", "1.5k", and the money and units around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_voicebench.agents.local.understanding.wording import words_of
from pytest_voicebench.agents.local.understanding.words import Token

UNITS = {
    w: n
    for n, w in enumerate(
        words_of("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """)
    )
}
TENS = {w: 10 * n for n, w in enumerate(words_of("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)}
SCALES = {"hundred": 100, "thousand": 1000, "grand": 1000, "k": 1000, "million": 1_000_000}
ORDINALS = {
    w: n
    for n, w in enumerate(
        words_of("""
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth
    fifteenth sixteenth seventeenth eighteenth nineteenth twentieth
    """),
        start=1,
    )
} | {"thirtieth": 30}
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?$")
_THOUSANDS = re.compile(r"(\d+(?:\.\d+)?)k$")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A value and the tokens [start, end) that say it."""

    value: float
    start: int
    end: int


def whole(value: float) -> int | float:
    """An int where the value is whole."""
    return int(value) if value == int(value) else value


def number_at(tokens: Sequence[Token], i: int) -> Number | None:
    """The longest number that starts at token i; ordinals are none."""
    digits = _digits(tokens[i].low)
    if digits is not None:
        end = i + 1
        while end < len(tokens) and tokens[end].low in SCALES and tokens[end].low != "k":
            digits *= SCALES[tokens[end].low]
            end += 1
        return Number(value=digits, start=i, end=end)
    return _in_words(tokens, i)


def ordinal_at(tokens: Sequence[Token], i: int) -> Number | None:
    """An ordinal that starts at token i: "3rd", "third", "twenty third"."""
    low = tokens[i].low
    if found := _ORDINAL.match(low):
        return Number(value=int(found.group(1)), start=i, end=i + 1)
    if low in ORDINALS:
        return Number(value=ORDINALS[low], start=i, end=i + 1)
    if low in TENS and i + 1 < len(tokens) and ORDINALS.get(tokens[i + 1].low, 99) < 10:
        return Number(value=TENS[low] + ORDINALS[tokens[i + 1].low], start=i, end=i + 2)
    return None


def _digits(low: str) -> float | None:
    if found := _THOUSANDS.match(low):
        return float(found.group(1)) * 1000
    return float(low.replace(",", "")) if _DIGITS.match(low) else None


def _in_words(tokens: Sequence[Token], start: int) -> Number | None:
    total, current, i, last = 0.0, 0.0, start, ""
    if tokens[i].low == "a" and i + 1 < len(tokens) and tokens[i + 1].low in SCALES and tokens[i + 1].low != "k":
        current, i, last = 1, i + 1, "unit"
    while i < len(tokens):
        low = tokens[i].low
        if low in UNITS and last in ("", "ten", "scale") and not (last == "ten" and UNITS[low] > 9):
            current, last = current + UNITS[low], "unit"
        elif low in TENS and last in ("", "scale", "unit") and not (last == "unit" and current >= 100):
            # "nineteen fifty", "three fifty": a number said in pairs
            current, last = (current * 100 + TENS[low] if last == "unit" else current + TENS[low]), "ten"
        elif low in SCALES and low != "k" and last in ("unit", "ten"):
            scale = SCALES[low]
            if scale == 100:
                current, last = current * 100, "scale"
            else:
                total, current, last = total + current * scale, 0, "scale"
        elif low == "and" and last == "scale" and i + 1 < len(tokens) and tokens[i + 1].low in (UNITS | TENS):
            i += 1
            continue
        else:
            break
        i += 1
    return Number(value=total + current, start=start, end=i) if last else None
