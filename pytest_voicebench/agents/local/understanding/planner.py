"""The plan of a turn: which tools to call with which arguments, and what is still missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pytest_voicebench.agents.local.understanding.amounts import find_currencies, find_numbers
from pytest_voicebench.agents.local.understanding.dates import find_dates
from pytest_voicebench.agents.local.understanding.freetext import fill_text
from pytest_voicebench.agents.local.understanding.identifiers import find_identifiers
from pytest_voicebench.agents.local.understanding.intents import Request, find_requests, searches
from pytest_voicebench.agents.local.understanding.kinds import kind_of, name_words
from pytest_voicebench.agents.local.understanding.lexicon import SEARCH_GROUP, concepts
from pytest_voicebench.agents.local.understanding.mentions import Mention
from pytest_voicebench.agents.local.understanding.phrases import find_phrases, is_address
from pytest_voicebench.agents.local.understanding.references import Known, Reference, picked
from pytest_voicebench.agents.local.understanding.reheard import rehear
from pytest_voicebench.agents.local.understanding.repeats import split_repeats
from pytest_voicebench.agents.local.understanding.slots import fill_typed
from pytest_voicebench.agents.local.understanding.turn import Turn, inherit_bounds
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token, tokenize
from pytest_voicebench.tools import Parameter, Tool

Json = Any

_POINTERS = word_set("it there one them first second third")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call to make. Arguments may be References; `missing` names required ones that nobody gave."""

    tool: str
    arguments: Mapping[str, Json]
    missing: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Draft:
    request: Request
    filled: dict[str, list[Mention]] = field(default_factory=dict)


def plan(text: str, tools: Sequence[Tool], today: date, known: Sequence[Known] = ()) -> list[Step]:
    """Steps in the order to take them. Steps with `missing` come last and cannot be taken yet."""
    tokens = rehear(tokenize(text), tools)
    if not tokens or not tools:
        return []
    turn = Turn(tokens=tokens, mentions=find_mentions(tokens, today))
    requests = _without_false_starts(turn, find_requests(tokens, turn.mentions, tools), known)
    requests = _absorbed(turn, requests)
    turn.used.clear()
    drafts = _shared(_filled(turn, [part for request in requests for part in split_repeats(turn, request)]))
    for n, draft in enumerate(drafts):
        points_back = n > 0 and _POINTERS & {t.low for i, t in enumerate(tokens) if draft.request.covers(i)}
        if _missing(draft) and not points_back:
            fill_typed(turn, draft.request, draft.filled, anywhere=True)
            fill_text(turn, draft.request, draft.filled, anywhere=True)
    drafts = _with_prerequisites(turn, drafts, tools, known)
    steps: list[Step] = []
    for draft in drafts:
        steps.extend(_steps(turn, draft, steps, known, tools))
    return _ordered(steps)


def _filled(turn: Turn, requests: Sequence[Request]) -> list[_Draft]:
    turn.used.clear()
    drafts = [_Draft(request=r) for r in requests]
    for draft in drafts:
        fill_typed(turn, draft.request, draft.filled)
        fill_text(turn, draft.request, draft.filled)
    return drafts


def _without_false_starts(turn: Turn, requests: Sequence[Request], known: Sequence[Known]) -> list[Request]:
    """Requests that say something; what was said of a false start goes to the next request, or the one before."""
    kept: list[Request] = []
    loose: list[tuple[int, int]] = []
    drafts = _filled(turn, requests)
    for n, draft in enumerate(drafts):
        needs = [p.name for p in draft.request.tool.parameters.values() if p.required]
        points_back = bool(_open_ids(draft)) and (n > 0 or bool(known))
        if len(drafts) > 1 and needs and not set(needs) & set(draft.filled) and not points_back:
            loose.extend(draft.request.stretches)
        else:
            kept.append(Request(tool=draft.request.tool, stretches=[*loose, *draft.request.stretches]))
            loose = []
    if kept:
        kept[-1].stretches.extend(loose)
    return _merged(kept) or list(requests)


