"""The Ultravox adapter in whole conversations over the wire, with a double and each of its faults.

All conversations of the table are held side by side with their doubles, on a loop whose clock counts waiting alone:
what is asserted is order and content, and no load of the machine changes it.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import pytest
import stage
from patience import patiently

from pytest_voicebench.agents import wire
from pytest_voicebench.agents.protocol import Setup
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.ultravox import Ultravox, creation
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import converse
from pytest_voicebench.scenario import Step
from tests.servers.openai_script import Call, Say, recite
from tests.servers.ultravox_script import UltravoxScript
from tests.servers.ultravox_server import UltravoxDouble, listen, ultravox_server

KEY = "uv-planted-7391"
DEADLINE_S = 60.0
ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
SEARCH = Call("search_flights", ARGUMENTS)
ROME = Call("search_flights", '{"destination": "Rome"}')
BOOK = Call("book_flight", '{"flight_id": "FL123"}')
BLOCK = 320


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the double, its agent, what the user says, and the settings of ours."""

    script: UltravoxScript = field(default_factory=UltravoxScript)
    turns: Sequence[Sequence[Any]] = ((SEARCH, Say(1.0, "Here it is.")),)
    steps: Sequence[tuple] = (("turn",),)
    settings: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    tool_latency_s: float = 0.0
    inject: str | None = None


def case(*, turns: Any = None, steps: Any = None, suite: Any = None, settings: Any = None, **script: Any) -> Case:
    """A case by its script."""
    more = {"turns": turns, "steps": steps, "suite": suite, "settings": settings}
    return Case(script=UltravoxScript(**script), **{k: v for k, v in more.items() if v is not None})


TWO = (("turn",), ("then", stage.after_agent()))
TWICE = ((Say(0.5, "One."),), (Say(0.5, "Two."),))
LONG_S = 25.0
LONG = ((Say(LONG_S, " ".join(map(str, range(100)))),), (Say(),))
BARGE_IN = (("turn",), ("wait", stage.into_agent(1.0)))
LIMIT = {"max_duration_s": 6.0}
LEAST = {"client_buffer_size_ms": 60}

CASES = {
    "whole": case(key=KEY),
    "paced": case(settings=LEAST, piece_s=0.02),
    "odd": case(odd=True),
    "twice": case(twice=True),
    "unknown": case(unknown=True),
    "hums": case(hums=True),
    "unnumbered": case(unnumbered=True),
    "whole_texts": case(whole_texts=True),
    "sound_first": case(text_first=False),
    "no_states": case(no_states=True),
    "sound_greets": case(greets=False, first=[{"binary": bytes(960)}]),
    "late_transcript": case(late_transcript=True),
    "late_twice": case(late_transcript=True, turns=TWICE, steps=TWO),
    "two_calls": Case(turns=((SEARCH, ROME, Say()),)),
    "same_call_id": case(same_call_id=True, turns=((SEARCH, Say(0.3, "Found."), BOOK, Say()),)),
    "calls_in_a_row": Case(turns=((SEARCH, Say(0.3, "Found."), BOOK, Say()),)),
    "slow_tool": Case(tool_latency_s=3.0),
    "too_slow_tool": Case(tool_latency_s=3.0, settings={"tool_timeout_s": 1.0}),
    "spoken_into_call": Case(
        turns=((Say(0.3, "One moment."), SEARCH, Say()),),
        steps=(("turn",), ("then", stage.after_agent(0.8))),
        tool_latency_s=5.0,
    ),
    "unknown_tool": Case(turns=((Call("cancel_everything"), Say()),)),
    "no_arguments": Case(turns=((Call("search_flights", "no JSON"), Say()),)),
    "barge_in": case(turns=LONG, steps=BARGE_IN),
    "barge_in_paced": case(turns=LONG, steps=BARGE_IN, settings=LEAST, piece_s=0.02, no_clear=True),
    "no_answer": case(turns=(), suite=LIMIT),
    "never_stops": case(turns=((Say(60.0),),), suite=LIMIT),
    "inject": Case(inject="The gate is B4."),
    "unauthorized": case(key="uv-another"),
    "rate_limited": case(status=429, retry_after="7"),
    "not_joined": case(join_status=503),
    "no_greeting": case(greets=False),
    "drop": case(on_audio=["drop"]),
    "1000": case(on_turn=[{"close": 1000}]),
    "1011": case(on_turn=[{"close": 1011, "reason": f"Failed for {KEY}"}]),
    "ended": case(on_complete=["end"]),
    "garbage": case(on_turn=[{"raw": "{garbage"}]),
    "stray_sound": case(on_turn=[{"binary": b"\x01"}]),
}


