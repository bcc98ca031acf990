"""converse(): blocks out on time, events in, triggers, endings, and what goes wrong. All on the virtual clock."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import numpy as np
import pytest

from pytest_voicebench.agents.protocol import (
    AgentAbsent,
    Fault,
    PlaybackClear,
    ToolCall,
    ToolCancelled,
    Transcript,
    TurnEnd,
    Unsupported,
    Usage,
)
from pytest_voicebench.audio import BLOCK_TICKS, RATE_HZ, Audio, resample
from pytest_voicebench.conversation import Word, to_seconds, to_ticks
from pytest_voicebench.scenario import RoomTone, Step
from pytest_voicebench.validity import blocks_were_late
from tests import stage
from tests.scripted import CLOSE, Scripted, ScriptedLine, sound
from tests.stage import hold

SEARCH = {"destination": "Milan", "date": "2026-06-03"}


def call(call_id="c1", name="search_flights", arguments=None, response_id=None):
    arguments = SEARCH if arguments is None else arguments
    return ToolCall(call_id=call_id, name=name, arguments=arguments, response_id=response_id)


def user_end_s(conversation):
    return to_seconds(conversation.turns[-1].end_ticks)


# ---- the user's side


def test_every_block_is_20_ms_at_the_agents_rate_silence_included(tmp_path):
    agent = Scripted([(6.0, sound(1.0))], input_hz=16_000)
    conversation = hold(stage.scenario(tmp_path), agent)
    assert {(len(a.samples), a.rate_hz) for a in agent.sent} == {(320, 16_000)}
    assert len(agent.sent) == conversation.duration_ticks // BLOCK_TICKS


def test_the_recorded_user_track_is_what_was_sent(tmp_path):
    agent = Scripted([(6.0, sound(1.0))])
    conversation = hold(stage.scenario(tmp_path, tone=RoomTone(seed=5, level_dbfs=-50)), agent)
    sent = np.concatenate([a.samples for a in agent.sent])
    assert np.array_equal(sent, conversation.recording.user)


@pytest.mark.parametrize("input_hz", [8_000, 16_000, 48_000])
def test_the_recorded_user_track_is_what_was_sent_whatever_rate_the_agent_wants(tmp_path, input_hz):
    agent = Scripted([(6.0, sound(1.0))], input_hz=input_hz)
    conversation = hold(stage.scenario(tmp_path, tone=RoomTone(seed=5, level_dbfs=-50)), agent)
    sent = np.concatenate([a.samples for a in agent.sent])
    expected = resample(Audio(samples=sent, rate_hz=input_hz), RATE_HZ).samples
    assert np.array_equal(conversation.recording.user, expected)


def test_both_tracks_are_as_long_as_the_conversation(tmp_path):
    conversation = hold(stage.scenario(tmp_path), Scripted([(6.0, sound(1.0))]))
    assert len(conversation.recording.user) == len(conversation.recording.agent) == conversation.duration_ticks


def test_the_room_goes_on_after_the_request(tmp_path):
    conversation = hold(stage.scenario(tmp_path, tone=RoomTone(seed=5, level_dbfs=-50)), Scripted([(6.0, sound(1.0))]))
    assert conversation.recording.user[-RATE_HZ:].any()


def test_speech_and_words_come_from_the_timing_file_and_a_pause_stays_inside_the_turn(tmp_path):
    scenario = stage.scenario(tmp_path, stage.say(tmp_path, "long_pause", "reply", 2.6, "filler"))
    turn = hold(scenario, Scripted([])).turns[0]
    assert turn.start_ticks == round(stage.LEAD_S * RATE_HZ)
    assert turn.end_ticks == turn.start_ticks + len(stage.voice()) + round(2.6 * RATE_HZ) + len(stage.voice("filler"))
    assert [w.text for w in turn.words] == ["reply", "filler"]
    assert len(turn.speech) == 2


# ---- endings (design section 6)


def test_it_settles_ten_seconds_after_the_reply(tmp_path):
    conversation = hold(stage.scenario(tmp_path), Scripted([(7.0, sound(1.0))]))
    assert (conversation.ended, conversation.duration_ticks) == ("settled", 18 * RATE_HZ)
    assert not conversation.truncated


def test_a_silent_agent_is_waited_for_thirty_seconds_after_the_request(tmp_path):
    conversation = hold(stage.scenario(tmp_path), Scripted([]))
    assert conversation.ended == "window"
    assert 30.0 <= to_seconds(conversation.duration_ticks) - user_end_s(conversation) < 30.02


def test_speech_before_the_users_end_is_no_reply_and_settles_nothing(tmp_path):
    conversation = hold(stage.scenario(tmp_path), Scripted([(0.5, sound(1.0))]))
    assert conversation.ended == "window"


def test_an_agent_that_speaks_when_the_window_closes_may_finish(tmp_path):
    conversation = hold(stage.scenario(tmp_path), Scripted([(33.0, sound(5.0))]))
    assert conversation.ended == "window"
    assert 38.0 <= to_seconds(conversation.duration_ticks) < 38.4
    assert not conversation.truncated


def test_an_agent_that_never_stops_is_cut_thirty_seconds_later_and_marked(tmp_path):
    conversation = hold(stage.scenario(tmp_path), Scripted([(6.0, sound(200.0))]))
    assert (conversation.ended, conversation.truncated) == ("window", True)
    assert 60.0 <= to_seconds(conversation.duration_ticks) - user_end_s(conversation) < 60.02


def test_a_fixed_window_does_not_settle(tmp_path):
    conversation = hold(stage.scenario(tmp_path, window="fixed"), Scripted([(7.0, sound(1.0))]))
    assert conversation.ended == "window"
    assert to_seconds(conversation.duration_ticks) - user_end_s(conversation) >= 30.0


def test_an_open_call_keeps_the_conversation_open(tmp_path):
    # The response never ends, so the call is never answered.
    conversation = hold(stage.scenario(tmp_path), Scripted([(6.0, sound(1.0)), (7.5, call(response_id="r1"))]))
    assert conversation.ended == "window"


def test_audio_sent_before_the_line_closes_is_still_heard(tmp_path):
    conversation = hold(stage.scenario(tmp_path), Scripted([(6.0, sound(3.0)), (6.1, CLOSE)]))
    assert (conversation.ended, conversation.duration_ticks) == ("line_closed", 9 * RATE_HZ)
    assert conversation.recording.agent[-1] == 3000


def test_a_line_closed_inside_the_request_leaves_audio_undelivered(tmp_path):
    delivery = hold(stage.scenario(tmp_path), Scripted([(1.0, CLOSE)])).delivery
    assert delivery.sent_blocks < delivery.planned_blocks


def test_max_duration_ends_everything(tmp_path):
    conversation = hold(stage.scenario(tmp_path, max_duration_s=3.0), Scripted([(1.0, sound(60))]))
    assert (conversation.ended, conversation.duration_ticks, conversation.truncated) == ("max_duration", 72_000, True)


def test_a_providers_turn_end_ends_nothing(tmp_path):
    conversation = hold(stage.scenario(tmp_path), Scripted([(5.0, TurnEnd(response_id="r")), (9.0, sound(1.0))]))
    assert conversation.duration_ticks == 20 * RATE_HZ


def test_a_recordings_long_silent_tail_does_not_hold_the_conversation(tmp_path):
    scenario = stage.scenario(tmp_path, stage.say(tmp_path, "tail", tail_s=40.0))
    conversation = hold(scenario, Scripted([(7.0, sound(1.0))]))
    assert conversation.duration_ticks == 18 * RATE_HZ


# ---- steps and triggers


def test_the_next_turn_starts_when_the_agent_has_been_silent_for_as_long_as_it_says(tmp_path):
    scenario = stage.scenario(
        tmp_path, stage.say(tmp_path, "one"), stage.say(tmp_path, "two", when=stage.after_agent(0.8))
    )
    conversation = hold(scenario, Scripted([(6.0, sound(2.0)), (16.0, sound(1.0))]))
    assert to_seconds(conversation.turns[1].start_ticks) == pytest.approx(8.8 + stage.LEAD_S)


def test_a_pause_of_the_agent_shorter_than_the_trigger_starts_nothing(tmp_path):
    scenario = stage.scenario(
        tmp_path, stage.say(tmp_path, "one"), stage.say(tmp_path, "two", when=stage.after_agent(0.8))
    )
    conversation = hold(scenario, Scripted([(6.0, sound(2.0)), (8.7, sound(1.0)), (20.0, sound(1.0))]))
    assert to_seconds(conversation.turns[1].start_ticks) == pytest.approx(10.5 + stage.LEAD_S)


def test_what_the_agent_said_during_the_turn_is_no_answer_to_it(tmp_path):
    scenario = stage.scenario(
        tmp_path, stage.say(tmp_path, "one"), stage.say(tmp_path, "two", when=stage.after_agent(0.8))
    )
    conversation = hold(scenario, Scripted([(0.5, sound(0.4)), (9.0, sound(1.0)), (20.0, sound(1.0))]))
    assert to_seconds(conversation.turns[1].start_ticks) == pytest.approx(10.8 + stage.LEAD_S)


def test_a_barge_in_starts_that_long_into_the_reply_and_a_clear_stops_the_agent(tmp_path):
    scenario = stage.scenario(
        tmp_path, stage.say(tmp_path, "one"), stage.say(tmp_path, "stop", when=stage.into_agent(1.5))
    )
    agent = Scripted([(6.0, sound(20.0, "long")), (8.0, PlaybackClear()), (15.0, sound(1.0))])
    conversation = hold(scenario, agent)
    assert to_seconds(conversation.turns[1].start_ticks) == pytest.approx(7.5 + stage.LEAD_S)
    assert agent.cuts == [("long", 2.0)]
    assert [c.heard_ticks for c in conversation.chunks] == [2 * RATE_HZ, RATE_HZ]
    assert not conversation.recording.agent[8 * RATE_HZ : 15 * RATE_HZ].any()


def test_a_backchannel_is_no_turn(tmp_path):
    audio, timing = stage.recording(tmp_path / "mm.flac", ["filler"])
    mm_hm = Step(kind="backchannel", text="mm-hm", audio=audio, timing=timing, trigger=stage.into_agent(1.0))
    conversation = hold(stage.scenario(tmp_path, stage.say(tmp_path, "one"), mm_hm), Scripted([(6.0, sound(5.0))]))
    assert [u.kind for u in conversation.utterances] == ["turn", "backchannel"]
    assert len(conversation.turns) == 1
    assert conversation.duration_ticks == 21 * RATE_HZ


def test_a_trigger_that_never_fires_ends_as_no_response_after_thirty_seconds(tmp_path):
    scenario = stage.scenario(
        tmp_path, stage.say(tmp_path, "one"), stage.say(tmp_path, "two", when=stage.after_agent(0.8))
    )
    conversation = hold(scenario, Scripted([]))
    assert conversation.ended == "no_response"
    assert 30.0 <= to_seconds(conversation.duration_ticks) - user_end_s(conversation) < 30.05
    assert len(conversation.turns) == 1


def test_wait_inject_and_end_happen_in_order(tmp_path):
    scenario = stage.scenario(
        tmp_path,
        stage.say(tmp_path, "one"),
        Step(kind="inject", text="The user is in Paris."),
        Step(kind="wait", seconds=2.0),
        Step(kind="end"),
    )
    agent = Scripted([])
    conversation = hold(scenario, agent)
    assert conversation.ended == "user_ended"
    [(at, text)] = agent.injected
    assert text == "The user is in Paris."
    assert 0 <= at - user_end_s(conversation) <= 0.02
    assert 2.0 <= to_seconds(conversation.duration_ticks) - user_end_s(conversation) <= 2.05


def test_an_insert_is_recorded_as_what_it_is(tmp_path):
    audio, timing = stage.recording(tmp_path / "cough.flac", ["filler"])
    tic = Step(kind="insert", insert="vocal_tic", audio=audio, timing=timing)
    conversation = hold(stage.scenario(tmp_path, stage.say(tmp_path, "one"), tic), Scripted([(9.0, sound(1.0))]))
    assert [u.kind for u in conversation.utterances] == ["turn", "vocal_tic"]


GENERATOR = """
from pathlib import Path
from pytest_voicebench.scenario import Step, Timing, Trigger

