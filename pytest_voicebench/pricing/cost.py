"""Usage times price: what a conversation cost, or why nobody can say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_voicebench.agents.protocol import UNREPORTED
from pytest_voicebench.counted import noun_for
from pytest_voicebench.pricing.prices import Price

SESSION = "session_s"
"""Of an item's usage: seconds from the connection until it was closed. Without it there was no session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """`usd` is None where something has no price, which `unknown` names; `at_least` is what the rest costs."""

    usd: float | None
    at_least: float = 0.0
    unknown: str | None = None


def cost_of(usage: Mapping[str, float], price: Price | None) -> Cost:
    """What a conversation with that usage cost; nothing, and nothing unknown, where there was no session."""
    if SESSION not in usage:
        return Cost(usd=None)
    if price is None:
        return Cost(usd=None, unknown="no price")
    counted = {name: value for name, value in usage.items() if value and name not in (SESSION, UNREPORTED)}
    parts = [_minutes(usage[SESSION], price)] if price.per_minute is not None else []
    unpriced: list[str] = []
    if price.per_million:
        if not counted:
            return Cost(usd=None, at_least=math.fsum(parts), unknown="no usage reported")
        parts += [usd for name, value in counted.items() for usd in _of_count(name, value, counted, price)]
        unpriced = [name for name in counted if not _is_priced(name, counted, price)]
    known = math.fsum(parts)
    for name, whole in price.part_of.items():
        if whole in counted and counted.get(name, 0.0) > counted[whole]:
            return Cost(usd=None, unknown=f"more {name} than {whole}")
    if unpriced:
        return Cost(usd=None, at_least=known, unknown=f"no price of {', '.join(sorted(unpriced))}")
    if price.per_million and (answers := usage.get(UNREPORTED)):
        return Cost(
            usd=None, at_least=known, unknown=f"no usage reported of {answers:.0f} {noun_for(round(answers), 'answer')}"
        )
    return Cost(usd=known, at_least=known)


def _minutes(session_s: float, price: Price) -> float:
    billed_s = math.ceil(session_s / price.step_s) * price.step_s if price.step_s else session_s
    return billed_s / 60 * (price.per_minute or 0.0)


def _of_count(name: str, value: float, counted: Mapping[str, float], price: Price) -> Iterator[float]:
    if name in price.per_million:
        whole = price.part_of.get(name, "")
        within = price.per_million.get(whole, 0.0) if whole in counted else 0.0
        yield value / 1e6 * (price.per_million[name] - within)


def _is_priced(name: str, counted: Mapping[str, float], price: Price) -> bool:
    """Whether it has a price, or adds up counts that each are told."""
    if name in price.per_million:
        return True
    return name in price.sums and math.isclose(
        counted[name], math.fsum(_told(part, counted, price, (name,)) for part in price.sums[name])
    )


def _told(name: str, counted: Mapping[str, float], price: Price, above: tuple[str, ...]) -> float:
    """A count as it was reported, else as its parts add up; no number where it is a part of itself."""
    if name in above:
        return math.nan
    if name in counted or name not in price.sums:
        return counted.get(name, 0.0)
    return math.fsum(_told(part, counted, price, (*above, name)) for part in price.sums[name])
