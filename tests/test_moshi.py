"""The Moshi adapters: frames in small tables, and whole conversations over the wire with a double and its faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import pytest
import stage
from hypothesis import given
from hypothesis import strategies as st
from patience import patiently

sphn = pytest.importorskip("sphn")

from pytest_voicebench.agents.checks import event_flaw  # noqa: E402
from pytest_voicebench.agents.moshi import Moshi, PersonaPlex  # noqa: E402
from pytest_voicebench.agents.moshi.codec import FRAME, Decoder, Encoder  # noqa: E402
from pytest_voicebench.agents.moshi.state import StreamState, is_loud  # noqa: E402
from pytest_voicebench.agents.naming import AgentNameError, build_agent, check_hosted, parse_agent  # noqa: E402
from pytest_voicebench.agents.protocol import Fault, Setup, Transcript, Unsupported  # noqa: E402
from pytest_voicebench.agents.reading import NotAudio  # noqa: E402
from pytest_voicebench.agents.refusals import Unreachable  # noqa: E402
from pytest_voicebench.audio import RATE_HZ  # noqa: E402
from pytest_voicebench.conversation import Conversation  # noqa: E402
from pytest_voicebench.duplex import converse  # noqa: E402
from tests.servers.moshi_server import MoshiDouble, MoshiScript, listen, moshi_server  # noqa: E402
from tests.servers.openai_script import Say, recite, tone  # noqa: E402

DEADLINE_S = 60.0
LOUD, QUIET = np.full(FRAME, 3000, np.int16), np.full(FRAME, 3, np.int16)


class Given:
    """Reads a frame as one of two sounds."""

    def read(self, data):
        if data == b"bad":
            raise NotAudio("the sound is no Ogg/Opus stream: bad")
        return {b"loud": LOUD, b"quiet": QUIET}.get(data, np.zeros(0, np.int16))


VOICE, HUSH = b"\1loud", b"\1quiet"


def word(text):
    return b"\2" + text.encode()


def told(*frames):
    state = StreamState(Given())
    return [event for frame in frames for event in state.take(frame)]


@pytest.mark.parametrize(
    ("frames", "items"),
    [
        ([HUSH] * 5, []),
        ([HUSH, VOICE, VOICE, HUSH], [1, 1, 1]),
        ([VOICE, *[HUSH] * 3, VOICE], [1] * 5),
        ([VOICE, *[HUSH] * 10, VOICE], [1] * 5),
        ([VOICE, *[HUSH] * 13, VOICE], [1] * 4 + [2]),
        ([word("a"), *[HUSH] * 2, VOICE], [1] * 4),
        ([VOICE, *[HUSH] * 20, word("b"), VOICE], [1] * 4 + [2, 2]),
        ([VOICE, *[HUSH] * 11, word("b"), *[HUSH] * 5, VOICE], [1] * 9),
    ],
    ids=["silence", "speech", "short pause", "pause", "long pause", "text first", "next text", "text in a pause"],
)
def test_speech_and_text_between_long_silences_are_one_reply_and_silence_is_none(frames, items):
    assert [e.item_id for e in told(*frames)] == [f"reply_{n}" for n in items]


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (word(" Hi"), [Transcript(speaker="agent", text=" Hi", item_id="reply_1", delta=True)]),
        (b"\2\xff", [Transcript(speaker="agent", text="\ufffd", item_id="reply_1", delta=True)]),
        (b"\5 no\nmore ", [Fault(kind="infrastructure", message="the server tells an error: no more")]),
        (b"\5", [Fault(kind="infrastructure", message="the server tells an error: no reason given")]),
        (b"\1bad", [Fault(kind="infrastructure", message="the sound is no Ogg/Opus stream: bad")]),
        *[(frame, []) for frame in (b"", b"\0", b"\1", b"\2", b"\2\0", b"\2\3", b"\3\1", b"\4{}", b"\6", b"\x63")],
    ],
)
def test_a_frame_is_read_by_its_first_byte(frame, found):
    assert told(frame) == found


@pytest.mark.parametrize(
    ("level", "at", "length", "loud"),
    [(60, 0, 120, True), (60, FRAME - 120, 120, True), (90, 60, 120, True), (57, 0, FRAME, False), (60, 0, 60, False)],
)
def test_five_loud_milliseconds_make_a_frame_loud(level, at, length, loud):
    samples = np.zeros(FRAME, np.int16)
    samples[at : at + length] = level
    assert is_loud(samples) == loud
    assert is_loud(np.full(7, level, np.int16)) == (level >= 60)


def test_a_stream_comes_back_as_it_was_in_frames_of_80_ms():
    encoder, decoder, sound = Encoder(), Decoder(), tone(2.0)
    pieces = [p for start in range(0, len(sound), 480) for p in encoder.feed(sound[start : start + 480])]
    assert len(pieces) == 25
    assert pieces[0].startswith(b"OggS")
    back = np.concatenate([decoder.read(piece) for piece in pieces])
    assert len(back) == len(sound)
    assert abs(20 * np.log10(np.std(back[4800:]) / np.std(sound[4800:]))) < 0.5


def test_what_is_no_stream_is_told_and_so_is_all_after_it():
    decoder = Decoder()
    for data in (b"garbage" * 20, Encoder().feed(LOUD)[0]):
        with pytest.raises(NotAudio, match="the sound is no Ogg/Opus stream: unexpected ogg capture pattern"):
            decoder.read(data)


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_whatever_comes_is_read_without_an_exception(frames):
    state = StreamState(Decoder())
    for frame in frames:
        assert all(event_flaw(event) is None for event in state.take(frame))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the double, its agent, what the user says."""

    script: MoshiScript = field(default_factory=MoshiScript)
    turns: Sequence[Sequence[Any]] = ((Say(1.2, "Here it is."),),)
    steps: Sequence[tuple] = (("turn",),)
    agent: type = Moshi
    suite: dict[str, Any] = field(default_factory=dict)


