"""How plainly words ask for the thing that follows them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_voicebench.agents.local.understanding.wording import words_of
from pytest_voicebench.agents.local.understanding.words import Token, stem

_SEEKING = frozenset(stem(w) for w in words_of("search look hunt shop browse find show seek sell carry recommend"))
_WISHING = frozenset(words_of("need needs want wants get like buy buying after see thinking"))
_DENIED = frozenset(("don't", "not", "didn't", "never", "won't", "doesn't"))
_BREAKS = frozenset(("because", "so", "and", "but", "that", "when", "since", "he", "she", "they"))
_FAR = 10
PLAIN, _WISH = 3, 2


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Seeking:
    """How plainly a thing is asked for: 3 after "search for", 2 after "I need", 1 after an article; by which token."""

    plain: int = 0
    verb: int = -1


def seeking_before(tokens: Sequence[Token], start: int) -> Seeking:
    """What asks for the thing at `start`, within its clause."""
    if _offered(tokens, start):
        return Seeking(plain=PLAIN, verb=start)
    wished = Seeking()
    for i in range(start - 1, max(-1, start - 1 - _FAR), -1):
        low, base = tokens[i].low, stem(tokens[i].low)
        if tokens[i].ends_sentence or low in _DENIED:
            return wished if tokens[i].ends_sentence else Seeking()
        if low in _BREAKS and not wished.plain:
            break
        asks = (
            low == "have" and tokens[i - 1].low == "you" and tokens[max(0, i - 2)].low in ("do", "what", "which", "if")
        )
        if (base in _SEEKING and not _is_interjection(tokens, i)) or asks:
            return Seeking(plain=PLAIN, verb=i)
        if low in _WISHING and not wished.plain:
            wished = Seeking(plain=_WISH, verb=i)
    if wished.plain:
        return wished
    return Seeking(plain=int(bool(start) and tokens[start - 1].low in ("a", "an", "some", "any", "another")))


def _is_interjection(tokens: Sequence[Token], i: int) -> bool:
    """Verbs that ask for no thing: "look, ...", "look at", "find out"."""
    low, after = stem(tokens[i].low), tokens[i + 1].low if i + 1 < len(tokens) else ""
    named = (
        low == "search" and i > 0 and tokens[i - 1].low in ("my", "the", "that", "our", "saved", "safe", "apartment")
    )
    return named or (low == "look" and after in (",", "at", "forward", "like")) or (low == "find" and after == "out")


def _offered(tokens: Sequence[Token], start: int) -> bool:
    """Asked for from behind: "what sort of doorbells do you carry?"."""
    words = [t.low for t in tokens[start : start + 8]]
    asked = {"what", "which", "sort", "kind", "any"} & {t.low for t in tokens[max(0, start - 5) : start]}
    return bool(asked) and any(
        a == "you" and b in ("sell", "carry", "have", "stock", "offer") for a, b in itertools.pairwise(words)
    )
