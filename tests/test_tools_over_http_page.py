"""The page docs/tools_over_http.md: its Python can be read, and the agent of its last section works as it stands."""

from __future__ import annotations

import ast
import asyncio
import re
from pathlib import Path

import pytest
from hosted_tools import MILAN, held, setup

from pytest_voicebench.agents.checks import line_flaw
from pytest_voicebench.agents.protocol import Ready, ToolCall, ToolResult

PAGE = (Path(__file__).parents[1] / "docs" / "tools_over_http.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_every_python_snippet_can_be_read():
    assert len(SNIPPETS) == 3
    for snippet in SNIPPETS:
        ast.parse(snippet)


def test_the_agent_of_your_own_takes_calls_and_answers_them():
    httpx2 = pytest.importorskip("httpx2")
    pytest.importorskip("mcp_types", reason="the extra 'tools' is not installed")
    names: dict = {}
    exec(compile(SNIPPETS[-1], "tools_over_http.md", "exec"), names)

    async def talk():
        async with names["MyAgent"]().connect(setup()) as line, httpx2.AsyncClient() as client:
            assert line_flaw(line) is None
            found = []
            async with asyncio.timeout(30):
                events = line.receive()
                found.append(await anext(events))
                asked = asyncio.create_task(client.post(f"{line.host.url}/tools/search_flights", json=MILAN))
                found.append(await anext(events))
                await line.answer([ToolResult(call_id=found[1].call_id, name="search_flights", result="ok")])
                return found, (await asked).json()

    (ready, call), told = held(talk)
    assert (ready, type(call), told) == (Ready(), ToolCall, "ok")
