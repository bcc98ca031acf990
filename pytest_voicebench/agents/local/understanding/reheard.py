"""Declared words where the recogniser wrote others that sound alike: "cash back cart", "joy to count"."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.agents.local.understanding.kinds import name_words
from pytest_voicebench.agents.local.understanding.lexicon import STOPS
from pytest_voicebench.agents.local.understanding.sounds import likeness, sound_of
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token
from pytest_voicebench.tools import Tool

_NO_NOUNS = word_set("type kind name value source mode filter doc")
_NOUN_LIKE, _PHRASE_LIKE = 0.6, 0.8
_LEAST_SOUNDS = 5  # of a phrase: shorter ones are like too much


def rehear(tokens: Sequence[Token], tools: Sequence[Tool]) -> list[Token]:
    """The tokens with declared values and their nouns put back, and words joined that a tool's name joins."""
    heard = _joined(tokens, {w for tool in tools for w in tool.name.split("_")})
    for values, noun in _nouns(tools):
        heard = _nouns_put_back(heard, values, noun)
        for value in values:
            heard = _phrase_put_back(heard, [*value, noun])
    return heard


def _nouns(tools: Sequence[Tool]) -> list[tuple[list[list[str]], str]]:
    """Declared values, each as its words, with the noun that one says after them: gold, platinum ... card."""
    found = []
    for tool in tools:
        for parameter in tool.parameters.values():
            nouns = [w for w in name_words(parameter) if w not in _NO_NOUNS]
            if parameter.enum and len(nouns) == 1:
                found.append(([str(v).lower().split("_") for v in parameter.enum], nouns[0]))
    return found


def _joined(tokens: Sequence[Token], names: set[str]) -> list[Token]:
    joined: list[Token] = []
    for token in tokens:
        whole = joined[-1].low + token.low if joined else ""
        if whole in names and joined[-1].is_word and token.is_word:
            joined[-1] = Token(text=whole, low=whole, glued=joined[-1].glued)
        else:
            joined.append(token)
    return joined


def _nouns_put_back(tokens: Sequence[Token], values: Sequence[Sequence[str]], noun: str) -> list[Token]:
    heard = list(tokens)
    for i in range(1, len(heard)):
        low = heard[i].low
        if low == noun or low in STOPS or abs(len(low) - len(noun)) > 1 or likeness(low, noun) < _NOUN_LIKE:
            continue
        if any([t.low for t in heard[max(0, i - len(v)) : i]] == list(v) for v in values):
            heard[i] = Token(text=noun, low=noun)
    return heard


def _phrase_put_back(tokens: Sequence[Token], words: Sequence[str]) -> list[Token]:
    phrase = "".join(words)
    if len(sound_of(phrase)) < _LEAST_SOUNDS or words[0] in [t.low for t in tokens]:
        return list(tokens)
    for i in range(len(tokens)):
        for width in (2, 3, 4):
            piece = tokens[i : i + width]
            text = "".join(t.low for t in piece)
            if len(piece) == width and all(t.is_word for t in piece) and text[0] == phrase[0]:
                ends = piece[-1].low[-1] == words[-1][-1] and abs(len(text) - len(phrase)) <= 3
                if ends and likeness(text, phrase) >= _PHRASE_LIKE:
                    return [*tokens[:i], *(Token(text=w, low=w) for w in words), *tokens[i + width :]]
    return list(tokens)
