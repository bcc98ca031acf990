"""Faults of others' recordings and transcripts, end to end: what was heard and said, when, and what is made of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pytest_voicebench.agents.protocol import AgentAudio, PlaybackClear, ToolCall, Transcript, TurnEnd
from pytest_voicebench.audio import BLOCK_TICKS, RATE_HZ, Audio, Samples, resample
from pytest_voicebench.audio_files import read_audio
from pytest_voicebench.conversation import Word, to_seconds, to_ticks
from pytest_voicebench.conversation_files import load_conversation, load_recording, save_conversation
from pytest_voicebench.files import file_sha256
from pytest_voicebench.judging.evidence import evidence_of
from pytest_voicebench.loading import load_suite
from pytest_voicebench.timing_file import read_timing, timing_path, write_timing
from tests import fault_stage
from tests.fault_stage import REPLY, Judged, call, judged, voice, written
from tests.scripted import CLOSE, Scripted
from tests.stage import hold
from tests.voice import spoken

MENTIONS = "calls: []\nmentions: ['{}']"


def told(at_s: float, text: str, item_id: str | None = f"reply_{REPLY[0]}", **more: Any) -> tuple[float, Transcript]:
    """The agent gives the text of its reply."""
    return at_s, Transcript(speaker="agent", text=text, item_id=item_id, **more)


def understood(at_s: float, text: str) -> tuple[float, Transcript]:
    """The agent gives the text of what it took the user to say."""
    return at_s, Transcript(speaker="user", text=text, item_id="user")


def audible_s(samples: Samples) -> tuple[float, float]:
    """The first and the last moment that are not silent."""
    at = np.flatnonzero(np.abs(samples.astype(int)) > 100)
    return at[0] / RATE_HZ, (at[-1] + 1) / RATE_HZ


def tracks(found: Judged) -> tuple[Samples, Samples]:
    """The user's and the agent's side as recorded."""
    recording = found.conversation.recording
    assert recording is not None
    return recording.user, recording.agent


# --- recordings


def test_a_reply_that_goes_on_after_the_users_recording_is_heard_to_its_end(tmp_path: Path) -> None:
    """F1: the user's file ends at 2.5 s, the reply at 6.2 s."""
    found = judged(tmp_path, "calls: []", voice(2.4, 6.2), reply=False)
    assert audible_s(tracks(found)[1]) == pytest.approx((2.4, 6.2), abs=0.01)
    assert not found.conversation.truncated
    assert "truncated" not in found.card.notes


def test_a_stall_and_the_burst_after_it_are_heard_once(tmp_path: Path) -> None:
    """F3: one second in time, 0.5 s of nothing, 25 frames at once, half a second in time."""
    whole, item = spoken(2.0), "reply"
    frames = [
        AgentAudio(item_id=item, audio=Audio(samples=whole[n : n + BLOCK_TICKS], rate_hz=RATE_HZ))
        for n in range(0, len(whole), BLOCK_TICKS)
    ]
    at_s = [4.0 + n * 0.02 for n in range(50)] + [5.5] * 25 + [5.5 + n * 0.02 for n in range(25)]
    found = judged(tmp_path, "calls: []", *zip(at_s, frames, strict=True), reply=False)
    agent = tracks(found)[1]
    assert len(agent) == found.conversation.duration_ticks
    heard = np.concatenate([agent[to_ticks(4.0) : to_ticks(5.0)], agent[to_ticks(5.5) : to_ticks(6.5)]])
    assert np.array_equal(heard, whole)
    assert not agent[to_ticks(5.0) : to_ticks(5.5)].any()
    assert not agent[to_ticks(6.5) :].any()
    assert found.card.times.first_response_latency_s == pytest.approx(1.7, abs=0.02)


def test_both_voices_stay_in_their_places_over_any_length(tmp_path: Path) -> None:
    """F4: the user speaks over the thirtieth second, the agent after it; in memory and in the file."""
    user = (("Please", 0.3, 20.0), ("wait", 20.0, 31.0))
    found = judged(tmp_path, "calls: []", voice(33.0, 34.0), reply=False, user=user)
    save_conversation(found.conversation, tmp_path / "saved")
    saved = load_recording(tmp_path / "saved")
    for one, other in (tracks(found), (saved.user, saved.agent)):
        assert audible_s(one) == pytest.approx((0.3, 31.0), abs=0.02)
        assert audible_s(other) == pytest.approx((33.0, 34.0), abs=0.02)
        assert len(one) == len(other) == found.conversation.duration_ticks
    assert found.card.times.first_response_latency_s == pytest.approx(2.0, abs=0.02)


