"""The agents `moshi` and `personaplex` as descriptions: settings in, a line out."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

from pytest_voicebench.agents.addresses import shown_url, websocket_flaw
from pytest_voicebench.agents.briefing import briefing
from pytest_voicebench.agents.credentials import Unrevealing
from pytest_voicebench.agents.moshi.codec import Decoder, Encoder
from pytest_voicebench.agents.moshi.line import MoshiLine
from pytest_voicebench.agents.moshi.state import StreamState
from pytest_voicebench.agents.protocol import Line, Setup
from pytest_voicebench.agents.wire import open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio import RATE_HZ
from pytest_voicebench.conversation import AgentInfo


@dataclass(frozen=True, kw_only=True, repr=False)
class Moshi(Unrevealing):
    """A server that speaks Moshi's protocol over a WebSocket; its fields are the settings.

    `url`: the endpoint; what its query holds is sent as it stands (the server in Rust takes temperatures and seeds
    there). `handshake_s`: so long the server may take until it listens; it holds one conversation at a time, and the
    next one waits here.

    The model takes no instructions and no tools, so it is told nothing. Raises ValueError, one line, for a wrong
    setting or where `sphn` is not installed.
    """

    url: str = "ws://127.0.0.1:8998/api/chat"
    model: str = "moshi"
    handshake_s: float = 25.0

    NAME: ClassVar[str] = "moshi"

    def __post_init__(self) -> None:
        """Check the settings."""
        for name in ("url", "model"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value or not value.isprintable():
                raise ValueError(f"{name} must be text, not {value!r}")
        if flaw := websocket_flaw(self.url):
            raise ValueError(flaw)
        if not 0.1 <= self.handshake_s <= 25:
            raise ValueError(f"handshake_s must be from 0.1 to 25, not {self.handshake_s}")
        if importlib.util.find_spec("sphn") is None:
            raise ValueError("sphn is not installed: pip install 'pytest-voicebench[moshi]'")
        self.check_own()

    def check_own(self) -> None:
        """Check the settings that this agent has alone. Raises ValueError."""

    def query(self, setup: Setup) -> Mapping[str, str | int]:
        """What the model is told when the line opens, beside what `url` holds."""
        return {}

    @property
    def info(self) -> AgentInfo:
        """What the report says: all that was asked of the server, and what it cannot be asked."""
        shown = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "model"}
        return AgentInfo(
            name=self.NAME,
            model=self.model,
            transport="websocket",
            clock="wall",
            input_hz=RATE_HZ,
            settings={
                **shown,
                "turn_detection": "none: the model decides in every frame of 80 ms",
                "tools": "none",
                "instructions": "sent" if type(self).query is not Moshi.query else "not sent",
                "proxy": "off",
            },
        )

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Open a line and wait until the server listens. Raises AgentAbsent."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        log = setup.log or WireLog(asyncio.get_running_loop().time)
        asked = self.query(setup)
        log.sent({"type": "query", **asked})
        async with open_wire(self._address(asked), log=log) as wire:
            await wire.first(wire.receive_mixed(), _is_handshake, "handshake", self.handshake_s)
            yield MoshiLine(wire, Encoder(), StreamState(Decoder()))

    def _address(self, asked: Mapping[str, str | int]) -> str:
        query = "&".join(part for part in (urlsplit(self.url).query, urlencode(asked, quote_via=quote)) if part)
        return f"{shown_url(self.url)}?{query}" if query else self.url


@dataclass(frozen=True, kw_only=True, repr=False)
class PersonaPlex(Moshi):
    """NVIDIA's PersonaPlex, which takes a voice and instructions (see Moshi); still no tools.

    `voice`: the name of a voice prompt. `seed`: of the sampling, the next one for each further
    trial; below 0 sends none.
    """

    model: str = "personaplex-7b"
    voice: str = "NATF2"
    seed: int = -1

    NAME: ClassVar[str] = "personaplex"

    def check_own(self) -> None:
        """Check the voice."""
        if not isinstance(self.voice, str) or not self.voice or not self.voice.isprintable():
            raise ValueError(f"voice must be text, not {self.voice!r}")

    def query(self, setup: Setup) -> Mapping[str, str | int]:
        """A voice and the instructions, in the address: the server has no other place for them."""
        seed = {"seed": self.seed + setup.trial - 1} if self.seed >= 0 else {}
        return {"voice_prompt": f"{self.voice}.pt", "text_prompt": briefing(setup), **seed}


def _is_handshake(frame: dict[str, Any] | bytes) -> bool:
    return isinstance(frame, bytes) and frame[:1] == b"\0"