def case(*, turns: Any = None, steps: Any = None, suite: Any = None, agent: type = Moshi, **script: Any) -> Case:
    """A case by its script."""
    more = {"turns": turns, "steps": steps, "suite": suite}
    return Case(script=MoshiScript(**script), agent=agent, **{k: v for k, v in more.items() if v is not None})


CASES = {
    "whole": case(),
    "personaplex": case(agent=PersonaPlex),
    "rust": case(greeting=b"\0\1\0\0\0\2\0\0\0"),
    "padding": case(padding=True),
    "two_turns": case(
        turns=((Say(0.8, "One."),), (Say(0.8, "Two."),)), steps=(("turn",), ("then", stage.after_agent()))
    ),
    "barge_in": case(
        turns=((Say(25.0, "one two three four five"),), (Say(0.8, "Sorry."),)),
        steps=(("turn",), ("wait", stage.into_agent(1.0))),
    ),
    "stops": case(stops=True, suite={"max_duration_s": 6.0}),
    "no_handshake": case(greets=False),
    "wrong_handshake": case(greeting=b"\1"),
    "busy": case(status=503),
    "error": case(on_turn=[{"binary": b"\5out of steps"}]),
    "no_opus": case(on_turn=[{"binary": b"\1garbage garbage garbage garbage"}]),
    "text": case(on_turn=[{"raw": "{garbage"}]),
    "drop": case(on_audio=["drop"]),
    "1000": case(on_turn=[{"close": 1000}]),
    "1011": case(on_turn=[{"close": 1011, "reason": "context is full"}]),
}


