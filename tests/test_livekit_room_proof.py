"""Rooms of a real livekit-server, with a real livekit-agents worker whose model is our double.

VOICEBENCH_LIVEKIT_SERVER names the server's binary (go install github.com/livekit/livekit-server/cmd/server@v1.9.11),
VOICEBENCH_LIVEKIT_PYTHON the worker's interpreter (see test_livekit_agent_proof.py). We need the extra `livekit`.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import stage
from suites_for_pytest import command, environment, latest_run, scenario_yaml, write_conftest, write_suite

from pytest_voicebench.agents.protocol import AgentAudio
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.result_files import read_results
from pytest_voicebench.runner import Runner
from tests.servers.livekit_server import KEY, SECRET, livekit_server, worker
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import openai_server

SERVER = os.environ.get("VOICEBENCH_LIVEKIT_SERVER")
PYTHON = os.environ.get("VOICEBENCH_LIVEKIT_PYTHON")
ENTRY = Path(__file__).parent / "third_party" / "livekit_room_agent.py"
NAME = "voicebench-test"
DEADLINE_S = 400.0
SEARCH = Call("search_flights", '{"destination": "Milan", "date": "2026-06-03"}')
OWN = Call("own_clock", '{"zone": "CET"}')
HANG_UP = Call("hang_up", "{}")
LONG = Say(8.0, "one two three four five six seven eight")
HEARD = ["Find me a flight.", "No, wait."]
ENDINGS = ("leave", "delete", "crash")

pytestmark = [
    pytest.mark.skipif(SERVER is None, reason="VOICEBENCH_LIVEKIT_SERVER is not set"),
    pytest.mark.skipif(PYTHON is None, reason="VOICEBENCH_LIVEKIT_PYTHON is not set"),
    pytest.mark.skipif(os.name != "posix", reason="process groups are needed"),
]


@pytest.fixture(scope="module")
def rooms():
    """The server, and a worker that is registered with it."""
    pytest.importorskip("livekit.rtc", reason="rooms need the extra 'livekit'")
    pytest.importorskip("mcp_types", reason="tools over HTTP need the extra 'tools'")
    with livekit_server(SERVER) as server, worker(PYTHON, ENTRY, server.url), pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIVEKIT_API_KEY", KEY)
        patch.setenv("LIVEKIT_API_SECRET", SECRET)
        patch.delenv("LIVEKIT_URL", raising=False)
        yield server


def agent(rooms, double, **more):
    from pytest_voicebench.agents.livekit_room import LiveKitRoom

    told = {"model_url": double.url, **{k: more.pop(k) for k in ("ends_by",) if k in more}}
    given = {"agent_name": NAME, "url": rooms.url, "join_timeout_s": 120.0, **more}
    return LiveKitRoom(metadata=json.dumps(told), **given)


@pytest.fixture(scope="module")
def held(rooms, tmp_path_factory):
    """All conversations, held side by side: by name, the conversation and its double."""
    with ExitStack() as stack:
        runner = stack.enter_context(closing(Runner()))

        def double(*turns):
            return stack.enter_context(openai_server(Script(), recite(*turns, heard=HEARD)))

        agents = {}
        talk = double([SEARCH, OWN, LONG], [Say(1.0, "Yes.")])
        agents["talk"] = (agent(rooms, talk), talk)
        session = double([OWN, Say(1.0, "Half past twelve.")])
        agents["session"] = (agent(rooms, session, tools="session"), session)
        for how in ENDINGS:
            ends = double([Say(1.0, "Goodbye."), HANG_UP])
            agents[how] = (agent(rooms, ends, ends_by=how), ends)
        agents["dies"] = (agent(rooms, talk, ends_by="crash at once", join_timeout_s=30.0), talk)
        agents["nobody"] = (agent(rooms, talk, agent_name="nobody", join_timeout_s=3.0), talk)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LIVEKIT_API_SECRET", f"not-{SECRET}")
            agents["refused"] = (agent(rooms, talk), talk)
        futures = {}
        for name, (made, _) in agents.items():
            folder = tmp_path_factory.mktemp(name)
            steps = [stage.say(folder, "turn")]
            if name == "talk":
                steps.append(stage.say(folder, "wait", when=stage.into_agent(1.0)))
            settle_s = 40.0 if name in ENDINGS else 3.0
            futures[name] = runner.submit(stage.scenario(folder, *steps, item_id=name, settle_s=settle_s), made)
        yield {name: (future.result(timeout=DEADLINE_S), agents[name][1]) for name, future in futures.items()}


def told(talk):
    return [(p.kind, p.message) for p in talk.problems]


def heard_s(talk):
    found = {}
    for chunk in talk.chunks:
        found[chunk.item_id] = found.get(chunk.item_id, 0.0) + chunk.heard_ticks / RATE_HZ
    return found


def test_a_conversation_in_a_room_has_its_calls_texts_and_usage(held):
    talk, double = held["talk"]
    assert (told(talk), talk.ended) == ([], "settled")
    calls = {c.name: (c.status, c.self_reported, dict(c.arguments)) for c in talk.calls}
    assert len(talk.calls) == 2
    assert calls["search_flights"] == ("executed", False, {"destination": "Milan", "date": "2026-06-03"})
    assert calls["own_clock"] == ("executed", True, {"zone": "CET"})
    assert [t.text for t in talk.transcripts if t.speaker == "user"] == HEARD
    assert talk.usage["total_tokens"] > 0
    outputs = [e["item"]["output"] for e in double.sessions[0].seen if "function_call_output" in str(e)]
    assert any("FL123" in output for output in outputs)
    assert double.sessions[0].config["instructions"] == "Today is Monday, 6 April 2026."


def test_an_agent_in_a_room_is_interrupted_and_each_reply_is_an_item_with_its_text(held):
    talk, _ = held["talk"]
    assert talk.clears_ticks == ()  # it just stops sending
    *first, (last_item, last_s) = heard_s(talk).items()
    assert 1.0 <= sum(seconds for _, seconds in first) < 8.0
    assert 0.5 <= last_s <= 2.0  # 1 s, and a little of the silence after it
    texts = [t for t in talk.transcripts if t.speaker == "agent"]
    assert texts[0].text in LONG.text
    assert (texts[-1].text, texts[-1].item_id, texts[-1].heard_text) == ("Yes.", last_item, "Yes.")


def test_an_agent_with_tools_of_its_own_needs_none_of_ours(held):
    talk, _ = held["session"]
    assert told(talk) == []
    assert [(c.name, c.status, c.self_reported) for c in talk.calls] == [("own_clock", "executed", True)]
    assert [t.heard_text for t in talk.transcripts if t.speaker == "agent"] == ["Half past twelve."]


@pytest.mark.parametrize("how", ["leave", "delete"])
def test_an_agent_that_leaves_or_deletes_the_room_has_hung_up(held, how):
    talk, _ = held[how]
    assert (told(talk), talk.ended) == ([], "line_closed")


def test_an_agent_that_crashes_in_the_middle_is_lost(held):
    talk, _ = held["crash"]
    ((kind, message),) = told(talk)
    assert kind == "infrastructure"
    assert message.startswith("the agent was lost (")


def test_an_agent_that_crashes_before_it_listens_is_absent(held):
    ((kind, message),) = told(held["dies"][0])
    assert kind == "agent_absent"
    assert message.startswith("a worker took the job, and its agent did not come into the room within 30 s")


def test_a_name_that_no_worker_has_registered_is_told_on_one_line(held, rooms):
    want = f"no agent came into the room within 3 s: is a worker named 'nobody' registered at LiveKit ({rooms.url})?"
    assert told(held["nobody"][0]) == [("agent_absent", want)]


def test_a_wrong_secret_is_told_on_one_line_without_it(held, rooms):
    ((kind, message),) = told(held["refused"][0])
    assert kind == "agent_absent"
    assert message.startswith(f"LiveKit ({rooms.url}): HTTP 401, the key of LIVEKIT_API_SECRET is refused")
    assert SECRET not in message
    assert "\n" not in message


def test_no_room_is_left_behind(held, rooms):
    import asyncio

    from livekit import api

    async def names():
        async with api.LiveKitAPI(rooms.url, KEY, SECRET) as client:
            return [room.name for room in (await client.room.list_rooms(api.ListRoomsRequest())).rooms]

    assert held
    assert asyncio.run(names()) == []


@dataclass
class Watched:
    """An agent, and what is done when it is first heard."""

    agent: object
    at_sound: object
    info: object = field(init=False)

    def __post_init__(self):
        self.info = self.agent.info
        self.connect_timeout_s = self.agent.connect_timeout_s

    @asynccontextmanager
    async def connect(self, setup):
        async with self.agent.connect(setup) as line:
            receive = line.receive

            async def watched():
                async for event in receive():
                    if isinstance(event, AgentAudio) and self.at_sound:
                        at_sound, self.at_sound = self.at_sound, None
                        at_sound()
                    yield event

            line.receive = watched
            yield line


def test_a_server_that_goes_in_the_middle_is_the_networks_fault(rooms, tmp_path):
    with (
        livekit_server(SERVER) as server,
        worker(PYTHON, ENTRY, server.url),
        openai_server(Script(), recite([LONG])) as double,
    ):
        made = Watched(agent(server, double), server.kill)
        talk = stage.hold(stage.scenario(tmp_path, settle_s=40.0), made)
    (problem,) = talk.problems
    assert problem.kind == "infrastructure"
    assert problem.message == "the connection to the room broke"


def test_no_artifact_of_a_run_holds_the_secret(rooms, tmp_path):
    write_conftest(tmp_path)
    write_suite(tmp_path / "suites", scenario_yaml("travel_01"))
    with openai_server(Script(), recite([SEARCH, Say(1.0, "Here it is.")], heard=HEARD)) as double:
        metadata = json.dumps({"model_url": double.url}).replace('"', '\\"')
        name = f'livekit-room,agent_name={NAME},join_timeout_s=120,metadata="{metadata}"'
        options = ("-v", "--showlocals", "--junitxml=junit.xml", "-o", "log_level=DEBUG", "-o", "log_cli=true")
        done = subprocess.run(
            command(f"--agent={name}", *options),
            cwd=tmp_path,
            env=environment(LIVEKIT_URL=rooms.url, LIVEKIT_API_KEY=KEY, LIVEKIT_API_SECRET=SECRET),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
    text = done.stdout + done.stderr
    (result,) = read_results(latest_run(tmp_path)).results
    assert result.outcome in ("passed", "failed"), text[-4000:]  # the double's tone may be speech to Silero, or not
    assert SECRET not in text
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".flac"]
    assert {"events.jsonl", "summary.json", "junit.xml", "conversation.json"} <= {path.name for path in files}
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path
    (item,) = [p for p in (latest_run(tmp_path) / "items").iterdir() if p.is_dir()]
    rows = [json.loads(line)["event"] for line in (item / "events.jsonl").read_text().splitlines()]
    told = [row for row in rows if isinstance(row, dict)]
    kinds = [next(iter(row)) for row in told]
    assert kinds[:2] == ["create_room", "create_dispatch"]
    assert kinds[-1] == "delete_room"
    assert {"event", "user_track"} <= set(kinds)
    assert "the user's track is received" in rows
