"""`identifier`: order numbers, product ids, document numbers; spelling is forgiven, characters are not."""

from __future__ import annotations

import re
import unicodedata

from pytest_voicebench.matchers.spelled import Spelling, spell
from pytest_voicebench.matchers.verdict import (
    EQUAL,
    Context,
    Json,
    Kind,
    Match,
    accept,
    as_text,
    cannot_tell,
    quote,
    reject,
)

_SEPARATORS = re.compile(r"[\s.,\-\u2010-\u2015\u2212]+")


def identifier(expected: Json, actual: Json, context: Context) -> Match:
    """Equal after spaces, hyphens and dots are removed and case is folded; O is not 0, and leading zeros count.

    Characters may be spoken: `kilo two`, `double seven`, `F as in Frank`. What may be spoken or may be the identifier
    itself (`ALPHA 1`), and `oh` for a letter or a zero, is cannot_tell.
    """
    wanted, given = as_text(expected), as_text(actual)
    if wanted is None or given is None:
        return reject(expected, actual, "not an identifier")
    if wanted == given:
        return EQUAL
    if not (_is_spelled(expected) and _is_spelled(actual)):
        return reject(expected, actual)
    folded, other = fold(wanted), fold(given)
    if folded and folded == other:
        return accept("the same identifier, written differently")
    return _compare_spoken(wanted, given, folded, other) or reject(expected, actual)


def _compare_spoken(wanted: str, given: str, folded: str, other: str) -> Match | None:
    """The verdict where one side is spoken; None where they differ even so."""
    a, b = spell(wanted), spell(given)
    if not (a.digit_words or a.letter_words or b.digit_words or b.letter_words):
        return None
    left, right = {folded, *a.readings} - {""}, {other, *b.readings} - {""}
    if not left & right:
        return None
    if _is_clear(a) and _is_clear(b):
        return accept("the same identifier, spoken")
    return cannot_tell(f"{quote(given)} may or may not spell {quote(wanted)}", "spelling")


def _is_clear(spelling: Spelling) -> bool:
    """Whether a text can be meant in one way only: nothing is spoken, or so much of it that it is no name."""
    if len(spelling.readings) > 1:
        return False
    if spelling.letter_words:
        return spelling.letter_words + spelling.digit_words > 1
    return not spelling.digit_words or spelling.tokens > 1


def _is_spelled(value: Json) -> bool:
    """Whether dots and hyphens of the value are separators: in the JSON numbers 1.5 and -15 they are not."""
    return isinstance(value, str) or (value >= 0 and value == value // 1)


def fold(text: str) -> str:
    """The characters that make up an identifier."""
    return _SEPARATORS.sub("", unicodedata.normalize("NFC", text)).casefold().removeprefix("#")


KIND = Kind(compare=identifier)
