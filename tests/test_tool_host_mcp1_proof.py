"""The tools are usable by version 1 of the `mcp` package in an environment of its own, and a wrong address fails it.

VOICEBENCH_MCP1_PYTHON names its interpreter (pip install "mcp<2"); version 2 asks in test_tool_host_mcp.py.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from hosted_tools import answering, hosted

PYTHON = os.environ.get("VOICEBENCH_MCP1_PYTHON")
CLIENT = Path(__file__).parent / "third_party" / "mcp_client.py"

pytestmark = pytest.mark.skipif(PYTHON is None, reason="VOICEBENCH_MCP1_PYTHON is not set")
pytest.importorskip("mcp_types", reason="the extra 'tools' is not installed")


async def run(url: str) -> tuple[int, str]:
    """Exit status and output of the client."""
    process = await asyncio.create_subprocess_exec(
        PYTHON, str(CLIENT), url, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    told, _ = await process.communicate()
    return process.returncode, told.decode()


def test_tools_are_listed_called_and_their_errors_are_errors():
    async def talk(host, _):
        async with answering(host, {"error": "no"}, is_error=True) as events:
            return await run(f"{host.url}/mcp"), events

    ((status, told), events), _ = hosted(talk)
    assert status == 0, told
    error = [True, {"error": "no"}, '{"error": "no"}']
    assert json.loads(told) == {
        "instructions": "Help the caller.\n\nToday is Monday, 6 April 2026.",
        "tools": ["search_flights", "book_flight"],
        "calls": [error, error],
    }
    assert [(e.name, e.arguments) for e in events] == [("search_flights", {"destination": "Milan"}), ("unknown", {})]


def test_a_wrong_token_fails_the_client():
    async def talk(host, _):
        async with answering(host) as events:
            return await run(f"{host.url}x/mcp"), events

    ((status, told), events), _ = hosted(talk)
    assert status != 0
    assert "404" in told or "terminated" in told
    assert events == []
