"""`--voicebench-resume`: a run that was killed or interrupted is finished, and equals one that was not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from results import AGENT, a_result, a_run
from suites_for_pytest import (
    PASSING,
    SILENT,
    command,
    environment,
    heed_ctrl_c,
    latest_run,
    outcomes,
    run_apart,
    scenario_yaml,
    summary_of,
    write_conftest,
    write_suite,
)

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.plan import UNKNOWN_AGENT, completed, read_plan
from pytest_voicebench.result_files import RunUnreadable, append_result, read_results
from pytest_voicebench.resuming import ResumeRefused, agent_difference, begun_run, resumed_plan

RESUME = "--voicebench-resume=latest"

TROUBLE = """
import os, pathlib, time
from pytest_voicebench import result_files

plain = result_files.append_result

def append(folder, result):
    if result.item_id == os.environ.get("TORN"):
        with open(folder / "results.jsonl", "a") as log: log.write('{"item_id": "travel')
        os.kill(os.getpid(), 9)
    if result.item_id == os.environ.get("KILLED"):
        os.kill(os.getpid(), 9)
    plain(folder, result)

result_files.append_result = append

def pytest_runtest_setup(item):
    if os.environ.get("HANGS", "-") in item.name:
        pathlib.Path("hangs").touch()
        time.sleep(600)

def pytest_collection():
    if os.environ.get("COLLECTS"):
        pathlib.Path("hangs").touch()
        time.sleep(600)

def pytest_runtest_logreport(report):
    if report.when == "call" and os.environ.get("HELD"):
        with open(os.environ["HELD"], "a") as log: log.write(report.nodeid + "\\n")

@pytest.fixture(autouse=True)
def counted(request):
    with open("fixtures.txt", "a") as log: log.write(request.node.name + "\\n")
