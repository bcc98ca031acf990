"""What the official scripts would make of an exported run: their formulas written anew, from files alone."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from suites_for_pytest import ROOT

from pytest_voicebench.exporters.official_folders import export_run
from pytest_voicebench.official_summary import OfficialAgent
from pytest_voicebench.result_files import find_run
from pytest_voicebench.saved_run import SavedRun, load_run

BEHAVIOURS = ("oracle", "stale_commit", "interrupter", "eager_filler", "no_op", "tool_inventor", "argument_swapper")
ITEMS = "travel_08 or travel_09 or travel_10 or travel_11"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> SavedRun:
    """Seven agents of known behaviour on some hard scenarios of the shipped suite."""
    folder = tmp_path_factory.mktemp("agents")
    agents = [f"--agent=simulated,behaviour={name}" for name in BEHAVIOURS]
    command = [sys.executable, "-m", "pytest", str(ROOT / "suites" / "fdb3" / "travel.yaml"), "-k", ITEMS, *agents]
    options = ["--voicebench-reports", str(folder), "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return load_run(find_run("latest", folder))


@pytest.fixture(scope="module")
def folders(run: SavedRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "released"
    found = export_run(run, out, suites=[ROOT / "suites" / "fdb3"])
    assert found.left_out == []
    assert found.items == len(run.results)
    return out


def same(wanted: Any, given: Any) -> bool:
    if isinstance(wanted, str) and wanted.startswith("$"):
        return True
    if isinstance(wanted, str) and isinstance(given, str):
        return wanted.lower().strip().replace("_", " ") == given.lower().strip().replace("_", " ")
    return bool(wanted == given)


def tool_selection(wanted: list[str], given: list[str]) -> float:
    matched = sum((Counter(wanted) & Counter(given)).values())
    recall = matched / len(wanted) if wanted else 1.0
    precision = matched / len(given) if given else 1.0
    return round(2 * precision * recall / (precision + recall), 3) if precision + recall else 0.0


def arguments(wanted: list[dict[str, Any]], given: list[dict[str, Any]]) -> float:
    left, scores = list(given), []
    for expected in wanted:
        call = next((c for c in left if c["function"] == expected["function"]), None)
        if call is None:
            scores.append(0.0)
            continue
        left.remove(call)
        scores.append(float(all(k in call["args"] and same(v, call["args"][k]) for k, v in expected["args"].items())))
    return round(sum(scores) / len(scores), 3) if scores else 1.0


def official_numbers(folders: Path, provider: str) -> dict[str, Any]:
    """benchmark's report over all result files of a provider."""
    f1, right, passed, turns, latencies, interrupted = [], [], [], [], [], []
    for path in sorted(folders.glob(f"*/result_{provider}.json")):
        result, data = json.loads(path.read_bytes()), json.loads((path.parent / "metadata.json").read_bytes())
        wanted, given = data["expected_tool_calls"], result["actual_tool_calls"]
        names = [[c["function"] for c in calls] for calls in (wanted, given)]
        f1.append(tool_selection(*names))
        right.append(arguments(wanted, given))
        passed.append(Counter(names[0]) == Counter(names[1]) and right[-1] == 1.0)
        turns.append(bool(result["transcript"].strip() or result["asr_chunks"]))
        start, end = result["audio_agent_speech_start"], result["user_speech_end_rel"]
        if turns[-1] and start is not None and end is not None:
            interrupted.append(start - end < 0)
            if not interrupted[-1]:
                latencies.append(start - end)
    return {
        "items": len(f1),
        "f1": statistics.fmean(f1),
        "arguments": statistics.fmean(right),
        "passed": sum(passed),
        "turns": sum(turns),
        "interrupted": (sum(interrupted), len(interrupted)),
        "latency": statistics.fmean(latencies) if latencies else None,
    }


def ours(agent: OfficialAgent) -> dict[str, Any]:
    return {
        "items": agent.items,
        "f1": agent.by_metric_all.tool_selection_f1.value,
        "arguments": agent.by_metric_all.argument_accuracy.value,
        "passed": agent.pass_rate.k,
        "turns": agent.turn_take_rate.k,
        "interrupted": (agent.interruption_rate.k, agent.interruption_rate.n),
        "latency": agent.response_latency_s.mean,
    }


def test_the_official_formulas_give_the_numbers_of_our_report(run: SavedRun, folders: Path) -> None:
    summary = run.summary()
    assert summary.official is not None
    providers = sorted({p.name.removeprefix("result_").removesuffix(".json") for p in folders.glob("*/result_*.json")})
    agents = sorted(summary.official.agents, key=lambda agent: agent.name)
    assert len(providers) == len(agents) == len(BEHAVIOURS)
    found = [official_numbers(folders, provider) for provider in providers]
    for theirs, agent in zip(found, agents, strict=True):
        for name, value in ours(agent).items():
            assert theirs[name] == (value if value is None else pytest.approx(value, abs=0.001)), (agent.name, name)
    assert len({json.dumps(one) for one in found}) >= 4  # the agents differ, so that equal numbers say something
