"""The agent `cascaded` in whole conversations with a double of its three services, and with each of its faults.

All conversations of the table are held side by side with their doubles, on a loop whose clock counts waiting alone:
what is asserted is order and content, and no load of the machine changes it.
"""

from __future__ import annotations

import json

import pytest
import stage
from patience import patiently

from pytest_voicebench.agents.cascaded import Cascaded
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.duplex import converse
from tests.servers.cascade_script import Call, Chat, Script, Trouble, tone
from tests.servers.cascade_server import Double, listen
from tests.turn_stage import (
    ARGUMENTS,
    BOOK,
    INTO_REPLY,
    KEY,
    LIMIT,
    LONG,
    REFUSED,
    ROME,
    SEARCH,
    TOOL,
    Case,
    all_held,
    chats,
)

GREETED = ["models"] * 4
"""Before the conversation: whether anybody is there, and then a connection for each service."""


def trouble(endpoint, kind="status", **more):
    suite = {"settle_s": 8.0} if kind == "stall" else {}  # the stall is noticed before the conversation settles
    return Case(script=chats(LONG, troubles={endpoint: Trouble(kind=kind, **more)}), suite=suite)


CASES = {
    "whole": Case(script=chats(*TOOL, heard=["To Milan, um, please."], key=KEY)),
    "no_index": Case(script=chats(*TOOL, no_index=True)),
    "odd": Case(script=chats(*TOOL, odd=True)),
    "plain": Case(script=chats(*TOOL, no_models=True, no_usage=True), settings={"temperature": 0, "language": "auto"}),
    "energy": Case(script=chats(*TOOL), settings={"vad": "energy"}),
    "two_calls": Case(script=chats(Chat("Let me look that up.", [SEARCH, ROME]), Chat("Here it is at last."))),
    "same_ids": Case(script=chats(Chat("", [SEARCH]), Chat("", [BOOK]), Chat("It is booked."), same_ids=True)),
    "slow_tool": Case(script=chats(*TOOL), tool_latency_s=1.5),
    "unknown_tool": Case(script=chats(Chat("", [Call("cancel_everything")]), Chat("That I cannot do."))),
    "no_json": Case(script=chats(Chat("", [Call("search_flights", '{"destination": "Par')]), Chat("Once more."))),
    "wrong_words": Case(script=chats(Chat("Here it is at last."), heard=["To Merlin, um, peas."])),
    "barge_in": Case(script=Script(chats=[LONG, Chat("Go on then.")], voice=lambda _: tone(2.0)), steps=INTO_REPLY),
    "barge_in_live": Case(
        script=Script(chats=[LONG, Chat("Go on then.")], voice=lambda _: tone(4.0), pace=0.9), steps=INTO_REPLY
    ),
    "barge_in_off": Case(
        script=chats(Chat("One two three four."), Chat("Go on then.")), steps=INTO_REPLY, settings={"barge_in": False}
    ),
    "called_and_cut": Case(
        script=Script(
            chats=[Chat("One two three four five six.", [SEARCH]), Chat("Go on then.")], voice=lambda _: tone(5.0)
        ),
        steps=INTO_REPLY,
        tool_latency_s=2.5,
    ),
    "resumed": Case(
        script=chats(Chat("Here it is at last."), troubles={"transcriptions": Trouble(kind="hang", times=1)}),
        steps=(("turn",), stage.Step(kind="wait", seconds=1.2), ("more",)),
    ),
    "patient": Case(script=chats(Chat("Here it is at last.")), steps=(stage.Step(kind="wait", seconds=6.5), ("turn",))),
    "writes_slowly": Case(script=chats(LONG, writing_s=0.05)),
    "nothing_heard": Case(script=chats(Chat("Never said."), heard=[" "]), suite=LIMIT),
    "never_stops_calling": Case(script=chats(Chat("", [SEARCH])), suite={"max_duration_s": 20.0}),
    "too_long": Case(script=chats(Chat("Here it is, and then", finish="length"))),
    "unauthorized": Case(script=chats(LONG, key="sk-another")),
    "quota": trouble("models", status=429, message="no quota", retry_after="7"),
    "down": trouble("models", status=503),
    "dead": trouble("models", "hang"),
    "refused": Case(url="http://127.0.0.1:{free}/v1"),
    "dns": Case(url="http://no-such-host.invalid/v1"),
    "tls": Case(url="https://127.0.0.1:{port}/v1"),
    "stt_401": trouble("transcriptions", status=401, message=f"Incorrect API key: {KEY}."),
    "stt_garbage": trouble("transcriptions", "garbage"),
    "stt_empty": trouble("transcriptions", "empty"),
    "stt_hang": trouble("transcriptions", "hang"),
    "llm_429": trouble("chat", status=429, message="Rate limit reached.", retry_after="7"),
    "llm_500": trouble("chat", message=f"Failed for {KEY}."),
    "llm_404": trouble("chat", status=404, message="no such model"),
    "llm_hang": trouble("chat", "hang"),
    "llm_cut": trouble("chat", "cut", after=6),
    "llm_end": trouble("chat", "end", after=6),
    "llm_error": trouble("chat", "error", after=6),
    "llm_garbage": trouble("chat", "garbage", after=6),
    "llm_stall": trouble("chat", "stall", after=6),
    "tts_500": trouble("speech"),
    "tts_cut": trouble("speech", "cut", after=3),
    "tts_stall": trouble("speech", "stall", after=3),
    "tts_json": trouble("speech", "json"),
    "tts_wav": trouble("speech", "wav"),
    "tts_empty": trouble("speech", "empty"),
}


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with all_held(CASES, Cascaded, tmp_path_factory.mktemp) as found:
        yield found


