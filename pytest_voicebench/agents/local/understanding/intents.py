"""Which tools a turn asks for, and which stretch of it belongs to each request."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_voicebench.agents.local.understanding.choices import find_choices
from pytest_voicebench.agents.local.understanding.kinds import is_free_search, kind_of
from pytest_voicebench.agents.local.understanding.lexicon import (
    SEARCH_GROUP,
    concepts,
)
from pytest_voicebench.agents.local.understanding.mentions import Mention, marker_at
from pytest_voicebench.agents.local.understanding.seeking import seeking_before
from pytest_voicebench.agents.local.understanding.triggers import DEEDS, EMPTY, Triggers
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token
from pytest_voicebench.tools import Tool

THRESHOLD = 1.0
"""Least score at which a stretch of speech starts a request."""

SWITCH = 1.2
"""What each request must be worth beyond what it says: speech is not divided without need."""

_MISSING, _STRANGE = 0.3, 0.9
_WORSE = 1.5  # a tool that fits a stretch so much worse than another is not meant
_ASKING_WORTH = 0.15
_NAMED_VALUE, _VALUE = 0.5, 0.15
_SOUGHT, _WISHED, _WISHED_LIMITED = 1.6, 0.5, 1.3
_NO_THINGS = word_set("""
    thing things time way bit lot something anything present gift idea help question questions option options result
    results seat seats name number places information details cash money today tomorrow available
    """)
_TAKEN_BACK = 1.2  # what follows "no, sorry" is rarely a new request
_EVIDENCE = {
    "currency": 1.5,
    "date": 1.0,
    "identifier": 0.5,
    "address": 0.8,
    "counted": 0.8,
    "place": 0.2,
    "person": 0.2,
    "named": 0.6,
    "picked": 0.4,
    "money": 0.15,
    "count": 0.1,
}

_LEAST_SAID = 0.6  # without the verbs that many tools share
_ASKING = word_set("""
    need want find search look show get looking searching have any sell recommend thinking after buy interested like
    got order carry
    """)
_NAMING = word_set("for under name is named passenger as it's")
_PICKS = word_set("cheapest it them")
_SPLITTERS = word_set("and then also plus but so")


@dataclass(slots=True, kw_only=True)
class Request:
    """One thing asked for: a tool and the stretches [start, end) of tokens that talk about it."""

    tool: Tool
    stretches: list[tuple[int, int]] = field(default_factory=list)

    def covers(self, i: int) -> bool:
        """Whether token i talks about this request."""
        return any(start <= i < end for start, end in self.stretches)


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
    declared = {w for t in triggers.tools for p in t.parameters.values() for v in p.enum for w in str(v).split("_")}
    chosen = {t.name: _choices(tokens, t) for t in triggers.tools}
    for start in range(len(cuts)):
        for end in range(start + 1, len(cuts) + 1):
            first, last = cuts[start][0], cuts[end - 1][1]
            said = triggers.said(tokens[first:last])
            inside = [m for m in mentions if first <= m.start < last]
            values = {name: _value_worth(found, first, last) for name, found in chosen.items()}
            found = {
                t.name: _worth(
                    t,
                    triggers.score(t, said),
                    values[t.name],
                    inside,
                    tokens,
                    tokens[first:last],
                    elsewhere,
                    declared,
                    start > 0,
                )
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
    values: float,
    mentions: Sequence[Mention],
    tokens: Sequence[Token],
    stretch: Sequence[Token],
    elsewhere: set[str],
    declared: set[str],
    later: bool,
) -> float | None:
    """What it is worth to read a stretch as a request of a tool; None where too little speaks for it."""
    own, deeds = words
    own += values
    asked = (
        _asked_for(tokens, mentions, elsewhere, declared)
        if any(is_free_search(p) for p in tool.parameters.values())
        else 0.0
    )
    if asked:
        own += asked
    kinds = _kinds_said(tool, mentions)
    accepted = {kind_of(p) for p in tool.parameters.values()} | ({"address"} if _takes_address(tool) else set())
    if "person" in accepted and _names_someone(mentions):
        kinds.add("named")
    if "identifier" in accepted and later and _points(stretch):
        kinds.add("picked")
    evidence = sum(_EVIDENCE[k] for k in sorted(kinds & (accepted | {"counted", "named", "picked"}) & set(_EVIDENCE)))
    if own + evidence < _LEAST_SAID or own + evidence + deeds < THRESHOLD:
        return None
    if searches(tool) and any(t.low in _ASKING for t in stretch):
        deeds += _ASKING_WORTH
    required = [kind_of(p) for p in tool.parameters.values() if p.required]
    missing = sum(k not in kinds and not (k == "identifier" and later) for k in required)
    strange = len({"date", "identifier", "currency", "address"} & kinds - accepted)
    return own + deeds + evidence - _MISSING * missing - _STRANGE * strange - SWITCH


def _points(stretch: Sequence[Token]) -> bool:
    """Whether words pick something that was found before: "the first one", "it", "the cheapest seat"."""
    words = [t.low for t in stretch]
    picks = ("first", "second", "third", "last", "that", "top")
    ranked = any(a in picks and b in ("one", "result", "option", "flight") for a, b in itertools.pairwise(words))
    return ranked or bool(_PICKS & set(words))


def _choices(tokens: Sequence[Token], tool: Tool) -> list[list[Mention]]:
    """What was said of each required parameter that takes one of several values."""
    return [find_choices(tokens, p) for p in tool.parameters.values() if p.required and p.enum]


def _value_worth(choices: Sequence[Sequence[Mention]], first: int, last: int) -> float:
    """What declared values in a stretch say for their tool: much with the parameter's own noun beside them."""
    worth = 0.0
    for found in choices:
        inside = [m for m in found if first <= m.start < last]
        worth += (_NAMED_VALUE if any(m.bound for m in inside) else _VALUE) if inside else 0.0
    return worth


