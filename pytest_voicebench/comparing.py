"""What moved between two runs: item by item, which outcome and which scores, and what else differs around them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from pytest_voicebench.codec import to_json
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.plan import UNKNOWN_AGENT
from pytest_voicebench.result import VALID, Result, score_sets
from pytest_voicebench.saved_run import SavedRun

Json = Any

SCORES = "scores"
"""The difference that other rules made the scores."""

MADE_BY = "versions and rules"
"""The difference that of one run nobody knows how it was made."""

FIRST_NAMES = (
    "passed", "tools_ok", "args_ok", "spoke", "f1_names", "f1_match", "argument_accuracy", "",
    "times.first_response_latency_s", "times.tool_call_latency_s", "times.task_completion_latency_s", "times.cause",
    "manners.turn_taken", "manners.interrupted", "manners.filler", "manners.preemptive",
)  # fmt: skip
"""Scores in the order in which they are told, "" for single arguments; all others follow as the scorecard has them."""

_OF_AN_ARGUMENT = re.compile(r"\w+\[\d+\]\.\w+\.(verdict|actual|expected|cause)")

_OF_A_CALL = ("expected", "actual", "retracted", "final")  # values of arguments, whole: their keys are the suite's own

_WORDING = ("reason", "version", "score_set")  # how a verdict is explained, and which rules made it: no score of itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One value of an item that is not the same in both runs. `name` is its path in the result; None = not there."""

    name: str
    before: Json
    after: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """An item of both runs of which something moved: its outcomes, and every score that is not the same."""

    item_id: str
    agent: str
    before: str
    after: str
    moved: tuple[Moved, ...]

    @property
    def flipped(self) -> bool:
        """Whether it passed in one run and failed in the other."""
        return {self.before, self.after} == set(VALID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Something around the scores that is not the same: a version, a clock, a setting, a hash of these items."""

    name: str
    before: Json
    after: Json
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs side by side. `compared` counts the items that both have; `around` explains, and moves no score.

    `other_requests` have the same name in both runs and ask something else: they are not compared. `agents_before` and
    `agents_after` name who ran. `damaged` says, in a line each, which run could not be read whole.
    """

    before: str
    after: str
    compared: int
    changes: tuple[ItemChange, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    around: tuple[Difference, ...]
    other_requests: tuple[str, ...] = ()
    agents_before: tuple[str, ...] = ()
    agents_after: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether something was compared, and both runs have, whole, the same items with the same outcomes and scores
        by the same rules."""
        left = self.only_before or self.only_after or self.other_requests or self.damaged
        return bool(self.compared) and not (self.changes or left or any(d.name == SCORES for d in self.around))


def compare_runs(before: SavedRun, after: SavedRun) -> Comparison:
    """Every item of both runs that asks the same, its `scenario_sha256` says so; what is expected of it may differ.

    Items are matched by their id, else by scenario and speaker, and where a run has several agents by the agent's name.
    Compared are outcome, kind and cause of an error, how the conversation ended and how long it was, and every value
    of the scorecard but the wording of reasons. Where and when a run was made is no difference.
    """
    matched = _matched(before, after)
    pairs = [(a, b) for a, b in matched if a.facts.scenario_sha256 == b.facts.scenario_sha256]
    cards = [(_cards(a), _cards(b)) for a, b in pairs]
    once = _measured_once(cards)
    changes = [
        _change(a, b, _values(a, card_a, once), _values(b, card_b, once))
        for (a, b), (card_a, card_b) in zip(pairs, cards, strict=True)
    ]
    met = [{id(pair[side]) for pair in matched} for side in (0, 1)]
    return Comparison(
        before=before.name,
        after=after.name,
        compared=len(pairs),
        changes=tuple(change for change in changes if change.moved),
        only_before=tuple(row.item_id for row in before.results if id(row) not in met[0]),
        only_after=tuple(row.item_id for row in after.results if id(row) not in met[1]),
        around=(*_run_differences(before, after), *once.values(), *_item_differences(pairs)),
        other_requests=tuple(b.item_id for a, b in matched if a.facts.scenario_sha256 != b.facts.scenario_sha256),
        agents_before=agents_of(before),
        agents_after=agents_of(after),
        damaged=tuple(told for run in (before, after) if (told := run.damage_told)),
    )


def differences_around(
    before: SavedRun, after: SavedRun, pairs: Sequence[tuple[Result, Result]]
) -> tuple[Difference, ...]:
    """What is not the same around the scores of these items: versions, rules, how a run was made, its agents."""
    return (*_run_differences(before, after), *_item_differences(pairs))


def agents_of(run: SavedRun) -> tuple[str, ...]:
    """The names of the run's agents, in its order."""
    return tuple(dict.fromkeys(row.agent.name for row in run.results if row.agent != UNKNOWN_AGENT))


def of_agent(run: SavedRun, name: str) -> SavedRun:
    """The run with the items of that agent alone; whole where it has one agent, whatever that is called.

    Raises ValueError, in one line, where none of its agents has that name.
    """
    names = agents_of(run)
    if len(names) < 2:
        return run
    if name not in names:
        raise ValueError(f"{run.name} has no agent {name!r}; it has {', '.join(names)}")
    return replace(run, results=tuple(row for row in run.results if row.agent.name == name))


def _matched(before: SavedRun, after: SavedRun) -> list[tuple[Result, Result]]:
    """The items that are one and the same in both runs, in the order of the first.

    By id first. The ids of a run of several agents begin with the agent, those of several speakers end with the
    speaker or the trial: what is left is matched by scenario, speaker and trial, where no more than one of each run can
    be meant. What a run without trials held is the first trial of one with.
    """
    several = any(len(agents_of(run)) > 1 for run in (before, after))

    def agent(row: Result) -> str:  # one against one is a fair question, whatever they are called
        return row.agent.name if several else ""

    found = _by(lambda r: (r.item_id, agent(r)), before.results, after.results)
    met = {id(row) for pair in found for row in pair}
    left = [[row for row in run.results if id(row) not in met] for run in (before, after)]
    found += _by(lambda r: (r.facts.scenario_id, r.facts.speaker, r.trial or 1, agent(r)), *left)
    place = {id(row): number for number, row in enumerate(before.results)}
    return sorted(found, key=lambda pair: place[id(pair[0])])


def _by(
    key: Callable[[Result], Hashable], before: Sequence[Result], after: Sequence[Result]
) -> list[tuple[Result, Result]]:
    """Pairs of rows whose key is the same, and only theirs in their run."""
    counts = [Counter(map(key, rows)) for rows in (before, after)]
    new = {key(row): row for row in after}
    return [(row, new[at]) for row in before if (at := key(row)) in new and counts[0][at] == counts[1][at] == 1]


def _change(before: Result, after: Result, old: Mapping[str, Json], new: Mapping[str, Json]) -> ItemChange:
    names = sorted(dict.fromkeys([*old, *new]), key=_rank)
    both = ((name, old.get(name), new.get(name)) for name in names)
    moved = [Moved(name=name, before=a, after=b) for name, a, b in both if not json_equal(a, b)]
    return ItemChange(
        item_id=after.item_id,
        agent=after.agent.name,
        before=before.outcome,
        after=after.outcome,
        moved=tuple(moved),
    )


def _rank(name: str) -> int:
    if _OF_AN_ARGUMENT.fullmatch(name):
        return FIRST_NAMES.index("")
    return FIRST_NAMES.index(name) if name in FIRST_NAMES else len(FIRST_NAMES)


def _cards(row: Result) -> dict[str, Json]:
    """The fields of the item's scorecard, and the official card."""
    card = to_json(row.scorecard) or {}
    return {**card, "official": to_json(row.official)}


def _measured_once(cards: Sequence[tuple[Mapping[str, Json], Mapping[str, Json]]]) -> dict[str, Difference]:
    """Groups of scores that one of the runs has for none of its items: it was made before there were such."""
    scored = [pair for pair in cards if all(len(card) > 1 for card in pair)]
    names = dict.fromkeys(n for pair in scored for card in pair for n, value in card.items() if isinstance(value, dict))
    found = {}
    for name in names:
        before, after = (any(pair[side].get(name) is not None for pair in scored) for side in (0, 1))
        if before != after:
            words = ["measured" if there else "not measured" for there in (before, after)]
            found[name] = Difference(name=f"scores.{name}", before=words[0], after=words[1])
    return found


def _values(row: Result, card: Mapping[str, Json], leave_out: Container[str]) -> dict[str, Json]:
    """What is compared of an item, flat: the path of each value, as in `search_flights[0].date.verdict`."""
    found: dict[str, Json] = {
        "outcome": row.outcome,
        "error_kind": row.error_kind,
        "cause": row.cause,
        "ended": row.ended,
        "duration_s": row.duration_s,
        **dict(_flat({name: value for name, value in card.items() if name not in leave_out}, "")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _flat(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            name = f"{path}.{key}" if path else key
            if key in _OF_A_CALL:
                yield name, entry
            elif key not in _WORDING:
                yield from _flat(entry, name)
    elif isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        for number, entry in enumerate(value):
            yield from _flat(entry, _entry_path(path, number, entry))
    else:
        yield path, value


def _entry_path(path: str, number: int, entry: Json) -> str:
    """A pair is told by its tool and place, its arguments by their names, anything else by its number."""
    if path == "pairs":
        return f"{entry['tool']}[{number}]"
    if path.endswith(".arguments") and isinstance(entry, dict) and isinstance(entry.get("name"), str):
        return f"{path.removesuffix('.arguments')}.{entry['name']}"
    return f"{path}[{number}]"


def _run_differences(before: SavedRun, after: SavedRun) -> Iterator[Difference]:
    """What the heads of the runs say of how they were made."""
    old, new = before.header, after.header
    for name in ("rescored_from", "merged"):
        if old.get(name) != new.get(name):
            yield Difference(name=name, before=old.get(name), after=new.get(name))
    scores = score_sets(before.results), score_sets(after.results)
    if scores[0] != scores[1]:
        yield Difference(name=SCORES, before=scores[0], after=scores[1])
    known = ["known" if "versions" in header else "not known" for header in (old, new)]
    if known[0] != known[1]:  # of a results.jsonl alone nobody knows by which it was made
        yield Difference(name=MADE_BY, before=known[0], after=known[1])
        return
    for group in ("rules", "versions"):
        yield from _mapping_differences(group, _mapping(old.get(group)), _mapping(new.get(group)))


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _mapping_differences(group: str, old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[Difference]:
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield Difference(name=f"{group}.{name}", before=old.get(name), after=new.get(name))


def _item_differences(pairs: Sequence[tuple[Result, Result]]) -> Iterator[Difference]:
    """Agents that are not the same, and scenarios that expect something else, each with its items."""
    agents: dict[tuple[str, str, str], list[str]] = {}
    for a, b in pairs:
        if UNKNOWN_AGENT not in (a.agent, b.agent):
            for name, old, new in _agent_differences(a.agent, b.agent):
                agents.setdefault((name, str(old), str(new)), []).append(b.item_id)
    for (name, old, new), items in agents.items():
        yield Difference(name=f"agent.{name}", before=old, after=new, items=tuple(items))
    for name in ("expect_sha256", "known_issue"):
        changed = tuple(b.item_id for a, b in pairs if getattr(a.facts, name) != getattr(b.facts, name))
        if changed:
            yield Difference(name=name, before=None, after=None, items=changed)


def _agent_differences(old: AgentInfo, new: AgentInfo) -> Iterator[tuple[str, Json, Json]]:
    for f in fields(AgentInfo):
        a, b = getattr(old, f.name), getattr(new, f.name)
        if f.name == "settings":
            yield from ((d.name, d.before, d.after) for d in _mapping_differences("settings", a, b))
        elif a != b:
            yield f.name, a, b
