"""A run read back from its folder: what was planned, what became of it, and its summary, computed anew."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_voicebench.codec import CodecError
from pytest_voicebench.judgement import Judgement
from pytest_voicebench.judgement_files import read_judgements
from pytest_voicebench.plan import DAMAGE, PLAN_NAME, Plan, completed, mode_of, read_plan
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import (
    RESULTS_NAME,
    ResultLog,
    RunUnreadable,
    read_results,
    read_results_file,
)
from pytest_voicebench.summarizing import summarize
from pytest_voicebench.summary import Summary

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRun:
    """A run's folder as data: one result for each planned item, and what judges said about them.

    `notes` name what could not be read. `damage` tells of lines of results that are lost, its own or of a run that it
    was made from: its figures stand, and no decision may rest on them. None where it was read whole.
    """

    folder: Path
    plan: Plan
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    damage: str | None = None

    @property
    def name(self) -> str:
        """The folder's name, which is the run's."""
        return self.folder.resolve().name

    @property
    def header(self) -> Mapping[str, Json]:
        """How the run was made; at least its name. `judge` is there where one was asked."""
        judges = list(dict.fromkeys(f"{j.judge.model} at {j.judge.host}" for j in self.judgements))
        made = {"mode": mode_of(self.plan.header)} if self.plan.header else {}  # without a plan nobody knows
        return {"run": self.name, **made, **self.plan.header, **({"judge": "; ".join(judges)} if judges else {})}

    def called(self, agent: str) -> str:
        """The name of one of its agents with the settings it was given: `local endpoint_s=1.2`."""
        given = self.header.get("given")
        settings = given.get(agent) if isinstance(given, Mapping) else None
        told = [f"{key}={value}" for key, value in settings.items()] if isinstance(settings, Mapping) else []
        return " ".join([agent, *told])

    def summary(self) -> Summary:
        """The summary of its results, computed now, with a notice before all others where it could not be read whole.

        Raises RunUnreadable for figures too large to sum up.
        """
        try:
            found = summarize(self.results, self.header, self.judgements)
        except OverflowError as error:
            raise RunUnreadable(f"{self.folder / RESULTS_NAME}: holds a figure too large to sum up: {error}") from None
        told = self.damage_told
        return replace(found, notices=(f"{told}: no gate holds", *found.notices)) if told is not None else found

    @property
    def damage_told(self) -> str | None:
        """`RUN could not be read whole: results.jsonl:2: ...`, without the way to its folder; None where it could."""
        if self.damage is None:
            return None
        return f"{self.name} could not be read whole: {self.damage.removeprefix(f'{self.folder.parent}{os.sep}')}"


def load_run(folder: Path) -> SavedRun:
    """A run from its plan.json and results.jsonl. Raises RunUnreadable.

    Planned items without a result are `not_run`; where there is a line for one and it could not be read, the item is an
    error. Without a plan.json nobody knows what was planned: all that is there counts, and a note says so.
    """
    planned = _read_plan(folder)
    ended_early = planned is not None and not os.path.lexists(folder / RESULTS_NAME)
    log = ResultLog(results=()) if ended_early else read_results(folder)
    judged = read_judgements(folder)
    plan = planned or _plan_of(log.results)
    earlier = plan.header.get(DAMAGE)
    unplanned = f"{folder}: no {PLAN_NAME}, so items that never ran are not counted"
    return SavedRun(
        folder=folder,
        plan=plan,
        results=tuple(_told(row, log) for row in completed(plan, log.results)),
        notes=(
            *log.notes,
            *judged.notes,
            *[unplanned] * (planned is None),
            *[f"{folder}: made from a run that could not be read whole: {earlier}"] * bool(earlier),
        ),
        judgements=judged.judgements,
        damage=log.damage or (str(earlier) if earlier else None),
    )


def _read_plan(folder: Path) -> Plan | None:
    try:
        return read_plan(folder)
    except OSError as error:
        raise RunUnreadable(f"{folder / PLAN_NAME}: {error.strerror}") from None
    except CodecError as error:
        raise RunUnreadable(str(error)) from None


def load_results_file(path: Path) -> SavedRun:
    """A run of which only the results.jsonl is at hand, under any name: whatever it holds was planned. The file is its
    folder and gives its name; it has no evidence. Raises RunUnreadable, also where it holds no result.
    """
    log = read_results_file(path)
    if not log.results:
        raise RunUnreadable(f"{path}: holds no results; a run's results.jsonl does")
    plan = _plan_of(log.results)
    rows = completed(plan, log.results)
    return SavedRun(folder=path, plan=plan, results=rows, notes=log.notes, damage=log.damage)


def _told(row: Result, log: ResultLog) -> Result:
    """An item that ran and whose result is damaged did not pass, and did not stay away either."""
    if row.outcome != "not_run" or row.item_id not in log.unreadable:
        return row
    return replace(row, outcome="error", error_kind="infrastructure", cause="its result could not be read")


def _plan_of(results: Sequence[Result]) -> Plan:
    """What was planned at least: each item that left a result, as it stood before it ran."""
    items = tuple(
        Result(item_id=r.item_id, nodeid=r.nodeid, agent=r.agent, facts=r.facts, outcome="not_run")
        for r in {result.item_id: result for result in results}.values()
    )
    return Plan(collected=len(items), items=items)
