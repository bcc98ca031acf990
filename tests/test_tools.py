"""Tool declarations in every known shape become the same tools, and the schema that agents receive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from good_suites import GOOD

from pytest_voicebench.loading.mistakes import Report
from pytest_voicebench.loading.tool_file import read_tools
from pytest_voicebench.tools import Toolset

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "the city"},
        "days": {"type": "integer", "minimum": 1, "default": 3},
        "unit": {"type": "string", "enum": ["c", "f"]},
        "place": {
            "type": "object",
            "properties": {"lat": {"type": "number"}},
            "additionalProperties": False,
            "required": ["lat"],
        },
    },
    "required": ["city"],
    "additionalProperties": False,
}
MOCK = {"writes": True, "returns": {"city": "{city}"}, "latency_s": 0.5}
NAMED = {"name": "weather", "description": "The weather."}
OURS = {
    "weather": {
        "description": "The weather.",
        "parameters": {
            "city": {"type": "string", "required": True, "description": "the city"},
            "days": {"type": "integer", "minimum": 1, "default": 3},
            "unit": {"type": "string", "enum": ["c", "f"]},
            "place": {
                "type": "object",
                "properties": {"lat": {"type": "number"}},
                "additionalProperties": False,
                "needs": ["lat"],
            },
        },
        **MOCK,
    }
}
SHAPES = {
    "ours": OURS,
    "openai chat": [{"type": "function", "function": {**NAMED, "strict": True, "parameters": SCHEMA}, **MOCK}],
    "openai realtime": [{"type": "function", **NAMED, "parameters": SCHEMA, **MOCK}],
    "mcp": {"tools": [{**NAMED, "title": "Weather", "inputSchema": SCHEMA, **MOCK}]},
    "anthropic": [{**NAMED, "input_schema": SCHEMA, **MOCK}],
}


def read(path: Path) -> Toolset | None:
    """The tools of a file without mistakes."""
    report = Report(path)
    tools = read_tools(path, report)
    assert [str(m) for m in report.mistakes] == []
    return tools


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
def test_every_shape_gives_the_same_tool(tmp_path: Path, shape: str, written: object) -> None:
    (tmp_path / "ours.yaml").write_text(yaml.safe_dump(OURS), encoding="utf-8")
    (tmp_path / "tools.yaml").write_text(written(SHAPES[shape]), encoding="utf-8")  # type: ignore[operator]
    tools = read(tmp_path / "tools.yaml")
    assert tools == read(tmp_path / "ours.yaml")
    assert tools is not None
    assert tools["weather"].json_schema() == SCHEMA
    assert (tools["weather"].writes, tools["weather"].latency_s) == (True, 0.5)


def test_an_argument_that_may_be_null_may_be_left_out() -> None:
    tools = read(GOOD / "tools_openai.yaml")
    assert tools is not None
    assert tools["get_weather"].json_schema()["required"] == ["city"]
    assert tools["get_weather"].json_schema()["properties"]["unit"] == {"type": "string", "enum": ["c", "f"]}


def test_what_only_the_judge_needs_is_not_told_to_the_agent() -> None:
    tools = read(GOOD / "tools.yaml")
    assert tools is not None
    budget = tools["measure"].parameters["budget"]
    assert (budget.match, budget.options) == ("money", {"approx": 0.05})
    assert tools["measure"].json_schema()["properties"]["budget"] == {"type": "number"}
    assert tools["measure"].json_schema()["properties"]["rate"] == {"type": "number", "minimum": -1, "maximum": 1}
    assert tools["ping"].json_schema()["properties"] == {}
