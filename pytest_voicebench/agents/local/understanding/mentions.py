"""What a transcript mentions, by kind and place: the common data of all extractors, and taking things back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token

_TAKE_BACK = (
    "no",
    "nope",
    "sorry",
    "wait",
    "actually",
    "i mean",
    "i meant",
    "make that",
    "make it",
    "scratch that",
    "strike that",
    "forget that",
    "never mind",
    "rather",
    "hang on",
    "hold on",
    "correction",
    "my mistake",
    "my bad",
    "oops",
    "instead",
    "let me correct",
    "i should say",
    "apologies",
    "pardon",
    "change that",
    "excuse me",
    "not that",
    "should be",
    "let's say",
    "let's do",
    "better",
)
_MARKERS = tuple(tuple(phrase.split()) for phrase in _TAKE_BACK)
_JOINERS = word_set("and also plus then both another well")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A value said at tokens [start, end). `cue` is the word that leads into it (a preposition, a verb)."""

    kind: str
    value: Any
    start: int
    end: int
    cue: str = ""
    unit: str = ""
    bound: bool = False


def marker_at(tokens: Sequence[Token], i: int) -> int:
    """Width in tokens of a phrase at i that takes back what was said before; 0 if there is none."""
    for marker in _MARKERS:
        if tuple(t.low for t in tokens[i : i + len(marker)]) != marker:
            continue
        if marker == ("no",) and not _alone(tokens, i):
            continue
        return len(marker)
    return 0


def taken_back(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Whether something between tokens start and end takes back what was said before."""
    return any(marker_at(tokens, i) and i + marker_at(tokens, i) <= end for i in range(start, end))


def joined(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Whether a word between tokens start and end says that more is asked for."""
    return any(t.low in _JOINERS for t in tokens[start:end])


def negated(tokens: Sequence[Token], start: int) -> bool:
    """Whether the mention at `start` is said not to be meant: "not (the) checking", "off the savings", "instead of"."""
    i = start - 1
    while i >= 0 and tokens[i].low in ("the", "my", "a", "an", "our"):
        i -= 1
    near = tokens[i].low if i >= 0 else ""
    before = tokens[i - 1].low if i > 0 else ""
    if near in ("of", "than") and before in ("instead", "rather"):
        return True
    return near in ("not", "off", "without") or (near in ("from", "to", "in", "for") and before == "not")


def _alone(tokens: Sequence[Token], i: int) -> bool:
    """A "no" that stands for itself, not one that counts ("no more than")."""
    follower = tokens[i + 1].low if i + 1 < len(tokens) else "."
    return follower not in ("more", "less", "later", "higher", "over", "longer", "one", "matter", "problem", "idea")
