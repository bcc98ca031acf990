"""Taking up an interrupted run: what is done is reported again as it was, everything else is held.

Registered only with `--voicebench-resume`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_voicebench.plugin.attempt import Attempt, attempt_key
from pytest_voicebench.plugin.keeping import kept
from pytest_voicebench.plugin.options import RESCORE, RESUME, reports_folder
from pytest_voicebench.plugin.run_folder import run_folder

if TYPE_CHECKING:
    from pytest_voicebench.conversation import AgentInfo
    from pytest_voicebench.plan import Plan
    from pytest_voicebench.result import Result
    from pytest_voicebench.resuming import BegunRun

NAME = "voicebench-resume"

_begun = pytest.StashKey["BegunRun"]()


def check_resume(config: pytest.Config) -> None:
    """Read the run that `--voicebench-resume` names. Raises pytest.UsageError, also where it is still going on.

    Workers of xdist are told its folder by the controller, as that of every run.
    """
    from pytest_voicebench.plugin.running import hold
    from pytest_voicebench.result_files import RunUnreadable, drop_torn_end, find_run
    from pytest_voicebench.resuming import begun_run
    from pytest_voicebench.writers.plain_text import one_line

    if config.getoption("voicebench_rescore") is not None:
        raise pytest.UsageError(f"{RESUME} and {RESCORE}: choose one")
    worker: dict[str, str] = getattr(config, "workerinput", {})
    given = config.getoption("voicebench_resume")
    here = Path(config.invocation_params.dir, given)
    try:
        text = worker.get("voicebench_run") or (str(here) if here.exists() else given)
        folder = find_run(text, reports_folder(config)).absolute()
        config.stash[_begun] = begun_run(folder)
    except RunUnreadable as error:
        raise pytest.UsageError(one_line(f"{RESUME}: {error}")) from None
    if not worker:
        if not hold(config, folder):  # from now on, so that of two that resume it one is refused
            raise pytest.UsageError(f"{RESUME}: {folder.name} is still going on")
        with suppress(OSError):
            drop_torn_end(folder)
        with suppress(OSError):
            run_folder(config).stop_file.unlink(missing_ok=True)  # of whoever interrupted it
    config.pluginmanager.register(DoneItems(config.stash[_begun]), NAME)


def begun(config: pytest.Config) -> BegunRun | None:
    """The run that is taken up again, None where a new one is made."""
    return config.stash.get(_begun, None)


def planned_again(config: pytest.Config, asked: Plan) -> Plan:
    """The plan to go by: that of the run that is taken up, else what is asked for. Raises pytest.UsageError."""
    from pytest_voicebench.resuming import ResumeRefused, resumed_plan

    run = begun(config)
    if run is None or config.getoption("collectonly"):
        return asked
    try:
        return resumed_plan(run, asked, run_folder(config).started_at)
    except ResumeRefused as error:
        raise pytest.UsageError(f"{RESUME}: {error}") from None


def begin_attempts(config: pytest.Config, item: pytest.Item, attempt: Attempt) -> None:
    """Give the item its attempt; those of the interrupted run count."""
    run = begun(config)
    attempt.number = run.tried.get(attempt.item_id, 0) if run is not None else 0
    item.stash[attempt_key] = attempt


def check_agent(config: pytest.Config, attempt: Attempt, info: AgentInfo) -> None:
    """Refuse to go on with another agent, where the user's own fixture gave it. Raises pytest.fail.Exception."""
    from pytest_voicebench.resuming import agent_difference

    run = begun(config)
    if run is None:
        return
    then = run.agent(attempt.item_id)
    difference = agent_difference(then, _renamed(info, then))
    if difference:
        pytest.fail(f"infrastructure: not the agent of {run.saved.name}: {difference}", pytrace=False)


def _renamed(info: AgentInfo, then: AgentInfo) -> AgentInfo:
    """Of several agents each is recorded under its label."""
    from dataclasses import replace

    from pytest_voicebench.plan import UNKNOWN_AGENT

    return info if then == UNKNOWN_AGENT else replace(info, name=then.name)


def is_done(item: pytest.Item) -> bool:
    """Whether the item was measured before the run was interrupted: nothing of it is held again."""
    run, attempt = begun(item.config), item.stash.get(attempt_key, None)
    return run is not None and attempt is not None and attempt.item_id in run.done


class DoneItems:
    """Hooks that report what was measured before, without calling anybody."""

    def __init__(self, run: BegunRun) -> None:
        self.run = run

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Also of a session that was refused before anything ran."""
        from pytest_voicebench.plugin.running import let_go

        let_go(config)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Stand in for the whole protocol of an item that is done; no fixture of it is set up."""
        if not is_done(item):
            return None
        attempt = item.stash[attempt_key]
        result = self.run.done[attempt.item_id]
        told = {
            "setup": None,
            "call": self._told(item, attempt, result) if result.outcome == "failed" else None,
            "teardown": _torn_down(item, nextitem),
        }
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for when, text in told.items():
            item.ihook.pytest_runtest_logreport(report=_report(item, result, when, text))
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _told(self, item: pytest.Item, attempt: Attempt, result: Result) -> str:
        """What is said of an item that failed, as it was said then."""
        from pytest_voicebench.conversation_files import ConversationUnreadable, load_conversation
        from pytest_voicebench.plugin.run import rerun_command
        from pytest_voicebench.result_files import RunUnreadable, folder_of
        from pytest_voicebench.writers.failure import failure_text

        folder = Path(run_folder(item.config).shown, result.folder or "")
        try:
            held = load_conversation(folder_of(self.run.saved.folder, result))
        except (RunUnreadable, ConversationUnreadable) as error:
            return f"failed before the run was interrupted; why cannot be told: {error}"
        assert result.scorecard is not None  # what failed was scored
        scenario = kept(item.config).scenario(attempt.scenario)
        return failure_text(scenario, held, result.scorecard, folder=folder, rerun_command=rerun_command(item))


def _torn_down(item: pytest.Item, nextitem: pytest.Item | None) -> str | None:
    """End the fixtures that the item before left for this one's neighbours, as pytest does; what one of them raised."""
    try:
        item.session._setupstate.teardown_exact(nextitem)
    except Exception as error:  # noqa: BLE001 - the user's own code ran
        return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return None


def _report(item: pytest.Item, result: Result, when: Any, told: str | None) -> pytest.TestReport:
    from pytest_voicebench.plugin.record import properties

    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="passed" if told is None else "failed",
        longrepr=told,
        when=when,
        duration=0.0,
        user_properties=properties(result),
    )