@dataclass(frozen=True)
class Held:
    """A conversation, and the double's view of it."""

    talk: Conversation
    double: Any

    @property
    def session(self):
        return self.double.sessions[0]

    def seen(self, kind):
        return [message for message in self.session.seen if message["type"] == kind]

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def texts(self, speaker):
        return [t.text for t in self.talk.transcripts if t.speaker == speaker]

    def rows(self):
        return [json.loads(line) for line in self.talk.wire_events]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ULTRAVOX_API_KEY", KEY)
        patch.setattr(wire, "HANDSHAKE_TIMEOUT_S", 2.0)
        yield patiently(hold_all(tmp_path_factory))


async def hold_all(folders):
    """Hold them side by side, the doubles in the same loop."""
    doubles, talks = {}, {}
    async with AsyncExitStack() as stack, asyncio.timeout(DEADLINE_S):
        for name, one in CASES.items():
            doubles[name] = UltravoxDouble(script=one.script, open_line=recite(*one.turns))
            await stack.enter_async_context(listen(doubles[name]))
            scenario = scenario_of(folders.mktemp(name), name, one)
            talks[name] = asyncio.create_task(converse(scenario, Ultravox(url=doubles[name].url, **one.settings)))
        return {name: Held(await talk, doubles[name]) for name, talk in talks.items()}


def scenario_of(folder, name, one):
    steps = [stage.say(folder, s[0], "filler", when=s[1] if s[1:] else None) for s in one.steps]
    if one.inject:
        steps.append(Step(kind="inject", text=one.inject, trigger=stage.into_agent(0.3)))
    scenario = stage.scenario(folder, *steps, item_id=name, settle_s=1.0, **one.suite)
    slow = {n: replace(tool, latency_s=one.tool_latency_s) for n, tool in stage.TOOLS.items()}
    return replace(scenario, suite=replace(scenario.suite, tools=slow))


def test_a_call_that_could_not_be_joined_is_given_back(held):
    one = held["not_joined"]
    assert len(one.double.requests) >= 1
    assert one.double.waiting == {}
    deleted = [row["event"] for row in one.rows() if "calls.delete" in str(row["event"])]
    assert deleted[:2] == [{"type": "calls.delete", "callId": "call-1"}, {"type": "calls.delete", "status": 204}]
    assert not any("calls.delete" in str(row) for row in held["whole"].rows())


WHOLE = ["whole", "paced", "odd", "twice", "unknown", "hums", "unnumbered", "whole_texts", "sound_first", "no_states"]


