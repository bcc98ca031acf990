"""Whether an agent got worse: two runs over the same items, agent by agent and metric by metric, with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_voicebench.comparing import MADE_BY, differences_around
from pytest_voicebench.counted import counted
from pytest_voicebench.decisions import AgentComparison, BaselineComparison
from pytest_voicebench.regression.measures import USUAL
from pytest_voicebench.regression.metrics import Question, compared_metrics
from pytest_voicebench.regression.pairs import Paired, pair_up
from pytest_voicebench.result import Result, score_sets
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.some_names import some
from pytest_voicebench.summarizing.agents import by_name
from pytest_voicebench.writers.comparison import difference_text

__all__ = ["Question", "compare_with_baseline"]


def compare_with_baseline(before: SavedRun, after: SavedRun, questions: Sequence[Question] = ()) -> BaselineComparison:
    """The run `after` against the baseline `before`, over the items that both measured and that ask the same.

    `questions` are asked together, Pass@1 alone where there are none; the usual metrics that are not among them follow
    as a family of their own. Agents meet by name; where either run has one agent, and the other has one, whatever they
    are called. Refused where the scores were made by other rules, or a run could not be read whole.
    """
    reason = _refusal(before, after)
    if reason is not None:
        return BaselineComparison(run=before.name, compared=0, refused=reason)
    met = list(_agents(before, after))
    paired = {names: pair_up(old, new) for names, old, new in met}
    agents = tuple(_compared(names, rows, questions) for names, rows in paired.items())
    found = list(paired.values())
    pairs = [(pair.before, pair.after) for rows in found for pair in rows.pairs]
    return BaselineComparison(
        run=before.name,
        compared=len(pairs),
        agents=agents,
        only_before=_ids(rows.only_before for rows in found),
        only_after=_ids(rows.only_after for rows in found),
        changed=_ids(rows.changed for rows in found),
        unmeasured=_ids(rows.unmeasured for rows in found),
        cautions=(
            *before.notes,
            *_cautions(before, after, pairs),
            *_judges(before, after),
            *_picked(before),
            *_picked(after),
        ),
    )


def _cautions(before: SavedRun, after: SavedRun, pairs: Sequence[tuple[Result, Result]]) -> Iterator[str]:
    """What else is not the same; of a results.jsonl alone nobody knows by which versions it was made."""
    bare = "versions" not in before.header
    if bare:
        yield f"{before.name} does not say by which versions and rules it was made"
    for difference in differences_around(before, after, pairs):
        if not (bare and difference.name == MADE_BY):
            yield difference_text(difference, len(pairs))


def _picked(run: SavedRun) -> Iterator[str]:
    """A rerun laid over a failure, where it passed: of several tries the one that is liked is no measurement."""
    picked = [row.item_id for row in run.results if row.outcome == "passed" and "failed" in row.attempts[:-1]]
    if picked:
        many = counted(len(picked), "item")
        yield f"{run.name}: {many} failed before a rerun that passed was laid over: {some(picked)}"


def _ids(groups: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))


def _refusal(before: SavedRun, after: SavedRun) -> str | None:
    """Why the runs' figures do not mean the same."""
    damaged = [run.damage_told for run in (before, after) if run.damage is not None]
    if damaged:
        return damaged[0]
    sets = [score_sets(run.results) for run in (before, after)]
    if not all(sets):
        empty = before if not sets[0] else after
        return f"{empty.name}: no item was measured"
    if sets[0] != sets[1]:
        told = [" and ".join(names) for names in sets]
        again = "" if before.folder.suffix == ".jsonl" else f"; judge it again: --voicebench-rescore {before.name}"
        return f"{before.name} has the scores {told[0]}, this run {told[1]}{again}"
    return None


def _agents(before: SavedRun, after: SavedRun) -> Iterator[tuple[tuple[str, str], list[Result], list[Result]]]:
    """The names and items of agents that meet."""
    old, new = by_name(before.results), by_name(after.results)
    if len(old) == len(new) == 1:
        (first,), (second,) = old, new
        yield (first, second), old[first], new[second]
        return
    for name in new:
        if name in old:
            yield (name, name), old[name], new[name]


def _compared(names: tuple[str, str], paired: Paired, questions: Sequence[Question]) -> AgentComparison:
    questions = questions or (Question(metric=USUAL[0]),)
    asked = {(question.metric, question.group) for question in questions}
    others = [Question(metric=name) for name in USUAL if (name, None) not in asked]
    rows = compared_metrics(paired.pairs, questions), compared_metrics(paired.pairs, others)
    return AgentComparison(
        name=names[1],
        before=names[0],
        metrics=(*rows[0], *(replace(row, asked=False) for row in rows[1])),
        newly_failed=tuple(p.after.item_id for p in paired.pairs if p.cards[0].passed and not p.cards[1].passed),
        newly_passed=tuple(p.after.item_id for p in paired.pairs if p.cards[1].passed and not p.cards[0].passed),
    )


def _judges(before: SavedRun, after: SavedRun) -> Iterator[str]:
    judges = [run.header.get("judge") for run in (before, after)]
    if judges[0] != judges[1]:
        told = [judge or "none" for judge in judges]
        yield f"judge: {told[0]} -> {told[1]}: what judges said is not compared"
