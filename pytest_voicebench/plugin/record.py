"""In the process that runs items: what was planned, and a result for every item, whatever became of it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from traceback import clear_frames, walk_tb
from types import TracebackType
from typing import TYPE_CHECKING

import pytest

from pytest_voicebench.plugin.admission import without_waiting
from pytest_voicebench.plugin.attempt import Attempt, attempt_key, had_session_key
from pytest_voicebench.plugin.budget import accounted
from pytest_voicebench.plugin.keeping import kept
from pytest_voicebench.plugin.planning import is_scenario, make_plan, refuse_two_agents, scenario_of
from pytest_voicebench.plugin.resume import begin_attempts, planned_again
from pytest_voicebench.plugin.run import AHEAD
from pytest_voicebench.plugin.run_folder import run_folder
from pytest_voicebench.plugin.sharding import of_this_shard, shard_asked
from pytest_voicebench.plugin.trials import interleave
from pytest_voicebench.writers.junit import legal
from pytest_voicebench.writers.junit_properties import PREFIX, item_properties

if TYPE_CHECKING:
    from pytest_voicebench.plan import Plan
    from pytest_voicebench.result import ErrorKind, Result


class ItemRecorder:
    """Hooks of the process that collects and runs items; registered when the first suite file is met."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.collected = 0
        self.plan: Plan | None = None
        self.selected: list[pytest.Item] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        """What comes before all others select, and what comes after all of them."""
        self._before_selection(items)
        selected = yield
        self._take_shard(items)
        return selected

    def _before_selection(self, items: list[pytest.Item]) -> None:
        """Count before anything is deselected; all of one trial before the next; refuse what cannot be meant."""
        ours = [item for item in items if is_scenario(item)]
        self.collected = len(ours)
        interleave(items, [scenario_of(item).trial if is_scenario(item) else None for item in items])
        try:
            refuse_two_agents(ours)
            if ours and self.config.pluginmanager.hasplugin(AHEAD):
                from pytest_voicebench.plugin.ahead import refuse_agents_of_an_item

                refuse_agents_of_an_item(ours)
        except pytest.UsageError as error:
            items.clear()  # pytest ends the collection all the same, and nothing must be planned
            self._refuse(error)

    def _take_shard(self, items: list[pytest.Item]) -> None:
        """Leave the items of other shards out, as deselected ones; tests that are no scenarios stay."""
        self.selected = [item for item in items if is_scenario(item)]
        own = set(of_this_shard(self.selected, self.config))
        others = [item for item in self.selected if item not in own]
        if others:
            self.config.hook.pytest_deselected(items=others)
            left = set(others)
            items[:] = [item for item in items if item not in left]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Plan the run; the plan is on disk before the first item runs."""
        ours = [item for item in session.items if is_scenario(item)]
        if not self.selected or (not ours and shard_asked(self.config) is None):
            return
        try:
            asked = make_plan(ours, self.collected, self.selected)
            self.plan = kept(self.config).plan(planned_again(self.config, asked))
            self._save_plan(session, self.plan)
        except pytest.UsageError as error:
            self.plan = None
            session.items.clear()
            self._refuse(error)
            return
        planned = {row.item_id: row for row in self.plan.items}
        for item, row in zip(ours, asked.items, strict=True):
            begin_attempts(self.config, item, Attempt(planned=planned[row.item_id], scenario=scenario_of(item)))

    def _save_plan(self, session: pytest.Session, plan: Plan) -> None:
        """Raises pytest.UsageError where there can be no run folder."""
        broken = session.testsfailed and not self.config.getoption("continue_on_collection_errors")
        if broken or any(self.config.getoption(name, False) for name in ("collectonly", "setupplan")):
            return
        from pytest_voicebench.plan import write_plan

        folder = run_folder(self.config)
        try:
            folder.create()
            write_plan(folder.path, plan)
        except OSError as error:
            raise pytest.UsageError(
                f"the run folder {folder.path} cannot be made: {error.strerror or error}; see --voicebench-reports"
            ) from None

    def _refuse(self, error: pytest.UsageError) -> None:
        """End the session, from a worker by way of the controller."""
        if not hasattr(self.config, "workeroutput"):
            raise error
        self.config.workeroutput["voicebench_usage_error"] = str(error)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Before anything is summed up: a session that was cut off has a bill too, though nobody knows its sum."""
        for item in session.items:
            attempt = item.stash.get(attempt_key, None)
            if attempt is not None and item.stash.get(had_session_key, False):
                record(item, attempt.close("not_run"))
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin an attempt; a rerun is the next one."""
        before = item.stash.get(attempt_key, None)
        if before is not None:
            item.stash[attempt_key] = before.next()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """An item that never got as far as a judgement has a result too: an error or a skip."""
        report = yield
        attempt = item.stash.get(attempt_key, None)
        report.duration = without_waiting(item, call.duration)
        if attempt is not None and attempt.result is None and report.outcome != "passed" and call.excinfo:
            if report.outcome == "skipped":
                result = attempt.close("skipped", cause=_one_line(call.excinfo, self.config))
            else:
                kind = attempt.error_kind or _kind(call.excinfo.value)
                result = attempt.close("error", error_kind=kind, cause=_one_line(call.excinfo, self.config))
            lost = record(item, result)
            if lost:
                report.outcome, report.longrepr = "failed", f"infrastructure: {lost}\n{result.cause}"
            report.user_properties = list(item.user_properties)
        if attempt is not None:
            report.__dict__["voicebench_agent"] = _which_agent(item, attempt)  # xdist carries it to the reporter
            _make_sendable(report)
            if call.excinfo and not self.config.getoption("usepdb", False):
                _forget_locals(call.excinfo.tb)
        return report


def _which_agent(item: pytest.Item, attempt: Attempt) -> tuple[int, str, str] | None:
    """Of an item whose `agent` fixture has parameters: which of them, the agent's name, and all it says of itself."""
    indices: dict[str, int] = item.callspec.indices  # type: ignore[attr-defined]
    if attempt.agent is None or "agent" not in indices:
        return None
    return indices["agent"], _sendable(str(attempt.agent.name)), _sendable(repr(attempt.agent))


