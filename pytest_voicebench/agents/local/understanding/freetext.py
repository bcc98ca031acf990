"""Free-text arguments of one request: the kind of card, the thing looked for, the setting and its value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.kinds import (
    head_words,
    is_free_search,
    is_setting,
    kind_of,
    role_of,
)
from pytest_voicebench.agents.local.understanding.lexicon import concepts
from pytest_voicebench.agents.local.understanding.mentions import Mention, taken_back
from pytest_voicebench.agents.local.understanding.slots import Turn, settle
from pytest_voicebench.agents.local.understanding.wording import word_set, words_of
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Parameter

_SEEKING = frozenset(stem(w) for w in words_of("search look looking hunt shop shopping browse find seek"))
_WISHING = frozenset(
    stem(w)
    for w in words_of("""
    search look find need want get like buy getting buying thinking shop have after order
    """)
)
_EMPTY_HEADS = word_set("""
    result results option options thing things one ones way month week number information details kind sort type
    settings dollars stuff bit lot list profile file name money time budget price
    """)
_DEEDS = {c for w in ("update", "search", "add") for c in concepts(w)}
_COMPOUND = {stem("credit"), stem("debit")}  # a "gold credit card" is a gold card
_ABOUT_SETTINGS = {stem("filter"), stem("setting"), stem("search"), stem("limit")}
_YES_OR_NO = word_set("yes no true false on off")
_SHORT = {"maximum": "max", "minimum": "min", "highest": "max", "lowest": "min"}


def fill_text(
    turn: Turn, request: Request, filled: dict[str, list[Mention]], known: Sequence[str] = (), anywhere: bool = False
) -> None:
    """Adds to `filled` the values of free-text parameters. `known` are names of parameters that a setting may name."""
    scope = None if anywhere else request
    parameters = [p for p in request.tool.parameters.values() if kind_of(p) == "text" and p.name not in filled]
    if is_setting(request.tool):
        _fill_setting(turn, request, filled, known)
        return
    for parameter in sorted(parameters, key=lambda p: role_of(p) == "none"):
        candidates = _candidates(turn, request, scope, parameter)
        if candidates:
            several = not is_free_search(parameter)
            filled[parameter.name] = settle(turn.tokens, candidates, several)
            turn.use(candidates)


def _candidates(turn: Turn, request: Request, scope: Request | None, parameter: Parameter) -> list[Mention]:
    phrases = turn.of_kind("phrase", scope)
    if is_free_search(parameter):
        return _sought(turn.tokens, phrases, request)
    headed = [m for p in phrases if (m := _by_head(p, parameter, request))]
    if role_of(parameter) != "none":
        cues = ("from", "of", "with", "using", "through", "by") if role_of(parameter) == "source" else ("to", "into")
        led = [
            _stripped(p, head_words(parameter))
            for p in phrases
            if p.cue in cues and not _is_other(p, parameter, request)
        ]
        return [m for m in (led or headed) if m]
    if headed:
        return headed
    rest = [
        p for p in phrases if not _only_about(p, request) and str(p.value).lower() not in _EMPTY_HEADS and not p.bound
    ]
    return ([p for p in rest if p.cue not in ("in", "at", "on")] or [p for p in rest if p.cue == "on"])[:1]


def _by_head(phrase: Mention, parameter: Parameter, request: Request) -> Mention | None:
    """The phrase's modifiers before the parameter's own noun, or the whole phrase if it is a kind of that noun."""
    words = str(phrase.value).split()
    heads = head_words(parameter)
    stems = [stem(w) for w in words]
    at = [i for i, s in enumerate(stems) if s in heads]
    if at:
        end = at[-1] - (at[-1] > 1 and stems[at[-1] - 1] in _COMPOUND)
        return _trimmed(phrase, 0, end) if end else None
    wanted = {c for h in heads for c in concepts(h) if c.startswith("#")} | _described(parameter, request)
    kinds = [i for i, w in enumerate(words) if wanted & set(concepts(w)) and stem(w) not in heads]
    if not kinds:
        return None
    end = len(words)
    while end > kinds[-1] + 1 and stem(words[end - 1]) in {stem("number"), "info", stem("details")}:
        end -= 1
    return _trimmed(phrase, 0, end)


def _described(parameter: Parameter, request: Request) -> set[str]:
    """What the tool's name says before the parameter's noun: `identity` for the doc_type of update_identity_doc."""
    words = request.tool.name.split("_")
    heads = head_words(parameter)
    return {
        c for w, noun in itertools.pairwise(words) if stem(noun) in heads for c in concepts(w) if c[0] == "#"
    } - _DEEDS


def _is_other(phrase: Mention, parameter: Parameter, request: Request) -> bool:
    """A phrase that speaks of another parameter's noun."""
    words = {stem(w) for w in str(phrase.value).split()}
    return any(
        words & head_words(p)
        for p in request.tool.parameters.values()
        if p.name != parameter.name and kind_of(p) == "text"
    )


