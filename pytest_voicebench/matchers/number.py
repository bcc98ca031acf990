"""`number`: quantities; figures and words are read, and only `approx` allows a difference."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from pytest_voicebench.matchers.numerals import ORDINALS, SCALES, TENS, UNITS, read_number
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, cannot_tell, quote, reject

FLOAT_TOLERANCE = 1e-9
"""Relative; binary fractions that differ by less are the same number written twice."""

_SHARES = {"half": Decimal("0.5"), "a half": Decimal("0.5"), "half a": Decimal("0.5"), "a quarter": Decimal("0.25")}
_JOINT = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")  # half-a-dozen
_DOZENS = re.compile(r"(.+) dozen")
_AND_SHARE = re.compile(r"(.+) and (a half|a quarter)(?: (thousand|million|billion))?")
_SHORT = re.compile(r"([+-]?[\d,]*\.?\d+)\s?(k|m|mm|bn|b|grand)", re.IGNORECASE)
_SHORT_SCALES = {"k": 3, "grand": 3, "m": 6, "mm": 6, "b": 9, "bn": 9}
_GLUED = re.compile(r"(?<=\d)(?=[a-z]+$)")  # 2kg
_JOINING = "dozen and or to point half quarter a minus plus less more than k grand bn e st nd rd th"
_NOT_COUNTED = frozenset({*UNITS, *TENS, *ORDINALS, "hundred", *SCALES, *_JOINING.split()})
_LONGEST = 200  # characters

Number = int | float | Decimal


def number(expected: Json, actual: Json, context: Context) -> Match:
    """Equal numbers: integers exactly, fractions within 1e-9, or within the option `approx` (0.05 = 5 %)."""
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return EQUAL if expected == actual else cannot_tell(f"the expected value {quote(expected)} is not a number")
    if given is None:
        return doubt(wanted, expected, actual, context) or reject(expected, actual, "not a number")
    if close(wanted, given, context):
        return EQUAL
    return doubt(wanted, expected, actual, context) or reject(expected, actual)


def doubt(wanted: Number, expected: Json, actual: Json, context: Context) -> Match | None:
    """The open verdict on a text that some listeners would take for the wanted number; None for any other."""
    if not isinstance(actual, str) or len(actual) > _LONGEST:
        return None
    plain = " ".join(actual.casefold().split())
    if any(close(wanted, one, context) for one in read_loosely(plain)):
        return cannot_tell(f"{quote(actual)} may or may not be meant for {quote(expected)}", "loose_number")
    words = _GLUED.sub(" ", plain).split()
    for size in (1, 2):
        value = read_number(" ".join(words[:-size]))
        if value is not None and close(wanted, value, context) and all(map(_is_counted, words[-size:])):
            why = f"whether {' '.join(words[-size:])!r} belongs to the number {quote(expected)} cannot be told"
            return cannot_tell(why, "counted")
    return None


def _is_counted(word: str) -> bool:
    """Whether a word behind a number may be what it counts, and is no part of another number."""
    return word.isalpha() and word not in _NOT_COUNTED


def read_loosely(text: str) -> tuple[Decimal, ...]:
    """What people may mean by `hundred` (100) and `twelve fifty` (1250, 12.50); nothing for anything else."""
    words = _JOINT.sub(" ", text.casefold()).split()
    if len(words) == 1:
        alone = {"hundred": 100, **SCALES}.get(words[0])
        return () if alone is None else (Decimal(alone),)
    for at in range(1, len(words)) if len(words) <= 4 else ():
        whole, part = read_number(" ".join(words[:at])), _read_part(words[at:])
        if whole and part and 1 <= whole <= 99 and whole == whole.to_integral_value() and words[0] not in ("a", "an"):
            return whole * 100 + part, whole + part / 100
    return ()


def _read_part(words: list[str]) -> Decimal | None:
    """The two digits at the end of `twelve fifty` and `one oh five`."""
    if words[0] in ("oh", "o"):
        found, least, most = read_number(" ".join(words[1:])), 1, 9
    else:
        found, least, most = read_number(" ".join(words)), 10, 99
    fits = found is not None and found == found.to_integral_value() and least <= found <= most
    return found if fits else None


def read(value: Json) -> Number | None:
    """The number that a JSON value is or spells; None for booleans and everything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    return read_spoken(value) if isinstance(value, str) else None


def read_spoken(text: str) -> Decimal | None:
    """A number in figures or words, also short, with halves and dozens: `1.8k`, `two and a half`, `half a dozen`."""
    found = read_number(text)
    if found is not None or len(text) > _LONGEST:
        return found
    short = _SHORT.fullmatch(text.strip())
    if short:
        figures = read_number(short[1])
        return None if figures is None else figures.scaleb(_SHORT_SCALES[short[2].casefold()])
    return _read_shares(" ".join(_JOINT.sub(" ", text.casefold()).split()))


def _read_shares(plain: str) -> Decimal | None:
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
