"""Judging a run's conversations again: a `conversation` fixture that reads what was held, where nobody is called.

Registered only with `--voicebench-rescore`; its fixtures then stand before those of the plugin.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_voicebench.counted import counted
from pytest_voicebench.plugin.attempt import Attempt, attempt_key
from pytest_voicebench.plugin.keeping import Keeping, kept
from pytest_voicebench.plugin.options import LABEL, rescored_run
from pytest_voicebench.plugin.run import one_line, raise_problem
from pytest_voicebench.plugin.run_folder import run_folder

if TYPE_CHECKING:
    from pytest_voicebench.conversation import AgentInfo, Conversation
    from pytest_voicebench.official_card import OfficialCard
    from pytest_voicebench.rescoring import RecordedRun
    from pytest_voicebench.result import Result
    from pytest_voicebench.saved_run import SavedRun
    from pytest_voicebench.scenario import Scenario

NAME = "voicebench-rescore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAgent:
    """Who held a conversation, for tests that ask for `agent`: it says who it was, and cannot be called."""

    info: AgentInfo

    def connect(self, setup: object) -> NoReturn:
        """Raises RuntimeError: conversations that are judged again are not held again."""
        raise RuntimeError("a run is being rescored: no agent is called")


@pytest.fixture(name=LABEL)
def label(request: pytest.FixtureRequest) -> str:
    """What tells the item's agent from the others of the run; empty where there was one."""
    return getattr(request, "param", "")


@pytest.fixture
def conversation(request: pytest.FixtureRequest, scenario: Scenario, _voicebench_label: str) -> Conversation:
    """The conversation that the rescored run saved for this item, as it was, without its recording.

    What that run could not measure is not measured now: its error stays an error, its skipped item is skipped again.
    An item that it lacks, a conversation that cannot be read and a scenario that would be another one today are errors.
    """
    from pytest_voicebench.plugin.planning import item_id

    recorded = rescored_run(request.config)
    assert recorded is not None  # this module is registered only then
    attempt = request.node.stash.get(attempt_key, None)
    own_id = f"{_voicebench_label}-{scenario.item_id}" if _voicebench_label else scenario.item_id
    row = recorded.item(request.node.nodeid, item_id(request.node), own_id)
    if row is None:
        _refuse(attempt, f"not in {recorded.name}: it has no item {own_id}")
    if row.outcome not in ("passed", "failed"):
        _carry_over(request.node, recorded, row, attempt)
    held = _load(request.config, recorded, row, attempt)
    _check_stimulus(scenario, held, recorded, attempt)
    if "text" in held.withheld:
        _refuse(attempt, f"text of this conversation was redacted in {recorded.name}, and cannot be judged again")
    held = replace(held, withheld=kept(request.config).conversation(held).withheld)
    if attempt is not None:
        attempt.conversation = held  # from here on it is judged, also where it turns out to be no measurement
    raise_problem(scenario, held, attempt)
    return held


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> RecordedAgent | None:
    """No fixture of the name `agent` is run, whoever wrote it."""
    if fixturedef.argname != "agent":
        return None
    from pytest_voicebench.plugin.planning import item_id

    recorded = rescored_run(request.config)
    assert recorded is not None  # this module is registered only then
    stand_in = RecordedAgent(info=recorded.agent(item_id(request.node)))
    fixturedef.cached_result = (stand_in, fixturedef.cache_key(request), None)
    return stand_in


def compared_lines(recorded: RecordedRun, run: SavedRun) -> list[str]:
    """What moved of the items that were judged again, in a sentence, and where all of it is told."""
    from pytest_voicebench.comparing import compare_runs
    from pytest_voicebench.writers.comparison import sentence

    selected = {row.item_id for row in run.results}
    before = replace(recorded.saved, results=tuple(r for r in recorded.saved.results if r.item_id in selected))
    found = compare_runs(before, run)
    changed = sum(len(d.items) for d in found.around if d.name == "expect_sha256")
    expectations = f"{counted(changed, 'expectation')} changed since {recorded.name}"
    more = [] if found.same else [f"all that moved: python -m pytest_voicebench compare {recorded.name} {run.name}"]
    return [*([expectations] if changed else []), sentence(found), *more]


