"""The development requests of the local agent: read, carried out on declared answers, compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from pytest_voicebench.agents.local.understanding.planner import plan
from pytest_voicebench.agents.local.understanding.references import Known, Reference, resolve
from pytest_voicebench.tools import Parameter, Tool

DATA = Path(__file__).parent / "data"
TODAY = date(2026, 4, 6)
Call = tuple[str, dict[str, Any]]


def load_tools(text: str | None = None) -> tuple[Tool, ...]:
    """Tools from a mapping in YAML, by default those of the development requests."""
    declared = yaml.safe_load(text or (DATA / "local_tools.yaml").read_text(encoding="utf-8"))
    return tuple(_tool(name, tool) for name, tool in declared.items())


def _tool(name: str, declared: dict[str, Any]) -> Tool:
    parameters = {
        p: Parameter(
            name=p,
            type=d["type"],
            required=d.get("required", False),
            description=d.get("description", ""),
            default=d.get("default"),
            has_default="default" in d,
            enum=tuple(d.get("enum", ())),
            format=d.get("format"),
            match=d.get("match"),
        )
        for p, d in declared["parameters"].items()
    }
    return Tool(
        name=name, description=declared["description"], parameters=parameters, returns=declared.get("returns", {})
    )


def load_requests(name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The requests of a file that rules were made on, and every third one, which was kept aside; without pauses."""
    requests = yaml.safe_load((DATA / name).read_text(encoding="utf-8"))
    for request in requests:
        request["text"] = re.sub(r"\[[\d.]+\] ", "", request["text"])
    return [r for i, r in enumerate(requests) if i % 3 != 2], requests[2::3]


def answer(tool: Tool, arguments: dict[str, Any]) -> Any:
    """A tool's declared answer with the arguments put in."""

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: filled(v) for k, v in value.items()}
        if isinstance(value, list):
            return [filled(v) for v in value]
        return re.sub(r"\{(\w+)\}", lambda m: str(arguments.get(m[1])), value) if isinstance(value, str) else value

    return filled(tool.returns)


def carry_out(text: str, tools: Sequence[Tool], known: list[Known] | None = None) -> list[Call]:
    """The calls that a turn leads to, results of earlier ones used in later ones; `known` grows."""
    known = [] if known is None else known
    by_name = {t.name: t for t in tools}
    calls = []
    for step in plan(text, tools, TODAY, known):
        if not step.missing:
            arguments = {k: resolve(v, known) if isinstance(v, Reference) else v for k, v in step.arguments.items()}
            known.append(Known(tool=step.tool, arguments=arguments, result=answer(by_name[step.tool], arguments)))
            calls.append((step.tool, arguments))
    return calls


def expected_calls(request: dict[str, Any], tools: Sequence[Tool]) -> list[Call]:
    """A request's expected calls with their references resolved."""
    by_name = {t.name: t for t in tools}
    results: list[Any] = []
    calls = []
    for call in request["calls"]:
        ((name, arguments),) = call.items()
        arguments = {k: _resolved(v, results) for k, v in arguments.items()}
        results.append(answer(by_name[name], arguments))
        calls.append((name, arguments))
    return calls


def _resolved(value: Any, results: list[Any]) -> Any:
    found = re.fullmatch(r"\$RESULT_(\d+)\.(\w+)\[(\d+)\]\.(\w+)", value) if isinstance(value, str) else None
    return results[int(found[1])][found[2]][int(found[3])][found[4]] if found else value


def all_right(expected: Sequence[Call], made: Sequence[Call], tools: Sequence[Tool]) -> bool:
    """Whether each expected call was made, with all its arguments, and no other."""
    left = list(made)
    for call in expected:
        match = next((m for m in left if _same(call, m, tools)), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def _same(expected: Call, made: Call, tools: Sequence[Tool]) -> bool:
    parameters = next(t for t in tools if t.name == expected[0]).parameters
    return expected[0] == made[0] and all(
        _plain(value) == _plain(made[1].get(name, parameters[name].default)) for name, value in expected[1].items()
    )


def _plain(value: Any) -> str:
    text = re.sub(r"^(the|a|an|my) ", "", str(value).lower().replace("_", " ").strip())
    try:
        return f"{float(text):g}"
    except ValueError:
        return re.sub(r"[^a-z0-9]", "", text)
