"""The agents `minicpm-o` and `nemotron-voicechat` as descriptions: settings in, a line out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

from pytest_voicebench.agents.addresses import is_private, websocket_flaw
from pytest_voicebench.agents.credentials import Secret, Unrevealing, find_key, need_key
from pytest_voicebench.agents.omni.asked import INPUT_HZ, Asked, overlap_policy
from pytest_voicebench.agents.omni.line import OmniLine
from pytest_voicebench.agents.omni.map import SUBPROTOCOL
from pytest_voicebench.agents.omni.opening import Clock, Opened, open_map, open_sglang, open_vllm
from pytest_voicebench.agents.omni.reference import reference_flaw, reference_wav
from pytest_voicebench.agents.protocol import AgentAbsent, Line, Setup
from pytest_voicebench.agents.settings import need_one_of
from pytest_voicebench.agents.wire import Wire, open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.audio_files import AudioError
from pytest_voicebench.conversation import AgentInfo

Json = Any

_HOSTED = "api.modelbest.cn"
_COMMIT_POLICIES = ("ack_only", "commit_all_on_done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One kind of server: where it is by default, how a session is opened, what it can be asked for."""

    url: str
    model: str
    query: Mapping[str, str]
    open: Callable[[Wire, Asked, Clock], Awaitable[Opened]]
    tools: bool = False
    detects: bool = True
    policies: bool = False
    subprotocol: str | None = None


DIALECTS: Mapping[str, Dialect] = {
    "vllm-omni": Dialect(
        url="ws://localhost:8099/v1/realtime",
        model="openbmb/MiniCPM-o-4_5",
        query={"duplex": "1", "autostart": "0"},
        open=open_vllm,
        tools=True,
        policies=True,
    ),
    "sglang-omni": Dialect(
        url="ws://localhost:8000/v1/realtime",
        model="openbmb/MiniCPM-o-4_5",
        query={"intent": "conversation"},
        open=open_sglang,
    ),
    "map": Dialect(
        url=f"wss://{_HOSTED}/v1/realtime",
        model="minicpm-o-4.5-realtime",
        query={"mode": "audio"},
        open=open_map,
        detects=False,
        subprotocol=SUBPROTOCOL,
    ),
}


