"""`via=livekit`: a system that we know, behind a small LiveKit agent of our own, with the suite's tools.

Settings, their checks and the key are those of the system's own adapter; what LiveKit's plugin cannot pass on may not
be changed.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

from pytest_voicebench.agents.cascaded import Cascaded
from pytest_voicebench.agents.credentials import Secret, Unrevealing
from pytest_voicebench.agents.gemini_live import Gemini25, Gemini31, Gemini38
from pytest_voicebench.agents.gemini_live.agent import GeminiLive
from pytest_voicebench.agents.livekit.agent import LEAVE_S, Start, open_agent, python_flaw, start_timeout_flaw
from pytest_voicebench.agents.livekit.messages import WIRE_HZ
from pytest_voicebench.agents.openai_realtime import GptRealtime, Grok
from pytest_voicebench.agents.protocol import Line, Setup
from pytest_voicebench.agents.tool_host import address_flaw
from pytest_voicebench.agents.ultravox import Ultravox
from pytest_voicebench.conversation import AgentInfo

Json = Any

_PATH = re.compile(r"/ws/google\.ai\.generativelanguage\.(v\w+)\.GenerativeService\.BidiGenerateContent")
_PROXIES = frozenset(f"{scheme}_proxy" for scheme in ("http", "https", "all", "ws", "wss", "socks"))
OWN_AGENT = Path(__file__).parent / "deployed" / "own_agent.py"


@dataclass(frozen=True, kw_only=True, repr=False)
class Deployed(Unrevealing):
    """What each of them has beside its system's settings: the interpreter of the process, and how long it may start."""

    python: str = ""
    start_timeout_s: float = 60.0

    CANNOT: ClassVar[tuple[str, ...]] = ()
    """Settings of the system that LiveKit's plugin cannot pass on."""

    def __post_init__(self) -> None:
        """Check the settings of the deployment, then those of the system. Raises ValueError."""
        if flaw := python_flaw(self.python) or start_timeout_flaw(self.start_timeout_s) or address_flaw():
            raise ValueError(flaw)
        standard = {f.name: f.default for f in fields(self)}
        for name in self.CANNOT:
            if getattr(self, name) != standard[name]:
                raise ValueError(f"{name} cannot be set with via=livekit: LiveKit's plugin does not pass it on")
        super().__post_init__()  # type: ignore[misc]

    @property
    def connect_timeout_s(self) -> float:
        """What the engine is to allow for connecting."""
        return self.start_timeout_s + LEAVE_S

    @property
    def info(self) -> AgentInfo:
        """What the system's own adapter says, and how it is deployed."""
        own: AgentInfo = super().info  # type: ignore[misc]
        settings = {name: value for name, value in own.settings.items() if name not in self.CANNOT}
        deployed = {"via": "livekit", "python": self.python or None, "tools": "host", "retries": 0}
        return replace(own, transport="livekit console", input_hz=WIRE_HZ, settings={**settings, **deployed})

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Start the process and wait until the agent listens. Raises AgentAbsent."""
        secret = self.key()
        told = {"VOICEBENCH_AGENT": json.dumps(self.asked_of_livekit())}
        start = Start(
            command=(self.python or sys.executable, "-m", "livekit.agents", "console", str(OWN_AGENT)),
            source="host",
            timeout_s=self.start_timeout_s,
            environment={**no_proxies(os.environ), **told, "VOICEBENCH_AGENT_KEY": secret.reveal() if secret else ""},
            secret=secret,
        )
        return open_agent(start, setup)

    def key(self) -> Secret | None:
        """The system's key, where the adapter has found one."""
        secret: Secret | None = getattr(self, "_secret", None)
        return secret

    def asked_of_livekit(self) -> Mapping[str, Json]:
        """The system and its settings, for our own agent."""
        raise NotImplementedError


def no_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """What is to be set beside an environment so that no HTTP library uses a proxy, whether one is named there or not.

    The plugins' clients heed these variables; a proxy would be measured too.
    """
    named = {name: "" for name in environment if name.lower() in _PROXIES}
    return {**named, "NO_PROXY": "*", "no_proxy": "*"}


