"""In the process that reports: from the results in the run folder to the summary, its files and the terminal."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voicebench.plugin.run_folder import run_folder

if TYPE_CHECKING:
    from pytest_voicebench.plan import Plan
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

    plugins.register(ItemRecorder(config), RECORDER)
    if not hasattr(config, "workerinput"):
        plugins.register(RunReporter(config), REPORTER)


def watch_workers(config: pytest.Config) -> None:
    """Take part in a session whose items run in workers, if they found scenarios."""
    from pytest_voicebench.plan import read_plan

    if config.pluginmanager.hasplugin(REPORTER):
        return
    plan = read_plan(run_folder(config).path)
    if plan is None:
        return
    reporter = RunReporter(config)
    config.pluginmanager.register(reporter, REPORTER)
    reporter.start(plan)
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None and config.get_verbosity() >= 0:
        for line in selection_lines(plan, config):
            terminal.write_line(line)


class RunReporter:
    """Hooks of the process that reports: the only one, or the controller of xdist's workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.plan: Plan | None = None
        self.summary: Summary | None = None

    def start(self, plan: Plan) -> None:
        """The items of the plan are about to run."""
        import pytest_voicebench.saved_run  # now, so that an interrupted run need not wait for it  # noqa: F401
        from pytest_voicebench.plugin.junit import start_junit
        from pytest_voicebench.plugin.progress import progress_line

        self.plan = plan
        progress_line(self.config).planned = len(plan.items)
        start_junit(self.config, run_folder(self.config).path)

    def pytest_report_collectionfinish(self) -> list[str]:
        """What is about to run, and where its files go."""
        recorder = self.config.pluginmanager.getplugin(RECORDER)
        plan = recorder.plan if recorder is not None else None
        if plan is None:
            return []
        if not self.config.getoption("collectonly") and run_folder(self.config).path.exists():
            self.start(plan)
        return selection_lines(plan, self.config)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A worker that died cannot say so; its report comes without a phase, and becomes the item's result."""
        from pytest_voicebench.plugin.progress import progress_line

        if report.when == "teardown" and hasattr(report, "node"):
            progress_line(self.config).count()
        if report.failed and report.when not in ("setup", "call", "teardown") and self.plan is not None:
            planned = next((item for item in self.plan.items if item.nodeid == report.nodeid), None)
            if planned is not None and planned.item_id not in {r.item_id for r in self._results()}:
                self._save_crash(planned, str(report.longrepr))

    def _save_crash(self, planned: Result, text: str) -> None:
        from pytest_voicebench.result_files import append_result

        cause = " ".join(text.split())[:300]
        crash = replace(planned, outcome="error", error_kind="infrastructure", cause=cause)
        append_result(run_folder(self.config).path, crash)

    def _results(self) -> tuple[Result, ...]:
        from pytest_voicebench.result_files import RESULTS_NAME, read_results

        folder = run_folder(self.config).path
        return read_results(folder).results if (folder / RESULTS_NAME).exists() else ()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Sum up, before xdist waits for its workers: an interrupted run has its summary at once."""
        if self.plan is None:
            return
        folder = run_folder(self.config)
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            folder.stop_file.touch()
        self.summary = self._sum_up()

    def _sum_up(self) -> Summary:
        from pytest_voicebench.plugin.junit import add_run_properties
        from pytest_voicebench.saved_run import load_run
        from pytest_voicebench.writers.junit import run_properties
        from pytest_voicebench.writers.summary_json import write_summary

        folder = run_folder(self.config).path
        summary = load_run(folder).summary()
        write_summary(folder, summary)
        add_run_properties(self.config, run_properties(summary))
        return summary

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The tables, and where everything is."""
        if self.summary is None:
            return
        from pytest_voicebench.writers.plain_text import encodable
        from pytest_voicebench.writers.terminal import render, render_short
        from pytest_voicebench.writers.terminal_header import outcomes_text

        writer = self.config.get_terminal_writer()
        text = f"voicebench: {outcomes_text(self.summary.counts)}, in {run_folder(self.config).shown}"
        verbosity = self.config.get_verbosity()
        if verbosity >= 0:
            terminalreporter.section("voicebench")
            width = writer.fullwidth if sys.stdout.isatty() else 100
            page = render if verbosity else render_short
            text = page(self.summary, width=width, color=writer.hasmarkup) + "\n" + text
        terminalreporter.write_line(encodable(text, getattr(sys.stdout, "encoding", None)))

    def pytest_unconfigure(self) -> None:
        """The workers have ended."""
        run_folder(self.config).stop_file.unlink(missing_ok=True)


def selection_lines(plan: Plan, config: pytest.Config) -> list[str]:
    """One line for what was selected, and notices."""
    agents = {item.agent.name: item.agent for item in plan.items}
    idle = config.getoption("collectonly")
    who = ", ".join(a.name + ("" if idle else f" ({a.clock} clock)") for a in agents.values() if a.name != "unknown")
    where = "" if idle else f", run {run_folder(config).shown}"
    line = (
        f"voicebench: {len(plan.items)} of {plan.collected} scenarios selected, "
        f"agent {who or 'from the `agent` fixture'}{where}"
    )
    return [line, *(f"voicebench: {notice}" for notice in plan.notices)]
