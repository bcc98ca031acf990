"""`money`: an amount, with or without its currency: `$1,500`, `1.5k`, `five thousand dollars`."""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_voicebench.matchers.currency import candidates
from pytest_voicebench.matchers.number import Number, close
from pytest_voicebench.matchers.numerals import read_number
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Match, cannot_tell, reject

_SHORT = re.compile(r"([+-]?[\d,]*\.?\d+)\s?(k|m|mm|bn|b|grand)")
_SHORT_SCALES = {"k": 3, "grand": 3, "m": 6, "mm": 6, "b": 9, "bn": 9}
_LEADING = re.compile(r"([a-z]{0,3}[$€£¥₹₩₦]|[a-z]{3}(?=[\s\d]))\s*(.+)")
_CENTS = re.compile(r"(.+?)\s+(?:and\s+)?(\S+(?:\s\S+)?)\s+cents?")

_LONGEST = 200  # characters

Amount = tuple[Number, frozenset[str] | None]


def money(expected: Json, actual: Json, context: Context) -> Match:
    """Equal amounts, exact to the cent unless `approx`; where both name a currency it must be able to be the same."""
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return EQUAL if expected == actual else cannot_tell(f"the expected value {expected!r} is not an amount")
    if given is None:
        return reject(expected, actual, "not an amount")
    if wanted[1] and given[1] and not wanted[1] & given[1]:
        return reject(expected, actual, "another currency")
    return EQUAL if close(wanted[0], given[0], context) else reject(expected, actual)


def read(value: Json) -> Amount | None:
    """The amount and the currencies it may be in (None where it names none); None where it is no amount."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value, None
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    return _read_text(" ".join(value.casefold().split()))


def _read_text(text: str) -> Amount | None:
    sign = -1 if text.startswith("-") else 1
    text = text.removeprefix("-") if sign < 0 else text
    text, currency = _without_currency(text)
    amount = _read_amount(text)
    return None if amount is None else (amount * sign, currency)


def _without_currency(text: str) -> tuple[str, frozenset[str] | None]:
    found = _LEADING.fullmatch(text)
    if found:
        named = candidates(found[1])
        if named:
            return found[2], named
    if text and text[-1] in "$€£¥₹₩₦":
        return text[:-1].rstrip(), candidates(text[-1])
    words = text.split()
    for size in (3, 2, 1):
        named = candidates(" ".join(words[-size:])) if len(words) > size else None
        if named:
            return " ".join(words[:-size]), named
    return text, None


def _read_amount(text: str) -> Decimal | None:
    amount = read_number(text)
    if amount is not None:
        return amount
    short = _SHORT.fullmatch(text)
    if short:
        figures = read_number(short[1])
        return None if figures is None else figures.scaleb(_SHORT_SCALES[short[2]])
    parts = _CENTS.fullmatch(text)
    if not parts:
        return None
    whole, cents = read_number(_without_currency(parts[1])[0]), read_number(parts[2])
    return whole + cents / 100 if whole is not None and cents is not None and cents < 100 else None
