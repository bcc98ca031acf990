"""Figures, signs and codes of a written text as the words that are said for them, in their most usual reading."""

from __future__ import annotations

import re

_TEENS = ["ten", "eleven", "twelve", *(f"{n}teen" for n in ("thir", "four", "fif", "six", "seven", "eigh", "nine"))]
_ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", *_TEENS]
_TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = ((10**9, "billion"), (10**6, "million"), (10**3, "thousand"), (10**2, "hundred"))
_LARGEST = 10**12
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_SIGNS = {"&": "and", "+": "plus", "@": "at", "#": "number", "=": "equals"}
_UNITS = {"$": ("dollar", "cent"), "€": ("euro", "cent"), "£": ("pound", "penny")}

_AMOUNT = re.compile(r"([$€£])([\d,]*\d)(?:\.(\d\d))?")
_NUMBER = re.compile(r"(\d[\d,]*)(?:\.(\d+))?(%?)")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(am|pm)?", re.IGNORECASE)


def spelled_out(word: str) -> str:
    """What is said for a written word without spaces: `$90` is "ninety dollars", `FL123` is "f l one two three".

    A word of letters alone comes back as it is. Readings vary ("nineteen fifty", "one thousand nine hundred fifty"):
    this is one of them, good enough to find where the word is said.
    """
    amount, number, ordinal, clock = (p.fullmatch(word) for p in (_AMOUNT, _NUMBER, _ORDINAL, _CLOCK))
    if amount:
        return _amount(amount[1], amount[2], amount[3])
    if number:
        return _number(number[1], number[2]) + (" percent" if number[3] else "")
    if ordinal and int(ordinal[1]) < _LARGEST:
        return _ordinal(_cardinal(int(ordinal[1])))
    if clock:
        return _clock(clock[1], clock[2], clock[3])
    if any(c.isdigit() for c in word) or any(c in _SIGNS for c in word):
        return " ".join(_piece(piece) for piece in re.findall(r"\d|[^\W\d_]|[&+@#=]", word))
    return word


def _piece(character: str) -> str:
    return _SIGNS.get(character) or (_ONES[int(character)] if character.isdecimal() else character)


def _amount(sign: str, whole: str, cents: str | None) -> str:
    unit, small = _UNITS[sign]
    said = f"{_number(whole, None)} {unit}{'' if whole == '1' else 's'}"
    if cents and int(cents):
        said += f" {_cardinal(int(cents))} {small if int(cents) == 1 else 'pence' if small == 'penny' else small + 's'}"
    return said


def _number(whole: str, decimals: str | None) -> str:
    digits = whole.replace(",", "")
    if (len(digits) > 1 and digits[0] == "0") or int(digits) >= _LARGEST:
        return _digits(digits)  # a code, not a quantity
    said = _year(int(digits)) if len(whole) == 4 and not decimals and 1100 <= int(digits) < 2100 else ""
    said = said or _cardinal(int(digits))
    return f"{said} point {_digits(decimals)}" if decimals else said


def _year(value: int) -> str:
    """A number of four figures as years are said; empty where that is not usual (`2005`, `1900`)."""
    high, low = divmod(value, 100)
    return f"{_cardinal(high)} {_cardinal(low)}" if low >= 10 else ""


def _digits(digits: str) -> str:
    return " ".join(_ONES[int(d)] for d in digits)


def _cardinal(value: int) -> str:
    if value < 20:
        return _ONES[value]
    if value < 100:
        return _TENS[value // 10] + (f" {_ONES[value % 10]}" if value % 10 else "")
    scale, name = next((s, n) for s, n in _SCALES if value >= s)
    rest = f" {_cardinal(value % scale)}" if value % scale else ""
    return f"{_cardinal(value // scale)} {name}{rest}"


def _ordinal(cardinal: str) -> str:
    *before, last = cardinal.split()
    ending = _ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return " ".join([*before, ending])


def _clock(hours: str, minutes: str, half: str | None) -> str:
    past = [] if minutes == "00" else (["oh"] if minutes[0] == "0" else []) + [_cardinal(int(minutes))]
    return " ".join([_cardinal(int(hours)), *past, *(half.lower() if half else "")])
