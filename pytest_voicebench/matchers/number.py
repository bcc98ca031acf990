"""`number`: quantities; figures and words are read, and only `approx` allows a difference."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from pytest_voicebench.matchers.numerals import SCALES, read_number
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, cannot_tell, quote, reject

FLOAT_TOLERANCE = 1e-9
"""Relative; binary fractions that differ by less are the same number written twice."""

_SHARES = {"half": Decimal("0.5"), "a half": Decimal("0.5"), "half a": Decimal("0.5"), "a quarter": Decimal("0.25")}
_JOINT = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")  # half-a-dozen
_DOZENS = re.compile(r"(.+) dozen")
_AND_SHARE = re.compile(r"(.+) and (a half|a quarter)(?: (thousand|million|billion))?")
_LONGEST = 200  # characters

Number = int | float | Decimal


def number(expected: Json, actual: Json, context: Context) -> Match:
    """Equal numbers: integers exactly, fractions within 1e-9, or within the option `approx` (0.05 = 5 %)."""
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return EQUAL if expected == actual else cannot_tell(f"the expected value {quote(expected)} is not a number")
    if given is None:
        return reject(expected, actual, "not a number")
    return EQUAL if close(wanted, given, context) else reject(expected, actual)


def read(value: Json) -> Number | None:
    """The number that a JSON value is or spells; None for booleans and everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    return read_spoken(value) if isinstance(value, str) else None


def read_spoken(text: str) -> Decimal | None:
    """A number in figures or words, also with halves and dozens: `two and a half`, `half a dozen`."""
    found = read_number(text)
    if found is not None or len(text) > _LONGEST:
        return found
    plain = " ".join(_JOINT.sub(" ", text.casefold()).split())
    if plain in _SHARES:
        return _SHARES[plain]
    dozens = _DOZENS.fullmatch(plain)
    if dozens:
        count = _SHARES.get(dozens[1]) or read_number(dozens[1])
        return None if count is None else count * 12
    parts = _AND_SHARE.fullmatch(plain)
    whole = read_number(parts[1]) if parts else None
    if parts is None or whole is None or whole.is_signed() or whole >= 1000:
        return None
    return (whole + _SHARES[parts[2]]) * SCALES.get(parts[3] or "", 1)


def share_of(context: Context) -> Decimal:
    """The option `approx` where it is a share of the expected value; 0 where it is not."""
    approx = context.options.get("approx")
    is_number = isinstance(approx, int | float) and not isinstance(approx, bool) and abs(approx) < 1e300
    return Decimal(str(approx)) if is_number else Decimal(0)


def close(wanted: Number, given: Number, context: Context) -> bool:
    """Whether two numbers are the same for this parameter; NaN never is."""
    if isinstance(wanted, float) and not math.isfinite(wanted):
        return bool(wanted == given)
    if isinstance(given, float) and not math.isfinite(given):
        return False
    a, b = Decimal(wanted), Decimal(given)
    approx = share_of(context)
    if approx:
        return abs(a - b) <= approx * abs(a) * (1 + Decimal(FLOAT_TOLERANCE))
    if a == a.to_integral_value() and b == b.to_integral_value():
        return a == b
    return abs(a - b) <= Decimal(FLOAT_TOLERANCE) * max(abs(a), abs(b))


KIND = Kind(compare=number, reads=lambda value, _: read(value) is not None, what="a number", share=True)