def record(item: pytest.Item, result: Result) -> str | None:
    """Write the result to the run folder, and say on the item's reports where it is.

    Where it cannot be written the item becomes an error, on its reports and if possible in results.jsonl; gives why.
    """
    from pytest_voicebench.result_files import append_result, save_result

    folder, lost = run_folder(item.config).path, None
    result = kept(item.config).data(accounted(item, result))
    try:
        save_result(folder, result)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this item's and not the session's end
        lost = _sendable(unsaved(folder / (result.folder or ""), error))
        attempt = item.stash[attempt_key]
        result = replace(attempt.planned, outcome="error", error_kind="infrastructure", cause=lost)
        attempt.result = result
        with suppress(OSError, ValueError):  # the disk is full, perhaps: the reports carry it to the session's end
            append_result(folder, result)
    item.user_properties[:] = [p for p in item.user_properties if not str(p[0]).startswith(PREFIX)]
    item.user_properties += properties(result)
    return lost


def unsaved(folder: Path, error: Exception) -> str:
    """Why something could not be written there, on one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"cannot write {error.filename or folder}: {error.strerror}"
    return f"cannot write {folder}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"


def properties(result: Result) -> list[tuple[str, str | int | float | bool]]:
    """The result in plain scalars, for reports: xdist ends the whole run over anything else."""
    return [(PREFIX + name, _plain(value)) for name, value in item_properties(result).items()]


def _sendable(text: str) -> str:
    """The text with lone surrogates escaped: they cannot be sent to xdist's controller, and would end the run too."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: object) -> str | int | float | bool:
    from pytest_voicebench.writers.junit_properties import scalar

    found = scalar(value)
    return _sendable(found) if isinstance(found, str) else found


def _make_sendable(report: pytest.TestReport) -> None:
    """Plain scalars for the properties, also those that the user's own fixtures gave the item."""
    report.user_properties = [(legal(_sendable(str(name))), _plain(value)) for name, value in report.user_properties]
    if report.outcome == "failed":
        text = str(report.longrepr)
        if _sendable(text) != text:
            report.longrepr = _sendable(text)


def _forget_locals(traceback: TracebackType) -> None:
    """Empty a traceback's frames: plugins that rerun tests keep it to the session's end, and so the recording."""
    clear_frames(traceback)
    for frame, _ in walk_tb(traceback):
        _ = frame.f_locals  # before Python 3.13 a frame keeps a copy of them until it is asked again


def _one_line(excinfo: pytest.ExceptionInfo[BaseException], config: pytest.Config) -> str:
    """What went wrong, on one line of at most 300 characters, as it may be kept."""
    error = excinfo.value
    plain = isinstance(error, pytest.fail.Exception | pytest.skip.Exception)
    text = str(error) if plain else excinfo.exconly()
    return _sendable(kept(config).text(" ".join(text.split()))[:300])


def _kind(error: BaseException) -> ErrorKind:
    from pytest_voicebench.agents.protocol import AgentAbsent

    return "agent_absent" if isinstance(error, AgentAbsent | ConnectionError | TimeoutError) else "infrastructure"