def _stripped(phrase: Mention, heads: set[str]) -> Mention | None:
    words = str(phrase.value).split()
    end = len(words)
    while end and stem(words[end - 1]) in heads:
        end -= 1
    return _trimmed(phrase, 0, end) if end else None


def _trimmed(phrase: Mention, start: int, end: int) -> Mention | None:
    words = str(phrase.value).split()[start:end]
    if not words:
        return None
    return Mention(
        kind="phrase", value=" ".join(words), start=phrase.start + start, end=phrase.start + end, cue=phrase.cue
    )


def _only_about(phrase: Mention, request: Request) -> bool:
    about = {c for w in request.tool.name.split("_") for c in concepts(w)}
    return all(about & set(concepts(w)) for w in str(phrase.value).split())


def _sought(tokens: Sequence[Token], phrases: Sequence[Mention], request: Request) -> list[Mention]:
    """The things looked for: objects, not what they are for; "headphones, noise cancelling ones" is one thing."""
    things: list[Mention] = []
    for phrase in phrases:
        words = str(phrase.value).split()
        if words[-1].lower() in ("ones", "one") and things:
            value = " ".join([*words[:-1], str(things[-1].value)])
            things[-1] = Mention(kind="phrase", value=value, start=things[-1].start, end=phrase.end, cue=things[-1].cue)
        elif _is_object(tokens, phrase) and not _only_about(phrase, request) and words[-1].lower() not in _EMPTY_HEADS:
            things.append(phrase)
    if not things:
        return []
    wish = max(_wished(tokens, t) for t in things)
    chosen = next(t for t in things if _wished(tokens, t) == wish)
    for thing in things:
        if thing.start > chosen.start and (taken_back(tokens, chosen.end, thing.start) or _same_head(chosen, thing)):
            chosen = thing
    return [_without_measure(chosen)]


def _wished(tokens: Sequence[Token], thing: Mention) -> int:
    """How plainly a thing is what the user wants: after "looking for" more than after "a", least in passing."""
    before = [t.low for t in tokens[max(0, thing.start - 5) : thing.start]]
    article = bool(before) and before[-1] in ("a", "an", "some", "any", "another")
    return 2 * bool({stem(w) for w in before} & _WISHING) + article


def _same_head(before: Mention, after: Mention) -> bool:
    heads = [stem(str(m.value).split()[-1]) for m in (before, after)]
    return heads[0] == heads[1]


def _without_measure(thing: Mention) -> Mention:
    words = str(thing.value).split()
    if (
        len(words) > 2
        and words[1].lower() == "of"
        and words[0].lower() in ("pair", "set", "couple", "pack", "box", "kind")
    ):
        return replace(thing, value=" ".join(words[2:]))
    return thing


def _is_object(tokens: Sequence[Token], phrase: Mention) -> bool:
    if phrase.cue == "for":
        at = phrase.start - 1
        while at >= 0 and tokens[at].low != "for":
            at -= 1
        return at > 0 and (stem(tokens[at - 1].low) in _SEEKING or tokens[at - 1].low in ("is", "are", "up"))
    return phrase.cue not in ("in", "at", "on", "from", "with", "under", "to", "by", "into", "about")


