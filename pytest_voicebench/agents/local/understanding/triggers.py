"""What words speak for which tool: names and descriptions against what was said."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from pytest_voicebench.agents.local.understanding.lexicon import SAID_FOR, STOPS, concepts
from pytest_voicebench.agents.local.understanding.wording import word_set, words_of
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Tool

_MISHEARD, _MISHEARD_DEED = 0.3, 0.5  # the second where it stands as a verb: "boot the first one"
_NAME, _PARAMETER, _DESCRIPTION, _VALUE = 1.0, 0.4, 0.45, 0.4
EMPTY = word_set("""
    type name value number for a an of the on to where that from from_ with one file kind id is
    """)
_DULL = word_set("way place one another long takes part what in is shop seat money long")  # of descriptions
_DENIERS = word_set("don't not never haven't didn't won't without")
_CLUES = {
    "how long": "commute",
    "how far": "commute",
    "where is": "track",
    "where's": "track",
    "only": "filter",
    "travel time": "commute",
    "price limit": "filter",
    "settings": "filter",
    "how many minutes": "commute",
    "by itself": "autopay",
    "each month": "autopay",
    "every month": "autopay",
}

# Verbs that many tools share
DEEDS = {c for w in ("search", "update", "get", "calculate", "add") for c in concepts(w)}


class Triggers:
    """What words and values speak for which tool; words that few tools share speak louder."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tuple(tools)
        self._weights = {tool.name: _weights(tool) for tool in tools}
        spread = Counter(c for weights in self._weights.values() for c in weights)
        self._rarity = {c: math.log(1 + len(tools) / n) for c, n in spread.items()}
        self._words = {w: c for tool in tools for w in tool.name.split("_") for c in concepts(w)[:1] if len(w) > 3}

    def said(self, tokens: Sequence[Token]) -> dict[str, float]:
        """The concepts in a stretch of speech, with how surely each was said."""
        said: dict[str, float] = {}
        for i, token in enumerate(tokens):
            if _denied(tokens, i):
                continue
            if token.is_word and (token.low not in EMPTY or _is_id_document(tokens, i)) and not _orders(tokens, i):
                said |= dict.fromkeys(concepts("filter" if _is_saved_search(tokens, i) else token.low), 1.0)
                led = i + 1 < len(tokens) and tokens[i + 1].low in ("the", "it", "that", "one", "them")
                for concept in self._sounding_like(token.low):
                    said.setdefault(concept, _MISHEARD_DEED if led else _MISHEARD)
        text = " ".join(t.low for t in tokens)
        for phrase, word in _CLUES.items():
            if f" {phrase} " in f" {text} ":
                said |= dict.fromkeys(concepts(word), 1.0)
        return said

    def score(self, tool: Tool, said: Mapping[str, float]) -> tuple[float, float]:
        """How strongly a tool's own words, and verbs that many tools share, speak for it."""
        weights = self._weights[tool.name]
        told = {c: weights[c] * self._rarity[c] * sure for c, sure in said.items() if c in weights}
        deeds = sum(told[c] for c in sorted(told) if c in DEEDS)
        return sum(told[c] for c in sorted(told) if c not in DEEDS), deeds

    def _sounding_like(self, low: str) -> list[str]:
        """Words of the tools' names that differ in one letter: the recogniser hears "card" for "cart"."""
        if low in STOPS or len(low) < 4:
            return []
        return [c for w, c in self._words.items() if len(w) == len(low) and w[0] == low[0] and _distance(w, low) == 1]


def _is_saved_search(tokens: Sequence[Token], i: int) -> bool:
    """The noun: "my saved search", not the verb."""
    return (
        tokens[i].low == "search" and i > 0 and tokens[i - 1].low in ("my", "our", "saved", "the", "that", "apartment")
    )


def _denied(tokens: Sequence[Token], i: int) -> bool:
    """Whether a deed is said not to be wanted: "don't book anything yet"."""
    before = tokens[max(0, i - 2) : i]
    return any(t.low in _DENIERS for t in before) and not any(t.is_punctuation for t in before)


def _is_id_document(tokens: Sequence[Token], i: int) -> bool:
    after = tokens[i + 1].low if i + 1 < len(tokens) else ""
    before = tokens[i - 1].low if i else ""
    return tokens[i].low == "id" and (
        before in ("national", "state", "photo") or after in ("card", "document", "papers")
    )


def _orders(tokens: Sequence[Token], i: int) -> bool:
    """Whether "order" is what one does, not what one has: "I want to order a phone case"."""
    if tokens[i].low != "order":
        return False
    after = tokens[i + 1].low if i + 1 < len(tokens) else ""
    return after in ("a", "an", "some", "another", "new")


def _distance(one: str, other: str) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def _weights(tool: Tool) -> dict[str, float]:
    weights: dict[str, float] = {}
    sources = [(tool.name.split("_"), _NAME), (tool.description.split(), _DESCRIPTION)]
    sources += [(p.name.split("_"), _PARAMETER) for p in tool.parameters.values()]
    for parameter in tool.parameters.values():
        for value in parameter.enum:
            sources.append((_enum_words(str(value)), _VALUE))
    for words, weight in sources:
        for word in words:
            word = "".join(c for c in word.lower() if c.isalpha())
            if (
                word
                and word not in EMPTY | (_DULL if weight == _DESCRIPTION else frozenset())
                and (word not in STOPS or stem(word) in _VERBAL)
            ):
                for concept in concepts(word):
                    weights[concept] = max(weight, weights.get(concept, 0))
    return weights


_VERBAL = frozenset(
    stem(w)
    for w in words_of("""
    search find look show book reserve track update change set add convert pay
    """)
)


def _enum_words(value: str) -> list[str]:
    words = value.split("_")
    return [*words, *(w for word in words for w in SAID_FOR.get(stem(word), ()) if "-" not in w)]