@pytest.mark.parametrize("name", ["whole", "no_index", "odd", "plain", "energy"])
def test_one_turn_with_a_tool_round_trip(held, name):
    talk = held[name].talk
    assert (held[name].told(), talk.ended) == ([], "settled")
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", json.loads(ARGUMENTS))
    assert call.acknowledged_ticks is not None
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    assert held[name].texts("agent") == ["Here it is at last."]
    assert len(held[name].double.of("transcriptions")) == 1
    user, reply, result = held[name].messages()
    assert user == {"role": "user", "content": held[name].texts("user")[0]}
    assert (reply["content"], reply["tool_calls"][0]["function"]["arguments"]) == (None, ARGUMENTS)
    assert json.loads(result["content"])["flights"][0]["destination"] == "Milan"
    assert talk.clears_ticks == ()


def test_each_service_is_asked_for_what_the_settings_say(held):
    double, talk = held["whole"].double, held["whole"].talk
    (stt,), (chat, _), (tts,) = (double.of(e) for e in ("transcriptions", "chat", "speech"))
    assert (stt.body["model"], stt.body["language"]) == ("gpt-transcribe", "en")
    assert 0.5 < stt.speech_s < 6.0
    assert (chat.body["model"], chat.body["stream"], "temperature" in chat.body) == ("gpt-4o", True, False)
    assert chat.body["messages"][0]["content"] == "Today is Monday, 6 April 2026."
    assert [t["function"]["name"] for t in chat.body["tools"]] == ["search_flights", "book_flight"]
    asked = {"model": "gpt-4o-mini-tts", "voice": "alloy", "response_format": "pcm", "input": "Here it is at last."}
    assert tts.body == asked
    assert held["plain"].double.of("chat")[0].body["temperature"] == 0
    assert "language" not in held["plain"].double.of("transcriptions")[0].body
    assert {s.headers["authorization"] for s in double.seen} == {f"Bearer {KEY}"}
    settings = talk.agent.settings
    shown = {k: settings[k] for k in ("silence_ms", "start_ms", "barge_in", "retries", "llm_model", "signed_in_with")}
    assert shown == {
        "silence_ms": 800,
        "start_ms": 250,
        "barge_in": True,
        "retries": 0,
        "llm_model": "gpt-4o",
        "signed_in_with": "OPENAI_API_KEY",
    }
    assert settings["turn_detection"] == "silero"
    assert settings["stt_url"] == settings["llm_url"] == settings["tts_url"] == double.url


