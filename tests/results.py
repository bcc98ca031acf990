"""Results, and the folders of runs that hold them, made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from failures import card

from pytest_voicebench.conversation import AgentInfo
from pytest_voicebench.plan import Plan, write_plan
from pytest_voicebench.result import Facts, Outcome, Result
from pytest_voicebench.result_files import append_result
from pytest_voicebench.scorecard import Manners

AGENT = AgentInfo(name="local", model="tiny.en", clock="virtual", settings={"end_silence_s": 0.8})


def a_result(item_id: str = "travel_01", outcome: Outcome = "passed", **changes: object) -> Result:
    """A result with its scorecard, where the outcome has one."""
    passed = outcome == "passed"
    measured: dict[str, Any] = {
        "passed": passed,
        "args_ok": passed,
        "manners": Manners(turn_taken=True, interrupted=False),
    }
    facts = Facts(
        suite="fdb3",
        kind="tool_use",
        stimulus="synthetic",
        scenario_id=item_id,
        title="A title",
        domain="travel_identity",
        difficulty="hard",
        disfluency=("filler",),
        tags=(),
        speaker="a",
        expected_calls=1,
        has_retraction=False,
        scenario_sha256="1" * 64,
        expect_sha256="2" * 64,
    )
    values: dict[str, object] = {
        "item_id": item_id,
        "nodeid": f"suites/fdb3/travel.yaml::scenario[{item_id}]",
        "agent": AGENT,
        "facts": facts,
        "outcome": outcome,
        "error_kind": "infrastructure" if outcome == "error" else None,
        "scorecard": card(**measured) if outcome in ("passed", "failed") else None,
    }
    return Result(**values | changes)  # type: ignore[arg-type]


def a_run(folder: Path, *results: Result, planned: tuple[Result, ...] = (), **header: object) -> Path:
    """A run's folder; the items of `planned` never ran. `header` is added to its head."""
    rows = tuple(replace(r, outcome="not_run", scorecard=None, error_kind=None) for r in (*results, *planned))
    write_plan(folder, Plan(collected=len(rows), items=rows, header={"run": folder.name, "workers": 2, **header}))
    for result in results:
        append_result(folder, result)
    return folder
