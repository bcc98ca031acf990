"""Gates and a baseline in pytest: read before anything is collected, decided once, by the process that reports."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.junitxml import xml_key

from pytest_voicebench.plugin.options import BASELINE, GATE, reports_folder, rescored_run
from pytest_voicebench.plugin.run import FIRST_COUNTS
from pytest_voicebench.writers.plain_text import one_line

if TYPE_CHECKING:
    from pytest_voicebench.gating import Asked, Gate
    from pytest_voicebench.result import Result
    from pytest_voicebench.saved_run import SavedRun
    from pytest_voicebench.scenario import Suite
    from pytest_voicebench.summary import Summary

INI = "voicebench_gates"
NAME = "voicebench-gates"

_asked = pytest.StashKey["Asked"]()


def check_gates(config: pytest.Config) -> None:
    """Read what the run is held against. Raises pytest.UsageError, one line that says where.

    Workers of xdist read the gates, whose names they check, and leave the baseline to the controller.
    """
    from pytest_voicebench.gating import Asked, needs_baseline
    from pytest_voicebench.plugin.sharding import shard_asked

    gates = (*_ini_gates(config), *_option_gates(config))
    if shard_asked(config) is not None:
        if config.getoption("voicebench_gate"):
            raise pytest.UsageError(
                f"{GATE}: one shard decides nothing; give --gate to `python -m pytest_voicebench merge`"
            )
        gates = ()  # of the ini file: they are about the whole run, and `merge` finds them in the plan
    baseline = None if hasattr(config, "workerinput") else _baseline(config)
    config.stash[_asked] = Asked(gates=gates, baseline=baseline, strict=config.getoption("voicebench_strict"))
    missing = not (config.getoption("voicebench_baseline") or config.getini("voicebench_baseline"))
    for gate in gates:
        if missing and gate.source == GATE and needs_baseline(gate):
            raise pytest.UsageError(f"{GATE} {gate.expression!r}: needs {BASELINE} FILE|RUN")
    if gates and not hasattr(config, "workerinput"):
        config.pluginmanager.register(GateCases(config, config.stash[_asked]), NAME)


def asked_of(config: pytest.Config) -> Asked | None:
    """What the run is held against; None where nothing was given."""
    return config.stash.get(_asked, None)


def summary_of(config: pytest.Config, run: SavedRun) -> Summary:
    """The run's summary, with what was decided. Raises RunUnreadable."""
    asked = asked_of(config)
    if asked is None:
        return run.summary()
    from pytest_voicebench.gating import decided

    return decided(run, asked)


def _option_gates(config: pytest.Config) -> list[Gate]:
    return [_parsed(text, GATE, f"{GATE} {text!r}") for text in config.getoption("voicebench_gate") or ()]


def _ini_gates(config: pytest.Config) -> list[Gate]:
    gates = []
    for text in config.getini(INI):
        where = _ini_place(config, text)
        gates.append(_parsed(text, where, f"{where}: {text!r}"))
    return gates


def asked_in_ini(config: pytest.Config) -> dict[str, Any]:
    """What the ini file holds the whole run against, for the plan of a shard; empty where that is nothing."""
    from pytest_voicebench.plan import INI_ASKED

    gates = [{"expression": gate.expression, "source": gate.source} for gate in _ini_gates(config)]
    baseline = config.getini("voicebench_baseline")
    return {INI_ASKED: {"gates": gates, "baseline": baseline or None}} if gates or baseline else {}


def _ini_place(config: pytest.Config, text: str) -> str:
    """`pytest.ini:4`, or the file's name where the line cannot be found in it."""
    path = config.inipath
    if path is None:
        return INI
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    number = next((number for number, line in enumerate(lines, start=1) if text in line), None)
    return f"{path.name}:{number}" if number else f"{path.name}: {INI}"


def _parsed(text: str, source: str, where: str) -> Gate:
    from pytest_voicebench.gating import GateError, parse_gate

    try:
        return parse_gate(text, source)
    except GateError as error:
        raise pytest.UsageError(one_line(f"{where}: {error}")) from None


def _baseline(config: pytest.Config) -> SavedRun | None:
    from pytest_voicebench.plugin.resume import begun
    from pytest_voicebench.regression.baseline import NoFinishedRun, load_baseline
    from pytest_voicebench.result_files import RunUnreadable

    given, ini = config.getoption("voicebench_baseline"), config.getini("voicebench_baseline")
    if not (given or ini):
        return None
    here = Path(config.invocation_params.dir) if given else config.rootpath
    resumed = begun(config)
    own = [run.saved.folder for run in (resumed, rescored_run(config)) if run is not None]
    try:
        return load_baseline(given or ini, reports_folder(config), here=here, besides=own)
    except RunUnreadable as error:
        if not given and isinstance(error, NoFinishedRun):  # the first run of all has none before it
            return None
        raise pytest.UsageError(one_line(f"{BASELINE if given else 'voicebench_baseline'}: {error}")) from None


