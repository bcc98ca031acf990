"""What a run set out to do: plan.json in the run folder, so that items that never ran are counted and named."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pytest_voicebench.codec import dump_json, parse_json
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.result import Facts, Result
from pytest_voicebench.sharding import Shard

PLAN_NAME = "plan.json"

INI_ASKED = "ini"
"""In the header of a shard: the gates and the baseline of the ini file, which are about the run that shards make."""

DAMAGE = "damage"
"""In the header of a run made from others: what of one of them could not be read."""

UNKNOWN_AGENT = AgentInfo(name="unknown")
"""The agent of an item whose `agent` fixture has not given one (yet)."""

Json = Any

RunMode = Literal["live", "rescored", "imported"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSource:
    """What a suite told its agents and played to them, as hashes (SHA-256), and the seeds of what was generated.

    `recordings` and `room_tone_seeds` are those of the items selected: by path from the suite's folder, by speaker.
    """

    suite: str
    instructions_sha256: str
    documents_sha256: tuple[str, ...]
    tools_sha256: str
    recordings: Mapping[str, str]
    room_tone_seeds: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The items selected, in order, each as a Result with outcome `not_run`; `collected` counts the others too.

    `header` says how the run was made (name, time, versions) and heads its summary; `sources` are for its manifest.
    `shard` says which part of a selection `items` are, None where they are all of it.
    """

    collected: int
    items: tuple[Result, ...]
    header: Mapping[str, Json] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    shard: Shard | None = None
    sources: tuple[SuiteSource, ...] = ()

    @property
    def selection(self) -> tuple[Result, ...]:
        """The items of all shards."""
        return self.items if self.shard is None else self.shard.selection


def mode_of(header: Mapping[str, Json]) -> RunMode:
    """How the results of a run came about, by its header: conversations held for it, an earlier run's, or imported."""
    if header.get("rescored_from"):
        return "rescored"
    return "imported" if header.get("imported") else "live"


def write_plan(run_folder: Path, plan: Plan) -> None:
    """Write plan.json, whole; processes of one run may write it at the same time."""
    write_atomically(run_folder / PLAN_NAME, dump_json(plan, indent=1) + b"\n")


def read_plan(run_folder: Path) -> Plan | None:
    """The plan of a run folder, None where there is none (yet). Raises CodecError where it is damaged, OSError."""
    path = run_folder / PLAN_NAME
    try:
        data = read_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return parse_json(Plan, data, where=str(path))


def completed(plan: Plan, results: Iterable[Result]) -> tuple[Result, ...]:
    """One result for each planned item, in the plan's order; an item without one is `not_run`.

    An item's score is its first valid attempt: of several results the first that passed or failed, else the last one.
    Results of items that were not planned are left out.
    """
    attempts: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda r: r.outcome != "not_run"):  # what was not begun is no attempt
        attempts.setdefault(result.item_id, []).append(result)
    rows = [_first_valid(attempts[item.item_id]) if item.item_id in attempts else item for item in plan.items]
    return _with_known_agents(rows)


def _first_valid(attempts: list[Result]) -> Result:
    at = next((i for i, r in enumerate(attempts) if r.outcome in ("passed", "failed")), len(attempts) - 1)
    chosen = attempts[at]
    known = next((r.agent for r in attempts if r.agent != UNKNOWN_AGENT), chosen.agent)
    if len(attempts) == 1:
        return chosen
    tried = [r for r in attempts if r.outcome != "not_run"]
    return replace(chosen, agent=known, attempts=_outcomes(tried), **_cost(attempts))


def _cost(attempts: list[Result]) -> dict[str, Any]:
    """Of all attempts, also those that were cut off: what is paid for is paid for, whichever counts. Unknown where that
    of one is."""
    unknown = [r.usd_unknown for r in attempts if r.usd_unknown]
    known = [r.usd for r in attempts if r.usd is not None]
    return {"usd": None if unknown or not known else math.fsum(known), "usd_unknown": unknown[0] if unknown else None}


def _outcomes(attempts: list[Result]) -> tuple[str, ...]:
    """Of all attempts in order, where there were several; those that a result has seen already among them."""
    if len(attempts) < 2:
        return attempts[0].attempts if attempts else ()
    return tuple(outcome for result in attempts for outcome in result.attempts or (result.outcome,))


def _with_known_agents(rows: list[Result]) -> tuple[Result, ...]:
    """Where the run has one agent, the items that never met it are its too."""
    known = {r.agent.name: r.agent for r in rows if r.agent != UNKNOWN_AGENT}
    if len(known) != 1:
        return tuple(rows)
    (agent,) = known.values()
    return tuple(replace(r, agent=agent) if r.agent == UNKNOWN_AGENT else r for r in rows)


def suite_hashes(scenarios: Iterable[Facts]) -> dict[str, str]:
    """For each suite a hash of its scenarios: what they say and what they expect, in any order."""
    hashes: dict[str, set[str]] = {}
    for facts in scenarios:
        line = f"{facts.scenario_id} {facts.scenario_sha256} {facts.expect_sha256}\n"
        hashes.setdefault(facts.suite, set()).add(line)
    return {
        suite: hashlib.sha256("".join(sorted(lines)).encode()).hexdigest() for suite, lines in sorted(hashes.items())
    }