"""


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path, TROUBLE)
    write_suite(tmp_path / "suites", *(scenario_yaml(f"travel_{n:02}") for n in range(1, 6)))
    return tmp_path


def without_header(run):
    data = json.loads((run / "summary.json").read_bytes())
    assert data.pop("header")
    return json.dumps(data)


def lines_of(run):
    return [r.item_id for r in read_results(run).results]


def uninterrupted(folder, *ways, agent=PASSING):
    """The summary of a run that nothing happened to."""
    run_apart(folder, agent, "--voicebench-reports=straight", *ways)
    (run,) = [path for path in (folder / "straight").iterdir() if path.is_dir()]
    (folder / "fixtures.txt").unlink()
    return without_header(run)


@pytest.mark.parametrize("way", ["KILLED", "TORN"])
@pytest.mark.parametrize("agent", [PASSING, SILENT], ids=["passing", "failing"])
def test_a_run_killed_in_the_middle_is_finished_and_equals_one_that_was_not(folder, way, agent):
    straight = uninterrupted(folder, agent=agent)
    status, _ = run_apart(folder, agent, **{way: "travel_03"})
    assert status == -signal.SIGKILL
    run = latest_run(folder)
    assert lines_of(run) == ["travel_01", "travel_02"]
    (folder / "fixtures.txt").unlink()
    status, text = run_apart(folder, agent, RESUME)
    assert latest_run(folder) == run
    assert f"resuming {run.name}: 2 of 5 done, to hold: 3 not run" in text
    assert without_header(run) == straight
    assert status == (0 if agent == PASSING else pytest.ExitCode.TESTS_FAILED), text
    assert ("5 passed" if agent == PASSING else "5 failed") in text
    assert lines_of(run) == [f"travel_{n:02}" for n in range(1, 6)]
    assert (folder / "fixtures.txt").read_text().split() == [f"scenario[travel_{n:02}]" for n in (3, 4, 5)]
    if agent == SILENT:  # what was told of the failures that were not repeated is told again
        assert text.count("travel_01: A flight to Milan") == 1
    assert len((run / "junit.xml").read_text().split("<testcase")) == 6


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_resumed_run_that_is_interrupted_is_resumed_again(folder, ways):
    straight = uninterrupted(folder, *ways)
    later = "travel_02" if ways else "travel_04"  # of two workers the other one may be done with all else by then
    for hangs, ended in (("travel_02", signal.SIGKILL), (later, signal.SIGINT)):
        (folder / "hangs").unlink(missing_ok=True)
        options = [] if ended == signal.SIGKILL else [RESUME]
        end_while_hanging(folder, ended, *options, *ways, HANGS=hangs)
    run = latest_run(folder)
    done = set(lines_of(run))
    assert "travel_01" in done
    assert later not in done
    status, text = run_apart(folder, PASSING, RESUME, *ways)
    assert status == 0, text
    assert without_header(run) == straight
    assert sorted(lines_of(run)) == [f"travel_{n:02}" for n in range(1, 6)]
    assert len(json.loads((run / "plan.json").read_bytes())["header"]["resumed"]) == 2
    assert len([path for path in (folder / "reports").iterdir() if path.is_dir()]) == 1
    assert not (run / ".stop").exists()
    assert not (run / ".running.lock").exists()


def end_while_hanging(folder: Path, ended: signal.Signals, *options: str, **more: str) -> None:
    """Start a run, and end it while an item hangs: with all its workers, or by Ctrl-C as a terminal does."""
    process = subprocess.Popen(
        command(PASSING, *options),
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    while not (folder / "hangs").exists() and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, ended)
    process.communicate(timeout=120)
    assert process.returncode == (-signal.SIGKILL if ended == signal.SIGKILL else pytest.ExitCode.INTERRUPTED)


def test_errors_are_held_again_and_their_attempts_are_shown(folder):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(
            "\n@pytest.fixture\n"
            "def agent(agent, scenario):\n"
            "    if scenario.id == os.environ.get('ABSENT'): raise ConnectionError('nobody')\n"
            "    return agent\n"
        )
    status, text = run_apart(folder, PASSING, ABSENT="travel_02")
    assert status == pytest.ExitCode.TESTS_FAILED, text
    run = latest_run(folder)
    status, text = run_apart(folder, PASSING, RESUME)
    assert status == 0, text
    assert "4 of 5 done, to hold: 1 error" in text
    assert set(outcomes(folder).values()) == {("passed", None)}
    rows = {r.item_id: r for r in completed(read_plan(run), read_results(run).results)}
    assert rows["travel_02"].attempts == ("error", "passed")
    assert rows["travel_02"].folder == "items/travel_02/attempt_2"
    assert rows["travel_01"].attempts == ()


def test_a_worker_that_dies_over_an_item_that_was_an_error_before_is_an_attempt_too(folder):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(
            "\n@pytest.fixture\n"
            "def agent(agent, scenario):\n"
            "    if scenario.id == os.environ.get('ABSENT'): raise ConnectionError('nobody')\n"
            "    if scenario.id == os.environ.get('DIES'): os._exit(1)\n"
            "    return agent\n"
        )
    run_apart(folder, PASSING, ABSENT="travel_02")
    status, text = run_apart(folder, PASSING, RESUME, "-n", "1", DIES="travel_02")
    assert status == pytest.ExitCode.TESTS_FAILED, text
    run = latest_run(folder)
    rows = {r.item_id: r for r in completed(read_plan(run), read_results(run).results)}
    assert rows["travel_02"].attempts == ("error", "error")
    assert "crashed" in rows["travel_02"].cause
    assert summary_of(folder)["counts"]["error_kinds"] == {"infrastructure": 1}


def test_a_part_can_be_resumed_and_the_plan_stays_whole(folder):
    run_apart(folder, PASSING, KILLED="travel_02")
    status, text = run_apart(folder, PASSING, RESUME, "-k", "travel_03")
    assert status == 0, text
    counts = summary_of(folder)["counts"]
    assert (counts["planned"], counts["passed"], counts["not_run"]) == (5, 2, 3)
    run_apart(folder, PASSING, "--voicebench-reports=part", "-k", "travel_03")
    status, text = run_apart(folder, PASSING, "--voicebench-reports=part", RESUME)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "has no item travel_01, travel_02, travel_04, travel_05: select no more than it did" in text


def test_a_finished_run_has_nothing_left_to_hold(folder):
    run_apart(folder, PASSING)
    (folder / "fixtures.txt").unlink()
    status, text = run_apart(folder, PASSING, RESUME)
    assert status == 0, text
    assert "5 of 5 done, to hold: none" in text
    assert not (folder / "fixtures.txt").exists()


def changed_suite(folder):
    path = folder / "suites" / "travel.yaml"
    path.write_text(path.read_text().replace("destination: Milan", "destination: Rome", 1))


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (None, [SILENT], "not the agent of {run}: behaviour 'oracle', now 'no_op'"),
        (changed_suite, [PASSING], "scenarios changed since {run} (their hashes differ): travel_01"),
        (changed_suite, [PASSING, "-k", "travel_05"], "suite small changed since {run} (its hash differs)"),
        (None, [PASSING, "--voicebench-words=align"], "--voicebench-words of {run}: None, now align"),
    ],
    ids=["agent", "scenario", "suite", "words"],
)
def test_what_is_not_the_run_that_was_begun_is_refused_in_one_line(folder, change, options, told, ways):
    run_apart(folder, PASSING, KILLED="travel_03")
    run, before = latest_run(folder), (latest_run(folder) / "plan.json").read_bytes()
    if change:
        change(folder)
    status, text = run_apart(folder, *options, RESUME, *ways)
    assert status == pytest.ExitCode.USAGE_ERROR, text
    assert f"ERROR: --voicebench-resume: {told.format(run=run.name)}" in text
    assert (run / "plan.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--voicebench-resume=nowhere"], "--voicebench-resume: nowhere: no such run"),
        (["--voicebench-resume=suites"], "no plan.json, so nobody knows what is left to do"),
        (["--voicebench-resume=latest"], "no run has been made here yet"),
        (["--voicebench-resume=latest", "--voicebench-rescore=latest"], "no run has been made here yet"),
    ],
)
def test_a_run_that_cannot_be_resumed_is_one_line(folder, options, told):
    status, text = run_apart(folder, *options)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert told in text
    assert len(text.strip().splitlines()) == 1


@pytest.mark.parametrize("still", ["held", "resumed"])
def test_a_run_that_is_still_going_on_is_not_resumed(folder, still):
    """Also not where another one that resumes it has held nothing yet."""
    if still == "resumed":
        run_apart(folder, PASSING, KILLED="travel_03")
    process = subprocess.Popen(
        command(PASSING, *([RESUME] if still == "resumed" else [])),
        cwd=folder,
        env=environment(**({"COLLECTS": "1"} if still == "resumed" else {"HANGS": "travel_02"})),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (folder / "hangs").exists() and process.poll() is None:
            time.sleep(0.05)
        status, text = run_apart(folder, PASSING, RESUME)
        assert status == pytest.ExitCode.USAGE_ERROR
        assert text.strip() == f"ERROR: --voicebench-resume: {latest_run(folder).name} is still going on"
    finally:
        process.kill()
        process.wait()
    assert run_apart(folder, PASSING, RESUME)[0] == 0


def test_a_usage_error_leaves_no_lock(folder):
    run_apart(folder, PASSING, KILLED="travel_03")
    for _ in range(2):
        status, text = run_apart(folder, SILENT, RESUME)
        assert status == pytest.ExitCode.USAGE_ERROR
        assert "not the agent of" in text
    assert not (latest_run(folder) / ".running.lock").exists()


OWN = """
@pytest.fixture
def agent():
    class Named(Scripted):
        @property
        def info(self):
            from dataclasses import replace
            return replace(super().info, settings={"voice": os.environ["VOICE"]})
    return Named([(5.0, SEARCH)])
