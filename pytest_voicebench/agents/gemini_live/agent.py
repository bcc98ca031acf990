"""The agents `gemini-live-2.5`, `-3.1` and `-3.8` as descriptions: settings in, a line out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar
from urllib.parse import urlsplit

from pytest_voicebench.agents.addresses import is_private, websocket_flaw
from pytest_voicebench.agents.credentials import Secret, Unrevealing, find_key, need_key
from pytest_voicebench.agents.gemini_live.line import LiveLine
from pytest_voicebench.agents.gemini_live.messages import Asked, session_setup
from pytest_voicebench.agents.gemini_live.models import GEMINI_2_5, GEMINI_3_1, GEMINI_3_8, Calling, Generation
from pytest_voicebench.agents.protocol import Line, Setup
from pytest_voicebench.agents.settings import need_one_of
from pytest_voicebench.agents.wire import Wire, open_wire
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo

INPUT_HZ = 16_000
HOST = "generativelanguage.googleapis.com"
URL = f"wss://{HOST}/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")

_SENSITIVITY = ("low", "high")
_HANDLING = {"interrupts": "START_OF_ACTIVITY_INTERRUPTS", "no_interruption": "NO_INTERRUPTION"}
_COVERAGE = {"only_activity": "TURN_INCLUDES_ONLY_ACTIVITY", "all_input": "TURN_INCLUDES_ALL_INPUT"}
_SCHEDULING = ("when_idle", "interrupt", "silent")
_THINKING = ("default", "minimal", "low", "medium", "high")


@dataclass(frozen=True, kw_only=True, repr=False)
class GeminiLive(Unrevealing):
    """A model of Gemini Live over a WebSocket; its fields are the settings, and all of them are sent.

    `start_sensitivity`, `end_sensitivity`, `prefix_padding_ms`, `silence_duration_ms`: automatic activity detection.
    `activity_handling`: whether the user's speech `interrupts` the agent. `turn_coverage`: whether a turn holds
    `only_activity` or `all_input`.

    The key is needed at the provider's own address. Another server gets it where it is set, but not in the clear over a
    network. Raises ValueError, one line, for a wrong setting or a missing key.
    """

    url: str = field(default=URL, repr=False)
    model: str
    voice: str = "Puck"
    start_sensitivity: str = "high"
    end_sensitivity: str = "high"
    prefix_padding_ms: int = 20
    silence_duration_ms: int = 500
    activity_handling: str = "interrupts"
    turn_coverage: str = "only_activity"
    _secret: Secret | None = field(init=False, repr=False, compare=False, default=None)

    NAME: ClassVar[str]
    GENERATION: ClassVar[Generation]

    def __post_init__(self) -> None:
        """Check the settings and find the key."""
        for name in ("url", "model", "voice"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value or not value.isprintable():
                raise ValueError(f"{name} must be text, not {value!r}")
        if flaw := websocket_flaw(self.url):
            raise ValueError(flaw)
        need_one_of("start_sensitivity", self.start_sensitivity, _SENSITIVITY)
        need_one_of("end_sensitivity", self.end_sensitivity, _SENSITIVITY)
        need_one_of("activity_handling", self.activity_handling, tuple(_HANDLING))
        need_one_of("turn_coverage", self.turn_coverage, tuple(_COVERAGE))
        if not (0 <= self.prefix_padding_ms <= 10_000 and 0 < self.silence_duration_ms <= 10_000):
            raise ValueError("prefix_padding_ms and silence_duration_ms must be from 0 to 10000")
        self.check_own()
        object.__setattr__(self, "_secret", self._found_key())

    def check_own(self) -> None:
        """Check the settings that this generation has alone. Raises ValueError."""

    def calling(self) -> tuple[Calling, str | None]:
        """How tools are called; and, where the agent goes on talking, what happens to their answers."""
        return "blocking", None

    def thinking(self) -> Mapping[str, str | int]:
        """The thinking configuration in the API's words; empty where none may be sent."""
        return {}

    def _found_key(self) -> Secret | None:
        if urlsplit(self.url).hostname == HOST:
            return need_key(VARIABLES)
        return find_key(VARIABLES) if is_private(self.url) else None

    @property
    def info(self) -> AgentInfo:
        """What the report says: all that was asked of the server, and from which variable the key came."""
        calling, scheduling = self.calling()
        return AgentInfo(
            name=self.NAME,
            model=self.model,
            transport="websocket",
            clock="wall",
            input_hz=INPUT_HZ,
            settings={
                **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("model", "_secret")},
                "tool_calling": calling,
                "scheduling": scheduling,
                "transcription": "both sides",
                "proxy": "off",
                "signed_in_with": self._secret.variable if self._secret else None,
            },
        )

    def asked(self) -> Asked:
        """The same in the API's words."""
        calling, scheduling = self.calling()
        return Asked(
            generation=self.GENERATION,
            model=self.model,
            voice=self.voice,
            calling=calling,
            scheduling=scheduling,
            detection={
                "startOfSpeechSensitivity": f"START_SENSITIVITY_{self.start_sensitivity.upper()}",
                "endOfSpeechSensitivity": f"END_SENSITIVITY_{self.end_sensitivity.upper()}",
                "prefixPaddingMs": self.prefix_padding_ms,
                "silenceDurationMs": self.silence_duration_ms,
            },
            handling=_HANDLING[self.activity_handling],
            coverage=_COVERAGE[self.turn_coverage],
            thinking=self.thinking(),
        )

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Open a line whose session is as asked. Raises AgentAbsent."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        asked = self.asked()
        log = setup.log or WireLog(asyncio.get_running_loop().time)

        @asynccontextmanager
        async def socket(handle: str | None) -> AsyncIterator[Wire]:
            headers = {"x-goog-api-key": self._secret.reveal()} if self._secret else {}
            async with open_wire(self.url, log=log, headers=headers, secret=self._secret, json_in_binary=True) as wire:
                await wire.send(session_setup(asked, setup, handle))
                await wire.wait_for(lambda e: "setupComplete" in e or "setup_complete" in e, "setupComplete")
                yield wire

        async with socket(None) as wire:
            line = LiveLine(wire, asked=asked, log=log, reopen=socket)
            try:
                yield line
            finally:
                await line.close()


