"""The tools of one conversation over HTTP and MCP: calls come out as events, results go in as answers."""

from __future__ import annotations

import asyncio
import importlib
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pytest_voicebench.agents.credentials import Secret
from pytest_voicebench.agents.protocol import AgentAbsent, Setup, ToolResult
from pytest_voicebench.agents.tool_host.address import LOOPBACK, Address, address_flaw, parse_address
from pytest_voicebench.agents.tool_host.endpoint import Endpoint
from pytest_voicebench.agents.tool_host.listening import listening
from pytest_voicebench.agents.tool_host.open_calls import Called, OpenCalls
from pytest_voicebench.agents.wire_log import WireLog


class ToolHost:
    """The tools of one conversation, as long as it lasts.

    `url` is for the agent alone: whoever knows it can call. It answers

    - `POST {url}/tools/NAME` with a JSON object of arguments, by the tool's result as JSON;
    - `GET {url}/tools`, by the declarations (`type`, `name`, `description`, `parameters`: JSON Schema);
    - `GET {url}/instructions`, by what the agent is to be told: the suite's instructions, the day, documents; as text;
    - `{url}/mcp`: the same tools by the Model Context Protocol, streamable HTTP.

    `secret` is the token in it, to keep it out of messages; the log of the conversation never shows it.
    """

    def __init__(self, url: str, secret: Secret, calls: OpenCalls) -> None:
        self.url = url
        self.secret = secret
        self._calls = calls

    async def calls(self) -> AsyncIterator[Called]:
        """Calls as they come in, and those whose client went away before the answer; until the end.

        A Fault, once, says that more came at once than are let wait; those were refused.
        """
        async for event, _ in self._calls.events():
            yield event

    def timed_calls(self) -> AsyncIterator[tuple[Called, float]]:
        """The same, each with when it came, by the loop's clock."""
        return self._calls.events()

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Complete the requests that wait for these results. Results of other calls are passed over."""
        self._calls.answer(results)


@asynccontextmanager
async def tool_host(setup: Setup, *, address: str = LOOPBACK, public_url: str | None = None) -> AsyncIterator[ToolHost]:
    """Offer the tools of a conversation until the block ends, under a new token that nobody can guess.

    Conversations of one process at one address share one server. Requests that are open in the end are answered with
    503. `public_url`: how the agent reaches the address (of a tunnel or proxy that hands on whole paths), where that is
    not the address itself. Raises AgentAbsent, one line: the address is taken or cannot be used, the extra is missing.
    """
    if flaw := address_flaw(address, public_url):
        raise AgentAbsent(flaw)
    await asyncio.to_thread(_load)
    token = secrets.token_urlsafe(32)
    secret = Secret(token, "the conversation's tools")
    log = setup.log or WireLog(asyncio.get_running_loop().time)
    log.hide(secret)
    calls = OpenCalls(log)
    endpoint = Endpoint(setup, calls, log.note)
    where = parse_address(address)
    async with listening(where) as listener, endpoint.open():
        base = public_url.rstrip("/") if public_url else f"http://{Address(host=where.host, port=listener.port)}"
        with listener.offering(token, endpoint):
            yield ToolHost(f"{base}/{token}", secret, calls)


def _load() -> None:
    """Import what answers, away from the loop: it takes a second, and other conversations go on meanwhile."""
    for name in ("mcp.server.lowlevel", "mcp.server.streamable_http_manager", "uvicorn.protocols.http.h11_impl"):
        importlib.import_module(name)
