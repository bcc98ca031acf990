"""The adapter `livekit` in whole conversations with a double of an agent's process, and each of its faults.

The double is run as `python -m livekit.agents console`, the command that runs a real one. All conversations of the
table are held side by side, on the wall clock: what is asserted is order and content.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import stage

from pytest_voicebench.agents.livekit import LiveKit
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.runner import Runner
from tests.servers.console_agent import Console, console_environment, seen

pytest.importorskip("mcp_types", reason="tools over HTTP need the extra 'tools'")

DEADLINE_S = 600.0
PATIENCE_S = 300.0
"""For processes that begin all at once on a busy machine."""

SETTLE_S = 5.0
"""Long enough for a word of a process that gets little time."""

ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
HOST_CALL = {"host_call": {"name": "search_flights", "arguments": ARGUMENTS}}
OWN = {"name": "own_clock", "arguments": '{"zone": "CET"}', "output": "{'time': '12:30'}"}
REPLY: list[Any] = [{"say": 1.0}, {"flush": 0}, {"played": 0}, {"text": "Here it is."}]
SHORT = [{"say": 0.3}, {"flush": 0}]
LIMIT = {"max_duration_s": 5.0}
INTO = (("turn",), ("wait", stage.into_agent(1.0)))


def own(**more: Any) -> dict[str, Any]:
    return {"own_call": {**OWN, **more}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the agent's script, what the user says, and the settings of ours."""

    script: Console = field(default_factory=Console)
    steps: Sequence[tuple] = (("turn",),)
    settings: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)


def turn(*steps: Any, **more: Any) -> Case:
    return Case(script=Console(turns=[list(steps)]), **more)


def start(how: str, **settings: Any) -> Case:
    return Case(script=Console(start=how, turns=[SHORT]), settings=settings)


CASES = {
    "whole": turn({"heard": "words of the user"}, HOST_CALL, *REPLY, {"used": 100}, {"used": 150}),
    "own": turn(own(), own(output="No such zone", is_error=True, arguments='{"zone": "?"}'), *SHORT),
    "both": turn(HOST_CALL, own(), *SHORT),
    "by_host": turn(HOST_CALL, own(), *SHORT, settings={"tools": "host"}),
    "by_session": turn(own(), own(name="search_flights", arguments=ARGUMENTS), *SHORT, settings={"tools": "session"}),
    "broken_arguments": turn(own(arguments='{"zone": '), *SHORT),
    "same_id": turn(own(id="a"), own(id="a"), own(id="a", arguments='{"zone": "UTC"}'), *SHORT),
    "odd": turn({"odd": 1.0}, {"flush": 0}),
    "barge_in": Case(
        script=Console(
            turns=[
                [{"say": 8.0}, {"flush": 0}, {"user_speaks": 0}, {"clear": 0}, {"cut_text": "one two"}],
                [{"say": 0.5}, {"flush": 0}, {"played": 0}, {"text": "Yes."}],
            ]
        ),
        steps=INTO,
    ),
    "flush_without_sound": turn({"flush": 0}, *REPLY),
    "clear_without_sound": turn(*REPLY, {"clear": 0}),
    "text_alone": turn({"text": "Nobody heard it."}, *SHORT),
    "remark": turn({"error": "LLMError(error=Timeout recoverable=True)"}, *SHORT),
    "failure": turn({"error": "LLMError(error=NoQuota recoverable=False)"}),
    "speaks_first": start("speaks_first"),
    "stays": Case(script=Console(end="stays", turns=[SHORT])),
    "hangs_up_later": turn(*REPLY, {"hangs_up": 0}),
    "resets": turn(*REPLY, {"resets": 0}),
    "no_answer": Case(suite=LIMIT),
    "crashes": start("crashes"),
    "crashes_job": start("crashes_job"),
    "never_dials": start("never_dials", start_timeout_s=8.0),
    "never_listens": start("never_listens", start_timeout_s=8.0),
    "hangs_up": start("hangs_up"),
    "garbage": start("garbage"),
    "no_such_argument": Case(settings={"args": "--loud"}),
    "dies": turn({"say": 3.0}, {"silence": 5}, {"dies": 3}),
    "tells_address": turn({"say": 3.0}, {"silence": 5}, {"tells_address": 0}),
    "crashes_later": Case(script=Console(end="stays", turns=[[{"say": 3.0}, {"silence": 5}, {"crashes": 0}]])),
    "not_protobuf": turn({"raw": "\x00\x00\x00\x04\xff\xff\xff\xff"}),
    "huge": turn({"raw": "\x00\x20\x00\x00"}),
    "half": turn({"raw": "\x00\x00\x01\x00abc"}, {"silence": 5}, {"hangs_up": 0}),
}


