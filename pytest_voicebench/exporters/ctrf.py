"""A run in the Common Test Report Format (ctrf.io), for the tools of CI systems that read it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pytest_voicebench.codec import dump_json, to_json
from pytest_voicebench.conversation_files import AUDIO_NAME, JSON_NAME
from pytest_voicebench.exporters.item_table import COLUMNS, item_rows
from pytest_voicebench.manifest import ended_at
from pytest_voicebench.result import Result
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.scorecard import Scorecard

Json = Any

SPEC_VERSION = "0.0.0"

STATUS = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped", "not_run": "pending"}
"""What could not be measured did not pass: a reader of CTRF has no word of its own for it, `rawStatus` has ours."""

_SCORES = tuple(column.name for column in COLUMNS if column.kind != "text")


def ctrf_bytes(run: SavedRun) -> bytes:
    """The report as JSON: equal runs give equal bytes. Times are whole milliseconds; a run whose start nobody knows
    starts at 0. Scores of an item and of the run are under `extra`."""
    return dump_json(ctrf_report(run), indent=2) + b"\n"


def ctrf_report(run: SavedRun) -> dict[str, Json]:
    """The report as data."""
    summary, header = run.summary(), run.header
    tests = [_test(result, row) for result, row in zip(run.results, item_rows(run), strict=True)]
    scores = {a.name: {"pass_at_1": to_json(a.overall.pass_at_1), "f1": a.overall.f1.value} for a in summary.agents}
    told = {"mode": header.get("mode"), "stimulus": summary.stimulus, "notices": list(summary.notices)}
    results = {
        "tool": {"name": "pytest-voicebench", **_version(header)},
        "summary": {**_counts(tests), **_times(run, tests)},
        "tests": tests,
        "environment": {"reportName": " + ".join(summary.suites) or "no suite", "extra": told},
        "extra": {"score_set": f"{summary.score_set} {summary.score_version}", "agents": scores},
    }
    return {"reportFormat": "CTRF", "specVersion": SPEC_VERSION, "runId": run.name, "results": results}


def _version(header: Mapping[str, Json]) -> dict[str, str]:
    versions = header.get("versions")
    own = versions.get("pytest-voicebench") if isinstance(versions, Mapping) else None
    return {"version": own} if isinstance(own, str) else {}


def _counts(tests: list[dict[str, Json]]) -> dict[str, int]:
    found = Counter(test["status"] for test in tests)
    names = ("passed", "failed", "skipped", "pending", "other")
    flaky = sum(test.get("flaky", False) for test in tests)
    return {"tests": len(tests), **{name: found[name] for name in names}, "flaky": flaky}


def _times(run: SavedRun, tests: list[dict[str, Json]]) -> dict[str, int]:
    """The run's start and end; where its end is not known, as if its items had run one after the other."""
    start = _milliseconds(run.header.get("started_at")) or 0
    stop = _milliseconds(ended_at(run.folder)) or start + sum(test["duration"] for test in tests)
    return {"start": start, "stop": max(start, stop)}


def _milliseconds(moment: Json) -> int | None:
    try:
        return round(datetime.fromisoformat(moment).timestamp() * 1000)
    except (TypeError, ValueError):
        return None


def _test(result: Result, row: Mapping[str, Json]) -> dict[str, Json]:
    facts = result.facts
    labels = {name: row[name] for name in ("agent", "domain", "difficulty", "speaker", "mode") if row[name]}
    message = ": ".join(part for part in (result.error_kind, result.cause) if part) or _reason(result.scorecard)
    attempts = set(result.attempts)
    return {
        "name": result.item_id,
        "status": STATUS[result.outcome],
        "duration": math.ceil(1000 * (result.duration_s or 0)),
        "suite": [facts.suite],
        **({"message": message} if message else {}),
        "rawStatus": result.outcome,
        "tags": list(dict.fromkeys([*facts.disfluency, *facts.tags])),
        "labels": labels,
        "type": "voice",
        "filePath": result.nodeid.partition("::")[0],
        "retries": max(0, len(result.attempts) - 1),
        "flaky": "passed" in attempts and "failed" in attempts,
        "attachments": _attachments(result),
        "extra": {name: row[name] for name in _SCORES if row[name] is not None},
    }


def _reason(card: Scorecard | None) -> str:
    """What of Pass is missing, in words of ours alone."""
    if card is None or card.passed:
        return ""
    parts = [] if card.spoke else ["the agent never took the turn"]
    parts += [f"not called: {pair.tool}" for pair in card.pairs if pair.actual is None]
    parts += [f"nobody asked for: {tool}" for tool in card.surplus_tools]
    wrong = [
        (pair.tool, a.name)
        for pair in card.pairs
        if pair.actual is not None
        for a in pair.arguments
        if a.verdict != "match"
    ]
    parts += [f"wrong: {tool}.{name}" for tool, name in wrong]
    parts += [f"required {name}: not met" for name, met in card.requirements.items() if not met]
    return "; ".join(parts)


def _attachments(result: Result) -> list[dict[str, str]]:
    """Files of the item, from the run's folder."""
    if result.folder is None:
        return []
    files = [("conversation", "application/json", JSON_NAME)]
    files += [] if "sound" in result.withheld else [("audio", "audio/flac", AUDIO_NAME)]
    return [{"name": name, "contentType": kind, "path": f"{result.folder}/{file}"} for name, kind, file in files]
