"""Which of the phrases of a request is the place that a parameter wants: where one goes, or comes from."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.agents.local.understanding.dates import MONTHS
from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.kinds import Role, role_of
from pytest_voicebench.agents.local.understanding.lexicon import DETERMINERS, PREPOSITIONS, concepts
from pytest_voicebench.agents.local.understanding.mentions import Mention, taken_back
from pytest_voicebench.agents.local.understanding.turn import Turn
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Parameter

_STRONG = {
    "goal": word_set("to into toward towards reach onto"),
    "source": word_set("from leaving"),
    "none": word_set("in around near within at to into"),
}
_WEAK = {"goal": word_set("in at for into"), "source": word_set("at out of"), "none": word_set("for of")}
_TIME_WORDS = word_set("""
    summer winter spring fall autumn morning evening afternoon night noon midnight weekend month week year day days time
    future end beginning meantime minutes hours moment
    """) | set(MONTHS)
_RANKS = word_set("cheapest first second third last one 1")
_VAGUE = word_set("place home house job office work apartment flat address hotel school")


def find_places(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
    """Candidates in order: names led in by the right preposition, else what else may be a place."""
    role = role_of(parameter)
    phrases = [p for p in turn.of_kind("phrase", scope) if not _about_tool(p, scope) and not _is_time(p)]
    if role == "source" and _points_back(turn, scope):
        return []
    strong = [p for p in phrases if p.cue in _STRONG[role]]
    named = [p for p in strong if _is_name(p)]
    if named:
        return named
    strong = [p for p in strong if p.cue == "from" or _is_noun(turn.tokens, p)]
    followed = [q for p in strong if (q := _explained_by(p, phrases))]
    weak = [p for p in phrases if p.cue in _WEAK[role] and _is_name(p)]
    if role == "goal" and len(weak) > 1 and not taken_back(turn.tokens, weak[0].end, weak[-1].start):
        weak = weak[-1:]  # "I live at ... and work at ...": the second is where one goes
    loose = [
        p for p in phrases if _is_name(p) and p.cue not in _other_cues(role) and p.cue not in ("for", "name", "under")
    ]
    return (
        followed
        or weak
        or [p for p in strong if not loose or p.cue == "from"]
        or loose
        or _visited(turn, phrases, role)
    )


def _is_time(phrase: Mention) -> bool:
    return str(phrase.value).split()[-1].lower() in _TIME_WORDS


def _points_back(turn: Turn, scope: Request | None) -> bool:
    """The way starts at something found before: "from there", "from the first one"."""
    words = [t.low if scope is None or scope.covers(i) else "" for i, t in enumerate(turn.tokens)]
    return any(
        a == "from" and (b in ("there", "it") or (b in ("the", "that") and c in _RANKS))
        for a, b, c in zip(words, words[1:], words[2:], strict=False)
    )


def _is_noun(tokens: Sequence[Token], phrase: Mention) -> bool:
    """After "to" a bare word may be a verb ("to surprise dad"): a noun has an article, is long, or ends its clause."""
    article = phrase.start > 0 and tokens[phrase.start - 1].low in DETERMINERS
    after = tokens[phrase.end] if phrase.end < len(tokens) else None
    return article or " " in str(phrase.value) or after is None or after.is_punctuation or after.low in PREPOSITIONS


def _visited(turn: Turn, phrases: Sequence[Mention], role: Role) -> list[Mention]:
    """A name after "see", "visit", "about": where one wants to be."""
    if role == "source":
        return []
    named = [p for p in phrases if _is_name(p) and p.cue in ("see", "visit", "about", "at")]
    return named or [p for p in phrases if p.cue == "is" and _word_before(turn.tokens, p) == "the"]


def _word_before(tokens: Sequence[Token], phrase: Mention) -> str:
    """The word before a phrase."""
    return tokens[phrase.start - 1].low if phrase.start else ""


def _other_cues(role: Role) -> frozenset[str]:
    return frozenset().union(*(cues for other, cues in _STRONG.items() if other != role and other != "none"))


def _explained_by(vague: Mention, phrases: Sequence[Mention]) -> Mention | None:
    """The name that follows a vague place: "from my place, that's 18 Garden Court"."""
    if stem(str(vague.value).split()[-1]) not in {stem(w) for w in _VAGUE}:
        return None
    return next(
        (p for p in phrases if _is_name(p) and 0 <= p.start - vague.end <= 5 and p.cue not in ("to", "from")), None
    )


def _is_name(phrase: Mention) -> bool:
    return phrase.bound or str(phrase.value)[0].isdigit()


def _about_tool(phrase: Mention, scope: Request | None) -> bool:
    if scope is None:
        return False
    if not phrase.bound and {w.lower() for w in str(phrase.value).split()} & _RANKS:
        return True
    about = {c for w in scope.tool.name.split("_") for c in concepts(w)}
    return not phrase.bound and all(about & set(concepts(w)) for w in str(phrase.value).split())
