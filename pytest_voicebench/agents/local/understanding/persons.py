"""Which of the phrases of a request is a person's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.mentions import Mention
from pytest_voicebench.agents.local.understanding.turn import Turn
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token
from pytest_voicebench.tools import Parameter

_NAMED_BY = word_set("for is name under named passenger , me as it's called be that's")
_TITLES = word_set("name passenger mister mr mrs ms miss doctor dr")


def find_persons(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
    """Candidates in order: full names led in by "for" or "name", else other names."""
    phrases = [p for p in turn.of_kind("phrase", scope) if p.bound]
    names = [n for p in phrases if (n := _name_part(turn.tokens, p)) is not None]
    cued = [p for p in names if p.cue in _NAMED_BY]
    full = [p for p in cued if len(str(p.value).split()) > 1]
    return (
        full
        or cued
        or [p for p in names if p.cue not in ("to", "in", "from", "at")]
        or _lower_case_persons(turn, scope)
    )


def _lower_case_persons(turn: Turn, scope: Request | None) -> list[Mention]:
    """Names that the recogniser did not write as names: "book it for maria lopez"."""
    phrases = [p for p in turn.of_kind("phrase", scope) if p.cue in ("for", "name", "under", "named", "is")]
    return [replace(p, value=str(p.value).title()) for p in phrases if 2 <= len(str(p.value).split()) <= 3]


def _name_part(tokens: Sequence[Token], phrase: Mention) -> Mention | None:
    """The capitalised words at a phrase's end: "the name Peter Novak"."""
    start = phrase.end
    while start > phrase.start and _is_name_word(tokens[start - 1]):
        start -= 1
    words = [t.text for t in tokens[start : phrase.end]]
    if not 1 <= len(words) <= 4:
        return None
    cue = phrase.cue if start == phrase.start else "name"
    return replace(phrase, value=" ".join(words), start=start, cue=cue)


def _is_name_word(token: Token) -> bool:
    return token.capital and token.low not in _TITLES and token.low.replace("'", "").isalpha()