LONG = " ".join(["word"] * 20)


@pytest.mark.parametrize(
    ("script", "lost"),
    [
        ([voice(4.0, 5.2), told(4.0, LONG, "reply_4.0")], True),
        ([voice(4.0, 5.2), told(4.0, LONG, "reply_4.0"), (5.2, CLOSE)], True),
        ([voice(4.0, 10.0), told(4.0, LONG, "reply_4.0")], False),
        ([voice(4.0, 5.2), told(4.0, "<|0.1|> " * 20 + "It ships today, I think.", "reply_4.0")], False),
        ([voice(4.0, 4.2), told(4.0, "Yes, of course.", "reply_4.0")], False),
        ([voice(4.0, 10.0), told(4.0, LONG, "reply_4.0"), (5.0, PlaybackClear())], False),
        ([voice(4.0, 5.2), told(4.0, LONG, None)], False),
    ],
    ids=["lost", "hung up", "whole", "marks", "short", "interrupted", "of no sound"],
)
def test_a_text_of_twenty_words_in_little_more_than_a_second_of_sound_is_noted(
    tmp_path: Path, script: list[Any], lost: bool
) -> None:
    """F8: the sound was cut by whoever sends it."""
    card = judged(tmp_path, "calls: []", *script, reply=False).card
    assert ("audio_shorter_than_text" in card.notes) is lost
    assert card.passed


def test_an_agent_that_only_says_that_it_speaks_is_waited_for_and_was_silent(tmp_path: Path) -> None:
    """F9. The design decides otherwise than the list: a connected agent that stays silent has failed."""
    claims = [event for n in range(3, 63) for event in (told(n, "Speaking.", f"{n}"), (n, TurnEnd(response_id=f"{n}")))]
    found = judged(tmp_path, "calls: []", *claims, reply=False)
    assert found.conversation.ended == "window"
    assert to_seconds(found.conversation.duration_ticks) == pytest.approx(2.3 + 30.0, abs=0.021)
    assert (found.card.spoke, found.card.passed, found.card.times.cause) == (False, False, "no_reply")
    assert {t.heard_text for t in found.conversation.transcripts} == {""}


def test_a_recording_is_brought_to_the_agents_rate_once_and_without_aliases(tmp_path: Path) -> None:
    """F11: 48 kHz floats, and a tone of 12 kHz behind the words, that would be 4 kHz at 16 kHz."""
    path = written(tmp_path)
    flac, wav = tmp_path / "audio" / "user.flac", tmp_path / "audio" / "user.wav"
    at = np.arange(round(0.4 * 48_000)) / 48_000
    words = resample(read_audio(flac).audio, 48_000).samples[: round(2.4 * 48_000)] / 32768
    soundfile.write(wav, np.concatenate([words, 0.3 * np.sin(2 * np.pi * 12_000 * at)]), 48_000, subtype="FLOAT")
    timing = replace(read_timing(timing_path(flac)), audio_sha256=file_sha256(wav), rate_hz=48_000)
    write_timing(timing_path(wav), timing, "annotated")
    path.write_text(path.read_text(encoding="utf-8").replace("user.flac", "user.wav"), encoding="utf-8")
    (scenario,) = load_suite(path).scenarios
    agent = Scripted([], input_hz=16_000)
    conversation = hold(scenario, agent)
    assert {(b.samples.dtype.name, len(b.samples), b.rate_hz) for b in agent.sent} == {("int16", 320, 16_000)}
    sent = np.concatenate([block.samples for block in agent.sent])
    expected = resample(read_audio(wav).audio, 16_000).samples
    assert np.array_equal(sent[: len(expected)], expected)
    assert np.abs(sent[round(2.45 * 16_000) : round(2.75 * 16_000)].astype(int)).max() < 30  # of 9800
    assert conversation.agent.input_hz == 16_000


