"""A named setting and its value: "raise my max price to 2,000", "only furnished places", "turn parking off"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_voicebench.agents.local.understanding.choices import LIMITS, find_choices
from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.kinds import is_place_word
from pytest_voicebench.agents.local.understanding.mentions import Mention, taken_back
from pytest_voicebench.agents.local.understanding.turn import Turn, settle
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token
from pytest_voicebench.tools import Parameter

_OFF = word_set("off no remove disable drop clear")
_ON = word_set("on yes allowed enable required must")
_DENIED = word_set("don't not never needn't longer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    name: Mention
    value: Mention


def fill_setting(turn: Turn, request: Request, name: Parameter, filled: dict[str, list[Mention]]) -> None:
    """Adds names and values, one of each per setting said, in order; nothing where no declared name was said."""
    names = [m for m in find_choices(turn.tokens, name) if request.covers(m.start)]
    settings: list[_Setting] = []
    for n, mention in enumerate(names):
        until = next((m.start for m in names[n + 1 :] if m.value != mention.value), len(turn.tokens))
        value = _value(turn, request, mention, until, names)
        if value is None:
            continue
        if settings and _replaces(turn.tokens, settings[-1].name, mention):
            settings.pop()
        before = next((s for s in settings if s.name.value == mention.value), None)
        if before is not None:
            if before.value.kind == "boolean" and _said(turn.tokens, mention, until) is None:
                continue
            settings.remove(before)
        settings.append(_Setting(name=mention, value=value))
    if settings:
        filled[name.name] = [s.name for s in settings]
        filled["value"] = [s.value for s in settings]


def _replaces(tokens: Sequence[Token], before: Mention, after: Mention) -> bool:
    return after.start - before.end <= 6 and taken_back(tokens, before.end, after.start)


def _value(turn: Turn, request: Request, name: Mention, until: int, names: Sequence[Mention]) -> Mention | None:
    words = str(name.value).split("_")
    if LIMITS & set(words):
        return _nearest(turn, turn.of_kind("number", request), name, until, names)
    if any(is_place_word(w) for w in words):
        places = [p for p in turn.of_kind("phrase", request) if p.bound and p.cue not in ("from", "near")]
        said = _nearest(turn, places, name, until, names)
        return said or _nearest(turn, _set_to(turn, request, name), name, until, names)
    return _switch(turn.tokens, name, until)


def _set_to(turn: Turn, request: Request, name: Mention) -> list[Mention]:
    """What follows "to" soon after the name, where the recogniser wrote no capital."""
    return [p for p in turn.of_kind("phrase", request) if p.cue == "to" and 0 <= p.start - name.end <= 9]


def _nearest(
    turn: Turn, values: Sequence[Mention], name: Mention, until: int, names: Sequence[Mention]
) -> Mention | None:
    """What was said last after the name, before the next one; else the last before the name."""
    after = [v for v in values if name.end <= v.start < until]
    if after:
        return settle(turn.tokens, _led(turn.tokens, after), False)[-1]
    since = max((m.end for m in names if m.end <= name.start and m.value != name.value), default=0)
    before = [v for v in values if since <= v.start and v.end <= name.start]
    return before[-1] if before else None


def _led(tokens: Sequence[Token], values: Sequence[Mention]) -> list[Mention]:
    """Values from the first one on that are set to, or correct such a one; all where none is led in so."""
    first = values[0]
    kept = [first]
    for value in values[1:]:
        led = value.cue in ("to", "at", "is", "least", "most") or taken_back(tokens, kept[-1].end, value.start)
        changed = value.cue == "to" and tokens[value.start - 2].low in ("it", "that")  # "can you change it to"
        if led and (changed or value.start - kept[-1].end <= 12):
            kept.append(value)
    return kept


def _switch(tokens: Sequence[Token], name: Mention, until: int) -> Mention:
    on = _said(tokens, name, until) is not False
    return Mention(kind="boolean", value="yes" if on else "no", start=name.start, end=name.end)


def _said(tokens: Sequence[Token], name: Mention, until: int) -> bool | None:
    """On or off as said after the name, else right before it; None where nothing says it."""
    after = _explicit(tokens, name.end, until)
    if after is not None:
        return after
    start = name.start
    while start > 0 and name.start - start < 5 and not tokens[start - 1].ends_sentence:
        start -= 1
    before = {t.low for t in tokens[start : name.start]}
    if before & _DENIED or before & {"remove", "disable", "off"} or tokens[name.start - 1].low in ("no", "without"):
        return False
    return True if before & {"on", "enable", "only"} else None


def _explicit(tokens: Sequence[Token], start: int, until: int) -> bool | None:
    """On or off as said after a name, the last word for it; None where nothing was said."""
    said: bool | None = None
    for i in range(start, min(until, start + 14, len(tokens))):
        low, before = tokens[i].low, tokens[i - 1].low
        if low in ("on", "off") and (tokens[i + 1 : i + 2] and tokens[i + 1].is_word and tokens[i + 1].low != "in"):
            continue
        if low in _OFF and (low != "no" or before in ("to", "is", "as", "a")):
            said = False
        elif low in _ON and (low != "yes" or before in ("to", "is", "as", "a")):
            said = before not in ("not", "isn't", "aren't", "never")
    return said
