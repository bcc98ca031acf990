"""Noun phrases in a transcript: places, names, things; with the word that leads into each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_voicebench.agents.local.understanding.dates import MONTHS
from pytest_voicebench.agents.local.understanding.lexicon import (
    CONJUNCTIONS,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    STOPS,
    VERBS,
)
from pytest_voicebench.agents.local.understanding.mentions import Mention, marker_at, negated, taken_back
from pytest_voicebench.agents.local.understanding.numbers import UNITS
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token

_STREETS = word_set("""
    street st avenue ave road rd drive lane boulevard blvd court place square plaza way terrace parkway highway
    crescent row close main broadway
    """)
_SOMETIMES_STREETS = word_set("place close main way row square")
_NEVER_INSIDE = PREPOSITIONS | CONJUNCTIONS | PRONOUNS
_ARTICLES = word_set("the a an my our your his her their another")
_SUBJECTS = word_set("i you we they he she who i'd i'll we'd we'll you'd to'")
_RANKS = word_set("one ones first second third last cheapest")


def find_phrases(tokens: Sequence[Token], taken: set[int]) -> list[Mention]:
    """All noun phrases outside `taken`, in order. `cue` is the preposition before one, `bound` says it is a name."""
    found: list[Mention] = []
    i = 0
    while i < len(tokens):
        end = _phrase_end(tokens, i, taken)
        if end > i:
            start = i
            while start < end - 1 and _is_determiner(tokens[start]):
                start += 1
            if not _is_determiner(tokens[start]):
                found.append(_phrase(tokens, start, end, i))
        i = max(end, i + 1)
    return _with_inherited_cues(tokens, found)


def is_address(tokens: Sequence[Token], i: int) -> bool:
    """Whether a number at token i starts an address: "14 Elm Street"."""
    following = tokens[i + 1 : i + 5]
    if not following or not (tokens[i].low[0].isdigit() or tokens[i].low in UNITS):
        return False
    if tokens[i].low in UNITS:
        return following[0].capital and len(following) > 1 and following[1].low in _STREETS
    if following[0].text in ("N", "S", "E", "W"):
        return True
    if not following[0].is_word or following[0].low in MONTHS:
        return False
    if following[0].capital and following[0].low not in STOPS and not following[0].text.isupper():
        street = any(t.low in _STREETS for t in following)
        return street or _leads_to_place(tokens, i)
    for token in following:
        if not token.is_word or token.low in _NEVER_INSIDE:
            return False
        if token.low in _STREETS - _SOMETIMES_STREETS:
            return True
    return False


def _leads_to_place(tokens: Sequence[Token], i: int) -> bool:
    return (
        bool(i) and tokens[i - 1].low in ("from", "at", "to") and not tokens[i].low.endswith(("th", "st", "nd", "rd"))
    )


def _phrase_end(tokens: Sequence[Token], start: int, taken: set[int]) -> int:
    i = start
    while i < len(tokens) and i not in taken and _belongs(tokens, start, i):
        i += 1
    while i > start and tokens[i - 1].low == "of":
        i -= 1
    return i


def _belongs(tokens: Sequence[Token], start: int, i: int) -> bool:
    token = tokens[i]
    if not token.is_word:
        return False
    if i == start and is_address(tokens, i):
        return True
    if i == start and i and tokens[i - 1].low in _SUBJECTS and not token.capital and not _is_determiner(token):
        return False  # a verb: "you sell", "I placed"
    if marker_at(tokens, i) and token.low != "better":
        return False
    if token.low in ("one", "ones") and i == start:
        return False
    if _is_determiner(token) and i > start and not _is_determiner(tokens[i - 1]):
        return False
    if token.low == "of" and i > start and i + 1 < len(tokens):
        after = tokens[i + 1]
        return (
            after.is_word
            and after.low not in STOPS | DETERMINERS
            and tokens[i - 1].low not in _RANKS
            and after.low.isalpha()
        )
    if token.low == "can" and i > start and (i + 1 == len(tokens) or tokens[i + 1].is_punctuation):
        return True
    if i and token.low in VERBS and tokens[i - 1].low in _ARTICLES:
        return True  # "the travel card", "a track suit"
    if token.low in STOPS:
        # "55 Wacker Drive", "Best Buy": a verb written as part of a name
        named = i > start and token.capital and tokens[i - 1].capital and token.low not in _NEVER_INSIDE
        if i > start + 1 and tokens[start].low[0].isdigit() and token.low in _STREETS:
            return True
        return named and token.text not in ("I", "I'm", "I'd", "I'll", "I've")
    return token.low[0].isalpha() or (i > start and tokens[start].low[0].isdigit())


def _is_determiner(token: Token) -> bool:
    return token.low in DETERMINERS and token.text != "New"  # York, Zealand


def _phrase(tokens: Sequence[Token], start: int, end: int, first: int) -> Mention:
    text = " ".join(_spoken(t) for t in tokens[start:end])
    names = [j for j in range(start, end) if tokens[j].capital and not tokens[j].text.isupper()]
    opening = start == 0 or tokens[start - 1].ends_sentence
    proper = bool(names) and (names != [start] or not opening or end - start == 1)
    return Mention(
        kind="phrase", value=text, start=start, end=end, cue=tokens[first - 1].low if first else "", bound=proper
    )


def _spoken(token: Token) -> str:
    if token.low in UNITS:
        return str(UNITS[token.low])
    return token.text[:-2] if token.text.endswith("'s") and token.low != token.text.lower() else token.text


def _with_inherited_cues(tokens: Sequence[Token], found: list[Mention]) -> list[Mention]:
    """A phrase right after a correction plays the part of the one before it: "to Rome, no, Milan"."""
    result: list[Mention] = []
    for phrase in found:
        before = result[-1] if result else None
        cued = phrase.cue in PREPOSITIONS
        corrects = before is not None and (
            taken_back(tokens, before.end, phrase.start) or negated(tokens, before.start)
        )
        if before and not cued and corrects and phrase.start - before.end <= 6 and before.cue in PREPOSITIONS:
            phrase = Mention(
                kind="phrase",
                value=phrase.value,
                start=phrase.start,
                end=phrase.end,
                cue=before.cue,
                bound=phrase.bound,
            )
        if before and before.cue == "between" and phrase.cue == "and":
            result[-1] = replace(before, cue="from")
            phrase = replace(phrase, cue="to")
        result.append(phrase)
    return result
