"""Typed arguments of one request: which of the mentioned dates, amounts, places, names fill which parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from pytest_voicebench.agents.local.understanding.choices import find_choices, settled_choices
from pytest_voicebench.agents.local.understanding.dates import MONTHS
from pytest_voicebench.agents.local.understanding.intents import Request
from pytest_voicebench.agents.local.understanding.kinds import (
    Kind,
    Role,
    head_words,
    is_bounding,
    kind_of,
    name_words,
    role_of,
    setting_name,
)
from pytest_voicebench.agents.local.understanding.lexicon import DETERMINERS, PREPOSITIONS, STOPS, concepts
from pytest_voicebench.agents.local.understanding.mentions import Mention, joined, negated, taken_back
from pytest_voicebench.agents.local.understanding.wording import word_set
from pytest_voicebench.agents.local.understanding.words import Token, stem
from pytest_voicebench.tools import Parameter

_ORDER: tuple[Kind, ...] = ("identifier", "date", "currency", "money", "count", "place", "person", "enum", "boolean")
_STRONG = {
    "goal": word_set("to into toward towards reach onto"),
    "source": word_set("from leaving"),
    "none": word_set("in around near within at to into"),
}
_WEAK = {"goal": word_set("in at for into"), "source": word_set("at out of"), "none": word_set("for of")}
_NAMED_BY = word_set("for is name under named passenger , me as it's called be that's")
_TIME_WORDS = word_set("""
    summer winter spring fall autumn morning evening afternoon night noon midnight weekend month week year day days time
    future end beginning meantime minutes hours moment
    """) | set(MONTHS)
_RANKS = word_set("cheapest first second third last one 1")
_TITLES = word_set("name passenger mister mr mrs ms miss doctor dr")
_VAGUE = word_set("place home house job office work apartment flat address hotel school")


@dataclass(slots=True, kw_only=True)
class Turn:
    """A tokenized turn with its mentions; `used` holds the tokens that already fill an argument."""

    tokens: Sequence[Token]
    mentions: Sequence[Mention]
    used: set[int] = field(default_factory=set)

    def of_kind(self, kind: str, request: Request | None) -> list[Mention]:
        """Unused mentions of a kind, in order; of one request or, with None, of the whole turn."""
        return [
            m
            for m in self.mentions
            if m.kind == kind
            and (request is None or request.covers(m.start))
            and not self.used & set(range(m.start, m.end))
            and not negated(self.tokens, m.start)
        ]

    def use(self, mentions: Iterable[Mention]) -> None:
        """Mark mentions as filling an argument."""
        for mention in mentions:
            self.used.update(range(mention.start, mention.end))


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


def settle(tokens: Sequence[Token], candidates: Sequence[Mention], several: bool) -> list[Mention]:
    """What is meant in the end: corrections replace what they take back, "and" adds where `several` is allowed."""
    values: list[Mention] = []
    for candidate in candidates:
        if not values:
            values.append(candidate)
            continue
        before = values[-1]
        more = joined(tokens, before.end, candidate.start) and not taken_back(tokens, before.end, candidate.start)
        if several and more:
            if candidate.value != before.value:
                values.append(candidate)
        else:
            values[-1] = candidate
    return values


def inherit_bounds(tokens: Sequence[Token], numbers: Sequence[Mention]) -> list[Mention]:
    """A number right after a correction keeps the bound and unit of the one it corrects."""
    result: list[Mention] = []
    for number in numbers:
        before = result[-1] if result else None
        if before and number.start - before.end <= 8 and _revised(tokens, before.end, number.start):
            number = replace(
                number,
                bound=number.bound or (before.bound and not number.unit.isalpha()) or before.bound,
                unit=number.unit or before.unit,
            )
        result.append(number)
    return result


def _revised(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Taken back, or said again at once in other words: "ninety, well, a hundred and ten"."""
    return taken_back(tokens, start, end) or (end - start <= 4 and "well" in {t.low for t in tokens[start:end]})


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


def _find_places(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
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
    return named or [p for p in phrases if p.cue == "is" and tokens_before(turn.tokens, p) == "the"]


def tokens_before(tokens: Sequence[Token], phrase: Mention) -> str:
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


def _find_persons(turn: Turn, scope: Request | None, parameter: Parameter) -> list[Mention]:
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
    "place": _find_places,
    "person": _find_persons,
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
