"""`duration`: lengths of time, written or spoken: `90 minutes`, `1h30`, `an hour and a half`, `PT1H30M`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from pytest_voicebench.matchers.number import FLOAT_TOLERANCE, close, share_of
from pytest_voicebench.matchers.numerals import read_number
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "fortnight": 1_209_600}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_SHORT = {
    "s": "second", "sec": "second", "secs": "second", "m": "minute", "min": "minute", "mins": "minute",
    "h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "w": "week", "wk": "week", "wks": "week",
    "mo": "month", "mos": "month", "y": "year", "yr": "year", "yrs": "year",
}  # fmt: skip
_ISO = re.compile(
    r"p(?:(\d+)y)?(?:(\d+)m)?(?:(\d+)w)?(?:(\d+)d)?(?:t(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?)?", re.IGNORECASE
)
_ISO_UNITS = ("year", "month", "week", "day", "hour", "minute", "second")
_CLOCK = re.compile(r"\d+:[0-5]\d(?::[0-5]\d)?")
_TIGHT = re.compile(r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)")
_HALVES = {"half": Decimal("0.5"), "quarter": Decimal("0.25"), "three quarters": Decimal("0.75")}
_VAGUE_WORDS = "few several some while bit about around roughly almost nearly over under"
_VAGUE = frozenset(_VAGUE_WORDS.split())
_LONGEST = 120  # characters
UNITS = tuple(_SECONDS) + tuple(_MONTHS)


@dataclass(frozen=True, slots=True)
class Length:
    """Months and seconds apart: a month has no fixed number of days."""

    months: Decimal
    seconds: Decimal


def duration(expected: Json, actual: Json, context: Context) -> Match:
    """The same length, exact unless `approx` (0.05, or `5 minutes`).

    A bare number is read in the option `unit` (such as minutes); without it, and for `1:30` and `a few days`, it is
    cannot_tell. A year is 12 months, but a month is no number of days.
    """
    wanted, given = _read(expected, context), _read(actual, context)
    if wanted is None or given is None:
        return _unread(expected, actual, wanted is None)
    if context.options.get("approx") is not None and _is_near(wanted, given, context):
        return accept("within the tolerance")
    if wanted.months == given.months:
        same = close(wanted.seconds, given.seconds, Context())
        return accept("the same length") if same else reject(expected, actual)
    if _could_be(wanted, given):
        return cannot_tell(f"whether {quote(actual)} is {quote(expected)} depends on the month", "unit")
    return reject(expected, actual)


def _unread(expected: Json, actual: Json, wanted: bool) -> Match:
    if expected == actual and type(expected) is type(actual):
        return EQUAL
    if is_bare(expected) and is_bare(actual):
        same = close(read_bare(expected), read_bare(actual), Context())  # type: ignore[arg-type]
        return accept("the same number") if same else reject(expected, actual)
    if is_bare(actual) or (is_bare(expected) and not wanted):
        return cannot_tell("a number without a unit; say the option `unit`", "no_unit")
    if wanted:
        return cannot_tell(f"the expected value {quote(expected)} is not a duration that can be read")
    vague = isinstance(actual, str) and (_VAGUE & set(actual.casefold().split()) or _CLOCK.fullmatch(actual.strip()))
    if vague:
        return cannot_tell(f"how long {quote(actual)} is cannot be told", "vague")
    return reject(expected, actual, "not a duration")


def read_bare(value: Json) -> Decimal | None:
    """The number that stands without a unit, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        number = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
        return number if number.is_finite() else None
    return read_number(value) if isinstance(value, str) else None


def is_bare(value: Json) -> bool:
    """Whether a value is a number without a unit."""
    return read_bare(value) is not None


def _read(value: Json, context: Context) -> Length | None:
    unit = context.options.get("unit")
    bare = read_bare(value) if unit is not None else None
    if bare is not None and isinstance(unit, str):
        return _length(bare, _unit(unit) or unit)
    return read(value) if isinstance(value, str) else None


@lru_cache(maxsize=4096)
def read(text: str) -> Length | None:
    """The length that a text says; None where it says none, or more than one."""
    plain = " ".join(text.casefold().split()).rstrip(".")
    if len(plain) > _LONGEST:
        return None
    iso = _ISO.fullmatch(plain)
    if iso and any(iso.groups()):
        parts = [_length(Decimal(n), unit) for n, unit in zip(iso.groups(), _ISO_UNITS, strict=True) if n]
        return _sum([one for one in parts if one])
    return _read_words(_words(plain))


