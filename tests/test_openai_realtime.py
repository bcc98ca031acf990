"""The adapters `gpt-realtime` and `grok` in whole conversations over the wire, with a double and each of its faults.

All conversations of the table are held side by side with their doubles, on a loop whose clock counts waiting alone:
what is asserted is order and content, and no load of the machine changes it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import stage
from patience import patiently

from pytest_voicebench.agents import wire
from pytest_voicebench.agents.openai_realtime import GptRealtime, Grok
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import converse
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import Double, listen, openai_server

KEY = "sk-planted-7391"
DEADLINE_S = 45.0
ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
SEARCH = Call("search_flights", ARGUMENTS)
BOOK = Call("book_flight", '{"flight_id": "FL123"}')
EXPIRED = {"type": "invalid_request_error", "code": "session_expired", "message": "Your session hit the maximum."}
NO_KEY = {"type": "invalid_request_error", "code": "invalid_api_key", "message": f"Incorrect API key: {KEY}."}
SPEECH = {"type": "response.output_audio.delta", "response_id": "r?", "item_id": "i?", "output_index": 0}
STRAY = {**SPEECH, "content_index": 0, "delta": base64.b64encode(bytes([0, 16] * 4800)).decode()}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the double, its agent, what the user says, and the settings of ours."""

    script: Script = field(default_factory=Script)
    turns: Sequence[Sequence[Any]] = ((SEARCH, Say(1.0, "Here it is.")),)
    after_s: float = 0.0
    steps: Sequence[tuple] = (("turn",),)
    agent: type[GptRealtime] = GptRealtime
    settings: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    tool_latency_s: float = 0.0
    url: str = ""


def trouble(*what, **more):
    return Case(script=Script(on_turn=what), **more)


BARGE_IN = (("turn",), ("wait", stage.into_agent(1.0)))
LIMIT = {"max_duration_s": 5.0}

CASES = {
    "whole": Case(script=Script(key=KEY)),
    "beta": Case(script=Script(dialect="beta"), settings={"dialect": "beta"}),
    "grok": Case(script=Script(dialect="grok", pings=True), agent=Grok),
    "semantic": Case(settings={"turn_detection": "semantic_vad", "eagerness": "low", "transcription": "none"}),
    "two_calls": Case(turns=((SEARCH, Call("search_flights", '{"destination": "Rome"}'), Say()),)),
    "calls_in_a_row": Case(turns=((SEARCH, Say(0.3, "Found."), BOOK, Say()),)),
    "slow_tool": Case(tool_latency_s=1.5),
    "unknown_tool": Case(turns=((Call("cancel_everything"), Say()),)),
    "no_json": Case(turns=((Call("search_flights", '{"destination": "Par'), Say()),)),
    "cancelled_call": Case(script=Script(cancels_first_call=True), turns=((SEARCH, BOOK, Say()),), suite=LIMIT),
    "late_transcript": Case(script=Script(late_transcript=True)),
    "twice": Case(script=Script(twice=True)),
    "unknown": Case(script=Script(unknown=True)),
    "odd": Case(script=Script(odd=True)),
    "stray": trouble({"event": STRAY}),
    "barge_in": Case(turns=((Say(5.0, "one two three four five"),), (Say(),)), steps=BARGE_IN),
    "barge_in_live": Case(
        script=Script(pace=0.9), turns=((Say(8.0, "one two three four five"),), (Say(),)), steps=BARGE_IN
    ),
    "goes_on": Case(
        script=Script(pace=0.9, speaks_anyhow=True),
        turns=((Say(5.0, "one two three four five"),), ()),
        steps=BARGE_IN,
        suite={"max_duration_s": 12.0},
    ),
    "changed": Case(script=Script(changes={"threshold": 0.7})),
    "remark": trouble({"error": {"type": "invalid_request_error", "code": "odd", "message": "Never mind."}}),
    "no_answer": Case(turns=(), suite=LIMIT),
    "never_stops": Case(turns=((Say(60.0),),), suite=LIMIT),
    "unauthorized": Case(script=Script(key="sk-another")),
    "rate_limited": Case(script=Script(status=429, retry_after="7")),
    "server_error": Case(script=Script(status=503)),
    "refused_inside": Case(script=Script(first=[{"error": NO_KEY}, {"close": 3000}])),
    "no_greeting": Case(script=Script(greets=False)),
    "no_confirmation": Case(script=Script(confirms=False)),
    "refused_session": Case(script=Script(refuses_session=f"No such model for {KEY}.")),
    "refused": Case(url="ws://127.0.0.1:{free}/v1/realtime"),
    "dns": Case(url="ws://no-such-host.invalid/v1/realtime"),
    "tls": Case(url="wss://127.0.0.1:{plain}/v1/realtime"),
    "broken_off": Case(url="wss://127.0.0.1:{port}/v1/realtime"),
    "drop": Case(script=Script(on_audio=["drop"])),
    "1001": trouble({"close": 1001, "reason": "going away"}),
    "1011": trouble({"close": 1011, "reason": f"internal error {KEY}"}),
    "1000": trouble({"close": 1000}),
    "garbage": trouble({"raw": "{garbage"}),
    "list": trouble({"raw": "[1]"}),
    "binary": trouble({"binary": 100}),
    "huge": trouble({"huge": 17 * 2**20}),
    "failing": trouble({"error": {"type": "server_error", "code": None, "message": f"Failed for {KEY}."}}),
    "expired": trouble({"error": EXPIRED}, {"close": 1001}),
}


