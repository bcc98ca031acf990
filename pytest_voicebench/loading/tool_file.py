"""A file of tool declarations to a Toolset."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import cast

from pytest_voicebench.folder_code import FolderCodeError, find_function
from pytest_voicebench.loading.arguments import fits
from pytest_voicebench.loading.document import Json, Mapping, Node, Scalar, plain, read_document
from pytest_voicebench.loading.fields import Fields, describe
from pytest_voicebench.loading.match_options import read_kind, read_options
from pytest_voicebench.loading.mistakes import Report, quoted
from pytest_voicebench.loading.readable import Readable
from pytest_voicebench.loading.templates import check_placeholders
from pytest_voicebench.loading.tool_shapes import declarations
from pytest_voicebench.tools import JsonType, Parameter, Tool, Toolset

TYPES = ("string", "integer", "number", "boolean", "array", "object")
CONSTRAINTS = (
    *("items", "properties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "additionalProperties"),
)
TOOL_KEYS = ("description", "parameters", "writes", "returns", "answer", "latency_s")
PARAMETER_KEYS = (
    "type",
    "required",
    "default",
    "enum",
    "format",
    "description",
    "match",
    "options",
    "needs",
    *CONSTRAINTS,
)
TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
NOT_TOOLS = ("allow_extra",)  # stands beside a tool's name in an expected call


def read_tools(path: Path, report: Report) -> Toolset | None:
    """The tools that a file declares, in the order written; None where the file holds a mistake."""
    before = len(report.mistakes)
    root = read_document(path, report)
    if root is None:
        return None
    tools = {name: _tool(name, node, path.parent, report) for name, node in declarations(root, report).items()}
    if not tools and len(report.mistakes) == before:
        report.add(root.line, "tools", "the file declares no tool")
    return tools if len(report.mistakes) == before else None


def _tool(name: str, node: Mapping, folder: Path, report: Report) -> Tool:
    fields = Fields(node, name, report, TOOL_KEYS, ("description",))
    if not TOOL_NAME.fullmatch(name) or name in NOT_TOOLS:
        rule = "letters, digits, _ and -, at most 64" if name not in NOT_TOOLS else "the word has another use"
        report.add(node.line, name, f"{quoted(name)} cannot be a tool's name: {rule}")
    parameters = _parameters(fields.get("parameters"), f"{name}.parameters", report)
    returns = fields.get("returns")
    answer = fields.text("answer")
    if (returns is None) == (answer is None) and "answer" not in fields.entries:
        report.add(node.line, name, "a mock needs an answer: returns (data) or answer (module:function)")
    elif returns is not None and answer is not None:
        report.add(fields.lines["answer"], name, "returns and answer exclude each other")
    if returns is not None:
        check_placeholders(returns, list(parameters), f"{name}.returns", report)
    if answer is not None:
        _check_function(folder, answer, fields, report)
    return Tool(
        name=name,
        description=fields.text("description") or "",
        parameters=parameters,
        writes=fields.flag("writes"),
        returns=None if returns is None else plain(returns),
        answer=answer,
        latency_s=fields.number("latency_s", least=0, most=60) or 0.0,
    )


def _check_function(folder: Path, target: str, fields: Fields, report: Report) -> None:
    try:
        find_function(folder, target)
    except FolderCodeError as error:
        report.add(fields.lines["answer"], fields.at("answer"), str(error))


def _parameters(node: Node | None, where: str, report: Report) -> dict[str, Parameter]:
    if node is None:
        return {}
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected a mapping of parameters, got {describe(node)}")
        return {}
    found: dict[str, Parameter] = {}
    for name, value in node.entries.items():
        at = f"{where}.{name}"
        if not PARAMETER_NAME.fullmatch(name):
            report.add(node.lines[name], at, f"{quoted(name)} cannot be a parameter's name: letters, digits and _")
        elif isinstance(value, Mapping):
            found[name] = _parameter(name, value, at, report)
        else:
            report.add(value.line, at, f"expected a mapping such as {{type: string}}, got {describe(value)}")
    return found


def _parameter(name: str, node: Mapping, where: str, report: Report) -> Parameter:
    fields = Fields(node, where, report, PARAMETER_KEYS, ("type",))
    kind = fields.choice("type", TYPES)
    enum = [_typed(item, kind, at, report) for item, at in fields.items("enum")]
    default = fields.get("default")
    value = None if default is None else _typed(default, kind, fields.at("default"), report)
    if default is not None and enum and value not in enum:
        report.add(default.line, fields.at("default"), f"{describe(default)} is not in enum")
    parameter = Parameter(
        name=name,
        type=cast(JsonType, kind or "string"),
        required=fields.flag("required"),
        description=fields.text("description") or "",
        default=value,
        has_default=default is not None,
        enum=tuple(enum),
        format=fields.text("format"),
        match=read_kind(fields, "match"),
        constraints=_constraints(fields, report),
    )
    if parameter.match or "match" not in fields.entries:  # which options there are follows from the matcher
        options = read_options(fields.get("options"), parameter, fields.at("options"), report)
        parameter = replace(parameter, options=options)
    _check_enum(parameter, fields, report)
    return parameter


def _check_enum(parameter: Parameter, fields: Fields, report: Report) -> None:
    """Each allowed value must be one that an expected call could have."""
    readable = Readable()
    for node, where in fields.items("enum") if parameter.enum else ():
        value = plain(node)
        reason = readable.why_not(parameter, value) if fits(parameter.type, value) else None
        if reason:
            report.add(node.line, where, reason)


def _typed(node: Node, kind: str | None, where: str, report: Report) -> Json:
    value = plain(node)
    if kind is not None and not fits(kind, value):
        hint = f'; quote it: "{node.raw}"' if kind == "string" and isinstance(node, Scalar) else ""
        report.add(node.line, where, f"{describe(node)} is not of type {kind}{hint}")
    return value


def _constraints(fields: Fields, report: Report) -> dict[str, Json]:
    """The JSON Schema keywords that agents and the mock see as written; a mistake where they are no valid schema."""
    found = {name: plain(fields.entries[name]) for name in CONSTRAINTS if name in fields.entries}
    needs = fields.texts("needs")  # what an object must hold: JSON Schema's `required`, a word that parameters use
    if needs:
        found["required"] = list(needs)
    if found:
        from jsonschema import Draft202012Validator, SchemaError

        try:
            Draft202012Validator.check_schema(found)
        except SchemaError as error:
            report.add(fields.line, fields.where, f"not valid JSON Schema: {error.message}")
    return found
