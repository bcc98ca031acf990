"""In the process that reports: what the hooks of a session tell of a run, until it is summed up and shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voicebench.plugin.budget import stopped_line, with_unknown_cost
from pytest_voicebench.plugin.gates import FailedReports, exit_status
from pytest_voicebench.plugin.keeping import hide_keys, kept
from pytest_voicebench.plugin.report_lines import headline, look_alikes, selection_lines
from pytest_voicebench.plugin.run_folder import run_folder
from pytest_voicebench.plugin.summing import Summed, sum_up
from pytest_voicebench.writers.junit_properties import PREFIX
from pytest_voicebench.writers.plain_text import encodable, one_line

if TYPE_CHECKING:
    from pytest_voicebench.plan import Plan
    from pytest_voicebench.plugin.waits import WaitsWatch
    from pytest_voicebench.result import Result
    from pytest_voicebench.summary import Summary

RECORDER = "voicebench-recorder"
REPORTER = "voicebench-reporter"


def watch(config: pytest.Config) -> None:
    """Take part in this session from now on: a suite file was met."""
    plugins = config.pluginmanager
    if plugins.hasplugin(RECORDER):
        return
    from pytest_voicebench.plugin.record import ItemRecorder

    hide_keys(config)
    plugins.register(ItemRecorder(config), RECORDER)
    if not hasattr(config, "workerinput"):
        _register(config)


def watch_workers(config: pytest.Config) -> None:
    """Take part in a session whose items run in workers, if they found scenarios."""
    from pytest_voicebench.plan import read_plan
    from pytest_voicebench.plugin.progress import waits_watch

    if config.pluginmanager.hasplugin(REPORTER):
        return
    try:
        plan = read_plan(run_folder(config).path)
    except OSError:  # then no worker could write it either, and each says why
        return
    if plan is None:
        return
    reporter = _register(config)
    reporter.start(plan)
    reporter.has_workers = True
    reporter.waits = waits_watch(config)
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None and config.get_verbosity() >= 0:
        for line in selection_lines(plan, config):
            terminal.write_line(line)


def _register(config: pytest.Config) -> RunReporter:
    reporter = RunReporter(config)
    config.pluginmanager.register(reporter, REPORTER)
    config.pluginmanager.register(LastLines(reporter), f"{REPORTER}-last")
    return reporter


class RunReporter:
    """Hooks of the process that reports: the only one, or the controller of xdist's workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.plan: Plan | None = None
        self.planned: dict[str, Result] = {}
        self.summary: Summary | None = None
        self.trouble: list[str] = []
        self.unwritten: list[str] = []
        self.summed = Summed()
        self.reported: dict[str, Result] = {}
        self.has_workers = False
        self.in_workers: set[str] = set()
        self.looks: dict[str, set[tuple[int, str]]] = {}
        self.earlier = 0
        self.waits: WaitsWatch | None = None
        self.failed = FailedReports()

    def start(self, plan: Plan) -> None:
        """The items of the plan are about to run."""
        import pytest_voicebench.saved_run  # now, so that an interrupted run need not wait for it  # noqa: F401
        from pytest_voicebench.plugin.junit import start_junit
        from pytest_voicebench.plugin.manifest import begin_manifest
        from pytest_voicebench.plugin.progress import progress_line
        from pytest_voicebench.plugin.running import hold

        self.plan = plan
        self.planned = {item.nodeid: item for item in plan.items}
        hold(self.config, run_folder(self.config).path)
        self.earlier = len(self._results())  # of the run that is resumed: a crash is none of theirs
        progress_line(self.config).planned = len(plan.items)
        start_junit(self.config, run_folder(self.config).path)
        self._note_how(begin_manifest, plan)

    def _note_how(self, write: Callable[..., None], *known: object) -> None:
        """How the run is made; where that cannot be written it is a line at the end."""
        try:
            write(self.config, *known)
        except OSError as error:
            self.trouble.append(f"cannot write {error.filename}: {error.strerror or error}")

    def pytest_report_collectionfinish(self) -> list[str]:
        """What is about to run, and where its files go."""
        recorder = self.config.pluginmanager.getplugin(RECORDER)
        plan = recorder.plan if recorder is not None else None
        if plan is None:
            return []
        if not self.config.getoption("collectonly") and run_folder(self.config).path.exists():
            self.start(plan)
        return selection_lines(plan, self.config)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Take note of what runs in a worker, which the end of the session does not wait for."""
        if self.has_workers:
            self.in_workers.add(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """It is over."""
        self.in_workers.discard(nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A worker that died cannot say so; its report comes without a phase, and becomes the item's result."""
        from pytest_voicebench.plugin.progress import progress_line

        if report.when == "teardown" and hasattr(report, "node"):
            progress_line(self.config).count()
        planned = self.planned.get(report.nodeid)
        if planned is None:
            return
        self._note(planned, report)
        crashed = report.failed and report.when not in ("setup", "call", "teardown")
        if crashed and planned.item_id not in {r.item_id for r in self._results()[self.earlier :]}:
            self.failed.errors += 1
            self._save_crash(planned, str(report.longrepr))

    def _note(self, planned: Result, report: pytest.TestReport) -> None:
        """Keep what could be lost where the disk is full, and who the agent was."""
        said = dict(report.user_properties)
        self.failed.count(planned, report, said.get(f"{PREFIX}outcome"))
        if said.get(f"{PREFIX}outcome") == "error":
            kind: Any = said.get(f"{PREFIX}error_kind")
            cause: Any = said.get(f"{PREFIX}cause")
            self.reported[planned.item_id] = replace(planned, outcome="error", error_kind=kind, cause=cause)
        agent = getattr(report, "voicebench_agent", None)
        if agent is not None:
            self.looks.setdefault(agent[2], set()).add((agent[0], agent[1]))

    def _save_crash(self, planned: Result, text: str) -> None:
        from pytest_voicebench.result_files import append_result

        cause = kept(self.config).text(" ".join(text.split()))[:300]
        crash = replace(planned, outcome="error", error_kind="infrastructure", cause=cause)
        crash = with_unknown_cost(crash)
        self.reported[planned.item_id] = crash
        with suppress(OSError, ValueError):
            append_result(run_folder(self.config).path, crash)

    def _results(self) -> tuple[Result, ...]:
        from pytest_voicebench.result_files import RESULTS_NAME, read_results

        folder = run_folder(self.config).path
        return read_results(folder).results if (folder / RESULTS_NAME).is_file() else ()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Sum up, before xdist waits for its workers: an interrupted run has its summary at once."""
        if self.waits is not None:
            self.waits.close()
        if self.plan is None:
            return
        folder = run_folder(self.config)
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            with suppress(OSError):
                folder.stop_file.touch()
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.plan.shard is not None:
            session.exitstatus = pytest.ExitCode.OK  # there are more shards than items, and this one has none of them
        summed = self.summed = sum_up(self.config, self._told, interrupted=exitstatus == pytest.ExitCode.INTERRUPTED)
        self.summary = summed.summary
        self.trouble += (*summed.notes, *look_alikes(self.looks))
        self.unwritten += summed.unwritten
        stopped = stopped_line(self.config, summed.results)
        if stopped is not None:
            self.trouble.append(stopped)
            if exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED  # nobody may take it for a whole run
        session.exitstatus = exit_status(session, session.exitstatus, self.summary, self.failed)

    def _told(self, row: Result) -> Result:
        """An item whose result never reached the disk is what its reports said; one that a worker has not finished may
        have a session."""
        if row.outcome != "not_run":
            return row
        said = self.reported.get(row.item_id)
        if said is not None:
            return replace(row, outcome="error", error_kind=said.error_kind, cause=said.cause)
        return with_unknown_cost(row) if row.nodeid in self.in_workers else row

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The tables."""
        if self.summary is None or self.config.get_verbosity() < 0:
            return
        from pytest_voicebench.writers.terminal import render, render_short

        writer = self.config.get_terminal_writer()
        terminalreporter.section("voicebench")
        width = writer.fullwidth if sys.stdout.isatty() else 100
        page = render if self.config.get_verbosity() else render_short
        _write(terminalreporter, page(self.summary, width=width, color=writer.hasmarkup))

    def pytest_unconfigure(self) -> None:
        """The workers have ended."""
        with suppress(OSError):
            run_folder(self.config).stop_file.unlink(missing_ok=True)
        from pytest_voicebench.plugin.running import let_go

        let_go(self.config)


class LastLines:
    """What stands below pytest's own summary: the headline, what went wrong with the files, where everything is."""

    def __init__(self, reporter: RunReporter) -> None:
        self.reporter = reporter

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None]:
        """Wait until everyone else has written."""
        yield
        from pytest_voicebench.writers.terminal_decisions import decision_headlines

        reporter, lines = self.reporter, list[str]()
        if reporter.plan is None:
            return
        junit = reporter.config.pluginmanager.getplugin("voicebench-junit")
        lines += (*reporter.trouble, *reporter.unwritten)
        lines += [junit.trouble] if junit is not None and junit.trouble else []
        if reporter.summary is not None:
            lines += headline(reporter.summary)
            lines += (*reporter.summed.compared, *decision_headlines(reporter.summary))
        lines.append(f"results in {run_folder(reporter.config).shown}")
        for line in lines:
            _write(terminalreporter, f"voicebench: {one_line(line)}")


def _write(terminal: Any, text: str) -> None:
    terminal.write_line(encodable(text, getattr(sys.stdout, "encoding", None)))
