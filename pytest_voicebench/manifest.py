"""manifest.json: how a run was made, so that another one can be made the same way, or told apart from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_voicebench.codec import CodecError, dump_json, parse_text
from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.machine import Load, Machine, without_home
from pytest_voicebench.plan import UNKNOWN_AGENT, Plan, RunMode, SuiteSource, mode_of
from pytest_voicebench.result import Result
from pytest_voicebench.stats import quantile

Json = Any

MANIFEST_NAME = "manifest.json"
MANIFEST_VERSION = 1
PART = ("ended_at", "command", "packages", "commit", "machine", "load", "lateness", "parts")
"""What a merged run keeps of the manifests of the runs it was made from; all else they must have in common."""

SCHEMA_PATH = Path(__file__).parent / "schemas" / "manifest.schema.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late blocks of the user's audio left, in seconds, over the `conversations` on the wall clock.

    `p99_median_s` and `p99_worst_s` are of the conversations' own 99th percentiles, `max_s` is the latest block of all;
    None where no conversation was on the wall clock. `read_p99_worst_s`: the worst conversation's 99th percentile of
    how long what the agent sent waited to be read; `answer_max_s`: by how much the latest answer of ours left late for
    that; None where no agent's line tells when its messages arrived.
    """

    conversations: int
    p99_median_s: float | None
    p99_worst_s: float | None
    max_s: float | None
    read_p99_worst_s: float | None
    answer_max_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenarios:
    """Of one suite: by item, the hash of what shapes its conversation, then that of what it is judged by."""

    suite: str
    items: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """How a run was made; see the fields' own classes.

    `mode`: live (conversations were held), rescored (those of an earlier run were judged again), imported (held by
    somebody else's scripts). `ended_at`: UTC, ISO 8601; None while the run goes on, and where it was killed. `header`
    is the head of the run as summary.json has it too: name, start, rules, workers, versions of what scores rest on,
    hashes of suites, settings given, prices. `packages` are the versions of the other dependencies. `command` are the
    words behind `pytest`, secrets and patterns masked, None where no pytest ran. `commit` is that of the repository
    of the suites. `machine` and `load` are None where no conversation was held. `parts` are, of a run put together from
    others, the PART fields of their own manifests by run; what is None or empty in the whole stands there.
    """

    schema_version: int
    mode: RunMode
    ended_at: str | None
    header: Mapping[str, Json]
    command: tuple[str, ...] | None
    agents: tuple[AgentInfo, ...]
    packages: Mapping[str, str]
    sources: tuple[SuiteSource, ...]
    scenarios: tuple[Scenarios, ...]
    commit: str | None
    machine: Machine | None
    load: Load | None
    lateness: Lateness
    parts: Mapping[str, Json]


def manifest_of(
    plan: Plan,
    results: Sequence[Result],
    *,
    command: Sequence[str] | None = None,
    packages: Mapping[str, str] | None = None,
    commit: str | None = None,
    machine: Machine | None = None,
    load: Load | None = None,
    ended_at: str | None = None,
    parts: Mapping[str, Json] | None = None,
) -> Manifest:
    """The manifest of a run with this plan and, as far as it got, these results. Equal runs have equal ones."""
    rows = {row.item_id: row for row in (*plan.items, *results)}
    return Manifest(
        schema_version=MANIFEST_VERSION,
        mode=mode_of(plan.header),
        ended_at=ended_at,
        header=_json_without_home(dict(plan.header)),
        command=None if command is None else tuple(map(without_home, command)),
        agents=_agents(rows.values()),
        packages=dict(packages or {}),
        sources=plan.sources,
        scenarios=_scenarios(plan.items),
        commit=commit,
        machine=machine,
        load=load,
        lateness=_lateness(results),
        parts=dict(parts or {}),
    )


