"""`phone`: telephone numbers, digit-exact, in figures or spoken; an invented country code is never forgiven."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from pytest_voicebench.matchers.spelled import spell_digits
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, reject

_EXTENSION = re.compile(r"(.+?)(?:[\s,;]*\b(?:extension|ext\.?)|(?<=\d)[\s,;]*(?:\bx|x|#))\s*([\w\s-]+)", re.IGNORECASE)
_INTERNATIONAL = re.compile(r"\s*(?:tel:)?\s*(\+|plus\b|00(?=\s?[1-9])|011(?=[\s-]))\s*(.+)", re.IGNORECASE | re.DOTALL)
_TRUNK = re.compile(r"\(0\)")
_LONGEST = 120  # characters
_FEWEST, _MOST = 3, 15  # digits; 15 by ITU-T E.164
_AMERICAN = 10  # digits of a number of the North American plan, country code 1


@dataclass(frozen=True, slots=True)
class Phone:
    """A number's digits; with the country code in front where `international`."""

    digits: str
    international: bool
    extension: str = ""


def phone(expected: Json, actual: Json, context: Context) -> Match:
    """The same digits. A country code on one side only is right where the option `country` (such as 44) says it is.

    Numbers of the North American plan are right with and without their 1. For others a code on one side is cannot_tell.
    """
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return EQUAL if expected == actual else cannot_tell(f"the expected value {expected!r} is not a phone number")
    if given is None:
        return reject(expected, actual, "not a phone number")
    if wanted.extension != given.extension:
        return reject(expected, actual, "another extension")
    wanted, given = _with_country(wanted, context), _with_country(given, context)
    if wanted.international == given.international:
        return accept("the same number") if wanted.digits == given.digits else reject(expected, actual)
    full, local = (wanted, given) if wanted.international else (given, wanted)
    if full.digits.endswith(local.digits.removeprefix("0")) and 0 < len(full.digits) - len(local.digits) + 1 <= 4:
        return cannot_tell(f"{actual!r} and {expected!r} differ by a country code; say `country`", "country_code")
    return reject(expected, actual)


def _with_country(number: Phone, context: Context) -> Phone:
    """The number in its international form, where the option or the form of the number tells it."""
    if number.international:
        return number
    country, digits = context.options.get("country"), number.digits
    if country is not None and len(digits) >= 7:
        national = digits.removeprefix("1") if str(country) == "1" and len(digits) == 11 else digits.removeprefix("0")
        return Phone(f"{country}{national}", international=True)
    if len(digits) == _AMERICAN and digits[0] not in "01":
        return Phone(f"1{digits}", international=True)
    if len(digits) == _AMERICAN + 1 and digits[0] == "1" and digits[1] not in "01":
        return Phone(digits, international=True)
    return number


def read(value: Json) -> Phone | None:
    """The number that a JSON value is or spells; None where it is none."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        value = str(value)
    return _read_text(value) if isinstance(value, str) and len(value) <= _LONGEST else None


@lru_cache(maxsize=4096)
def _read_text(text: str) -> Phone | None:
    extended = _EXTENSION.fullmatch(text.strip())
    main, extension = (extended[1], spell_digits(extended[2])) if extended else (text, "")
    abroad = _INTERNATIONAL.fullmatch(main)
    digits = spell_digits(_TRUNK.sub("", abroad[2]) if abroad else main)
    if digits is None or extension is None or not _FEWEST <= len(digits) <= _MOST or _looks_otherwise(main):
        return None
    return Phone(digits, abroad is not None, extension)


def _looks_otherwise(text: str) -> bool:
    """Signs that no telephone number has: a minus in front, amounts, times, dates with slashes, e-mail."""
    return text.strip().startswith("-") or any(sign in text for sign in "$€£%@:=*")


KIND = Kind(compare=phone, reads=lambda value, _: read(value) is not None, what="a phone number", options=("country",))
