"""Conversations of agents that take turns, held side by side, each with a double of its own.

They share a loop with their doubles, and its clock counts waiting alone: no load of the machine changes what is said.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import stage
from patience import patiently

from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import converse
from tests.servers.cascade_script import Call, Chat, Script, tone
from tests.servers.cascade_server import Double, listen

KEY = "sk-planted-5150"
DEADLINE_S = 90.0
SETTINGS = {"silence_ms": 800, "timeout_s": 4.0}
ARGUMENTS = '{"destination": "Milan", "date": "2026-06-03"}'
SEARCH = Call("search_flights", ARGUMENTS)
ROME = Call("search_flights", '{"destination": "Rome", "date": "2026-06-03"}')
BOOK = Call("book_flight", '{"flight_id": "FL123"}')
LONG = Chat("One two three four five. Six seven eight nine ten. Eleven twelve thirteen. And so on and on.")
TOOL = (Chat("", [SEARCH]), Chat("Here it is at last."))
REFUSED = "the key of OPENAI_API_KEY is refused (Incorrect API key"
LIMIT = {"max_duration_s": 8.0}
INTO_REPLY = (("turn",), ("wait", stage.into_agent(1.0)))


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the double, what the user says, and the settings of ours. `url` may name `port` and `free`."""

    script: Script = field(default_factory=Script)
    steps: Sequence[Any] = (("turn",),)
    settings: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    tool_latency_s: float = 0.0
    url: str = ""


def chats(*answers: Chat, **more: Any) -> Script:
    """A script of these answers, a second of sound each."""
    return Script(chats=answers, **{"voice": lambda _: tone(1.0), **more})


@dataclass(frozen=True)
class Held:
    """A conversation, and the double's view of it."""

    talk: Conversation
    double: Any

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def messages(self, number=-1):
        """What the model was told in one of its requests, the instructions left out."""
        return self.double.of("chat")[number].body["messages"][1:]

    def texts(self, speaker):
        return [t.text for t in self.talk.transcripts if t.speaker == speaker]

    def events(self):
        return [json.loads(line) for line in self.talk.wire_events]


@contextmanager
def all_held(
    cases: Mapping[str, Case], agent: Callable[..., Any], folder_of: Callable[[str], Any]
) -> Iterator[dict[str, Held]]:
    """The conversations of a table, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        patch.setenv("ALL_PROXY", "http://127.0.0.1:9")  # nothing is there; it must not be asked
        yield patiently(hold_all(cases, agent, folder_of))


async def hold_all(
    cases: Mapping[str, Case], agent: Callable[..., Any], folder_of: Callable[[str], Any]
) -> dict[str, Held]:
    """Hold them side by side, the doubles in the same loop."""
    doubles, talks = {}, {}
    async with AsyncExitStack() as stack, asyncio.timeout(DEADLINE_S):
        for name, case in cases.items():
            doubles[name] = double = Double(script=case.script)
            await stack.enter_async_context(listen(double))
            places = {"url": double.url, "port": double.port, "free": free_port()}
            url = (case.url or double.url).format(**places)
            settings = {k: v.format(**places) if isinstance(v, str) else v for k, v in case.settings.items()}
            scenario = scenario_of(folder_of(name), name, case)
            talks[name] = asyncio.create_task(converse(scenario, agent(url=url, **{**SETTINGS, **settings})))
        return {name: Held(await talk, doubles[name]) for name, talk in talks.items()}


def scenario_of(folder, name, case):
    """The scenario of a case, with its tools as slow as it says."""
    steps = [said(folder, step) for step in case.steps]
    scenario = stage.scenario(folder, *steps, item_id=name, **{"settle_s": 1.2, **case.suite})
    slow = {n: replace(tool, latency_s=case.tool_latency_s) for n, tool in stage.TOOLS.items()}
    return replace(scenario, suite=replace(scenario.suite, tools=slow))


def said(folder, step):
    """A turn of the name and with the trigger that are given, or the step as it is."""
    return stage.say(folder, step[0], "filler", when=step[1] if step[1:] else None) if type(step) is tuple else step


def free_port() -> int:
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        return nobody.getsockname()[1]
