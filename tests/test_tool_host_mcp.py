"""The suite's tools over MCP, asked by the `mcp` package's own client in both of its eras."""

from __future__ import annotations

import asyncio
import json

import pytest
from hosted_tools import MILAN, answering, hosted, setup

from pytest_voicebench.agents.protocol import ToolCall, ToolCancelled
from pytest_voicebench.agents.tool_host import tool_host

mcp = pytest.importorskip("mcp", reason="the extra 'tools' is not installed")

ERAS = pytest.mark.parametrize("era", ["legacy", "auto"])
"""The initialize handshake with sessions, and the protocol of 2026 without."""


@ERAS
def test_tools_are_listed_with_their_schemas_and_the_instructions_are_told(era):
    async def talk(host, _):
        async with mcp.Client(f"{host.url}/mcp", mode=era) as client:
            return (await client.list_tools()).tools, client.instructions

    (tools, instructions), _ = hosted(talk)
    assert {t.name: (t.description, t.input_schema) for t in tools} == {
        t.name: (t.description, t.json_schema()) for t in setup().tools
    }
    assert instructions == "Help the caller.\n\nToday is Monday, 6 April 2026."


@ERAS
def test_a_call_and_its_result_go_round(era):
    result = {"flights": [{"flight_id": "FL123"}], "note": "déjà 😀"}

    async def talk(host, _):
        async with answering(host, result) as events, mcp.Client(f"{host.url}/mcp", mode=era) as client:
            return await client.call_tool("search_flights", MILAN), events

    (told, (call,)), log = hosted(talk)
    assert (call.name, call.arguments, call.response_id) == ("search_flights", MILAN, None)
    assert (told.is_error, told.structured_content) == (False, result)
    assert [json.loads(part.text) for part in told.content] == [result]
    assert [row["event"]["type"] for row in log] == ["tool_call", "tool_result"]


@ERAS
@pytest.mark.parametrize("value", ["sold out", 3, [1, 2], None])
def test_a_result_that_is_no_object_is_wrapped_for_structured_content(era, value):
    async def talk(host, _):
        async with answering(host, lambda _: value), mcp.Client(f"{host.url}/mcp", mode=era) as client:
            return await client.call_tool("search_flights", MILAN)

    told, _ = hosted(talk)
    assert (told.structured_content, told.content[0].text) == ({"result": value}, json.dumps(value))


@ERAS
def test_a_text_that_is_no_utf_8_arrives_with_a_question_mark(era):
    async def talk(host, _):
        async with answering(host, {"note": "half \ud83d"}), mcp.Client(f"{host.url}/mcp", mode=era) as client:
            return await client.call_tool("search_flights", MILAN)

    told, _ = hosted(talk)
    assert told.structured_content == {"note": "half ?"}


@ERAS
@pytest.mark.parametrize(("name", "arguments"), [("cancel_everything", {}), ("search_flights", {"destination": 7})])
def test_unknown_tools_and_arguments_that_break_the_schema_are_calls_and_their_answer_is_an_error(era, name, arguments):
    async def talk(host, _):
        error = {"error": "no"}
        async with answering(host, error, is_error=True) as events, mcp.Client(f"{host.url}/mcp", mode=era) as client:
            return await client.call_tool(name, arguments), events

    (told, (call,)), _ = hosted(talk)
    assert (call.name, call.arguments) == (name, arguments)
    assert (told.is_error, told.structured_content) == (True, {"error": "no"})


@ERAS
def test_a_call_without_arguments_has_none(era):
    async def talk(host, _):
        async with answering(host) as events, mcp.Client(f"{host.url}/mcp", mode=era) as client:
            await client.call_tool("book_flight")
            return events

    (call,), _ = hosted(talk)
    assert call.arguments == {}


@ERAS
def test_several_calls_at_once_are_each_answered_by_their_own_result(era):
    async def talk(host, _):
        async with answering(host), mcp.Client(f"{host.url}/mcp", mode=era) as client:
            asked = [client.call_tool("search_flights", {"destination": str(n)}) for n in range(20)]
            return await asyncio.gather(*asked)

    told, _ = hosted(talk)
    assert [t.structured_content for t in told] == [{"echo": {"destination": str(n)}} for n in range(20)]


@ERAS
def test_a_client_that_gives_up_takes_its_call_back(era):
    async def talk(host, _):
        async with mcp.Client(f"{host.url}/mcp", mode=era) as client:
            calls = host.calls()
            asking = asyncio.create_task(client.call_tool("search_flights", MILAN))
            first = await anext(calls)
            asking.cancel()
            return first, await anext(calls)

    (call, cancelled), _ = hosted(talk)
    assert isinstance(call, ToolCall)
    assert cancelled == ToolCancelled(call_ids=(call.call_id,))


@ERAS
def test_a_conversation_that_ends_answers_open_calls_with_an_error_and_closes_sessions(era):
    async def talk(host, _, end):
        async with tool_host(setup()), mcp.Client(f"{host.url}/mcp", mode=era) as client:
            asking = asyncio.create_task(client.call_tool("search_flights", MILAN))
            await anext(host.calls())
            await end()
            told = await asking
            with pytest.raises(mcp.MCPError):
                await client.list_tools(cache_mode="bypass")
            return told

    told, _ = hosted(talk, ends=True)
    assert (told.is_error, told.structured_content) == (True, {"error": "the conversation is over"})
