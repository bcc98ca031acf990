"""Known faults of recording, texts and calls, once more over the wires of hosted agents: what a server sends is scored.

The conversations run through the engine, on a loop whose clock jumps where nothing is ready.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest
import stage
from patience import skipping

from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.duplex import converse
from pytest_voicebench.judging.evidence import evidence_of
from pytest_voicebench.speech import detect_speech
from tests.bad_stage import DEADLINE_S, VARIABLES, agent_for
from tests.servers.hostile_server import Hostile, listen
from tests.servers.tongues import BY_AGENT, Tongue
from tests.turn_stage import said

WITH_TEXTS = ("gpt-realtime", "gpt-live", "gemini-live-2.5", "ultravox", "nemotron-voicechat")
WITH_ITEMS = ("gpt-realtime", "nemotron-voicechat")
SPEAKING = (*WITH_TEXTS, "minicpm-o map", "twilio")
SUITE = {"settle_s": 1.0, "max_duration_s": 12.0}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)


def talk_of(folder, name, acts, *, steps=(("turn",),), tongue=None, **suite):
    """The conversation with a server that does this as soon as the user has spoken for three seconds."""

    async def held():
        scenario = stage.scenario(folder, *(said(folder, s) for s in steps), item_id="talk", **{**SUITE, **suite})
        server = Hostile(tongue or BY_AGENT[name], pause_s=3.0, acts=acts)
        async with asyncio.timeout(DEADLINE_S), listen(server):
            talk = await converse(scenario, agent_for(name, f"127.0.0.1:{server.port}"))
        assert server.own_errors == []
        return talk, server

    talk, server = skipping(held())
    return detect_speech(talk), server


def sound(kind="reply"):
    return stage.voice(kind)


def words(name, speaker, text, *, final=True, item="the reply"):
    """What a server sends for a text; `final` is said only where it is asked for."""
    match name:
        case "gpt-live":
            kind = "output" if speaker == "agent" else "input"
            return [{"type": f"session.{kind}_transcript.delta", "delta": text}]
        case "gemini-live-2.5":
            kind = "outputTranscription" if speaker == "agent" else "inputTranscription"
            return [{"serverContent": {kind: {"text": text, **({"finished": True} if final else {})}}}]
        case "ultravox":
            told = {"type": "transcript", "role": speaker, "medium": "voice", "ordinal": 1 if speaker == "user" else 2}
            return [{**told, "text": text, "final": final}]
    told = {"item_id": item if speaker == "agent" else "u", "content_index": 0}
    if speaker == "agent":
        kind, done = "response.output_audio_transcript", "done"
    else:
        kind, done = "conversation.item.input_audio_transcription", "completed"
    delta = {"type": f"{kind}.delta", **told, "delta": text}
    return [delta, {"type": f"{kind}.{done}", **told, "transcript": text}] if final else [delta]


async def say(peer, pcm=None):
    if peer.server.tongue.greet is BY_AGENT["ultravox"].greet:
        await peer.send({"type": "state", "state": "speaking"})
    await peer.say("the reply", (sound() if pcm is None else pcm).tobytes())


def texts(talk, speaker):
    return [t.text for t in talk.transcripts if t.speaker == speaker]


@pytest.mark.parametrize("name", SPEAKING)
def test_a_stall_and_the_burst_after_it_are_heard_once(tmp_path, name):
    """F3: half a second of nothing, and then all of it at once."""
    half = sound()[: RATE_HZ // 2]

    async def acts(peer):
        await say(peer, half)
        await asyncio.sleep(1.0)
        for start in range(0, len(half), 480):
            await say(peer, half[start : start + 480])

    talk, _ = talk_of(tmp_path, name, acts)
    heard = sum(chunk.heard_ticks for chunk in talk.chunks)
    assert heard == pytest.approx(2 * len(half), rel=0.01)
    first, last = talk.chunks[0], talk.chunks[-1]
    end = last.start_ticks + last.heard_ticks
    assert end - first.start_ticks == pytest.approx(1.5 * RATE_HZ, abs=0.05 * RATE_HZ)
    assert len(talk.recording.user) == len(talk.recording.agent) == talk.duration_ticks


@pytest.mark.parametrize("name", [*SPEAKING, "moshi"])
def test_what_was_sent_before_the_server_hangs_up_is_heard_to_its_end(tmp_path, name):
    """F1, F8: it sends faster than anybody listens, and is gone."""
    if name == "moshi":
        pytest.importorskip("sphn")

    async def acts(peer):
        await say(peer, np.tile(sound(), 3))
        await peer.close(1000, "")

    talk, _ = talk_of(tmp_path, name, acts)
    assert (talk.ended, talk.problems) == ("line_closed", ())
    assert sum(chunk.heard_ticks for chunk in talk.chunks) >= 3 * len(sound()) - 0.2 * RATE_HZ


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_a_text_without_sound_was_not_said(tmp_path, name):
    """G1, F9: words and a state, and nothing to hear."""

    async def acts(peer):
        if name == "ultravox":
            await peer.send({"type": "state", "state": "speaking"})
        await peer.send(*words(name, "agent", "Thank you."))

    talk, _ = talk_of(tmp_path, name, acts)
    assert (talk.ended, talk.problems, talk.chunks, talk.agent_speech) == ("max_duration", (), (), ())
    assert {t.heard_text for t in talk.transcripts} <= {""}


@pytest.mark.parametrize("name", SPEAKING)
def test_sound_without_a_text_was_said_and_nobody_claims_to_know_what(tmp_path, name):
    """G4."""
    talk, _ = talk_of(tmp_path, name, say)
    assert talk.agent_speech
    assert texts(talk, "agent") == []


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_a_text_that_is_never_called_finished_counts_and_one_of_the_user_may_come_late(tmp_path, name):
    """G5, G7, G8: of the user's words there are only the last ones, and they come after the reply."""

    async def acts(peer):
        await say(peer)
        await peer.send(*words(name, "agent", "It ships today", final=False))
        await asyncio.sleep(0.5)
        await peer.send(*words(name, "user", "the last words", final=False))

    talk, _ = talk_of(tmp_path, name, acts)
    assert talk.problems == ()
    assert [t.heard_text for t in talk.transcripts if t.speaker == "agent"] == ["It ships today"]
    assert texts(talk, "user") == ["the last words"]
    assert [u.text for u in talk.utterances] == ["turn"]


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_marks_that_nobody_hears_are_kept_and_are_no_words(tmp_path, name):
    """G9."""
    raw = "<$0.72$> Let me think. Your order <|1.2|> ships today"

    async def acts(peer):
        await say(peer)
        await peer.send(*words(name, "agent", raw, final=False))

    talk, _ = talk_of(tmp_path, name, acts)
    assert texts(talk, "agent") == [raw]
    assert [s.text for s in evidence_of(talk).sentences] == ["Let me think.", "Your order ships today"]


