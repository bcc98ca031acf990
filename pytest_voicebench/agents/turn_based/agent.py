"""What agents that take turns have in common as descriptions: turn detection, addresses, keys, opening a line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import urlsplit

from pytest_voicebench.agents.addresses import endpoint_flaw, is_private
from pytest_voicebench.agents.credentials import Secret, Unrevealing, find_key, need_key
from pytest_voicebench.agents.detectors import detector_flaw, open_ears
from pytest_voicebench.agents.protocol import AgentEvent, Line, Setup
from pytest_voicebench.agents.turn_based.answering import Answering
from pytest_voicebench.agents.turn_based.endpoints import Endpoint, Service, open_endpoints
from pytest_voicebench.agents.turn_based.line import TurnBasedLine, TurnTaking
from pytest_voicebench.agents.turn_based.speaking import Emit
from pytest_voicebench.agents.wire_log import WireLog

OWN_HOST = "api.openai.com"
OWN_URL = f"https://{OWN_HOST}/v1"

Setting = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True, repr=False)
class TurnBased(Unrevealing):
    """Settings of every agent that takes turns around OpenAI-compatible services; others build on it.

    `url`: the address of the services up to and with `/v1`. `temperature` below 0 leaves it to the server. A turn
    begins after `start_ms` of speech (found in steps of 128 ms, at a chance of `threshold`) and ends after `silence_ms`
    of silence. `vad` finds it: `silero`, `silero_onnx` (the same, eight times as fast, with the extra `local`: for many
    conversations at once), or `energy` (loudness alone). `barge_in`: speech cuts the answer that is being made or
    heard. `timeout_s`: the longest wait for an answer or its next piece. Nothing is tried again.

    The key is needed at OpenAI's own address. Another server gets it where it is set, but not in the clear over a
    network. Raises ValueError, one line, for a wrong setting or a missing key.
    """

    url: str = OWN_URL
    temperature: float = -1.0
    silence_ms: int = 700
    start_ms: int = 250
    vad: str = "silero"
    threshold: float = 0.5
    barge_in: bool = True
    timeout_s: float = 30.0
    _secrets: dict[str, Secret | None] = field(init=False, repr=False, compare=False, default_factory=dict)

    NAME: ClassVar[str] = ""
    VARIABLES: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    TEXTS: ClassVar[tuple[str, ...]] = ()
    """Settings that must be text."""

    def __post_init__(self) -> None:
        """Check the settings and find the keys."""
        for name in ("url", *self.TEXTS):
            value = getattr(self, name)
            if not isinstance(value, str) or not value or not value.isprintable():
                raise ValueError(f"{name} must be text, not {value!r}")
        for name, url in self.urls().items():
            if flaw := endpoint_flaw(url, "an OpenAI-compatible endpoint: https://HOST/v1 or http://HOST:PORT/v1"):
                raise ValueError(f"{name} {flaw}")
        if flaw := detector_flaw(self.vad):
            raise ValueError(flaw)
        self._check_numbers()
        self._secrets.update({url: self._key_for(url) for url in self.urls().values()})

    def _check_numbers(self) -> None:
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

    def _key_for(self, url: str) -> Secret | None:
        if urlsplit(url).hostname == OWN_HOST:
            return need_key(self.VARIABLES)
        return find_key(self.VARIABLES) if is_private(url) else None

    def urls(self) -> Mapping[str, str]:
        """The address of each service, by the setting that gives it."""
        raise NotImplementedError

    def services(self) -> Sequence[Service]:
        """The services that a line needs open."""
        raise NotImplementedError

    def answering(self, setup: Setup, endpoints: Sequence[Endpoint], emit: Emit, log: WireLog) -> Answering:
        """What answers the turns of one conversation; `endpoints` are the services, open."""
        raise NotImplementedError

    def service(self, what: str, url: str, model: str, options: Mapping[str, object], streamed: bool = True) -> Service:
        """A service at one of the addresses, with the key that belongs there."""
        secret = self._secrets[url]
        return Service(what=what, url=url, model=model, secret=secret, options=options, streamed=streamed)

    def chat_options(self) -> dict[str, object]:
        """What is sent with every request to the model."""
        return {"temperature": self.temperature} if self.temperature >= 0 else {}

    def turn_settings(self) -> dict[str, Setting]:
        """What the report says of turn detection and of requests."""
        return {
            "turn_detection": self.vad,
            "threshold": self.threshold,
            "start_ms": self.start_ms,
            "silence_ms": self.silence_ms,
            "barge_in": self.barge_in,
            "timeout_s": self.timeout_s,
            "retries": 0,
            "proxy": "off",
            "signed_in_with": self._signed_in_with(),
        }

    def _signed_in_with(self) -> str | None:
        """The variable, and the services that get its value where not all of them do."""
        named = {name: self._secrets[url] for name, url in self.urls().items()}
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
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        async with open_endpoints(self.services(), log, self.timeout_s) as endpoints:
            answering = self.answering(setup, endpoints, events.put_nowait, log)
            line = TurnBasedLine(self.NAME, taking, ears, answering, events)
            try:
                yield line
            finally:
                await line.close()