def _merged(requests: Sequence[Request]) -> list[Request]:
    """Neighbours of one tool are one request; what it asks for twice is found later."""
    merged: list[Request] = []
    for request in requests:
        if merged and merged[-1].tool is request.tool:
            merged[-1].stretches.extend(request.stretches)
        else:
            merged.append(request)
    return merged


def find_mentions(tokens: Sequence[Token], today: date) -> list[Mention]:
    """All mentions of a turn, in order; a token belongs to one mention only, phrases come last."""
    addresses = {j for i in range(len(tokens)) if is_address(tokens, i) for j in (i,)}
    found = [d for d in find_dates(tokens, today) if d.start not in addresses]
    taken = {j for m in found for j in range(m.start, m.end)} | addresses
    currencies = [c for c in find_currencies(tokens) if c.start not in taken]
    money = {j for c in currencies for j in range(c.start, c.end)}
    beside = {
        j for c in currencies for j in (c.end, c.start - 1) if 0 <= j < len(tokens) and tokens[j].low[0].isdigit()
    }
    identifiers = find_identifiers(tokens, taken | money | beside)
    taken |= {j for m in identifiers for j in range(m.start, m.end)}
    numbers = inherit_bounds(tokens, find_numbers(tokens, taken | money, currencies))
    taken |= money | {j for m in numbers for j in range(m.start, m.end)}
    found += [*identifiers, *currencies, *numbers]
    phrases = find_phrases(tokens, taken - addresses)
    found += phrases
    found += [
        Mention(kind="address", value=p.value, start=p.start, end=p.start)
        for p in phrases
        if str(p.value)[0].isdigit() and p.start in addresses
    ]
    return sorted(found, key=lambda m: (m.start, m.end))


def _absorbed(turn: Turn, requests: Sequence[Request]) -> list[Request]:
    """Gives the words of a request that lacks something to a neighbour that lacks less with them."""
    drafts = _filled(turn, requests)
    for n, draft in enumerate(drafts):
        if not _missing(draft):
            continue
        for neighbour in (n + 1, n - 1):
            if 0 <= neighbour < len(drafts) and _missing(drafts[neighbour]):
                other = drafts[neighbour].request
                joint = Request(tool=other.tool, stretches=sorted([*draft.request.stretches, *other.stretches]))
                fewer = [joint if r is other else r for r in requests if r is not draft.request]
                after = next(d for d in _filled(turn, fewer) if d.request is joint)
                if len(_missing(after)) < len(_missing(drafts[neighbour])):
                    return _absorbed(turn, fewer)
    return list(requests)


def _shared(drafts: list[_Draft]) -> list[_Draft]:
    """Repeats of one tool that stand together lend each other what was said once: "both from savings"."""
    for n, draft in enumerate(drafts):
        others = [*reversed(drafts[:n]), *drafts[n + 1 :]]
        for name in _missing(draft):
            lent = next(
                (d.filled[name] for d in others if d.request.tool is draft.request.tool and name in d.filled), None
            )
            if lent is not None:
                draft.filled[name] = lent
    return drafts


def _missing(draft: _Draft) -> list[str]:
    return [p.name for p in draft.request.tool.parameters.values() if p.required and p.name not in draft.filled]


def _with_prerequisites(
    turn: Turn, drafts: list[_Draft], tools: Sequence[Tool], known: Sequence[Known]
) -> list[_Draft]:
    """Puts a search before a request that needs its result: "book a flight to Oslo on May 2nd for me"."""
    result: list[_Draft] = []
    for draft in drafts:
        for parameter in _open_ids(draft):
            producer = _producer(parameter, draft.request.tool, tools)
            before = {d.request.tool.name for d in result} | {k.tool for k in known}
            if producer is not None and producer.name not in before:
                extra = _Draft(request=Request(tool=producer, stretches=draft.request.stretches))
                fill_typed(turn, extra.request, extra.filled)
                fill_text(turn, extra.request, extra.filled)
                if not _missing(extra):
                    result.append(extra)
        result.append(draft)
    return result


