"""Whole conversations with an agent that calls its tools over HTTP: what is recorded is what it did."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import stage

from pytest_voicebench.agents.protocol import AgentAudio, Ready
from pytest_voicebench.agents.tool_host import tool_host, with_calls
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.conversation import AgentInfo, Conversation
from pytest_voicebench.runner import Runner

httpx2 = pytest.importorskip("httpx2", reason="the extra 'tools' is not installed")
pytest.importorskip("mcp_types", reason="the extra 'tools' is not installed")

DEADLINE_S = 60.0
MILAN = {"destination": "Milan", "date": "2026-06-03"}
SLOW_S = 0.5


async def search(post: Callable[..., Any]) -> None:
    await post("search_flights", json=MILAN)


async def two_at_once(post: Callable[..., Any]) -> None:
    await asyncio.gather(post("search_flights", json=MILAN), post("book_flight", json={"flight_id": "FL123"}))


async def mistakes(post: Callable[..., Any]) -> None:
    await post("cancel_everything", json={})
    await post("search_flights", content=b'{"destination": "Par')
    await post("search_flights", json={"destination": "Milan"})


async def impatience(post: Callable[..., Any]) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        await post("search_flights", json=MILAN, timeout=0.2)


@dataclass
class Caller:
    """An agent that calls tools at its own moment: once the user is done, 2.5 s after the start; then it speaks."""

    calls: Callable[..., Any]
    answers: list[Any] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    info: AgentInfo = field(default_factory=lambda: AgentInfo(name="caller", transport="process", clock="wall"))

    @asynccontextmanager
    async def connect(self, setup):
        async with httpx2.AsyncClient(timeout=DEADLINE_S) as client:
            async with tool_host(setup) as host:
                self.urls.append(host.url)
                line = CallerLine(self, host, client)
                yield line
            await line.working  # what still waited has its answer


class CallerLine:
    def __init__(self, agent, host, client) -> None:
        self.agent, self.host, self.client = agent, host, client
        self.blocks = 0
        self.heard, self.said = asyncio.Event(), asyncio.Event()
        self.working = asyncio.create_task(self.work())

    async def work(self) -> None:
        await self.heard.wait()
        await self.agent.calls(self.post)
        self.said.set()

    async def post(self, name: str, **body: Any) -> None:
        response = await self.client.post(f"{self.host.url}/tools/{name}", **body)
        self.agent.answers.append((response.status_code, response.json()))

    async def send(self, audio: Audio) -> None:
        self.blocks += 1
        if self.blocks == 125:
            self.heard.set()

    async def voice(self):
        yield Ready()
        await self.said.wait()
        yield AgentAudio(item_id="reply", audio=Audio(samples=stage.voice("reply"), rate_hz=RATE_HZ))
        await asyncio.Event().wait()

    def receive(self):
        return with_calls(self.voice(), self.host)

    async def answer(self, results) -> None:
        self.host.answer(results)

    async def played(self, item_id: str, seconds: float) -> None: ...

    async def inject(self, text: str) -> None: ...


CASES: dict[str, tuple[Callable[..., Any], float, dict[str, Any]]] = {
    "search": (search, 0.0, {}),
    "two_at_once": (two_at_once, 0.0, {}),
    "mistakes": (mistakes, 0.0, {}),
    "slow": (search, SLOW_S, {}),
    "impatience": (impatience, 30.0, {}),
    "never_answered": (search, 600.0, {"max_duration_s": 4.0}),
}


@dataclass(frozen=True)
class Held:
    talk: Conversation
    agent: Caller

    def calls(self):
        return [(c.name, c.status) for c in self.talk.calls]


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """All conversations, held side by side at one address."""
    with closing(Runner()) as runner:
        agents, futures = {}, {}
        for name, (calls, latency_s, suite) in CASES.items():
            folder = tmp_path_factory.mktemp(name)
            scenario = stage.scenario(folder, stage.say(folder, "turn", "filler"), item_id=name, settle_s=1.0, **suite)
            slow = {n: replace(tool, latency_s=latency_s) for n, tool in stage.TOOLS.items()}
            agents[name] = Caller(calls)
            futures[name] = runner.submit(replace(scenario, suite=replace(scenario.suite, tools=slow)), agents[name])
        return {name: Held(future.result(timeout=DEADLINE_S), agents[name]) for name, future in futures.items()}


def test_a_call_over_http_is_a_call_of_the_conversation_with_times_on_its_clock(held):
    talk = held["search"].talk
    (call,) = talk.calls
    assert (call.name, call.status, dict(call.arguments)) == ("search_flights", "executed", MILAN)
    assert 0 < call.at_ticks <= call.finished_ticks <= call.answered_ticks <= call.acknowledged_ticks
    assert call.at_ticks < talk.chunks[0].received_ticks
    assert talk.problems == ()
    assert talk.ended == "settled"
    assert held["search"].agent.answers == [(200, {"flights": [{"flight_id": "FL123", "destination": "Milan"}]})]


def test_calls_at_once_are_answered_each_by_its_own_result(held):
    assert sorted(held["two_at_once"].calls()) == [("book_flight", "executed"), ("search_flights", "executed")]
    assert all(status == 200 for status, _ in held["two_at_once"].agent.answers)


def test_mistakes_are_recorded_as_what_they_are_and_the_agent_is_told(held):
    assert held["mistakes"].calls() == [
        ("cancel_everything", "rejected"),
        ("search_flights", "rejected"),
        ("search_flights", "failed"),
    ]
    assert held["mistakes"].talk.calls[1].arguments_text == '{"destination": "Par'
    (first, second, third) = held["mistakes"].agent.answers
    assert first == (404, {"error": "unknown tool cancel_everything"})
    assert second == (400, {"error": "the arguments are not a JSON object"})
    assert third == (200, {"error": "invalid arguments: 'date' is a required property"})


def test_a_tool_that_is_declared_slow_answers_late(held):
    (call,) = held["slow"].talk.calls
    assert call.finished_ticks - call.at_ticks >= SLOW_S * RATE_HZ
    assert call.status == "executed"


def test_a_client_that_waits_no_longer_has_taken_its_call_back(held):
    (call,) = held["impatience"].talk.calls
    assert (call.status, call.reason) == ("cancelled", "taken back by the agent before it ran")


def test_a_call_that_is_open_when_the_conversation_ends_is_answered_with_503(held):
    talk = held["never_answered"].talk
    assert (talk.ended, held["never_answered"].calls()) == ("max_duration", [("search_flights", "failed")])
    assert held["never_answered"].agent.answers == [(503, {"error": "the conversation is over"})]


def test_the_token_is_in_no_evidence(held):
    for one in held.values():
        (url,) = one.agent.urls
        assert url.rsplit("/", 1)[1] not in repr(one.talk)
        kinds = [json.loads(line)["event"]["type"] for line in one.talk.wire_events if '"way":"received"' in line]
        assert kinds == ["tool_call"] * len(one.talk.calls)


def test_conversations_side_by_side_shared_one_server(held):
    assert len({one.agent.urls[0].rsplit("/", 1)[0] for one in held.values()}) == 1
    assert len({one.agent.urls[0] for one in held.values()}) == len(CASES)
