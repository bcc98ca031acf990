"""The thread that holds conversations: both clocks, side by side, and an end to all of them."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager

import pytest

from pytest_voicebench.clock import VirtualTimeError
from pytest_voicebench.runner import Runner
from pytest_voicebench.scenario import Step
from tests import stage
from tests.scripted import Scripted, sound


@pytest.fixture
def runner():
    runner = Runner()
    yield runner
    runner.close()


def test_conversations_on_the_wall_clock_run_side_by_side_and_are_on_time(tmp_path, runner):
    scenario = stage.scenario(tmp_path, stage.say(tmp_path, "short", "filler"), settle_s=0.2)
    agents = [Scripted([(1.8, sound(0.2))], clock="wall") for _ in range(5)]
    held = [f.result(timeout=30) for f in [runner.submit(scenario, a) for a in agents]]
    for conversation in held:
        assert conversation.ended == "settled"
        assert conversation.delivery.sent_blocks == conversation.delivery.planned_blocks
        assert conversation.delivery.late_p99_s is not None


def test_the_switch_interval_is_shortened_only_while_a_wall_clock_conversation_is_held(tmp_path, runner):
    usual_s = sys.getswitchinterval()
    seen = []
    scenario = stage.scenario(tmp_path, max_duration_s=0.1)
    agent = Scripted([], clock="wall")
    runner.submit(scenario, agent, progress=lambda _: seen.append(sys.getswitchinterval())).result(timeout=30)
    assert seen == [pytest.approx(0.0005)]
    assert sys.getswitchinterval() == pytest.approx(usual_s)


def test_virtual_conversations_have_a_fresh_loop_each(tmp_path, runner):
    loops = []

    class Watching(Scripted):
        def connect(self, setup):
            loops.append(asyncio.get_running_loop())
            return super().connect(setup)

    for _ in range(2):
        runner.submit(stage.scenario(tmp_path), Watching([(6.0, sound(1.0))])).result(timeout=30)
    assert loops[0] is not loops[1]


@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_closing_cancels_a_conversation_in_progress(tmp_path, clock):
    runner, begun = Runner(), threading.Event()
    for_ever = Step(kind="wait", seconds=1_000_000.0)
    endless = stage.scenario(tmp_path, stage.say(tmp_path, "one"), for_ever, max_duration_s=10_000_000.0)
    agent = Scripted([], clock=clock)
    future = runner.submit(endless, agent, progress=lambda _: begun.set())
    assert begun.wait(timeout=30)
    runner.close()
    with pytest.raises((CancelledError, asyncio.CancelledError)):
        future.result(timeout=30)
    assert agent.closed


@pytest.mark.filterwarnings("error")
def test_a_spinning_agent_ends_its_conversation_and_leaves_nothing_behind(tmp_path, runner, monkeypatch, caplog):
    monkeypatch.setattr("pytest_voicebench.clock.SPIN_LIMIT", 10_000)

    class Spinning(Scripted):
        def connect(self, setup):
            return spin()

    @asynccontextmanager
    async def spin():
        while True:  # noqa: ASYNC110 - the fault under test
            await asyncio.sleep(0)
        yield

    agent = Spinning([])
    with pytest.raises(VirtualTimeError, match="spins"):
        runner.submit(stage.scenario(tmp_path), agent).result(timeout=60)
    gc.collect()
    assert "Task was destroyed" not in caplog.text
