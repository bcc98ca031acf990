"""One HTTP server for all conversations of a process at one address: from the first one until the last."""

from __future__ import annotations

import asyncio
import errno
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_voicebench.agents.protocol import AgentAbsent
from pytest_voicebench.agents.tool_host.address import Address
from pytest_voicebench.agents.tool_host.endpoint import Endpoint

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import Receive, Scope, Send

KEEPALIVE_S = 300
"""How long an idle connection is kept: an agent must not find it closed in the moment in which it calls."""

LAST_WORDS_S = 2
"""How long answers that are being written may take once the server stops."""


class Listener:
    """A running server. Every conversation is found by its token, which is the first part of the path."""

    def __init__(self, address: Address) -> None:
        self.users = 0
        self._endpoints: dict[str, Endpoint] = {}
        self._socket = _bound(address)
        self.port: int = self._socket.getsockname()[1]
        self._server = _server(self)
        self._serving = asyncio.ensure_future(self._server.serve(sockets=[self._socket]))

    @contextmanager
    def offering(self, token: str, endpoint: Endpoint) -> Iterator[None]:
        """Answer under this token until the block ends."""
        self._endpoints[token] = endpoint
        try:
            yield
        finally:
            del self._endpoints[token]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; whoever has no valid token learns nothing, not even which paths there are."""
        from starlette.responses import Response

        token, _, path = scope["path"].removeprefix("/").partition("/")
        endpoint = self._found(token)
        if endpoint is None:
            await Response(status_code=404)(scope, receive, send)
            return
        await endpoint.serve(path, scope, receive, send)

    def _found(self, token: str) -> Endpoint | None:
        """Compared with every token in constant time, so that the time of an answer gives nothing away."""
        found = None
        for known, endpoint in self._endpoints.items():
            if secrets.compare_digest(known.encode(), token.encode(errors="replace")):
                found = endpoint
        return found

    async def stop(self) -> None:
        """Close the socket and every connection."""
        self._server.should_exit = True
        await asyncio.wait([self._serving])
        for server in getattr(self._server, "servers", ()):  # where serving was cancelled
            server.close()
        self._socket.close()


def _server(app: Any) -> uvicorn.Server:
    import uvicorn

    config = uvicorn.Config(
        app,
        loop="none",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # it would show tokens
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEPALIVE_S,
        timeout_graceful_shutdown=LAST_WORDS_S,
    )
    server = uvicorn.Server(config)
    server.capture_signals = nullcontext  # type: ignore[method-assign,assignment] # Ctrl-C is pytest's
    return server


def _bound(address: Address) -> socket.socket:
    """A listening socket. Raises AgentAbsent, one line that says what to do."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listening = socket.create_server((address.host, address.port), family=family, backlog=1024)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            told = "is taken: choose another port, or port 0 for any free one (with -n every worker needs its own)"
        else:
            told = f"cannot be listened at: {error.strerror or error}"
        raise AgentAbsent(f"tools address {address} {told}") from None
    # Connections inherit it. asyncio sets it only where it made the socket, and without it every answer, which goes out
    # as head and body, comes 40 ms late.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


@dataclass(slots=True)
class _Listeners:
    """Of one event loop. One is started or stopped at a time, so that an address is free before it is used again."""

    by_address: dict[Address, Listener] = field(default_factory=dict)
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)


_LISTENERS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Listeners] = WeakKeyDictionary()


@asynccontextmanager
async def listening(address: Address) -> AsyncIterator[Listener]:
    """The server of this loop at the address. Raises AgentAbsent where nothing can listen there."""
    listeners = _LISTENERS.setdefault(asyncio.get_running_loop(), _Listeners())
    async with listeners.changing:
        listener = listeners.by_address.get(address)
        if listener is None:
            listener = listeners.by_address[address] = Listener(address)
        listener.users += 1
    try:
        yield listener
    finally:
        async with listeners.changing:
            listener.users -= 1
            if not listener.users:
                del listeners.by_address[address]
                await listener.stop()
