"""events.jsonl: every event with its time, no audio, no key."""

from __future__ import annotations

import json
import re

import pytest

from pytest_voicebench.agents import wire_log
from pytest_voicebench.agents.audio_frame import AUDIO, AudioFrame
from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.wire_log import WireLog


class Times:
    """A clock that moves on by a tenth each time it is asked."""

    def __init__(self) -> None:
        self.at_s = 9.9

    def __call__(self) -> float:
        self.at_s += 0.1
        return self.at_s


def rows(log, zero_s=10.0):
    return [json.loads(line) for line in log.lines(zero_s)]


def test_times_count_from_the_first_block_and_from_the_first_row_where_none_left():
    log = WireLog(Times())
    log.note("connected")
    log.received({"type": "hello"})
    assert [r["at_s"] for r in rows(log, 10.05)] == [-0.05, 0.05]
    assert [r["at_s"] for r in rows(log, None)] == [0.0, 0.1]
    assert WireLog(Times()).lines(None) == ()


def test_audio_is_its_length_and_equal_blocks_in_a_row_are_one_row():
    log = WireLog(Times())
    for _ in range(3):
        log.sent({"type": "input_audio_buffer.append", "audio": "AAAA"})
    log.received({"type": "response.audio.delta", "delta": "BBBBBB"})
    log.received({"type": "response.audio_transcript.delta", "delta": "Hello"})
    log.received({"media": {"payload": "A" * 400}})
    log.sent({"audio_url": {"url": f"data:audio/wav;base64,{'A' * 378}"}})
    first, *others = rows(log)
    assert first == {
        "at_s": 0.0,
        "way": "sent",
        "times": 3,
        "until_s": 0.2,
        "event": {"type": "input_audio_buffer.append", "audio": "<4 characters>"},
    }
    shown = [r["event"] for r in others]
    assert [e.get("delta") for e in shown] == ["<6 characters>", "Hello", None, None]
    assert shown[2:] == [{"media": {"payload": "<400 characters>"}}, {"audio_url": {"url": "<400 characters>"}}]


def test_keys_do_not_get_in_neither_by_value_nor_by_name():
    log = WireLog(Times())
    log.hide(Secret("sk-planted", "A_KEY"))
    log.hide(None)
    log.received({"error": {"message": "bad key sk-planted"}, "session": {"client_secret": {"value": "ek_1"}}})
    assert rows(log)[0]["event"] == {"error": {"message": "bad key ***"}, "session": {"client_secret": "***"}}


@pytest.mark.parametrize("value", ['pass"word\\1', "pässwörter", "sk-plain-1"])
def test_a_secret_that_json_writes_in_another_way_does_not_get_in_either(value):
    log = WireLog(Times())
    log.hide(Secret(value, "parameter_password"))
    log.sent({"customParameters": {"password": value}, "told": f"no {value}!"})
    log.note(f"said {value}")
    sent, note = rows(log)
    assert sent["event"] == {"customParameters": {"password": "***"}, "told": "no ***!"}
    assert note["event"] == "said ***"


def test_a_server_that_never_stops_fills_no_memory(monkeypatch):
    monkeypatch.setattr(wire_log, "MOST_CHARACTERS", 100)
    log = WireLog(Times())
    for number in range(50):
        log.received({"n": number, "long": "words and words"})
    assert len(rows(log)) < 6
    assert rows(log)[-1]["event"].startswith("the log is full")
    log = WireLog(Times())
    log.received({"text": "words " * 20_000})
    assert len(log.lines(0.0)[0]) < 400


def test_events_that_only_look_alike_are_rows_of_their_own():
    """What is compared without being shown must not hide a difference."""
    log = WireLog(Times())
    again = {"type": "note", "text": "one"}
    log.sent(again)
    again["text"] = "two"
    for event in (again, {"type": "note", "text": "six"}, {"n": 1}, {"n": True}, {"n": 1.0}, {"n": [1]}, {"n": [2]}):
        log.sent(event)
    log.sent({"data": "A" * 200})
    log.sent({"data": "B" * 199 + " "})
    shown = [json.dumps(row["event"]) for row in rows(log)]
    assert len(shown) == 10
    assert shown[1:3] == ['{"type": "note", "text": "two"}', '{"type": "note", "text": "six"}']
    assert all("times" not in row for row in rows(log))


def test_audio_of_one_length_is_one_row_wherever_it_lies():
    log = WireLog(Times())
    for letter in "ABC":
        log.sent({"realtimeInput": {"audio": {"data": letter * 200, "mimeType": "audio/pcm"}}})
    (row,) = rows(log)
    assert row["times"] == 3
    assert row["event"]["realtimeInput"]["audio"] == {"data": "<200 characters>", "mimeType": "audio/pcm"}


def test_a_frame_of_audio_is_sent_and_logged_as_the_event_it_stands_for():
    frame = AudioFrame({"type": "append", "audio": AUDIO, "rate": 24000})
    assert json.loads(frame.filled("QUJD")) == {"type": "append", "audio": "QUJD", "rate": 24000}
    one, other = WireLog(Times()), WireLog(Times())
    for _ in range(2):
        one.sent_as(frame.shown(4))
        other.sent({"type": "append", "audio": "QUJD", "rate": 24000})
    assert one.lines(None) == other.lines(None)


def test_audio_is_known_by_its_name_and_by_what_it_belongs_to(monkeypatch):
    """Looking through 13,000 characters to see that they are base64 takes 0.04 ms, for each piece of each voice."""
    monkeypatch.setattr(wire_log, "_BASE64", re.compile("(?!)"))  # finds nothing
    log = WireLog(Times())
    for letter in "AB":
        log.received({"type": "response.output_audio.delta", "delta": letter * 200})
    for letter in "AB":
        log.received({"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": letter * 200}}]})
    assert [row["times"] for row in rows(log)] == [2, 2]


def test_an_event_that_was_read_later_has_the_time_at_which_it_came():
    log = WireLog(Times())
    log.note("connected")
    log.sent({"type": "append"})
    for at_s in (10.05, 10.07):
        log.received({"type": "hello"}, at_s)
    assert [(row["way"], row["at_s"], row.get("until_s")) for row in rows(log)] == [
        ("note", 0.0, None),
        ("received", 0.05, 0.07),
        ("sent", 0.1, None),
    ]
