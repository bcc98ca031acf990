"""The gates before the agents of a run: what `--voicebench-limit` and `--voicebench-retries` say, for every process."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_voicebench.plugin.attempt import attempt_key, had_session_key
from pytest_voicebench.plugin.options import LIMIT, RETRIES, reports_folder

if TYPE_CHECKING:
    from pytest_voicebench.admission.entrance import Entrance
    from pytest_voicebench.admission.limits import Limit, Provider
    from pytest_voicebench.admission.retrying import Retries
    from pytest_voicebench.agents.protocol import Agent
    from pytest_voicebench.scenario import Scenario

LIMITS_NAME = ".limits"
"""In the reports folder: all runs that report there share the places."""


@dataclass(slots=True, kw_only=True)
class Entrances:
    """The ways to the providers of this run, each made when the first conversation needs it."""

    folder: Path
    limits: dict[str, Limit]
    retries: Retries
    made: dict[str, Entrance] = field(default_factory=dict)

    def to(self, provider: Provider) -> Entrance:
        """The way to one provider."""
        from pytest_voicebench.admission.entrance import Entrance
        from pytest_voicebench.admission.limits import limit_of
        from pytest_voicebench.admission.places import Places, folder_name

        if provider.key not in self.made:
            places = Places(folder=self.folder / folder_name(provider.key), limit=limit_of(provider, self.limits))
            self.made[provider.key] = Entrance(name=provider.name, places=places, retries=self.retries)
        return self.made[provider.key]


@dataclass(slots=True, kw_only=True)
class Waited:
    """When a conversation waited before its provider, from when it was handed over; seconds of perf_counter.

    That time is nobody's answer: it is not the item's. May be told from any thread.
    """

    since_s: float | None = field(default_factory=time.perf_counter)
    spans: list[tuple[float, float]] = field(default_factory=list)

    def tell(self, reason: str) -> None:
        """Take note of what it waits for; of nothing any more where that is empty."""
        now_s = time.perf_counter()
        if reason and self.since_s is None:
            self.since_s = now_s
        elif not reason and self.since_s is not None:
            self.spans.append((self.since_s, now_s))
            self.since_s = None

    def within(self, begin_s: float, end_s: float) -> float:
        """Seconds of waiting between two moments."""
        spans = list(self.spans)  # before what goes on: what ends just now must not count twice
        since_s = self.since_s
        spans += [(since_s, end_s)] if since_s is not None else []
        return sum(max(0.0, min(end_s, until_s) - max(begin_s, from_s)) for from_s, until_s in spans)


waited_key = pytest.StashKey[Waited]()
"""Of an item whose conversation passes a gate: the last one's."""

_entrances = pytest.StashKey[Entrances]()


def check_admission(config: pytest.Config) -> None:
    """Read the limits before anything is collected. Raises pytest.UsageError, one line."""
    from pytest_voicebench.admission.limits import LimitError, parse_limits
    from pytest_voicebench.admission.retrying import Retries, RetriesError, parse_retries

    given: list[str] = config.getoption("voicebench_limit") or []
    retries = config.getoption("voicebench_retries") or config.getini("voicebench_retries")
    try:
        config.stash[_entrances] = Entrances(
            folder=reports_folder(config) / LIMITS_NAME,
            limits=parse_limits([*config.getini("voicebench_limits"), *given]),
            retries=parse_retries(retries) if retries else Retries(),
        )
    except LimitError as error:
        raise pytest.UsageError(f"{LIMIT}: {error}") from None
    except RetriesError as error:
        raise pytest.UsageError(f"{RETRIES}: {error}") from None


def check_names(config: pytest.Config, agents: Iterable[Agent]) -> None:
    """Refuse a limit of the command line that holds for none of the run's agents. Raises pytest.UsageError."""
    from pytest_voicebench.admission.limits import parse_limits, provider_of

    known = sorted({n for a in agents for p in [provider_of(a, a.info)] for n in (p.key, p.name)})
    for name in parse_limits(config.getoption("voicebench_limit") or []):
        if known and name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise pytest.UsageError(f"{LIMIT} {name}: no agent of this run; {hint}they are {', '.join(known)}")


def without_waiting(item: pytest.Item, duration_s: float) -> float:
    """What is left of the seconds that ended just now without those in which the item's conversation waited."""
    waited = item.stash.get(waited_key, None)
    now_s = time.perf_counter()
    return max(0.0, duration_s - waited.within(now_s - duration_s, now_s)) if waited is not None else duration_s


def gated(agent: Agent, item: pytest.Item, scenario: Scenario, tell: Callable[[str], None]) -> Agent:
    """The agent behind the gate of its provider; itself where it lives in this process on the virtual clock.

    `tell` gets what the conversation waits for, and nothing when it goes on; it may be called from any thread.
    """
    from pytest_voicebench.admission.limits import provider_of
    from pytest_voicebench.agents.gate import Gated
    from pytest_voicebench.plugin.budget import paid_gate

    info = agent.info
    if info.clock == "virtual":
        return agent
    config, attempt = item.config, item.stash.get(attempt_key, None)
    if _entrances not in config.stash:
        check_admission(config)
    item_id = attempt.item_id if attempt else f"a test of {scenario.item_id}"
    entrance = config.stash[_entrances].to(provider_of(agent, info))
    waited = item.stash[waited_key] = Waited()

    def tell_both(reason: str) -> None:
        waited.tell(reason)
        tell(reason)

    gate = entrance.gate(item_id, tell_both, lambda: item.stash.__setitem__(had_session_key, True))
    return Gated(agent=agent, gate=paid_gate(gate, config, scenario, info, item_id))
