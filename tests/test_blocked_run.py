"""Runs in which the code of an own agent keeps its thread: its item is an error, the others run and are kept."""

from __future__ import annotations

import signal
import subprocess
import time

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

BLOCKING = """
import pathlib, time

class Line(scripted.ScriptedLine):
    async def send(self, audio):
        if self.agent.setup.conversation_id == "travel_02" and self.agent.sent:
            pathlib.Path("blocking").touch()
            {blocks}
        await super().send(audio)

class Sleepy(scripted.Scripted):
    blocks_at_most_s = {most_s}

    @scripted.asynccontextmanager
    async def connect(self, setup):
        self.setup = setup
        yield Line(self)

class Fresh:
    info = scripted.Scripted([], clock={clock!r}).info
    blocks_at_most_s = Sleepy.blocks_at_most_s
    def connect(self, setup): return Sleepy([(5.0, SEARCH), (6.0, scripted.CLOSE)]).connect(setup)

@pytest.fixture(scope="session")
def agent(): return Fresh()
"""


def write_run(folder, blocks, clock, most_s=3.0):
    write_conftest(folder, BLOCKING.format(blocks=blocks, clock=clock, most_s=most_s))
    write_suite(folder / "suites", *(scenario_yaml(f"travel_{n:02}") for n in range(1, 5)))


@pytest.mark.parametrize(
    ("blocks", "clock", "words", "plugins"),
    [
        ("while True: pass", "virtual", ("-p", "no:xdist"), ()),
        ("time.sleep(100_000)", "virtual", ("-n", "2"), XDIST),
        ("time.sleep(100_000)", "wall", ("-n", "0"), XDIST),
    ],
    ids=["computes", "sleeps", "on-the-wall-clock"],
)
def test_an_agent_that_keeps_its_thread_costs_its_item_and_the_run_ends(tmp_path, blocks, clock, words, plugins):
    write_run(tmp_path, blocks, clock)
    status, text = run_apart(tmp_path, *words, plugins=plugins)
    assert status == pytest.ExitCode.TESTS_FAILED, text
    found = outcomes(tmp_path)
    assert found.pop("travel_02") == ("error", "infrastructure")
    assert set(found.values()) <= {("failed", None), ("error", "invalid_measurement")}, text  # it does not speak
    (line,) = [line for line in text.splitlines() if line.startswith("infrastructure: ")]
    assert (
        "the agent 'scripted' blocks its thread: nothing else ran for 3 s, and its code stands at conftest.py:" in line
    )
    assert " in send()" in line
    assert "Traceback" not in text
    assert (latest_run(tmp_path) / "junit.xml").exists()


@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_ctrl_c_ends_a_run_whose_agent_keeps_its_thread_and_results_are_kept(tmp_path, clock):
    write_run(tmp_path, "time.sleep(100_000)", clock, most_s=100_000.0)
    with subprocess.Popen(
        command("-p", "no:xdist", plugins=()),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    ) as process:
        while process.poll() is None and not (tmp_path / "blocking").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=120)[0].decode()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, text
    assert "Traceback" not in text
    assert summary_of(tmp_path)["counts"]["not_run"] == 3
    assert outcomes(tmp_path)["travel_01"][0] in ("failed", "error")
