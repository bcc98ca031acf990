"""summary.json and its published schema. Golden files: see golden.py for how to write them anew."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from golden import FOLDER, check_golden
from summaries import a_mute_agent, a_summary, an_agent

from pytest_voicebench.codec import CodecError, to_json
from pytest_voicebench.summary import Summary, Table
from pytest_voicebench.writers.summary_json import (
    SCHEMA_PATH,
    SummaryUnreadable,
    load_summary,
    summary_bytes,
    summary_schema,
    write_summary,
)

TABLE = Table(number=6, title="Latency", columns=("first_response_latency_s",), rows=(("local", (None,)),))
SUMMARIES = {
    "one agent": a_summary(tables=(TABLE,)),
    "two agents": a_summary(an_agent(), an_agent("grok", shift=4)),
    "nothing measured": a_summary(a_mute_agent()),
    "no agents": replace(a_summary(), agents=(), header={}),
}


def schema() -> Any:
    return json.loads(SCHEMA_PATH.read_bytes())


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_summary_fits_the_published_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(json.loads(summary_bytes(SUMMARIES[name])), schema())


def test_the_published_schema_is_that_of_the_data_classes() -> None:
    check_golden(SCHEMA_PATH, json.dumps(summary_schema(), indent=2).encode() + b"\n")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), 2),
        (("counts", "planned"), -1),
        (("counts", "planned"), None),
        (("agents", 0, "overall", "pass_at_1", "value"), 1.5),
        (("agents", 0, "overall", "f1", "n"), "95"),
        (("agents", 0, "name"), None),
        (("agents", 0, "by", "difficulty", "easy"), {}),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: tuple[Any, ...], value: object) -> None:
    data = json.loads(summary_bytes(a_summary()))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema())


def test_the_schema_allows_keys_that_a_later_version_adds() -> None:
    jsonschema.validate(to_json(a_summary()) | {"colour": "red"}, schema())


def test_what_was_not_measured_is_null_never_zero() -> None:
    overall = json.loads(summary_bytes(a_summary(a_mute_agent())))["agents"][0]["overall"]
    assert overall["first_response_latency_s"] == {"mean": None, "p50": None, "p95": None, "stdev": None, "n": 0}
    assert overall["interruption_rate"] == {"value": None, "k": 0, "n": 0, "low": None, "high": None}


def test_a_number_that_json_lacks_is_refused() -> None:
    with pytest.raises(CodecError, match="nan"):
        summary_bytes(a_summary(header={"workers": float("nan")}))


def test_summary_json_looks_as_it_did() -> None:
    check_golden(FOLDER / "summary.json", summary_bytes(a_summary(a_mute_agent(), tables=(TABLE,))))


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_summary_comes_back_from_its_file(tmp_path: Path, name: str) -> None:
    summary: Summary = SUMMARIES[name]
    assert write_summary(tmp_path, summary) == tmp_path / "summary.json"
    assert load_summary(tmp_path) == summary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "not JSON"),
        (b'{"schema_version": 9}', "schema_version 9 is not readable here (this is 1)"),
        (b'{"schema_version": 1}', "header is missing"),
    ],
)
def test_a_damaged_summary_is_refused_in_one_line(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "summary.json").write_bytes(text)
    with pytest.raises(SummaryUnreadable) as caught:
        load_summary(tmp_path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


def test_a_missing_summary_is_named(tmp_path: Path) -> None:
    with pytest.raises(SummaryUnreadable, match=r"summary\.json: No such file"):
        load_summary(tmp_path)
