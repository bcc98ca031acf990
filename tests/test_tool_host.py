"""The suite's tools over HTTP: what a client sees of each request, and what the conversation is told of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

import httpx2
import pytest
import stage

from pytest_voicebench.agents.protocol import Setup, ToolCall, ToolCancelled, ToolResult
from pytest_voicebench.agents.tool_host import ToolHost, tool_host
from pytest_voicebench.agents.wire_log import WireLog

DEADLINE_S = 60.0
MILAN = {"destination": "Milan", "date": "2026-06-03"}


def setup(**more: Any) -> Setup:
    told = {"conversation_id": "milan_01", "instructions": "Help the caller.", "today": date(2026, 4, 6)}
    return Setup(**{**told, "tools": tuple(stage.TOOLS.values()), **more})


def held(conversation):
    """Run a test's conversation with a deadline, on a loop of its own."""

    async def in_time():
        async with asyncio.timeout(DEADLINE_S):
            return await conversation()

    return asyncio.run(in_time())


def hosted(talk, **more):
    """Run `talk(host, client)` while tools are offered."""

    async def conversation():
        log = WireLog(asyncio.get_running_loop().time)
        async with httpx2.AsyncClient() as client, tool_host(setup(log=log), **more) as host:
            return await talk(host, client), [json.loads(line) for line in log.lines(None)]

    return held(conversation)


@asynccontextmanager
async def answering(host: ToolHost, result: Any = None, is_error: bool = False):
    """The conversation's side: every call is answered, by an echo where no result is given. Gives all events."""
    events: list[ToolCall | ToolCancelled] = []

    async def answer() -> None:
        async for event in host.calls():
            events.append(event)
            if isinstance(event, ToolCall):
                told = {"echo": event.arguments} if result is None else result
                host.answer([ToolResult(call_id=event.call_id, name=event.name, result=told, is_error=is_error)])

    task = asyncio.create_task(answer())
    try:
        yield events
    finally:
        task.cancel()
        await asyncio.wait([task])


def test_a_post_is_a_call_of_the_conversation_and_its_result_is_the_response():
    async def talk(host, client):
        async with answering(host, {"flights": [{"flight_id": "FL123"}]}) as events:
            return await client.post(f"{host.url}/tools/search_flights", json=MILAN), events

    (response, (call,)), log = hosted(talk)
    assert (response.status_code, response.json()) == (200, {"flights": [{"flight_id": "FL123"}]})
    assert response.headers["content-type"] == "application/json"
    assert (call.name, json.loads(call.arguments), call.response_id) == ("search_flights", MILAN, None)
    assert [row["event"]["type"] for row in log] == ["tool_call", "tool_result"]
    assert [row["event"]["call_id"] for row in log] == [call.call_id, call.call_id]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/tools/search_flights", 405),
        ("PUT", "/tools/search_flights", 405),
        ("DELETE", "/tools", 405),
        ("POST", "/instructions", 405),
        ("GET", "", 404),
        ("GET", "/", 404),
        ("GET", "/instructions/more", 404),
        ("GET", "/calls", 404),
        ("POST", "/mcp/more", 404),
    ],
)
def test_wrong_methods_and_paths_are_refused_and_are_no_calls(method, path, status):
    async def talk(host, client):
        async with answering(host) as events:
            return await client.request(method, host.url + path), events

    (response, events), _ = hosted(talk)
    assert response.status_code == status
    assert events == []
    assert ("allow" in response.headers) == (status == 405)


@pytest.mark.parametrize("wrong", ["", "x", "ü", "A" * 43, "%00"])
@pytest.mark.parametrize("path", ["/tools", "/tools/search_flights", "/mcp", ""])
def test_a_wrong_token_finds_nothing_whatever_the_path_and_the_method(wrong, path):
    async def talk(host, client):
        async with answering(host) as events:
            url = host.url.rpartition("/")[0]
            return [await client.request(m, f"{url}/{wrong}{path}") for m in ("GET", "POST", "DELETE")], events

    (responses, events), _ = hosted(talk)
    assert [r.status_code for r in responses] == [404, 404, 404]
    assert [r.content for r in responses] == [b"", b"", b""]
    assert events == []
