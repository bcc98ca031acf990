"""Whether a conversation measured what it meant to."""

from __future__ import annotations

from typing import Any

import pytest
from builders import call, conversation, expected, scenario, turn

from pytest_voicebench.conversation import Conversation, Delivery
from pytest_voicebench.scenario import Scenario, Step, Trigger
from pytest_voicebench.validity import answers_were_late, blocks_were_late, measurement_problems

PING = scenario(expected("ping"))
BARGE_IN = scenario(
    steps=(Step(kind="say", text="a"), Step(kind="say", text="b", trigger=Trigger(kind="into_agent", seconds=1.5)))
)


def messages(wanted: Scenario, talk: Conversation) -> list[str]:
    found = measurement_problems(wanted, talk)
    assert all(p.kind == "invalid_measurement" for p in found)
    return [p.message for p in found]


def test_a_sound_conversation_has_no_problems() -> None:
    sound = conversation(call("ping"), delivery=Delivery(planned_blocks=500, sent_blocks=500, late_p99_s=0.002))
    assert messages(PING, sound) == []


def test_undelivered_audio_is_no_measurement_whoever_hung_up() -> None:
    short = Delivery(planned_blocks=500, sent_blocks=499)
    assert messages(PING, conversation(delivery=short)) == ["only 499 of 500 blocks of the user's audio were delivered"]
    assert len(messages(PING, conversation(delivery=short, ended="line_closed"))) == 1


@pytest.mark.parametrize(
    ("speech", "met"),
    [([(12.0, 15.0)], True), ([(12.0, 13.4)], False), ([(13.5, 15.0)], False), ([], False), ([(13.0, 13.51)], True)],
)
def test_a_barge_in_must_meet_speech(speech: Any, met: bool) -> None:
    """The user barges in at 13.5 s."""
    talk = conversation(turns=[turn(1.0, 10.0), turn(13.5, 16.0, step=1)], speech=speech)
    expected_messages = [] if met else ["the barge-in of step 1 at 13.50 s met no speech of the agent"]
    assert messages(BARGE_IN, talk) == expected_messages


def test_a_recording_that_we_cut_before_a_reply_is_no_measurement() -> None:
    cut = {"ended": "max_duration", "speech": []}
    assert messages(PING, conversation(duration_s=14.0, **cut)) == [
        "the conversation reached max_duration_s 4.0 s after the user's end, before a reply"
    ]
    assert messages(PING, conversation(duration_s=20.0, **cut)) == []
    assert messages(PING, conversation(duration_s=14.0, ended="max_duration")) == []  # it was answered


@pytest.mark.parametrize(
    ("at_s", "foreign"), [(-3.2, True), (1.8e9, True), (-0.5, False), (100.0, False), (100.1, True)]
)
def test_calls_outside_the_conversation_were_timed_by_another_clock(at_s: float, foreign: bool) -> None:
    """E12."""
    assert bool(messages(PING, conversation(call("ping", at_s, answered_s=None)))) is foreign


def test_undetected_speech_is_no_measurement() -> None:
    assert messages(BARGE_IN, conversation(speech=None)) == ["the agent's speech was never detected"]


@pytest.mark.parametrize(
    ("late_s", "late"), [(None, False), (0.0, False), (0.020, False), (0.0201, True), (0.18, True)]
)
def test_blocks_are_late_above_twenty_milliseconds(late_s: float | None, late: bool) -> None:
    """E13."""
    talk = conversation(delivery=Delivery(planned_blocks=1, sent_blocks=1, late_p99_s=late_s))
    assert blocks_were_late(talk) is late


@pytest.mark.parametrize(
    ("late_s", "late"), [(None, False), (0.020, False), (0.100, False), (0.1001, True), (3.0, True)]
)
def test_one_block_that_was_a_tenth_of_a_second_late_is_enough(late_s: float | None, late: bool) -> None:
    """A stall of half a second in a minute is no hundredth of the blocks, and may be all of a first response."""
    talk = conversation(delivery=Delivery(planned_blocks=1, sent_blocks=1, late_p99_s=0.0, late_max_s=late_s))
    assert blocks_were_late(talk) is late


@pytest.mark.parametrize(
    ("late_s", "late"), [(None, False), (0.020, False), (0.100, False), (0.1001, True), (3.0, True)]
)
def test_answers_are_late_above_a_tenth_of_a_second_however_many_messages_were_not(
    late_s: float | None, late: bool
) -> None:
    delivery = Delivery(planned_blocks=1, sent_blocks=1, read_late_p99_s=9.9, answer_late_max_s=late_s)
    assert answers_were_late(conversation(delivery=delivery)) is late