"""


def test_another_agent_of_the_users_own_fixture_is_an_error_of_its_items(folder):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(OWN)
    run_apart(folder, KILLED="travel_04", VOICE="kim")
    run_apart(folder, RESUME, VOICE="lee")
    assert list(outcomes(folder).values()) == [("failed", None)] * 3 + [("error", "infrastructure")] * 2
    assert "voice 'kim', now 'lee'" in read_results(latest_run(folder)).results[-1].cause
    run_apart(folder, RESUME, VOICE="kim")
    assert list(outcomes(folder).values()) == [("failed", None)] * 5


def test_failures_of_an_evidence_that_is_gone_stay_failures(folder):
    run_apart(folder, SILENT, KILLED="travel_02")
    (latest_run(folder) / "items" / "travel_01" / "conversation.json").unlink()
    status, text = run_apart(folder, SILENT, RESUME)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "failed before the run was interrupted; why cannot be told" in text
    assert summary_of(folder)["counts"]["failed"] == 5


# Without pytest


def test_what_is_done_and_what_was_tried(tmp_path):
    run = a_run(
        tmp_path / "run", a_result("a"), a_result("b", "failed"), a_result("c", "error"), planned=(a_result("d"),)
    )
    append_result(run, a_result("c", "error"))
    found = begun_run(run)
    assert set(found.done) == {"a", "b"}
    assert found.tried == {"a": 1, "b": 1, "c": 2}
    assert found.agent("d") == AGENT
    assert found.agent("x") == UNKNOWN_AGENT


def test_a_note_of_each_resuming_stays_in_the_header_and_workers_write_the_same(tmp_path):
    run = a_run(tmp_path / "run", a_result("a"), planned=(a_result("b"),))
    asked = read_plan(run)
    once = resumed_plan(begun_run(run), asked, "2026-01-01T00:00:00Z")
    assert once.header["resumed"] == ["2026-01-01T00:00:00Z"]
    assert once.notices == ("resuming run: 1 of 2 done, to hold: 1 not run",)
    assert [i.item_id for i in once.items] == ["a", "b"]


def test_a_folder_without_a_plan_cannot_be_resumed(tmp_path):
    append_result(tmp_path, a_result("a"))
    with pytest.raises(RunUnreadable, match=r"no plan\.json"):
        begun_run(tmp_path)


def test_scenarios_without_hashes_cannot_be_the_same(tmp_path):
    from dataclasses import replace

    bare = a_result("a")
    bare = replace(bare, facts=replace(bare.facts, scenario_sha256=""))
    run = a_run(tmp_path / "run", bare)
    with pytest.raises(ResumeRefused, match="scenarios changed since run"):
        resumed_plan(begun_run(run), read_plan(run), "now")


@pytest.mark.parametrize(
    ("then", "now", "difference"),
    [
        (AgentInfo(name="a"), AgentInfo(name="a"), ""),
        (UNKNOWN_AGENT, AgentInfo(name="a"), ""),
        (AgentInfo(name="a"), AgentInfo(name="b", model="m"), "name 'a', now 'b'; model None, now 'm'"),
        (
            AgentInfo(name="a", settings={"x": 1}),
            AgentInfo(name="a", settings={"y": 1}),
            "x 1, now None; y None, now 1",
        ),
    ],
)
def test_the_difference_of_two_agents_is_told_setting_by_setting(then, now, difference):
    assert agent_difference(then, now) == difference
