"""The agents `gpt-realtime` and `grok` as descriptions: settings in, a line out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, urlsplit

from pytest_voicebench.agents.addresses import is_private, websocket_flaw
from pytest_voicebench.agents.credentials import Secret, Unrevealing, find_key, need_key
from pytest_voicebench.agents.openai_realtime.dialects import DIALECTS, Asked, differences, session_update
from pytest_voicebench.agents.openai_realtime.line import RealtimeLine
from pytest_voicebench.agents.openai_realtime.state import SessionState
from pytest_voicebench.agents.protocol import Fault, Line, Setup
from pytest_voicebench.agents.refusals import Unreachable
from pytest_voicebench.agents.settings import need_one_of
from pytest_voicebench.agents.wire import Wire, open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import AgentInfo

_EAGERNESS = ("low", "medium", "high", "auto")


@dataclass(frozen=True, kw_only=True, repr=False)
class GptRealtime(Unrevealing):
    """A server that speaks OpenAI's Realtime API over a WebSocket; its fields are the settings.

    `url`: the endpoint; the model joins its query unless it has one. `dialect`: `ga`, `beta` (the shape before general
    availability, which older compatible servers speak) or `grok`. `turn_detection`: `server_vad` with `threshold`,
    `prefix_padding_ms` and `silence_duration_ms`, or `semantic_vad` with `eagerness`; all are sent as they stand.
    `transcription`: the model that writes down the user, `none` for none.

    The key is needed at the provider's own address. Another server gets it where it is set, but not in the clear over a
    network. Raises ValueError, one line, for a wrong setting or a missing key.
    """

    url: str = "wss://api.openai.com/v1/realtime"
    model: str = "gpt-realtime"
    voice: str = "marin"
    dialect: str = "ga"
    turn_detection: str = "server_vad"
    threshold: float = 0.5
    prefix_padding_ms: int = 300
    silence_duration_ms: int = 500
    eagerness: str = "auto"
    transcription: str = "gpt-4o-mini-transcribe"
    _secret: Secret | None = field(init=False, repr=False, compare=False, default=None)

    NAME: ClassVar[str] = "gpt-realtime"
    VARIABLES: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)

    def __post_init__(self) -> None:
        """Check the settings and find the key."""
        for name in ("url", "model", "voice", "dialect", "turn_detection", "eagerness", "transcription"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value or not value.isprintable():
                raise ValueError(f"{name} must be text, not {value!r}")
        if flaw := websocket_flaw(self.url):
            raise ValueError(flaw)
        need_one_of("dialect", self.dialect, tuple(DIALECTS))
        need_one_of("turn_detection", self.turn_detection, DIALECTS[self.dialect].turn_detections)
        need_one_of("eagerness", self.eagerness, _EAGERNESS)
        if self.turn_detection == "server_vad" and self.eagerness != "auto":
            raise ValueError("eagerness belongs to turn_detection=semantic_vad")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must be from 0 to 1, not {self.threshold}")
        if not (0 <= self.prefix_padding_ms <= 10_000 and 0 < self.silence_duration_ms <= 10_000):
            raise ValueError("prefix_padding_ms and silence_duration_ms must be from 0 to 10000")
        object.__setattr__(self, "_secret", self._found_key())

    def _found_key(self) -> Secret | None:
        own = {f.name: f.default for f in fields(self)}["url"]
        if urlsplit(self.url).hostname == urlsplit(str(own)).hostname:
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
                "dialect": self.dialect,
                "voice": self.voice,
                **self.turn_detection_settings(),
                "transcription": self.transcription,
                "proxy": "off",
                "signed_in_with": self._secret.variable if self._secret else None,
            },
        )

    def turn_detection_settings(self) -> Mapping[str, str | float | int]:
        """Those that are sent."""
        if self.turn_detection == "semantic_vad":
            return {"turn_detection": "semantic_vad", "eagerness": self.eagerness}
        return {
            "turn_detection": "server_vad",
            "threshold": self.threshold,
            "prefix_padding_ms": self.prefix_padding_ms,
            "silence_duration_ms": self.silence_duration_ms,
        }

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Open a line whose session is as asked. Raises AgentAbsent."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        loop = asyncio.get_running_loop()
        log = setup.log or WireLog(loop.time)
        headers = dict(DIALECTS[self.dialect].headers)
        if self._secret is not None:
            headers["Authorization"] = f"Bearer {self._secret.reveal()}"
        async with open_wire(self._address(), log=log, headers=headers, secret=self._secret) as wire:
            notes = await self._configure(wire, setup)
            yield RealtimeLine(wire, SessionState(now_s=wire.now_s), notes)

    def _address(self) -> str:
        """The endpoint with the model in its query, beside what the query holds already."""
        query = urlsplit(self.url).query
        if "model" in parse_qs(query):
            return self.url
        return f"{self.url}{'&' if query else '?'}model={quote(self.model, safe='')}"

    async def _configure(self, wire: Wire, setup: Setup) -> list[Fault]:
        """Send the session's settings and wait until they hold; what the server changed comes back as remarks."""
        await _await(wire, "session.created", "conversation.created")
        asked = Asked(
            voice=self.voice,
            turn_detection=self.turn_detection_settings(),
            transcription=None if self.transcription == "none" else self.transcription,
        )
        update = session_update(self.dialect, asked, setup)
        await wire.send(update)
        answer = await _await(wire, "session.updated")
        return [
            Fault(kind="agent", message=f"the server did not take a setting: {told}")
            for told in differences(update["session"], answer.get("session"))
        ]


@dataclass(frozen=True, kw_only=True, repr=False)
class Grok(GptRealtime):
    """xAI's Grok Voice Agent API, a dialect of OpenAI's; its fields are the settings (see GptRealtime)."""

    url: str = "wss://api.x.ai/v1/realtime"
    model: str = "grok-voice-latest"
    voice: str = "Ara"
    dialect: str = "grok"
    transcription: str = "grok-transcribe"

    NAME: ClassVar[str] = "grok"
    VARIABLES: ClassVar[tuple[str, ...]] = ("XAI_API_KEY",)


async def _await(wire: Wire, *kinds: str) -> dict[str, Any]:
    """The first event of these kinds. Raises Unreachable, also for an error in its place."""
    event = await wire.wait_for(lambda e: e.get("type") in (*kinds, "error"), kinds[0])
    if event["type"] != "error":
        return event
    error = event.get("error")
    told = error.get("message") if isinstance(error, dict) else None
    raise Unreachable("rejected", wire.scrubbed(f"the server refused the session: {told or 'no reason given'}"))