@dataclass(frozen=True)
class Held:
    """A conversation, and the double's view of it."""

    talk: Conversation
    double: Any

    @property
    def session(self):
        return self.double.sessions[0]

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def texts(self):
        return [(t.speaker, t.text.strip()) for t in self.talk.transcripts]

    def heard_s(self):
        return sum(chunk.heard_ticks for chunk in self.talk.chunks) / RATE_HZ


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations of the table, by name; no load of the machine changes them."""
    return patiently(hold_all(tmp_path_factory))


async def hold_all(folders):
    """Hold them side by side, the doubles in the same loop."""
    doubles, talks = {}, {}
    async with AsyncExitStack() as stack, asyncio.timeout(DEADLINE_S):
        for name, one in CASES.items():
            doubles[name] = MoshiDouble(script=one.script, open_line=recite(*one.turns))
            await stack.enter_async_context(listen(doubles[name]))
            folder = folders.mktemp(name)
            steps = [stage.say(folder, s[0], "filler", when=s[1] if s[1:] else None) for s in one.steps]
            scenario = stage.scenario(folder, *steps, item_id=name, settle_s=1.5, **one.suite)
            limit = {"handshake_s": 2.0} if "handshake" in name else {}
            talks[name] = asyncio.create_task(converse(scenario, one.agent(url=doubles[name].url, **limit)))
        return {name: Held(await talk, doubles[name]) for name, talk in talks.items()}


@pytest.mark.parametrize("name", ["whole", "personaplex", "rust", "padding"])
def test_a_whole_conversation_is_held_and_calls_nothing(held, name):
    talk = held[name].talk
    assert held[name].told() == []
    assert talk.ended == "settled"
    assert (talk.calls, talk.usage, talk.clears_ticks) == ((), {}, ())
    assert held[name].texts() == [("agent", "Here it is.")]
    assert talk.transcripts[0].heard_text == talk.transcripts[0].text
    assert 1.2 <= held[name].heard_s() <= 1.2 + 0.3 + 2 * 0.08


def test_the_users_stream_is_continuous_and_every_full_frame_of_it_arrives(held):
    one = held["whole"]
    blocks = one.talk.duration_ticks // 480
    assert one.talk.delivery.sent_blocks == one.talk.delivery.planned_blocks
    assert len(one.session.heard) in (blocks // 4, blocks // 4 - 1)  # the last one may meet the end
    assert {len(frame) for frame in one.session.heard} == {FRAME}


def test_the_agents_silence_is_neither_heard_nor_waited_for(held):
    frames = held["whole"].session.frames * FRAME / RATE_HZ
    assert held["whole"].heard_s() < frames - 2.0
    assert held["whole"].talk.ended == "settled"


def test_two_replies_are_two_items(held):
    assert held["two_turns"].told() == []
    assert held["two_turns"].texts() == [("agent", "One."), ("agent", "Two.")]
    assert len({chunk.item_id for chunk in held["two_turns"].talk.chunks}) == 2


def test_a_barge_in_is_the_models_own_and_needs_no_clear(held):
    one = held["barge_in"]
    assert (one.told(), one.talk.clears_ticks) == ([], ())
    assert 1.0 <= one.heard_s() < 25.0
    assert "Sorry." in one.texts()[-1][1]


def test_personaplex_is_told_voice_and_instructions_and_moshi_nothing(held):
    assert held["whole"].double.queries == [{}]
    (query,) = held["personaplex"].double.queries
    assert query == {"voice_prompt": "NATF2.pt", "text_prompt": "Today is Monday, 6 April 2026."}
    first = json.loads(held["personaplex"].talk.wire_events[0])
    assert first["event"] == {"type": "query", **query}
    assert held["personaplex"].talk.agent.settings["instructions"] == "sent"
    assert held["whole"].talk.agent.settings["instructions"] == "not sent"
    assert held["whole"].talk.agent.settings["tools"] == "none"


def test_a_model_that_gives_no_more_frames_ends_with_the_conversation(held):
    assert (held["stops"].told(), held["stops"].talk.ended) == ([], "max_duration")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("no_handshake", "agent_absent", "no handshake within 2 s"),
        ("wrong_handshake", "agent_absent", "no handshake within 2 s"),
        ("busy", "agent_absent", "HTTP 503, the server failed (Not now.)"),
        ("error", "infrastructure", "the server tells an error: out of steps"),
        ("no_opus", "infrastructure", "the sound is no Ogg/Opus stream: unexpected ogg capture pattern"),
        ("text", "infrastructure", "the server sent what is not a JSON object: '{garbage'"),
        ("drop", "infrastructure", "the connection broke off without a closing frame (1006)"),
        ("1011", "infrastructure", "the server closed the connection (1011 context is full)"),
    ],
)
def test_each_fault_is_one_line_of_the_right_kind(held, name, kind, message):
    told_kind, text = held[name].told()[0]
    assert (told_kind, "\n" in text) == (kind, False)
    assert message in text
    assert held[name].talk.ended == "problem"


def test_a_server_that_hangs_up_in_order_ends_the_conversation_without_a_problem(held):
    assert (held["1000"].told(), held["1000"].talk.ended) == ([], "line_closed")


SETUP = Setup(conversation_id="x", instructions="", tools=(), today=date(2026, 4, 6))


def test_the_server_holds_one_conversation_and_the_next_one_waits_for_its_turn():
    async def meet(url):
        async with Moshi(url=url).connect(SETUP) as line:
            with pytest.raises(Unsupported, match="Moshi takes no text in a conversation"):
                await line.inject("The gate is B4.")
            with pytest.raises(Unreachable, match="no handshake within 1 s") as late:
                async with Moshi(url=url, handshake_s=1.0).connect(SETUP):
                    pass
            assert late.value.kind == "timeout"
            waiting = asyncio.create_task(Moshi(url=url).connect(SETUP).__aenter__())
        await waiting

    with moshi_server() as double:
        asyncio.run(meet(double.url))
        assert len(double.queries) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("moshi,url=http://127.0.0.1:8998", "url must be the address of a WebSocket"),
        ("moshi,model=", "model must be text, not ''"),
        ("moshi,handshake_s=60", "handshake_s must be from 0.1 to 25, not 60"),
        ("moshi,voice=NATF2", "no setting 'voice'"),
        ("personaplex,voice=", "voice must be text, not ''"),
        ("personaplex,seed=some", "seed must be a whole number, not 'some'"),
    ],
)
def test_a_wrong_setting_is_one_line(text, told):
    with pytest.raises(AgentNameError) as refused:
        check_hosted(parse_agent(text))
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_sphn_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(AgentNameError, match=r"sphn is not installed: pip install 'pytest-voicebench\[moshi\]'"):
        check_hosted(parse_agent("moshi"))


def test_what_the_url_asks_for_stays_and_more_joins_it():
    agent = build_agent(parse_agent('personaplex,url="ws://127.0.0.1:9/api/chat?text_topk=25",seed=3'), None)
    asked = agent.query(SETUP)
    assert asked["seed"] == 3
    address = agent._address(asked)
    assert address.startswith("ws://127.0.0.1:9/api/chat?text_topk=25&voice_prompt=NATF2.pt&text_prompt=Today%20is%20")
    assert Moshi()._address({}) == "ws://127.0.0.1:8998/api/chat"
