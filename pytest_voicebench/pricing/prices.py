"""Prices as data: dated, by provider and model; a price that is not there is unknown, and never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pytest_voicebench.admission.limits import provider_of
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.files import read_file

Json = Any

MOST_NUMBER = 1e9

SHIPPED = Path(__file__).with_name("prices.yaml")


class PricesError(ValueError):
    """A file of prices that cannot be used; one line that names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimating:
    """How the counts are called that an estimate is made of, and how many tokens a second of sound is assumed to be."""

    text_in: str | None = None
    audio_in: str | None = None
    audio_out: str | None = None
    audio_in_per_s: float = 0.0
    audio_out_per_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What an agent costs, in USD. The keys of prices.yaml; `agent` is a name as `--agent` takes it.

    It holds for agents that have all of what is given of `agent`, `host` and `models` (patterns with `*`).
    """

    date: str
    source: str
    agent: str | None = None
    host: str | None = None
    models: tuple[str, ...] = ()
    per_million: Mapping[str, float] = field(default_factory=dict)
    part_of: Mapping[str, str] = field(default_factory=dict)
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    per_minute: float | None = None
    step_s: float = 0.0
    estimate: Estimating = field(default_factory=Estimating)

    def holds_for(self, info: AgentInfo) -> bool:
        """Whether it is this agent's."""
        provider = provider_of(None, info)
        return (
            (self.agent is None or self.agent in (provider.name, provider.key))
            and (self.host is None or self.host == provider.host)
            and (not self.models or any(fnmatchcase(info.model or "", pattern) for pattern in self.models))
        )


def price_of(info: AgentInfo, prices: Sequence[Price]) -> Price | None:
    """The agent's price, None where none is known. Later entries that hold for it add to earlier ones, and replace."""
    found: Price | None = None
    for price in prices:
        if price.holds_for(info):
            found = price if found is None else _laid_over(found, price)
    return found


def _laid_over(below: Price, above: Price) -> Price:
    same = (below.date, below.source) == (above.date, above.source)
    return replace(
        above,
        date=above.date if same else f"{below.date}, {above.date}",
        source=above.source if same else f"{below.source}, {above.source}",
        per_million={**below.per_million, **above.per_million},
        part_of={**below.part_of, **above.part_of},
        sums={**below.sums, **above.sums},
        per_minute=below.per_minute if above.per_minute is None else above.per_minute,
        step_s=above.step_s or below.step_s,
        estimate=below.estimate if above.estimate == Estimating() else above.estimate,
    )


def load_prices(path: Path) -> tuple[Price, ...]:
    """The prices of a file. Raises PricesError."""
    import yaml

    try:
        data = yaml.safe_load(read_file(path))
    except OSError as error:
        raise PricesError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise PricesError(f"{path}{f':{mark.line + 1}' if mark else ''}: not YAML") from None
    if not isinstance(data, list) or not data:
        raise PricesError(f"{path}: must be a list of prices, each with agent or host, date, source and what it costs")
    return tuple(_price(entry, f"{path}: price {number}") for number, entry in enumerate(data, start=1))


def _price(entry: Json, where: str) -> Price:
    if not isinstance(entry, Mapping):
        raise PricesError(f"{where}: must have keys")
    known = {f.name for f in fields(Price)}
    if other := [str(key) for key in entry if key not in known]:
        raise PricesError(f"{where}: unknown key {other[0]!r}; known: {', '.join(sorted(known))}")
    for key in ("date", "source"):
        if not entry.get(key):
            raise PricesError(f"{where}: {key} is missing: prices change")
    if not (entry.get("agent") or entry.get("host")):
        raise PricesError(f"{where}: agent or host is missing")
    if not entry.get("per_million") and entry.get("per_minute") is None:
        raise PricesError(f"{where}: per_million or per_minute is missing")
    texts = {key: str(entry[key]) for key in ("agent", "host", "date", "source") if entry.get(key)}
    return Price(
        **texts,
        models=tuple(map(str, _of(entry, "models", list, where) or ())),
        per_million={
            str(k): _number(v, f"{where}: {k}") for k, v in (_of(entry, "per_million", dict, where) or {}).items()
        },
        part_of={str(k): str(v) for k, v in (_of(entry, "part_of", dict, where) or {}).items()},
        sums={str(k): _names(v, f"{where}: {k}") for k, v in (_of(entry, "sums", dict, where) or {}).items()},
        per_minute=None if entry.get("per_minute") is None else _number(entry["per_minute"], f"{where}: per_minute"),
        step_s=_number(entry.get("step_s", 0), f"{where}: step_s"),
        estimate=_estimating(_of(entry, "estimate", dict, where) or {}, f"{where}: estimate"),
    )


def _of(entry: Mapping[str, Json], key: str, kind: type, where: str) -> Any:
    value = entry.get(key)
    if value is not None and not isinstance(value, kind):
        raise PricesError(f"{where}: {key} must be a {'list' if kind is list else 'table'}")
    return value


def _names(value: Json, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise PricesError(f"{where} must be a list of names")
    return tuple(map(str, value))


def _estimating(entry: Mapping[str, Json], where: str) -> Estimating:
    known = {f.name for f in fields(Estimating)}
    if other := [str(key) for key in entry if key not in known]:
        raise PricesError(f"{where}: unknown key {other[0]!r}; known: {', '.join(sorted(known))}")
    return Estimating(
        **{k: _number(v, f"{where}: {k}") if k.endswith("_per_s") else str(v) for k, v in entry.items()}  # type: ignore[arg-type]
    )


def _number(value: Json, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_NUMBER:
        raise PricesError(f"{where} must be a number from 0 to {MOST_NUMBER:g}, not {str(value)[:40]}")
    return float(value)