def test_a_tools_delay_is_the_declared_one_every_time_and_stops_no_audio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F12."""
    slow = fault_stage.TOOLS.replace("ping: {", "ping: {latency_s: 2.0, ")
    monkeypatch.setattr(fault_stage, "TOOLS", slow)
    for name in ("one", "two"):
        found = judged(tmp_path / name, "calls: [ping: {}]", call(1.0, "ping"))
        assert [to_seconds(c.answered_ticks or 0) for c in found.conversation.calls] == [3.0]
        assert len(found.agent.sent) == found.conversation.duration_ticks // BLOCK_TICKS


def test_two_calls_in_one_message_are_two_calls(tmp_path: Path) -> None:
    """H7."""
    both = [
        (3.0, ToolCall(call_id=name, name="weather", arguments={"city": name}, response_id="r"))
        for name in ("Oslo", "Rome")
    ]
    expect = "calls: [weather: {city: Oslo}, weather: {city: Rome}]"
    found = judged(tmp_path, expect, *both, (3.0, TurnEnd(response_id="r")))
    assert (found.card.passed, found.card.f1_strict) == (True, 1.0)
    assert [[r.call_id for r in results] for _, results in found.agent.answers] == [["Oslo", "Rome"]]


def test_times_are_finer_than_the_blocks_of_audio_and_are_saved_as_seconds(tmp_path: Path) -> None:
    """E20: no reader can take one length of a tick for another."""
    found = judged(tmp_path, "calls: []", call(3.0137, "ping"), voice(4.0137, 5.0), reply=False)
    assert found.card.times.first_response_latency_s == pytest.approx(1.7137, abs=0.002)
    assert found.card.times.tool_call_latency_s == pytest.approx(0.7137, abs=0.0001)
    save_conversation(found.conversation, tmp_path / "saved")
    written_s = json.loads((tmp_path / "saved" / "conversation.json").read_bytes())["calls"][0]["at_s"]
    assert written_s == pytest.approx(3.0137, abs=0.0001)
    assert load_conversation(tmp_path / "saved") == found.conversation


# --- transcripts


def test_of_an_interrupted_reply_only_what_was_played_was_said(tmp_path: Path) -> None:
    """G3: the voice stopped after "Your"; the whole text is kept beside it."""
    text = "Your total is 90 dollars"
    bounds = [(0.0, 0.4), (0.6, 0.9), (0.9, 1.0), (1.0, 1.5), (1.5, 2.0)]
    words = tuple(
        Word(text=word, start_ticks=to_ticks(a), end_ticks=to_ticks(b))
        for word, (a, b) in zip(text.split(), bounds, strict=True)
    )
    script = [voice(4.0, 6.0), told(4.0, text, words=words)]
    cut = judged(tmp_path / "cut", MENTIONS.format(90), *script, (4.5, PlaybackClear()), reply=False)
    (entry,) = cut.conversation.transcripts
    assert (entry.heard_text, entry.text, cut.card.diagnostics["mentions"]) == ("Your", text, False)
    assert [s.text for s in evidence_of(cut.conversation).sentences] == ["Your"]
    whole = judged(tmp_path / "whole", MENTIONS.format(90), *script, reply=False)
    assert whole.card.diagnostics["mentions"] is True


@pytest.mark.parametrize("texts", [[], [""], [" "]])
def test_a_reply_whose_text_was_lost_was_spoken_and_nobody_claims_to_know_what_it_said(
    tmp_path: Path, texts: list[str]
) -> None:
    """G4: two seconds of sound, then the user interrupts."""
    script = [voice(4.0, 8.0), *(told(4.0, text) for text in texts), (6.0, PlaybackClear())]
    card = judged(tmp_path, MENTIONS.format(90), *script, reply=False).card
    assert (card.spoke, card.diagnostics["mentions"]) == (True, None)


def test_a_users_text_that_comes_late_or_never_moves_nothing(tmp_path: Path) -> None:
    """G5: the agent's text comes at 5.0 s, the user's, spoken from 0.3 to 2.3 s, at 5.4 s."""
    mine = told(5.0, "It is 90.")
    late = judged(tmp_path / "late", MENTIONS.format(90), mine, understood(5.4, "Please do it"))
    never = judged(tmp_path / "never", MENTIONS.format(90), mine)
    assert late.card == never.card
    assert late.card.passed
    (turn,) = late.conversation.turns
    assert (turn.text, to_seconds(turn.start_ticks), to_seconds(turn.end_ticks)) == ("Please do it", 0.3, 2.3)
    assert evidence_of(late.conversation) == evidence_of(never.conversation)


@pytest.mark.parametrize(("script", "cause"), [([understood(5.4, "weather Rome")], "misheard"), ([], "invented")])
def test_a_late_text_of_the_user_still_tells_why_a_value_is_wrong(
    tmp_path: Path, script: list[Any], cause: str
) -> None:
    """G5: the call was made before the text came."""
    user = (("weather", 0.3, 1.2), ("Oslo", 1.2, 2.3))
    found = judged(tmp_path, "calls: [weather: {city: Oslo}]", call(3.0, "weather", city="Rome"), *script, user=user)
    assert found.card.wrong_causes == {cause: 1}


@pytest.mark.parametrize("end", [[], [(6.0, CLOSE)]], ids=["open", "closed"])
def test_a_text_that_was_never_called_finished_counts(tmp_path: Path, end: list[Any]) -> None:
    """G7: pieces only, then the end."""
    pieces = [told(4.0 + n / 10, text, delta=True) for n, text in enumerate(["Your", " total is", " 90"])]
    found = judged(tmp_path, MENTIONS.format("total is 90"), *pieces, *end)
    (entry,) = found.conversation.transcripts
    assert (entry.text, entry.heard_text) == ("Your total is 90",) * 2
    assert found.card.diagnostics["mentions"] is True


def test_what_a_user_said_is_the_script_however_little_of_it_the_agent_writes_down(tmp_path: Path) -> None:
    """G8: 95 seconds, of which the agent's text holds the last twenty words."""
    user = tuple((f"word{n}", 0.3 + n / 2, 0.8 + n / 2) for n in range(190))
    last = " ".join(word for word, _, _ in user[-20:])
    script = [understood(96.0, last), voice(97.0, 98.0)]
    found = judged(tmp_path, "calls: []", *script, reply=False, user=user)
    (turn,) = found.conversation.turns
    whole = " ".join(word for word, _, _ in user)
    assert (turn.text, evidence_of(found.conversation).request) == (whole, (whole,))
    assert found.card.times.user_end_s == pytest.approx(95.3)
    assert [t.text for t in found.conversation.transcripts] == [last]


