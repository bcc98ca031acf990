"""Limits, places and tries: what a provider allows, held by all processes together and freed by those that die."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.admission.entrance import LOOK_S, Entrance
from pytest_voicebench.admission.limits import DOCUMENTED, Limit, LimitError, limit_of, parse_limits, provider_of
from pytest_voicebench.admission.places import STATE_NAME, Places, folder_name
from pytest_voicebench.admission.retrying import JITTER, LONGEST_WAIT_S, Retries, RetriesError, parse_retries
from pytest_voicebench.agents.gate import GateBroken, Gated
from pytest_voicebench.agents.protocol import AgentAbsent
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.clock import VirtualTimeLoop
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.duplex import converse
from tests.scripted import Scripted, sound
from tests.stage import scenario

ROOT = Path(__file__).parents[1]


async def inline(work, *args):
    """In place of a thread: the virtual clock has none."""
    return work(*args)


def virtually(work):
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(work)


def entrance(folder, limit=None, retries=None, name="grok"):
    """To be made inside the loop, whose clock is the one that processes share."""
    return Entrance(
        name=name,
        places=Places(folder=folder, limit=limit or Limit()),
        retries=retries or Retries(),
        now_s=asyncio.get_running_loop().time,
        aside=inline,
    )


# Limits


@pytest.mark.parametrize(
    ("texts", "limits"),
    [
        (["grok=8"], {"grok": Limit(sessions=8)}),
        (["grok=30/min"], {"grok": Limit(starts_per_minute=30)}),
        (["grok=8,30/min"], {"grok": Limit(sessions=8, starts_per_minute=30)}),
        (["grok = 30 / min , 8"], {"grok": Limit(sessions=8, starts_per_minute=30)}),
        (["grok=8", "own@host:1=2", "grok=none"], {"grok": Limit(), "own@host:1": Limit(sessions=2)}),
    ],
)
def test_limits_are_read(texts, limits):
    assert parse_limits(texts) == limits


@pytest.mark.parametrize(
    "text",
    ["", "grok", "=8", "grok=", "grok=0", "grok=-1", "grok=many", "grok=8,9", "grok=1/s", "grok=0/min", "grok=10001"],
)
def test_a_text_that_sets_no_limit_is_one_line(text):
    with pytest.raises(LimitError) as refused:
        parse_limits([text])
    assert repr(text) in str(refused.value)
    assert "\n" not in str(refused.value)


class Own:
    provider = "acme"


def test_a_provider_is_what_the_agent_says_else_its_name_and_host():
    info = AgentInfo(name="own", settings={"llm_url": "https://b:2/v1", "url": "wss://a:1/v1?x=y"})
    found = provider_of(object(), info)
    assert (found.key, found.name, found.host) == ("own@a:1", "own", "a")
    assert provider_of(object(), AgentInfo(name="own")).key == "own"
    assert provider_of(Own(), info).key == "acme"


@pytest.mark.parametrize(
    ("url", "given_limits", "limit"),
    [
        ("wss://api.x.ai/v1/realtime", {}, DOCUMENTED["api.x.ai"].limit),
        ("ws://127.0.0.1:9/v1/realtime", {}, Limit()),
        ("wss://api.x.ai/v1/realtime", {"grok": Limit(sessions=2)}, Limit(sessions=2)),
        ("wss://api.x.ai/v1/realtime", {"grok": Limit()}, Limit()),
        ("wss://api.x.ai/v1", {"grok": Limit(), "grok@api.x.ai": Limit(sessions=3)}, Limit(sessions=3)),
    ],
)
def test_what_the_user_says_counts_before_what_the_provider_documents(url, given_limits, limit):
    assert limit_of(provider_of(object(), AgentInfo(name="grok", settings={"url": url})), given_limits) == limit


@given(st.text(max_size=200))
def test_every_provider_has_a_folder_of_its_own_name(key):
    name = folder_name(key)
    assert name
    assert "/" not in name
    assert name not in (".", "..")
    assert len(name) < 100
    assert name == folder_name(key)


# Places


def test_there_are_as_many_places_as_allowed_and_one_given_back_is_free(tmp_path):
    here, there = (Places(folder=tmp_path, limit=Limit(sessions=2)) for _ in range(2))
    first, second = here.take(), there.take()
    assert (first.number, second.number) == (1, 2)
    assert here.take() is there.take() is None
    first.give_back()
    assert there.take().number == 1


def test_a_killed_process_leaves_its_place_free_at_once(tmp_path):
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from pytest_voicebench.admission.places import Places\n"
        "from pytest_voicebench.admission.limits import Limit\n"
        f"p = Places(folder=Path({str(tmp_path)!r}), limit=Limit(sessions=1)).take()\n"
        "print(p.number, flush=True)\nsys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout.readline() == "1\n"
        places = Places(folder=tmp_path, limit=Limit(sessions=1))
        assert places.take() is None
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        assert places.take().number == 1
    finally:
        process.kill()
        process.communicate()


@given(st.integers(1, 4), st.lists(st.floats(0, 30), max_size=40))
def test_no_minute_has_more_starts_than_allowed_and_who_waits_as_told_may_start(tmp_path_factory, most, gaps):
    places = Places(folder=tmp_path_factory.mktemp("places"), limit=Limit(starts_per_minute=most))
    now_s, starts = 1000.0, []
    for gap_s in gaps:
        now_s += gap_s
        while wait_s := places.start(now_s):
            assert wait_s <= 60.001
            now_s += wait_s
        starts.append(now_s)
    for begin in starts:
        assert sum(begin <= at < begin + 59.999 for at in starts) <= most


@pytest.mark.parametrize("earlier_s", [0.004, 3.0])
def test_a_start_that_another_process_noted_a_moment_later_is_not_forgotten(tmp_path, earlier_s):
    """Each process reads the clock before it has the lock, so that they come in another order than their times."""
    places = Places(folder=tmp_path, limit=Limit(starts_per_minute=2))
    assert places.start(1000.0) == 0
    assert places.start(1000.0 - earlier_s) == 0
    assert places.start(1000.1) > 59


def test_starts_that_a_wrong_clock_wrote_do_not_hold_up_anybody(tmp_path):
    assert Places(folder=tmp_path, limit=Limit(starts_per_minute=1)).start(9e9) == 0
    assert Places(folder=tmp_path, limit=Limit(starts_per_minute=1)).start(1000.0) == 0


def test_a_pause_holds_for_all_and_is_never_made_shorter(tmp_path):
    here, there = (Places(folder=tmp_path, limit=Limit()) for _ in range(2))
    assert here.start(100.0) == 0
    here.pause(130.0)
    there.pause(110.0)
    assert there.start(120.0) == 10
    assert there.start(130.0) == 0


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"starts": "x", "paused_until": [null, "y"]}', b'{"starts":[1e99]}']
)
def test_a_damaged_state_file_is_an_empty_one(tmp_path, content):
    (tmp_path / STATE_NAME).write_bytes(content)
    assert Places(folder=tmp_path, limit=Limit(starts_per_minute=1)).start(100.0) == 0


def test_a_pause_that_a_wrong_clock_wrote_ends_all_the_same(tmp_path):
    places = Places(folder=tmp_path, limit=Limit())
    places.pause(9e9)
    assert places.start(100.0) <= 120


# The entrance, in virtual time


def test_waiting_conversations_get_places_in_order_and_are_told_what_they_wait_for(tmp_path):
    told, order, most, inside = [], [], 0, 0

    async def talk(way, number):
        nonlocal most, inside
        async with way.gate(f"item_{number}", lambda text: told.append((number, text))).admitted():
            inside += 1
            most = max(most, inside)
            order.append(number)
            await asyncio.sleep(10)
            inside -= 1

    async def main():
        way = entrance(tmp_path, Limit(sessions=2))
        async with asyncio.TaskGroup() as group:
            for number in range(6):
                group.create_task(talk(way, number))
        return asyncio.get_running_loop().time()

    took_s = virtually(main())
    assert order == list(range(6))
    assert most == 2
    assert 30 <= took_s <= 30 + 6 * LOOK_S
    assert (5, "waiting for a place: grok 2 of 2") in told
    assert told[-1][1] == ""
    assert (0, "waiting for a place: grok 2 of 2") not in told


def test_two_processes_share_the_places_and_neither_starves(tmp_path):
    inside, most, done = [], [], []

    async def talk(way, who):
        async with way.gate(who).admitted():
            inside.append(who)
            most.append(len(inside))
            await asyncio.sleep(5)
            inside.remove(who)
            done.append(who)

    async def main():
        ways = {who: entrance(tmp_path, Limit(sessions=2)) for who in ("many", "one")}
        async with asyncio.TaskGroup() as group:
            for _ in range(8):
                group.create_task(talk(ways["many"], "many"))
            await asyncio.sleep(1)
            group.create_task(talk(ways["one"], "one"))

    virtually(main())
    assert max(most) == 2
    assert len(done) == 9


def test_a_cancelled_conversation_leaves_no_place_taken(tmp_path):
    async def talk(way):
        async with way.gate("x").admitted():
            await asyncio.sleep(1000)

    async def main():
        way = entrance(tmp_path, Limit(sessions=1))
        tasks = [asyncio.create_task(talk(way)) for _ in range(3)]
        await asyncio.sleep(2)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        async with asyncio.timeout(LOOK_S), way.gate("y").admitted():
            return True

    assert virtually(main())


@pytest.mark.parametrize("how", ["cancelled", "abandoned"])
def test_a_place_that_comes_after_its_conversation_was_given_up_is_given_back(tmp_path, how):
    """A thread goes on taking it; a loop that its agent keeps cannot say any more that it is not wanted."""

    async def enter(gate):
        async with gate.admitted():
            await asyncio.sleep(1000)

    async def main():
        way, late = entrance(tmp_path, Limit(sessions=1)), asyncio.Event()

        async def slow(work, *args):
            async def thread():
                await late.wait()
                return work(*args)

            return await asyncio.shield(asyncio.ensure_future(thread()))

        way.aside, gate = slow, way.gate("x")
        task = asyncio.create_task(enter(gate))
        await asyncio.sleep(1)
        task.cancel() if how == "cancelled" else gate.abandon()
        late.set()
        await asyncio.sleep(0.1)
        other = entrance(tmp_path, Limit(sessions=1))
        async with asyncio.timeout(2 * LOOK_S), other.gate("y").admitted():
            task.cancel()
            return True

    assert virtually(main())


def test_a_folder_of_no_use_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")

    async def main():
        async with entrance(tmp_path / "file", Limit(sessions=1)).gate("x").admitted():
            pass

    with pytest.raises(GateBroken, match=r"^the places of grok in .*file cannot be used: ") as broken:
        virtually(main())
    assert "\n" not in str(broken.value)


# Tries


@pytest.mark.parametrize(
    ("text", "retries"),
    [("5", Retries(tries=5)), ("3,60", Retries(tries=3, total_s=60)), (" 1 , 9 s", Retries(tries=1, total_s=9))],
)
def test_tries_are_read(text, retries):
    assert parse_retries(text) == retries


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "5,", "5,x", "101", "5,1,1", "1.5"])
def test_a_text_that_says_nothing_of_tries_is_one_line(text):
    with pytest.raises(RetriesError, match="is not TRIES or TRIES,SECONDS"):
        parse_retries(text)


@given(st.integers(1, 100), st.none() | st.floats(0, 100), st.text(max_size=5))
def test_a_wait_is_bounded_never_shorter_than_asked_for_and_the_same_each_time(tried, asked_s, seed):
    wait_s = Retries().wait_s(tried, asked_s, seed)
    assert wait_s >= (asked_s or 0)
    assert wait_s <= max(LONGEST_WAIT_S, asked_s or 0) * (1 + JITTER)
    assert wait_s == Retries().wait_s(tried, asked_s, seed)


class Refusing(Scripted):
    """Refuses the first connections: one answer to each, None for a line."""

    def connect(self, setup):
        refusal = self.refusals.pop(0) if self.refusals else None
        self.tried_at = [*getattr(self, "tried_at", []), asyncio.get_running_loop().time()]
        if refusal:
            self.raises = {"connect": refusal}
        else:
            self.raises = {}
        return super().connect(setup)


def refusing(*refusals):
    agent = Refusing([(5.0, sound(0.5))])
    agent.refusals = list(refusals)
    return agent


def held(tmp_path, agent, retries=None, told=None):
    """The conversation behind a gate, in virtual time."""

    async def main():
        way = entrance(tmp_path / "places", retries=retries)
        gate = way.gate("milan_01", (told if told is not None else []).append)
        return await converse(scenario(tmp_path), Gated(agent=agent, gate=gate))

    return virtually(main())


def limited(after_s=None):
    return AgentAbsent("HTTP 429, too many", kind="rate_limited", retry_after_s=after_s)


FAILED = AgentAbsent("HTTP 503, the server failed", kind="server_error")


def test_a_refused_connection_is_tried_again_and_nothing_of_it_is_measured(tmp_path):
    straight = held(tmp_path / "a", refusing())
    told, agent = [], refusing(limited(7), FAILED, limited())
    talk = held(tmp_path / "b", agent, told=told)
    assert not talk.problems
    assert talk.duration_ticks == straight.duration_ticks
    assert talk.utterances == straight.utterances
    first, second, third, fourth = agent.tried_at
    assert 7 <= second - first <= 7 * (1 + JITTER) + 0.01
    assert second < third < fourth
    assert any(text.startswith("grok: too many requests, try 2 of 5 in ") for text in told)
    assert any(text.startswith("grok: the server failed, try 3 of 5 in ") for text in told)
    assert told[-1] == ""


@pytest.mark.parametrize(
    ("refusals", "retries", "kind", "message", "tries"),
    [
        ([limited()] * 9, None, "infrastructure", "HTTP 429, too many; tried 5 times (5 allowed)", 5),
        ([FAILED] * 9, None, "agent_absent", "HTTP 503, the server failed; tried 5 times (5 allowed)", 5),
        ([limited()] * 9, Retries(tries=1), "infrastructure", "HTTP 429, too many; tried once (1 allowed)", 1),
        ([limited(600)], None, "infrastructure", "tried once (the next one would have to wait", 1),
        ([AgentAbsent("nobody listens", kind="refused")], None, "agent_absent", "nobody listens", 1),
        ([AgentAbsent("nobody")], None, "agent_absent", "nobody", 1),
    ],
)
def test_trying_ends_and_the_kind_of_error_is_the_right_one(tmp_path, refusals, retries, kind, message, tries):
    agent = refusing(*refusals)
    talk = held(tmp_path, agent, retries)
    assert [p.kind for p in talk.problems] == [kind]
    assert message in talk.problems[0].message
    assert len(agent.tried_at) == tries
    assert agent.tried_at[-1] - agent.tried_at[0] <= 120
    assert talk.duration_ticks == 0


def test_a_long_wait_at_the_gate_is_no_timeout_of_the_connection(tmp_path):
    async def main():
        way = entrance(tmp_path / "places", Limit(sessions=1))

        async def occupy():
            async with way.gate("other").admitted():
                await asyncio.sleep(500)

        other = asyncio.create_task(occupy())
        await asyncio.sleep(1)
        talk = await converse(scenario(tmp_path), Gated(agent=refusing(), gate=way.gate("milan_01")))
        await other
        return talk

    talk = virtually(main())
    assert not talk.problems
    assert talk.utterances[0].start_ticks == 7200


def test_behind_a_gate_an_agent_has_the_time_to_connect_that_it_asks_for(tmp_path):
    class Late(Scripted):
        connect_timeout_s = 90.0

        @asynccontextmanager
        async def connect(self, setup):
            await asyncio.sleep(60)
            async with super().connect(setup) as line:
                yield line

    assert not held(tmp_path, Late([(5.0, sound(0.5))])).problems


def test_too_many_requests_of_one_conversation_hold_back_the_others(tmp_path):
    async def main():
        now_s = asyncio.get_running_loop().time
        ways = [entrance(tmp_path) for _ in range(2)]
        log = WireLog(now_s)

        async def refused():
            gate = ways[0].gate("a")
            await gate.start()
            await gate.again(limited(20), log)

        task = asyncio.create_task(refused())
        await asyncio.sleep(1)
        told = []
        await ways[1].gate("b", told.append).start()
        await task
        return now_s(), told

    at_s, told = virtually(main())
    assert at_s >= 20
    assert told[0].startswith("waiting to start: grok in ")


def test_where_trying_was_in_vain_the_next_ones_try_once_until_somebody_gets_through(tmp_path):
    assert "5 times" in held(tmp_path, refusing(*[limited()] * 9)).problems[0].message
    agent = refusing(*[limited()] * 9)
    talk = held(tmp_path, agent)
    assert len(agent.tried_at) == 1
    assert "tried once (another conversation tried in vain)" in talk.problems[0].message
    assert not held(tmp_path, refusing()).problems
    agent = refusing(limited())
    assert not held(tmp_path, agent).problems
    assert len(agent.tried_at) == 2


def test_places_that_cannot_be_used_are_an_error_of_the_item(tmp_path):
    (tmp_path / "places").write_text("")
    retries = Retries()
    agent = refusing(limited())
    talk = held(tmp_path, agent, retries)
    assert [p.kind for p in talk.problems] == ["infrastructure"]
    assert "cannot be used" in talk.problems[0].message
    assert os.path.exists(tmp_path / "places")