@pytest.mark.parametrize("name", [*WHOLE, "sound_greets", "late_transcript", "slow_tool"])
def test_a_whole_conversation_is_held_with_every_oddity(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert talk.ended == "settled"
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", json.loads(ARGUMENTS))
    assert call.acknowledged_ticks is not None
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    texts = {t.speaker: (t.text, t.heard_text) for t in talk.transcripts}
    assert texts == {"user": ("words of the user", None), "agent": ("Here it is.", "Here it is.")}
    (result,) = held[name].seen("client_tool_result")
    assert json.loads(result["result"])["flights"][0]["destination"] == "Milan"
    assert (talk.clears_ticks, talk.usage) == ((), {})
    assert held[name].seen("hang_up") == [{"type": "hang_up"}]


def test_the_call_is_asked_for_in_full_and_audio_waits_until_it_stands(held):
    double = held["whole"].double
    (request,) = double.requests
    assert double.queries == [{"enableGreetingPrompt": "false"}]
    assert request["medium"]["serverWebSocket"]["clientBufferSizeMs"] == 30_000
    assert request["vadSettings"]["turnEndpointDelay"] == "0.384s"
    names = [selected["temporaryTool"]["modelToolName"] for selected in request["selectedTools"]]
    assert names == ["search_flights", "book_flight"]
    order = [row["event"].get("type") or "sound" for row in held["whole"].rows() if isinstance(row["event"], dict)]
    assert order[:3] == ["calls.create", "calls.create", "call_started"]
    assert order.index("sound") > 2


def test_the_report_shows_what_was_asked(held):
    info = held["paced"].talk.agent
    assert (info.name, info.model, info.input_hz, info.clock) == ("ultravox", "ultravox-v0.7", 16_000, "wall")
    names = ("voice", "turn_endpoint_delay_s", "client_buffer_size_ms", "turn_detection", "signed_in_with")
    assert [info.settings[n] for n in names] == ["Mark", 0.384, 60, "server", "ULTRAVOX_API_KEY"]


def test_every_block_of_the_user_arrives_once(held):
    one = held["whole"]
    assert sum(map(len, one.session.heard)) == BLOCK * (one.talk.duration_ticks // 480)
    assert one.talk.delivery.sent_blocks == one.talk.delivery.planned_blocks


def test_sound_is_in_the_events_by_its_length_only(held):
    sounds = [row for row in held["whole"].rows() if isinstance(row["event"], dict) and "binary" in row["event"]]
    assert {row["way"] for row in sounds} == {"sent", "received"}
    assert {row["event"]["binary"] for row in sounds if row["way"] == "sent"} == {"<640 bytes>"}


def test_two_calls_are_answered_each_and_the_agent_goes_on_when_both_are(held):
    calls = held["two_calls"].talk.calls
    assert [(c.name, c.status) for c in calls] == [("search_flights", "executed"), ("search_flights", "failed")]
    results = held["two_calls"].seen("client_tool_result")
    assert [r["invocationId"] for r in results] == [c.call_id for c in calls]
    assert "error" in json.loads(results[1]["result"])
    assert (held["two_calls"].told(), held["two_calls"].texts("agent")) == ([], ["All done."])


@pytest.mark.parametrize("name", ["calls_in_a_row", "same_call_id"])
def test_calls_one_after_the_other_are_two_and_speech_around_them_is_apart(held, name):
    talk = held[name].talk
    assert [(c.name, c.status) for c in talk.calls] == [("search_flights", "executed"), ("book_flight", "executed")]
    assert held[name].texts("agent") == ["Found.", "All done."]


def test_while_a_slow_tool_works_the_users_silence_goes_on(held):
    (call,) = held["slow_tool"].talk.calls
    assert call.finished_ticks - call.at_ticks >= 3 * RATE_HZ
    rows = held["slow_tool"].rows()
    made = next(i for i, r in enumerate(rows) if "client_tool_invocation" in str(r["event"]))
    answered = next(i for i, r in enumerate(rows) if "client_tool_result" in str(r["event"]))
    assert sum(r.get("times", 1) for r in rows[made:answered] if "binary" in r["event"]) >= 10


def test_a_tool_past_its_limit_is_told_and_its_late_result_ignored_by_the_server(held):
    ((kind, message),) = held["too_slow_tool"].told()
    assert kind == "agent"
    assert message.startswith("search_flights had no answer within 1s")
    assert held["too_slow_tool"].session.ignored == ["invocation-1"]
    assert held["too_slow_tool"].talk.ended == "settled"
    assert held["too_slow_tool"].texts("agent") == ["Here it is."]


def test_what_is_said_while_a_tool_works_is_written_down_and_the_call_stands(held):
    talk = held["spoken_into_call"].talk
    assert [(c.name, c.status) for c in talk.calls] == [("search_flights", "executed")]
    assert held["spoken_into_call"].texts("user") == ["words of the user"] * 2
    assert (held["spoken_into_call"].told(), talk.clears_ticks) == ([], ())


@pytest.mark.parametrize("name", ["unknown_tool", "no_arguments"])
def test_a_call_that_cannot_be_made_is_rejected_visibly_and_the_agent_told(held, name):
    (call,) = held[name].talk.calls
    assert call.status == "rejected"
    (result,) = held[name].seen("client_tool_result")
    assert "error" in json.loads(result["result"])
    assert held[name].told() == []


def test_barge_in_drops_what_was_not_played(held):
    talk = held["barge_in"].talk
    assert held["barge_in"].told() == []
    assert len(talk.clears_ticks) == 1
    assert RATE_HZ <= sum(c.heard_ticks for c in talk.chunks if c.item_id == "reply_1") < LONG_S * RATE_HZ
    words = next(t for t in talk.transcripts if t.item_id == "reply_1")
    assert words.estimated
    assert 0 < len(words.heard_text) < len(words.text)
    assert words.text.startswith(words.heard_text)
    assert held["barge_in"].texts("agent")[1:] == ["All done."]


def test_a_server_in_real_time_just_stops_and_nothing_is_left_to_drop(held):
    talk = held["barge_in_paced"].talk
    assert (held["barge_in_paced"].told(), talk.clears_ticks) == ([], ())
    received = [c for c in talk.chunks if c.item_id == "reply_1"]
    assert RATE_HZ <= sum(c.heard_ticks for c in received) < LONG_S * RATE_HZ
    assert held["barge_in_paced"].texts("agent")[1:] == ["All done."]


def test_a_transcript_that_comes_late_keeps_its_own_text(held):
    assert held["late_twice"].texts("user") == ["words of the user", "words of the user"]
    assert held["late_twice"].texts("agent") == ["One.", "Two."]


def test_a_server_that_says_nothing_and_one_that_never_stops_end_with_the_conversation(held):
    assert held["no_answer"].talk.ended == held["never_stops"].talk.ended == "max_duration"
    assert not held["no_answer"].talk.truncated
    assert held["never_stops"].talk.truncated


def test_text_reaches_the_context_silently_and_is_not_taken_for_speech(held):
    told = {"type": "user_text_message", "text": "The gate is B4.", "urgency": "later"}
    assert held["inject"].seen("user_text_message") == [told]
    assert held["inject"].texts("user") == ["words of the user"]
    assert (held["inject"].told(), held["inject"].talk.clears_ticks) == ([], ())


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unauthorized", "agent_absent", "HTTP 403, the key of ULTRAVOX_API_KEY is refused (Invalid API key ***.)"),
        (
            "rate_limited",
            "agent_absent",
            "HTTP 429, too many sessions or requests, or no quota left (Too many requests.)",
        ),
        ("not_joined", "agent_absent", "/server_web_socket: HTTP 503, the server failed (Not now.)"),
        ("no_greeting", "agent_absent", "no call_started within 2 s"),
        ("drop", "infrastructure", "the connection broke off without a closing frame (1006)"),
        ("1011", "infrastructure", "the server closed the connection (1011 Failed for ***)"),
        ("garbage", "infrastructure", "the server sent what is not a JSON object: '{garbage'"),
    ],
)
def test_each_fault_is_one_line_of_the_right_kind_and_nothing_is_lost(held, name, kind, message):
    ((told_kind, told),) = held[name].told()
    assert told_kind == kind
    assert message in told
    assert "\n" not in told
    assert held[name].talk.wire_events
    assert held[name].talk.ended == "problem"


