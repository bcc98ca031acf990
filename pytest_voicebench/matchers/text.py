"""`text`: free text such as search words; equal words in equal order, never similar ones."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

from pytest_voicebench.matchers.numerals import SCALES, TENS, UNITS, read_number
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

_OPENING = "\"'([{<“”‘’«¿¡"
_CLOSING = "\"')]}>,;:!?.“”‘’»"
_COUNTING = frozenset({*UNITS, *TENS, "hundred", *SCALES})
_ARTICLES = frozenset({"a", "an", "the"})
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑](?=[^\W\d_])")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=[sS]\b|(?!\w))")  # the owner's, not we'll
_NOT_PLURAL = """news has was this its his hers yes gas bus plus less does goes us is as glasses shorts pants goods
    customs means arms thanks series species"""
_NO_PLURALS = frozenset(_NOT_PLURAL.split())


def text(expected: Json, actual: Json, context: Context) -> Match:
    """Equal after folding case, accents' encoding, spaces, outer punctuation, a leading article and plural endings.

    Numbers in words are those in figures: `size nine` is `size 9`.
    A word that has a capital on both sides may be a name: whether `Brooks` is `Brook` is cannot_tell. Names of people
    are of the kind `person`.
    """
    wanted, given = as_text(expected), as_text(actual)
    if wanted is None or given is None:
        return reject(expected, actual, "not text")
    if wanted == given:
        return EQUAL
    if far_longer(wanted, given):
        return reject(expected, actual, "another length by far")
    spelled, other = _with_figures(wanted), _with_figures(given)
    if not (spelled and other):
        return reject(expected, actual, "no words")
    a, b = tuple(map(_fold, spelled)), tuple(map(_fold, other))
    if a == b:
        return accept("the same words")
    if words(wanted) == words(given):
        return cannot_tell(f"{quote(actual)} and {quote(expected)} differ by an apostrophe", "apostrophe")
    if len(a) != len(b) or not all(_same_word(x, y) for x, y in zip(a, b, strict=True)):
        return reject(expected, actual)
    capitals = zip(spelled, other, a, b, strict=True)
    names = [x for x, y, u, v in capitals if u != v and x[0].isupper() and y[0].isupper()]
    if names:
        why = f"whether {names[0]!r} is a name or a word with a plural cannot be told; a name is of the kind person"
        return cannot_tell(why, "plural_of_a_name")
    return accept("the same words")


def far_longer(a: str, b: str) -> bool:
    """Whether one text cannot be the other written differently, so that megabytes need not be read to say so."""
    shorter, longer = sorted((len(a), len(b)))
    return longer > 4 * shorter + 1000


@lru_cache(maxsize=4096)
def words(phrase: str) -> tuple[str, ...]:
    """The folded words of a phrase without apostrophes and a leading article (unless it is all there is)."""
    return tuple(_fold(word.replace("'", "")) for word in _spelled(phrase))


@lru_cache(maxsize=4096)
def _with_figures(phrase: str) -> tuple[str, ...]:
    """The words with their capitals; those that are one number together are its figures."""
    found: list[str] = []
    for counts, run in groupby(_spelled(phrase), lambda word: _fold(word) in _COUNTING):
        together = list(run)
        value = read_number(" ".join(together)) if counts else None
        found += together if value is None else [str(value)]
    return tuple(found)


def _spelled(phrase: str) -> tuple[str, ...]:
    """The words as they are written, with their capitals."""
    plain = _HYPHEN.sub(" ", _APOSTROPHE.sub("", unicodedata.normalize("NFC", phrase))).replace("\u2019", "'")
    found = tuple(w for w in (token.lstrip(_OPENING).rstrip(_CLOSING) for token in plain.split()) if w)
    return found[1:] if len(found) > 1 and _fold(found[0]) in _ARTICLES else found


def _fold(word: str) -> str:
    return unicodedata.normalize("NFC", word.casefold())


def _same_word(a: str, b: str) -> bool:
    """Equal, or one the plain English plural of the other. Words with figures in them must be equal."""
    return a == b or _is_plural(a, b) or _is_plural(b, a)


def _is_plural(plural: str, singular: str) -> bool:
    if len(singular) < 3 or not (singular.isalpha() and plural.isalpha()) or plural in _NO_PLURALS:
        return False
    if plural.endswith("ics"):  # economics, electronics: another word than economic
        return False
    if singular.endswith("y") and singular[-2] not in "aeiou":
        return plural == singular[:-1] + "ies"
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return plural == singular + "es"
    return plural == singular + "s" or (singular.endswith("o") and plural == singular + "es")


KIND = Kind(compare=text, words=True)
