"""Which of a parameter's declared values were said: "the water bill" is `water`, "by bus" is `transit`."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pytest_voicebench.agents.local.understanding.kinds import head_words, name_words
from pytest_voicebench.agents.local.understanding.lexicon import (
    PRICE_WORDS,
    SAID_FOR,
    STOPS,
    concepts,
)
from pytest_voicebench.agents.local.understanding.mentions import Mention, negated, taken_back
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Parameter

LIMITS = word_set("max min maximum minimum most least number count num")
_LOOSE = LIMITS | word_set("allowed is has with only type kind")
_BY = word_set("by on via using through")
_OUT_OF = word_set("from of out off with using through")
_NEAR = 6  # tokens within which a correction or a second value follows

_Ways = dict[tuple[str, ...], object]


def find_choices(tokens: Sequence[Token], parameter: Parameter) -> list[Mention]:
    """All values said, in order, longest first; `bound` says that the parameter's own noun or preposition is beside."""
    ways = _ways(tuple(parameter.enum))
    stems = [_plain(t.low) for t in tokens]
    heads = {c for w in head_words(parameter) for c in concepts(w)}
    typed = "type" in name_words(parameter)
    found: list[Mention] = []
    i = 0
    while i < len(tokens):
        width = next((n for n in (3, 2, 1) if tuple(stems[i : i + n]) in ways and len(stems) >= i + n), 0)
        if width:
            end = i + width
            value = ways[tuple(stems[i:end])]
            cue = _cue(tokens, i)
            bound = (
                width > 1
                or _beside(tokens, i, end, heads)
                or cue in _cues_of(parameter)
                or (typed and _alone(tokens, i, end))
            )
            found.append(Mention(kind="enum", value=value, start=i, end=end, cue=cue, bound=bound))
        i += width or 1
    return found


def settled_choices(tokens: Sequence[Token], found: Sequence[Mention], several: bool) -> list[Mention]:
    """What is meant in the end: named ones before bare ones, those that correct or add to one, the last otherwise."""
    meant = [m for m in found if not negated(tokens, m.start)]
    kept: list[Mention] = []
    for mention in meant:
        before = next((k for k in reversed(kept) if mention.start - k.end <= _NEAR * 2), None)
        corrects = before is not None and taken_back(tokens, before.end, mention.start)
        if corrects or mention.bound or not any(m.bound for m in meant) or (before and _adds(tokens, before, mention)):
            if corrects:
                kept.pop()
            kept.append(mention)
    distinct = [m for n, m in enumerate(kept) if m.value not in [k.value for k in kept[:n]]]
    return distinct if several else kept[-1:]


def _adds(tokens: Sequence[Token], before: Mention, after: Mention) -> bool:
    return after.start - before.end <= _NEAR and any(t.low in ("and", "or") for t in tokens[before.end : after.start])


def _cues_of(parameter: Parameter) -> frozenset[str]:
    if {"source", "origin"} & set(name_words(parameter)):
        return _OUT_OF
    return _BY if "mode" in name_words(parameter) else frozenset()


def _cue(tokens: Sequence[Token], start: int) -> str:
    i = start - 1
    while i >= 0 and tokens[i].low in ("the", "a", "my", "our", "that", "your"):
        i -= 1
    return tokens[i].low if i >= 0 else ""


def _alone(tokens: Sequence[Token], start: int, end: int) -> bool:
    """A noun of its own: "the internet, that should ...", not "the gas station"."""
    after = tokens[end] if end < len(tokens) else None
    article = start > 0 and tokens[start - 1].low in ("the", "my", "our")
    return article and (after is None or after.is_punctuation or after.low in STOPS)


def _beside(tokens: Sequence[Token], start: int, end: int, heads: set[str]) -> bool:
    """The noun itself, or the noun within three words after the value: "gold credit card", "cards: gold"."""
    for token in tokens[end : end + 3]:
        if not token.is_word or token.low in ("and", "or", "to", "from", "into", "in"):
            break
        if heads & set(concepts(token.low)):
            return True
    return bool(heads & {c for t in tokens[start:end] for c in concepts(t.low)}) and end - start > 1


def _plain(word: str) -> str:
    """The singular, so that "savings" is "saving"; verbs keep their endings: to check is no checking account."""
    word = word.removesuffix("'s")
    return word[:-1] if word.endswith("s") and len(word) > 3 and not word.endswith("ss") else word


@functools.cache
def _ways(values: tuple[object, ...]) -> _Ways:
    """Stems of what one may say for each value; what could mean two values means none."""
    ways: dict[tuple[str, ...], set[object]] = {}
    for value in values:
        for way in _said_for(str(value)):
            ways.setdefault(tuple(_plain(w) for w in way), set()).add(value)
    return {way: next(iter(meant)) for way, meant in ways.items() if len(meant) == 1}


def _said_for(value: str) -> list[tuple[str, ...]]:
    words = value.lower().replace("-", "_").replace(" ", "_").split("_")
    core = tuple(w for w in words if w not in _LOOSE) or tuple(words)
    ways = [tuple(words), core, ("".join(core),)]
    head = core[-1]
    if head not in STOPS and head not in ("card", "bill", "account", "back"):
        ways.append((head,))
        ways += [tuple(other.split("-")) for other in SAID_FOR.get(stem(head), ())]
        if head == "price":
            ways += [(w,) for w in PRICE_WORDS]
    return ways