def test_usage_of_all_three_services_is_added_up(held):
    usage = held["whole"].talk.usage
    assert usage["stt_seconds"] == 2
    assert usage["llm_total_tokens"] == 240
    assert (usage["tts_characters"], usage["tts_audio_s"]) == (len("Here it is at last."), 1.0)
    plain = held["plain"].talk.usage
    assert "llm_total_tokens" not in plain
    assert plain["stt_audio_s"] > 0.5


def test_the_exchanges_are_in_the_events_with_sound_as_its_length(held):
    events = [(r["way"], r["event"]) for r in held["whole"].events()]
    kinds = [e["type"] for way, e in events if way == "sent"]
    assert kinds == ["audio.transcriptions", "chat.completions", "chat.completions", "audio.speech"]
    assert ("received", {"type": "audio.speech", "bytes": 2 * RATE_HZ}) in events
    assert any(e.get("choices") and e["choices"][0]["delta"].get("tool_calls") for w, e in events if w == "received")
    assert all(len(line) < 20_000 for one in held.values() for line in one.talk.wire_events)


def test_two_calls_of_one_response_are_answered_together(held):
    calls = held["two_calls"].talk.calls
    assert [(c.name, c.arguments["destination"]) for c in calls] == [("search_flights", d) for d in ("Milan", "Rome")]
    assert len({c.response_id for c in calls}) == 1
    assert len(held["two_calls"].double.of("chat")) == 2
    assert [m["role"] for m in held["two_calls"].messages()] == ["user", "assistant", "tool", "tool"]
    assert held["two_calls"].messages()[1]["content"] == "Let me look that up."
    assert held["two_calls"].texts("agent") == ["Let me look that up.", "Here it is at last."]
    assert held["two_calls"].told() == []


def test_calls_with_one_id_are_two_calls(held):
    assert [(c.name, c.status) for c in held["same_ids"].talk.calls] == [
        ("search_flights", "executed"),
        ("book_flight", "executed"),
    ]
    assert held["same_ids"].told() == []


def test_the_answer_waits_for_a_slow_tool(held):
    (call,) = held["slow_tool"].talk.calls
    assert call.finished_ticks - call.at_ticks >= 1.5 * RATE_HZ
    assert held["slow_tool"].texts("agent") == ["Here it is at last."]


@pytest.mark.parametrize("name", ["unknown_tool", "no_json"])
def test_a_call_that_cannot_be_made_is_rejected_visibly_and_the_model_told(held, name):
    (call,) = held[name].talk.calls
    assert call.status == "rejected"
    assert "error" in json.loads(held[name].messages()[-1]["content"])
    assert held[name].told() == []


def test_the_model_is_told_what_was_heard_right_or_wrong(held):
    assert held["wrong_words"].messages() == [{"role": "user", "content": "To Merlin, um, peas."}]
    assert held["wrong_words"].texts("user") == ["To Merlin, um, peas."]