@pytest.mark.parametrize("name", ["1000", "ended"])
def test_a_call_that_the_server_ends_in_order_ends_the_conversation_without_a_problem(held, name):
    assert (held[name].told(), held[name].talk.ended) == ([], "line_closed")


def test_a_byte_of_stray_sound_does_no_harm(held):
    assert (held["stray_sound"].told(), held["stray_sound"].talk.ended) == ([], "settled")


def test_nothing_is_tried_again_inside_a_measurement(held):
    for name, one in held.items():
        assert (len(one.double.requests), len(one.double.sessions) <= 1) == (1, True), name


def test_the_key_and_what_lets_into_the_call_are_in_no_event_problem_or_description(held):
    for name, one in held.items():
        shown = "\n".join([*one.talk.wire_events, repr(one.talk), repr(one.talk.problems)])
        assert KEY not in shown, name
        assert "join-me" not in shown, name
    assert held["whole"].double.headers[0]["X-API-Key"] == KEY
    assert "***" in "".join(held["unauthorized"].talk.wire_events)
    assert all(len(line) < 20_000 for one in held.values() for line in one.talk.wire_events)


def refused_at(url):
    """How a call at that address is refused."""

    async def connect():
        setup = Setup(conversation_id="x", instructions="", tools=(), today=date(2026, 4, 6))
        async with Ultravox(url=url).connect(setup):
            pass

    with pytest.raises(Unreachable) as error:
        asyncio.run(connect())
    return error.value


