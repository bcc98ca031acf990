"""The adapter `twilio` in whole conversations over the wire, with a double of a phone agent and each of its faults.

All conversations of the table are held side by side with their doubles, on a loop whose clock counts waiting alone:
what is asserted is order and content.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import stage
from patience import patiently

from pytest_voicebench.agents import wire
from pytest_voicebench.agents.twilio import Twilio
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import converse
from tests.servers.openai_script import Call, Say, recite
from tests.servers.twilio_script import PhoneScript
from tests.servers.twilio_server import PhoneDouble, listen

TOKEN = "planted-token-7391"
TENANT = "planted-tenant-1122"
DEADLINE_S = 60.0
ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
SEARCH = Call("search_flights", ARGUMENTS)
BARGE_IN = (("turn",), ("wait", stage.into_agent(1.0)))
LIMIT = {"max_duration_s": 5.0}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the double, its agent, what the user says, and the settings of ours."""

    script: PhoneScript = field(default_factory=PhoneScript)
    turns: Sequence[Sequence[Any]] = ((SEARCH, Say(1.0)),)
    steps: Sequence[tuple] = (("turn",),)
    settings: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    tool_latency_s: float = 0.0
    voice: bool = False
    url: str = ""


def trouble(*what, **more):
    return Case(script=PhoneScript(on_turn=what), **more)


CASES = {
    "whole": Case(script=PhoneScript(token=TOKEN)),
    "telnyx": Case(script=PhoneScript(dialect="telnyx"), settings={"dialect": "telnyx"}),
    "voice_url": Case(
        script=PhoneScript(
            token=TOKEN,
            parameters=f'<Parameter name="tenant" value="7"/><Parameter name="session_token" value="{TENANT}"/>',
        ),
        voice=True,
        settings={"parameters": {"language": "en", "tenant": "0"}},
    ),
    "sizes": Case(script=PhoneScript(sizes=(1, 7, 160, 333, 4000), marks="each")),
    "twin_marks": Case(script=PhoneScript(marks="each", mark_name="again")),
    "no_marks": Case(script=PhoneScript(marks="none")),
    "unknown": Case(script=PhoneScript(unknown=True)),
    "slow_accept": Case(script=PhoneScript(accept_s=1.0)),
    "garbled_media": trouble(*2 * [{"event": {"event": "media", "media": {"payload": "%%%"}}}]),
    "stop": trouble({"event": {"event": "stop"}}),
    "nothing_to_clear": trouble({"event": {"event": "clear"}}),
    "two_calls": Case(turns=((SEARCH, Call("search_flights", '{"destination": "Rome"}'), Say()),)),
    "slow_tool": Case(tool_latency_s=1.5),
    "unknown_tool": Case(turns=((Call("cancel_everything"), Say()),)),
    "no_json": Case(turns=((Call("search_flights", '{"destination": "Par'), Say()),)),
    "no_tools": Case(settings={"tools": "none"}),
    "barge_in": Case(turns=((Say(5.0),), (Say(),)), steps=BARGE_IN),
    "barge_in_marked": Case(script=PhoneScript(marks="each"), turns=((Say(5.0),), (Say(),)), steps=BARGE_IN),
    "barge_in_live": Case(script=PhoneScript(pace=0.9, marks="each"), turns=((Say(8.0),), (Say(),)), steps=BARGE_IN),
    "wrong_stream": Case(script=PhoneScript(wrong_stream=True), suite=LIMIT),
    "no_answer": Case(turns=(), suite=LIMIT),
    "never_stops": Case(turns=((Say(60.0),),), suite=LIMIT),
    "unsigned": Case(script=PhoneScript(token="another")),
    "rate_limited": Case(script=PhoneScript(status=429)),
    "server_error": Case(script=PhoneScript(status=503)),
    "never_accepts": Case(script=PhoneScript(accept_s=8.0)),
    "refused": Case(url="ws://127.0.0.1:{free}/media"),
    "dns": Case(url="ws://no-such-host.invalid/media"),
    "broken_off": Case(url="wss://127.0.0.1:{port}/media"),
    "voice_404": Case(script=PhoneScript(voice_status=404), voice=True),
    "no_stream": Case(script=PhoneScript(twiml="<Response><Hangup/></Response>"), voice=True),
    "drop": Case(script=PhoneScript(on_audio=["drop"])),
    "1000": trouble({"close": 1000}),
    "1001": trouble({"close": 1001, "reason": "going away"}),
    "1011": trouble({"close": 1011, "reason": f"internal error {TOKEN}"}),
    "tells_tools": trouble({"close": 1011, "reason": "tools_url"}),
    "garbage": trouble({"raw": "{garbage"}),
    "list": trouble({"raw": "[1]"}),
    "binary": trouble({"binary": 100}),
    "huge": trouble({"huge": 17 * 2**20}),
}


