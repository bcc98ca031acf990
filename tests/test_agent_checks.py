"""What an agent's author got wrong is one line that names it; secrets do not get into reports."""

from __future__ import annotations

import asyncio
import json
import math

import numpy as np
import pytest

from pytest_voicebench.agents.checks import event_flaw, line_flaw
from pytest_voicebench.agents.protocol import (
    AgentAudio,
    Fault,
    Ready,
    ToolCall,
    ToolCancelled,
    Transcript,
    TurnEnd,
    Usage,
)
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.codec import to_json
from pytest_voicebench.conversation import AgentInfo
from tests import stage
from tests.scripted import Scripted, sound
from tests.stage import hold


def audio(samples, rate_hz=RATE_HZ):
    return AgentAudio(item_id="x", audio=Audio(samples=samples, rate_hz=rate_hz))


WAVE = np.zeros(480, np.int16)

BROKEN_EVENTS = {
    "nothing": (None, "no event"),
    "a class": (Ready, "no event"),
    "float": (audio(WAVE.astype(np.float32)), "must be int16, not float32"),
    "nan": (audio(np.full(480, np.nan)), "must be int16"),
    "stereo": (audio(np.zeros((480, 2), np.int16)), "mono"),
    "bytes": (audio(b"12"), "must be int16, not bytes"),
    "1 Hz": (audio(WAVE, 1), "rate_hz"),
    "odd rate": (audio(WAVE, 16_000.5), "rate_hz"),
    "no arguments": (ToolCall(call_id="1", name="a", arguments=None), "ToolCall"),
    "a list of arguments": (ToolCall(call_id="1", name="a", arguments=[1]), "ToolCall"),
    "no name": (ToolCall(call_id="1", name=None, arguments={}), "ToolCall"),
    "cancelled numbers": (ToolCancelled(call_ids=(1,)), "ToolCancelled"),
    "alien": (Transcript(speaker="alien", text="x"), "alien"),
    "bytes of text": (Transcript(speaker="user", text=b"x"), "Transcript"),
    "numbered response": (TurnEnd(response_id=5), "TurnEnd"),
    "not a number": (Usage(counts={"a": math.nan}), "Usage"),
    "a huge number": (Usage(counts={"a": 10**400}), "Usage"),
    "a number as name": (Usage(counts={1: 1}), "Usage"),
    "unknown fault": (Fault(kind="nonsense", message="x"), "nonsense"),
    "a fault without text": (Fault(kind="agent", message=None), "Fault"),
}


@pytest.mark.parametrize("name", BROKEN_EVENTS)
def test_an_event_that_breaks_the_protocol_is_named_and_ends_the_conversation_as_infrastructure(tmp_path, name):
    event, told = BROKEN_EVENTS[name]
    assert told in event_flaw(event)
    conversation = hold(stage.scenario(tmp_path), Scripted([(1.0, event)]))
    assert [p.kind for p in conversation.problems] == ["infrastructure"]
    assert told in conversation.problems[0].message
    json.dumps(to_json(conversation), allow_nan=False)


@pytest.mark.parametrize(
    "event",
    [
        Ready(),
        audio(WAVE, 8_000),
        ToolCall(call_id="1", name="a", arguments="{"),
        Usage(counts={"tokens": np.float64(3)}),
        Fault(kind="agent", message=""),
        TurnEnd(),
    ],
)
def test_events_that_keep_to_the_protocol_have_no_flaw(event):
    assert event_flaw(event) is None


def test_numbers_of_numpy_in_usage_are_stored_as_plain_numbers(tmp_path):
    agent = Scripted([(1.0, Usage(counts={"a": np.float64(2), "b": np.int64(3)})), (6.0, sound(1.0))])
    usage = hold(stage.scenario(tmp_path), agent).usage
    assert {name: type(value) for name, value in usage.items()} == {"a": float, "b": float}


def test_a_line_without_a_method_is_refused_before_the_conversation():
    class Line:
        async def send(self, audio): ...

        def receive(self): ...

        async def played(self, item_id, seconds): ...

    assert line_flaw(Line()).startswith("the line has no answer()")
    assert line_flaw(object()).startswith("the line has no send()")


def test_a_method_that_gives_nothing_to_await_is_told_how_to_be_written(tmp_path):
    agent = Scripted([])

    class Plain(Scripted):
        def connect(self, setup):
            from contextlib import asynccontextmanager

            @asynccontextmanager
            async def connected():
                async with agent.connect(setup) as line:
                    line.send = lambda audio: None
                    yield line

            return connected()

    [problem] = hold(stage.scenario(tmp_path), Plain([])).problems
    assert problem.message == "the agent's send() gave nothing to await: write it 'async def'"


def test_what_an_adapter_raises_names_its_file_and_line(tmp_path):
    class Failing(Scripted):
        def connect(self, setup):
            raise ValueError("boom")

    [problem] = hold(stage.scenario(tmp_path), Failing([])).problems
    assert problem.message.startswith("connect() failed: ValueError: boom (test_agent_checks.py:")


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), GeneratorExit(), KeyboardInterrupt(), SystemExit(1), BaseException("x")]
)
@pytest.mark.parametrize("where", ["connect", "send", "receive", "close"])
def test_no_exception_of_an_agent_leaves_its_conversation(tmp_path, error, where):
    agent = Scripted([(1.0, error)]) if where == "receive" else Scripted([], raises={where: error})
    conversation = hold(stage.scenario(tmp_path), agent)
    assert type(error).__name__ in " ".join(p.message for p in conversation.problems)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"clock": "real"}, "clock must be"),
        ({"input_hz": "16k"}, "input_hz must be"),
        ({"input_hz": 0}, "input_hz must be"),
        ({"input_hz": 16_001}, "input_hz must be"),
        ({"name": None}, "printable"),
        ({"name": "a\x1b[31m"}, "printable"),
        ({"model": 5}, "printable"),
        ({"settings": {"a": [1]}}, "setting 'a'"),
        ({"settings": {"a": math.nan}}, "finite"),
    ],
)
def test_a_description_that_no_report_could_show_is_refused_where_it_is_made(changes, told):
    with pytest.raises(ValueError, match=told):
        AgentInfo(**{"name": "mine", **changes})


