"""Arguments that come from an earlier result: "book the cheapest one"."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.agents.local.understanding.lexicon import PRICE_GROUP, concepts
from pytest_voicebench.agents.local.understanding.numbers import ORDINALS
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token, stem

Json = Any

_LEAST = word_set("""
    cheapest lowest cheaper shortest fastest smallest earliest affordable least
    """)
_MOST = word_set("expensive highest best largest biggest top priciest rated")
_RATING = word_set("best top rated")
_ORDINALS = {word: n for word, n in ORDINALS.items() if n <= 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A value to be taken from a result: under a key like `name`, of the item that `pick` chooses.

    `pick` is a 0-based rank (-1 = the last), or `least` / `most` of a price, or `best` of a rating.
    """

    name: str
    pick: int | str = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A call that was made, and what it gave."""

    tool: str
    arguments: Mapping[str, Json]
    result: Json


def picked(tokens: Sequence[Token]) -> int | str:
    """Which item of a list the words choose; the first where they do not say."""
    for i, token in enumerate(tokens):
        follower = tokens[i + 1].low if i + 1 < len(tokens) else ""
        if token.low in _LEAST:
            return "least"
        if token.low in _RATING and token.low != "rated":
            return "best"
        if token.low in _MOST:
            return "best" if follower == "rated" else "most"
        if token.low == "last" and follower in ("one", "result", "option"):
            return -1
        if token.low in _ORDINALS and follower not in ("of", ",", ""):
            return _ORDINALS[token.low] - 1
    return 0


def resolve(reference: Reference, known: Sequence[Known]) -> Json:
    """The value, from the newest result that has it; None if none has."""
    for call in reversed(known):
        for items in _lists(call.result):
            key = _key(items[0], reference.name)
            if key is not None:
                return _chosen(items, reference.pick).get(key)
        for item in _dicts(call.result):
            key = _key(item, reference.name)
            if key is not None:
                return item[key]
    return None


def _chosen(items: Sequence[Mapping[str, Json]], pick: int | str) -> Mapping[str, Json]:
    if isinstance(pick, int):
        return items[pick] if -len(items) <= pick < len(items) else items[-1]
    if pick == "best":
        rating = next((k for k in items[0] if {"rating", "stars", "score"} & set(k.split("_"))), None)
        return max(items, key=lambda i: i[rating]) if rating is not None else items[0]
    key = next((k for k, v in items[0].items() if isinstance(v, int | float) and _is_price(k)), None)
    if key is None:
        return items[0]
    ranked = sorted(items, key=lambda i: i.get(key, math.inf))
    return ranked[0] if pick == "least" else ranked[-1]


def _is_price(key: str) -> bool:
    return any(f"#{PRICE_GROUP}" in concepts(w) for w in key.split("_"))


def _key(item: Mapping[str, Json], name: str) -> str | None:
    """The result's key for a parameter: the same name, the same last word, or both a price."""
    if name in item:
        return name
    words = {stem(w) for w in name.split("_")}
    for key in item:
        if {stem(w) for w in key.split("_")} <= words and key not in ("id", "name", "type"):
            return key
    if _is_price(name):
        return next((k for k, v in item.items() if isinstance(v, int | float) and _is_price(k)), None)
    return None


def _lists(value: Json) -> Iterator[list[dict[str, Json]]]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _lists(inner)
    elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
        yield value


def _dicts(value: Json) -> Iterator[dict[str, Json]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _dicts(inner)
