"""What a provider allows: sessions at once, sessions started per minute; as documented, and as the user says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.whole_numbers import whole_number

MOST_SESSIONS = 10_000

_RATE = re.compile(r"(\d+)\s*/\s*min")
_FORM = "NAME=SESSIONS, NAME=STARTS/min or both with a comma (grok=8,30/min), or NAME=none"


class LimitError(ValueError):
    """A text that sets no limit; one line for the person who typed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Sessions at once, and sessions started within any 60 s. None: as many as one likes."""

    sessions: int | None = None
    starts_per_minute: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented:
    """What a provider says of itself, and where and when it said so; for its own address only."""

    limit: Limit
    source: str
    date: str


DOCUMENTED: Mapping[str, Documented] = {
    "api.x.ai": Documented(
        limit=Limit(sessions=100), source="docs.x.ai/developers/models/realtime-api", date="2026-05-25"
    ),
    "api.ultravox.ai": Documented(
        limit=Limit(sessions=5, starts_per_minute=30), source="docs.ultravox.ai, pay as you go", date="2026-04-27"
    ),
}
"""By host. Of other providers no figure is known to us, so none is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Whose limits count: a key that tells it from others, the agent's name, and its host, None where there is none."""

    key: str
    name: str
    host: str | None


def provider_of(agent: object, info: AgentInfo) -> Provider:
    """The provider of an agent: as its `provider` says, else its name and the host of its address."""
    address = _address(info)
    host = urlsplit(address).hostname if address else None
    own = getattr(agent, "provider", None)
    if isinstance(own, str) and own:
        return Provider(key=own, name=own, host=host)
    return Provider(key=f"{info.name}@{urlsplit(address).netloc}" if address else info.name, name=info.name, host=host)


def _address(info: AgentInfo) -> str | None:
    """The first of the settings that is an address, that named `url` before all others."""
    named = sorted((k != "url", k) for k, v in info.settings.items() if k.endswith("url") and isinstance(v, str))
    for _, key in named:
        value = str(info.settings[key])
        if "://" in value:
            return value
    return None


def parse_limits(texts: Sequence[str]) -> dict[str, Limit]:
    """Limits by name from texts such as `grok=8,30/min`; a later one of a name replaces it. Raises LimitError."""
    found = {}
    for text in texts:
        name, equals, rest = (part.strip() for part in text.partition("="))
        if not equals or not name or not rest:
            raise LimitError(f"{text!r} is not {_FORM}")
        found[name] = Limit() if rest == "none" else _limit(text, [part.strip() for part in rest.split(",")])
    return found


def _limit(text: str, parts: Sequence[str]) -> Limit:
    numbers: dict[str, int] = {}
    for part in parts:
        rate = _RATE.fullmatch(part)
        kind = "starts_per_minute" if rate else "sessions"
        number = rate[1] if rate else part
        if not number.isascii() or not number.isdigit() or kind in numbers:
            raise LimitError(f"{text!r} is not {_FORM}")
        try:
            numbers[kind] = whole_number(number, MOST_SESSIONS)
        except ValueError as error:
            raise LimitError(f"{text!r}: each {error}") from None
    return Limit(**numbers)


def limit_of(provider: Provider, given: Mapping[str, Limit]) -> Limit:
    """The limit given for the provider or for the agent's name, else the documented one, else none."""
    for name in (provider.key, provider.name):
        if name in given:
            return given[name]
    documented = DOCUMENTED.get(provider.host or "")
    return documented.limit if documented else Limit()
