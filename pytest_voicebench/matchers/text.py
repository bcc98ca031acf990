"""`text`: free text such as search words; equal words in equal order, never similar ones."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Match, accept, as_text, reject

_OPENING = "\"'([{<“”‘’«¿¡"
_CLOSING = "\"')]}>,;:!?.“”‘’»"
_ARTICLES = frozenset({"a", "an", "the"})
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑](?=[^\W\d_])")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=s?\b)")
_NOT_PLURAL = "news has was this its his hers yes gas bus plus less does goes us is as"
_NO_PLURALS = frozenset(_NOT_PLURAL.split())


def text(expected: Json, actual: Json, context: Context) -> Match:
    """Equal after folding case, accents' encoding, spaces, outer punctuation, a leading article and plural endings."""
    wanted, given = as_text(expected), as_text(actual)
    if wanted is None or given is None:
        return reject(expected, actual, "not text")
    if wanted == given:
        return EQUAL
    a, b = words(wanted), words(given)
    if len(a) == len(b) and all(same_word(x, y) for x, y in zip(a, b, strict=True)):
        return accept("the same words")
    return reject(expected, actual)


@lru_cache(maxsize=4096)
def words(phrase: str) -> tuple[str, ...]:
    """The folded words of a phrase, without a leading article (unless it is all there is)."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", phrase).casefold())
    folded = _HYPHEN.sub(" ", _APOSTROPHE.sub("", folded))
    found = tuple(w for w in (token.lstrip(_OPENING).rstrip(_CLOSING) for token in folded.split()) if w)
    return found[1:] if len(found) > 1 and found[0] in _ARTICLES else found


def same_word(a: str, b: str) -> bool:
    """Equal, or one the plain English plural of the other. Words with figures in them must be equal."""
    return a == b or _is_plural(a, b) or _is_plural(b, a)


def _is_plural(plural: str, singular: str) -> bool:
    if len(singular) < 3 or not (singular.isalpha() and plural.isalpha()) or plural in _NO_PLURALS:
        return False
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return plural == singular[:-1] + "ies"
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return plural == singular + "es"
    return plural == singular + "s" or (singular.endswith("o") and plural == singular + "es")
