"""`phone`: telephone numbers, digit-exact, in figures or spoken; an invented country code is never forgiven."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from pytest_voicebench.matchers.spelled import spell_digits, text_of_digits
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_EXTENSION = re.compile(r"(.+?)(?:[\s,;]*\b(?:extension|ext\.?)|(?<=\d)[\s,;]*(?:\bx|x|#))\s*([\w\s-]+)", re.IGNORECASE)
_INTERNATIONAL = re.compile(r"\s*(\+|plus\b|011(?=[\s-]))\s*(.+)", re.IGNORECASE | re.DOTALL)
_TRUNK = re.compile(r"\(0\)")
_LONGEST = 120  # characters
_FEWEST, _MOST = 3, 15  # digits; 15 by ITU-T E.164
_AMERICAN = 10  # digits of a number of the North American plan, country code 1
_LOCAL = 7  # digits; shorter numbers, such as 911, have no country code
_COUNTRIES = re.compile(
    r"1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|(?:2[1-689]|3[578]|42|5[09]|6[7-9]|8[0578]|9[679])\d"
)  # calling codes of ITU-T E.164


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
        return (
            EQUAL if expected == actual else cannot_tell(f"the expected value {quote(expected)} is not a phone number")
        )
    if given is None:
        return reject(expected, actual, "not a phone number")
    if wanted.extension != given.extension:
        return reject(expected, actual, "another extension")
    wanted, given = _with_country(wanted, context), _with_country(given, context)
    if wanted.digits == given.digits and wanted.international == given.international:
        return accept("the same number")
    if wanted.international == given.international:
        same = _without_one(wanted.digits) == _without_one(given.digits) and not wanted.international
        return accept("the same number") if same else reject(expected, actual)
    full, local = (wanted, given) if wanted.international else (given, wanted)
    if full.digits.startswith("1") and full.digits[1:] == _without_one(local.digits):
        return accept("the same number")
    national = local.digits.removeprefix("0")
    if full.digits.endswith(national) and _COUNTRIES.fullmatch(full.digits.removesuffix(national)):
        return cannot_tell(
            f"{quote(actual)} and {quote(expected)} differ by a country code; say `country`", "country_code"
        )
    return reject(expected, actual)


def _with_country(number: Phone, context: Context) -> Phone:
    """The number in its international form, where the option `country` gives the code of numbers without one."""
    country = context.options.get("country")
    if number.international or country is None or len(number.digits) < _LOCAL:
        return number
    digits = _without_one(number.digits) if str(country) == "1" else number.digits.removeprefix("0")
    return Phone(f"{country}{digits}", international=True)


def _without_one(digits: str) -> str:
    """The ten digits of a number of the North American plan that is written with its 1."""
    return digits[1:] if len(digits) == _AMERICAN + 1 and digits[0] == "1" else digits


def read(value: Json) -> Phone | None:
    """The number that a JSON value is or spells; None where it is none."""
    text = text_of_digits(value, _LONGEST)
    return None if text is None else _read_text(text)


@lru_cache(maxsize=4096)
def _read_text(text: str) -> Phone | None:
    text = text.strip()
    text = text[4:] if text[:4].casefold() == "tel:" else text
    extended = _EXTENSION.fullmatch(text)
    main, extension = (extended[1], spell_digits(extended[2])) if extended else (text, "")
    abroad = _INTERNATIONAL.fullmatch(main)
    digits = spell_digits(_TRUNK.sub("", abroad[2]) if abroad else main)
    if digits is None or extension is None or not _FEWEST <= len(digits) <= _MOST or _looks_otherwise(main):
        return None
    if abroad is None and digits.startswith("00") and len(digits) > _LOCAL + 2 and digits[2] != "0":
        return Phone(digits[2:], international=True, extension=extension)  # the prefix of calls abroad, ITU-T E.164
    return Phone(digits, abroad is not None, extension)


def _looks_otherwise(text: str) -> bool:
    """Signs that no telephone number has: a minus in front, amounts, times, dates with slashes, e-mail."""
    return text.strip().startswith("-") or any(sign in text for sign in "$€£%@:=*")


KIND = Kind(compare=phone, reads=lambda value, _: read(value) is not None, what="a phone number", options=("country",))