def refused(**script):
    """How a double refuses a call."""
    with ultravox_server(UltravoxScript(**script)) as double:
        return refused_at(double.url)


@pytest.mark.parametrize(
    ("status", "retry_after", "kind", "after_s"),
    [
        (429, "7", "rate_limited", 7.0),
        (429, None, "rate_limited", None),
        (429, "Mon, 30 Nov 2026", "rate_limited", None),
        (503, "2", "server_error", 2.0),
        (500, None, "server_error", None),
        (401, None, "unauthorized", None),
        (402, None, "rejected", None),
    ],
)
def test_who_waits_before_the_next_call_is_told_how_long(status, retry_after, kind, after_s):
    error = refused(status=status, retry_after=retry_after)
    assert (error.kind, error.retry_after_s) == (kind, after_s)


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ({"status": 503, "message": "No capacity."}, "server_error", "HTTP 503, the server failed (No capacity.)"),
        ({"status": 400, "message": "Unknown model x."}, "rejected", "HTTP 400, refused (Unknown model x.)"),
        ({"status": 404, "message": "No."}, "rejected", "HTTP 404, not found: is the model or the path right? (No.)"),
        ({"redirect": "http://127.0.0.1:9/elsewhere"}, "rejected", "HTTP 307, refused"),
        ({"body": "<html>Hello</html>"}, "rejected", "the answer cannot be read (JSONDecodeError"),
        ({"body": "[" * 100_000}, "rejected", "the answer cannot be read (RecursionError"),
        ({"body": "[]"}, "rejected", "the answer holds no joinUrl of a WebSocket"),
        ({"body": '{"joinUrl": "https://example.com/room"}'}, "rejected", "the answer holds no joinUrl of a WebSocket"),
        ({"body": "[" * 17_000_000}, "rejected", "an answer of more than 16 MiB"),
        ({"hangs": True}, "timeout", "nothing came for 0.5 s"),
    ],
    ids=["503", "400", "404", "redirect", "no JSON", "too deep", "no object", "no address", "endless", "hangs"],
)
def test_a_call_that_is_not_given_is_told_as_what_it_is(script, kind, message, monkeypatch):
    if "hangs" in script:
        monkeypatch.setattr(creation, "OPEN_TIMEOUT_S", 0.5)
    error = refused(**script)
    assert (error.kind, "\n" in str(error)) == (kind, False)
    assert message in str(error)


@pytest.mark.parametrize("kind", ["refused", "dns", "tls"])
def test_a_server_that_is_not_there_is_told_as_what_it_is_whatever_proxy_is_set(kind, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with socket.socket() as unused, ultravox_server() as double:
        unused.bind(("127.0.0.1", 0))
        urls = {
            "refused": f"http://127.0.0.1:{unused.getsockname()[1]}/api",
            "dns": "https://nowhere.invalid/api",
            "tls": double.url.replace("http:", "https:"),
        }
        error = refused_at(urls[kind])
    assert (error.kind, "\n" in str(error)) == (kind, False)
