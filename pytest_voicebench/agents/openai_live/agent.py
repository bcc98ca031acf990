"""The agent `gpt-live` as a description: settings in, a line out."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pytest_voicebench.agents.addresses import is_private, websocket_flaw
from pytest_voicebench.agents.audio_frame import AUDIO, AudioFrame
from pytest_voicebench.agents.briefing import briefing, function_tools
from pytest_voicebench.agents.credentials import Secret, Unrevealing, find_key, need_key
from pytest_voicebench.agents.openai_live.state import LiveState
from pytest_voicebench.agents.openai_realtime.line import RealtimeLine
from pytest_voicebench.agents.protocol import Line, Setup, Usage
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.wire import CLOSE_TIMEOUT_S, Wire, open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import AgentInfo

Json = Any

_OWN_HOST = "api.openai.com"
_APPEND = AudioFrame({"type": "session.input_audio.append", "audio": AUDIO})


@dataclass(frozen=True, kw_only=True, repr=False)
class GptLive(Unrevealing):
    """OpenAI's Live API over a WebSocket; its fields are the settings.

    The voice model has no tools: it hands tasks to `backend_model`, which has them. `backend_effort`: how much that one
    thinks, `default` leaves it to the server. `acknowledgement_ms`: how long the voice waits before it says that it is
    at work; it is sent as it stands. There is no turn detection to set.

    The key is needed at OpenAI's own address. Another server gets it where it is set, but not in the clear over a
    network. Raises ValueError, one line, for a wrong setting or a missing key.
    """

    url: str = f"wss://{_OWN_HOST}/v1/live/sessions"
    model: str = "gpt-live-1"
    voice: str = "marin"
    backend_model: str = "gpt-5.6-luna"
    backend_effort: str = "default"
    acknowledgement_ms: int = 0
    _secret: Secret | None = field(init=False, repr=False, compare=False, default=None)

    NAME: ClassVar[str] = "gpt-live"
    VARIABLES: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    EFFORTS: ClassVar[tuple[str, ...]] = ("default", "none", "minimal", "low", "medium", "high", "xhigh")

    def __post_init__(self) -> None:
        """Check the settings and find the key."""
        for name in ("url", "model", "voice", "backend_model", "backend_effort"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value or not value.isprintable():
                raise ValueError(f"{name} must be text, not {value!r}")
        if flaw := websocket_flaw(self.url):
            raise ValueError(flaw)
        if self.backend_effort not in self.EFFORTS:
            raise ValueError(f"backend_effort must be {' or '.join(self.EFFORTS)}, not {self.backend_effort!r}")
        if not 0 <= self.acknowledgement_ms <= 60_000:
            raise ValueError(f"acknowledgement_ms must be from 0 to 60000, not {self.acknowledgement_ms}")
        object.__setattr__(self, "_secret", self._found_key())

    def _found_key(self) -> Secret | None:
        if urlsplit(self.url).hostname == _OWN_HOST:
            return need_key(self.VARIABLES)
        return find_key(self.VARIABLES) if is_private(self.url) else None

    @property
    def info(self) -> AgentInfo:
        """What the report says: all that was asked of the server, and from which variable the key came."""
        return AgentInfo(
            name=self.NAME,
            model=self.model,
            transport="websocket",
            clock="wall",
            input_hz=RATE_HZ,
            settings={
                "url": self.url,
                "voice": self.voice,
                "turn_detection": "the model's own",
                "backend_model": self.backend_model,
                "backend_effort": self.backend_effort,
                "acknowledgement_ms": self.acknowledgement_ms,
                "proxy": "off",
                "signed_in_with": self._secret.variable if self._secret else None,
            },
        )

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Open a line whose session has started. Raises AgentAbsent."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        loop = asyncio.get_running_loop()
        log = setup.log or WireLog(loop.time)
        headers = {"Authorization": f"Bearer {self._secret.reveal()}"} if self._secret else {}
        async with open_wire(self.url, log=log, headers=headers, secret=self._secret) as wire:
            await self._start(wire, setup)
            state = LiveState(now_s=wire.now_s)
            line = RealtimeLine(wire, state, frame=_APPEND)
            try:
                yield line
            finally:
                line.closing_usage = await _close(wire, state)

    async def _start(self, wire: Wire, setup: Setup) -> None:
        """Ask for the session; the server says nothing before it. Raises Unreachable."""
        await wire.send({"type": "session.start", "session": self.session(setup)})
        ends = ("session.started", "session.closed", "error")
        event = await wire.wait_for(lambda e: e.get("type") in ends, "session.started")
        if event["type"] != "session.started":
            error = event.get("error")
            told = error.get("message") if isinstance(error, dict) else event.get("reason")
            raise Unreachable("rejected", wire.scrubbed(f"the server refused the session: {told or 'no reason given'}"))

    def session(self, setup: Setup) -> dict[str, Json]:
        """The session as it is asked for: both models are told the same."""
        backend: dict[str, Json] = {
            "model": self.backend_model,
            "instructions": briefing(setup),
            "tools": function_tools(setup),
            "tool_choice": "auto",
        }
        if self.backend_effort != "default":
            backend["reasoning"] = {"effort": self.backend_effort}
        return {
            "model": self.model,
            "instructions": briefing(setup),
            "audio": {"format": {"type": "audio/pcm", "rate": RATE_HZ}, "output": {"voice": self.voice}},
            "delegation": {
                "type": "responses",
                "responses": backend,
                "acknowledgement_delay_ms": self.acknowledgement_ms,
            },
        }


async def _close(wire: Wire, state: LiveState) -> dict[str, float]:
    """Ask for the end, and wait a little for its confirmation: without it nothing is final on the server.

    Gives what the server counted meanwhile.
    """
    counts: defaultdict[str, float] = defaultdict(float)

    def ended(event: dict[str, Json]) -> bool:
        for told in state.take(event):
            for name, count in told.counts.items() if isinstance(told, Usage) else ():
                counts[name] += count
        return event.get("type") == "session.closed"

    if await wire.farewell({"type": "session.close"}):
        with suppress(TimeoutError, Unreachable):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await wire.wait_for(ended, "session.closed")
    return dict(counts)
