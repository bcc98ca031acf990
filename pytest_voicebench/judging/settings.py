"""Which judge is asked, and how: `MODEL[,key=value...]` with the endpoint of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from urllib.parse import urlsplit

from pytest_voicebench.judgement import Judge
from pytest_voicebench.judging.prompts import PROMPT_SHA256, PROMPT_VERSION

DEFAULT_URL = "https://api.openai.com/v1"
TEMPERATURE = 0.0


class JudgeSettingsError(ValueError):
    """A judge that cannot be asked as described; one line for the person who typed it, without any value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """How a judge is asked.

    `timeout_s`: for one attempt; `retries`: attempts after the first on 408, 409, 429, 5xx and lost connections, made
    by the SDK with its pauses; `parallel`: questions under way at once; `max_tokens`: room of an answer, four times as
    much after one that was cut; prices: of a million tokens, in any currency. No price is known here.
    """

    model: str
    timeout_s: float = 60.0
    retries: int = 2
    parallel: int = 8
    max_tokens: int = 400
    input_price: float | None = None
    output_price: float | None = None

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """What so many tokens cost; None unless both prices are set."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the judge is: an OpenAI-compatible address, and the key for it, which is never shown or written."""

    url: str
    key: str

    def __repr__(self) -> str:
        return f"Endpoint({self.host})"

    @property
    def host(self) -> str:
        """Host and port."""
        return _host(self.url)


def parse_judge(text: str) -> JudgeSettings:
    """`MODEL[,key=value...]`. Raises JudgeSettingsError."""
    model, *parts = [part.strip() for part in text.split(",")]
    if not model or not model.isprintable() or "=" in model:
        raise JudgeSettingsError("a judge begins with the name of a model: MODEL[,key=value...]")
    values: dict[str, float | int | None] = {}
    allowed = {f.name: _KINDS[f.name] for f in fields(JudgeSettings) if f.name != "model"}
    for part in parts:
        name, _, value = part.partition("=")
        if name not in allowed:
            known = ", ".join(allowed)
            raise JudgeSettingsError(f"judge {model}: there is no setting {name!r}; there are {known}")
        values[name] = _number(model, name, value)
    return JudgeSettings(model=model, **values)  # type: ignore[arg-type]


_KINDS: Mapping[str, tuple[type, float]] = {
    "timeout_s": (float, 0.01),
    "retries": (int, 0),
    "parallel": (int, 1),
    "max_tokens": (int, 16),
    "input_price": (float, 0),
    "output_price": (float, 0),
}
"""Of each setting its type and its least value."""
_MOST = 1e6


def _number(model: str, name: str, text: str) -> float | int:
    kind, least = _KINDS[name]
    wanted = f"a{' whole' if kind is int else ''} number from {least:g} to {_MOST:g}"
    try:
        value: float | int = kind(text)
    except ValueError:
        value = -1
    if not least <= value <= _MOST:
        raise JudgeSettingsError(f"judge {model}: {name} must be {wanted}")
    return value


def endpoint_of(environment: Mapping[str, str] = os.environ) -> Endpoint:
    """Address and key from OPENAI_BASE_URL and OPENAI_API_KEY. Raises JudgeSettingsError.

    An endpoint that is named needs no key (a local server); the default one does.
    """
    url, key = environment.get("OPENAI_BASE_URL", "").strip(), environment.get("OPENAI_API_KEY", "").strip()
    if not url and not key:
        raise JudgeSettingsError("a judge needs OPENAI_API_KEY, or OPENAI_BASE_URL of an endpoint that asks for no key")
    url = url or DEFAULT_URL
    try:
        usable = urlsplit(url).scheme in ("http", "https") and bool(_host(url))
    except ValueError:
        usable = False
    if not usable:
        raise JudgeSettingsError("OPENAI_BASE_URL is not the address of an endpoint (https://HOST/v1)")
    return Endpoint(url=url, key=key or "none")


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname or ''}:{parts.port}" if parts.port else parts.hostname or ""


def judge_of(settings: JudgeSettings, endpoint: Endpoint) -> Judge:
    """Who judges, as every verdict and every report names it."""
    return Judge(
        model=settings.model,
        host=endpoint.host,
        prompt_version=PROMPT_VERSION,
        prompt_sha256=PROMPT_SHA256,
        temperature=TEMPERATURE,
    )
