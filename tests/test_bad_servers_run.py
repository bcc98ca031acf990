"""Runs of pytest against servers that do something wrong: what is seen, what the files hold, what Ctrl-C leaves."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from suites_for_pytest import (
    XDIST,
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

from tests.bad_stage import ADDRESSES, KEY, TOKEN, VARIABLES
from tests.servers.hostile_server import Hostile, listen
from tests.servers.in_thread import in_thread
from tests.servers.openai_script import Script, recite
from tests.servers.openai_server import openai_server
from tests.servers.tongues import BY_AGENT

LOUD = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-o", "log_cli=true")
MANY = 30


def agent_option(name: str, port: int) -> str:
    return f"--agent={ADDRESSES[name].format(at=f'127.0.0.1:{port}', s='', token=TOKEN)}"


@pytest.fixture
def folder(tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"), scenario_yaml("travel_02"))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "fault", "outcome", "told", "ways"),
    [
        ("gpt-realtime", "close_1011", ("error", "infrastructure"), "closed the connection (1011 oh *** ***)", "-n2"),
        ("twilio voice_url", "garbage", ("error", "infrastructure"), "not a JSON object: '{garbage ***", "-pno:xdist"),
        ("cascaded", "status_401", ("error", "agent_absent"), "is refused (It did not work for ***", "-n0"),
    ],
)
def test_a_fault_costs_its_item_alone_and_no_file_or_line_shows_a_secret(folder, name, fault, outcome, told, ways):
    server = Hostile(BY_AGENT[name], fault, (KEY, TOKEN), pause_s=2.5)  # the reply comes after the request
    with in_thread(listen(server)):
        _, text = run_apart(folder, agent_option(name, server.port), *LOUD, ways, plugins=XDIST, **VARIABLES)
    found = outcomes(folder)
    assert sorted(found.values(), key=str) == [outcome, ("failed", None)], text  # the server calls no tool
    assert told in text
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flac"]
    assert {"events.jsonl", "summary.json", "junit.xml", "results.jsonl"} <= {path.name for path in files}
    for secret in (KEY, TOKEN):
        assert secret[:12] not in text
        assert [path for path in files if secret[:12].encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    "text", ["=grok,token={}", "grok,url=http://h/?key={}", "grok,url=wss://me:{}@h/", "grok,key={},x"]
)
def test_a_wrong_agent_is_a_usage_error_without_its_secret(folder, text):
    status, told = run_apart(folder, f"--agent={text.format(TOKEN)}", **VARIABLES)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: agent" in told
    assert TOKEN not in told


def test_ctrl_c_in_the_middle_of_many_conversations_over_a_wire_ends_them_all(folder):
    write_suite(folder / "suites", *(scenario_yaml(f"travel_{n:02}") for n in range(1, MANY + 1)))
    with openai_server(Script(), recite()) as double:
        args = (f"--agent=gpt-realtime,url={double.url}", f"--voicebench-concurrency={MANY}")
        with subprocess.Popen(
            command(*args, plugins=()),
            cwd=folder,
            env=environment(**VARIABLES),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=heed_ctrl_c,
        ) as process:
            while process.poll() is None and double.talking < MANY:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            text = process.communicate(timeout=60)[0].decode()
        gone_at = time.monotonic() + 60
        while double.talking and time.monotonic() < gone_at:
            time.sleep(0.05)
        assert double.talking == 0
    assert process.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "Traceback" not in text
    assert summary_of(folder)["counts"]["not_run"] == MANY
    assert Path(latest_run(folder) / "junit.xml").exists()
