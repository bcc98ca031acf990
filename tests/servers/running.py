"""Doubles in a process of their own: one of this package's agents behind them, until their standard input closes."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any


def agent_behind(agent_text: str, suite: Path | None) -> dict[str, Any]:
    """What a double needs to have one of this package's agents behind it: how to open a line, its rate, the tools.

    The suite is read only for what a JSON schema does not say of its tools. Who measures goes first: recognition must
    not make its blocks late.
    """
    from pytest_voicebench.agents.naming import build_agent, parse_agent
    from pytest_voicebench.loading import load_suite

    os.nice(10)
    agent = build_agent(parse_agent(agent_text), None)
    tools = dict(load_suite(suite).info.tools) if suite else {}
    return {"open_line": agent.connect, "input_hz": agent.info.input_hz, "tools": tools}


async def until_input_closes(double: Any, listening: AbstractAsyncContextManager[Any]) -> None:
    """Serve, and say at which port."""
    async with listening:
        print(double.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