def _words(text: str) -> list[str]:
    """Words where commas part them, but not inside figures: `1,500 seconds`, `1 hour, 5 minutes`."""
    return _TIGHT.sub(" ", re.sub(r",(?!\d{3}\b)", " ", re.sub(r"(?<=\w)-(?=\w)", " ", text))).split()


def _read_words(words: list[str]) -> Length | None:
    """Amount and unit, again and again, `and` between; each unit once, and `and a half` after one."""
    parts: list[Length] = []
    last: str | None = None
    used: set[str] = set()
    amount: list[str] = []
    for at, word in enumerate(words):
        unit = _unit(word)
        if unit is None or (word in ("quarter", "quarters") and at + 1 < len(words)) or not amount:
            amount.append(word)
            continue
        found = _amount(amount, first=not parts)
        if found is None or unit in used:
            return None
        parts.append(found if isinstance(found, Length) else _length(found, unit) or Length(Decimal(0), Decimal(0)))
        used.add(unit)
        last, amount = unit, []
    return _finish(parts, last, amount)


def _finish(parts: list[Length], last: str | None, rest: list[str]) -> Length | None:
    if last is None:
        return None
    if rest in (["and", "a", "half"], ["and", "a", "quarter"]):
        part = _length(_HALVES[rest[-1]], last)
        return _sum([*parts, part]) if part else None
    if rest and len(parts) == 1 and last == "hour":  # 1h30
        minutes = read_number(" ".join(rest))
        return _sum([*parts, Length(Decimal(0), minutes * 60)]) if minutes is not None and 0 < minutes < 60 else None
    return None if rest else _sum(parts)


def _amount(words: list[str], *, first: bool) -> Decimal | None:
    """`two`, `an`, `two and a half`, `half an`, `three quarters of an`, `a couple of`; None for anything else."""
    words = words[1:] if not first and words[0] == "and" else words
    text = " ".join(words)
    for tail in (" of an", " of a", " an", " a"):
        if text.removesuffix(tail).removeprefix("a ") in _HALVES and text.endswith(tail):
            return _HALVES[text.removesuffix(tail).removeprefix("a ")]
    if text in ("half", "a half"):
        return _HALVES["half"]
    if text in ("a couple of", "a couple", "couple of"):
        return Decimal(2)
    if text in ("a", "an", "one"):
        return Decimal(1)
    for name, share in _HALVES.items():
        if text.endswith((f" and a {name}", f" and {name}")):
            whole = read_number(text.rpartition(" and ")[0])
            return None if whole is None else whole + share
    found = read_number(text)
    return None if found is None or found.is_signed() else found


def _unit(word: str) -> str | None:
    if word in _SHORT:
        return _SHORT[word]
    for form in (word, word.removesuffix("s"), word.rstrip(".")):
        if form in _SECONDS or form in _MONTHS:
            return form
    return None


def _length(amount: Decimal, unit: str) -> Length | None:
    if unit in _SECONDS:
        return Length(Decimal(0), amount * _SECONDS[unit])
    return Length(amount * _MONTHS[unit], Decimal(0)) if unit in _MONTHS else None


def _sum(parts: list[Length]) -> Length:
    return Length(sum((p.months for p in parts), Decimal(0)), sum((p.seconds for p in parts), Decimal(0)))


def days_of(length: Length) -> tuple[Decimal, Decimal]:
    """The fewest and the most days that a length may have."""
    days = length.seconds / 86_400
    return length.months * 28 + days, length.months * 31 + days


def _could_be(a: Length, b: Length) -> bool:
    (least, most), (low, high) = days_of(a), days_of(b)
    return least <= high and low <= most


def _is_near(wanted: Length, given: Length, context: Context) -> bool:
    if wanted.months != given.months and not (wanted.seconds == given.seconds == 0):
        return False
    a, b = (x.seconds + x.months * 2_629_800 for x in (wanted, given))  # compared with each other only
    approx = context.options["approx"]
    leeway = read(approx) if isinstance(approx, str) else None
    by = share_of(context) * abs(a) if leeway is None else leeway.seconds + leeway.months * 2_629_800
    return abs(a - b) <= by * (1 + Decimal(FLOAT_TOLERANCE))


def is_tolerance(text: str) -> bool:
    """Whether a text can be an `approx` of times and durations: `15 minutes`."""
    found = read(text)
    return found is not None and not found.months


KIND = Kind(
    compare=duration,
    reads=lambda value, context: _read(value, context) is not None,
    what="a duration",
    options=("unit",),
    share=True,
    tolerance=is_tolerance,
)
