"""Shards of one selection joined to one run, as if it had been one; what is missing, and what must not be joined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.merged_folder import MergeRefused, Parts, write_merged
from pytest_voicebench.merging import agent_difference, check_same_mode, check_same_scores, damage_of
from pytest_voicebench.plan import INI_ASKED, UNKNOWN_AGENT, Plan
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RESULTS_NAME, read_results
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.sharding import Shard
from pytest_voicebench.some_names import some
from pytest_voicebench.writers.junit import JUNIT_NAME, read_cases

Json = Any

PACKAGE = "pytest-voicebench"
SHOWN_OF_THE_FIRST = {"given": "settings of agents", "prices": "prices"}
SAME_HEADER = {
    "rules": "rules of scoring",
    "words": "--voicebench-words",
    "trials": "--voicebench-trials",
    INI_ASKED: "gates and baseline of the ini file",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The shards by number, and a result for each item of the selection in its order, with the run it comes from.

    `holes` names in a line each what has no result; its items are `not_run`. `cautions` are one line each.
    """

    shards: tuple[SavedRun, ...]
    rows: tuple[tuple[Result, SavedRun], ...]
    holes: tuple[str, ...]
    cautions: tuple[str, ...]


def join(runs: Sequence[SavedRun]) -> Joined:
    """The runs as one. Raises MergeRefused where they are no shards of one selection held by the same agents under the
    same rules, or one of them is there twice."""
    parts = sorted(((_shard(run, runs), run) for run in runs), key=lambda part: part[0].number)
    first, *others = parts
    for other in others:
        _check_same_selection(first, other)
    _check_each_once(parts)
    for _, run in others:
        check_same_scores(first[1], run)
        check_same_mode(first[1], run)
        _check_same_header(first[1], run)
        _check_same_agents(first[1], run)
    _check_one_judge(runs)
    found = {result.item_id: (result, run) for _, run in parts for result in _as_written(run)}
    rows = [found.get(planned.item_id, (planned, first[1])) for planned in first[0].selection]
    return Joined(
        shards=tuple(run for _, run in parts),
        rows=tuple(rows),
        holes=tuple(_holes(parts, found)),
        cautions=tuple(_cautions([run for _, run in parts])),
    )


def refuse_holes(joined: Joined) -> None:
    """Raise MergeRefused where an item has no result."""
    if joined.holes:
        raise MergeRefused(f"{'; '.join(joined.holes)} (--allow-partial merges what is there)")


def _as_written(run: SavedRun) -> list[Result]:
    """The results without what the shard alone concluded: whose items those are that never met their agent."""
    log = read_results(run.folder).results if (run.folder / RESULTS_NAME).is_file() else ()
    met = {row.item_id for row in (*run.plan.items, *log) if row.agent != UNKNOWN_AGENT}
    return [r if r.item_id in met else replace(r, agent=UNKNOWN_AGENT) for r in run.results]


def _shard(run: SavedRun, runs: Sequence[SavedRun]) -> Shard:
    if run.plan.shard is None:
        other = next((r.name for r in runs if r is not run), "RERUN")
        raise MergeRefused(
            f"{run.folder}: no shard of a run (--voicebench-shard makes them); a rerun is laid over a run by "
            f"merge {run.name} --replace {other}"
        )
    return run.plan.shard


def _check_same_selection(first: tuple[Shard, SavedRun], other: tuple[Shard, SavedRun]) -> None:
    (one, run), (shard, another) = first, other
    if one.of != shard.of:
        raise MergeRefused(f"{another.folder}: {shard.name}, but {run.name} is {one.name}")
    if one.selection_sha256 == shard.selection_sha256:
        return
    ids = [{r.item_id for r in s.selection} for s in (one, shard)]
    differing = sorted(ids[0] ^ ids[1])
    what = f"only one of them selected {some(differing)}" if differing else "scenarios differ"
    raise MergeRefused(f"{another.folder}: {shard.name} of another selection than {run.name}: {what}")


def _check_each_once(parts: Sequence[tuple[Shard, SavedRun]]) -> None:
    seen: dict[int, SavedRun] = {}
    held: dict[str, SavedRun] = {}
    for shard, run in parts:
        if shard.number in seen:
            raise MergeRefused(f"{shard.name} is there twice: {seen[shard.number].folder} and {run.folder}")
        seen[shard.number] = run
        twice = [row.item_id for row in run.plan.items if row.item_id in held]
        if twice:
            raise MergeRefused(f"{run.folder}: holds items that {held[twice[0]].name} holds too: {some(twice)}")
        held |= {row.item_id: run for row in run.plan.items}


def _check_same_header(first: SavedRun, run: SavedRun) -> None:
    old, new = first.plan.header, run.plan.header
    for key, what in SAME_HEADER.items():
        if old.get(key) != new.get(key):
            raise MergeRefused(f"{run.folder}: {what}: {new.get(key)!r}, but {first.name} has {old.get(key)!r}")
    versions = [(header.get("versions") or {}).get(PACKAGE) for header in (old, new)]
    if versions[0] != versions[1]:
        raise MergeRefused(f"{run.folder}: {PACKAGE} {versions[1]}, but {first.name} has {versions[0]}")


