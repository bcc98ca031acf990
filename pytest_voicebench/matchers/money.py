"""`money`: an amount, with or without its currency: `$1,500`, `1.5k`, `five thousand dollars`."""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_voicebench.matchers.currency import CODES, candidates
from pytest_voicebench.matchers.number import Number, close, read_spoken
from pytest_voicebench.matchers.numerals import read_number, split_sign
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, cannot_tell, quote, reject

_SHORT = re.compile(r"([+-]?[\d,]*\.?\d+)\s?(k|m|mm|bn|b|grand)", re.IGNORECASE)
_SHORT_SCALES = {"k": 3, "grand": 3, "m": 6, "mm": 6, "b": 9, "bn": 9}
_LEADING = re.compile(r"([A-Za-z]{0,3}[$€£¥₹₩₦]|[A-Za-z]{3}(?=[\s\d]))\s*(.+)")
_LONGEST = 200  # characters

Amount = tuple[Number, frozenset[str] | None]


def money(expected: Json, actual: Json, context: Context) -> Match:
    """Equal amounts, exact to the cent unless `approx`; where both name a currency it must be able to be the same."""
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return EQUAL if expected == actual else cannot_tell(f"the expected value {quote(expected)} is not an amount")
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
    return _read_text(" ".join(value.split()))


def _read_text(text: str) -> Amount | None:
    sign, text = split_sign(text)
    found = _read_cents(text) if text.casefold().endswith((" cent", " cents")) else _read_plain(text)
    if found is None or (sign and found[0].is_signed()):  # --50 is no amount
        return None
    return found[0] * (sign or 1), found[1]


def _read_plain(text: str) -> tuple[Decimal, frozenset[str] | None] | None:
    text, currency = _without_currency(text)
    amount = _read_amount(text)
    return None if amount is None else (amount, currency)


def _read_cents(text: str) -> tuple[Decimal, frozenset[str] | None] | None:
    """`50 cents`, or cents behind an amount that names its currency: `five dollars and fifty cents`."""
    words = text.split()[:-1]
    alone = _whole_cents(words)
    if alone is not None:
        return alone, None
    for size in (2, 1):
        cents = _whole_cents(words[-size:])
        rest = words[:-size]
        rest = rest[:-1] if rest and rest[-1].casefold() == "and" else rest
        whole = _read_plain(" ".join(rest))
        if cents is not None and cents < 1 and whole and whole[1] and not whole[0].is_signed():
            return whole[0] + cents, whole[1]
    return None


def _whole_cents(words: list[str]) -> Decimal | None:
    cents = read_number(" ".join(words))
    return None if cents is None or cents.is_signed() or cents != cents.to_integral_value() else cents / 100


def _without_currency(text: str) -> tuple[str, frozenset[str] | None]:
    found = _LEADING.fullmatch(text)
    if found:
        named = _named(found[1])
        if named:
            return found[2], named
    if text and text[-1] in "$€£¥₹₩₦":
        return text[:-1].rstrip(), candidates(text[-1])
    words = text.split()
    for size in (3, 2, 1):
        named = _named(" ".join(words[-size:])) if len(words) > size else None
        if named:
            return " ".join(words[:-size]), named
    return text, None


def _named(name: str) -> frozenset[str] | None:
    """The currencies of a name or code. A code has capitals: `top`, `try`, `cup` and `all` are words."""
    return None if name.upper() in CODES and not name.isupper() else candidates(name)


def _read_amount(text: str) -> Decimal | None:
    amount = read_spoken(text)
    short = _SHORT.fullmatch(text) if amount is None else None
    if short is None:
        return amount
    figures = read_number(short[1])
    return None if figures is None else figures.scaleb(_SHORT_SCALES[short[2].casefold()])


KIND = Kind(compare=money, reads=lambda value, _: read(value) is not None, what="an amount", share=True)