@dataclass(frozen=True)
class Held:
    """A conversation, and the double's view of it."""

    talk: Conversation
    double: Any

    @property
    def seen(self):
        return self.double.sessions[0].seen

    def kinds(self):
        """What the client sent, but audio."""
        return [event["type"] for event in self.seen]

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def events(self):
        return [json.loads(line) for line in self.talk.wire_events]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("XAI_API_KEY", KEY)
        patch.setenv("ALL_PROXY", "http://127.0.0.1:9")  # nothing is there; it must not be asked
        patch.setattr(wire, "HANDSHAKE_TIMEOUT_S", 2.0)
        yield patiently(hold_all(tmp_path_factory))


async def hold_all(folders):
    """Hold them side by side, the doubles in the same loop."""
    doubles, talks = {}, {}
    async with AsyncExitStack() as stack, asyncio.timeout(DEADLINE_S):
        plain = await stack.enter_async_context(plain_server())
        for name, case in CASES.items():
            double = Double(script=case.script, open_line=recite(*case.turns, after_s=case.after_s))
            await stack.enter_async_context(listen(double))
            url = case.url.format(port=double.port, free=free_port(), plain=plain) or double.url
            scenario = scenario_of(folders.mktemp(name), name, case)
            doubles[name] = double
            talks[name] = asyncio.create_task(converse(scenario, case.agent(url=url, **case.settings)))
        return {name: Held(await talk, doubles[name]) for name, talk in talks.items()}


def scenario_of(folder, name, case):
    says = [stage.say(folder, step[0], "filler", when=step[1] if step[1:] else None) for step in case.steps]
    scenario = stage.scenario(folder, *says, item_id=name, settle_s=1.0, **case.suite)
    slow = {n: replace(tool, latency_s=case.tool_latency_s) for n, tool in stage.TOOLS.items()}
    return replace(scenario, suite=replace(scenario.suite, tools=slow))


@asynccontextmanager
async def plain_server():
    """The port of a server that answers whatever comes in plain HTTP."""

    async def answer(reader, writer) -> None:
        await reader.read(1000)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def free_port() -> int:
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        return nobody.getsockname()[1]


