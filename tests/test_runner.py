"""The thread that holds conversations: both clocks, side by side, and an end to all of them."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import weakref
from collections import Counter
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager

import pytest

from pytest_voicebench.admission.entrance import Entrance
from pytest_voicebench.admission.limits import Limit
from pytest_voicebench.admission.places import Places
from pytest_voicebench.agents.gate import Gated
from pytest_voicebench.audio import BLOCK_S
from pytest_voicebench.blocking import Blocked
from pytest_voicebench.clock import Ticker, VirtualTimeError, VirtualTimeLoop
from pytest_voicebench.runner import BEGIN_EVERY_S, FULL_COLLECTION_AFTER, SWITCH_INTERVAL_S, Runner, _Phases
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


@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_a_conversation_leaves_memory_when_its_future_does_without_a_garbage_collection(tmp_path, runner, clock):
    scenario = stage.scenario(tmp_path, max_duration_s=0.1)
    gc.collect()
    gc.disable()
    try:
        sounds = [weakref.ref(_held(runner, scenario, clock).recording.agent) for _ in range(2)]
        assert sounds[0]() is None  # the second may still be with the thread that made it
    finally:
        gc.enable()


def _held(runner, scenario, clock):
    return runner.submit(scenario, Scripted([], clock=clock)).result(timeout=30)


def test_the_switch_interval_is_shortened_only_while_a_wall_clock_conversation_is_held(tmp_path, runner):
    usual_s = sys.getswitchinterval()
    seen = []
    scenario = stage.scenario(tmp_path, max_duration_s=0.1)
    agent = Scripted([], clock="wall")
    runner.submit(scenario, agent, progress=lambda _: seen.append(sys.getswitchinterval())).result(timeout=30)
    assert seen == [pytest.approx(SWITCH_INTERVAL_S)]
    assert usual_s > SWITCH_INTERVAL_S
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


@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_closing_leaves_behind_a_thread_that_an_agent_blocks(tmp_path, monkeypatch, clock):
    monkeypatch.setattr(f"pytest_voicebench.{'runner' if clock == 'wall' else 'virtual_runner'}.BLOCKED_AFTER_S", 0.2)
    runner, begun, released = Runner(), threading.Event(), threading.Event()

    class Blocking(Scripted):
        @asynccontextmanager
        async def connect(self, setup):
            begun.set()
            released.wait(timeout=60)
            async with super().connect(setup) as line:
                yield line

    held = runner.submit(stage.scenario(tmp_path), Blocking([], clock=clock))
    assert begun.wait(timeout=30)
    closing = threading.Thread(target=runner.close, daemon=True)
    closing.start()
    closing.join(timeout=30)
    released.set()
    assert not closing.is_alive()
    with pytest.raises((CancelledError, asyncio.CancelledError)):
        held.result(timeout=30)


@pytest.mark.parametrize("clock", ["virtual", "wall"])
@pytest.mark.parametrize("busy", [False, True], ids=["sleeps", "computes"])
def test_code_that_keeps_its_thread_ends_its_conversation_and_the_next_is_held(tmp_path, runner, clock, busy):
    released = threading.Event()

    class Blocking(Scripted):
        blocks_at_most_s = 0.5

        @asynccontextmanager
        async def connect(self, setup):
            while busy and not released.is_set():
                pass
            released.wait(timeout=60)
            async with super().connect(setup) as line:
                yield line

    scenario = stage.scenario(tmp_path, max_duration_s=0.1)
    held = runner.submit(scenario, Blocking([], clock=clock))
    with pytest.raises(
        Blocked, match=r"agent 'scripted' blocks .* 0\.5 s.* test_runner\.py:\d+ in connect\(\)"
    ) as told:
        held.result(timeout=60)
    assert "\n" not in str(told.value)
    assert runner.submit(scenario, Scripted([], clock=clock)).result(timeout=60).ended == "max_duration"
    released.set()


@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_an_agent_that_keeps_its_thread_does_not_keep_its_place_at_the_provider(tmp_path, runner, clock):
    """Of one place only; others that share the thread wait in its line meanwhile."""
    released = threading.Event()

    class Quick(Scripted):
        blocks_at_most_s = 0.5

    class Blocking(Quick):
        @asynccontextmanager
        async def connect(self, setup):
            await asyncio.sleep(0.2)
            released.wait(timeout=60)
            async with super().connect(setup) as line:
                yield line

    async def inline(work, *args):
        return work(*args)

    way = Entrance(name="one", places=Places(folder=tmp_path / "places", limit=Limit(sessions=1)), aside=inline)
    scenario = stage.scenario(tmp_path, max_duration_s=0.1)
    agents = [Blocking([], clock=clock), Quick([], clock=clock)]
    held, *waiting = [runner.submit(scenario, Gated(agent=agent, gate=way.gate("x"))) for agent in agents]
    with pytest.raises(Blocked):
        held.result(timeout=60)
    if clock == "wall":  # it shared the thread
        with pytest.raises(Blocked):
            waiting[0].result(timeout=60)
    after = runner.submit(scenario, Gated(agent=Scripted([], clock=clock), gate=way.gate("y")))
    assert after.result(timeout=60).ended == "max_duration"
    released.set()


@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_code_that_computes_for_less_than_its_agent_says_is_waited_for(tmp_path, runner, clock, monkeypatch):
    monkeypatch.setattr("pytest_voicebench.blocking.BLOCKED_S", 0.2)

    class Computing(Scripted):
        blocks_at_most_s = 60.0

        @asynccontextmanager
        async def connect(self, setup):
            time.sleep(1.0)  # noqa: ASYNC251 - what it is about
            async with super().connect(setup) as line:
                yield line

    held = runner.submit(stage.scenario(tmp_path, max_duration_s=0.1), Computing([], clock=clock))
    assert held.result(timeout=60).ended == "max_duration"


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


def test_conversations_of_one_loop_begin_one_after_another_and_send_at_different_moments():
    async def begin(phases):
        await phases.begin()
        begun_s = asyncio.get_running_loop().time()
        return begun_s, await phases.wait()

    async def begin_all():
        phases = _Phases(Ticker())
        return await asyncio.gather(*(begin(phases) for _ in range(100)))

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as loop:
        held = loop.run(begin_all())
    assert [begun_s for begun_s, _ in held] == pytest.approx([n * BEGIN_EVERY_S for n in range(100)])
    assert all(0 <= moment_s - begun_s <= BLOCK_S + 0.001 for begun_s, moment_s in held)
    within_a_block = Counter(round(moment_s * 1000) % 20 for _, moment_s in held)
    assert len(within_a_block) == 20
    assert max(within_a_block.values()) <= 7


def test_what_was_there_before_is_left_out_of_garbage_collection_only_while_conversations_are_held(tmp_path, runner):
    frozen = []
    scenario = stage.scenario(tmp_path, max_duration_s=0.1)
    agent = Scripted([], clock="wall")
    runner.submit(scenario, agent, progress=lambda _: frozen.append(gc.get_freeze_count())).result(timeout=30)
    assert frozen[0] > 1000
    assert gc.get_freeze_count() == 0


def test_full_garbage_collections_are_rare_only_while_a_wall_clock_conversation_is_held(tmp_path, runner):
    usual, seen = gc.get_threshold(), []
    scenario = stage.scenario(tmp_path, max_duration_s=0.1)
    agent = Scripted([], clock="wall")
    runner.submit(scenario, agent, progress=lambda _: seen.append(gc.get_threshold())).result(timeout=30)
    rare = FULL_COLLECTION_AFTER if usual[2] else 0  # Python 3.14 has no full ones
    assert seen == [(*usual[:2], rare)]
    assert gc.get_threshold() == usual