@dataclass(frozen=True)
class Held:
    """A conversation, and where the agent's script lies."""

    talk: Conversation
    script: Path

    @property
    def seen(self):
        return seen(self.script)

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def calls(self):
        return [(c.call_id, c.name, c.status, c.self_reported) for c in self.talk.calls]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with pytest.MonkeyPatch.context() as patch, closing(Runner()) as runner:
        patch.setenv("PYTHONPATH", console_environment())
        scripts, futures = {}, {}
        for name, case in CASES.items():
            folder = tmp_path_factory.mktemp(name)
            scripts[name] = case.script.write(folder / "agent.json")
            says = [stage.say(folder, step[0], "filler", when=step[1] if step[1:] else None) for step in case.steps]
            scenario = stage.scenario(folder, *says, item_id=name, settle_s=SETTLE_S, **case.suite)
            agent = LiveKit(entry=str(scripts[name]), **{"start_timeout_s": PATIENCE_S, **case.settings})
            futures[name] = runner.submit(scenario, agent)
        yield {name: Held(future.result(timeout=DEADLINE_S), scripts[name]) for name, future in futures.items()}


def test_a_whole_conversation_is_held(held):
    talk = held["whole"].talk
    assert (held["whole"].told(), talk.ended) == ([], "settled")
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", json.loads(ARGUMENTS))
    assert (call.self_reported, call.acknowledged_ticks is not None) == (False, True)
    assert [json.loads(told)["flights"][0]["destination"] for told in held["whole"].seen["answers"]] == ["Milan"]
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    texts = {t.speaker: (t.text, t.heard_text) for t in talk.transcripts}
    assert texts == {"user": ("words of the user", None), "agent": ("Here it is.", "Here it is.")}
    assert talk.usage == {"input_tokens": 150.0, "output_tokens": 1.0, "total_tokens": 151.0}


def test_the_user_is_heard_at_48_khz_in_blocks_of_20_ms(held):
    assert held["whole"].seen["frame"] == [1920, 48_000, 960]
    assert held["whole"].talk.delivery.sent_blocks == held["whole"].talk.delivery.planned_blocks


def test_the_process_is_told_its_instructions_and_tools_by_its_environment(held):
    told = held["whole"].seen["environment"]
    assert told["VOICEBENCH_INSTRUCTIONS"] == "Today is Monday, 6 April 2026."
    assert [t["name"] for t in json.loads(told["VOICEBENCH_TOOLS"])] == ["search_flights", "book_flight"]
    assert told["VOICEBENCH_TOOLS_URL"].startswith("http://127.0.0.1:")
    assert "VOICEBENCH_TOOLS_URL" not in held["by_session"].seen["environment"]


@pytest.mark.parametrize("name", ["whole", "tells_address"])
def test_the_address_of_the_tools_is_in_no_event_and_no_problem(held, name):
    token = held[name].seen["environment"]["VOICEBENCH_TOOLS_URL"].rpartition("/")[2]
    assert len(token) > 20
    assert token not in "\n".join([*held[name].talk.wire_events, repr(held[name].talk)])


def test_a_process_that_dies_with_the_address_of_the_tools_on_its_lips_is_quoted_without_it(held):
    remark, died = held["tells_address"].told()
    assert remark[0] == "agent"
    assert "/***/tools/search_flights" in remark[1]
    assert died[0] == "infrastructure"
    assert "status 3: ClientError: cannot connect to http://127.0.0.1:" in died[1]


def test_a_call_of_the_agents_own_tool_is_recorded_with_the_answer_that_the_agent_got(held):
    fine, failed = held["own"].talk.calls
    assert (fine.name, fine.status, dict(fine.arguments)) == ("own_clock", "executed", {"zone": "CET"})
    assert (fine.result, fine.self_reported) == ({"time": "12:30"}, True)
    assert (failed.status, failed.reason, failed.result) == ("failed", "No such zone", "No such zone")
    assert held["own"].told() == []


def test_each_call_is_recorded_once_whoever_tells_of_it(held):
    assert held["both"].calls() == [
        ("http_1", "search_flights", "executed", False),
        ("call_2", "own_clock", "executed", True),
    ]
    assert held["by_host"].calls() == [("http_1", "search_flights", "executed", False)]
    assert held["by_session"].calls() == [
        ("call_1", "own_clock", "executed", True),
        ("call_2", "search_flights", "executed", True),
    ]


def test_arguments_that_are_no_json_are_a_rejected_call(held):
    (call,) = held["broken_arguments"].talk.calls
    assert (call.status, dict(call.arguments), call.arguments_text) == ("rejected", {}, '{"zone": ')