@pytest.mark.parametrize("name", ["barge_in", "barge_in_live"])
def test_barge_in_stops_the_sound_and_the_model_is_told_what_was_played(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert len(talk.clears_ticks) == 1
    user, reply, again = held[name].messages()
    assert (user["role"], again["role"]) == ("user", "user")
    assert LONG.text.startswith(reply["content"])
    assert len(reply["content"]) < len(LONG.text)
    before = [t for t in talk.transcripts if t.speaker == "agent"][:-1]
    heard = " ".join(t.heard_text for t in before if t.heard_text)
    assert heard.startswith(reply["content"]) or reply["content"].startswith(heard)
    assert abs(len(heard.split()) - len(reply["content"].split())) <= 1
    assert held[name].texts("agent")[-1] == "Go on then."
    assert all(c.received_ticks < talk.clears_ticks[0] for c in talk.chunks if c.heard_ticks < c.length_ticks)


def test_barge_in_closes_the_request_that_still_speaks(held):
    spoken = [s.body["input"] for s in held["barge_in_live"].double.of("speech")]
    assert spoken == ["One two three four five.", "Go on then."]
    assert "speech" in held["barge_in_live"].double.broken


def test_without_barge_in_the_answer_is_played_to_its_end_and_the_user_answered_afterwards(held):
    talk = held["barge_in_off"].talk
    assert (held["barge_in_off"].told(), talk.clears_ticks) == ([], ())
    assert held["barge_in_off"].messages()[1] == {"role": "assistant", "content": "One two three four."}
    assert all(c.heard_ticks == c.length_ticks for c in talk.chunks)


def test_a_call_stays_when_the_words_with_it_are_cut_and_its_result_is_told(held):
    (call,) = held["called_and_cut"].talk.calls
    assert call.status == "executed"
    assert len(held["called_and_cut"].talk.clears_ticks) == 1
    user, reply, result, again = held["called_and_cut"].messages()
    assert [m["role"] for m in (user, reply, result, again)] == ["user", "assistant", "tool", "user"]
    assert len(reply["content"] or "") < len("One two three four five six.")
    assert "flights" in result["content"]
    assert held["called_and_cut"].told() == []


def test_speech_that_goes_on_while_it_is_written_down_is_written_down_together(held):
    first, *_, last = held["resumed"].double.of("transcriptions")
    assert last.speech_s > first.speech_s + 0.5
    assert held["resumed"].told() == []
    assert [m["role"] for m in held["resumed"].messages()] == ["user"]
    assert held["resumed"].texts("agent") == ["Here it is at last."]


def test_a_connection_outlives_the_pauses_of_a_conversation(held):
    assert held["patient"].told() == []
    assert [s.endpoint for s in held["patient"].double.seen] == [*GREETED, "transcriptions", "chat", "speech"]
    assert held["patient"].double.opened_by == ["models"] * 3


@pytest.mark.parametrize("name", ["whole", "two_calls", "patient", "writes_slowly"])
def test_no_turn_waits_for_a_connection_to_be_opened(held, name):
    """A sentence is spoken while the model still writes the next one."""
    assert held[name].told() == []
    assert held[name].double.opened_by == ["models"] * 3


def test_what_is_no_speech_to_the_service_is_not_answered(held):
    assert held["nothing_heard"].double.of("chat") == []
    assert held["nothing_heard"].talk.ended == "max_duration"


def test_a_model_that_never_stops_calling_is_stopped(held):
    assert held["never_stops_calling"].told() == [("agent", "the model still calls tools after 24 responses")]
    assert len(held["never_stops_calling"].double.of("chat")) == 24


def test_an_answer_that_is_cut_by_a_limit_is_a_remark_on_the_agent(held):
    assert held["too_long"].told() == [("agent", "the model's answer is incomplete: length")]
    assert held["too_long"].talk.ended == "settled"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unauthorized", "agent_absent", f"HTTP 401, {REFUSED} provided: ***.)"),
        ("quota", "agent_absent", "HTTP 429, too many sessions or requests, or no quota left (no quota)"),
        ("down", "agent_absent", "HTTP 503, the server failed (the service failed)"),
        ("dead", "agent_absent", "nothing came for 4 s"),
        ("refused", "agent_absent", "nobody listens there"),
        ("dns", "agent_absent", "the name of the host is not known"),
        ("tls", "agent_absent", "TLS failed: "),
        ("stt_401", "infrastructure", f"transcription at {{url}}: HTTP 401, {REFUSED}: ***.)"),
        ("stt_garbage", "infrastructure", "transcription at {url}: the answer cannot be read"),
        ("stt_empty", "infrastructure", "transcription at {url}: the answer holds no text"),
        ("stt_hang", "infrastructure", "transcription at {url}: nothing came for 4 s"),
        ("llm_429", "infrastructure", "chat at {url}: HTTP 429, too many sessions or requests, or no quota left (Rate"),
        ("llm_500", "infrastructure", "chat at {url}: HTTP 500, the server failed (Failed for ***.)"),
        ("llm_404", "infrastructure", "chat at {url}: HTTP 404, not found: is the model or the path right?"),
        ("llm_hang", "infrastructure", "chat at {url}: nothing came for 4 s"),
        ("llm_cut", "infrastructure", "chat at {url}: the connection broke off before the end of the answer"),
        ("llm_end", "infrastructure", "chat at {url}: the answer ended without finish_reason"),
        ("llm_error", "infrastructure", "chat at {url}: an error in the middle of the answer: the service failed"),
        ("llm_garbage", "infrastructure", "chat at {url}: the answer cannot be read"),
        ("llm_stall", "infrastructure", "chat at {url}: nothing came for 4 s"),
        ("tts_500", "infrastructure", "speech at {url}: HTTP 500, the server failed"),
        ("tts_cut", "infrastructure", "speech at {url}: the connection broke off before the end of the answer"),
        ("tts_stall", "infrastructure", "speech at {url}: nothing came for 4 s"),
        ("tts_json", "infrastructure", "speech at {url}: application/json came where PCM is due"),
        ("tts_wav", "infrastructure", "speech at {url}: a sound file came where bare PCM is due"),
        ("tts_empty", "infrastructure", "no sound came for the sentence 'One two three four five.'"),
    ],
)  # fmt: skip
def test_each_fault_is_one_line_of_the_right_kind_and_nothing_is_lost(held, name, kind, message):
    told = held[name].told()
    assert told[0][0] == kind
    assert message.format(url=held[name].double.url) in told[0][1]
    assert "\n" not in told[0][1]
    assert held[name].talk.ended == "problem"
    assert held[name].talk.wire_events


