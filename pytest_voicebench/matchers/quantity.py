"""`quantity`: an amount with its unit, converted where units differ: `5 km`, `3.1 miles`, `98.6 °F`, `six foot two`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from pytest_voicebench.matchers.duration import is_bare, read_bare
from pytest_voicebench.matchers.number import FLOAT_TOLERANCE, share_of
from pytest_voicebench.matchers.numerals import read_number
from pytest_voicebench.matchers.unit_table import UNITS, Unit, units_named
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_GLUED = re.compile(r"([-+\u2212]?[\d.,]*\d)\s*([^\W\d]\S*.*|[°%\"'\u2032\u2033\u00b5].*)", re.DOTALL)
_FEET_INCHES = re.compile(
    r"(\d+)\s*(?:'|\u2032|ft\.?|feet|foot)\s*(?:and\s+)?(\d+(?:\.\d+)?)\s*(?:\"|''|\u2033|in\.?|inch(?:es)?)?"
)
_FRACTION = re.compile(r"(?:(\d{1,9}) )?(\d{1,3})/([1-9]\d{0,2})")
_SIGNS = {"\u00bd": " 1/2", "\u00bc": " 1/4", "\u00be": " 3/4"}
_TWO_PARTS = (("foot", "inch"), ("pound", "ounce"), ("stone", "pound"))
_LONGEST = 120  # characters


@dataclass(frozen=True, slots=True)
class Amount:
    """A number and the units that its word may name: one, or several where the word has several meanings."""

    number: Decimal
    word: str
    units: tuple[Unit, ...]


def quantity(expected: Json, actual: Json, context: Context) -> Match:
    """The same amount after conversion, within 1e-9 unless `approx` (0.05, or `100 m`).

    A bare number is read in the option `unit`; without it it is cannot_tell. So are units with several meanings (the
    gallon, the ton, the ounce) where they are converted and the meanings differ.
    """
    wanted, given = _read(expected, context), _read(actual, context)
    if wanted is None or given is None:
        return _unread(expected, actual, wanted is None)
    if wanted.word == given.word:
        same = _near(wanted.units[0], wanted.number, wanted.units[0], given.number, context)
        return accept("the same amount") if same else reject(expected, actual)
    pairs = [(u, v) for u in wanted.units for v in given.units if u.dimension == v.dimension]
    if not pairs:
        return reject(expected, actual, "another kind of unit")
    verdicts = {_near(u, wanted.number, v, given.number, context) for u, v in pairs}
    if verdicts == {True}:
        return accept("the same amount in another unit")
    if verdicts == {False}:
        return reject(expected, actual)
    return cannot_tell(f"whether {quote(actual)} is {quote(expected)} depends on which unit is meant", "unit")


def _near(unit: Unit, number: Decimal, other: Unit, given: Decimal, context: Context) -> bool:
    a, b = unit.base(number), other.base(given)
    approx = context.options.get("approx")
    leeway = read(approx) if isinstance(approx, str) else None
    if leeway is not None:
        by = next((u.factor * leeway.number for u in leeway.units if u.dimension == unit.dimension), Decimal(0))
    else:
        by = share_of(context) * abs(a)
    return abs(a - b) <= by + Decimal(FLOAT_TOLERANCE) * max(abs(a), abs(b))


def _unread(expected: Json, actual: Json, wanted: bool) -> Match:
    if expected == actual and type(expected) is type(actual):
        return EQUAL
    if is_bare(expected) and is_bare(actual):
        same = read_bare(expected) == read_bare(actual)
        return accept("the same number") if same else reject(expected, actual)
    if is_bare(actual) or is_bare(expected):
        return cannot_tell("a number without a unit; say the option `unit`", "no_unit")
    if wanted:
        return cannot_tell(f"the expected value {quote(expected)} is not an amount with a unit that can be read")
    return reject(expected, actual, "not an amount with a unit")


def _read(value: Json, context: Context) -> Amount | None:
    unit = context.options.get("unit")
    bare = read_bare(value) if unit is not None else None
    if bare is not None and isinstance(unit, str):
        units = units_named(unit)
        return Amount(bare, units[0].name, units) if units else None
    return read(value) if isinstance(value, str) else None


@lru_cache(maxsize=4096)
def read(text: str) -> Amount | None:
    """The amount that a text says; None where it says none."""
    plain = " ".join("".join(_SIGNS.get(c, c) for c in text[: _LONGEST + 1]).split())
    if len(plain) > _LONGEST:
        return None
    feet = _FEET_INCHES.fullmatch(plain.casefold())
    if feet:
        return _amount(Decimal(feet[1]) * 12 + Decimal(feet[2]), "inch")
    glued = _GLUED.fullmatch(plain)
    if glued:
        number, unit = read_number(glued[1]), units_named(glued[2])
        if number is not None and unit:
            return Amount(number, unit[0].name, unit)
    return _read_spoken(plain.replace("-", " ").split())


def _read_spoken(words: list[str]) -> Amount | None:
    """Number words and a unit of one to three words; `six foot two`, `ten pounds four ounces`."""
    for size in (3, 2, 1):
        units = units_named(" ".join(words[-size:])) if len(words) > size else ()
        if units:
            head = words[:-size]
            number = _number(head)
            if number is not None:
                return Amount(number, units[0].name, units)
            return _two_parts(head, units)
    for at, word in enumerate(words):  # six foot two
        if word.casefold() in ("foot", "feet") and 0 < at == len(words) - 2:
            tall, inches = _number(words[:at]), _number(words[at + 1 :])
            if tall is not None and inches is not None and 0 <= inches < 12:
                return _amount(tall * 12 + inches, "inch")
    return None


def _two_parts(head: list[str], units: tuple[Unit, ...]) -> Amount | None:
    for at in range(1, len(head) - 1):
        large = units_named(head[at])
        pair = next((p for p in _TWO_PARTS if large and p[0] == large[0].name and p[1] == units[0].name), None)
        rest = head[at + 2 :] if head[at + 1] == "and" else head[at + 1 :]
        whole, part = (_number(head[:at]), _number(rest)) if pair else (None, None)
        if pair and whole is not None and part is not None:
            big, small = UNITS[pair[0]], UNITS[pair[1]]
            return _amount(whole * big.factor / small.factor + part, small.name)
    return None


def _amount(number: Decimal, name: str) -> Amount:
    return Amount(number, name, (UNITS[name],))


def _number(words: list[str]) -> Decimal | None:
    text = " ".join(words)
    for share, value in ((" and a half", "0.5"), (" and a quarter", "0.25")):
        if text.endswith(share):
            whole = read_number(text.removesuffix(share))
            return None if whole is None else whole + Decimal(value)
    if text in ("a", "an"):
        return Decimal(1)
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        return Decimal(fraction[1] or 0) + Decimal(fraction[2]) / Decimal(fraction[3])
    return Decimal("0.5") if text in ("half a", "half an", "half", "a half") else read_number(text)


KIND = Kind(
    compare=quantity,
    reads=lambda value, context: _read(value, context) is not None,
    what="an amount with a unit",
    options=("unit",),
    share=True,
    tolerance=lambda text: read(text) is not None,
)
