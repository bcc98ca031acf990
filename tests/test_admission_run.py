"""Limits and tries in runs of pytest: over the wire, in workers, with servers that refuse or vanish."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from suites_for_pytest import (
    PASSING,
    XDIST,
    command,
    environment,
    latest_run,
    outcomes,
    run_apart,
    scenario_yaml,
    write_conftest,
    write_suite,
)

from pytest_voicebench.plugin.progress import ItemProgress
from pytest_voicebench.plugin.waits import WaitsOfWorker, waits_text
from pytest_voicebench.result_files import read_results
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_server

CALL = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
LINE = recite([CALL, Say(voice="reply")])


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", *(scenario_yaml(f"travel_{n:02}") for n in (1, 2, 3)))
    return tmp_path


def item(number):
    return f"suites/travel.yaml::scenario[travel_{number:02}]"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--voicebench-limit=grok"], "--voicebench-limit: 'grok' is not NAME=SESSIONS"),
        (
            ["--voicebench-limit=grok=0"],
            "--voicebench-limit: 'grok=0': each must be a whole number from 1 to 10000, not '0'",
        ),
        (["--voicebench-retries=many"], "--voicebench-retries: 'many' is not TRIES or TRIES,SECONDS"),
        (["-o", "voicebench_limits=x"], "--voicebench-limit: 'x' is not NAME=SESSIONS"),
    ],
)
@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_wrong_limit_ends_the_run_in_one_line(folder, options, told, ways):
    status, text = run_apart(folder, PASSING, *options, *ways)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert text.startswith(f"ERROR: {told}")
    assert len(text.strip().splitlines()) == 1


@pytest.mark.parametrize("ways", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_limit_for_an_agent_that_does_not_run_is_a_usage_error(folder, ways):
    status, text = run_apart(folder, PASSING, "--voicebench-limit=simulatd=2", *ways)
    assert status == pytest.ExitCode.USAGE_ERROR
    told = "--voicebench-limit simulatd: no agent of this run; did you mean 'simulated'? they are simulated"
    assert f"ERROR: {told}" in text


def test_a_limit_keeps_workers_below_what_the_server_takes(folder):
    with openai_server(Script(), LINE, most=1) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        status, text = run_apart(folder, agent, "-n", "3", "--voicebench-limit=gpt-realtime=1")
    assert status == 0, text
    assert double.refused == 0
    assert len(double.sessions) == 3


def test_a_session_limit_that_nobody_told_us_is_waited_for_outside_the_measured_time(folder):
    with openai_server(Script(), LINE, most=1) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        status, text = run_apart(folder, agent, "-n", "2", "--voicebench-retries=20,100", item(1), item(2))
    assert status == 0, text
    assert double.refused > 0
    rows = [
        json.loads(line)
        for path in latest_run(folder).glob("items/*/events.jsonl")
        for line in path.read_text().splitlines()
    ]
    waits = [row for row in rows if "again in" in json.dumps(row)]
    assert waits
    assert all(row["at_s"] < 0 for row in waits)


def test_429_for_ever_ends_soon_as_infrastructure_with_the_number_of_tries(folder):
    with openai_server(Script(status=429), LINE) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        status, text = run_apart(folder, agent, "--voicebench-retries=2")
    assert status == pytest.ExitCode.TESTS_FAILED
    assert list(outcomes(folder).values()) == [("error", "infrastructure")] * 3, text
    assert double.refused == 2 + 1 + 1
    causes = [r.cause for r in read_results(latest_run(folder)).results]
    assert "tried 2 times (2 allowed)" in causes[0]
    assert "tried once (another conversation tried in vain)" in causes[1]


def test_a_server_that_vanishes_between_two_items_is_an_error_of_the_second_at_once(folder):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(
            "\n@pytest.fixture\n"
            "def agent(agent, scenario):\n"
            "    if scenario.id == 'travel_02':\n"
            "        print('GO', flush=True)\n"
            "        sys.stdin.readline()\n"
            "    return agent\n"
        )
    with openai_server(Script(), LINE) as double:
        process = subprocess.Popen(
            command(f"--agent=gpt-realtime,url={double.url}", "-s", item(1), item(2), plugins=XDIST),
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        before = []
        for line in process.stdout:
            before.append(line)
            if "GO" in line:
                break
    text = "".join(before) + process.communicate("gone\n", timeout=120)[0]
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, text
    assert outcomes(folder) == {"travel_01": ("passed", None), "travel_02": ("error", "agent_absent")}, text
    assert "tried" not in read_results(latest_run(folder)).results[1].cause


def test_the_progress_line_says_what_is_waited_for():
    class Line:
        done, planned, text, worker = 0, 2, "", None

        def write(self, text):
            self.text = text

    line = Line()
    at = ItemProgress(name="travel_01", line=line)
    at.tell_waiting("waiting for a place: grok 8 of 8")
    at.show()
    assert line.text == " 1/2 travel_01, waiting for a place: grok 8 of 8"
    at.tell_waiting("")
    at.tell(3.0)
    at.show()
    assert line.text == " 1/2 travel_01, 3 s"


def test_what_workers_wait_for_is_shown_by_the_process_that_reports(folder):
    """Its terminal: there the line is, and only there."""
    import pty

    with openai_server(Script(), LINE, most=1) as double:
        agent = f"--agent=gpt-realtime,url={double.url}"
        words = command(agent, "-n", "2", "--voicebench-limit=gpt-realtime=1", item(1), item(2))
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            words, cwd=folder, env=environment(TERM="xterm"), stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            shown = b""
            try:
                while piece := os.read(ours, 65536):
                    shown += piece
            except OSError:  # the other end was closed
                pass
        os.close(ours)
    assert process.returncode == 0, shown
    assert b"\x1b7 0/2, waiting for a place: gpt-realtime 1 of 1 (1 worker)" in shown
    assert not list(latest_run(folder).glob(".waits*"))


def test_a_worker_tells_what_it_waits_for_until_it_goes_on_or_dies(tmp_path):
    one, two, three = (WaitsOfWorker(tmp_path, f"gw{n}") for n in range(3))
    assert waits_text(tmp_path) == ""
    one.tell("")
    one.tell("waiting for a place: grok 8 of 8")
    assert waits_text(tmp_path) == "waiting for a place: grok 8 of 8 (1 worker)"
    two.tell("waiting to start: grok in 3 s")
    three.tell("waiting for a place: grok 8 of 8")
    assert waits_text(tmp_path) == "waiting for a place: grok 8 of 8 (3 workers)"
    for path in tmp_path.iterdir():
        if path.read_text().startswith("waiting for"):
            os.utime(path, (0, 0))
    assert waits_text(tmp_path) == "waiting to start: grok in 3 s (1 worker)"
    two.tell("")
    assert waits_text(tmp_path) == ""


def test_a_custom_agent_has_the_same_by_its_name(folder):
    with (folder / "conftest.py").open("a") as conftest:
        conftest.write(
            "\nclass Own(Scripted):\n"
            "    def connect(self, setup):\n"
            "        if not os.path.exists('refused'):\n"
            "            open('refused', 'w').close()\n"
            "            raise AgentAbsent('full', kind='rate_limited', retry_after_s=1)\n"
            "        return super().connect(setup)\n"
            "import os\n"
            "@pytest.fixture\n"
            "def agent(): return Own([(5.0, SEARCH), (5.2, sound(0.5))], clock='wall')\n"
        )
    status, text = run_apart(folder, "--voicebench-limit=scripted=1,60/min", item(1))
    assert "full" not in text
    assert list(outcomes(folder).values()) == [("failed", None)], text  # it was held, and what it says is no speech
    assert status == pytest.ExitCode.TESTS_FAILED
    assert os.path.exists(folder / "refused")
    assert (folder / "reports" / ".limits" / "scripted" / "place_1.lock").exists()
