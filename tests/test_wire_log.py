"""events.jsonl: every event with its time, no audio, no key."""

from __future__ import annotations

import json

from pytest_voicebench.agents import wire_log
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