@dataclass(frozen=True)
class Held:
    """A conversation, and the double's view of it."""

    talk: Conversation
    double: Any

    @property
    def call(self):
        return self.double.sessions[0]

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def events(self):
        return [json.loads(line) for line in self.talk.wire_events]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TWILIO_AUTH_TOKEN", TOKEN)
        patch.setenv("ALL_PROXY", "http://127.0.0.1:9")  # nothing is there; it must not be asked
        patch.setattr(wire, "OPEN_TIMEOUT_S", 5.0)
        yield patiently(hold_all(tmp_path_factory))


async def hold_all(folders):
    """Hold them side by side, the doubles in the same loop."""
    doubles, talks = {}, {}
    async with AsyncExitStack() as stack, asyncio.timeout(DEADLINE_S):
        for name, case in CASES.items():
            double = PhoneDouble(script=case.script, open_line=recite(*case.turns))
            await stack.enter_async_context(listen(double))
            url = case.url.format(port=double.port, free=free_port()) or double.url
            where = {"voice_url": double.voice_url} if case.voice else {"url": url}
            doubles[name] = double
            scenario = scenario_of(folders.mktemp(name), name, case)
            talks[name] = asyncio.create_task(converse(scenario, Twilio(**where, **case.settings)))
        return {name: Held(await talk, doubles[name]) for name, talk in talks.items()}


def scenario_of(folder, name, case):
    says = [stage.say(folder, step[0], "filler", when=step[1] if step[1:] else None) for step in case.steps]
    scenario = stage.scenario(folder, *says, item_id=name, settle_s=1.0, **case.suite)
    slow = {n: replace(tool, latency_s=case.tool_latency_s) for n, tool in stage.TOOLS.items()}
    return replace(scenario, suite=replace(scenario.suite, tools=slow))


def free_port() -> int:
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        return nobody.getsockname()[1]


