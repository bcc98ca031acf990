"""Conversations with models that listen and speak at once, held side by side, each with a double of its own.

They share a loop with their doubles, and its clock counts waiting alone: no load of the machine changes what is said.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from patience import patiently

from pytest_voicebench.agents.omni import MiniCpmO
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import converse
from tests.servers.omni_server import SESSIONS
from tests.servers.openai_script import Call, Say, Script, recite
from tests.servers.openai_server import Double, listen
from tests.turn_stage import free_port, scenario_of

KEY = "mb-planted-8181"
DEADLINE_S = 90.0
DIALECTS = ("vllm-omni", "sglang-omni", "map")
LIMIT = {"max_duration_s": 6.0}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One conversation: the dialect, the double, what the user says, and the settings of ours."""

    dialect: str = "vllm-omni"
    script: Script = field(default_factory=Script)
    turns: Sequence[Sequence[Call | Say]] = ((Say(1.0, "Here it is."),),)
    steps: Sequence[Any] = (("turn",),)
    agent: type[MiniCpmO] = MiniCpmO
    settings: dict[str, Any] = field(default_factory=dict)
    suite: dict[str, Any] = field(default_factory=dict)
    tool_latency_s: float = 0.0
    url: str = ""


@dataclass(frozen=True)
class Held:
    """A conversation, and the double's view of it."""

    talk: Conversation
    double: Any

    @property
    def session(self):
        return self.double.sessions[0]

    def kinds(self):
        """What the client sent, but audio, its farewell, and what it tells of playback and of events that came."""
        quiet = ("session.input_audio.append", "playback.ack", "session.event_ack", "input.append", "session.close")
        return [event["type"] for event in self.session.seen if event["type"] not in quiet]

    def told(self):
        return [(p.kind, p.message) for p in self.talk.problems]

    def sent(self):
        """What the client sent, by its own record."""
        rows = [json.loads(line) for line in self.talk.wire_events]
        return [row["event"] for row in rows if row["way"] == "sent"]

    def texts(self, speaker):
        return [t.text for t in self.talk.transcripts if t.speaker == speaker]


@contextmanager
def all_held(cases: Mapping[str, Case], folder_of: Callable[[str], Any]) -> Iterator[dict[str, Held]]:
    """The conversations of a table, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MODELBEST_API_KEY", KEY)
        patch.setenv("ALL_PROXY", "http://127.0.0.1:9")  # nothing is there; it must not be asked
        yield patiently(hold_all(cases, double_of, agent_of, folder_of))


def double_of(case: Case) -> Double:
    """The double of a case, not listening yet."""
    return Double(script=case.script, open_line=recite(*case.turns), **SESSIONS[case.dialect])


def agent_of(case: Case, double: Double) -> MiniCpmO:
    """The agent of a case, to talk to its double."""
    url = case.url.format(free=free_port()) or double.url
    return case.agent(url=url, dialect=case.dialect, **case.settings)


async def hold_all(
    cases: Mapping[str, Case],
    double_of: Callable[[Case], Double],
    agent_of: Callable[[Case, Double], Any],
    folder_of: Callable[[str], Any],
) -> dict[str, Held]:
    """Hold them side by side, the doubles in the same loop."""
    doubles, talks = {}, {}
    async with AsyncExitStack() as stack, asyncio.timeout(DEADLINE_S):
        for name, case in cases.items():
            doubles[name] = double = double_of(case)
            await stack.enter_async_context(listen(double))
            scenario = scenario_of(folder_of(name.replace("-", "_")), "turn_1", case)
            talks[name] = asyncio.create_task(converse(scenario, agent_of(case, double)))
        return {name: Held(await talk, doubles[name]) for name, talk in talks.items()}
