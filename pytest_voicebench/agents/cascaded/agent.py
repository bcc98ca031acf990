"""The agent `cascaded` as a description: settings in, a line out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import urlsplit

from pytest_voicebench.agents.cascaded.ears import HEARD_HZ, ears_flaw, open_ears
from pytest_voicebench.agents.cascaded.endpoints import Service, open_endpoints
from pytest_voicebench.agents.cascaded.line import CascadedLine, TurnTaking
from pytest_voicebench.agents.credentials import Secret, find_key, need_key
from pytest_voicebench.agents.http_client import is_private, url_flaw
from pytest_voicebench.agents.protocol import Line, Setup
from pytest_voicebench.agents.wire_log import WireLog
from pytest_voicebench.conversation import AgentInfo

_OWN_HOST = "api.openai.com"
_OWN_URL = f"https://{_OWN_HOST}/v1"


@dataclass(frozen=True, kw_only=True)
class Cascaded:
    """Speech to text, chat with tools, speech, at OpenAI-compatible endpoints; its fields are the settings.

    `url`: the address of all three up to and with `/v1`; `stt_url`, `llm_url` and `tts_url` stand in for it. `language`
    is told to the transcription, `auto` tells none. `temperature` below 0 leaves it to the server. A turn begins after
    `start_ms` of speech (found in steps of 128 ms, at a chance of `threshold`) and ends after `silence_ms` of silence.
    `vad` finds it: `silero`, `silero_onnx` (the same, eight times as fast, with the extra `local`: for many
    conversations at once), or `energy` (loudness alone).
    `barge_in`: speech cuts the answer that is being made or heard. `timeout_s`: the longest wait for an answer or its
    next piece. Nothing is tried again.

    The key is needed at OpenAI's own address. Another server gets it where it is set, but not in the clear over a
    network. Raises ValueError, one line, for a wrong setting or a missing key.
    """

    url: str = _OWN_URL
    stt_url: str = ""
    stt_model: str = "gpt-transcribe"
    language: str = "en"
    llm_url: str = ""
    llm_model: str = "gpt-4o"
    temperature: float = -1.0
    tts_url: str = ""
    tts_model: str = "gpt-4o-mini-tts"
    voice: str = "alloy"
    silence_ms: int = 700
    start_ms: int = 250
    vad: str = "silero"
    threshold: float = 0.5
    barge_in: bool = True
    timeout_s: float = 30.0
    _secrets: dict[str, Secret | None] = field(init=False, repr=False, compare=False, default_factory=dict)

    VARIABLES: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)

    def __post_init__(self) -> None:
        """Check the settings and find the key."""
        for name in ("url", "stt_model", "language", "llm_model", "tts_model", "voice"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value or not value.isprintable():
                raise ValueError(f"{name} must be text, not {value!r}")
        for name, url in self._urls().items():
            if flaw := url_flaw(url, "an OpenAI-compatible endpoint: https://HOST/v1 or http://HOST:PORT/v1"):
                raise ValueError(f"{name} {flaw}")
        if flaw := ears_flaw(self.vad):
            raise ValueError(flaw)
        if not isinstance(self.barge_in, bool):
            raise ValueError(f"barge_in must be true or false, not {self.barge_in!r}")
        for name, low, high in (
            ("silence_ms", 100, 10_000),
            ("start_ms", 32, 5_000),
            ("threshold", 0.05, 0.99),
            ("timeout_s", 0.1, 600),
        ):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be from {low:g} to {high:g}, not {getattr(self, name)}")
        if not self.temperature <= 2:
            raise ValueError(f"temperature must be at most 2, not {self.temperature}")
        self._secrets.update({url: self._key_for(url) for url in self._urls().values()})

    def _urls(self) -> dict[str, str]:
        """The address of each service, by the setting that gives it."""
        return {name: getattr(self, name) or self.url for name in ("stt_url", "llm_url", "tts_url")}

    def _key_for(self, url: str) -> Secret | None:
        if urlsplit(url).hostname == _OWN_HOST:
            return need_key(self.VARIABLES)
        return find_key(self.VARIABLES) if is_private(url) else None

    @property
    def info(self) -> AgentInfo:
        """What the report says: all that is asked of the three services, and who gets the key."""
        return AgentInfo(
            name="cascaded",
            model=f"{self.stt_model} + {self.llm_model} + {self.tts_model}",
            transport="http",
            clock="wall",
            input_hz=HEARD_HZ,
            settings={
                **self._urls(),
                "stt_model": self.stt_model,
                "language": self.language,
                "llm_model": self.llm_model,
                "temperature": self.temperature if self.temperature >= 0 else None,
                "tts_model": self.tts_model,
                "voice": self.voice,
                "turn_detection": self.vad,
                "threshold": self.threshold,
                "start_ms": self.start_ms,
                "silence_ms": self.silence_ms,
                "barge_in": self.barge_in,
                "timeout_s": self.timeout_s,
                "retries": 0,
                "proxy": "off",
                "signed_in_with": self._signed_in_with(),
            },
        )

    def _signed_in_with(self) -> str | None:
        """The variable, and the services that get its value where not all of them do."""
        named = {name: self._secrets[url] for name, url in self._urls().items()}
        given = {name.removesuffix("_url"): secret for name, secret in named.items() if secret is not None}
        if not given:
            return None
        variable = next(iter(given.values())).variable
        return variable if len(given) == len(named) else f"{variable} ({', '.join(given)})"

    def connect(self, setup: Setup) -> AbstractAsyncContextManager[Line]:
        """Open a line. Raises AgentAbsent where a service is not there or refuses the key."""
        return self._open(setup)

    @asynccontextmanager
    async def _open(self, setup: Setup) -> AsyncIterator[Line]:
        log = setup.log or WireLog(asyncio.get_running_loop().time)
        ears = await asyncio.to_thread(open_ears, self.vad, self.threshold, self.start_ms / 1000)
        taking = TurnTaking(start_s=self.start_ms / 1000, silence_s=self.silence_ms / 1000, barge_in=self.barge_in)
        async with open_endpoints(self._services(), log, self.timeout_s) as services:
            line = CascadedLine(setup, taking, ears, services)
            try:
                yield line
            finally:
                await line.close()

    def _services(self) -> tuple[Service, Service, Service]:
        urls = self._urls()
        stt_options = {} if self.language == "auto" else {"language": self.language}
        llm_options = {"temperature": self.temperature} if self.temperature >= 0 else {}
        return (
            self._service("transcription", urls["stt_url"], self.stt_model, stt_options),
            self._service("chat", urls["llm_url"], self.llm_model, llm_options),
            self._service("speech", urls["tts_url"], self.tts_model, {"voice": self.voice}),
        )

    def _service(self, what: str, url: str, model: str, options: Mapping[str, object]) -> Service:
        return Service(what=what, url=url, model=model, secret=self._secrets[url], options=options)
