"""`money`: an amount, with or without its currency: `$1,500`, `1.5k`, `five thousand dollars`."""

from __future__ import annotations

import re
from decimal import Decimal

from pytest_voicebench.matchers.currency import CODES, candidates, usual
from pytest_voicebench.matchers.number import Number, close, read_loosely, read_spoken
from pytest_voicebench.matchers.numerals import read_number, split_sign
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, cannot_tell, quote, reject

_LEADING = re.compile(r"([A-Za-z]{0,3}[$€£¥₹₩₦]|[A-Za-z]{3}(?=[\s\d]))\s*(.+)")
_LONGEST = 200  # characters

Amount = tuple[Number, frozenset[str] | None]


def money(expected: Json, actual: Json, context: Context) -> Match:
    """Equal amounts, exact to the cent unless `approx`; where both name a currency it must be the same.

    `$` and `dollars` usually mean US dollars: whether they mean Canadian ones is cannot_tell.
    """
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return EQUAL if expected == actual else cannot_tell(f"the expected value {quote(expected)} is not an amount")
    if given is None:
        return _doubt(wanted, expected, actual, context) or reject(expected, actual, "not an amount")
    if wanted[1] and given[1] and not wanted[1] & given[1]:
        return reject(expected, actual, "another currency")
    if not close(wanted[0], given[0], context):
        return reject(expected, actual)
    return _other_currency(wanted[1], given[1], expected, actual) or EQUAL


def _other_currency(
    wanted: frozenset[str] | None, given: frozenset[str] | None, expected: Json, actual: Json
) -> Match | None:
    """The doubt where one side names a currency that is not the one that the other's shared name usually means."""
    if not wanted or not given or usual(wanted) == usual(given):
        return None
    why = f"whether {quote(actual)} is in the currency of {quote(expected)} cannot be told: several share the name"
    return cannot_tell(why, "ambiguous_currency")


def _doubt(wanted: Amount, expected: Json, actual: Json, context: Context) -> Match | None:
    """The open verdict on `twelve fifty` where 12.50 or 1250 is wanted."""
    if not isinstance(actual, str) or len(actual) > _LONGEST:
        return None
    text, named = _without_currency(" ".join(actual.split()))
    possible = not wanted[1] or not named or wanted[1] & named
    if not possible or not any(close(wanted[0], one, context) for one in read_loosely(text)):
        return None
    return cannot_tell(f"{quote(actual)} may or may not be meant for {quote(expected)}", "loose_number")


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
    if text.casefold().endswith((" cent", " cents")):
        found = _read_cents(text)
    else:
        found = _read_plain(text) or _read_bare_cents(text)
    if found is None or (sign and found[0].is_signed()):  # --50 is no amount
        return None
    return found[0] * (sign or 1), found[1]


def _read_plain(text: str) -> tuple[Decimal, frozenset[str] | None] | None:
    text, currency = _without_currency(text)
    amount = read_spoken(text)
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


def _read_bare_cents(text: str) -> tuple[Decimal, frozenset[str] | None] | None:
    """`fifteen dollars ninety nine`: two digits behind a whole amount and its currency."""
    words = text.split()
    for size in (2, 1):
        cents, head = _whole_cents(words[-size:]), " ".join(words[:-size])
        bare, currency = _without_currency(head)
        whole = read_spoken(bare) if currency and head.startswith(bare) else None
        if cents is None or whole is None or not Decimal("0.1") <= cents < 1:
            continue
        if not whole.is_signed() and whole == whole.to_integral_value():
            return whole + cents, currency
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


KIND = Kind(compare=money, reads=lambda value, _: read(value) is not None, what="an amount", share=True)