@dataclass(frozen=True, kw_only=True, repr=False)
class MiniCpmO(Unrevealing):
    """A model that listens and speaks at once, behind a server of one of three dialects; its fields are the settings.

    `dialect`: `vllm-omni` (its duplex endpoint), `sglang-omni` (a native deployment) or `map` (OpenBMB's own service).
    `url` and `model`: empty for the dialect's own. `ref_audio`: the voice to speak with; `own` is the package's own
    recording, `none` none, else a sound file. `turn_detection`: `none` (the model alone decides when to speak) or
    `server_vad` with `threshold`, `prefix_padding_ms` and `silence_duration_ms`; what is sent is explicit in either
    case. `tools`: tell the model of the suite's tools; only vllm-omni can, and not with every model.
    `playback_commit_policy` is vLLM-Omni's: `ack_only` (the model remembers of an answer what we report as played) or
    `commit_all_on_done`. There speech cuts an answer with `server_vad` only; without it the model decides that too.

    The key is needed at OpenBMB's own address alone. Raises ValueError, one line, for a wrong setting or a missing key.
    """

    dialect: str = "vllm-omni"
    url: str = ""
    model: str = ""
    ref_audio: str = "own"
    turn_detection: str = "none"
    threshold: float = 0.5
    prefix_padding_ms: int = 300
    silence_duration_ms: int = 500
    playback_commit_policy: str = "ack_only"
    tools: bool = False
    _secret: Secret | None = field(init=False, repr=False, compare=False, default=None)

    NAME: ClassVar[str] = "minicpm-o"
    VARIABLES: ClassVar[tuple[str, ...]] = ("MODELBEST_API_KEY",)

    def __post_init__(self) -> None:
        """Check the settings and find the key."""
        need_one_of("dialect", self.dialect, tuple(DIALECTS))
        for name in ("url", "model"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.isprintable():
                raise ValueError(f"{name} must be text, not {value!r}")
        if flaw := websocket_flaw(self._url) or reference_flaw(str(self.ref_audio)):
            raise ValueError(flaw)
        self._check_turns()
        own = self._dialect
        if self.tools is not False and not (self.tools is True and own.tools):
            raise ValueError(f"tools must be {'true or ' if own.tools else ''}false with dialect={self.dialect}")
        object.__setattr__(self, "_secret", self._found_key())

    def _check_turns(self) -> None:
        detections = ("none", "server_vad") if self._dialect.detects else ("none",)
        need_one_of("turn_detection", self.turn_detection, detections)
        need_one_of("playback_commit_policy", self.playback_commit_policy, _COMMIT_POLICIES)
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold must be from 0 to 1, not {self.threshold}")
        if not (0 <= self.prefix_padding_ms <= 10_000 and 0 < self.silence_duration_ms <= 10_000):
            raise ValueError("prefix_padding_ms and silence_duration_ms must be from 0 to 10000")

    @property
    def _dialect(self) -> Dialect:
        return DIALECTS[self.dialect]

    @property
    def _url(self) -> str:
        return self.url or self._dialect.url

    @property
    def _model(self) -> str:
        return self.model or self._dialect.model

    def _found_key(self) -> Secret | None:
        if self.dialect != "map":
            return None
        if urlsplit(self._url).hostname == _HOSTED:
            return need_key(self.VARIABLES)
        return find_key(self.VARIABLES) if is_private(self._url) else None

    @property
    def info(self) -> AgentInfo:
        """What the report says: all that was asked of the server, and from which variable the key came."""
        policies = {
            "overlap_policy": overlap_policy(self._detection()),
            "playback_commit_policy": self.playback_commit_policy,
        }
        return AgentInfo(
            name=self.NAME,
            model=self._model,
            transport="websocket",
            clock="wall",
            input_hz=INPUT_HZ,
            settings={
                "url": self._url,
                "dialect": self.dialect,
                "ref_audio": self.ref_audio,
                **self._detection_settings(),
                **(policies if self._dialect.policies else {}),
                "tools": self.tools,
                "proxy": "off",
                "signed_in_with": self._secret.variable if self._secret else None,
            },
        )

    def _detection_settings(self) -> dict[str, str | float | int]:
        if self.turn_detection == "none":
            return {"turn_detection": "none"}
        names = ("turn_detection", "threshold", "prefix_padding_ms", "silence_duration_ms")
        return {name: getattr(self, name) for name in names}

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Open a line whose session is as asked. Raises AgentAbsent."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        loop = asyncio.get_running_loop()
        log, asked = setup.log or WireLog(loop.time), await self._asked(setup)
        headers = {"Authorization": f"Bearer {self._secret.reveal()}"} if self._secret else {}
        async with open_wire(
            self._address(), log=log, headers=headers, secret=self._secret, subprotocol=self._dialect.subprotocol
        ) as wire:
            opened = await self._dialect.open(wire, asked, wire.now_s)
            try:
                yield OmniLine(wire, opened.state, opened.remarks)
            finally:
                await wire.farewell(opened.farewell)  # a connection that just ends keeps its place for a while

    async def _asked(self, setup: Setup) -> Asked:
        try:
            reference = await asyncio.to_thread(reference_wav, self.ref_audio)
        except AudioError as flaw:
            raise AgentAbsent(f"ref_audio: {flaw}") from None
        return Asked(
            setup=setup,
            model=self._model,
            tools=self.tools,
            detection=self._detection(),
            playback_commit_policy=self.playback_commit_policy,
            reference=reference,
        )

    def _detection(self) -> dict[str, Json] | None:
        rest = self._detection_settings()
        kind = rest.pop("turn_detection")
        return None if kind == "none" else {"type": kind, **rest}

    def _address(self) -> str:
        """The endpoint with what the dialect wants in its query, beside what the query holds already."""
        query = urlsplit(self._url).query
        more = {k: v for k, v in {**self._dialect.query, "model": self._model}.items() if k not in parse_qs(query)}
        return f"{self._url}{'&' if query else '?'}{urlencode(more)}" if more else self._url


@dataclass(frozen=True, kw_only=True, repr=False)
class NemotronVoiceChat(MiniCpmO):
    """NVIDIA's Nemotron VoiceChat on vLLM-Omni, which calls tools (five at most); its fields are the settings."""

    model: str = "nvidia/NVIDIA-NemotronLabs-VoiceChat-11B"
    ref_audio: str = "none"
    tools: bool = True

    NAME: ClassVar[str] = "nemotron-voicechat"
