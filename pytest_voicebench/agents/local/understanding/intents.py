"""Which tools a turn asks for, and which stretch of it belongs to each request."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_voicebench.agents.local.understanding.kinds import is_free_search, kind_of
from pytest_voicebench.agents.local.understanding.lexicon import ENUM_SYNONYMS, SEARCH_GROUP, STOPS, concepts
from pytest_voicebench.agents.local.understanding.mentions import Mention, marker_at
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Tool

THRESHOLD = 1.0
"""Least score at which a stretch of speech starts a request."""

MARGIN = 0.6
"""How much better another tool must fit a stretch than the one being talked about."""

_LEAST_SAID = 0.6  # without the verbs that many tools share
_NAME, _PARAMETER, _DESCRIPTION, _VALUE = 1.0, 0.5, 0.45, 0.4
_KINDS = {"currency": 0.9, "date": 0.5, "identifier": 0.25, "address": 0.6}
_ASKING = frozenset("need want find search look show get looking searching have any sell recommend".split())
_EMPTY = frozenset("type name value number for a an of the on to where that from from_ with one file kind id is".split())
_SPLITTERS = frozenset("and then also plus but so".split())
_CLUES = {"how long": "commute", "how far": "commute", "where is": "track", "where's": "track", "only": "filter"}


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
    """What words speak for which tool; rare words across the tools speak louder."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tuple(tools)
        self._weights = {tool.name: _weights(tool) for tool in tools}
        spread = Counter(c for weights in self._weights.values() for c in weights)
        self._rarity = {c: math.log(1 + len(tools) / n) for c, n in spread.items()}
        kinds = Counter(k for tool in tools for k in {kind_of(p) for p in tool.parameters.values()})
        self._kinds = {k: math.log(1 + len(tools) / n) for k, n in kinds.items()}

    def scores(self, tokens: Sequence[Token], mentions: Sequence[Mention]) -> Mapping[str, float]:
        """A score for each tool by name; `mentions` are those of the same stretch."""
        said = {c for t in tokens if t.is_word and t.low not in _EMPTY for c in concepts(t.low)}
        said |= {c for phrase, word in _CLUES.items() if phrase in " ".join(t.low for t in tokens) for c in concepts(word)}
        asking = any(t.low in _ASKING for t in tokens) and any(m.kind == "phrase" for m in mentions)
        return {tool.name: self._score(tool, said, mentions, asking) for tool in self._tools}

    def _score(self, tool: Tool, said: set[str], mentions: Sequence[Mention], asking: bool) -> float:
        weights = self._weights[tool.name]
        deeds = sum(weights[c] * self._rarity[c] for c in sorted(said & _DEEDS) if c in weights)
        score = sum(weights[c] * self._rarity[c] for c in sorted(said - _DEEDS) if c in weights)
        kinds = {kind_of(p) for p in tool.parameters.values()}
        told = {m.kind for m in mentions if not (m.kind == "currency" and m.bound)}
        score += sum(_KINDS[kind] * self._kinds[kind] for kind in sorted(told & kinds & set(_KINDS)))
        if asking and any(is_free_search(p) for p in tool.parameters.values()):
            score += 1.05
        return score + deeds if score >= _LEAST_SAID else 0.0


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


_VERBAL = frozenset(stem(w) for w in "search find look show book reserve track update change set add put convert pay".split())


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
    return [(a, b) for a, b in zip(cuts, cuts[1:], strict=False) if b > a]


def find_requests(tokens: Sequence[Token], mentions: Sequence[Mention], tools: Sequence[Tool]) -> list[Request]:
    """The requests of a turn in order. Speech before the first belongs to it."""
    triggers = Triggers(tools)
    by_name = {tool.name: tool for tool in tools}
    requests: list[Request] = []
    opening: list[tuple[int, int]] = []
    for start, end in chunks(tokens):
        since = opening[0][0] if opening else start
        scores = triggers.scores(tokens[since:end], [m for m in mentions if since <= m.start < end])
        best = max(scores, key=lambda name: scores[name])
        current = requests[-1] if requests else None
        if scores[best] >= THRESHOLD and (
            current is None or (best != current.tool.name and scores[best] - scores[current.tool.name] >= MARGIN)
        ):
            requests.append(Request(tool=by_name[best], stretches=[*opening, (start, end)]))
            opening = []
        elif current is not None:
            current.stretches.append((start, end))
        else:
            opening.append((start, end))
    return requests or _whole(tokens, mentions, triggers, by_name)


def _whole(
    tokens: Sequence[Token], mentions: Sequence[Mention], triggers: Triggers, by_name: Mapping[str, Tool]
) -> list[Request]:
    scores = triggers.scores(tokens, mentions)
    best = max(scores, key=lambda name: scores[name], default=None)
    if best is None or scores[best] < THRESHOLD / 2:
        return []
    return [Request(tool=by_name[best], stretches=[(0, len(tokens))])]


def searches(tool: Tool) -> bool:
    """Whether a tool's name says that it finds things."""
    return any(f"#{SEARCH_GROUP}" in concepts(w) for w in tool.name.split("_"))
