"""`card`: numbers of payment cards, digit-exact, in figures or spoken, whole or by their last four digits."""

from __future__ import annotations

import re
from functools import lru_cache

from pytest_voicebench.matchers.spelled import spell_digits, text_of_digits
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

_LAST = re.compile(
    r"(?:(?:the\s+)?(?:card\s+)?(?:number\s+)?(?:ending|ends)\s+(?:in|with)|(?:the\s+)?last\s+(?:four|4)(?:\s+digits)?"
    r"(?:\s+(?:are|is))?|[*x\u2022\s.-]*[*x\u2022][\s.-]*)[\s:]*(.+)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST = 200  # characters
_FEWEST, _MOST, _TAIL = 12, 19, 4  # digits; 12 to 19 by ISO/IEC 7812


def card(expected: Json, actual: Json, context: Context) -> Match:
    """The same digits; the last four match only the last four.

    Four right digits for a whole number, or the other way round, are cannot_tell where the last four agree.
    """
    wanted, given = read(expected), read(actual)
    if wanted is None:
        return (
            EQUAL if expected == actual else cannot_tell(f"the expected value {quote(expected)} is not a card number")
        )
    if given is None:
        return reject(expected, actual, "not a card number")
    if wanted == given:
        return accept("the same card")
    if len(wanted) != len(given) and _TAIL in (len(wanted), len(given)) and wanted[-_TAIL:] == given[-_TAIL:]:
        return cannot_tell(f"{quote(actual)} and {quote(expected)} share their last four digits only", "last_four")
    fails = len(given) > _TAIL and has_check_digit(wanted) and not has_check_digit(given)
    return reject(expected, actual, "its check digit is wrong" if fails else "")


def read(value: Json) -> str | None:
    """The 12 to 19 digits of a card, or its last four; None where a value is neither."""
    text = text_of_digits(value, _LONGEST)
    return None if text is None else _read_text(text)


@lru_cache(maxsize=4096)
def _read_text(text: str) -> str | None:
    last = _LAST.fullmatch(text.strip())
    digits = None if text.strip().startswith(("-", "+")) else spell_digits(last[1] if last else text)
    if digits is None or any(sign in text for sign in "$€£%@/"):
        return None
    whole = not last and _FEWEST <= len(digits) <= _MOST
    return digits if whole or len(digits) == _TAIL else None


def has_check_digit(digits: str) -> bool:
    """Whether the last digit is right by the Luhn formula (ISO/IEC 7812-1, annex B)."""
    doubled = [int(d) * (1 + n % 2) for n, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


KIND = Kind(compare=card, reads=lambda value, _: read(value) is not None, what="a card number or its last four digits")