def test_nothing_is_tried_again_inside_a_measurement(held):
    for name, endpoint in [
        ("llm_429", "chat"),
        ("llm_500", "chat"),
        ("stt_hang", "transcriptions"),
        ("quota", "models"),
    ]:
        assert len(held[name].double.of(endpoint)) == 1, name


def test_the_key_is_in_no_event_problem_or_description(held):
    for name, one in held.items():
        shown = "\n".join([*one.talk.wire_events, repr(one.talk), repr(one.talk.problems)])
        assert KEY not in shown, name
    assert "***" in repr(held["stt_401"].talk.problems)


HUGE = {
    "transcript": (chats(LONG, heard=["word " * 100_000]), "transcription at {url}: an answer of more than 200000"),
    "transcript_50_MB": (
        chats(LONG, heard=["w" * 50_000_000]),
        "transcription at {url}: an answer of more than 16 MiB",
    ),
    "text_50_MB": (chats(Chat("w" * 50_000_000), letters=50_000_000), "chat at {url}: an answer of more than 16 MiB"),
    "arguments": (
        chats(Chat("", [Call("search_flights", "[" * 300_000)]), letters=10_000),
        "chat at {url}: an answer of more than 200000 characters",
    ),
    "sound": (
        Script(chats=[LONG], voice=lambda _: tone(300.0)),
        "speech at {url}: more than 240 s of sound for one sentence",
    ),
    "sound_50_MB": (
        Script(chats=[LONG], voice=lambda _: tone(1000.0)),
        "speech at {url}: more than 240 s of sound for one sentence",
    ),
}


@pytest.mark.parametrize("name", HUGE)
def test_an_answer_without_measure_is_refused_in_one_line(tmp_path, name):
    script, message = HUGE[name]
    scenario = stage.scenario(tmp_path, stage.say(tmp_path, "turn", "filler"), settle_s=1.2)
    double = Double(script=script)

    async def hold():
        async with listen(double):
            return await converse(scenario, Cascaded(url=double.url, silence_ms=500))

    talk = patiently(hold())
    (problem,) = talk.problems
    assert problem.kind == "infrastructure"
    assert message.format(url=double.url) in problem.message
    assert sum(map(len, talk.wire_events)) < 2_000_000
