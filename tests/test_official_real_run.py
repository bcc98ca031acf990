"""A real run of the official pipeline, exact mode: the official set agrees with its rows to the digit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from official_folders import MAKER, ROWS, make_folders, official_result, read_folder

from pytest_voicebench.official_card import OfficialCall, OfficialCard
from pytest_voicebench.official_summary import OfficialAgent
from pytest_voicebench.result import Result
from pytest_voicebench.summarizing import summarize

pytestmark = pytest.mark.skipif(not (MAKER.is_file() and ROWS.is_file()), reason=f"no real run in {ROWS.parent}")


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    return {row["id"]: row for row in map(json.loads, ROWS.read_text(encoding="utf-8").splitlines())}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    folder = tmp_path_factory.mktemp("real_run")
    make_folders(folder)
    found = {}
    for place in sorted(folder.iterdir()):
        scenario_id = place.name.rpartition("_")[0]
        found[scenario_id] = official_result(place.name, *read_folder(place))
    return found


def card_of(result: Result) -> OfficialCard:
    assert result.official is not None
    return result.official


def as_the_scripts_say(call: OfficialCall) -> str:
    """Our reason in the words of the official report."""
    if call.verdict == "mismatch":
        return f"Mismatch '{call.argument}': expected={call.expected}, got={call.actual}"
    return {
        "match": "All arguments match",
        "missing_argument": f"Missing argument: {call.argument}",
        "never_called": "Function not called",
    }[call.verdict]


def test_every_call_has_the_verdict_and_the_reason_of_its_row(rows: Any, results: Any) -> None:
    assert len(rows) == len(results) == 50
    judged = 0
    for scenario_id, row in rows.items():
        found = [(c.tool, c.score, as_the_scripts_say(c)) for c in card_of(results[scenario_id]).calls]
        assert found == [(a["f"], a["score"], a["why"]) for a in row["args"]], scenario_id
        judged += len(found)
    assert judged == sum(row["n_expected"] for row in rows.values())


def test_every_item_has_the_scores_and_times_of_its_row(rows: Any, results: Any) -> None:
    for scenario_id, row in rows.items():
        card = card_of(results[scenario_id])
        tools = card.tools
        assert (tools.f1, tools.recall, tools.precision) == (row["f1"], row["recall"], row["precision"]), scenario_id
        assert (tools.expected, tools.actual) == (row["total_expected"], row["total_actual"])
        assert (list(tools.missing), list(tools.unexpected)) == (row["unmatched_expected"], row["unexpected_calls"])
        assert card.argument_accuracy == row["arg_acc"]
        assert (card.user_end_s, card.agent_start_s) == (row["speech_end"], row["agent_start"])
        assert (card.response_latency_s, card.interruption) == (row["latency"], row["interruption"])


@pytest.fixture(scope="module")
def total(results: dict[str, Result]) -> OfficialAgent:
    official = summarize(list(results.values())).official
    assert official is not None
    return official.agents[0]


def test_the_run_has_the_official_aggregates(total: OfficialAgent) -> None:
    f1, accuracy = total.by_metric.tool_selection_f1.value, total.by_metric.argument_accuracy.value
    assert f1 is not None
    assert accuracy is not None
    assert (round(f1, 4), round(accuracy, 3)) == (0.8525, 0.563)
    assert total.by_metric == total.by_metric_all
    assert (total.pass_rate.k, total.pass_rate.n) == (26, 50)
    assert (total.interruption_rate.k, total.interruption_rate.n) == (4, 50)
    assert total.response_latency_s.n == 46
    assert total.response_latency_s.mean is not None
    assert round(total.response_latency_s.mean, 3) == 11.563
    assert sum(total.failure_breakdown.values()) == 24