@dataclass(frozen=True, kw_only=True, repr=False)
class Gemini25(GeminiLive):
    """Gemini 2.5 Flash with native audio (see GeminiLive).

    `tool_calling`: `blocking`, or `async`: the agent goes on talking while a tool works, and takes its answer as
    `scheduling` says. `thinking_budget`: tokens; 0 turns thinking off, -1 leaves it to the model.
    """

    model: str = "gemini-2.5-flash-native-audio-preview-12-2025"
    tool_calling: str = "blocking"
    scheduling: str = "when_idle"
    thinking_budget: int = -1

    NAME: ClassVar[str] = "gemini-live-2.5"
    GENERATION: ClassVar[Generation] = GEMINI_2_5

    def check_own(self) -> None:
        """Check how tools are called, and the budget."""
        _check_calling(self.tool_calling, self.scheduling, self.GENERATION)
        if not -1 <= self.thinking_budget <= 100_000:
            raise ValueError(f"thinking_budget must be from -1 to 100000, not {self.thinking_budget}")

    def calling(self) -> tuple[Calling, str | None]:
        """As set."""
        return _calling(self.tool_calling, self.scheduling)

    def thinking(self) -> Mapping[str, str | int]:
        """A budget."""
        return {"thinkingBudget": self.thinking_budget}


@dataclass(frozen=True, kw_only=True, repr=False)
class Gemini31(GeminiLive):
    """Gemini 3.1 Flash Live (see GeminiLive); it waits for its tools.

    `thinking_level`: minimal to high; `default` sends none, for servers that refuse to be told.
    """

    model: str = "gemini-3.1-flash-live-preview"
    thinking_level: str = "minimal"

    NAME: ClassVar[str] = "gemini-live-3.1"
    GENERATION: ClassVar[Generation] = GEMINI_3_1

    def check_own(self) -> None:
        """Check the level."""
        need_one_of("thinking_level", self.thinking_level, _THINKING)

    def thinking(self) -> Mapping[str, str | int]:
        """A level."""
        return _level(self.thinking_level)


@dataclass(frozen=True, kw_only=True, repr=False)
class Gemini38(GeminiLive):
    """Gemini 3.8 Live (see GeminiLive); `tool_calling` is `async`, or `blocking` (see Gemini25).

    `thinking_level`: `default` sends none, since `gemini-3.8-live` refuses it; `gemini-3.8-live-extended-thinking`
    needs it, and knows no `blocking`.
    """

    model: str = "gemini-3.8-live"
    tool_calling: str = "async"
    scheduling: str = "when_idle"
    thinking_level: str = "default"

    NAME: ClassVar[str] = "gemini-live-3.8"
    GENERATION: ClassVar[Generation] = GEMINI_3_8

    def check_own(self) -> None:
        """Check how tools are called, and the level."""
        _check_calling(self.tool_calling, self.scheduling, self.GENERATION)
        need_one_of("thinking_level", self.thinking_level, _THINKING)

    def calling(self) -> tuple[Calling, str | None]:
        """As set."""
        return _calling(self.tool_calling, self.scheduling)

    def thinking(self) -> Mapping[str, str | int]:
        """A level, or none."""
        return _level(self.thinking_level)


def _level(level: str) -> Mapping[str, str | int]:
    return {} if level == "default" else {"thinkingLevel": level.upper()}


def _calling(how: Any, scheduling: str) -> tuple[Calling, str | None]:
    return how, scheduling if how == "async" else None


def _check_calling(how: str, scheduling: str, generation: Generation) -> None:
    need_one_of("tool_calling", how, generation.calling)
    need_one_of("scheduling", scheduling, _SCHEDULING)
    if how == "blocking" and scheduling != "when_idle":
        raise ValueError("scheduling belongs to tool_calling=async")