STOPS = {
    "gpt-realtime": {"type": "input_audio_buffer.speech_started", "audio_start_ms": 1, "item_id": "u"},
    "gemini-live-2.5": {"serverContent": {"interrupted": True}},
    "ultravox": {"type": "playback_clear_buffer"},
    "twilio": {"event": "clear"},
}


@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize("name", STOPS)
def test_what_an_agent_does_when_the_user_only_hums_is_on_the_timeline(tmp_path, name, stops):
    """E19: one stops as if it had been interrupted, and one goes on; neither was asked anything."""

    async def acts(peer):
        await say(peer, np.tile(sound(), 4))
        await asyncio.sleep(2.0)
        if stops:
            stream = {"streamSid": peer.started["streamSid"]} if name == "twilio" else {}
            await peer.send({**STOPS[name], **stream})

    hum = replace(stage.say(tmp_path, "uh-huh", "filler", when=stage.into_agent(0.5)), kind="backchannel")
    talk, _ = talk_of(tmp_path, name, acts, steps=(("turn",), hum))
    heard = sum(chunk.heard_ticks for chunk in talk.chunks)
    assert [u.kind for u in talk.utterances] == ["turn", "backchannel"]
    assert len(talk.clears_ticks) == int(stops)
    assert (heard < 3 * len(sound())) == stops
    if stops:
        assert talk.agent_speech[-1].end_ticks <= talk.clears_ticks[0] + 0.3 * RATE_HZ