def _asked_like_openai(system: str, agent: GptRealtime) -> dict[str, Json]:
    detection = dict(agent.turn_detection_settings())
    return {
        "system": system,
        "url": agent.url,
        "model": agent.model,
        "voice": agent.voice,
        "turn_detection": {"type": detection.pop("turn_detection"), **detection},
        "transcription": None if agent.transcription == "none" else agent.transcription,
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class GptRealtimeViaLiveKit(Deployed, GptRealtime):
    """`gpt-realtime` by livekit-plugins-openai (see GptRealtime)."""

    CANNOT: ClassVar[tuple[str, ...]] = ("dialect",)

    def asked_of_livekit(self) -> Mapping[str, Json]:
        """The system and its settings, for our own agent."""
        return _asked_like_openai("openai", self)


@dataclass(frozen=True, kw_only=True, repr=False)
class GrokViaLiveKit(Deployed, Grok):
    """`grok` by livekit-plugins-xai (see Grok)."""

    CANNOT: ClassVar[tuple[str, ...]] = ("dialect",)

    def asked_of_livekit(self) -> Mapping[str, Json]:
        """The system and its settings, for our own agent."""
        return _asked_like_openai("xai", self)


def _asked_of_gemini(agent: GeminiLive) -> dict[str, Json]:
    """In the words of google-genai, which makes the path of the address itself."""
    asked = agent.asked()
    parts = urlsplit(agent.url)
    version = _PATH.fullmatch(parts.path)
    assert version is not None  # it was checked
    budget = {"thinkingBudget": "thinking_budget", "thinkingLevel": "thinking_level"}
    return {
        "system": "google",
        "url": urlunsplit(("https", parts.netloc, "", "", "")),
        "api_version": version[1],
        "model": agent.model,
        "voice": agent.voice,
        "detection": {
            "start_of_speech_sensitivity": asked.detection["startOfSpeechSensitivity"],
            "end_of_speech_sensitivity": asked.detection["endOfSpeechSensitivity"],
            "prefix_padding_ms": asked.detection["prefixPaddingMs"],
            "silence_duration_ms": asked.detection["silenceDurationMs"],
        },
        "handling": asked.handling,
        "coverage": asked.coverage,
        "calling": asked.calling,
        "calling_is_told": len(agent.GENERATION.calling) > 1,
        "scheduling": asked.scheduling,
        "thinking": {budget[name]: value for name, value in asked.thinking.items()},
    }


class _Gemini(Deployed):
    """What the three generations share."""

    def __post_init__(self) -> None:
        """Check the settings, and that google-genai can be told the address. Raises ValueError."""
        super().__post_init__()
        parts = urlsplit(self.url)  # type: ignore[attr-defined]
        if parts.scheme != "wss" or not _PATH.fullmatch(parts.path) or parts.query:
            raise ValueError(
                "url must be wss://HOST/ws/google.ai.generativelanguage.VERSION.GenerativeService.BidiGenerateContent "
                "with via=livekit: LiveKit's plugin speaks TLS and makes the path itself"
            )

    def asked_of_livekit(self) -> Mapping[str, Json]:
        """The system and its settings, for our own agent."""
        return _asked_of_gemini(self)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, repr=False)
class Gemini25ViaLiveKit(_Gemini, Gemini25):
    """`gemini-live-2.5` by livekit-plugins-google (see Gemini25)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Gemini31ViaLiveKit(_Gemini, Gemini31):
    """`gemini-live-3.1` by livekit-plugins-google (see Gemini31)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Gemini38ViaLiveKit(_Gemini, Gemini38):
    """`gemini-live-3.8` by livekit-plugins-google (see Gemini38)."""


@dataclass(frozen=True, kw_only=True, repr=False)
class UltravoxViaLiveKit(Deployed, Ultravox):
    """`ultravox` by livekit-plugins-ultravox (see Ultravox), which leaves turn detection to the server's defaults."""

    CANNOT: ClassVar[tuple[str, ...]] = (
        "turn_endpoint_delay_s",
        "minimum_turn_duration_s",
        "minimum_interruption_duration_s",
        "frame_activation_threshold",
        "client_buffer_size_ms",
        "tool_timeout_s",
    )

    def asked_of_livekit(self) -> Mapping[str, Json]:
        """The system and its settings, for our own agent."""
        names = ("url", "model", "voice", "temperature", "language_hint", "first_speaker", "max_duration_s")
        return {"system": "ultravox", **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, kw_only=True, repr=False)
class CascadedViaLiveKit(Deployed, Cascaded):
    """`cascaded` by livekit-plugins-openai and LiveKit's own Silero (see Cascaded)."""

    CANNOT: ClassVar[tuple[str, ...]] = ("vad",)

    def key(self) -> Secret | None:
        """The key, where any of the three services may have it."""
        return next((secret for secret in self._secrets.values() if secret is not None), None)

    def asked_of_livekit(self) -> Mapping[str, Json]:
        """The system and its settings, for our own agent."""
        names = ("stt_model", "language", "llm_model", "temperature", "tts_model", "voice", "threshold", "barge_in")
        return {
            "system": "cascaded",
            **self.urls(),
            "keyed": [name for name, url in self.urls().items() if self._secrets[url] is not None],
            **{name: getattr(self, name) for name in names},
            "start_s": self.start_ms / 1000,
            "silence_s": self.silence_ms / 1000,
            "timeout_s": self.timeout_s,
        }