def steps(view):
    folder = view.scenario.suite.folder
    timing = Timing(audio_sha256="", rate_hz=24000, speech=((0.3, 2.3),), words=())
    yield Step(kind="say", text="first", audio=folder / "made.flac", timing=timing)
    yield Step(kind="wait", trigger=Trigger(kind="after_agent", seconds=0.5))
    yield Step(kind="say", text=view.agent_texts[-1], audio=folder / "made.flac", timing=timing)

async def async_steps(view):
    import asyncio
    for step in steps(view):
        await asyncio.sleep(1.0)
        yield step

def broken(view):
    yield 1 / 0
"""


def generated(folder, name):
    from dataclasses import replace

    (folder / "shopper.py").write_text(GENERATOR)
    stage.recording(folder / "made.flac", ["reply"])
    return replace(stage.scenario(folder), steps=(), generator=f"shopper:{name}")


def spoken(text, item_id):
    return Transcript(speaker="agent", text=text, item_id=item_id)


@pytest.mark.parametrize(("name", "first_start_s"), [("steps", 0.3), ("async_steps", 1.3)])
def test_steps_can_come_from_a_generator_that_hears_what_the_agent_said(tmp_path, name, first_start_s):
    agent = Scripted(
        [(6.0, sound(1.0, "x")), (6.0, spoken("Where to?", "x")), (14.0, sound(1.0, "y")), (14.0, spoken("Bye", "y"))]
    )
    conversation = hold(generated(tmp_path, name), agent)
    assert [u.text for u in conversation.turns] == ["first", "Where to?"]
    assert to_seconds(conversation.turns[0].start_ticks) == first_start_s


def test_a_broken_generator_is_the_suites_fault(tmp_path):
    conversation = hold(generated(tmp_path, "broken"), Scripted([]))
    assert [p.kind for p in conversation.problems] == ["suite"]
    assert "ZeroDivisionError" in conversation.problems[0].message


# ---- calls


def test_a_call_is_answered_at_once_and_recorded_with_its_times(tmp_path):
    agent = Scripted([(5.0, call()), (6.0, sound(1.0))])
    [made] = hold(stage.scenario(tmp_path), agent).calls
    assert (made.status, made.at_ticks, made.finished_ticks, made.answered_ticks) == ("executed", *[5 * RATE_HZ] * 3)
    assert made.result == {"flights": [{"flight_id": "FL123", "destination": "Milan"}]}
    [(at, [result])] = agent.answers
    assert (at, result.call_id, result.is_error) == (5.0, "c1", False)


def test_calls_of_one_response_are_answered_together_when_it_ends(tmp_path):
    agent = Scripted(
        [
            (5.0, call("c1", response_id="r")),
            (5.2, call("c2", response_id="r")),
            (5.4, TurnEnd(response_id="r")),
            (6.0, sound(1.0)),
        ]
    )
    conversation = hold(stage.scenario(tmp_path), agent)
    [(at, results)] = agent.answers
    assert (at, [r.call_id for r in results]) == (5.4, ["c1", "c2"])
    assert [to_seconds(c.answered_ticks) for c in conversation.calls] == [5.4, 5.4]
    assert [to_seconds(c.at_ticks) for c in conversation.calls] == [5.0, 5.2]


def test_the_same_call_id_twice_is_one_call(tmp_path):
    agent = Scripted([(5.0, call("c1")), (5.1, call("c1")), (5.2, call("c2")), (6.0, sound(1.0))])
    assert [c.call_id for c in hold(stage.scenario(tmp_path), agent).calls] == ["c1", "c2"]


def test_unknown_tools_broken_arguments_and_schema_errors_are_recorded_as_such(tmp_path):
    agent = Scripted(
        [
            (5.0, call("a", name="delete_account", arguments={})),
            (5.1, call("b", arguments='{"city": "Par')),
            (5.2, call("c", arguments={"destination": 5})),
            (6.0, sound(1.0)),
        ]
    )
    calls = hold(stage.scenario(tmp_path), agent).calls
    assert [c.status for c in calls] == ["rejected", "rejected", "failed"]
    assert calls[1].arguments_text == '{"city": "Par'
    assert all(results[0].is_error for _, results in agent.answers)


def slow_tools(seconds):
    from dataclasses import replace

    return {name: replace(tool, latency_s=seconds) for name, tool in stage.TOOLS.items()}


def test_a_slow_tool_answers_late_and_the_users_blocks_stay_on_time(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "TOOLS", slow_tools(2.0))
    agent = Scripted([(1.0, call()), (6.0, sound(1.0))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert to_seconds(conversation.calls[0].answered_ticks) == 3.0
    assert len(agent.sent) == conversation.duration_ticks // BLOCK_TICKS


def test_a_call_taken_back_before_it_ran_is_cancelled_and_never_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "TOOLS", slow_tools(2.0))
    agent = Scripted([(1.0, call()), (2.0, ToolCancelled(call_ids=("c1",))), (6.0, sound(1.0))])
    [made] = hold(stage.scenario(tmp_path), agent).calls
    assert made.status == "cancelled"
    assert agent.answers == []


def test_a_call_taken_back_after_it_ran_stays_executed(tmp_path):
    agent = Scripted(
        [(1.0, call(response_id="r")), (2.0, ToolCancelled(call_ids=("c1",))), (3.0, TurnEnd(response_id="r"))]
    )
    [made] = hold(stage.scenario(tmp_path), agent).calls
    assert made.status == "executed"
    assert agent.answers == []


def test_a_call_still_running_at_the_end_is_failed_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "TOOLS", slow_tools(100.0))
    [made] = hold(stage.scenario(tmp_path), Scripted([(5.0, call())])).calls
    assert (made.status, made.finished_ticks) == ("failed", None)
    assert "ended before" in made.reason


def test_a_write_tool_changes_the_state_that_is_recorded(tmp_path, monkeypatch):
    from dataclasses import replace

    (tmp_path / "mock.py").write_text(
        "def book(arguments, state):\n    state['booked'] = arguments['flight_id']\n    return {}\n"
    )
    book = replace(stage.TOOLS["book_flight"], returns=None, answer="mock:book")
    monkeypatch.setattr(stage, "TOOLS", {**stage.TOOLS, "book_flight": book})
    agent = Scripted([(5.0, call(name="book_flight", arguments={"flight_id": "FL1"})), (6.0, sound(1.0))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert conversation.state == {"booked": "FL1"}
    assert conversation.state_sha256_before != conversation.state_sha256_after


# ---- texts


def test_texts_of_one_item_are_put_together_and_keep_the_time_of_the_first(tmp_path):
    agent = Scripted(
        [
            (6.0, sound(1.0, "x")),
            (6.0, Transcript(speaker="agent", text="Your", item_id="x", delta=True)),
            (6.5, Transcript(speaker="agent", text=" flight", item_id="x", delta=True)),
            (7.0, Transcript(speaker="user", text="to Milan", item_id="u")),
        ]
    )
    first, second = hold(stage.scenario(tmp_path), agent).transcripts
    assert (first.text, to_seconds(first.at_ticks), first.heard_text) == ("Your flight", 6.0, "Your flight")
    assert (second.speaker, second.heard_text) == ("user", None)


def test_the_heard_text_of_a_cut_reply_is_in_proportion_to_what_was_heard(tmp_path):
    agent = Scripted([(6.0, sound(4.0, "x")), (6.0, spoken("one two three four", "x")), (7.0, PlaybackClear())])
    [entry] = hold(stage.scenario(tmp_path), agent).transcripts
    assert (entry.heard_text, entry.estimated, entry.text) == ("one", True, "one two three four")


def test_an_agents_words_lie_where_they_were_played_and_those_nobody_heard_are_left_out(tmp_path):
    words = tuple(
        Word(text=text, start_ticks=to_ticks(a), end_ticks=to_ticks(b))
        for text, a, b in (("one", 0.0, 0.4), ("two", 0.6, 1.0), ("three", 1.0, 1.6), ("four", 2.0, 2.4))
    )
    text = Transcript(speaker="agent", text="one two three four", item_id="x", words=words)
    first, late = sound(0.5, "x"), sound(4.0, "x")  # silence between them: the second piece came late
    agent = Scripted([(6.0, first), (6.0, text), (7.0, late), (8.5, PlaybackClear())])
    [entry] = hold(stage.scenario(tmp_path), agent).transcripts
    assert entry.heard_text == "one two three"
    assert [(w.text, to_seconds(w.start_ticks), to_seconds(w.end_ticks)) for w in entry.words] == [
        ("one", 6.0, 6.4),
        ("two", 7.1, 7.5),
        ("three", 7.5, 8.1),
    ]


def test_usage_is_added_up(tmp_path):
    agent = Scripted([(1.0, Usage(counts={"in": 2, "out": 1})), (2.0, Usage(counts={"in": 3})), (6.0, sound(1.0))])
    assert hold(stage.scenario(tmp_path), agent).usage == {"in": 5, "out": 1}


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 48_000])
def test_agent_audio_at_any_rate_begins_when_it_comes_keeps_its_length_and_has_no_holes(tmp_path, rate_hz):
    script = [(6.0 + n * 0.02, sound(0.02, "x", rate_hz)) for n in range(50)]
    script += [(9.0, TurnEnd(response_id="r")), (10.0, sound(0.5, "y"))]
    conversation = hold(stage.scenario(tmp_path), Scripted(script))
    first = [c for c in conversation.chunks if c.item_id == "x"]
    assert first[0].start_ticks == 6 * RATE_HZ
    assert sum(c.length_ticks for c in first) == RATE_HZ
    assert conversation.chunks[-1].start_ticks == 10 * RATE_HZ
    heard = conversation.recording.agent
    assert heard[6 * RATE_HZ + 240 : 7 * RATE_HZ - 240] == pytest.approx(3000, abs=120)
    assert not heard[7 * RATE_HZ : 10 * RATE_HZ].any()


def test_a_change_of_rate_inside_an_item_keeps_the_speed(tmp_path):
    agent = Scripted([(6.0, sound(1.0, "x", 16_000)), (6.0, sound(1.0, "x", 8_000))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert sum(c.length_ticks for c in conversation.chunks) == 2 * RATE_HZ


def test_settling_waits_ten_seconds_after_a_slow_call_was_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "TOOLS", slow_tools(12.0))
    agent = Scripted([(6.0, sound(1.0)), (7.0, call()), (20.0, sound(1.0, "answer"))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert (conversation.ended, conversation.duration_ticks) == ("settled", 31 * RATE_HZ)


def test_the_end_of_a_talk_over_is_no_reply(tmp_path):
    end_s = user_end_s(hold(stage.scenario(tmp_path), Scripted([])))
    agent = Scripted([(end_s - 1.5, sound(1.53)), (end_s + 11.5, sound(1.0, "answer"))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert len(conversation.chunks) == 2
    assert to_seconds(conversation.duration_ticks) == pytest.approx(end_s + 22.5, abs=0.03)


def test_an_agent_that_talks_on_over_the_users_end_is_taken_to_have_answered(tmp_path):
    end_s = user_end_s(hold(stage.scenario(tmp_path), Scripted([])))
    scenario = stage.scenario(
        tmp_path, stage.say(tmp_path, "turn"), stage.say(tmp_path, "two", when=stage.after_agent())
    )
    conversation = hold(scenario, Scripted([(end_s - 0.5, sound(4.0)), (end_s + 14, sound(1.0))]))
    assert len(conversation.turns) == 2


def test_a_long_answer_is_waited_for_before_the_next_turn(tmp_path):
    scenario = stage.scenario(
        tmp_path, stage.say(tmp_path, "one"), stage.say(tmp_path, "two", when=stage.after_agent())
    )
    conversation = hold(scenario, Scripted([(8.0, sound(28.0)), (45.0, sound(1.0))]))
    assert to_seconds(conversation.turns[1].start_ticks) == pytest.approx(36.8 + stage.LEAD_S)


def test_text_of_sound_that_was_not_heard_yet_is_not_heard(tmp_path):
    words = " ".join(f"w{n}" for n in range(100))
    agent = Scripted([(6.0, sound(200.0, "x")), (6.0, spoken(words, "x")), (6.0, spoken("Milan", "never"))])
    long, silent = hold(stage.scenario(tmp_path), agent).transcripts
    assert long.heard_text.split()[-1] in {"w28", "w29"}
    assert long.estimated
    assert silent.heard_text == ""


def test_the_evidence_is_not_the_agents_to_change(tmp_path):
    arguments = dict(SEARCH)

    class Spoiler(Scripted):
        def connect(self, setup):
            from contextlib import asynccontextmanager

            inner = super().connect(setup)

            @asynccontextmanager
            async def connected():
                async with inner as line:

                    async def answer(results):
                        results[0].result.clear()
                        arguments["destination"] = "Rome"

                    line.answer = answer
                    yield line

            return connected()

    [made] = hold(stage.scenario(tmp_path), Spoiler([(5.0, call(arguments=arguments)), (6.0, sound(1.0))])).calls
    assert made.arguments == SEARCH
    assert made.result["flights"]


def test_results_wait_for_no_call_that_was_taken_back(tmp_path, monkeypatch):
    from dataclasses import replace

    tools = {**stage.TOOLS, "book_flight": replace(stage.TOOLS["book_flight"], latency_s=5.0)}
    monkeypatch.setattr(stage, "TOOLS", tools)
    slow = call("c2", "book_flight", {"flight_id": "FL1"}, "r")
    script = [(1.0, call("c1", response_id="r")), (1.0, slow), (1.1, TurnEnd(response_id="r"))]
    agent = Scripted([*script, (2.0, ToolCancelled(call_ids=("c2",))), (6.0, sound(1.0))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert [(at, [r.call_id for r in results]) for at, results in agent.answers] == [(2.0, ["c1"])]
    assert conversation.ended == "settled"


def test_a_call_made_again_after_it_was_taken_back_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "TOOLS", slow_tools(1.0))
    agent = Scripted([(1.0, call()), (1.5, ToolCancelled(call_ids=("c1",))), (2.0, call()), (6.0, sound(1.0))])
    assert [c.status for c in hold(stage.scenario(tmp_path), agent).calls] == ["cancelled", "executed"]


# ---- what goes wrong


@pytest.mark.parametrize(
    ("agent", "kind", "text"),
    [
        (Scripted([], raises={"connect": AgentAbsent("no key: set ACME_API_KEY")}), "agent_absent", "ACME_API_KEY"),
        (Scripted([], raises={"connect": OSError("refused")}), "agent_absent", "OSError: refused"),
        (Scripted([], raises={"connect": SystemExit(3)}), "agent_absent", "SystemExit: 3"),
        (Scripted([], ready=False), "agent_absent", "Ready within 30 s"),
        (Scripted([(-1, CLOSE)], ready=False), "agent_absent", "before the agent was ready"),
        (Scripted([(-1, Fault(kind="agent", message="no model")), (-1, CLOSE)], ready=False), "agent_absent", "ready"),
        (Scripted([], raises={"connect": TimeoutError("tls")}), "agent_absent", "connect() failed: TimeoutError: tls"),
        (Scripted([], raises={"send": KeyError("x")}), "infrastructure", "send() raised KeyError"),
        (Scripted([], raises={"send": SystemExit(3)}), "infrastructure", "send() raised SystemExit: 3"),
        (Scripted([(1.0, ValueError("bad\nframe"))]), "infrastructure", "receive() raised ValueError: bad frame"),
        (Scripted([(1.0, Fault(kind="infrastructure", message="429"))]), "infrastructure", "429"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_breaks_is_a_problem_of_the_right_kind_and_the_conversation_is_kept(tmp_path, agent, kind, text):
    conversation = hold(stage.scenario(tmp_path), agent)
    assert conversation.ended == "problem"
    assert conversation.problems[-1].kind == kind
    assert text in conversation.problems[-1].message
    assert "\n" not in conversation.problems[-1].message


def test_an_agents_own_fault_is_recorded_and_the_conversation_goes_on(tmp_path):
    agent = Scripted([(1.0, Fault(kind="agent", message="tool planner crashed")), (6.0, sound(1.0))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert conversation.ended == "settled"
    assert [(p.kind, p.at_ticks) for p in conversation.problems] == [("agent", RATE_HZ)]


def test_an_error_while_closing_loses_nothing(tmp_path):
    agent = Scripted([(6.0, sound(1.0))], raises={"close": RuntimeError("late")})
    conversation = hold(stage.scenario(tmp_path), agent)
    assert conversation.ended == "settled"
    assert [p.kind for p in conversation.problems] == ["agent"]


def test_an_inject_that_the_agent_cannot_take_is_raised_as_unsupported(tmp_path):
    agent = Scripted([], raises={"inject": Unsupported("no silent context update")})
    scenario = stage.scenario(tmp_path, stage.say(tmp_path, "one"), Step(kind="inject", text="x"))
    with pytest.raises(Unsupported, match="no silent"):
        hold(scenario, agent)
    assert agent.closed


def test_the_line_is_closed_after_every_conversation(tmp_path):
    for agent in (Scripted([(6.0, sound(1.0))]), Scripted([(1.0, ValueError("x"))])):
        hold(stage.scenario(tmp_path), agent)
        assert agent.closed


def test_an_agent_that_needs_the_network_on_the_virtual_clock_is_told_why_it_cannot_have_it(tmp_path):
    class Networked(Scripted):
        def connect(self, setup):
            return _networked()

    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def _networked():
        import asyncio

        await asyncio.open_connection("127.0.0.1", 9)
        yield

    conversation = hold(stage.scenario(tmp_path), Networked([]))
    assert "clock='wall'" in conversation.problems[0].message


def test_the_agent_is_told_tools_and_date_and_never_the_scenario(tmp_path):
    agent = Scripted([(6.0, sound(1.0))])
    hold(stage.scenario(tmp_path), agent)
    assert {t.name for t in agent.setup.tools} == {"search_flights", "book_flight"}
    assert not {"steps", "expect", "scenario", "retracted"} & set(agent.setup.__slots__)


def test_two_runs_of_the_same_conversation_are_equal_to_the_last_sample(tmp_path):
    def once():
        return hold(
            stage.scenario(tmp_path, tone=RoomTone(seed=1, level_dbfs=-48)),
            Scripted([(5.0, call()), (6.03, sound(1.37))], input_hz=16_000),
        )

    first, second = once(), once()
    assert first == second
    assert np.array_equal(first.recording.user, second.recording.user)
    assert np.array_equal(first.recording.agent, second.recording.agent)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("send", "send() is stuck: it took no audio for 15 s"),
        ("answer", "answer() raised TimeoutError: took no result within 20 s"),
    ],
)
def test_an_agent_that_takes_no_more_audio_or_results_is_given_up(tmp_path, monkeypatch, method, message):
    import asyncio

    from tests.scripted import ScriptedLine

    async def never(*_):
        await asyncio.Event().wait()

    monkeypatch.setattr(ScriptedLine, method, never)
    script = [] if method == "send" else [(5.0, call()), (6.0, sound(1.0))]
    conversation = hold(stage.scenario(tmp_path), Scripted(script))
    assert conversation.ended == "problem"
    assert [p.kind for p in conversation.problems] == ["infrastructure"]
    assert message in conversation.problems[0].message


def test_an_agent_that_cannot_be_cancelled_does_not_hold_up_the_end(tmp_path, monkeypatch):
    import asyncio

    from tests.scripted import ScriptedLine

    async def deaf_to_cancelling(self, _text):
        while self.loop.time() < 3600:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                continue

    monkeypatch.setattr(ScriptedLine, "inject", deaf_to_cancelling)
    scenario = stage.scenario(tmp_path, stage.say(tmp_path, "one"), Step(kind="inject", text="x"))
    assert hold(scenario, Scripted([(6.0, sound(1.0))])).ended == "settled"


def test_a_recording_made_at_run_time_that_cannot_be_played_is_the_suites_fault(tmp_path):
    scenario = generated(tmp_path, "steps")
    (tmp_path / "made.flac").write_bytes(b"noise")
    conversation = hold(scenario, Scripted([]))
    assert (conversation.ended, [p.kind for p in conversation.problems]) == ("problem", ["suite"])
    assert "not a sound file we can read" in conversation.problems[0].message


class SlowToLeave(Scripted):
    @asynccontextmanager
    async def connect(self, setup):
        yield ScriptedLine(self)
        await asyncio.sleep(8.0)


@pytest.mark.parametrize(("own_s", "problems"), [(None, 1), (10.0, 0)])
def test_an_agent_may_say_how_long_it_takes_to_hang_up(tmp_path, own_s, problems):
    agent = SlowToLeave([(5.0, sound(1.0))])
    if own_s is not None:
        agent.close_timeout_s = own_s
    assert len(hold(stage.scenario(tmp_path), agent).problems) == problems


def test_what_a_line_learns_of_usage_while_it_closes_is_added_and_what_is_no_count_is_not(tmp_path):
    class Counting(Scripted):
        @asynccontextmanager
        async def connect(self, setup):
            line = ScriptedLine(self)
            yield line
            line.closing_usage = {"seconds": 1.5, "odd": "many", "nan": float("nan"), 4: 4}

    talk = hold(stage.scenario(tmp_path), Counting([(6.0, Usage(counts={"seconds": 2.0, "tokens": 7}))]))
    assert talk.usage == {"seconds": 3.5, "tokens": 7.0}


def test_a_block_that_waited_in_send_left_as_late_as_send_was_over(tmp_path):
    """As where a session moves to another connection: the last word may be in the very block that waited."""

    class Moves(Scripted):
        @asynccontextmanager
        async def connect(self, setup):
            yield MovingLine(self)

    class MovingLine(ScriptedLine):
        async def send(self, audio):
            await super().send(audio)
            if len(self.agent.sent) == 100:
                await asyncio.sleep(0.11)

    talk = hold(stage.scenario(tmp_path), Moves([(6.0, sound(1.0))]))
    assert talk.delivery.late_max_s == pytest.approx(0.11)
    assert blocks_were_late(talk)
