"""Which tools a turn asks for, and which stretch of it belongs to each request."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_voicebench.agents.local.understanding.kinds import is_free_search, kind_of
from pytest_voicebench.agents.local.understanding.lexicon import (
    ENUM_SYNONYMS,
    SEARCH_GROUP,
    STOPS,
    concepts,
)
from pytest_voicebench.agents.local.understanding.mentions import Mention, marker_at
from pytest_voicebench.agents.local.understanding.wording import word_set, words_of
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Tool

THRESHOLD = 1.0
"""Least score at which a stretch of speech starts a request."""

SWITCH = 1.2
"""What each request must be worth beyond what it says: speech is not divided without need."""

_MISSING, _STRANGE = 0.3, 0.9
_ASKED = 1.05
_WORSE = 1.5  # a tool that fits a stretch so much worse than another is not meant
_WISHED = 0.15
_MISHEARD, _MISHEARD_DEED = 0.3, 0.5  # the second where it stands as a verb: "boot the first one"
_TAKEN_BACK = 1.2  # what follows "no, sorry" is rarely a new request
_EVIDENCE = {
    "currency": 1.5,
    "date": 1.0,
    "identifier": 0.5,
    "address": 0.8,
    "counted": 0.8,
    "place": 0.2,
    "person": 0.2,
    "money": 0.15,
    "count": 0.1,
}

_LEAST_SAID = 0.6  # without the verbs that many tools share
_NAME, _PARAMETER, _DESCRIPTION, _VALUE = 1.0, 0.4, 0.45, 0.4
_ASKING = word_set("""
    need want find search look show get looking searching have any sell recommend thinking after buy interested like
    got order carry
    """)
_EMPTY = word_set("""
    type name value number for a an of the on to where that from from_ with one file kind id is
    """)
_HAVING = word_set("got get have")  # do not ask for what follows at once: "I got married"
_SPLITTERS = word_set("and then also plus but so")
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


@dataclass(slots=True, kw_only=True)
class Request:
    """One thing asked for: a tool and the stretches [start, end) of tokens that talk about it."""

    tool: Tool
    stretches: list[tuple[int, int]] = field(default_factory=list)

    def covers(self, i: int) -> bool:
        """Whether token i talks about this request."""
        return any(start <= i < end for start, end in self.stretches)


_DEEDS = {c for w in ("search", "update", "get", "calculate") for c in concepts(w)}


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
            if token.is_word and (token.low not in _EMPTY or _is_id_document(tokens, i)) and not _orders(tokens, i):
                said |= dict.fromkeys(concepts(token.low), 1.0)
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
        deeds = sum(told[c] for c in sorted(told) if c in _DEEDS)
        return sum(told[c] for c in sorted(told) if c not in _DEEDS), deeds

    def _sounding_like(self, low: str) -> list[str]:
        """Words of the tools' names that differ in one letter: the recogniser hears "card" for "cart"."""
        if low in STOPS or len(low) < 4:
            return []
        return [c for w, c in self._words.items() if len(w) == len(low) and w[0] == low[0] and _distance(w, low) == 1]


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
            if word and word not in _EMPTY and (word not in STOPS or stem(word) in _VERBAL):
                for concept in concepts(word):
                    weights[concept] = max(weight, weights.get(concept, 0))
    return weights


_VERBAL = frozenset(
    stem(w)
    for w in words_of("""
    search find look show book reserve track update change set add put convert pay
    """)
)


def _enum_words(value: str) -> list[str]:
    for line in ENUM_SYNONYMS:
        if value in line.split():
            return line.split()
    return [value]