WHOLE = ["whole", "telnyx", "voice_url", "sizes", "twin_marks", "no_marks", "unknown", "slow_accept", "stop"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_conversation_is_held_in_every_dialect_and_with_every_oddity(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert talk.ended == "settled"
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", json.loads(ARGUMENTS))
    assert call.acknowledged_ticks is not None
    (result,) = held[name].call.results
    assert (result[1], result[2]["flights"][0]["destination"]) == (200, "Milan")
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    assert talk.transcripts == ()
    assert talk.clears_ticks == ()


@pytest.mark.parametrize("name", [*WHOLE, "two_calls", "slow_tool", "barge_in_marked", "barge_in_live"])
def test_the_double_finds_that_twilio_is_played_right_and_the_call_ends_with_stop(held, name):
    call = held[name].call
    assert call.flaws == []
    assert call.stopped is not None
    assert (call.kinds["start"], call.kinds["stop"]) == (1, 1)


@pytest.mark.parametrize("name", ["whole", "telnyx", "voice_url"])
def test_every_block_of_the_user_arrives_as_160_bytes(held, name):
    talk, call = held[name].talk, held[name].call
    assert call.kinds["media"] == call.chunk == talk.duration_ticks // 480
    assert talk.delivery.sent_blocks == talk.delivery.planned_blocks
    assert talk.agent.input_hz == 8000


def test_the_custom_parameters_hold_the_tools_and_twiml_has_the_last_word(held):
    told = held["whole"].call.start["customParameters"]
    assert set(told) == {"tools_url"}
    assert told["tools_url"].startswith("http://127.0.0.1:")
    told = held["voice_url"].call.start["customParameters"]
    assert (told["language"], told["tenant"], told["session_token"]) == ("en", "7", TENANT)
    assert held["voice_url"].double.announced[0]["tenant"] == "0"
    assert held["voice_url"].double.announced[0]["tools_url"] == told["tools_url"]
    assert held["no_tools"].call.start["customParameters"] == {}
    assert held["no_tools"].talk.calls == ()
    urls = [one.call.tools_url for one in held.values() if one.double.sessions]
    assert len(set(urls) - {""}) == len([url for url in urls if url])


@pytest.mark.parametrize("name", ["whole", "sizes", "twin_marks", "barge_in", "barge_in_marked", "barge_in_live"])
def test_every_mark_comes_back_once_and_in_order(held, name):
    call = held[name].call
    assert not call.waiting
    assert [echo for echo, _ in call.echoes] == [name for name, _ in call.sent_marks]


@pytest.mark.parametrize("name", ["whole", "sizes", "twin_marks"])
def test_no_mark_comes_back_before_its_sound_was_heard(held, name):
    """By the log's times: a mark's sound ends no sooner than its length after the first of it arrived."""
    call, rows = held[name].call, held[name].events()
    arrived_s = next(row["at_s"] for row in rows if row["way"] == "received" and row["event"].get("event") == "media")
    back_s = [row["at_s"] for row in rows if row["way"] == "sent" and row["event"].get("event") == "mark"]
    assert len(back_s) == len(call.sent_marks) > 0
    for (_, sound_s), at_s in zip(call.sent_marks, back_s, strict=True):
        assert at_s >= arrived_s + sound_s - 1e-5


@pytest.mark.parametrize("name", ["barge_in", "barge_in_marked", "barge_in_live"])
def test_barge_in_stops_the_sound_and_what_follows_is_heard(held, name):
    talk, call = held[name].talk, held[name].call
    assert held[name].told() == []
    assert len(talk.clears_ticks) == call.clears == 1
    (cleared,) = talk.clears_ticks
    cut = [chunk for chunk in talk.chunks if chunk.received_ticks < cleared]
    after = [chunk for chunk in talk.chunks if chunk.received_ticks >= cleared]
    assert 0.9 * RATE_HZ <= sum(chunk.heard_ticks for chunk in cut) < 5 * RATE_HZ
    assert sum(chunk.heard_ticks for chunk in after) == round(0.6 * RATE_HZ)
    assert not {chunk.item_id for chunk in cut} & {chunk.item_id for chunk in after}
    assert talk.ended == "settled"


def test_after_a_clear_the_marks_of_what_was_dropped_come_back_before_any_new_one(held):
    rows = [(row["way"], row["event"]) for row in held["barge_in_marked"].events() if row["way"] != "note"]
    marks = [(way, event.get("mark", {}).get("name")) for way, event in rows if event.get("event") in ("mark", "clear")]
    cleared = marks.index(("received", None))
    asked = [name for way, name in marks[:cleared] if way == "received"]
    back = [name for way, name in marks[:cleared] if way == "sent"]
    dropped = asked[len(back) :]
    assert len(dropped) > 10
    assert marks[cleared + 1 : cleared + 1 + len(dropped)] == [("sent", name) for name in dropped]


def test_two_calls_at_once_are_answered_each(held):
    assert [(c.name, c.status) for c in held["two_calls"].talk.calls] == [
        ("search_flights", "executed"),
        ("search_flights", "failed"),
    ]
    assert [status for _, status, _ in held["two_calls"].call.results] == [200, 200]


def test_a_slow_tool_holds_only_its_own_request(held):
    (call,) = held["slow_tool"].talk.calls
    assert call.finished_ticks - call.at_ticks >= 1.5 * RATE_HZ
    assert held["slow_tool"].call.chunk == held["slow_tool"].talk.duration_ticks // 480
    assert sum(c.heard_ticks for c in held["slow_tool"].talk.chunks) == RATE_HZ


@pytest.mark.parametrize(("name", "status"), [("unknown_tool", 404), ("no_json", 400)])
def test_a_call_that_cannot_be_made_is_rejected_visibly_and_the_agent_told(held, name, status):
    (call,) = held[name].talk.calls
    assert call.status == "rejected"
    ((_, code, body),) = held[name].call.results
    assert (code, "error" in body) == (status, True)
    assert held[name].told() == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("garbled_media", "the payload of a media message is not base64: such messages are ignored"),
        ("wrong_stream", "a media message has not the streamSid of this stream: such messages are ignored"),
    ],
)
def test_what_twilio_would_ignore_is_ignored_with_one_remark(held, name, message):
    assert [m for kind, m in held[name].told() if kind == "agent" and "media" in m] == [message]
    assert all(kind == "agent" for kind, _ in held[name].told())
    assert sum(c.heard_ticks for c in held[name].talk.chunks) == (0 if name == "wrong_stream" else RATE_HZ)