def _names_someone(mentions: Sequence[Mention]) -> bool:
    return any(
        m.kind == "phrase" and m.bound and m.cue in _NAMING and len(str(m.value).split()) > 1 and m.value[0].isalpha()
        for m in mentions
    )


def _corrects(tokens: Sequence[Token], first: int) -> bool:
    """Whether a stretch follows words that take something back."""
    return any(marker_at(tokens, i) for i in range(max(0, first - 3), min(first + 1, len(tokens))))


def _own_words(tool: Tool) -> set[str]:
    words = [
        *tool.name.split("_"),
        *(w for p in tool.parameters.values() if kind_of(p) in ("count", "text") for w in p.name.split("_")),
    ]
    return {c for w in words if w not in EMPTY for c in concepts(w)} - DEEDS


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


def _asked_for(tokens: Sequence[Token], mentions: Sequence[Mention], elsewhere: set[str], declared: set[str]) -> float:
    """How plainly a thing is asked for that no other tool is about: "do you have any hiking boots"."""
    about = elsewhere
    limited = any(m.kind == "number" and m.bound for m in mentions)
    most = 0.0
    for mention in mentions:
        words = str(mention.value).lower().split()
        if (
            mention.kind != "phrase"
            or mention.bound
            or not words[0][0].isalpha()
            or mention.cue in ("to", "from", "in", "on", "at")
            or words[-1] in _NO_THINGS
            or (not limited and any(about & set(concepts(w)) for w in words))
            or (not limited and words[-1] in declared)
            or any(DEEDS & set(concepts(w)) for w in words)
            or any(m.kind == "identifier" and 0 <= m.start - mention.end < 2 for m in mentions)
        ):
            continue
        plain = seeking_before(tokens, mention.start).plain
        most = max(most, _SOUGHT if plain == 3 else (_WISHED_LIMITED if limited else _WISHED) if plain == 2 else 0.0)
    return most


def searches(tool: Tool) -> bool:
    """Whether a tool's name says that it finds things."""
    return any(f"#{SEARCH_GROUP}" in concepts(w) for w in tool.name.split("_"))
