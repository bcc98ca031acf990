"""Running an item: the fixtures `scenario`, `agent` and `conversation`, and the judgement in the test's body."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from pytest_voicebench.plugin.attempt import Attempt, attempt_key
from pytest_voicebench.plugin.options import RESCORE, agent_option, agent_specs, agents_given, rescored_run
from pytest_voicebench.plugin.run_folder import RunFolder, run_folder

if TYPE_CHECKING:
    from pytest_voicebench.agents.naming import AgentSpec
    from pytest_voicebench.agents.protocol import Agent
    from pytest_voicebench.conversation import AgentInfo, Conversation
    from pytest_voicebench.plugin.ahead import Ahead
    from pytest_voicebench.runner import Runner
    from pytest_voicebench.scenario import Scenario
    from pytest_voicebench.scorecard import Scorecard

GLANCE_S = 0.2
"""How often a running conversation looks for the stop file and lets the progress line move."""

FIRST_COUNTS = "passed now, but the first valid attempt failed, and it counts"

AHEAD = "voicebench-ahead"
"""The plugin that holds several conversations at once, where that is asked for."""

_agents = pytest.StashKey[dict[str, "Agent"]]()


@pytest.fixture
def scenario() -> Scenario:
    """The scenario of this test: one item of a suite file.

    In a test of your own, say which: @pytest.mark.voicebench("suites/fdb3/travel.yaml", "travel_19").
    """
    pytest.fail('no scenario: mark the test with @pytest.mark.voicebench("path/of/suite.yaml")', pytrace=False)


@pytest.fixture
def agent(request: pytest.FixtureRequest, scenario: Scenario) -> Agent:
    """The voice agent under test, as `--agent` says. Override it in conftest.py to test your own.

    What it gives has `info` (an AgentInfo) and `connect(setup)` (see pytest_voicebench.agents.protocol).
    """
    spec = getattr(request, "param", None) or agent_specs(request.config)[0]
    return shipped_agent(spec, scenario, request.config)


def shipped_agent(spec: AgentSpec, scenario: Scenario, config: pytest.Config) -> Agent:
    """The agent of a name. One serves the whole run, unless it needs the scenario. Raises pytest.UsageError."""
    from pytest_voicebench.agents.naming import AgentNameError, build_agent

    made = config.stash.setdefault(_agents, {})
    if spec.label in made:
        return made[spec.label]
    try:
        built = build_agent(spec, scenario)
    except AgentNameError as error:
        raise pytest.UsageError(str(error)) from None
    if not spec.needs_scenario:
        made[spec.label] = built
    return built


@pytest.fixture(scope="session")
def _voicebench_runner() -> Iterator[Runner]:
    from pytest_voicebench.runner import Runner

    runner = Runner()
    yield runner
    runner.close()


@pytest_asyncio.fixture(loop_scope="session")
async def conversation(
    request: pytest.FixtureRequest, scenario: Scenario, agent: Agent, _voicebench_runner: Runner
) -> Conversation:
    """What happened between the scenario's user and the agent, with the agent's speech detected.

    Its words are looked for too where `--voicebench-words` says so.

    What is not the agent's fault is an error of this fixture: agent_absent, infrastructure, invalid_measurement, suite.
    """
    from pytest_voicebench.agents.gate import NotBegun
    from pytest_voicebench.plugin.budget import leave_out
    from pytest_voicebench.plugin.keeping import kept
    from pytest_voicebench.plugin.resume import check_agent
    from pytest_voicebench.plugin.words import with_words
    from pytest_voicebench.speech import detect_speech

    attempt = request.node.stash.get(attempt_key, None)
    info = _info_of(agent)
    if attempt is not None:
        check_agent(request.config, attempt, info)
        attempt.agent = info
    try:
        held = await _hold(request.node, scenario, agent, _voicebench_runner)
    except NotBegun as reason:
        leave_out(request.node, str(reason))
    if held.agent_speech is None:  # it is there where it was looked for while other items ran
        held = detect_speech(held)
    held = with_words(held, request.config)
    if attempt is not None:
        saved = kept(request.config).conversation(held)
        held = attempt.conversation = replace(held, withheld=saved.withheld)
        _save(saved, run_folder(request.config).path / attempt.folder)
    raise_problem(scenario, held, attempt)
    return held


def _info_of(agent: Agent) -> AgentInfo:
    from pytest_voicebench.agents.information import NoInformation, read_info

    if not hasattr(agent, "connect"):
        pytest.fail(_no_agent(agent), pytrace=False)
    try:
        return read_info(agent)
    except NoInformation as error:
        raise one_line(f"infrastructure: {error}") from None


def one_line(text: str) -> BaseException:
    """The failure to raise `from None` where an exception became a line: pytest shows no traceback and no other."""
    return pytest.fail.Exception(text, pytrace=False)


def _no_agent(agent: object) -> str:
    if asyncio.iscoroutine(agent):
        agent.close()  # else Python warns, somewhere later, that it was never awaited
    if asyncio.iscoroutine(agent) or hasattr(agent, "__anext__"):
        advice = "decorate it with @pytest_asyncio.fixture(loop_scope='session')"
        return f"the `agent` fixture is async and nothing ran it: {advice}"
    return f"the `agent` fixture gave a {type(agent).__name__}, which is no agent: it has no info and connect()"


async def _hold(item: pytest.Item, scenario: Scenario, agent: Agent, runner: Runner) -> Conversation:
    """Hold the conversation in the runner, while this loop stays free for what the user's fixtures run in it."""
    from pytest_voicebench.agents.protocol import Unsupported
    from pytest_voicebench.blocking import Blocked
    from pytest_voicebench.clock import VirtualTimeError
    from pytest_voicebench.plugin.admission import gated
    from pytest_voicebench.plugin.progress import progress_line
    from pytest_voicebench.toolbox import MockError

    attempt, folder = item.stash.get(attempt_key, None), run_folder(item.config)
    ahead: Ahead | None = item.config.pluginmanager.getplugin(AHEAD) if agent.info.clock == "wall" else None
    with progress_line(item.config).item(attempt.item_id if attempt else scenario.item_id) as at:
        if ahead is None:
            future = runner.submit(scenario, gated(agent, item, scenario, at.tell_waiting), progress=at.tell)
        else:
            future = ahead.hold(item, scenario, agent, runner, at)
        awaited = asyncio.wrap_future(future)
        try:
            while not awaited.done():
                if ahead is not None:
                    ahead.go_on()
                await asyncio.wait({awaited}, timeout=GLANCE_S)
                at.show()
                _stop_if_asked(folder, future)
            return awaited.result()
        except Unsupported as reason:
            pytest.skip(str(reason))
        except MockError as error:
            if attempt is not None:
                attempt.error_kind = "suite"
            raise one_line(f"suite: {error}") from None
        except (VirtualTimeError, Blocked) as error:
            raise one_line(f"infrastructure: {error}") from None
        except SystemExit as error:
            raise one_line(f"infrastructure: the agent's code called sys.exit({error.code!r})") from None
        finally:
            future.cancel()


