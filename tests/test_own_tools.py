"""Calls that an agent's own tools answer: recorded as they were told, and nothing of ours answers them."""

from __future__ import annotations

import asyncio
import json
import math
from contextlib import asynccontextmanager

import pytest

from pytest_voicebench.agents.checks import event_flaw
from pytest_voicebench.agents.protocol import ToolCall, ToolRan
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.codec import to_json
from tests import stage
from tests.scripted import Scripted, sound
from tests.stage import hold


def ran(**more):
    return ToolRan(**{"call_id": "1", "name": "own_clock", "arguments": {"zone": "CET"}, "result": "12:30", **more})


def told(tmp_path, *events):
    """A conversation in which these events come one second after the other, from 3 s on."""
    agent = Scripted([*((3.0 + n, event) for n, event in enumerate(events)), (12.0, sound(1.0))])
    return hold(stage.scenario(tmp_path), agent), agent


@pytest.mark.parametrize(
    ("event", "status", "arguments", "reason"),
    [
        (ran(), "executed", {"zone": "CET"}, None),
        (ran(arguments='{"zone": "CET"}'), "executed", {"zone": "CET"}, None),
        (ran(is_error=True, result="no such zone"), "failed", {"zone": "CET"}, "no such zone"),
        (ran(is_error=True, result={"code": 7}), "failed", {"zone": "CET"}, '{"code": 7}'),
        (ran(arguments='{"zone": '), "rejected", {}, "the arguments are not a JSON object"),
        (ran(arguments="[1]"), "rejected", {}, "the arguments are not a JSON object"),
        (ran(name="search_flights", arguments={}), "executed", {}, None),
    ],
    ids=["object", "text", "error", "error object", "no json", "list", "no schema of ours holds"],
)
def test_a_call_is_recorded_as_it_was_told(tmp_path, event, status, arguments, reason):
    talk, agent = told(tmp_path, event)
    (call,) = talk.calls
    assert (call.status, dict(call.arguments), call.reason, call.self_reported) == (status, arguments, reason, True)
    assert call.result == event.result
    assert (talk.problems, agent.answers) == ((), [])
    assert call.at_ticks == call.finished_ticks == call.answered_ticks == 3 * RATE_HZ


@pytest.mark.parametrize(("took_s", "began_s"), [(0.0, 3.0), (1.25, 1.75), (100.0, 0.0)])
def test_a_call_began_as_long_ago_as_it_took(tmp_path, took_s, began_s):
    (call,) = told(tmp_path, ran(took_s=took_s))[0].calls
    assert (call.at_ticks, call.finished_ticks) == (began_s * RATE_HZ, 3 * RATE_HZ)


def test_a_call_of_which_nobody_says_when_it_began_has_no_time(tmp_path):
    (untimed,) = told(tmp_path, ran(took_s=None))[0].calls
    assert (untimed.at_ticks, untimed.finished_ticks, untimed.timed) == (3 * RATE_HZ, 3 * RATE_HZ, False)
    (timed,) = told(tmp_path, ran(took_s=0.0))[0].calls
    assert timed.timed


def test_every_report_is_a_call_of_its_own_and_shares_no_id_with_another(tmp_path):
    own = ToolCall(call_id="1", name="search_flights", arguments={"destination": "Milan", "date": "2026-06-03"})
    talk, agent = told(tmp_path, ran(), ran(), own)
    assert [(c.call_id, c.name, c.status) for c in talk.calls] == [
        ("1", "own_clock", "executed"),
        ("1#2", "own_clock", "executed"),
        ("1#3", "search_flights", "executed"),
    ]
    assert [[r.call_id for r in results] for _, results in agent.answers] == [["1"]]


@pytest.mark.parametrize("result", [math.nan, {1: 2}, {1, 2}, b"x"], ids=["nan", "key", "set", "bytes"])
def test_a_result_that_json_cannot_hold_is_kept_as_text(tmp_path, result):
    talk, _ = told(tmp_path, ran(result=result))
    assert talk.calls[0].result == repr(result)
    json.dumps(to_json(talk), allow_nan=False)


@pytest.mark.parametrize(
    "event", [ran(call_id=1), ran(name=None), ran(arguments=None), ran(took_s=math.nan), ran(took_s="1")]
)
def test_a_report_that_breaks_the_protocol_is_named(event):
    assert "ToolRan: call_id and name must be text" in event_flaw(event)


@pytest.mark.parametrize(("own_s", "problem"), [(None, "no connection within 30 s"), (90.0, None)])
def test_an_agent_that_starts_something_first_may_say_how_long_that_takes(tmp_path, own_s, problem):
    class Late(Scripted):
        @asynccontextmanager
        async def connect(self, setup):
            await asyncio.sleep(60)
            async with super().connect(setup) as line:
                yield line

    agent = Late([(6.0, sound(1.0))])
    if own_s is not None:
        agent.connect_timeout_s = own_s
    problems = [p.message for p in hold(stage.scenario(tmp_path), agent).problems]
    assert problems == ([problem] if problem else [])
