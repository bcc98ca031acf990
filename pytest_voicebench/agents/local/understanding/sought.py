"""What is looked for: the object of "search for", "find me", "do you have", else of "I need"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.lexicon import DETERMINERS, STOPS, concepts
from pytest_voicebench.agents.local.understanding.mentions import Mention, negated, taken_back
from pytest_voicebench.agents.local.understanding.numbers import UNITS
from pytest_voicebench.agents.local.understanding.seeking import PLAIN, seeking_before
from pytest_voicebench.agents.local.understanding.turn import Turn
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Parameter

_VAGUE = word_set("""
    result results option options thing things one ones way ways month week number information details kind sort type
    settings dollars stuff bit lot list profile file name money time budget price present gift idea item items
    something order help favor question moment second minute day days couple
    """)
_MEASURES = word_set("pair set couple pack box kind type sort bag bottle")
_WITHIN = 14


def things_sought(turn: Turn, request: Request, parameter: Parameter) -> list[Mention]:
    """One object per verb that asks plainest, the nearest to it, in order; corrected ones are left out."""
    objects = _objects(turn.tokens, turn.of_kind("phrase", request), request)
    asked = [seeking_before(turn.tokens, thing.start) for thing in objects]
    most = max((a.plain for a in asked), default=0)
    things: list[Mention] = []
    verb = -2
    for thing, ask in zip(objects, asked, strict=True):
        before = things[-1] if things else None
        if before is not None and thing.start - before.end <= _WITHIN and _corrects(turn.tokens, before, thing):
            things[-1] = thing
        elif ask.plain == most and ask.verb != verb:
            things.append(thing)
            verb = ask.verb
    return [_whole(turn.tokens, t) for t in (things if most == PLAIN else things[:1])]


def _corrects(tokens: Sequence[Token], before: Mention, thing: Mention) -> bool:
    same_head = _head(before) == _head(thing) and thing.start - before.end <= 4
    return same_head or (taken_back(tokens, before.end, thing.start) and thing.cue not in ("and", "because"))


def _objects(tokens: Sequence[Token], phrases: Sequence[Mention], request: Request) -> list[Mention]:
    objects: list[Mention] = []
    about = {c for w in request.tool.name.split("_") for c in concepts(w)}
    for phrase in phrases:
        words = str(phrase.value).split()
        if _says_which(tokens, phrase) and objects and phrase.start - objects[-1].end < 6:
            value = " ".join([*words[:-1], str(objects[-1].value)])
            objects[-1] = replace(objects[-1], value=value, end=phrase.end)
        elif (
            not all(about & set(concepts(w)) for w in words)
            and words[-1].lower() not in _VAGUE
            and not words[-1].isdigit()
            and not negated(tokens, phrase.start)
            and _is_object(tokens, phrase)
        ):
            objects.append(phrase)
    return objects


def _says_which(tokens: Sequence[Token], phrase: Mention) -> bool:
    """A kind of what was just named: "headphones, noise cancelling ones"; not "the good ones", "a simple one"."""
    words = [w.lower() for w in str(phrase.value).split()]
    article = tokens[phrase.start - 1].low if phrase.start else ""
    return len(words) > 1 and words[-1] in ("ones", "one") and article not in ("the", "a", "an") and words[0] != "good"


def _is_object(tokens: Sequence[Token], phrase: Mention) -> bool:
    if phrase.cue == "for" and "for" in {t.low for t in tokens[max(0, phrase.start - 3) : phrase.start]}:
        return seeking_before(tokens, phrase.start).plain == PLAIN
    return phrase.cue not in ("in", "at", "on", "from", "with", "under", "to", "by", "into", "about", "as", "without")


def _head(phrase: Mention) -> str:
    return stem(str(phrase.value).split()[-1])


def _whole(tokens: Sequence[Token], thing: Mention) -> Mention:
    """Without a measure ("a pair of"), with whom it is for where that is a kind: "a raincoat for kids"."""
    words = str(thing.value).split()
    if len(words) > 2 and words[1].lower() == "of" and words[0].lower() in _MEASURES:
        words = words[2:]
    if len(words) > 1 and not words[-1].endswith("s") and thing.start and tokens[thing.start - 1].low in UNITS:
        words = [tokens[thing.start - 1].low, *words]  # "a two person tent"
    after = tokens[thing.end : thing.end + 3]
    whom = after[1] if len(after) > 1 and after[0].low == "for" else None
    closed = len(after) < 3 or not after[2].is_word or after[2].low in STOPS
    if whom is not None and whom.is_word and whom.low not in STOPS | DETERMINERS and whom.low.isalpha() and closed:
        words += ["for", whom.text]
    return replace(thing, value=" ".join(words))
