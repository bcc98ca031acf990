"""A rerun laid over a run: which item's result comes from where, and the folder that holds both together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.counted import counted
from pytest_voicebench.merged_folder import MergeRefused, Parts, write_merged
from pytest_voicebench.plan import DAMAGE, UNKNOWN_AGENT
from pytest_voicebench.result import VALID, Result, score_sets
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.some_names import some

__all__ = ["Merge", "MergeRefused", "Replacement", "lay_over", "merge_text", "write_merge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """One item of the rerun: what it was in the run, what it is in the rerun, and whether the rerun's was taken."""

    item_id: str
    before: str
    after: str
    taken: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """The results in the run's order, each with the name of the run it comes from, and what became of the rerun's."""

    results: tuple[Result, ...]
    laid: tuple[Replacement, ...]

    @property
    def taken(self) -> int:
        """How many results come from the rerun."""
        return sum(item.taken for item in self.laid)


def lay_over(run: SavedRun, rerun: SavedRun) -> Merge:
    """The run's results, those of the rerun in place of theirs.

    A result that was measured replaces whatever was there, also a failure: laying it over is what was asked for, and
    the outcome before it is kept in `attempts`. An error replaces only what was not measured either. Raises
    MergeRefused where the rerun has items that the run lacks, or scenarios, agents or scores are not the same.
    """
    if run.name == rerun.name:
        raise MergeRefused(f"{rerun.folder}: {run.name} cannot be laid over a run of the same name")
    reruns = {result.item_id: result for result in rerun.results if result.outcome != "not_run"}
    _check_items(run, rerun, reruns)
    check_same_scores(run, rerun)
    check_same_mode(run, rerun)
    results, laid = [], []
    for result in run.results:
        new = reruns.get(result.item_id)
        taken = new is not None and _replaces(new, result)
        if new is not None:
            laid.append(Replacement(item_id=result.item_id, before=result.outcome, after=new.outcome, taken=taken))
        results.append(_from(rerun, _with_attempt(new, result)) if new is not None and taken else _from(run, result))
    return Merge(results=tuple(results), laid=tuple(laid))


def _replaces(new: Result, old: Result) -> bool:
    if new.outcome in VALID or old.outcome == "not_run":
        return True
    return new.outcome == "error" and old.outcome not in VALID


def _with_attempt(new: Result, old: Result) -> Result:
    earlier = () if old.outcome == "not_run" else old.attempts or (old.outcome,)
    return replace(new, attempts=(*earlier, *(new.attempts or (new.outcome,))) if earlier else new.attempts)


def _from(run: SavedRun, result: Result) -> Result:
    return result if result.taken_from else replace(result, taken_from=run.name)


def _check_items(run: SavedRun, rerun: SavedRun, reruns: Mapping[str, Result]) -> None:
    if not reruns:
        raise MergeRefused(f"{rerun.folder}: holds no item that ran")
    old = {result.item_id: result for result in run.results}
    unknown = [item_id for item_id in reruns if item_id not in old]
    if unknown:
        raise MergeRefused(f"{rerun.folder}: has items that {run.name} lacks: {some(unknown)}")
    pairs = [(old[item_id], new) for item_id, new in reruns.items()]
    changed = [new.item_id for before, new in pairs if not _same_scenario(before, new)]
    if changed:
        raise MergeRefused(
            f"{rerun.folder}: scenarios changed since {run.name} (their hashes differ or are missing): {some(changed)}"
        )
    for before, new in pairs:
        if UNKNOWN_AGENT not in (before.agent, new.agent) and before.agent != new.agent:
            difference = agent_difference(before.agent, new.agent)
            raise MergeRefused(f"{rerun.folder}: {new.item_id}: not the agent of {run.name}: {difference}")


def _same_scenario(old: Result, new: Result) -> bool:
    hashes = [(r.facts.scenario_sha256, r.facts.expect_sha256) for r in (old, new)]
    return hashes[0] == hashes[1] and all(hashes[0])


def agent_difference(old: AgentInfo, new: AgentInfo) -> str:
    """What is not the same, as `model 'b' instead of 'a'`."""
    differing = [
        f"{f.name} {getattr(new, f.name)!r} instead of {getattr(old, f.name)!r}"
        for f in fields(AgentInfo)
        if getattr(old, f.name) != getattr(new, f.name)
    ]
    return ", ".join(differing)


def check_same_scores(run: SavedRun, rerun: SavedRun) -> None:
    """Raise MergeRefused where another score set, or another version of it, made the results."""
    sets = [score_sets(saved.results) for saved in (run, rerun)]
    if len({*sets[0], *sets[1]}) > 1:
        names = [" and ".join(found) or "none" for found in sets]
        raise MergeRefused(f"{rerun.folder}: scores {names[1]}, but {run.name} has {names[0]}")


def check_same_mode(run: SavedRun, other: SavedRun) -> None:
    """Raise MergeRefused where one run held conversations and the other judged saved ones again, or was imported."""
    if mode_of(run) != mode_of(other):
        raise MergeRefused(f"{other.folder}: {mode_of(other)}, but {run.name} is {mode_of(run)}: never one table")


def mode_of(run: SavedRun) -> str:
    """How the run came by its conversations: `live`, `rescored`, or `imported`."""
    if run.header.get("rescored_from"):
        return "rescored"
    return "imported" if run.header.get("imported") else "live"


def damage_of(runs: Iterable[SavedRun]) -> dict[str, str]:
    """For the head of a run made from these: which of them could not be read whole; nothing where all could."""
    told = "; ".join(filter(None, (run.damage_told for run in runs)))
    return {DAMAGE: told} if told else {}


def merge_text(merge: Merge, run: SavedRun, rerun: SavedRun) -> str:
    """`17 of 100 items from RERUN laid over RUN: 3 failed -> passed, 14 passed -> passed`."""
    changes = Counter(f"{item.before} -> {item.after}" for item in merge.laid if item.taken)
    told = ", ".join(f"{number} {change}" for change, number in sorted(changes.items())) or "nothing was measured"
    return f"{merge.taken} of {counted(len(merge.results), 'item')} from {rerun.name} laid over {run.name}: {told}"


def write_merge(merge: Merge, run: SavedRun, rerun: SavedRun, out: Path) -> SavedRun:
    """A run folder that stands alone (see `write_merged`, which says what it raises), as read back from it; what judges
    said comes with each result."""
    taken = {item.item_id for item in merge.laid if item.taken}
    header = {**run.header, "run": out.name, "merged": merge_text(merge, run, rerun), **damage_of((run, rerun))}
    judgements = [
        *(j for j in run.judgements if j.item_id not in taken),
        *(j for j in rerun.judgements if j.item_id in taken),
    ]
    rows = [(result, rerun if result.item_id in taken else run) for result in merge.results]
    return write_merged(Parts(plan=replace(run.plan, header=header), rows=rows, judgements=judgements), out)
