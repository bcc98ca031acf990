"""Typed arguments of one request: which of the mentioned dates, amounts, places, names fill which parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_voicebench.agents.local.understanding.choices import find_choices, settled_choices
from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.kinds import (
    Kind,
    head_words,
    is_bounding,
    kind_of,
    name_words,
    role_of,
    setting_name,
)
from pytest_voicebench.agents.local.understanding.lexicon import STOPS, concepts
from pytest_voicebench.agents.local.understanding.mentions import Mention, taken_back
from pytest_voicebench.agents.local.understanding.persons import find_persons
from pytest_voicebench.agents.local.understanding.places import find_places
from pytest_voicebench.agents.local.understanding.turn import Turn, settle
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Parameter

_ORDER: tuple[Kind, ...] = ("identifier", "date", "currency", "money", "count", "place", "person", "enum", "boolean")


def fill_typed(turn: Turn, request: Request, filled: dict[str, list[Mention]], anywhere: bool = False) -> None:
    """Adds to `filled` the values of all but free-text parameters; `anywhere` looks beyond the request's stretch."""
    scope = None if anywhere else request
    if setting_name(request.tool) is not None:
        return
    for kind in _ORDER:
        parameters = [p for p in request.tool.parameters.values() if kind_of(p) == kind and p.name not in filled]
        parameters.sort(key=lambda p: ("goal", "source", "none").index(role_of(p)))
        if kind == "currency":
            _fill_currencies(turn, scope, parameters, filled)
            continue
        if kind == "enum":
            _fill_choices(turn, scope, parameters, filled)
            continue
        for parameter in parameters:
            candidates = _FINDERS[kind](turn, scope, parameter)
            if candidates:
                chosen = _first_date(turn.tokens, candidates) if kind == "date" else candidates
                filled[parameter.name] = settle(turn.tokens, chosen, False)
                turn.use(candidates)


def _fill_choices(
    turn: Turn, scope: Request | None, parameters: Sequence[Parameter], filled: dict[str, list[Mention]]
) -> None:
    for parameter in parameters:
        found = [
            m
            for m in find_choices(turn.tokens, parameter)
            if (scope is None or scope.covers(m.start)) and not turn.used & set(range(m.start, m.end))
        ]
        chosen = settled_choices(turn.tokens, found, False)
        if chosen:
            filled[parameter.name] = chosen
            turn.use(chosen)


def _first_date(tokens: Sequence[Token], dates: Sequence[Mention]) -> list[Mention]:
    """The first date and what takes it back; later ones are about something else."""
    kept = list(dates[:1])
    for date in dates[1:]:
        between = tokens[kept[-1].end : date.start]
        if taken_back(tokens, kept[-1].end, date.start) or "but" in {t.low for t in between}:
            kept.append(date)
    return kept


def _find_plain(kind: str) -> Callable[[Turn, Request | None, Parameter], list[Mention]]:
    def find(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
        return turn.of_kind(kind, scope)

    return find


def _find_money(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
    numbers = turn.of_kind("number", scope)
    heads = {c for w in head_words(parameter) for c in concepts(w)}
    units = [n for n in numbers if n.unit.isupper() and len(n.unit) == 3]
    if is_bounding(parameter):
        chosen = [n for n in numbers if n.bound] or units
        return chosen or [n for n in numbers if n.value >= 100 and not _counts(n, heads)]
    return units or [n for n in numbers if not n.bound] or numbers


def _counts(number: Mention, heads: set[str]) -> bool:
    return (
        bool(number.unit) and number.unit not in STOPS and not heads & set(concepts(number.unit)) and number.value < 20
    )


def _find_count(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
    numbers = [n for n in turn.of_kind("number", scope) if not (n.unit.isupper() and len(n.unit) == 3)]
    heads = {c for w in name_words(parameter) for c in concepts(w)}
    named = [n for n in numbers if n.unit and heads & set(concepts(n.unit))]
    before = [
        n
        for n in numbers
        if n.start > 1 and heads & {c for t in turn.tokens[max(0, n.start - 3) : n.start] for c in concepts(t.low)}
    ]
    if named:
        return [n for n in numbers if n in named or _corrects(turn.tokens, named, n)]
    if before:
        return [n for n in numbers if n in before or _corrects(turn.tokens, before, n)]
    return _first_said(turn.tokens, [n for n in numbers if not n.bound and n.value <= 50 and n.value == int(n.value)])


def _first_said(tokens: Sequence[Token], numbers: Sequence[Mention]) -> list[Mention]:
    """The first "ten of those", else the first number, with what takes it back; not what is counted in passing."""
    of = [n for n in numbers if n.end < len(tokens) and tokens[n.end].low == "of"]
    kept = list((of or numbers)[:1])
    for number in numbers:
        if kept and number.start > kept[-1].start and _corrects(tokens, kept[-1:], number):
            kept.append(number)
    return kept


def _corrects(tokens: Sequence[Token], named: Sequence[Mention], number: Mention) -> bool:
    """A small number that takes back one of the named ones: "two bedrooms, no, three"."""
    return number.value <= 50 and any(
        0 <= number.start - n.end <= 8 and taken_back(tokens, n.end, number.start) for n in named
    )


def _find_boolean(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
    heads = head_words(parameter)
    for i, token in enumerate(turn.tokens):
        if stem(token.low) in heads and (scope is None or scope.covers(i)):
            denied = {"no", "not", "without", "don't", "never"} & {t.low for t in turn.tokens[max(0, i - 4) : i]}
            return [Mention(kind="boolean", value=not denied, start=i, end=i + 1)]
    return []


_FINDERS: dict[Kind, Callable[[Turn, Request | None, Parameter], list[Mention]]] = {
    "identifier": _find_plain("identifier"),
    "date": _find_plain("date"),
    "money": _find_money,
    "count": _find_count,
    "place": find_places,
    "person": find_persons,
    "boolean": _find_boolean,
}


def _fill_currencies(
    turn: Turn, scope: Request | None, parameters: Sequence[Parameter], filled: dict[str, list[Mention]]
) -> None:
    parts: dict[str, list[Mention]] = {"goal": [], "source": []}
    last = ""
    currencies = turn.of_kind("currency", scope)
    for currency in currencies:
        carried = last if parts.get(last) and taken_back(turn.tokens, parts[last][-1].end, currency.start) else ""
        part = _part(turn, currency) or carried
        if part:
            parts[part].append(currency)
        last = part
    if (
        len(parts["goal"]) > 1
        and not parts["source"]
        and not taken_back(turn.tokens, parts["goal"][0].end, parts["goal"][1].start)
    ):
        parts["source"].append(parts["goal"].pop(0))
    loose = [c for c in currencies if c not in parts["goal"] and c not in parts["source"]]
    for parameter in parameters:
        role = role_of(parameter)
        chosen = parts.get(role, []) or loose
        if chosen:
            filled[parameter.name] = settle(turn.tokens, chosen, True)
            turn.use(chosen)
            loose = [c for c in loose if c not in chosen]


def _part(turn: Turn, currency: Mention) -> str:
    """What a currency is in an exchange: `source` beside an amount or after "from", `goal` after "to", else unknown."""
    if currency.bound:
        return "source"
    asked = {"how", "many", "much"} & {t.low for t in turn.tokens[max(0, currency.start - 3) : currency.start]}
    if currency.cue in ("to", "into", "in", "for", "buy") or asked:
        return "goal"
    return "source" if currency.cue in ("from", "of", "my", "have") else ""
