"""The agent `livekit-room` as a description: settings in, a line out."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pytest_voicebench.agents.addresses import shown_url, websocket_flaw
from pytest_voicebench.agents.briefing import briefing, function_tools
from pytest_voicebench.agents.credentials import Unrevealing, need_key, secrets_in
from pytest_voicebench.agents.livekit.agent import SOURCES, start_timeout_flaw
from pytest_voicebench.agents.livekit.calls import ReportedCalls, Source
from pytest_voicebench.agents.livekit.messages import WIRE_HZ
from pytest_voicebench.agents.livekit_room.line import RoomLine
from pytest_voicebench.agents.livekit_room.seat import JOIN_S, LEAVE_S, STATE_ATTRIBUTE, Seat
from pytest_voicebench.agents.livekit_room.service import DELETE_S, REQUEST_S, RentedRoom, Server, rented_room
from pytest_voicebench.agents.livekit_room.state import RoomState
from pytest_voicebench.agents.present import Present
from pytest_voicebench.agents.protocol import AgentAbsent, Line, Setup
from pytest_voicebench.agents.tool_host import LOOPBACK, ToolHost, address_flaw, tool_host
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo

Json = Any

SETUP_S = 3 * REQUEST_S + JOIN_S + 10.0
"""What the engine allows above the wait for the agent: the room, the seat, the dispatch, and the reason to be told."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LiveKitRoom(Unrevealing):
    """A LiveKit agent in a room of a LiveKit server (LiveKit Cloud, or one's own); its fields are the settings.

    `agent_name`: the name that its worker registers. `url`: the server; LIVEKIT_URL where it is empty. `metadata`: a
    JSON object that the agent gets besides what we tell it. `tools`: whose calls are recorded, as for `livekit`.
    `tools_at`: where the suite's tools are offered; `tools_public_url`: how the agent reaches it, where that is another
    address. `join_timeout_s`: from the dispatch until the agent listens; nothing of it is measured.

    LIVEKIT_API_KEY and LIVEKIT_API_SECRET are found, and never shown. Raises ValueError, one line, for a wrong setting
    or what is missing.
    """

    agent_name: str
    url: str = ""
    metadata: str = field(default="", repr=False)
    tools: str = "both"
    tools_at: str = LOOPBACK
    tools_public_url: str = ""
    join_timeout_s: float = 30.0
    _server: Server = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the settings, and find what they need."""
        if importlib.util.find_spec("livekit.rtc") is None:
            raise ValueError("rooms need the extra 'livekit': pip install 'pytest-voicebench[livekit]'")
        if not isinstance(self.agent_name, str) or not self.agent_name:
            raise ValueError(f"agent_name must be the name that the agent's worker registers, not {self.agent_name!r}")
        url = self.url or need_key(("LIVEKIT_URL",)).reveal()
        url = re.sub(r"^http(?=s?://)", "ws", url)
        if flaw := websocket_flaw(url):
            raise ValueError(flaw if self.url else f"LIVEKIT_URL: {flaw}")
        object.__setattr__(self, "url", url)
        server = Server(url=url, key=need_key(("LIVEKIT_API_KEY",)), secret=need_key(("LIVEKIT_API_SECRET",)))
        object.__setattr__(self, "_server", server)
        if flaw := metadata_flaw(self.metadata) or self._tools_flaw():
            raise ValueError(flaw)
        if flaw := start_timeout_flaw(self.join_timeout_s):
            raise ValueError(flaw.replace("start_timeout_s", "join_timeout_s"))

    def _tools_flaw(self) -> str | None:
        if self.tools not in SOURCES:
            return f"tools must be {' or '.join(SOURCES)}, not {self.tools!r}"
        if self.tools == "session":
            none_set = (self.tools_at, self.tools_public_url) == (LOOPBACK, "")
            return None if none_set else "tools_at and tools_public_url belong to tools=host or both"
        flaw = address_flaw(self.tools_at, self.tools_public_url or None)
        return f"{flaw} (or tools=session, where the agent's own tools answer)" if flaw else None

    @property
    def connect_timeout_s(self) -> float:
        """What the engine is to allow for connecting."""
        return self.join_timeout_s + SETUP_S

    @property
    def close_timeout_s(self) -> float:
        """What the engine is to allow for leaving: the seat, the room's deletion, and the tools' farewell."""
        return 2 * LEAVE_S + DELETE_S + 2.0

    @property
    def info(self) -> AgentInfo:
        """What the report says."""
        return AgentInfo(
            name="livekit-room",
            transport="livekit room",
            clock="wall",
            input_hz=WIRE_HZ,
            settings={
                "agent_name": self.agent_name,
                "url": shown_url(self.url),
                "metadata": self.metadata or None,
                "tools": self.tools,
                "tools_at": None if self.tools == "session" else self.tools_at,
                "tools_public_url": self.tools_public_url or None,
                "turn_detection": "the agent's own",
                "encoding": "Opus, 48 kHz, no DTX, no RED",
            },
        )

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Rent a room, send for the agent, and wait until it listens. Raises AgentAbsent."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        loop = asyncio.get_running_loop()
        log = setup.log or WireLog(loop.time)
        hidden = [self._server.secret, self._server.key, *secrets_in(self._own_metadata())]
        for secret in hidden:
            log.hide(secret)
        await asyncio.to_thread(_load)
        async with AsyncExitStack() as stack:
            host = await self._tools(replace(setup, log=log), stack)
            name = f"voicebench-{secrets.token_urlsafe(18)}"
            room = await stack.enter_async_context(rented_room(name, self._server, log))
            seat = Seat(log)
            stack.push_async_callback(seat.leave)
            await seat.sit(self._server, name)
            await room.dispatch(self.agent_name, self._told(setup, host))
            source = cast(Source, self.tools)
            present = Present(loop.time)
            state = RoomState(now_s=present.now_s, calls=ReportedCalls(source=source, now_s=present.now_s))
            line = RoomLine(seat, state, present, host, [*hidden, host.secret] if host else hidden)
            await self._until_ready(line, seat, state, room)
            yield line

    async def _tools(self, setup: Setup, stack: AsyncExitStack) -> ToolHost | None:
        if self.tools == "session":
            return None
        offered = tool_host(setup, address=self.tools_at, public_url=self.tools_public_url or None)
        return await stack.enter_async_context(offered)

    def _told(self, setup: Setup, host: ToolHost | None) -> str:
        """The metadata of the dispatch."""
        told = {"instructions": briefing(setup), "tools": function_tools(setup)}
        return json.dumps({**told, **({"tools_url": host.url} if host else {}), **self._own_metadata()})

    def _own_metadata(self) -> dict[str, Json]:
        return dict(json.loads(self.metadata)) if self.metadata else {}

    async def _until_ready(self, line: RoomLine, seat: Seat, state: RoomState, room: RentedRoom) -> None:
        """Raises AgentAbsent."""
        try:
            async with asyncio.timeout(self.join_timeout_s):
                gone = await line.until_ready()
        except TimeoutError:
            raise AgentAbsent(await self._late(seat, state, room)) from None
        if gone is not None:
            raise AgentAbsent(f"before the agent listened: {gone.why or 'it left the room'}")

    async def _late(self, seat: Seat, state: RoomState, room: RentedRoom) -> str:
        within, where = f"within {self.join_timeout_s:g} s", self._server.where
        if seat.has_agent:
            told = "receive the user's track" if state.listening else f"say that it listens ({STATE_ATTRIBUTE})"
            return f"an agent came into the room, and did not {told} {within}"
        if await room.was_taken():
            return f"a worker took the job, and its agent did not come into the room {within}: see the worker's log"
        return f"no agent came into the room {within}: is a worker named {self.agent_name!r} registered at {where}?"


def metadata_flaw(text: object) -> str | None:
    """What is wrong with the metadata that are to be passed on, or None."""
    try:
        fine = isinstance(text, str) and (not text or isinstance(json.loads(text), dict))
    except (ValueError, RecursionError):
        fine = False
    return None if fine else 'metadata must be a JSON object: metadata=\'{"language": "en"}\''


def _load() -> None:
    """Import what speaks, away from the loop: it takes a second, and other conversations go on meanwhile."""
    for name in ("livekit.api", "livekit.rtc"):
        importlib.import_module(name)