def _check_same_agents(first: SavedRun, run: SavedRun) -> None:
    """An agent of a name is the same everywhere; where both shards met one agent, it is the same one."""
    old, new = (
        {r.agent.name: r.agent for r in (*saved.plan.selection, *saved.results) if r.agent != UNKNOWN_AGENT}
        for saved in (first, run)
    )
    pairs = [(old[name], new[name]) for name in old if name in new]
    if len(old) == len(new) == 1 and not any(map(_is_one_of_several, (*first.results, *run.results))):
        pairs = list(zip(old.values(), new.values(), strict=True))
    for before, after in pairs:
        if before != after:
            raise MergeRefused(f"{run.folder}: not the agent of {first.name}: {agent_difference(before, after)}")


def _is_one_of_several(result: Result) -> bool:
    """Whether the id begins with the agent, because there are several."""
    return not result.item_id.startswith(result.facts.scenario_id)


def _check_one_judge(runs: Sequence[SavedRun]) -> None:
    judges = {judgement.judge: run for run in runs for judgement in run.judgements}
    if len(judges) > 1:
        (one, first), (other, second), *_ = judges.items()
        raise MergeRefused(f"{second.folder}: judged by {other.model}, but {first.name} by {one.model}")


def _holes(parts: Sequence[tuple[Shard, SavedRun]], found: dict[str, tuple[Result, SavedRun]]) -> Iterator[str]:
    shard = parts[0][0]
    missing = sorted(set(range(1, shard.of + 1)) - {part.number for part, _ in parts})
    absent = [row.item_id for row in shard.selection if row.item_id not in found]
    if missing:
        many = noun_for(len(missing), "shard")
        numbers = ", ".join(map(str, missing))
        yield f"{many} {numbers} of {shard.of} missing, {counted(len(absent), 'item')}: {some(absent) or 'none'}"
    elif absent:
        yield f"in no shard: {some(absent)}"
    for part, run in parts:
        if run.damage_told:
            yield run.damage_told
        not_run = [row.item_id for row in run.results if row.outcome == "not_run"]
        if not_run:
            yield f"{run.name} ({part.name}) did not run {len(not_run)} of its items: {some(not_run)}"


def _cautions(runs: Sequence[SavedRun]) -> Iterator[str]:
    """Versions of other packages that are not the same everywhere."""
    versions = [run.plan.header.get("versions") or {} for run in runs]
    for name in dict.fromkeys(name for found in versions for name in found):
        values = sorted({str(found.get(name)) for found in versions})
        if len(values) > 1:
            yield f"the shards ran with different versions of {name}: {', '.join(values)}"
    for key, what in SHOWN_OF_THE_FIRST.items():
        if any(run.plan.header.get(key) != runs[0].plan.header.get(key) for run in runs):
            yield f"the shards ran with different {what}: shown are those of {runs[0].name}"


def join_text(joined: Joined) -> str:
    """`8 of 8 shards, 100 items: RUN, RUN, ...`."""
    of = joined.shards[0].plan.shard.of if joined.shards[0].plan.shard else len(joined.shards)
    names = ", ".join(run.name for run in joined.shards)
    return f"{len(joined.shards)} of {counted(of, 'shard')}, {counted(len(joined.rows), 'item')}: {names}"


def write_joined(joined: Joined, out: Path) -> SavedRun:
    """A run folder that stands alone (see `write_merged`, which says what it raises), as read back from it."""
    first = joined.shards[0]
    planned = {row.item_id: row for run in joined.shards for row in run.plan.items}
    plan = Plan(
        collected=first.plan.collected,
        items=tuple(planned.get(row.item_id, row) for row in first.plan.selection),
        header=_header(joined, out),
        notices=tuple(n for n in first.plan.notices if n != first.plan.header.get("shard")),
        sources=first.plan.sources,
    )
    cases = {name: case for run in joined.shards for name, case in read_cases(run.folder / JUNIT_NAME).items()}
    judgements = [judgement for run in joined.shards for judgement in run.judgements]
    return write_merged(Parts(plan=plan, rows=joined.rows, judgements=judgements, cases=cases), out)


def _withheld(headers: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """What any of the shards did not keep, the whole has not."""
    found = [header["withheld"] for header in headers if isinstance(header.get("withheld"), Mapping)]
    if not found:
        return {}
    sound, patterns = any(one.get("sound") for one in found), max(one.get("patterns") or 0 for one in found)
    return {"withheld": {"sound": sound, "patterns": patterns}}


def _header(joined: Joined, out: Path) -> dict[str, Json]:
    headers = [run.header for run in joined.shards]
    started = [header["started_at"] for header in headers if header.get("started_at")]
    kept = {key: value for key, value in headers[0].items() if key not in ("shard", "resumed", "judge", INI_ASKED)}
    return {
        **kept,
        "run": out.name,
        **({"started_at": min(started)} if started else {}),
        **_withheld(headers),
        **damage_of(joined.shards),
        "shards": join_text(joined),
    }
