"""From a description to an open line: one deadline for each try, none for what is waited for at the gate."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

from pytest_voicebench.agent_side import is_our_cancelling, named
from pytest_voicebench.agents.gate import Gate
from pytest_voicebench.agents.protocol import Agent, AgentAbsent, Line, Setup
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.clock import Clock

CONNECT_TIMEOUT_S = 30.0
"""An agent that starts something first may have a `connect_timeout_s` of its own."""

Opened = tuple[AbstractAsyncContextManager[Line], Line]


async def connected(agent: Agent, setup: Setup, *, gate: Gate, log: WireLog, clock: Clock) -> Opened:
    """An open line and what closes it, after as many tries as the gate allows.

    Raises AgentAbsent, whose end the gate tells; GateBroken.
    """
    while True:
        await gate.start()
        try:
            opened = await _open(agent, setup, clock)
        except AgentAbsent as absent:
            if not await gate.again(absent, log):
                raise
            continue
        await gate.connected()
        return opened


async def _open(agent: Agent, setup: Setup, clock: Clock) -> Opened:
    """One try. Raises AgentAbsent: any failure to connect is the same outcome."""
    limit, limit_s = None, CONNECT_TIMEOUT_S
    try:
        limit_s = getattr(agent, "connect_timeout_s", CONNECT_TIMEOUT_S)
        context = agent.connect(setup)
        async with asyncio.timeout(limit_s) as limit:
            return context, await context.__aenter__()
    except AgentAbsent:
        raise
    except BaseException as error:
        if is_our_cancelling(error, clock):
            raise
        late = limit is not None and limit.expired()
        told = f"no connection within {limit_s:.0f} s" if late else f"connect() failed: {named(error)}"
        raise AgentAbsent(told) from error
