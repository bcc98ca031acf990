"""`identifier`: order numbers, product ids, document numbers; spelling is forgiven, characters are not."""

from __future__ import annotations

import re
import unicodedata

from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Match, accept, as_text, reject

_SEPARATORS = re.compile(r"[\s.\-\u2010-\u2015\u2212]+")


def identifier(expected: Json, actual: Json, context: Context) -> Match:
    """Equal after spaces, hyphens and dots are removed and case is folded; O is not 0, and leading zeros count."""
    wanted, given = as_text(expected), as_text(actual)
    if wanted is None or given is None:
        return reject(expected, actual, "not an identifier")
    if wanted == given:
        return EQUAL
    if not (_is_spelled(expected) and _is_spelled(actual)):
        return reject(expected, actual)
    folded = fold(wanted)
    if folded and folded == fold(given):
        return accept("the same identifier, written differently")
    return reject(expected, actual)


def _is_spelled(value: Json) -> bool:
    """Whether dots and hyphens of the value are separators: in the JSON numbers 1.5 and -15 they are not."""
    return isinstance(value, str) or (value >= 0 and value == value // 1)


def fold(text: str) -> str:
    """The characters that make up an identifier."""
    return _SEPARATORS.sub("", unicodedata.normalize("NFC", text)).casefold()