def check_planned(config: pytest.Config, item_ids: Sequence[str]) -> None:
    """Refuse groups and items that no scenario has, and figures that need more trials than are held.

    A gate that was typed with the command is about the suites that were collected, one of the ini file about all that
    `voicebench_suites` finds: of what is not in this run it cannot be told, but a name that is nowhere would never be.
    In a shard, too, which holds the gates of the ini file for `merge`. Raises pytest.UsageError.
    """
    from pytest_voicebench.gating import GateError, check_trials
    from pytest_voicebench.plugin.collect import collected_suites
    from pytest_voicebench.plugin.trials import trials

    names = _names_of(collected_suites(config), item_ids)
    for gate in (*_ini_gates(config), *_option_gates(config)):
        try:
            check_trials(gate, trials(config))
            _check_names(gate, names, config)
        except GateError as error:
            where = f"{GATE} {gate.expression!r}" if gate.source == GATE else f"{gate.source}: {gate.expression!r}"
            raise pytest.UsageError(one_line(f"{where}: {error}")) from None


def _names_of(suites: Iterable[Suite], item_ids: Sequence[str] = ()) -> tuple[Sequence[str], list[str]]:
    """Groups, and ids of scenarios and items."""
    from pytest_voicebench.plugin.attempt import facts_of
    from pytest_voicebench.summarizing.groups import groups_of_items

    scenarios = [scenario for suite in suites for scenario in suite.scenarios]
    ids = [*(one.id for one in scenarios), *(one.item_id for one in scenarios), *item_ids]
    return groups_of_items([facts_of(one) for one in scenarios]), ids


def _check_names(gate: Gate, names: tuple[Sequence[str], list[str]], config: pytest.Config) -> None:
    """Raise GateError; of a gate of the ini file only where no suite has such a name, as far as they can be read."""
    from pytest_voicebench.gating import GateError, check_names, scenario_names
    from pytest_voicebench.plugin.collect import suites_left_out

    try:
        check_names(gate, *names)
    except GateError:
        if gate.source == GATE:
            raise
        others = suites_left_out(config)
        if others is None:
            return
        groups, ids = _names_of(others)
        if getattr(gate.asks, "group", None) in {part for name in groups for part in (name, name.partition("=")[2])}:
            return
        known = {*names[1], *ids}
        known |= {name for name in getattr(gate.asks, "ids", ()) if scenario_names(name) & known}
        check_names(gate, [*names[0], *groups], known)


class FailedReports:
    """What pytest counts as failed, told apart: scenarios that the agent missed, and those that were not measured."""

    def __init__(self) -> None:
        self.missed = 0
        self.errors = 0

    def count(self, planned: Result, report: pytest.TestReport, outcome: object) -> None:
        """Count a report of a scenario; a fixture that fails afterwards is neither."""
        if not report.failed:
            return
        counted = outcome == "failed" or FIRST_COUNTS in str(report.longrepr)
        if counted and report.when == "call":
            self.missed += 1
        elif outcome == "error" and report.when != "teardown":
            self.errors += 1


def exit_status(session: pytest.Session, status: int, summary: Summary | None, failed: FailedReports) -> int:
    """The exit status that gates give the session; pytest's own without gates, and where it ended in another way.

    Gates stand in for the scenarios that the agent missed, and for those that could not be measured where one of them
    says how many may be. Any other failure still counts, and so does a run that stopped before its end.
    """
    asked = asked_of(session.config)
    gates = (asked.gates if asked is not None else ()) or (summary.gates if summary is not None else ())
    if asked is None or not gates or status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return status
    from pytest_voicebench.gating import allows_errors, decided_status

    if summary is None or decided_status(summary, asked):
        return pytest.ExitCode.TESTS_FAILED
    excused = failed.missed + (failed.errors if any(allows_errors(gate) for gate in asked.gates) else 0)
    if session.testsfailed > excused:
        return status
    return pytest.ExitCode.OK


class GateCases:
    """Gates as test cases, put into the JUnit files once pytest has written them."""

    def __init__(self, config: pytest.Config, asked: Asked) -> None:
        self.config = config
        self.asked = asked

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        """After the files' writers, before the terminal's summary."""
        yield
        from pytest_voicebench.plugin.report import REPORTER

        reporter = self.config.pluginmanager.getplugin(REPORTER)
        summary: Summary | None = getattr(reporter, "summary", None)
        if summary is None:
            self._nothing_decided(session)
            return
        for path in self._files():
            self._append(path, summary, reporter.unwritten)
        own = self.config.pluginmanager.getplugin("voicebench-junit")
        if (reporter.unwritten or getattr(own, "trouble", None)) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            reporter.unwritten.append("failed: what was decided is not in all files of the run")

    def _nothing_decided(self, session: pytest.Session) -> None:
        """Gates that were typed with the command and met no scenario have not held."""
        typed = any(gate.source == GATE for gate in self.asked.gates)
        if typed and session.exitstatus == pytest.ExitCode.OK and not self.config.getoption("collectonly"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            terminal = self.config.pluginmanager.getplugin("terminalreporter")
            if terminal is not None:
                terminal.write_line(f"voicebench: {GATE}: no scenario ran, so no gate holds")

    def _files(self) -> list[Path]:
        own = self.config.pluginmanager.getplugin("voicebench-junit")
        writers = (own, self.config.stash.get(xml_key, None))
        return [Path(xml.logfile) for xml in writers if xml is not None and not getattr(xml, "trouble", None)]

    def _append(self, path: Path, summary: Summary, unwritten: list[str]) -> None:
        from pytest_voicebench.writers.junit import JunitUnreadable, append_gates

        try:
            append_gates(path, summary.gates, strict=self.asked.strict)
        except JunitUnreadable as error:
            unwritten.append(f"gates are not in the JUnit file: {error}")
        except OSError as error:
            unwritten.append(f"gates are not in {path}: {error.strerror or error}")
