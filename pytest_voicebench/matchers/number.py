"""`number`: quantities; figures and words are read, and only `approx` allows a difference."""

from __future__ import annotations

import math
from decimal import Decimal

from pytest_voicebench.matchers.numerals import read_number
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, cannot_tell, reject

FLOAT_TOLERANCE = 1e-9
"""Relative; binary fractions that differ by less are the same number written twice."""

Number = int | float | Decimal


def number(expected: Json, actual: Json, context: Context) -> Match:
    """Equal numbers: integers exactly, fractions within 1e-9, or within the option `approx` (0.05 = 5 %)."""
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return EQUAL if expected == actual else cannot_tell(f"the expected value {expected!r} is not a number")
    if given is None:
        return reject(expected, actual, "not a number")
    return EQUAL if close(wanted, given, context) else reject(expected, actual)


def read(value: Json) -> Number | None:
    """The number that a JSON value is or spells; None for booleans and everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    return read_number(value) if isinstance(value, str) else None


def close(wanted: Number, given: Number, context: Context) -> bool:
    """Whether two numbers are the same for this parameter; NaN never is."""
    if isinstance(wanted, float) and not math.isfinite(wanted):
        return bool(wanted == given)
    if isinstance(given, float) and not math.isfinite(given):
        return False
    a, b = Decimal(wanted), Decimal(given)
    approx = context.options.get("approx")
    if approx:
        return abs(a - b) <= Decimal(str(approx)) * abs(a) * (1 + Decimal(FLOAT_TOLERANCE))
    if a == a.to_integral_value() and b == b.to_integral_value():
        return a == b
    return abs(a - b) <= Decimal(FLOAT_TOLERANCE) * max(abs(a), abs(b))


KIND = Kind(compare=number, reads=lambda value, _: read(value) is not None, what="a number", share=True)