def _stop_if_asked(folder: RunFolder, future: Future[Conversation]) -> None:
    if folder.stop_file.exists():
        future.cancel()
        pytest.exit("the run was stopped", returncode=pytest.ExitCode.INTERRUPTED)


def _save(held: Conversation, folder: Path) -> None:
    """Keep the evidence before anything is concluded from it."""
    from pytest_voicebench.conversation_files import save_conversation
    from pytest_voicebench.plugin.record import unsaved

    try:
        save_conversation(held, folder)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this item's and not the session's end
        raise one_line(f"infrastructure: {unsaved(folder, error)}") from None


def raise_problem(scenario: Scenario, held: Conversation, attempt: Attempt | None) -> None:
    from pytest_voicebench.validity import measurement_problems

    problem = next((p for p in (*held.problems, *measurement_problems(scenario, held)) if p.kind != "agent"), None)
    if problem is None:
        return
    if attempt is not None and problem.kind != "agent":  # asked again for the type checker, which forgets the search
        attempt.error_kind = problem.kind
    pytest.fail(f"{problem.kind}: {problem.message}", pytrace=False)


def judged(request: pytest.FixtureRequest, scenario: Scenario, conversation: Conversation) -> None:
    """Score the conversation, save the result, fail the test where it did not pass."""
    from pytest_voicebench.plugin.record import record
    from pytest_voicebench.scoring import score

    scorecard = score(scenario, conversation)
    attempt = request.node.stash[attempt_key]
    result = attempt.close("passed" if scorecard.passed else "failed", scorecard=scorecard)
    lost = record(request.node, result)
    if lost:
        pytest.fail(f"infrastructure: {lost}", pytrace=False)
    if not scorecard.passed:
        pytest.fail(_failure(request, scenario, conversation, scorecard), pytrace=False)
    if attempt.failed_before:
        pytest.fail(f"{attempt.item_id}: {FIRST_COUNTS}", pytrace=False)


def _failure(
    request: pytest.FixtureRequest, scenario: Scenario, conversation: Conversation, scorecard: Scorecard
) -> str:
    from pytest_voicebench.plugin.keeping import kept
    from pytest_voicebench.writers.failure import failure_text

    attempt, keeping = request.node.stash[attempt_key], kept(request.config)
    return failure_text(
        keeping.scenario(scenario),
        keeping.conversation(conversation),
        keeping.data(scorecard),
        folder=Path(run_folder(request.config).shown, attempt.folder),
        rerun_command=rerun_command(request.node),
    )


def rerun_command(item: pytest.Item) -> str:
    """The command that runs this item again, from the directory in which pytest was started."""
    from pytest_voicebench.agents.naming import shown_text
    from pytest_voicebench.result_files import LATEST_NAME

    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    rescored = rescored_run(item.config)
    if rescored is not None:
        given = item.config.getoption("voicebench_rescore")
        run = rescored.name if Path(given).name == LATEST_NAME else given  # the latest is another one by now
        return shlex.join(["pytest", f"{path}::{item.name}", f"{RESCORE}={run}"])
    agents = [f"{agent_option(item.config)}={shown_text(text)}" for text in agents_given(item.config)]
    return shlex.join(["pytest", f"{path}::{item.name}", *agents])