@pytest.mark.parametrize("name", ["whole", "beta", "grok", "semantic", "twice", "unknown", "odd", "late_transcript"])
def test_a_whole_conversation_is_held_in_every_dialect_and_with_every_oddity(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert talk.ended == "settled"
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", json.loads(ARGUMENTS))
    assert call.acknowledged_ticks is not None
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    texts = {t.speaker: (t.text, t.heard_text) for t in talk.transcripts}
    assert texts == {"user": ("words of the user", None), "agent": ("Here it is.", "Here it is.")}
    results = [e["item"] for e in held[name].seen if e["type"] == "conversation.item.create"]
    assert [json.loads(r["output"])["flights"][0]["destination"] for r in results] == ["Milan"]
    assert held[name].kinds() == ["session.update", "conversation.item.create", "response.create"]
    assert talk.usage["total_tokens"] > 0
    assert talk.clears_ticks == ()


def test_the_session_is_asked_for_in_full_and_audio_waits_for_its_confirmation(held):
    session = held["whole"].seen[0]["session"]
    detection = {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500}
    asked = session["audio"]["input"]["turn_detection"]
    assert asked == detection | {"create_response": True, "interrupt_response": True}
    assert [tool["name"] for tool in session["tools"]] == ["search_flights", "book_flight"]
    assert held["grok"].seen[0]["session"]["turn_detection"] == detection
    assert held["semantic"].seen[0]["session"]["audio"]["input"]["turn_detection"]["eagerness"] == "low"
    assert held["semantic"].seen[0]["session"]["audio"]["input"]["transcription"] is None
    order = [row["event"].get("type") for row in held["whole"].events() if isinstance(row["event"], dict)]
    assert order[:4] == ["session.created", "session.update", "session.updated", "input_audio_buffer.append"]
    assert held["beta"].double.sessions[0].headers["OpenAI-Beta"] == "realtime=v1"
    assert "OpenAI-Beta" not in held["whole"].double.sessions[0].headers
    assert held["grok"].double.sessions[0].model == "grok-voice-latest"


def test_every_block_of_the_user_arrives(held):
    talk, session = held["whole"].talk, held["whole"].double.sessions[0]
    assert session.appends == talk.duration_ticks // 480
    assert talk.delivery.sent_blocks == talk.delivery.planned_blocks


@pytest.mark.parametrize("name", ["whole", "beta", "grok"])
def test_the_report_shows_what_was_asked(held, name):
    info = held[name].talk.agent
    assert {
        k: info.settings[k] for k in ("turn_detection", "threshold", "prefix_padding_ms", "silence_duration_ms")
    } == {
        "turn_detection": "server_vad",
        "threshold": 0.5,
        "prefix_padding_ms": 300,
        "silence_duration_ms": 500,
    }
    assert info.clock == "wall"
    assert info.model == ("grok-voice-latest" if name == "grok" else "gpt-realtime")
    assert info.settings["signed_in_with"] == ("XAI_API_KEY" if name == "grok" else "OPENAI_API_KEY")


def test_two_calls_of_one_response_are_answered_together_and_the_agent_is_asked_to_go_on_once(held):
    calls = held["two_calls"].talk.calls
    assert [(c.name, c.status) for c in calls] == [("search_flights", "executed"), ("search_flights", "failed")]
    assert len({c.response_id for c in calls}) == 1
    assert held["two_calls"].kinds()[1:] == [*["conversation.item.create"] * 2, "response.create"]


def test_calls_of_two_responses_are_answered_one_after_the_other(held):
    assert [(c.name, c.status) for c in held["calls_in_a_row"].talk.calls] == [
        ("search_flights", "executed"),
        ("book_flight", "executed"),
    ]
    assert held["calls_in_a_row"].kinds()[1:] == ["conversation.item.create", "response.create"] * 2


def test_while_a_slow_tool_works_the_users_silence_goes_on_and_the_answer_waits_for_it(held):
    (call,) = held["slow_tool"].talk.calls
    assert call.finished_ticks - call.at_ticks >= 1.5 * RATE_HZ
    events = held["slow_tool"].events()
    made = next(i for i, r in enumerate(events) if r["way"] == "received" and "response.done" in str(r["event"]))
    answered = next(i for i, r in enumerate(events) if r["way"] == "sent" and "function_call_output" in str(r["event"]))
    assert sum(r.get("times", 1) for r in events[made:answered] if "input_audio" in str(r["event"])) >= 20
    assert held["slow_tool"].kinds()[1:] == ["conversation.item.create", "response.create"]
    assert sum(c.heard_ticks for c in held["slow_tool"].talk.chunks) == RATE_HZ


@pytest.mark.parametrize("name", ["unknown_tool", "no_json"])
def test_a_call_that_cannot_be_made_is_rejected_visibly_and_the_agent_told(held, name):
    (call,) = held[name].talk.calls
    assert call.status == "rejected"
    output = held[name].seen[1]["item"]["output"]
    assert "error" in json.loads(output)
    assert held[name].told() == []


def test_a_cancelled_call_is_recorded_as_cancelled_never_run_and_never_answered(held):
    first = held["cancelled_call"].talk.calls[0]
    assert (first.name, first.status) == ("search_flights", "cancelled")
    answered = [e["item"]["call_id"] for e in held["cancelled_call"].seen if e["type"] == "conversation.item.create"]
    assert first.call_id not in answered


def test_a_server_that_goes_on_when_the_user_speaks_is_not_heard_and_the_item_says_so(held):
    talk = held["goes_on"].talk
    (told,) = held["goes_on"].told()
    assert told == (
        "agent",
        "the server went on with a response that the user had interrupted: what came after that was not played",
    )
    assert len(talk.clears_ticks) == 1
    assert sum(chunk.heard_ticks for chunk in talk.chunks) < 4 * RATE_HZ
    assert "response.cancel" not in held["goes_on"].kinds()  # the server was asked to do it by itself


@pytest.mark.parametrize("name", ["barge_in", "barge_in_live"])
def test_barge_in_stops_the_sound_and_the_server_learns_how_much_was_heard(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert len(talk.clears_ticks) == 1
    (cut,) = [e for e in held[name].seen if e["type"] == "conversation.item.truncate"]
    items = {}
    for chunk in talk.chunks:
        items[chunk.item_id] = items.get(chunk.item_id, 0) + chunk.heard_ticks
    assert cut["audio_end_ms"] == items[cut["item_id"]] * 1000 // RATE_HZ
    assert RATE_HZ <= items[cut["item_id"]] < 8 * RATE_HZ
    words = next(t for t in talk.transcripts if t.item_id == cut["item_id"])
    assert words.estimated
    assert words.heard_text in ("one", "one two", "one two three", "one two three four")
    done = [r["event"]["response"] for r in held[name].events() if "response.done" in str(r["event"])]
    assert [d["status"] for d in done] == (["completed"] if name == "barge_in" else ["cancelled"]) + ["completed"]
    truncated = [r for r in held[name].events() if "conversation.item.truncated" in str(r["event"])]
    assert len(truncated) == 1


def test_sound_for_an_item_nobody_announced_is_heard(held):
    assert [c.item_id for c in held["stray"].talk.chunks if c.item_id == "i?"] == ["i?"]
    assert held["stray"].told() == []


def test_what_the_server_changed_and_what_it_remarked_are_warnings(held):
    changed = "the server did not take a setting: audio.input.turn_detection.threshold 0.7 instead of 0.5"
    assert held["changed"].told() == [("agent", changed)]
    assert held["remark"].told() == [("agent", "the server reports odd: Never mind.")]
    assert held["remark"].talk.ended == held["changed"].talk.ended == "settled"


def test_a_server_that_says_nothing_and_one_that_never_stops_end_with_the_conversation(held):
    assert held["no_answer"].talk.ended == held["never_stops"].talk.ended == "max_duration"
    assert not held["no_answer"].talk.truncated
    assert held["never_stops"].talk.truncated


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        (
            "unauthorized",
            "agent_absent",
            "HTTP 401, the key of OPENAI_API_KEY is refused (Incorrect API key provided: ",
        ),
        (
            "rate_limited",
            "agent_absent",
            "HTTP 429, too many sessions or requests, or no quota left (no more sessions)",
        ),
        ("server_error", "agent_absent", "HTTP 503, the server failed"),
        ("refused_inside", "agent_absent", "the server refused the session: Incorrect API key: ***."),
        ("no_greeting", "agent_absent", "no session.created within 2 s"),
        ("no_confirmation", "agent_absent", "no session.updated within 2 s"),
        ("refused_session", "agent_absent", "the server refused the session: No such model for ***."),
        ("refused", "agent_absent", "nobody listens there"),
        ("dns", "agent_absent", "the name of the host is not known"),
        ("tls", "agent_absent", "TLS failed: "),
        ("broken_off", "agent_absent", "the connection broke off while it was opened"),
        ("drop", "infrastructure", "the connection broke off without a closing frame (1006)"),
        ("1001", "infrastructure", "the server closed the connection (1001 going away)"),
        ("1011", "infrastructure", "the server closed the connection (1011 internal error ***)"),
        ("garbage", "infrastructure", "the server sent what is not a JSON object: '{garbage'"),
        ("list", "infrastructure", "the server sent what is not a JSON object: '[1]'"),
        ("binary", "infrastructure", "the server sent a binary frame of 100 bytes where JSON is due"),
        ("huge", "infrastructure", "the server sent a message of more than 16 MiB (1009)"),
        ("failing", "infrastructure", "the server reports server_error: Failed for ***."),
        ("expired", "infrastructure", "the server reports session_expired: Your session hit the maximum."),
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


def test_a_server_that_hangs_up_in_order_ends_the_conversation_without_a_problem(held):
    assert (held["1000"].told(), held["1000"].talk.ended) == ([], "line_closed")


def test_nothing_is_tried_again_inside_a_measurement(held):
    assert held["rate_limited"].double.refused == held["unauthorized"].double.refused == 1
    assert all(len(one.double.sessions) <= 1 for one in held.values())


def test_the_key_is_in_no_event_problem_or_description(held):
    for name, one in held.items():
        shown = "\n".join([*one.talk.wire_events, repr(one.talk), repr(one.talk.problems)])
        assert KEY not in shown, name
    assert held["whole"].double.sessions[0].headers["Authorization"] == f"Bearer {KEY}"
    assert "***" in "".join(held["unauthorized"].talk.wire_events)
    assert all("base64" not in line and len(line) < 20_000 for one in held.values() for line in one.talk.wire_events)


def test_a_server_that_vanishes_between_two_items_is_absent_in_the_second(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    scenario = stage.scenario(tmp_path, stage.say(tmp_path, "turn", "filler"), settle_s=0.5)
    with openai_server(Script(), recite([Say(0.3)])) as double:
        agent = GptRealtime(url=double.url)
        assert stage.hold(scenario, agent).problems == ()
    (problem,) = stage.hold(scenario, agent).problems
    assert problem.kind == "agent_absent"


def test_a_server_on_ipv6_alone_is_reached(tmp_path):
    try:
        with closing(socket.socket(socket.AF_INET6)) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    scenario = stage.scenario(tmp_path, stage.say(tmp_path, "turn", "filler"), settle_s=0.5)
    with openai_server(Script(), recite([Say(0.3)]), host="::1") as double:
        assert "[::1]" in double.url
        assert stage.hold(scenario, GptRealtime(url=double.url)).problems == ()
