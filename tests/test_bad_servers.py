"""Every hosted agent with every fault of a server: one line of the right kind, what was recorded, no secret, no rest.

A row holds two conversations with one agent. In the first one the server does one thing wrong; the second one must go
well. Both run through the engine, on a loop whose clock jumps where nothing is ready: what is asserted is order and
content, and a row that hangs runs into its deadline.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import EndReason
from tests.bad_stage import ADDRESSES, HTTP, KEY, TOKEN, VARIABLES, Row, held, vanished
from tests.servers.tls import new_certificate

SPOKEN_FAULT_S = 1.0
"""What happens in a conversation happens later than this, so that there is evidence to lose."""


@dataclass(frozen=True)
class Told:
    """What is to come of a fault: the kind of the first problem (None: none) and words of it, and how the talk ends."""

    kind: str | None = None
    words: str = ""
    ended: EndReason = "settled"
    calls: tuple[tuple[str, str], ...] = ()


def absent(words: str) -> Told:
    return Told("agent_absent", words, "problem")


def broken(words: str) -> Told:
    return Told("infrastructure", words, "problem")


def called(*calls: tuple[str, str]) -> Told:
    return Told(calls=calls)


OVER_WEBSOCKET = {
    "none": Told(),
    "ipv6": Told(),
    "refused": absent("nobody listens there (HTTPS_PROXY is set, and not used"),
    "dns": absent("the name of the host is not known"),
    "self_signed": absent("TLS failed: self-signed certificate"),
    "no_tls": absent("TLS failed: what answers there speaks no TLS"),
    "status_401": absent("HTTP 401, "),
    "status_429": absent("HTTP 429, too many sessions or requests, or no quota left"),
    "status_500": absent("HTTP 500, the server failed"),
    "never_greets": absent(" within "),
    "tcp_silent": absent("no connection within 10 s"),
    "tcp_garbage": absent("no WebSocket there"),
    "tcp_closes": absent("no WebSocket there"),
    "close_1001": broken("the server closed the connection (1001 oh "),
    "close_1006": broken("the connection broke off without a closing frame (1006)"),
    "close_1011": broken("the server closed the connection (1011 oh "),
    "garbage": broken("the server sent what is not a JSON object: '{garbage "),
    "nested": broken("the server sent what is not a JSON object: '[["),
    "binary": broken("the server sent a binary frame of 101 bytes where JSON is due"),
    "text": broken("the server sent what is not a JSON object: 'neither JSON nor sound: "),
    "broken_frame": broken("the server broke the WebSocket protocol (1002 invalid opcode)"),
    "huge": broken("the server sent a message of more than 16 MiB (1009)"),
    "disorder": Told(),
    "stray_sound": Told(),
    "odd_sound": Told(),
    "no_sound": broken("the audio is not base64"),
    "endless": Told(ended="max_duration"),
    "unknown_tool": called(("cancel_everything", "rejected")),
    "no_arguments": called(("search_flights", "rejected")),
    "same_id": called(("search_flights", "executed"), ("search_flights", "executed")),
    "same_call": called(("search_flights", "executed")),
    "limit": broken(""),
    "no_answer": Told(ended="max_duration"),
    "deaf": broken("the agent's send() is stuck: it took no audio for 15 s"),
}
OVER_HTTP = {
    **{fault: OVER_WEBSOCKET[fault] for fault in ("none", "ipv6", "refused", "dns", "self_signed", "no_tls")},
    **{fault: OVER_WEBSOCKET[fault] for fault in ("status_401", "status_429", "status_500", "disorder", "odd_sound")},
    **{fault: OVER_WEBSOCKET[fault] for fault in ("endless", "unknown_tool", "no_arguments", "same_id")},
    "tcp_silent": absent("nothing came for 4 s"),
    "tcp_garbage": absent("the connection broke off before the end of the answer"),
    "tcp_closes": absent("the connection broke off before the end of the answer"),
    "status_500_late": broken("HTTP 500, the server failed (Too much for ***.)"),
    "error_500": broken("an error in the middle of the answer: It broke for ***."),
    "close_1006": broken("the connection broke off before the end of the answer"),
    "garbage": broken("the answer cannot be read"),
    "binary": broken("the answer cannot be read"),
    "text": broken("application/json; charset=utf-8 came where PCM is due"),
    "huge": broken("more than 240 s of sound for one "),
    "huge_text": broken("an answer of more than 16 MiB"),
    "no_sound": broken("the audio is not base64"),
    "same_call": OVER_WEBSOCKET["same_id"],  # some services give all calls one id: those of one message are told apart
    "limit": broken("HTTP 429, too many sessions or requests, or no quota left (Too much for ***.)"),
    "no_answer": broken("nothing came for 4 s"),
}
ENDED_WELL = Told(ended="line_closed")
IGNORED = "such messages are ignored"

OTHERWISE: dict[tuple[str, str], Told] = {  # what a protocol, or the design, has otherwise
    ("gemini-live-2.5", "binary"): broken("the server sent what is not a JSON object"),  # its JSON comes in bytes
    ("ultravox", "binary"): Told(),  # is sound
    ("ultravox", "tcp_silent"): absent("nothing came for 10 s"),
    ("ultravox", "tcp_garbage"): OVER_HTTP["tcp_garbage"],
    ("ultravox", "tcp_closes"): OVER_HTTP["tcp_closes"],
    ("ultravox", "limit"): ENDED_WELL,  # says nothing but that the call is over
    ("moshi", "binary"): Told(),  # a kind of frame that nobody knows
    ("moshi", "no_sound"): broken("the sound is no Ogg/Opus stream"),
    ("twilio", "never_greets"): Told(ended="max_duration"),  # an agent on the telephone need not say anything
    ("twilio", "limit"): ENDED_WELL,  # hangs up
    ("twilio", "disorder"): Told("agent", f"a media message has not the streamSid of this stream: {IGNORED}"),
    ("twilio", "no_sound"): Told("agent", f"the payload of a media message is not base64: {IGNORED}"),
    ("twilio voice_url", "tcp_silent"): absent("nothing came for 15 s"),
    ("twilio voice_url", "tcp_garbage"): OVER_HTTP["tcp_garbage"],
    ("twilio voice_url", "tcp_closes"): OVER_HTTP["tcp_closes"],
    ("audio_chat", "disorder"): broken("no sound came for 'All done.'"),  # words without sound, after the end
}
CALLS = {"unknown_tool", "no_arguments", "same_id", "same_call"}
INJECTS = ("gpt-realtime", "grok", "gpt-live", "gemini-live-2.5", "ultravox", "nemotron-voicechat")
MISSING = {  # what a protocol has no way to do
    **dict.fromkeys(("minicpm-o map", "moshi", "twilio"), CALLS),
    "ultravox": {"no_sound"},
    "cascaded": {"no_sound"},
    "audio_chat": {"text", "huge_text"},
    "audio_chat speech": {"huge_text", "no_sound"},
}
SAME = {  # agents that share a part with another one: what is tried with them is the rest
    "twilio voice_url": {*list(OVER_WEBSOCKET)[:13], "close_1011", "garbage"} - {"never_greets"},
    "audio_chat speech": {"none", "text", "huge", "odd_sound", "endless", "close_1006", "same_id"},
}


def faults_of(name: str) -> list[str]:
    faults = OVER_HTTP if name in HTTP else OVER_WEBSOCKET
    wanted = SAME.get(name, set(faults)) - MISSING.get(name, set())
    return [fault for fault in faults if fault in wanted and (fault != "deaf" or name in INJECTS)]


def told_of(name: str, fault: str) -> Told:
    return OTHERWISE.get((name, fault)) or (OVER_HTTP if name in HTTP else OVER_WEBSOCKET)[fault]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return new_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(autouse=True)
def planted(monkeypatch):
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name in ADDRESSES for fault in faults_of(name)])
def test_a_fault_of_a_server_is_told_and_the_next_item_runs(name, fault, tmp_path, certificate):
    if name == "moshi":
        pytest.importorskip("sphn")
    row, told = held(name, fault, tmp_path, certificate), told_of(name, fault)
    assert row.left == []
    check_first(row, told)
    check_evidence(row, told)
    check_secrets(row)
    assert (row.good.ended, row.good.problems, bool(row.good.chunks)) == ("settled", (), True)


@pytest.mark.parametrize("name", [name for name in ADDRESSES if name not in SAME])
def test_a_server_that_vanishes_between_two_items_is_absent_in_the_second(name, tmp_path):
    if name == "moshi":
        pytest.importorskip("sphn")
    first, second = vanished(name, tmp_path)
    assert (first.ended, first.problems) == ("settled", ())
    ((kind, message),) = [(p.kind, p.message) for p in second.problems]
    assert (kind, "nobody listens there" in message) == ("agent_absent", True)


def check_first(row: Row, told: Told) -> None:
    """The problem, in one line; the calls; the end."""
    assert row.bad.ended == told.ended
    assert [(c.name, c.status) for c in row.bad.calls] == list(told.calls)
    assert bool(row.told) == (told.kind is not None), row.told
    assert len(row.told) <= (2 if told == OVER_WEBSOCKET["limit"] else 1)  # where it hangs up as well
    if row.told:
        kind, message = row.told[0]
        assert kind == told.kind
        assert told.words in message
        assert len(message) < 600
    assert all(message.isprintable() for _, message in row.told)
    if told.kind == "agent_absent":  # then nothing else says where
        assert "127.0.0.1:" in row.told[0][1] or "no-such-host.invalid/" in row.told[0][1]


def check_evidence(row: Row, told: Told) -> None:
    """What was said and sent until then is kept, and the events tell how it ended."""
    assert row.bad.wire_events
    assert all(json.loads(line) for line in row.bad.wire_events)
    assert len(row.bad.recording.user) == len(row.bad.recording.agent) == row.bad.duration_ticks
    if told.kind == "agent_absent":
        assert row.bad.duration_ticks == 0
        assert any(row.told[0][1].split(": ", 1)[-1][:40] in line for line in row.bad.wire_events)
    else:
        assert row.bad.duration_ticks > SPOKEN_FAULT_S * RATE_HZ
        assert row.bad.delivery.sent_blocks > 0
    if told.ended == "max_duration" and row.bad.chunks:
        assert row.bad.truncated


def check_secrets(row: Row) -> None:
    """No part of a key of the environment or of an address is shown, whoever repeats it."""
    shown = row.shown()
    for secret in (KEY, TOKEN):
        assert secret[:12] not in shown