def _refuse(attempt: Attempt | None, reason: str) -> NoReturn:
    """An error of the suite: the run cannot answer what is asked of it now."""
    if attempt is not None:
        attempt.error_kind = "suite"
    raise one_line(f"suite: {reason}") from None


def _carry_over(item: pytest.Item, recorded: RecordedRun, row: Result, attempt: Attempt | None) -> NoReturn:
    """The item ends here as it ended there, for the reason it had; one that never ran there stays `not_run`."""
    from pytest_voicebench.plugin.record import record
    from pytest_voicebench.rescoring import carried

    if attempt is not None:
        if row.folder is not None:
            _take_files(item.config, recorded, row, attempt)
        attempt.result = carried(row, attempt.planned, attempt.folder, _official(recorded, row, attempt))
        if row.outcome != "not_run":
            record(item, attempt.result)
    text = f"carried over from {recorded.name}: {row.cause or 'no reason was noted'}"
    if row.outcome == "skipped":
        pytest.skip(text)
    if row.outcome == "not_run":
        text = f"not run in {recorded.name}: there is no conversation to judge"
    raise one_line(text) from None


def _official(recorded: RecordedRun, row: Result, attempt: Attempt) -> OfficialCard | None:
    """The official card of what was held all the same; None where that is nothing, redacted, or of another scenario."""
    from pytest_voicebench.conversation_files import ConversationUnreadable, load_conversation
    from pytest_voicebench.metrics.official import official_card
    from pytest_voicebench.rescoring import stimulus_change
    from pytest_voicebench.result_files import RunUnreadable, folder_of

    try:
        held = load_conversation(folder_of(recorded.saved.folder, row))
    except (RunUnreadable, ConversationUnreadable):
        return None
    if "text" in held.withheld or stimulus_change(attempt.scenario, held):
        return None
    return official_card(attempt.scenario, held)


def _load(config: pytest.Config, recorded: RecordedRun, row: Result, attempt: Attempt | None) -> Conversation:
    """The item's conversation, its files in this run's folder too."""
    from pytest_voicebench.conversation_files import ConversationUnreadable, load_conversation
    from pytest_voicebench.result_files import RunUnreadable, folder_of

    try:
        held = load_conversation(folder_of(recorded.saved.folder, row))
    except (RunUnreadable, ConversationUnreadable) as error:
        raise one_line(f"infrastructure: {error}") from None
    if attempt is not None:
        attempt.agent, attempt.recorded = held.agent, row
        _take_files(config, recorded, row, attempt)
    return held


def _take_files(config: pytest.Config, recorded: RecordedRun, row: Result, attempt: Attempt) -> None:
    """The evidence stands in both runs' folders, so that each can be read, judged and deleted by itself."""
    from pytest_voicebench.plugin.record import unsaved
    from pytest_voicebench.result_files import RunUnreadable, folder_of

    target = run_folder(config).path / attempt.folder
    try:
        _take(folder_of(recorded.saved.folder, row), target, kept(config))
    except RunUnreadable as error:
        raise one_line(f"infrastructure: {error}") from None
    except OSError as error:
        raise one_line(f"infrastructure: {unsaved(target, error)}") from None


def _take(source: Path, target: Path, keeping: Keeping) -> None:
    """Links to the files, where they may be kept as they are; of a text that may not, a copy without it."""
    from pytest_voicebench.conversation_files import (
        AUDIO_NAME,
        EVENTS_NAME,
        JSON_NAME,
        ConversationUnreadable,
        load_conversation,
        load_events,
        save_conversation,
    )
    from pytest_voicebench.rescoring import take_evidence

    texts = () if keeping.redactor is None else (JSON_NAME, EVENTS_NAME)
    take_evidence(source, target, leave_out=texts if keeping.sound else (*texts, AUDIO_NAME))
    if keeping.everything:
        return
    with suppress(ConversationUnreadable):  # what cannot be read is not taken; the item says so by itself
        held = replace(load_conversation(source), wire_events=load_events(source))
        save_conversation(keeping.conversation(held), target)


def _check_stimulus(scenario: Scenario, held: Conversation, recorded: RecordedRun, attempt: Attempt | None) -> None:
    from pytest_voicebench.rescoring import stimulus_change

    change = stimulus_change(scenario, held)
    if change is not None:
        _refuse(attempt, f"not the scenario that {recorded.name} held: {change}: hold it again")