def chunks(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """The turn cut at punctuation, at joining words, and where something is taken back."""
    cuts = [0]
    for i, token in enumerate(tokens):
        if token.is_punctuation and not token.glued:
            cuts.append(i + 1)
        elif token.low in _SPLITTERS or marker_at(tokens, i):
            cuts.append(i)
    cuts = sorted({*cuts, len(tokens)})
    return [(a, b) for a, b in itertools.pairwise(cuts) if b > a]


def find_requests(tokens: Sequence[Token], mentions: Sequence[Mention], tools: Sequence[Tool]) -> list[Request]:
    """The requests of a turn in order: the division of its chunks among tools that fits words and values best."""
    cuts = chunks(tokens)
    worths = _worths(tokens, mentions, cuts, Triggers(tools))
    # best[end][tool] = worth of the best division of the chunks before `end` whose last request is of that tool
    best: list[dict[str, tuple[float, _Way]]] = [{"": (0.0, ())}]
    for end in range(1, len(cuts) + 1):
        options = dict(best[end - 1])
        for start in range(end):
            for name, worth in worths[start, end].items():
                for before, (total, way) in best[start].items():
                    if before != name and total + worth > options.get(name, (-math.inf, ()))[0]:
                        options[name] = (total + worth, (*way, (start, name)))
        best.append(options)
    _, way = max(best[-1].values(), key=lambda option: option[0])
    return _divided(way, cuts, {tool.name: tool for tool in tools})


_Way = tuple[tuple[int, str], ...]  # (first chunk, tool) of each request


def _divided(way: _Way, cuts: Sequence[tuple[int, int]], tools: Mapping[str, Tool]) -> list[Request]:
    starts = [cuts[first][0] for first, _ in way]
    if not starts:
        return []
    ends = [*starts[1:], cuts[-1][1]]
    starts[:1] = [0]
    return [Request(tool=tools[name], stretches=[(a, b)]) for (_, name), a, b in zip(way, starts, ends, strict=True)]


def _worths(
    tokens: Sequence[Token], mentions: Sequence[Mention], cuts: Sequence[tuple[int, int]], triggers: Triggers
) -> dict[tuple[int, int], dict[str, float]]:
    """For each run of chunks, the tools it may be a request of, with what that is worth."""
    worths: dict[tuple[int, int], dict[str, float]] = {}
    elsewhere = {
        c for t in triggers.tools for c in _own_words(t) if not any(is_free_search(p) for p in t.parameters.values())
    }
    for start in range(len(cuts)):
        for end in range(start + 1, len(cuts) + 1):
            first, last = cuts[start][0], cuts[end - 1][1]
            said = triggers.said(tokens[first:last])
            inside = [m for m in mentions if first <= m.start < last]
            found = {
                t.name: _worth(t, triggers.score(t, said), inside, tokens, tokens[first:last], elsewhere, start > 0)
                for t in triggers.tools
            }
            less = _TAKEN_BACK if start and _corrects(tokens, first) else 0.0
            fit = {name: worth - less for name, worth in found.items() if worth is not None}
            least = max(fit.values(), default=0.0) - _WORSE
            worths[start, end] = {name: worth for name, worth in fit.items() if worth >= least}
    return worths


def _worth(
    tool: Tool,
    words: tuple[float, float],
    mentions: Sequence[Mention],
    tokens: Sequence[Token],
    stretch: Sequence[Token],
    elsewhere: set[str],
    later: bool,
) -> float | None:
    """What it is worth to read a stretch as a request of a tool; None where too little speaks for it."""
    own, deeds = words
    if any(is_free_search(p) for p in tool.parameters.values()) and _asks_for_thing(tokens, mentions, elsewhere):
        own += _ASKED
    kinds = _kinds_said(tool, mentions)
    accepted = {kind_of(p) for p in tool.parameters.values()} | ({"address"} if _takes_address(tool) else set())
    evidence = sum(_EVIDENCE[k] for k in sorted(kinds & (accepted | {"counted"}) & set(_EVIDENCE)))
    if own + evidence < _LEAST_SAID or own + evidence + deeds < THRESHOLD:
        return None
    if searches(tool) and any(t.low in _ASKING for t in stretch):
        deeds += _WISHED
    required = [kind_of(p) for p in tool.parameters.values() if p.required]
    missing = sum(k not in kinds and not (k == "identifier" and later) for k in required)
    strange = len({"date", "identifier", "currency", "address"} & kinds - accepted)
    return own + deeds + evidence - _MISSING * missing - _STRANGE * strange - SWITCH


def _corrects(tokens: Sequence[Token], first: int) -> bool:
    """Whether a stretch follows words that take something back."""
    return any(marker_at(tokens, i) for i in range(max(0, first - 3), min(first + 1, len(tokens))))


def _own_words(tool: Tool) -> set[str]:
    words = [
        *tool.name.split("_"),
        *(w for p in tool.parameters.values() if kind_of(p) in ("count", "text") for w in p.name.split("_")),
    ]
    return {c for w in words if w not in _EMPTY for c in concepts(w)} - _DEEDS


def _takes_address(tool: Tool) -> bool:
    return any("address" in p.name for p in tool.parameters.values())


def _kinds_said(tool: Tool, mentions: Sequence[Mention]) -> set[str]:
    """The kinds of parameters that a stretch's mentions could fill."""
    kinds: set[str] = {m.kind for m in mentions if not (m.kind == "currency" and m.bound)} - {"number", "phrase"}
    units = {
        c for p in tool.parameters.values() if kind_of(p) == "count" for w in p.name.split("_") for c in concepts(w)
    }
    for mention in mentions:
        if mention.kind == "number":
            money = mention.bound or mention.unit.isupper() or mention.value >= 100
            kinds.add("money" if money else "count")
            if mention.unit and units & set(concepts(mention.unit)):
                kinds.add("counted")
        elif mention.kind == "phrase":
            placed = mention.cue in ("to", "from", "in")
            kinds |= {"text"} if not mention.bound else {"text", "place"} if placed else {"text", "place", "person"}
            if placed or str(mention.value)[0].isdigit():
                kinds.add("place")
    return kinds | ({"count"} if "counted" in kinds else set())


def _asks_for_thing(tokens: Sequence[Token], mentions: Sequence[Mention], elsewhere: set[str]) -> bool:
    """A wish, and close after it a thing that no other tool is about: "do you have any hiking boots"."""
    about = elsewhere | _DEEDS
    for mention in mentions:
        words = str(mention.value).split()
        numbered = any(m.kind == "identifier" and 0 <= m.start - mention.end < 2 for m in mentions)
        if (
            mention.kind == "phrase"
            and words[0][0].isalpha()
            and not numbered
            and not any(about & set(concepts(w)) for w in words)
        ):
            before = {t.low for t in tokens[max(0, mention.start - 6) : mention.start]}
            at_once = mention.start > 0 and tokens[mention.start - 1].low in _HAVING
            asked = before & (_ASKING - _HAVING if at_once else _ASKING)
            if asked and mention.cue not in ("to", "from", "in"):
                return True
    return False


def searches(tool: Tool) -> bool:
    """Whether a tool's name says that it finds things."""
    return any(f"#{SEARCH_GROUP}" in concepts(w) for w in tool.name.split("_"))
