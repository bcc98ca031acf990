"""The money of a run, counted by all its processes in one file: spent, in flight, and whether it was too much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_voicebench.shared_state import peek, shared_state

Json = Any

LEDGER_NAME = ".budget.json"
CENT = 1e-9
"""What floats may be wrong by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Of one run: at most `most_usd`, of which `already_usd` at least were spent by sessions before this one.

    A conversation in flight counts with its estimate; that of a killed process goes on counting, since it was paid for.
    Every method raises OSError where the file is of no use.
    """

    path: Path
    most_usd: float
    already_usd: float = 0.0

    def begin(self, key: str, estimate_usd: float) -> bool:
        """Put a conversation in flight; False, and nothing begins any more, where that might cost too much."""
        with shared_state(self.path) as state:
            flight = _flight(state)
            spent_usd = self._spent(state) + flight.pop(key, 0.0)  # what never came to its end, and begins again
            total_usd = math.fsum([spent_usd, estimate_usd, *flight.values()])
            stopped = _number(state, "stopped_at", 0.0) >= self.most_usd or total_usd > self.most_usd + CENT
            if stopped:
                state["stopped_at"] = max(self.most_usd, _number(state, "stopped_at", 0.0))
            else:
                flight[key] = estimate_usd
            state["spent"], state["flight"] = spent_usd, flight
        return not stopped

    def end(self, key: str, usd: float | None, at_least_usd: float = 0.0) -> None:
        """The conversation is over and cost this much; None: nobody knows, so that its estimate was spent, at least."""
        if key not in _flight(peek(self.path)):
            return
        with shared_state(self.path) as state:
            flight = _flight(state)
            estimate_usd = flight.pop(key, 0.0)
            state["spent"] = self._spent(state) + (max(estimate_usd, at_least_usd) if usd is None else usd)
            state["flight"] = flight

    @property
    def spent_usd(self) -> float:
        """So far, conversations in flight included by their estimates."""
        state = peek(self.path)
        return math.fsum([self._spent(state), *_flight(state).values()])

    def _spent(self, state: dict[str, Json]) -> float:
        return max(_number(state, "spent", 0.0), self.already_usd)


def _number(state: dict[str, Json], name: str, otherwise: float) -> float:
    value = state.get(name)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else otherwise


def _flight(state: dict[str, Json]) -> dict[str, float]:
    found = state.get("flight")
    if not isinstance(found, dict):
        return {}
    return {key: float(usd) for key, usd in found.items() if isinstance(usd, int | float) and math.isfinite(usd)}
