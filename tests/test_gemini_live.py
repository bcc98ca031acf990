"""The Gemini Live adapters in whole conversations over the wire, with a double and each of its faults.

All conversations of the table are held side by side with their doubles, on a loop whose clock counts waiting alone:
what is asserted is order and content, and no load of the machine changes it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import stage
from patience import patiently

from pytest_voicebench.agents import wire
from pytest_voicebench.agents.gemini_live import Gemini25, Gemini31, Gemini38
from pytest_voicebench.agents.protocol import Unsupported
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import converse
from pytest_voicebench.scenario import Step
from pytest_voicebench.validity import blocks_were_late
from tests.servers.gemini_script import GeminiScript
from tests.servers.gemini_server import GeminiDouble, listen
from tests.servers.openai_script import Call, Say, recite

KEY = "AIza-planted-7391"
DEADLINE_S = 45.0
ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
SEARCH = Call("search_flights", ARGUMENTS)
ROME = Call("search_flights", '{"destination": "Rome"}')
BOOK = Call("book_flight", '{"flight_id": "FL123"}')
BLOCK = 320


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the double, its agent, what the user says, and the settings of ours."""

    script: GeminiScript = field(default_factory=GeminiScript)
    turns: Sequence[Sequence[Any]] = ((SEARCH, Say(1.0, "Here it is.")),)
    steps: Sequence[tuple] = (("turn",),)
    agent: type = Gemini25
    settings: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    tool_latency_s: float = 0.0
    inject: str | None = None


def case(*, turns: Any = None, steps: Any = None, agent: type = Gemini25, suite: Any = None, **script: Any) -> Case:
    """A case by its script."""
    more = {"turns": turns, "steps": steps, "suite": suite}
    return Case(script=GeminiScript(**script), agent=agent, **{k: v for k, v in more.items() if v is not None})


TWO = (("turn",), ("then", stage.after_agent()))
TWICE = ((Say(0.5, "One."),), (Say(0.5, "Two."),))
LONG = ((Say(5.0, "one two three four five"),), (Say(),))
BARGE_IN = (("turn",), ("wait", stage.into_agent(1.0)))
LIMIT = {"max_duration_s": 6.0}

