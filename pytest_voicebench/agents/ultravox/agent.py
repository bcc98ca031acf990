"""The agent `ultravox` as a description: settings in, a line out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pytest_voicebench.agents.addresses import endpoint_flaw, is_private
from pytest_voicebench.agents.credentials import Secret, Unrevealing, find_key, need_key
from pytest_voicebench.agents.protocol import Line, Setup
from pytest_voicebench.agents.ultravox.creation import INPUT_HZ, Asked, call_request, create_call, delete_call, duration
from pytest_voicebench.agents.ultravox.line import UltravoxLine
from pytest_voicebench.agents.ultravox.state import CallState
from pytest_voicebench.agents.wire import Wire, open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo

_OWN_HOST = "api.ultravox.ai"

_RANGES = {
    "temperature": (0.0, 1.0),
    "turn_endpoint_delay_s": (0.0, 10.0),
    "minimum_turn_duration_s": (0.0, 10.0),
    "minimum_interruption_duration_s": (0.0, 10.0),
    "frame_activation_threshold": (0.1, 1.0),
    "client_buffer_size_ms": (0, 60_000),
    "tool_timeout_s": (0.1, 40.0),
    "max_duration_s": (10, 3600),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Ultravox(Unrevealing):
    """Ultravox over a server WebSocket; its fields are the settings, and all of them are sent.

    `url`: the API up to and with `/api`. `language_hint`: `auto` sends none. `first_speaker`: `user`, or `agent`, which
    greets. `turn_endpoint_delay_s`, `minimum_turn_duration_s`, `minimum_interruption_duration_s` and
    `frame_activation_threshold`: the server's turn detection. `client_buffer_size_ms`: so far ahead of real time the
    server may send. `tool_timeout_s`: so long it waits for a tool, 40 at most. `max_duration_s`: it ends the call then.

    The key is needed at the provider's own address. Another server gets it where it is set, but not in the clear over a
    network. Raises ValueError, one line, for a wrong setting or a missing key.
    """

    url: str = f"https://{_OWN_HOST}/api"
    model: str = "ultravox-v0.7"
    voice: str = "Mark"
    temperature: float = 0.0
    language_hint: str = "en"
    first_speaker: str = "user"
    turn_endpoint_delay_s: float = 0.384
    minimum_turn_duration_s: float = 0.0
    minimum_interruption_duration_s: float = 0.09
    frame_activation_threshold: float = 0.1
    client_buffer_size_ms: int = 30_000
    tool_timeout_s: float = 40.0
    max_duration_s: int = 3600
    _secret: Secret | None = field(init=False, repr=False, compare=False, default=None)

    VARIABLES: ClassVar[tuple[str, ...]] = ("ULTRAVOX_API_KEY",)

    def __post_init__(self) -> None:
        """Check the settings and find the key."""
        for name in ("model", "voice", "language_hint", "first_speaker"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value or not value.isprintable():
                raise ValueError(f"{name} must be text, not {value!r}")
        if flaw := endpoint_flaw(self.url, "Ultravox's API: https://HOST/api or http://HOST:PORT/api"):
            raise ValueError(f"url {flaw}")
        if self.first_speaker not in ("user", "agent"):
            raise ValueError(f"first_speaker must be user or agent, not {self.first_speaker!r}")
        for name, (low, high) in _RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be from {low:g} to {high:g}, not {getattr(self, name)}")
        object.__setattr__(self, "_secret", self._found_key())

    def _found_key(self) -> Secret | None:
        if urlsplit(self.url).hostname == _OWN_HOST:
            return need_key(self.VARIABLES)
        return find_key(self.VARIABLES) if is_private(self.url) else None

    @property
    def info(self) -> AgentInfo:
        """What the report says: all that was asked of the server, and from which variable the key came."""
        return AgentInfo(
            name="ultravox",
            model=self.model,
            transport="websocket",
            clock="wall",
            input_hz=INPUT_HZ,
            settings={
                **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("model", "_secret")},
                "turn_detection": "server",
                "proxy": "off",
                "signed_in_with": self._secret.variable if self._secret else None,
            },
        )

    def asked(self) -> Asked:
        """The same in the API's words."""
        hint = {} if self.language_hint == "auto" else {"languageHint": self.language_hint}
        return Asked(
            options={"model": self.model, "voice": self.voice, "temperature": self.temperature, **hint},
            detection={
                "turnEndpointDelay": duration(self.turn_endpoint_delay_s),
                "minimumTurnDuration": duration(self.minimum_turn_duration_s),
                "minimumInterruptionDuration": duration(self.minimum_interruption_duration_s),
                "frameActivationThreshold": self.frame_activation_threshold,
            },
            agent_begins=self.first_speaker == "agent",
            client_buffer_ms=self.client_buffer_size_ms,
            tool_timeout_s=self.tool_timeout_s,
            max_duration_s=self.max_duration_s,
        )

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Create a call and join it. Raises AgentAbsent."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        now_s = asyncio.get_running_loop().time
        log = setup.log or WireLog(now_s)
        call = await create_call(self.url, call_request(self.asked(), setup), secret=self._secret, log=log)
        async with AsyncExitStack() as stack:
            try:  # the address is all that lets us in
                wire = await stack.enter_async_context(open_wire(call.join_url, log=log, secret=self._secret))
                first = await _greeting(wire)
            except BaseException:
                await stack.aclose()
                await delete_call(self.url, call, secret=self._secret, log=log)
                raise
            state = CallState(now_s=wire.now_s, tool_timeout_s=self.tool_timeout_s)
            line = UltravoxLine(wire, state, first, call.remarks)
            try:
                yield line
            finally:
                await line.hang_up()


async def _greeting(wire: Wire) -> dict[str, Any] | bytes:
    """The first frame of a call that stands; sound is one as well. Raises Unreachable."""

    def stands(frame: dict[str, Any] | bytes) -> bool:
        return isinstance(frame, bytes) or frame.get("type") in ("call_started", "state")

    return await wire.first(wire.receive_mixed(), stands, "call_started")
