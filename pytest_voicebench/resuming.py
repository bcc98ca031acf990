"""An interrupted run taken up again in its own folder: what is done, and whether it would go on as it began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.plan import PLAN_NAME, UNKNOWN_AGENT, Plan
from pytest_voicebench.result import Result, score_sets
from pytest_voicebench.result_files import RESULTS_NAME, RunUnreadable, read_results
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.scoring import SCORE_SET, SCORE_VERSION
from pytest_voicebench.some_names import MOST_NAMES, some

Json = Any

DONE = ("passed", "failed")


class ResumeRefused(Exception):  # noqa: N818 - says what is the case, for a person
    """What was asked for is not the run that was begun; one line that names the difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunRun:
    """A run that is taken up again. `done` are its measured items by id, `attempts` all attempts so far, one by one."""

    saved: SavedRun
    done: Mapping[str, Result]
    attempts: tuple[Result, ...]

    @property
    def tried(self) -> Mapping[str, int]:
        """How often each item was tried so far."""
        return Counter(row.item_id for row in self.attempts if row.outcome != "not_run")

    @property
    def plan(self) -> Plan:
        """What it set out to do."""
        return self.saved.plan

    def agent(self, item_id: str) -> AgentInfo:
        """Who the item's agent is, as far as it is known: the run's only one, where no other is named."""
        rows = {row.item_id: row for row in self.saved.results}
        return rows[item_id].agent if item_id in rows else UNKNOWN_AGENT


def begun_run(folder: Path) -> BegunRun:
    """The run in a folder. Raises RunUnreadable, also for a folder without a plan: nobody knows what is left to do."""
    if not (folder / PLAN_NAME).is_file():
        raise RunUnreadable(f"{folder}: no {PLAN_NAME}, so nobody knows what is left to do")
    saved = load_run(folder)
    log = read_results(folder).results if (folder / RESULTS_NAME).is_file() else ()
    return BegunRun(
        saved=saved,
        done={row.item_id: row for row in saved.results if row.outcome in DONE},
        attempts=tuple(row for row in log if row.outcome != "not_run" or row.usd or row.usd_unknown),
    )


def resumed_plan(run: BegunRun, asked: Plan, at: str) -> Plan:
    """The run's own plan, with a note in its header that it went on `at` that time. Raises ResumeRefused.

    `asked` may be a part of it. What is asked for must be what was planned: the same suites, scenarios, agents, and
    rules of scoring.
    """
    _check(run, asked)
    now = {row.item_id: row for row in asked.items}
    items = tuple(replace(row, nodeid=now[row.item_id].nodeid) if row.item_id in now else row for row in run.plan.items)
    before = [begun for begun in run.plan.header.get("resumed", []) if begun != at]
    return replace(
        run.plan,
        items=items,
        header={**run.plan.header, "resumed": [*before, at]},
        notices=(*asked.notices, progress_text(run, asked)),
    )


def progress_text(run: BegunRun, asked: Plan) -> str:
    """`resuming RUN: 3 of 5 done, to hold: 1 error, 1 not run`."""
    rows = {row.item_id: row for row in run.saved.results}
    left = Counter(rows[item.item_id].outcome for item in asked.items if item.item_id not in run.done)
    told = ", ".join(f"{number} {outcome.replace('_', ' ')}" for outcome, number in sorted(left.items()))
    return f"resuming {run.saved.name}: {len(run.done)} of {len(run.plan.items)} done, to hold: {told or 'none'}"


def _check(run: BegunRun, asked: Plan) -> None:
    planned = {row.item_id: row for row in run.plan.items}
    name = run.saved.name
    unknown = [row.item_id for row in asked.items if row.item_id not in planned]
    if unknown:
        raise ResumeRefused(f"{name} has no item {some(unknown)}: select no more than it did, of the same agents")
    for row in asked.items:
        difference = agent_difference(run.agent(row.item_id), row.agent)
        if difference:
            raise ResumeRefused(f"not the agent of {name}: {difference}")
    changed = [row.item_id for row in asked.items if not _same_scenario(planned[row.item_id], row)]
    if changed:
        raise ResumeRefused(f"scenarios changed since {name} (their hashes differ): {some(changed)}")
    _check_header(run, asked)


def _check_header(run: BegunRun, asked: Plan) -> None:
    name, old, new = run.saved.name, run.plan.header, asked.header
    suites: Mapping[str, Json] = old.get("suites") or {}
    other = [suite for suite, sha256 in (new.get("suites") or {}).items() if suites.get(suite) != sha256]
    if other:
        raise ResumeRefused(f"suite {some(other)} changed since {name} (its hash differs)")
    for key, what in (("rules", "rules of scoring"), ("words", "--voicebench-words"), ("withheld", "what is kept")):
        if old.get(key) != new.get(key):
            raise ResumeRefused(f"{what} of {name}: {old.get(key)}, now {new.get(key)}")
    sets, now = score_sets(run.done.values()), f"{SCORE_SET} {SCORE_VERSION}"
    if set(sets) - {now}:
        raise ResumeRefused(f"{name} has scores of {some(sets)}, now they are of {now}")


def agent_difference(then: AgentInfo, now: AgentInfo) -> str:
    """What differs, setting by setting; empty where nothing does, or where one of them is not known."""
    if UNKNOWN_AGENT in (then, now) or then == now:
        return ""
    found = [
        f"{f.name} {getattr(then, f.name)!r}, now {getattr(now, f.name)!r}"
        for f in fields(AgentInfo)
        if f.name != "settings" and getattr(then, f.name) != getattr(now, f.name)
    ]
    keys = [*then.settings, *(key for key in now.settings if key not in then.settings)]
    found += [
        f"{key} {then.settings.get(key)!r}, now {now.settings.get(key)!r}"
        for key in keys
        if then.settings.get(key) != now.settings.get(key)
    ]
    return "; ".join(found[:MOST_NAMES])


def _same_scenario(old: Result, new: Result) -> bool:
    hashes = [(row.facts.scenario_sha256, row.facts.expect_sha256) for row in (old, new)]
    return hashes[0] == hashes[1] and all(hashes[0])
