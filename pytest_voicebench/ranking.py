"""Agents of several runs ranked by Pass@1 over the items that all of them measured, and which cannot be told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, count, product
from string import ascii_lowercase
from typing import cast

from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.plan import UNKNOWN_AGENT
from pytest_voicebench.published import PUBLISHED, STRATA
from pytest_voicebench.regression.pairs import Key, key_of
from pytest_voicebench.regression.rates import sign_flip_p
from pytest_voicebench.regression.verdicts import holm
from pytest_voicebench.result import VALID, Result, score_sets
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.standings import ALPHA, OfficialRow, Pairing, Ranked, Ranking
from pytest_voicebench.summarizing import summarize_agent
from pytest_voicebench.summarizing.official import summarize_official

MOST_NAMES = 5


class RankingRefused(Exception):  # noqa: N818 - says what is the case, for a person
    """Runs whose figures must not stand in one table; one line that says why."""


def rank(runs: Sequence[SavedRun]) -> Ranking:
    """The agents of these runs, best first; equal ones by name.

    Compared are items that ask and expect the same (their hashes are equal) and that every agent was measured in.
    Raises RankingRefused where there are none, where scores were made by different rules, or a run is given twice.
    """
    entries = _entries(runs)
    _check_scores(entries)
    measured = {name: _by_key(rows) for name, (_, rows) in entries.items()}
    common = _common(measured)
    if not common:
        raise RankingRefused(_why_none(measured))
    kept = {name: [rows[key] for key in common] for name, rows in measured.items()}
    passed = {name: sum(row.outcome == "passed" for row in rows) for name, rows in kept.items()}
    order = sorted(kept, key=lambda name: (-passed[name], name))
    pairings = _pairings({name: kept[name] for name in order})
    letters = _letters(order, {(p.first, p.second) for p in pairings if p.p_corrected < ALPHA})
    stimuli = sorted({row.facts.stimulus for rows in kept.values() for row in rows})
    human = stimuli == ["human"] and all(row.official and row.trial is None for rows in kept.values() for row in rows)
    return Ranking(
        suites=tuple(sorted({key[0] for key in common})),
        stimulus=stimuli[0] if len(stimuli) == 1 else "mixed",
        items=len(common),
        rows=tuple(
            Ranked(
                name=name,
                run=entries[name][0].name,
                mode=str(entries[name][0].header.get("mode", "unknown")),
                place=1 + sum(other > passed[name] for other in passed.values()),
                groups=letters[name],
                measured=len(measured[name]),
                scores=summarize_agent(kept[name]),
            )
            for name in order
        ),
        pairings=pairings,
        notices=(*filter(None, (run.damage_told for run in runs)), *_unmeasured(entries), *_notices(measured, kept)),
        official=_official(kept, order) if human else (),
        published=PUBLISHED if human and all(map(_is_benchmark, kept.values())) else (),
    )


def _is_benchmark(rows: Iterable[Result]) -> bool:
    """Whether they are as many of each domain and difficulty as the benchmark has, which other suites have not."""
    found = Counter((row.facts.domain, row.facts.difficulty) for row in rows)
    return found == {(domain, level): n for domain, levels in STRATA.items() for level, n in levels.items()}


def _entries(runs: Sequence[SavedRun]) -> dict[str, tuple[SavedRun, list[Result]]]:
    """Every agent of every run by a name of its own: where two have the same, with its settings, then with its run."""
    names = [run.name for run in runs]
    for name, number in Counter(names).items():
        if number > 1:
            raise RankingRefused(f"{name} is given {counted(number, 'time')}: a run cannot be compared with itself")
    found: list[tuple[str, SavedRun, list[Result]]] = []
    for run in runs:
        agents: dict[str, list[Result]] = {}
        for row in run.results:
            if row.agent != UNKNOWN_AGENT:
                agents.setdefault(row.agent.name, []).append(row)
        found += [(name, run, rows) for name, rows in agents.items()]
    shared = Counter(name for name, _, _ in found)
    found = [(run.called(name) if shared[name] > 1 else name, run, rows) for name, run, rows in found]
    shared = Counter(name for name, _, _ in found)
    return {f"{name} ({run.name})" if shared[name] > 1 else name: (run, rows) for name, run, rows in found}


def _check_scores(entries: Mapping[str, tuple[SavedRun, list[Result]]]) -> None:
    sets = {name: score_sets(rows) for name, (_, rows) in entries.items()}
    nobody = [name for name, found in sets.items() if not found]
    if nobody or not sets:
        raise RankingRefused(f"nothing was measured of {', '.join(nobody) or 'any agent'}")
    if len(set().union(*sets.values())) > 1:
        told = "; ".join(f"{name}: {' and '.join(found)}" for name, found in sets.items())
        raise RankingRefused(f"scores by different rules cannot be ranked ({told}): --voicebench-rescore the older run")


def _by_key(rows: Iterable[Result]) -> dict[Key, Result]:
    """The measured items by suite, scenario, speaker and trial."""
    return {key_of(row): row for row in rows if row.outcome in VALID}


def _common(measured: Mapping[str, Mapping[Key, Result]]) -> list[Key]:
    first, *others = measured.values()
    return [key for key, row in first.items() if all(key in rows and _same(row, rows[key]) for rows in others)]


def _same(a: Result, b: Result) -> bool:
    hashes = [(row.facts.scenario_sha256, row.facts.expect_sha256) for row in (a, b)]
    return hashes[0] == hashes[1] and all(hashes[0])


def _why_none(measured: Mapping[str, Mapping[Key, Result]]) -> str:
    suites = {name: sorted({key[0] for key in rows}) for name, rows in measured.items()}
    if len({tuple(found) for found in suites.values()}) > 1:
        told = "; ".join(f"{name}: {', '.join(found)}" for name, found in suites.items())
        return f"no item was measured of every agent: they ran other suites ({told})"
    return "no item that asks and expects the same was measured of every agent: suites changed between the runs"


def _unmeasured(entries: Mapping[str, tuple[SavedRun, list[Result]]]) -> Iterator[str]:
    """Whose figures lack items that were to be measured."""
    missing = {name: sum(row.outcome not in VALID for row in rows) for name, (_, rows) in entries.items()}
    told = ", ".join(f"{number} of {name}" for name, number in missing.items() if number)
    if told:
        yield f"planned and not measured, so in nobody's figures: {told}"


def _notices(measured: Mapping[str, Mapping[Key, Result]], kept: Mapping[str, Sequence[Result]]) -> Iterable[str]:
    """What the table does not show, or must not be read from it."""
    items = len(next(iter(kept.values())))
    left = {name: len(rows) - items for name, rows in measured.items() if len(rows) > items}
    if left:
        told = ", ".join(f"{number} of {name}" for name, number in left.items())
        same = noun_for(items, "that asks the same and was measured", "that ask the same and were measured")
        yield f"over the {counted(items, 'item')} {same} of every agent; left out: {told}"
    rows = [row for own in kept.values() for row in own]
    if any(row.facts.stimulus == "synthetic" for row in rows):
        yield "synthetic speech: not comparable with published figures"
    if len({row.agent.clock for row in rows}) > 1:
        yield "latencies on the virtual clock and on the wall clock are not comparable with each other"


def _pairings(kept: Mapping[str, Sequence[Result]]) -> tuple[Pairing, ...]:
    found = []
    for first, second in combinations(kept, 2):
        pairs = [(a.outcome == "passed", b.outcome == "passed") for a, b in zip(kept[first], kept[second], strict=True)]
        drops: dict[Hashable, int] = {}
        for (a, b), row in zip(pairs, kept[first], strict=True):
            scenario = (row.facts.suite, row.facts.scenario_id)
            drops[scenario] = drops.get(scenario, 0) + a - b
        found.append(
            Pairing(
                first=first,
                second=second,
                won=sum(a and not b for a, b in pairs),
                lost=sum(b and not a for a, b in pairs),
                p=two_sided_p(list(drops.values())),
                p_corrected=1.0,
            )
        )
    corrected = cast("list[float]", holm([one.p for one in found]))
    return tuple(replace(one, p_corrected=p) for one, p in zip(found, corrected, strict=True))


def two_sided_p(drops: Sequence[int]) -> float:
    """How often two equal agents differ at least as much, either way: exact, scenarios as in `sign_flip_p`, so that two
    speakers of one scenario do not count double."""
    return min(1.0, 2 * min(sign_flip_p(drops), sign_flip_p([-drop for drop in drops])))


def _letters(names: Sequence[str], apart: set[tuple[str, str]]) -> dict[str, str]:
    """For each agent the letters of the largest groups it is in, of agents no two of which can be told apart. With
    commas, as in `a,ab`, where there are more groups than letters."""
    groups = sorted(_groups(names, apart), key=lambda group: min(map(names.index, group)))
    words = ("".join(word) for size in count(1) for word in product(ascii_lowercase, repeat=size))
    lettered = list(zip(groups, words, strict=False))
    between = "," if len(groups) > len(ascii_lowercase) else ""
    return {name: between.join(word for group, word in lettered if name in group) for name in names}


def _groups(names: Sequence[str], apart: set[tuple[str, str]]) -> list[frozenset[str]]:
    """The largest sets of agents no two of which can be told apart: each pair that can splits the sets that hold both.

    Source: insert and absorb of Piepho, J. Comput. Graph. Statist. 13 (2004) 456-466.
    """
    groups = [frozenset(names)]
    for pair in sorted(apart):
        both = [group for group in groups if group.issuperset(pair)]
        groups = [group for group in groups if not group.issuperset(pair)]
        parts = [group - {one} for group in both for one in pair]
        groups += [part for part in parts if not any(part <= group for group in groups)]
    return groups


def _official(kept: Mapping[str, Sequence[Result]], order: Sequence[str]) -> tuple[OfficialRow, ...]:
    summary = summarize_official([(name, list(kept[name])) for name in order])
    return tuple(
        OfficialRow(
            name=name,
            items=agent.items,
            passed=agent.pass_rate.k,
            f1=agent.by_metric.tool_selection_f1.value,
            argument_accuracy=agent.by_metric.argument_accuracy.value,
            turn_take_rate=agent.turn_take_rate.value,
            interruption_rate=agent.interruption_rate.value,
        )
        for name, agent in zip(order, summary.agents if summary else (), strict=True)
    )