@pytest.mark.parametrize(
    ("fact", "said"), [("order ships today", True), ("0.72", False), ("1.2", False), ("let me think", True)]
)
def test_marks_that_nobody_hears_are_no_words_and_thinking_aloud_is(tmp_path: Path, fact: str, said: bool) -> None:
    """G9: the raw text is kept."""
    raw = "<$0.72$> Let me think. Your order <|1.2|> ships today"
    found = judged(tmp_path, MENTIONS.format(fact), told(4.0, raw))
    assert found.card.diagnostics["mentions"] is said
    assert [t.text for t in found.conversation.transcripts] == [raw]
    assert [s.text for s in evidence_of(found.conversation).sentences] == ["Let me think.", "Your order ships today"]


def test_marks_do_not_count_as_words_where_a_cut_text_is_estimated(tmp_path: Path) -> None:
    """G9, G3: half of four words, not of eight."""
    raw = "<|0|> one <|1|> two <|2|> three <|3|> four"
    found = judged(tmp_path, "calls: []", voice(4.0, 6.0), told(4.0, raw), (5.0, PlaybackClear()), reply=False)
    assert [(t.heard_text, t.estimated) for t in found.conversation.transcripts] == [("one two", True)]


def test_text_put_into_the_context_is_nothing_that_the_user_said(tmp_path: Path) -> None:
    """G11: an agent that gives it back as the user's speech has not heard Oslo."""
    note = "The user asks about Oslo"
    steps = f"      - {{inject: {note}}}\n"
    user = (("weather", 0.3, 1.2), ("Oslo", 1.2, 2.3))
    script = [
        understood(2.4, "weather Rome"),
        (2.6, Transcript(speaker="user", text=note, item_id="note")),
        call(3.0, "weather", city="Rome"),
    ]
    found = judged(tmp_path, "calls: [weather: {city: Oslo}]", *script, user=user, steps=steps)
    assert [text for _, text in found.agent.injected] == [note]
    assert [u.text for u in found.conversation.turns] == ["weather Oslo"]
    assert evidence_of(found.conversation).request == ("weather Oslo",)
    assert found.card.wrong_causes == {"misheard": 1}
    assert found.card.times.user_end_s == 2.3