CASES = {
    "whole": case(key=KEY),
    "3.1": case(agent=Gemini31, joined=True),
    "3.8": case(agent=Gemini38, joined=True),
    "async": Case(settings={"tool_calling": "async", "scheduling": "interrupt"}),
    "blocking": Case(agent=Gemini38, settings={"tool_calling": "blocking"}),
    "snake": case(snake=True, plain_base64=True),
    "text_frames": case(text_frames=True),
    "odd": case(odd=True),
    "unknown": case(unknown=True, activity=True),
    "late_transcript": case(late_transcript=True),
    "late_twice": case(late_transcript=True, turns=TWICE, steps=TWO),
    "two_calls": Case(turns=((SEARCH, ROME, Say()),)),
    "calls_in_a_row": Case(turns=((SEARCH, Say(0.3, "Found."), BOOK, Say()),)),
    "slow_tool": Case(tool_latency_s=1.5),
    "unknown_tool": Case(turns=((Call("cancel_everything"), Say()),)),
    "cancelled_call": case(cancels_first_call=True, suite=LIMIT),
    "spoken_into_call": Case(
        turns=((Say(0.3, "One moment."), SEARCH, Say()), (Say(0.5, "As you wish."),)),
        steps=(("turn",), ("then", stage.after_agent(0.8))),
        tool_latency_s=6.0,
        agent=Gemini38,
        settings={"tool_calling": "blocking"},
    ),
    "barge_in": case(turns=LONG, steps=BARGE_IN),
    "barge_in_live": case(pace=0.9, turns=((Say(8.0, "one two three four five"),), (Say(),)), steps=BARGE_IN),
    "no_answer": case(turns=(), suite=LIMIT),
    "never_stops": case(turns=((Say(60.0),),), suite=LIMIT),
    "settings": Case(
        agent=Gemini31,
        settings={"start_sensitivity": "low", "end_sensitivity": "low", "prefix_padding_ms": 100, "voice": "Kore"}
        | {"silence_duration_ms": 700, "activity_handling": "no_interruption", "turn_coverage": "all_input"}
        | {"thinking_level": "low"},
    ),
    "inject": Case(inject="The gate is B4."),
    "inject_3.8": Case(agent=Gemini38, inject="The gate is B4."),
    "inject_3.1": Case(agent=Gemini31, inject="The gate is B4."),
    "goes_at_once": case(first=[{"go_away": 8}]),
    "goes_idle": case(on_complete=[{"go_away": 8}], turns=TWICE, steps=TWO),
    "goes_in_reply": case(on_audio=[{"go_away": 8}], turns=TWICE, steps=TWO),
    "goes_in_long_reply": case(on_audio=[{"go_away": 5.3}], turns=((Say(3.0, "One."),),), pace=0.9),
    "goes_in_speech": case(on_quiet_s=0.7, go_away_s=5.2),
    "goes_slowly": case(on_quiet_s=0.7, go_away_s=5.2, resumes_after_s=1.2),
    "goes_early": case(on_quiet_s=0.7, leaves_s=0.2),
    "goes_twice": case(on_quiet_s=1.5, first=[{"go_away": 8}]),
    "no_handle": case(on_turn=[{"go_away": 8, "leaves": 0.1}], gives_handles=False),
    "not_resumed": case(first=[{"go_away": 8}], refuses_handle=f"Session not found for {KEY}"),
    "unauthorized": case(key="AIza-another"),
    "rate_limited": case(status=429),
    "no_confirmation": case(confirms=False),
    "refused_setup": case(refuses_setup="models/x is not found for API version v1beta"),
    "drop": case(on_audio=["drop"]),
    "1000": case(on_turn=[{"close": 1000}]),
    "1007": case(on_turn=[{"close": 1007, "reason": "Request contains an invalid argument."}]),
    "1008": case(on_turn=[{"close": 1008, "reason": f"Not for {KEY}"}]),
    "1011": case(on_turn=[{"close": 1011, "reason": "Deadline expired"}]),
    "wrong_id": case(wrong_id=True),
    "garbage": case(on_turn=[{"raw": "{garbage"}]),
    "goes_garbled": case(on_turn=[{"go_away": 8}, {"raw": "{garbage"}]),
    "binary": case(on_turn=[{"binary": b"\xff\x00"}]),
    "no_base64": case(malformed=True),
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
        return [message[kind] for message in self.session.seen if kind in message]

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def texts(self, speaker):
        return [t.text for t in self.talk.transcripts if t.speaker == speaker]

    def heard(self):
        """All of the user's audio as it came in, over all sockets."""
        return np.concatenate(self.session.heard)

    def notes(self):
        rows = [json.loads(line) for line in self.talk.wire_events]
        return [row["event"] for row in rows if row["way"] == "note"]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GOOGLE_API_KEY", raising=False)
        patch.setenv("GEMINI_API_KEY", KEY)
        patch.setattr(wire, "HANDSHAKE_TIMEOUT_S", 2.0)
        yield patiently(hold_all(tmp_path_factory))


async def hold_all(folders):
    """Hold them side by side, the doubles in the same loop."""
    doubles, talks = {}, {}
    async with AsyncExitStack() as stack, asyncio.timeout(DEADLINE_S):
        for name, one in CASES.items():
            doubles[name] = GeminiDouble(script=one.script, open_line=recite(*one.turns))
            await stack.enter_async_context(listen(doubles[name]))
            scenario = scenario_of(folders.mktemp(name.replace(".", "_")), name, one)
            talks[name] = asyncio.create_task(converse(scenario, one.agent(url=doubles[name].url, **one.settings)))
        refused = {}
        for name in ("inject_3.1", "inject_3.8"):
            with pytest.raises(Unsupported) as unsupported:
                await talks.pop(name)
            refused[name] = unsupported.value
        found = {name: Held(await talk, doubles[name]) for name, talk in talks.items()}
    return found | refused


def scenario_of(folder, name, one):
    steps = [stage.say(folder, s[0], "filler", when=s[1] if s[1:] else None) for s in one.steps]
    if one.inject:
        steps.append(Step(kind="inject", text=one.inject, trigger=stage.into_agent(0.3)))
    scenario = stage.scenario(folder, *steps, item_id=name, settle_s=1.0, **one.suite)
    slow = {n: replace(tool, latency_s=one.tool_latency_s) for n, tool in stage.TOOLS.items()}
    return replace(scenario, suite=replace(scenario.suite, tools=slow))


def conversations(held):
    return [(name, one) for name, one in held.items() if isinstance(one, Held)]


WHOLE = ["whole", "3.1", "3.8", "async", "blocking", "snake", "text_frames", "odd", "unknown", "late_transcript"]


@pytest.mark.parametrize("name", [*WHOLE, "goes_at_once", "goes_in_speech", "goes_twice"])
def test_a_whole_conversation_is_held_with_every_model_and_every_oddity(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert talk.ended == "settled"
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", json.loads(ARGUMENTS))
    assert call.acknowledged_ticks is not None
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    texts = {t.speaker: (t.text, t.heard_text) for t in talk.transcripts}
    assert texts == {"user": ("words of the user", None), "agent": ("Here it is.", "Here it is.")}
    ((answer,),) = [response["functionResponses"] for response in held[name].seen("toolResponse")]
    assert (answer["name"], answer["id"]) == ("search_flights", call.call_id)
    assert answer["response"]["flights"][0]["destination"] == "Milan"
    assert talk.usage == {
        "promptTokenCount": 100,
        "responseTokenCount": 20,
        "totalTokenCount": 120,
        "promptTextTokenCount": 60,
        "promptAudioTokenCount": 40,
        "responseAudioTokenCount": 20,
    }
    assert talk.clears_ticks == ()


def test_the_session_is_asked_for_in_full_and_audio_waits_for_its_confirmation(held):
    setup = held["settings"].double.setups[0]
    assert setup["model"] == "models/gemini-3.1-flash-live-preview"
    assert setup["realtimeInputConfig"] == {
        "automaticActivityDetection": {
            "disabled": False,
            "startOfSpeechSensitivity": "START_SENSITIVITY_LOW",
            "endOfSpeechSensitivity": "END_SENSITIVITY_LOW",
            "prefixPaddingMs": 100,
            "silenceDurationMs": 700,
        },
        "activityHandling": "NO_INTERRUPTION",
        "turnCoverage": "TURN_INCLUDES_ALL_INPUT",
    }
    assert setup["generationConfig"] == {
        "responseModalities": ["AUDIO"],
        "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}}},
        "thinkingConfig": {"thinkingLevel": "LOW"},
    }
    assert (setup["inputAudioTranscription"], setup["outputAudioTranscription"], setup["sessionResumption"]) == (
        {},
        {},
        {},
    )
    names = [d["name"] for d in setup["tools"][0]["functionDeclarations"]]
    assert names == ["search_flights", "book_flight"]
    rows = [json.loads(line) for line in held["whole"].talk.wire_events]
    order = [next(iter(row["event"])) for row in rows if isinstance(row["event"], dict)]
    assert order[:2] == ["setup", "setupComplete"]
    assert order.index("realtimeInput") > 1


@pytest.mark.parametrize(
    ("name", "behavior", "scheduling", "thinking"),
    [
        ("whole", None, None, {"thinkingBudget": -1}),
        ("async", "NON_BLOCKING", "INTERRUPT", {"thinkingBudget": -1}),
        ("3.1", None, None, {"thinkingLevel": "MINIMAL"}),
        ("3.8", "NON_BLOCKING", "WHEN_IDLE", None),
        ("blocking", "BLOCKING", None, None),
    ],
)
def test_each_generation_is_told_how_its_tools_are_called_in_the_way_it_takes(
    held, name, behavior, scheduling, thinking
):
    setup = held[name].double.setups[0]
    assert {d.get("behavior") for d in setup["tools"][0]["functionDeclarations"]} == {behavior}
    (answer,) = held[name].seen("toolResponse")[0]["functionResponses"]
    assert answer.get("scheduling") == scheduling
    assert setup["generationConfig"].get("thinkingConfig") == thinking


def test_every_block_of_the_user_arrives_once(held):
    one = held["whole"]
    assert len(one.heard()) == BLOCK * (one.talk.duration_ticks // 480)
    assert one.talk.delivery.sent_blocks == one.talk.delivery.planned_blocks


def test_the_report_shows_what_was_asked(held):
    info = held["whole"].talk.agent
    shown = {k: info.settings[k] for k in ("start_sensitivity", "end_sensitivity", "silence_duration_ms", "scheduling")}
    assert shown == {
        "start_sensitivity": "high",
        "end_sensitivity": "high",
        "silence_duration_ms": 500,
        "scheduling": None,
    }
    assert (info.name, info.input_hz, info.clock) == ("gemini-live-2.5", 16_000, "wall")
    assert info.settings["signed_in_with"] == "GEMINI_API_KEY"


def test_two_calls_of_one_message_are_answered_in_one_message(held):
    calls = held["two_calls"].talk.calls
    assert [(c.name, c.status) for c in calls] == [("search_flights", "executed"), ("search_flights", "failed")]
    (response,) = held["two_calls"].seen("toolResponse")
    assert [r["id"] for r in response["functionResponses"]] == [c.call_id for c in calls]
    assert "error" in response["functionResponses"][1]["response"]
    assert held["two_calls"].told() == []


def test_calls_of_two_messages_are_answered_one_after_the_other_and_speech_around_them_is_apart(held):
    talk = held["calls_in_a_row"].talk
    assert [(c.name, c.status) for c in talk.calls] == [("search_flights", "executed"), ("book_flight", "executed")]
    assert [len(r["functionResponses"]) for r in held["calls_in_a_row"].seen("toolResponse")] == [1, 1]
    assert held["calls_in_a_row"].texts("agent") == ["Found.", "All done."]


def test_while_a_slow_tool_works_the_users_silence_goes_on(held):
    (call,) = held["slow_tool"].talk.calls
    assert call.finished_ticks - call.at_ticks >= 1.5 * RATE_HZ
    rows = [json.loads(line) for line in held["slow_tool"].talk.wire_events]
    made = next(i for i, r in enumerate(rows) if "toolCall" in r["event"])
    answered = next(i for i, r in enumerate(rows) if "toolResponse" in r["event"])
    assert sum(r.get("times", 1) for r in rows[made:answered] if "realtimeInput" in r["event"]) >= 20


def test_a_call_of_an_unknown_tool_is_rejected_visibly_and_the_agent_told(held):
    (call,) = held["unknown_tool"].talk.calls
    assert call.status == "rejected"
    (answer,) = held["unknown_tool"].seen("toolResponse")[0]["functionResponses"]
    assert "error" in answer["response"]
    assert held["unknown_tool"].told() == []


def test_a_call_that_is_taken_back_is_recorded_as_cancelled_and_never_answered(held):
    assert [(c.name, c.status) for c in held["cancelled_call"].talk.calls] == [("search_flights", "cancelled")]
    assert held["cancelled_call"].seen("toolResponse") == []
    assert held["cancelled_call"].told() == []


def test_speech_into_a_call_that_blocks_takes_it_back_and_is_answered(held):
    talk = held["spoken_into_call"].talk
    assert [(c.name, c.status) for c in talk.calls] == [("search_flights", "cancelled")]
    assert held["spoken_into_call"].seen("toolResponse") == []
    assert held["spoken_into_call"].texts("agent") == ["One moment.", "As you wish."]
    assert held["spoken_into_call"].told() == []


@pytest.mark.parametrize("name", ["barge_in", "barge_in_live"])
def test_barge_in_stops_the_sound(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert len(talk.clears_ticks) == 1
    first = talk.chunks[0].item_id
    assert RATE_HZ <= sum(c.heard_ticks for c in talk.chunks if c.item_id == first) < 5 * RATE_HZ
    words = next(t for t in talk.transcripts if t.item_id == first)
    assert words.estimated
    assert words.text == "one two three four five"
    assert words.heard_text in ("one", "one two", "one two three", "one two three four")
    assert held[name].texts("agent")[1:] == ["All done."]
    rows = [json.loads(line)["event"] for line in talk.wire_events]
    contents = [row["serverContent"] for row in rows if "serverContent" in row]
    cut = next(i for i, c in enumerate(contents) if c.get("interrupted"))
    assert any(c.get("generationComplete") for c in contents[:cut]) == (name == "barge_in")


def test_a_transcript_that_comes_late_keeps_its_own_text(held):
    assert held["late_twice"].texts("user") == ["words of the user", "words of the user"]
    assert held["late_twice"].texts("agent") == ["One.", "Two."]


def test_a_server_that_says_nothing_and_one_that_never_stops_end_with_the_conversation(held):
    assert held["no_answer"].talk.ended == held["never_stops"].talk.ended == "max_duration"
    assert not held["no_answer"].talk.truncated
    assert held["never_stops"].talk.truncated


def test_text_reaches_the_context_silently_where_the_model_has_a_way(held):
    turn = {"role": "user", "parts": [{"text": "The gate is B4."}]}
    assert held["inject"].seen("clientContent") == [{"turns": [turn], "turnComplete": False}]
    assert (held["inject"].told(), held["inject"].talk.clears_ticks) == ([], ())
    rows = [json.loads(line)["event"] for line in held["inject"].talk.wire_events]
    sent = next(i for i, row in enumerate(rows) if "clientContent" in row)
    assert any("turnComplete" in row.get("serverContent", {}) for row in rows[:sent] if isinstance(row, dict))


@pytest.mark.parametrize("generation", ["3.1", "3.8"])
def test_a_generation_that_takes_text_only_as_a_turn_of_the_user_is_given_none(held, generation):
    refused = held[f"inject_{generation}"]
    assert isinstance(refused, Unsupported)
    assert str(refused) == f"Gemini Live {generation} takes text only as a turn of the user"


MOVES = {"goes_at_once": 2, "goes_idle": 2, "goes_in_reply": 2, "goes_in_long_reply": 2, "goes_in_speech": 2}


@pytest.mark.parametrize(("name", "sockets"), [*MOVES.items(), ("goes_twice", 3), ("goes_early", 2)])
def test_when_the_server_goes_away_the_session_goes_on_in_another_socket(held, name, sockets):
    one = held[name]
    assert one.told() == []
    assert one.talk.ended == "settled"
    assert (one.double.connections, len(one.double.sessions), len(one.session.by_socket)) == (sockets, 1, sockets)
    assert all(blocks > 0 for blocks in one.session.by_socket[1:])
    first, *later = one.double.setups
    assert first["sessionResumption"] == {}
    for setup in later:
        assert setup["sessionResumption"]["handle"] in one.session.handles
        assert setup | {"sessionResumption": {}} == first
    told = [note for note in one.notes() if "goes" in note]
    assert len(told) == 2 * (sockets - 1)
    assert told[0] == "the server goes away: the session moves to another connection"


def test_sound_that_waits_for_another_socket_counts_as_late_and_the_item_says_how_long(held):
    one = held["goes_slowly"]
    ((kind, message),) = one.told()
    told, seconds = message.removesuffix(" s for it").rsplit(" ", 1)
    assert (kind, told) == (
        "agent",
        "the server went away and the session moved to another connection: the user's sound waited",
    )
    assert 1.1 <= float(seconds) <= 2.0
    assert one.talk.delivery.late_max_s > 0.9
    assert blocks_were_late(one.talk)  # so that no latency of it is measured
    assert not blocks_were_late(held["goes_in_speech"].talk)


@pytest.mark.parametrize("name", [*MOVES, "goes_twice", "goes_slowly"])
def test_no_audio_is_lost_or_sent_twice_by_a_move(held, name):
    one = held[name]
    assert len(one.heard()) == BLOCK * (one.talk.duration_ticks // 480)
    if len(CASES[name].steps) == 1:
        whole = held["whole"].heard()
        both = min(len(whole), len(one.heard()))
        assert np.array_equal(one.heard()[:both], whole[:both])
    said_s = sum(act.seconds for turn in CASES[name].turns for act in turn if isinstance(act, Say))
    assert sum(chunk.heard_ticks for chunk in one.talk.chunks) == said_s * RATE_HZ


def test_a_move_waits_until_the_reply_is_over_where_there_is_time(held):
    rows = [json.loads(line)["event"] for line in held["goes_in_reply"].talk.wire_events]
    kinds = ["goAway" if "goAway" in r else "over" if "turnComplete" in str(r) else str(r)[:30] for r in rows]
    away, moved = kinds.index("goAway"), kinds.index("the server goes away: the session"[:30])
    assert away < kinds.index("over") < moved
    forced = [json.loads(line)["event"] for line in held["goes_in_long_reply"].talk.wire_events]
    over = next(i for i, r in enumerate(forced) if "turnComplete" in str(r))
    assert next(i for i, r in enumerate(forced) if "moves to another" in str(r)) < over


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unauthorized", "agent_absent", "(1007 API key not valid. Please pass a valid API key, not ***.)"),
        ("rate_limited", "agent_absent", "HTTP 429, too many sessions or requests, or no quota left"),
        ("no_confirmation", "agent_absent", "no setupComplete within 2 s"),
        ("refused_setup", "agent_absent", "(1008 models/x is not found for API version v1beta)"),
        ("drop", "infrastructure", "the connection broke off without a closing frame (1006)"),
        ("1007", "infrastructure", "(1007 Request contains an invalid argument.): a message it does not take, or the"),
        ("1008", "infrastructure", "(1008 Not for ***): the model or the API version is wrong"),
        ("1011", "infrastructure", "(1011 Deadline expired): its own error, or the session's time is up"),
        ("wrong_id", "infrastructure", "(1007 Function call call_1 is not found in the function calls.)"),
        ("garbage", "infrastructure", "the server sent what is not a JSON object: '{garbage'"),
        ("goes_garbled", "infrastructure", "the server sent what is not a JSON object: '{garbage'"),
        ("binary", "infrastructure", "the server sent what is not a JSON object"),
        ("no_base64", "infrastructure", "serverContent.modelTurn: the audio is not base64"),
        ("no_handle", "infrastructure", "(1001 going away); it had announced that it goes away, and given nothing to"),
        (
            "not_resumed",
            "infrastructure",
            ": before setupComplete: the server closed the connection (1008 Session not found for ***)",
        ),
    ],
)
def test_each_fault_is_one_line_of_the_right_kind_and_nothing_is_lost(held, name, kind, message):
    told = held[name].told()
    assert told[0][0] == kind
    assert message in told[0][1]
    assert "\n" not in told[0][1]
    assert held[name].talk.wire_events
    assert held[name].talk.ended == "problem"


def test_a_server_that_hangs_up_in_order_ends_the_conversation_without_a_problem(held):
    assert (held["1000"].told(), held["1000"].talk.ended) == ([], "line_closed")


def test_nothing_is_tried_again_inside_a_measurement(held):
    for name, one in conversations(held):
        assert one.double.connections == (1 if not name.startswith("goes") else len(one.double.setups)) or (
            name == "not_resumed" and one.double.connections == 2
        )


def test_the_key_is_in_no_event_problem_or_description(held):
    for name, one in conversations(held):
        shown = "\n".join([*one.talk.wire_events, repr(one.talk), repr(one.talk.problems)])
        assert KEY not in shown, name
    assert held["whole"].double.headers[0]["x-goog-api-key"] == KEY
    assert "***" in "".join(held["unauthorized"].talk.wire_events)
    assert all(len(line) < 20_000 for _, one in conversations(held) for line in one.talk.wire_events)