def test_a_clear_with_nothing_to_clear_does_no_harm(held):
    assert held["nothing_to_clear"].told() == []
    assert held["nothing_to_clear"].talk.clears_ticks == ()  # nothing was cut
    assert sum(c.heard_ticks for c in held["nothing_to_clear"].talk.chunks) == RATE_HZ


@pytest.mark.parametrize(("name", "ended"), [("no_answer", "max_duration"), ("never_stops", "max_duration")])
def test_an_agent_that_never_answers_or_never_stops_ends_with_the_time(held, name, ended):
    assert (held[name].told(), held[name].talk.ended) == ([], ended)
    assert held[name].talk.truncated == (name == "never_stops")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unsigned", "agent_absent", "HTTP 403, a key is asked for"),
        ("rate_limited", "agent_absent", "HTTP 429, too many sessions"),
        ("server_error", "agent_absent", "HTTP 503, the server failed"),
        ("never_accepts", "agent_absent", "no connection within 5 s"),
        ("refused", "agent_absent", "(ALL_PROXY is set, and not used"),
        ("dns", "agent_absent", "the name of the host is not known"),
        ("broken_off", "agent_absent", "the connection broke off while it was opened"),
        ("voice_404", "agent_absent", "/voice: HTTP 404, not found"),
        ("no_stream", "agent_absent", "/voice: the TwiML has no <Connect><Stream>: it holds Hangup"),
        ("drop", "infrastructure", "the connection broke off without a closing frame (1006)"),
        ("1001", "infrastructure", "the server closed the connection (1001 going away)"),
        ("1011", "infrastructure", "the server closed the connection (1011 internal error ***)"),
        ("tells_tools", "infrastructure", "/***)"),
        ("garbage", "infrastructure", "the server sent what is not a JSON object: '{garbage'"),
        ("list", "infrastructure", "the server sent what is not a JSON object"),
        ("binary", "infrastructure", "the server sent a binary frame of 100 bytes where JSON is due"),
        ("huge", "infrastructure", "the server sent a message of more than 16 MiB (1009)"),
    ],
)
def test_each_fault_is_one_line_of_the_right_kind_and_nothing_is_lost(held, name, kind, message):
    told = held[name].told()
    assert told[0][0] == kind
    assert message in told[0][1]
    assert "\n" not in told[0][1]
    assert held[name].talk.wire_events
    assert held[name].talk.ended == "problem"
    if kind == "infrastructure":
        assert held[name].talk.duration_ticks > RATE_HZ


def test_an_agent_that_hangs_up_in_order_ends_the_conversation_without_a_problem(held):
    assert (held["1000"].told(), held["1000"].talk.ended) == ([], "line_closed")


def test_nothing_is_tried_again_inside_a_measurement(held):
    assert held["rate_limited"].double.refused == held["unsigned"].double.refused == 1
    assert len(held["voice_404"].double.announced) == 1
    assert all(len(one.double.sessions) <= 1 for one in held.values())


def test_neither_the_token_nor_that_of_the_tools_nor_sound_is_in_any_event_problem_or_description(held):
    for name, one in held.items():
        shown = "\n".join([*one.talk.wire_events, repr(one.talk), repr(one.talk.problems)])
        assert TOKEN not in shown, name
        assert TENANT not in shown, name
        if one.double.sessions and one.call.tools_url:
            assert one.call.tools_url.rpartition("/")[2] not in shown, name
        assert all(len(line) < 5_000 for line in one.talk.wire_events), name
        for row in one.events():
            payload = row["event"].get("media", {}).get("payload", "<") if isinstance(row["event"], dict) else "<"
            assert payload.startswith("<"), name
