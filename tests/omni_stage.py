"""Conversations with models that listen and speak at once, held side by side, each with a double of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_voicebench.agents.omni import MiniCpmO
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.runner import Runner
from tests.servers.omni_server import omni_server
from tests.servers.openai_script import Call, Say, Script, recite
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
    """The conversations of a table, by name; the doubles run until the block ends."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("MODELBEST_API_KEY", KEY)
        patch.setenv("ALL_PROXY", "http://127.0.0.1:9")  # nothing is there; it must not be asked
        runner = stack.enter_context(closing(Runner()))
        doubles, futures = {}, {}
        for name, case in cases.items():
            double = stack.enter_context(omni_server(case.dialect, case.script, recite(*case.turns)))
            scenario = scenario_of(folder_of(name.replace("-", "_")), "turn_1", case)
            url = case.url.format(free=free_port()) or double.url
            agent = case.agent(url=url, dialect=case.dialect, **case.settings)
            doubles[name], futures[name] = double, runner.submit(scenario, agent)
        yield {name: Held(future.result(timeout=DEADLINE_S), doubles[name]) for name, future in futures.items()}