def _fill_setting(turn: Turn, request: Request, filled: dict[str, list[Mention]], known: Sequence[str]) -> None:
    """A named setting and its value: "raise my max price to 2,000", "only pet friendly ones"."""
    name = next(p for p in request.tool.parameters.values() if p.name.endswith("name"))
    values = _values(turn, request)
    named = _setting_names(turn, request)
    names = _meant(turn.tokens, _beside(named, values), values)
    if not names:
        return
    filled[name.name] = [_as_key(n, known) for n in names]
    filled["value"] = [_value_of(turn.tokens, n, names, values) for n in names]
    turn.use([*named, *values])


def _beside(named: Sequence[Mention], values: Sequence[Mention]) -> list[Mention]:
    """Of several names those that a value follows most closely: "for an hour ... the max price to 1,350"."""
    if not values or len(named) < 2:
        return list(named)
    nearest = [max((n for n in named if n.end <= v.start), key=lambda n: n.end, default=None) for v in values]
    return [n for n in named if n in nearest] or list(named)


def _meant(tokens: Sequence[Token], named: Sequence[Mention], values: Sequence[Mention]) -> list[Mention]:
    """Names that are not taken back; a correction of the value between two names does not count."""
    names: list[Mention] = []
    for name in named:
        if names:
            since = max([names[-1].end, *(v.end for v in values if names[-1].end <= v.start < name.start)])
            if taken_back(tokens, since, name.start) or name.value == names[-1].value:
                names.pop()
        names.append(name)
    return names


def _value_of(tokens: Sequence[Token], name: Mention, names: Sequence[Mention], values: Sequence[Mention]) -> Mention:
    """The value said last before the next name; one said before all names counts for them; else yes."""
    following = min((n.start for n in names if n.start > name.start), default=len(tokens))
    own = [v for v in values if name.end <= v.start < following]
    early = [v for v in values if v.end <= names[0].start]
    chosen = settle(tokens, own or early, False)
    return chosen[-1] if chosen else Mention(kind="boolean", value="true", start=name.end, end=name.end)


def _values(turn: Turn, request: Request) -> list[Mention]:
    """Numbers, and a yes or no that something is set to."""
    said = list(turn.of_kind("number", request))
    for i, token in enumerate(turn.tokens):
        if token.low in _YES_OR_NO and i and turn.tokens[i - 1].low in ("to", "is", "be", "as") and request.covers(i):
            said.append(Mention(kind="boolean", value=token.low, start=i, end=i + 1))
    return sorted(said, key=lambda m: m.start)


def _setting_names(turn: Turn, request: Request) -> list[Mention]:
    named = []
    for phrase in turn.of_kind("phrase", request):
        stripped = _stripped(phrase, _ABOUT_SETTINGS)
        if stripped is not None and stem(str(stripped.value).split()[0]) in _ABOUT_SETTINGS:
            stripped = _trimmed(stripped, 1, len(str(stripped.value).split()))
        if stripped is not None and str(stripped.value).lower() not in _EMPTY_HEADS - {"price", "budget"}:
            named.append(stripped)
    return [n for n in named if not _place_word(n)]


def _place_word(phrase: Mention) -> bool:
    return str(phrase.value).lower() in ("places", "apartments", "listings", "homes", "results", "search")


def _as_key(phrase: Mention, known: Sequence[str]) -> Mention:
    """A setting's name as programs write it; as a known parameter is spelled where it is one."""
    words = [_SHORT.get(w.lower(), w.lower()) for w in str(phrase.value).split()]
    if len(words) > 2 and words[1] == "of" and words[0] in ("number", "amount", "count"):
        words = words[2:]
    stems = [stem(w) for w in words]
    words = next((n.split("_") for n in known if [stem(w) for w in n.split("_")] == stems), words)
    return Mention(kind="phrase", value="_".join(words), start=phrase.start, end=phrase.end)
