"""How plainly words ask for the thing that follows them."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.agents.local.understanding.wording import words_of
from pytest_voicebench.agents.local.understanding.words import Token, stem

_SEEKING = frozenset(stem(w) for w in words_of("search look hunt shop browse find show seek sell carry recommend"))
_WISHING = frozenset(stem(w) for w in words_of("need want get like buy after have order"))
_DENIED = frozenset(("don't", "not", "didn't", "never", "won't", "doesn't"))
_FAR = 7
_PLAIN, _WISH = 3, 2


def seeking_before(tokens: Sequence[Token], start: int) -> int:
    """3 after "search for" or "do you have", 2 after "I need", 1 after an article alone, else 0; in one clause."""
    i = start - 1
    wished = 0
    while i >= 0 and start - i <= _FAR and not tokens[i].ends_sentence:
        low, base = tokens[i].low, stem(tokens[i].low)
        if low in ("because", "so", "and", "but", "that", "when", "since", "he", "she", "they") and not wished:
            break
        if low in _DENIED:
            return 0
        if base in _SEEKING or (low == "have" and "you" in {t.low for t in tokens[max(0, i - 2) : i + 3]}):
            return _PLAIN
        if base in _WISHING and low not in ("had", "got", "gets"):
            wished = _WISH
        i -= 1
    if wished:
        return wished
    return int(bool(start) and tokens[start - 1].low in ("a", "an", "some", "any", "another"))
