"""The agent `audio_chat` in whole conversations with a double of a chat model that hears, and with each of its faults.

All conversations of the table are held side by side with their doubles, on a loop whose clock counts waiting alone:
what is asserted is order and content, and no load of the machine changes it.
"""

from __future__ import annotations

import json

import pytest
import stage

from pytest_voicebench.agents.audio_chat import AudioChat
from pytest_voicebench.audio import RATE_HZ
from tests.servers.cascade_script import Call, Chat, Script, Trouble, tone
from tests.turn_stage import (
    ARGUMENTS,
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

SPOKEN = {"answer": "text", "tts_url": "{url}"}
NO_WORDS = "One two three four five. Six seven eight nine ten. Eleven twelve thirteen. And s"


def trouble(endpoint, kind="status", settings=None, **more):
    suite = {"settle_s": 8.0} if kind == "stall" else {}  # the stall is noticed before the conversation settles
    script = chats(LONG, troubles={endpoint: Trouble(kind=kind, **more)})
    return Case(script=script, suite=suite, settings=settings or {})


CASES = {
    "audio": Case(script=chats(*TOOL, key=KEY)),
    "odd": Case(script=chats(*TOOL, odd=True, no_usage=True)),
    "beside_text": Case(script=chats(*TOOL, shape="sound_beside_text"), settings={"audio_format": "wav"}),
    "wav_pieces": Case(script=chats(*TOOL, shape="wav_pieces"), settings={"audio_format": "wav", "temperature": 0}),
    "wav": Case(script=chats(*TOOL), settings={"answer": "wav"}),
    "wav_choices": Case(script=chats(*TOOL, shape="wav_pieces"), settings={"answer": "wav"}),
    "spoken": Case(script=chats(*TOOL), settings={**SPOKEN, "input": "audio_url", "prompt": "Answer what is said."}),
    "two_calls": Case(script=chats(Chat("Let me look that up.", [SEARCH, ROME]), TOOL[1]), settings=SPOKEN),
    "two_calls_whole": Case(script=chats(Chat("", [SEARCH, ROME]), TOOL[1], same_ids=True), settings={"answer": "wav"}),
    "words_and_call": Case(script=chats(Chat("Let me look.", [SEARCH]), TOOL[1])),
    "no_json": Case(script=chats(Chat("", [Call("search_flights", '{"destination": "Par')]), Chat("Once more."))),
    "barge_in": Case(script=Script(chats=[LONG, Chat("Go on then.")], voice=lambda _: tone(8.0)), steps=INTO_REPLY),
    "barge_in_live": Case(
        script=Script(chats=[LONG, Chat("Go on then.")], voice=lambda _: tone(8.0), pace=0.45), steps=INTO_REPLY
    ),
    "resumed": Case(
        script=chats(TOOL[1], troubles={"chat": Trouble(kind="hang", times=1)}),
        steps=(("turn",), stage.Step(kind="wait", seconds=1.2), ("more",)),
    ),
    "no_words": Case(script=chats(Chat("")), suite=LIMIT),
    "too_long": Case(script=chats(Chat("Here it is, and then", finish="length"))),
    "unauthorized": Case(script=chats(LONG, key="sk-another")),
    "refused": Case(url="http://127.0.0.1:{free}/v1"),
    "no_speech_service": Case(settings={"answer": "text", "tts_url": "http://127.0.0.1:{free}/v1"}),
    "llm_400": trouble("chat", status=400, message="this model takes no audio"),
    "llm_429": trouble("chat", status=429, message="Rate limit reached."),
    "llm_500": trouble("chat", message=f"Failed for {KEY}."),
    "llm_cut": trouble("chat", "cut", after=6),
    "llm_end": trouble("chat", "end", after=6),
    "llm_stall": trouble("chat", "stall", after=6),
    "noise": trouble("chat", "noise", after=6),
    "whole_hang": trouble("chat", "hang", {"answer": "wav"}),
    "whole_garbage": trouble("chat", "garbage", {"answer": "wav"}),
    "silent": Case(script=chats(LONG, voice=lambda _: tone(0.0))),
    "tts_500": trouble("speech", settings=SPOKEN),
}
ANSWERS = ["audio", "odd", "beside_text", "wav_pieces", "wav", "wav_choices", "spoken"]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name."""
    with all_held(CASES, AudioChat, tmp_path_factory.mktemp) as found:
        yield found


@pytest.mark.parametrize("name", ANSWERS)
def test_one_turn_with_a_tool_round_trip(held, name):
    talk = held[name].talk
    assert (held[name].told(), talk.ended) == ([], "settled")
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", json.loads(ARGUMENTS))
    assert sum(chunk.heard_ticks for chunk in talk.chunks) == RATE_HZ
    assert "".join(t.text for t in talk.transcripts if t.speaker == "agent") == "Here it is at last."
    user, reply, result = held[name].messages()
    assert user["role"] == "user"
    assert (reply["content"], reply["tool_calls"][0]["function"]["arguments"]) == (None, ARGUMENTS)
    assert json.loads(result["content"])["flights"][0]["destination"] == "Milan"
    assert talk.clears_ticks == ()


@pytest.mark.parametrize("name", ANSWERS)
def test_the_model_hears_the_users_speech_once_and_is_told_no_words_of_it(held, name):
    first, second = held[name].double.of("chat")
    ((length_s,),) = first.sounds_s
    assert 0.5 < length_s < 6.0
    assert second.sounds_s == first.sounds_s
    kinds = {part["type"] for part in first.body["messages"][1]["content"]}
    assert kinds == ({"audio_url", "text"} if name == "spoken" else {"input_audio"})
    assert held[name].texts("user") == []
    assert held[name].double.of("transcriptions") == []


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("audio", {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "pcm16"}, "stream": True}),
        ("wav_pieces", {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}, "stream": True}),
        ("wav", {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}),
        ("spoken", {"stream": True}),
    ],
)
def test_the_model_is_asked_for_what_the_settings_say(held, name, asked):
    (body, _) = (seen.body for seen in held[name].double.of("chat"))
    assert {k: body[k] for k in ("modalities", "audio", "stream") if k in body} == asked
    assert body["model"] == "gpt-audio"
    assert body.get("temperature") == (0 if name == "wav_pieces" else None)
    assert [t["function"]["name"] for t in body["tools"]] == ["search_flights", "book_flight"]
    assert {s.headers["authorization"] for s in held[name].double.seen} == {f"Bearer {KEY}"}


def test_the_settings_say_who_speaks(held):
    shown = {name: held[name].talk.agent.settings for name in ("audio", "wav", "spoken")}
    assert [shown[n]["answer"] for n in shown] == ["audio", "wav", "text"]
    assert [shown[n].get("audio_format") for n in shown] == ["pcm16", "wav", None]
    assert [shown[n].get("tts_model") for n in shown] == [None, None, "gpt-4o-mini-tts"]
    audio = shown["audio"]
    assert (audio["turn_detection"], audio["silence_ms"], audio["retries"]) == ("silero", 800, 0)
    assert held["audio"].talk.agent.model == "gpt-audio"


def test_usage_is_added_up_once_where_a_server_repeats_it_with_every_chunk(held):
    for name in ("audio", "wav_pieces", "wav"):
        assert held[name].talk.usage["llm_total_tokens"] == 240, name
        assert 0.5 < held[name].talk.usage["user_speech_s"] < 6.0
    assert "llm_total_tokens" not in held["odd"].talk.usage
    assert held["spoken"].talk.usage["tts_characters"] == len("Here it is at last.")


def test_sound_is_in_the_events_as_its_length(held):
    for name in ANSWERS:
        assert max(map(len, held[name].talk.wire_events)) < 20_000, name
    events = [r["event"] for r in held["spoken"].events() if r["way"] == "sent"]
    assert [e["type"] for e in events] == ["chat.completions", "chat.completions", "audio.speech"]
    assert events[0]["messages"][1]["content"][1]["audio_url"]["url"].endswith(" characters>")


@pytest.mark.parametrize("name", ["two_calls", "two_calls_whole"])
def test_two_calls_of_one_response_are_answered_together(held, name):
    calls = held[name].talk.calls
    assert [(c.name, c.arguments["destination"]) for c in calls] == [("search_flights", d) for d in ("Milan", "Rome")]
    assert len({c.response_id for c in calls}) == 1
    assert [m["role"] for m in held[name].messages()] == ["user", "assistant", "tool", "tool"]
    assert held[name].told() == []


def test_words_that_come_with_a_call_are_played_and_told(held):
    assert held["words_and_call"].told() == []
    assert sum(chunk.heard_ticks for chunk in held["words_and_call"].talk.chunks) == 2 * RATE_HZ
    _, reply, _ = held["words_and_call"].messages()
    assert (reply["content"], len(reply["tool_calls"])) == ("Let me look.", 1)


def test_a_call_that_cannot_be_made_is_rejected_visibly_and_the_model_told(held):
    (call,) = held["no_json"].talk.calls
    assert call.status == "rejected"
    assert "error" in json.loads(held["no_json"].messages()[-1]["content"])


@pytest.mark.parametrize("name", ["barge_in", "barge_in_live"])
def test_barge_in_stops_the_sound_and_the_model_is_told_what_was_played(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert len(talk.clears_ticks) == 1
    user, reply, again = held[name].messages()
    assert (user["role"], again["role"]) == ("user", "user")
    assert 0 < len(reply["content"]) < len(LONG.text)
    assert LONG.text.startswith(reply["content"])
    assert all(c.received_ticks < talk.clears_ticks[0] for c in talk.chunks if c.heard_ticks < c.length_ticks)


def test_barge_in_closes_the_request_that_still_answers(held):
    assert "chat" in held["barge_in_live"].double.broken


def test_speech_that_goes_on_while_the_model_thinks_is_one_message_of_two_sounds(held):
    first, *_, last = held["resumed"].double.of("chat")
    assert len(first.sounds_s[0]) == 1
    ((one, two),) = last.sounds_s
    assert (one, two > 0.5) == (first.sounds_s[0][0], True)
    assert held["resumed"].told() == []
    assert sum(chunk.heard_ticks for chunk in held["resumed"].talk.chunks) == RATE_HZ


def test_an_answer_without_words_is_silence(held):
    assert (held["no_words"].told(), held["no_words"].talk.chunks) == ([], ())


def test_an_answer_that_is_cut_by_a_limit_is_a_remark_on_the_agent(held):
    assert held["too_long"].told() == [("agent", "the model's answer is incomplete: length")]
    assert held["too_long"].talk.ended == "settled"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unauthorized", "agent_absent", f"chat at {{url}}: HTTP 401, {REFUSED} provided: ***.)"),
        ("refused", "agent_absent", "nobody listens there"),
        ("no_speech_service", "agent_absent", "nobody listens there"),
        ("llm_400", "infrastructure", "chat at {url}: HTTP 400, refused (this model takes no audio)"),
        (
            "llm_429",
            "infrastructure",
            "chat at {url}: HTTP 429, too many sessions or requests, or no quota left (Rate limit",
        ),
        ("llm_500", "infrastructure", "chat at {url}: HTTP 500, the server failed (Failed for ***.)"),
        ("llm_cut", "infrastructure", "chat at {url}: the connection broke off before the end of the answer"),
        ("llm_end", "infrastructure", "chat at {url}: the answer ended without finish_reason"),
        ("llm_stall", "infrastructure", "chat at {url}: nothing came for 4 s"),
        ("noise", "infrastructure", "chat at {url}: the audio is not base64"),
        ("whole_hang", "infrastructure", "chat at {url}: nothing came for 4 s"),
        ("whole_garbage", "infrastructure", "chat at {url}: the answer ended without finish_reason"),
        ("silent", "infrastructure", f"no sound came for '{NO_WORDS}'"),
        ("tts_500", "infrastructure", "speech at {url}: HTTP 500, the server failed"),
    ],
)
def test_each_fault_is_one_line_of_the_right_kind(held, name, kind, message):
    told = held[name].told()
    assert told[0][0] == kind
    assert message.format(url=held[name].double.url) in told[0][1]
    assert "\n" not in told[0][1]
    assert held[name].talk.ended == "problem"
    assert held[name].talk.wire_events


def test_nothing_is_tried_again_inside_a_measurement(held):
    assert [len(held[name].double.of("chat")) for name in ("llm_429", "llm_500", "whole_hang")] == [1, 1, 1]


def test_the_key_is_in_no_event_problem_or_description(held):
    for name, one in held.items():
        assert KEY not in "\n".join([*one.talk.wire_events, repr(one.talk)]), name
    assert "***" in repr(held["llm_500"].talk.problems)