@pytest.mark.parametrize("name", WITH_TEXTS)
def test_two_calls_of_one_message_are_two_and_each_result_is_timed(tmp_path, name):
    """H7, H8: when it was handed over, and when the whole of it had left."""
    told = [json.dumps({"destination": city, "date": "2026-06-03"}) for city in ("Rome", "Oslo")]

    async def acts(peer):
        tongue: Tongue = peer.server.tongue
        one, other = ([*tongue.call(peer, f"c{n}", "search_flights", text)] for n, text in enumerate(told))
        await peer.send(*together(name, one, other))
        await asyncio.sleep(1.0)
        await say(peer)

    talk, server = talk_of(tmp_path, name, acts)
    assert [(c.status, c.arguments["destination"]) for c in talk.calls] == [("executed", "Rome"), ("executed", "Oslo")]
    assert all(c.at_ticks <= c.finished_ticks <= c.answered_ticks <= c.acknowledged_ticks for c in talk.calls)
    answers = "".join(map(json.dumps, server.seen))
    assert all(answers.count(f'"{key}"') == 1 for key in ("c0", "c1"))


def together(name, one, other):
    """The messages of two calls as one, in protocols that have such messages."""
    if name == "gemini-live-2.5":
        one[0]["toolCall"]["functionCalls"] += other[0]["toolCall"]["functionCalls"]
        return one
    if name in WITH_ITEMS:
        items = [event["item"] for event in (one[1], other[1])]
        done = {**one[2], "response": {**one[2]["response"], "output": items}}
        return [one[0], done]  # the response's own list alone
    return [*one, *other]


def test_a_call_that_is_told_other_instructions_than_ours_is_remarked_on(tmp_path):
    """H11: Ultravox repeats what it was asked for."""
    server_says = Tongue(greet=BY_AGENT["ultravox"].greet, sound=BY_AGENT["ultravox"].sound, echo="Be brief.")
    talk, _ = talk_of(tmp_path, "ultravox", say, tongue=server_says)
    told = [(p.kind, p.message) for p in talk.problems]
    assert told == [("agent", "the server did not take a setting: systemPrompt was changed")]


@pytest.mark.parametrize("name", ["gpt-realtime", "grok", "nemotron-voicechat"])
def test_a_session_that_is_told_more_than_we_said_is_remarked_on(tmp_path, name):
    """H11: the server adds to the instructions, and a tool; what we sent is in the events."""

    async def greet(peer):
        if name != "nemotron-voicechat":
            await peer.send({"type": "session.created", "session": {}})
        asked = await peer.told('"session.update"')
        session = {**asked["session"], "instructions": "Be brief. Call lookup first."}
        session["tools"] = [*session["tools"], {"type": "function", "name": "lookup"}]
        await peer.send(
            {"type": "session.created" if name == "nemotron-voicechat" else "session.updated", "session": session}
        )

    talk, _ = talk_of(tmp_path, name, say, tongue=Tongue(greet=greet, sound=BY_AGENT[name].sound))
    told = [(p.kind, p.message) for p in talk.problems]
    assert ("agent", "the server did not take a setting: instructions was changed") in told
    assert ("agent", "the server did not take a setting: tools: 3 instead of 2") in told
    sent = [row["event"] for row in map(json.loads, talk.wire_events) if row["way"] == "sent"]
    assert any(len(event.get("session", {}).get("tools", [])) == 2 for event in sent)