def test_secrets_among_the_settings_are_masked():
    info = AgentInfo(
        name="mine",
        settings={
            "api_key": "SECRET-1",
            "Authorization": "Bearer SECRET-2",
            "url": "wss://user:SECRET-3@host/path?token=SECRET-4&room=SECRET-5",
            "voice": "kim",
            "max_tokens": 100,
        },
    )
    assert "SECRET" not in repr(info)
    assert info.settings["url"] == "wss://***@host/path?token=***&room=***"
    assert (info.settings["voice"], info.settings["max_tokens"]) == ("kim", 100)


def test_another_call_with_a_used_id_is_another_call(tmp_path):
    first = ToolCall(call_id="1", name="search_flights", arguments={"destination": "Milan", "date": "2026-06-03"})
    second = ToolCall(call_id="1", name="book_flight", arguments={"flight_id": "X1"})
    agent = Scripted([(1.0, first), (1.1, first), (1.2, second), (6.0, sound(1.0))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert [(c.call_id, c.name) for c in conversation.calls] == [("1", "search_flights"), ("1#2", "book_flight")]
    assert [[r.call_id for r in results] for _, results in agent.answers] == [["1"], ["1"]]


@pytest.mark.parametrize(
    "arguments",
    ['{"destination": 1e999}', {"a": math.inf}, {"a": {1, 2}}, {5: 1}, '{"a":' * 150 + "1" + "}" * 150, "[1]"],
    ids=["huge", "infinite", "set", "key", "deep", "list"],
)
def test_arguments_that_json_cannot_hold_are_a_rejected_call_and_the_evidence_is_kept(tmp_path, arguments):
    agent = Scripted([(1.0, ToolCall(call_id="1", name="search_flights", arguments=arguments)), (6.0, sound(1.0))])
    conversation = hold(stage.scenario(tmp_path), agent)
    assert [c.status for c in conversation.calls] == ["rejected"]
    assert conversation.problems == ()
    json.dumps(to_json(conversation), allow_nan=False)


def test_an_agent_that_waits_inside_send_makes_blocks_late_on_the_virtual_clock_too(tmp_path):
    class Slow(Scripted):
        def connect(self, setup):
            from contextlib import asynccontextmanager

            inner = super().connect(setup)

            @asynccontextmanager
            async def slowed():
                async with inner as line:
                    send = line.send

                    async def slow(audio):
                        await asyncio.sleep(0.05)
                        await send(audio)

                    line.send = slow
                    yield line

            return slowed()

    delivery = hold(stage.scenario(tmp_path), Slow([(6.0, sound(1.0))])).delivery
    assert delivery.late_p99_s > 1.0


ENDLESS = """
from pytest_voicebench.scenario import Step
import asyncio

def waits(view):
    while True:
        yield Step(kind="wait")

def nothing(view):
    yield None

def wrong_audio(view):
    yield Step(kind="say", audio="x")

async def silent(view):
    await asyncio.sleep(1000)
    yield Step(kind="end")

async def cancels(view):
    raise asyncio.CancelledError
    yield
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("waits", "never wait"),
        ("nothing", "NoneType, not a Step"),
        ("wrong_audio", "not str"),
        ("silent", "chose nothing for 30 s"),
        ("cancels", "CancelledError"),
    ],
)
def test_a_generator_that_gives_no_steps_is_the_suites_fault(tmp_path, name, told):
    from dataclasses import replace

    (tmp_path / "shopper.py").write_text(ENDLESS)
    scenario = replace(stage.scenario(tmp_path), steps=(), generator=f"shopper:{name}")
    [problem] = hold(scenario, Scripted([])).problems
    assert (problem.kind, told in problem.message) == ("suite", True), problem


MOCK = """
import asyncio

def mixed_keys(arguments, state):
    state[1] = 2
    state["1"] = 3
    return {}

def cancels(arguments, state):
    raise asyncio.CancelledError

def deep(arguments, state):
    value = 1
    for _ in range(700):
        value = {"a": value}
    return value
"""


@pytest.mark.parametrize("name", ["mixed_keys", "cancels", "deep"])
def test_a_mock_that_breaks_in_any_way_is_the_suites_fault(tmp_path, monkeypatch, name):
    from dataclasses import replace

    (tmp_path / "mock.py").write_text(MOCK)
    tool = replace(stage.TOOLS["search_flights"], returns=None, answer=f"mock:{name}", writes=True)
    monkeypatch.setattr(stage, "TOOLS", {"search_flights": tool})
    arguments = {"destination": "Milan", "date": "2026-06-03"}
    agent = Scripted([(1.0, ToolCall(call_id="1", name="search_flights", arguments=arguments))])
    [problem] = hold(stage.scenario(tmp_path), agent).problems
    assert problem.kind == "suite"
