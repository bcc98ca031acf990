"""One tool asked for twice: "track M302 and also M305", "both bills"; the words are divided at what differs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pytest_voicebench.agents.local.understanding.choices import find_choices, settled_choices
from pytest_voicebench.agents.local.understanding.intents import Request, chunks
from pytest_voicebench.agents.local.understanding.kinds import is_bounding, is_free_search, kind_of, role_of
from pytest_voicebench.agents.local.understanding.mentions import Mention, taken_back
from pytest_voicebench.agents.local.understanding.sought import things_sought
from pytest_voicebench.agents.local.understanding.turn import Turn
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token
from pytest_voicebench.tools import Parameter

_AGAIN = word_set("also both another same second other plus too then again")
_JOINS = _AGAIN | word_set("and")
_SURE = frozenset(("identifier", "enum", "money"))  # kinds of which a mere "and" adds one
_CLOSE = 12


def split_repeats(turn: Turn, request: Request) -> list[Request]:
    """The request once for each value that was added to another of the same parameter; mostly just itself."""
    anchors = max((_added(turn, request, p) for p in request.tool.parameters.values() if p.required), key=len)
    if len(anchors) < 2:
        return [request]
    cuts = [_cut(turn.tokens, one.end, other.start) for one, other in itertools.pairwise(anchors)]
    bounds = [0, *cuts, len(turn.tokens)]
    parts = []
    for start, end in itertools.pairwise(bounds):
        stretches = [(max(a, start), min(b, end)) for a, b in request.stretches if a < end and b > start]
        parts.append(Request(tool=request.tool, stretches=stretches))
    return parts


def _added(turn: Turn, request: Request, parameter: Parameter) -> list[Mention]:
    kind = kind_of(parameter)
    kept: list[Mention] = []
    for mention in _candidates(turn, request, parameter):
        if not kept:
            kept.append(mention)
        elif mention.value == kept[-1].value and mention.unit == kept[-1].unit:
            continue
        elif _joined(turn.tokens, kept[-1], mention, kind in _SURE):
            kept.append(mention)
        else:
            kept[-1] = mention
    return kept


def _candidates(turn: Turn, request: Request, parameter: Parameter) -> list[Mention]:
    kind = kind_of(parameter)
    if kind in ("identifier", "date"):
        return turn.of_kind(kind, request)
    if kind == "enum":
        if "value" in request.tool.parameters:
            return []
        found = [m for m in find_choices(turn.tokens, parameter) if request.covers(m.start)]
        return settled_choices(turn.tokens, found, True)
    if kind == "money" and not is_bounding(parameter):
        return [n for n in turn.of_kind("number", request) if n.unit.isupper()]
    if kind == "place" and role_of(parameter) != "source":
        cues = ("to",) if role_of(parameter) == "goal" else ("in", "to", "for")
        return [p for p in turn.of_kind("phrase", request) if p.bound and p.cue in cues]
    if is_free_search(parameter):
        return things_sought(turn, request, parameter)
    return []


def _joined(tokens: Sequence[Token], one: Mention, other: Mention, sure: bool) -> bool:
    between = {t.low for t in tokens[one.end : other.start]}
    if taken_back(tokens, one.end, other.start):
        return False
    close = other.start - one.end <= _CLOSE
    return bool(between & _AGAIN) or (bool(between & _JOINS) and (sure or close))


def _cut(tokens: Sequence[Token], start: int, end: int) -> int:
    """Where the second one begins: at a joining word between them, else at the last piece before it."""
    begins = [a for a, _ in chunks(tokens) if start <= a <= end]
    return next((a for a in begins if tokens[a].low in _JOINS), begins[-1] if begins else end)