def _open_ids(draft: _Draft) -> list[Parameter]:
    tool = draft.request.tool
    return [p for p in tool.parameters.values() if kind_of(p) == "identifier" and p.name not in draft.filled]


def _producer(parameter: Parameter, tool: Tool, tools: Sequence[Tool]) -> Tool | None:
    nouns = {c for w in name_words(parameter) if w not in ("id", "number", "code") for c in concepts(w)}
    for other in tools:
        about = {c for w in other.name.split("_") for c in concepts(w)} - {f"#{SEARCH_GROUP}"}
        if other.name != tool.name and searches(other) and nouns & about:
            return other
    return None


def _steps(
    turn: Turn, draft: _Draft, before: Sequence[Step], known: Sequence[Known], tools: Sequence[Tool]
) -> list[Step]:
    """The calls of one request: several where an argument was given several times."""
    tool = draft.request.tool
    words = [t for i, t in enumerate(turn.tokens) if draft.request.covers(i)]
    count = max((len(values) for values in draft.filled.values()), default=1)
    steps = []
    for n in range(count):
        arguments = {
            name: _as_type(values[min(n, len(values) - 1)].value, tool.parameters[name])
            for name, values in draft.filled.items()
        }
        _inherit(arguments, tool, before, known)
        _refer(arguments, tool, words, before, known, tools)
        missing = tuple(p.name for p in tool.parameters.values() if p.required and p.name not in arguments)
        step = Step(tool=tool.name, arguments=_in_order(arguments, tool), missing=missing)
        if step not in before or before[-1].tool != step.tool:
            steps.append(step)
    return steps


def _in_order(arguments: Mapping[str, Json], tool: Tool) -> dict[str, Json]:
    return {name: arguments[name] for name in tool.parameters if name in arguments}


def _inherit(arguments: dict[str, Json], tool: Tool, before: Sequence[Step], known: Sequence[Known]) -> None:
    """A second request of the same tool says only what differs: "and what about in euros?"."""
    if not arguments:
        return
    earlier: list[Mapping[str, Json]] = [k.arguments for k in known if k.tool == tool.name]
    earlier += [s.arguments for s in before if s.tool == tool.name]
    for parameter in tool.parameters.values():
        if parameter.required and parameter.name not in arguments and earlier and parameter.name in earlier[-1]:
            arguments[parameter.name] = earlier[-1][parameter.name]


def _refer(
    arguments: dict[str, Json],
    tool: Tool,
    words: Sequence[Token],
    before: Sequence[Step],
    known: Sequence[Known],
    tools: Sequence[Tool],
) -> None:
    """Fills what an earlier result may give: identifiers always, other values where the words point back."""
    if not before and not known:
        return
    pointing = bool(_POINTERS & {t.low for t in words})
    for parameter in tool.parameters.values():
        if parameter.name in arguments:
            continue
        kind = kind_of(parameter)
        producer = _producer(parameter, tool, tools) if kind == "identifier" else None
        made = {s.tool for s in before if not s.missing} | {k.tool for k in known}
        if kind == "identifier" and (producer is None or producer.name in made):
            if parameter.required or producer is not None:
                arguments[parameter.name] = Reference(name=parameter.name, pick=picked(words))
        elif kind in ("place", "money") and parameter.required and pointing:
            arguments[parameter.name] = Reference(name=parameter.name, pick=picked(words))


def _as_type(value: Json, parameter: Parameter) -> Json:
    if parameter.type == "string" and not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if parameter.type == "integer" and isinstance(value, float):
        return round(value)
    return value


def _ordered(steps: Sequence[Step]) -> list[Step]:
    """The steps that can be taken; only where there is none, what is asked back."""
    done = [s for s in steps if not s.missing]
    return done or list(steps)