def test_a_call_told_twice_is_one_and_another_with_its_id_is_another(held):
    assert held["same_id"].calls() == [("a", "own_clock", "executed", True), ("a#2", "own_clock", "executed", True)]


def test_frames_that_end_in_the_middle_of_a_sample_are_heard_whole(held):
    assert held["odd"].told() == []
    assert sum(chunk.heard_ticks for chunk in held["odd"].talk.chunks) == RATE_HZ


def test_the_agent_is_told_when_it_has_been_heard_and_only_of_what_had_sound(held):
    assert held["whole"].seen["finished"] == 1
    assert held["flush_without_sound"].seen["finished"] == 1
    sent = [json.loads(row) for row in held["whole"].talk.wire_events]
    flushed = next(row["at_s"] for row in sent if "audio_playback_flush" in str(row["event"]))
    finished = next(row["at_s"] for row in sent if "audio_playback_finished" in str(row["event"]))
    assert finished - flushed > 0.5  # a second of sound was sent at once


def test_barge_in_stops_the_sound_and_the_text_is_taken_as_the_agent_cut_it(held):
    talk = held["barge_in"].talk
    assert (held["barge_in"].told(), len(talk.clears_ticks)) == ([], 1)
    heard = {}
    for chunk in talk.chunks:
        heard[chunk.item_id] = heard.get(chunk.item_id, 0) + chunk.heard_ticks
    assert RATE_HZ <= heard["speech_1"] < 8 * RATE_HZ
    assert heard["speech_2"] == RATE_HZ / 2
    texts = [(t.heard_text, t.estimated) for t in talk.transcripts if t.speaker == "agent"]
    assert texts == [("one two", True), ("Yes.", False)]
    assert held["barge_in"].seen["finished"] == 1


def test_a_clear_where_nothing_plays_cuts_nothing(held):
    talk = held["clear_without_sound"].talk
    assert (held["clear_without_sound"].told(), talk.clears_ticks) == ([], ())
    assert [t.heard_text for t in talk.transcripts] == ["Here it is."]


def test_a_text_without_sound_was_not_heard(held):
    assert [(t.text, t.heard_text) for t in held["text_alone"].talk.transcripts] == [("Nobody heard it.", "")]


def test_a_failure_that_the_agent_tries_again_is_a_remark_and_another_is_an_error(held):
    assert [kind for kind, _ in held["remark"].told()] == ["agent"]
    assert held["remark"].talk.ended == "settled"
    assert [kind for kind, _ in held["failure"].told()] == ["infrastructure"]
    assert "NoQuota" in held["failure"].told()[0][1]


def test_an_agent_that_speaks_before_it_listens_is_heard_from_the_start(held):
    assert held["speaks_first"].told() == []
    assert held["speaks_first"].talk.chunks[0].received_ticks < RATE_HZ


@pytest.mark.parametrize("name", ["hangs_up_later", "resets"])
def test_an_agent_that_hangs_up_ends_the_conversation_when_it_has_been_heard(held, name):
    assert (held[name].told(), held[name].talk.ended) == ([], "line_closed")
    assert sum(chunk.heard_ticks for chunk in held[name].talk.chunks) == RATE_HZ


def test_an_agent_that_says_nothing_ends_with_the_conversation(held):
    assert (held["no_answer"].told(), held["no_answer"].talk.ended) == ([], "max_duration")


def test_an_agent_that_does_not_leave_is_ended_without_a_problem(held):
    assert (held["stays"].told(), held["stays"].talk.ended) == ([], "settled")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("crashes", "agent_absent", "the agent's process ended with status 1: RuntimeError: planted at the start"),
        ("crashes_job", "agent_absent", "the agent crashed: KeyError: 'planted'"),
        ("never_dials", "agent_absent", "the agent did not listen within 8 s of the start of its process"),
        ("never_listens", "agent_absent", "the agent did not listen within 8 s of the start of its process"),
        ("hangs_up", "agent_absent", "the agent hung up before it listened"),
        ("garbage", "agent_absent", "the agent announced a message of 1195725856 bytes, more than 1 MiB"),
        ("no_such_argument", "agent_absent", "error: unrecognized arguments: --loud"),
        ("dies", "infrastructure", "the agent's process ended with status 3: ValueError: planted"),
        ("crashes_later", "infrastructure", "the agent crashed: KeyError: 'planted'"),
        ("not_protobuf", "infrastructure", "the agent sent 4 bytes that are no AgentSessionMessage"),
        ("huge", "infrastructure", "the agent announced a message of 2097152 bytes, more than 1 MiB"),
        ("half", "infrastructure", "the connection broke off in the middle of a message"),
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
