"""One scenario across agents and runs: each row's result and conversation, and whether all asked the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_voicebench.conversation import Conversation
from pytest_voicebench.conversation_files import ConversationUnreadable, load_conversation
from pytest_voicebench.counted import counted
from pytest_voicebench.plan import UNKNOWN_AGENT
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RunUnreadable, folder_of
from pytest_voicebench.saved_run import SavedRun


class NoSuchCase(Exception):  # noqa: N818 - says what is the case, for a person
    """No run has the scenario; one line that names the nearest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One agent's item of one run; `agent` has the settings it was given.

    `held` is None where there is no conversation to read, and `unread` says why.
    """

    run: str
    mode: str
    agent: str
    result: Result
    held: Conversation | None = None
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario's rows in the order of the runs. `changed` names runs that ask or expect something else under the same
    name than the first row does."""

    scenario: str
    rows: tuple[CaseRow, ...]
    changed: tuple[str, ...] = ()


def case_of(scenario: str, runs: Sequence[SavedRun]) -> Case:
    """Every item of a scenario, given by its id or by an item's. Raises NoSuchCase where no run has it."""
    rows = tuple(row for run in runs for row in _rows(scenario, run))
    if not rows:
        raise NoSuchCase(_nearest(scenario, runs))
    first: dict[tuple[str, str | None], tuple[str, str]] = {}
    other = []
    for row in rows:
        facts = row.result.facts
        hashes = (facts.scenario_sha256, facts.expect_sha256)
        if first.setdefault((facts.suite, facts.speaker), hashes) != hashes:
            other.append(row.run)
    return Case(scenario=scenario, rows=rows, changed=tuple(dict.fromkeys(other)))


def _rows(scenario: str, run: SavedRun) -> Iterator[CaseRow]:
    mode = str(run.header.get("mode", "unknown"))
    for result in run.results:
        if scenario in (result.facts.scenario_id, result.item_id) and result.agent != UNKNOWN_AGENT:
            held, unread = _held(run, result)
            agent = run.called(result.agent.name)
            yield CaseRow(run=run.name, mode=mode, agent=agent, result=result, held=held, unread=unread)


def _held(run: SavedRun, result: Result) -> tuple[Conversation | None, str]:
    try:
        return load_conversation(folder_of(run.folder, result)), ""
    except (ConversationUnreadable, RunUnreadable) as error:
        return None, str(error)


def _nearest(scenario: str, runs: Sequence[SavedRun]) -> str:
    known = list(dict.fromkeys(row.facts.scenario_id for run in runs for row in run.results))
    near = difflib.get_close_matches(scenario, known, n=1)
    hint = f'; did you mean "{near[0]}"?' if near else f"; the runs have {counted(len(known), 'scenario')}"
    return f"no run has a scenario {scenario!r}{hint}"
