"""What a run planned, and what became of each item."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from results import a_result

from pytest_voicebench.plan import UNKNOWN_AGENT, Plan, completed, read_plan, suite_hashes, write_plan
from pytest_voicebench.result import Outcome, Result


def a_plan(*item_ids: str) -> Plan:
    rows = tuple(replace(a_result(item_id, "not_run"), agent=UNKNOWN_AGENT) for item_id in item_ids)
    return Plan(collected=len(rows), items=rows, header={"run": "r"})


@pytest.mark.parametrize(
    ("outcomes", "counted", "kept"),
    [
        ([], "not_run", ()),
        (["passed"], "passed", ()),
        (["error", "passed"], "passed", ("error", "passed")),
        (["error", "error"], "error", ("error", "error")),
        (["failed", "passed"], "failed", ("failed", "passed")),
        (["error", "failed", "passed"], "failed", ("error", "failed", "passed")),
        (["skipped", "passed"], "passed", ("skipped", "passed")),
    ],
)
def test_a_rerun_may_replace_an_error_never_a_failure(
    outcomes: list[Outcome], counted: str, kept: tuple[str, ...]
) -> None:
    (chosen,) = completed(a_plan("a"), [a_result("a", outcome) for outcome in outcomes])
    assert (chosen.outcome, chosen.attempts) == (counted, kept)


def test_attempts_that_were_kept_already_are_not_lost() -> None:
    merged = replace(a_result("a"), attempts=("failed", "passed"))
    assert completed(a_plan("a"), [merged])[0].attempts == ("failed", "passed")


def test_results_stand_in_the_plans_order_and_the_unplanned_are_left_out() -> None:
    rows = completed(a_plan("b", "a", "c"), [a_result("a"), a_result("b", "failed"), a_result("z")])
    assert [(r.item_id, r.outcome) for r in rows] == [("b", "failed"), ("a", "passed"), ("c", "not_run")]


def test_items_that_never_met_the_runs_only_agent_are_its_too() -> None:
    rows = completed(a_plan("a", "b"), [a_result("a")])
    assert [r.agent.name for r in rows] == ["local", "local"]


def test_a_plan_comes_back_from_its_file(tmp_path: Path) -> None:
    plan = a_plan("a", "b")
    assert read_plan(tmp_path) is None
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan


def test_a_suites_hash_changes_with_its_scenarios_not_with_their_order_or_the_agents() -> None:
    items = a_plan("a", "b").items
    changed = replace(items[0], facts=replace(items[0].facts, expect_sha256="9"))
    other_agent = replace(items[0], agent=replace(UNKNOWN_AGENT, name="grok"), item_id="grok-a")

    def hashes(rows: tuple[Result, ...]) -> dict[str, str]:
        return suite_hashes(row.facts for row in rows)

    assert hashes(items) == hashes((*reversed(items), other_agent))
    assert list(hashes(items)) == ["fdb3"]
    assert hashes(items) != hashes((changed, items[1]))