def merged_manifest(plan: Plan, results: Sequence[Result], folders: Iterable[Path]) -> Manifest:
    """The manifest of a run put together from those in the folders: it ended with the last, and says of each how it
    was held. The commit and the packages are the whole's where all have the same."""
    parts = {folder.name: part for folder in folders if (part := _part(folder))}
    commits = {part.get("commit") for part in parts.values()}
    packages = [part.get("packages") or {} for part in parts.values()]
    return manifest_of(
        plan,
        results,
        packages=packages[0] if packages and all(found == packages[0] for found in packages) else None,
        commit=commits.pop() if len(commits) == 1 else None,
        ended_at=max(
            (part["ended_at"] for part in parts.values() if isinstance(part.get("ended_at"), str)), default=None
        ),
        parts=parts,
    )


def _part(run_folder: Path) -> dict[str, Json]:
    """Those fields of a run's manifest; nothing where it has none, or one that is no object."""
    data = _read(run_folder)
    return {name: data[name] for name in PART if name in data}


def write_manifest(run_folder: Path, manifest: Manifest) -> None:
    """Write manifest.json into a run's folder, whole or not at all. Raises OSError."""
    write_atomically(run_folder / MANIFEST_NAME, manifest_bytes(manifest))


def ended_at(run_folder: Path) -> str | None:
    """When the run in a folder ended, as its manifest says; None where it does not, or there is none."""
    found = _read(run_folder).get("ended_at")
    return found if isinstance(found, str) else None


def _read(run_folder: Path) -> dict[str, Json]:
    path = run_folder / MANIFEST_NAME
    try:
        data = parse_text(read_file(path), where=str(path))
    except (OSError, CodecError):
        return {}
    return data if isinstance(data, dict) else {}


def manifest_bytes(manifest: Manifest) -> bytes:
    """manifest.json as bytes: equal manifests give equal bytes."""
    return dump_json(manifest, indent=2) + b"\n"


def _agents(rows: Iterable[Result]) -> tuple[AgentInfo, ...]:
    """Everyone who ran, in order of the items, settings without the user's home."""
    found: list[AgentInfo] = []
    for row in rows:
        settings = {k: without_home(v) if isinstance(v, str) else v for k, v in row.agent.settings.items()}
        agent = AgentInfo(
            name=row.agent.name,
            model=row.agent.model,
            transport=row.agent.transport,
            clock=row.agent.clock,
            input_hz=row.agent.input_hz,
            settings=settings,
        )
        if agent not in found and row.agent != UNKNOWN_AGENT:
            found.append(agent)
    return tuple(found)


def _scenarios(items: Iterable[Result]) -> tuple[Scenarios, ...]:
    """The hashes of the items that were selected, by suite."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for row in items:
        own = row.facts.scenario_id if row.facts.speaker is None else f"{row.facts.scenario_id}-{row.facts.speaker}"
        found.setdefault(row.facts.suite, {})[own] = (row.facts.scenario_sha256, row.facts.expect_sha256)
    return tuple(Scenarios(suite=name, items=dict(sorted(rows.items()))) for name, rows in sorted(found.items()))


def _lateness(results: Sequence[Result]) -> Lateness:
    held = [r.delivery for r in results if r.delivery is not None and r.delivery.late_p99_s is not None]
    p99s = [one.late_p99_s for one in held if one.late_p99_s is not None]
    return Lateness(
        conversations=len(held),
        p99_median_s=quantile(p99s, 0.5),
        p99_worst_s=max(p99s, default=None),
        max_s=max((one.late_max_s for one in held if one.late_max_s is not None), default=None),
        read_p99_worst_s=max((one.read_late_p99_s for one in held if one.read_late_p99_s is not None), default=None),
        answer_max_s=max((one.answer_late_max_s for one in held if one.answer_late_max_s is not None), default=None),
    )


def _json_without_home(value: Json) -> Json:
    if isinstance(value, str):
        return without_home(value)
    if isinstance(value, Mapping):
        return {key: _json_without_home(entry) for key, entry in value.items()}
    return [_json_without_home(entry) for entry in value] if isinstance(value, list | tuple) else value
