"""What the recogniser is told to expect: values that the tools declare, money where one takes a currency."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.agents.local.understanding.kinds import kind_of, name_words
from pytest_voicebench.tools import Tool

_MOST_CHARACTERS = 740  # the model reads at most 224 pieces of text before its own
_MONEY = "Japanese yen, Swedish kronor, Korean won, Czech crowns, Swiss francs, Mexican pesos, Indian rupees, pounds."
_MANNERS = "Um, uh, could you book the cheapest one? No, hang on, two of them, please."
_VAGUE = ("type", "name", "kind", "value")


def expected_words(prompt: str, tools: Sequence[Tool]) -> str:
    """The prompt with the words of the tools, as people would say them; cut at whole sentences to what fits."""
    sentences = [*_values(tools)]
    if any(kind_of(p) == "currency" for tool in tools for p in tool.parameters.values()):
        sentences.append(_MONEY)
    sentences.append(_MANNERS)
    text = prompt
    for sentence in dict.fromkeys(sentences):
        if len(text) + len(sentence) < _MOST_CHARACTERS or not text:
            text = f"{text} {sentence}".strip()
    return text


def _values(tools: Sequence[Tool]) -> list[str]:
    sentences = []
    for tool in tools:
        for parameter in tool.parameters.values():
            if parameter.enum:
                noun = next((w for w in reversed(name_words(parameter)) if w not in _VAGUE), "")
                values = ", ".join(_said(str(v)) for v in parameter.enum)
                sentences.append(f"{values[:1].upper()}{values[1:]} {noun}".strip() + ".")
    return sentences


def _said(value: str) -> str:
    words = value.replace("_", " ").split()
    return " ".join("driver's" if w == "drivers" else "ID" if w == "id" else w for w in words)
