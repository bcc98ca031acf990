"""Whether a value written in a scenario is one that a tool's parameter takes."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_voicebench.loading.document import Json, Listing, Mapping, Node, Scalar, plain
from pytest_voicebench.loading.fields import describe
from pytest_voicebench.loading.mistakes import Report, did_you_mean, quoted
from pytest_voicebench.loading.readable import Readable
from pytest_voicebench.matchers.forms import form_of, values_in, why_malformed
from pytest_voicebench.references import is_reference, parse
from pytest_voicebench.tools import Parameter, Tool

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}


def fits(kind: str, value: Json) -> bool:
    """Whether a JSON value has the JSON Schema type. `true` is no integer; `1.0` is one, as in JSON Schema 2020-12."""
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    types: dict[str, type | tuple[type, ...]] = {"string": str, "number": (int, float), "array": list, "object": dict}
    return kind in types and isinstance(value, types[kind])


def read_arguments(
    node: Node | None, tool: Tool, where: str, report: Report, calls: int | None, readable: Readable
) -> dict[str, Json]:
    """The arguments written for a tool, each checked against its parameter and the matcher that will compare it.

    `calls` is the number of expected calls before this one, which references may point at; None where references have
    no place (what the user retracts was never a result).
    """
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return {}
    if not isinstance(node, Mapping):
        report.add(node.line, where, f"expected the arguments as a mapping, got {describe(node)}")
        return {}
    arguments: dict[str, Json] = {}
    for name, value in node.entries.items():
        parameter = tool.parameters.get(name)
        if parameter is None:
            what = f"{tool.name} has no argument {quoted(name)}{did_you_mean(name, tool.parameters)}"
            report.add(node.lines[name], where, what)
            arguments[name] = plain(value)
            continue
        arguments[name] = _argument(value, parameter, f"{where}.{name}", report, calls, readable)
    return arguments


def _argument(
    node: Node, parameter: Parameter, where: str, report: Report, calls: int | None, readable: Readable
) -> Json:
    value = plain(node)
    for leaf, text, at in texts_in(node, where):
        if text.startswith("$RESULT"):
            _check_reference(text, leaf, at, report, calls)
    if isinstance(value, str) and value.startswith("$RESULT"):
        return value
    reason = _misfit(node, value, parameter, calls) or readable.why_not(parameter, value)
    if reason:
        report.add(node.line, where, reason)
    elif isinstance(node, Listing):
        _check_items(node, parameter, where, report)
    return int(value) if parameter.type == "integer" and isinstance(value, float) and value.is_integer() else value


def texts_in(node: Node, where: str) -> Iterator[tuple[Node, str, str]]:
    """Every text of a value, inside lists and mappings too: its node, the text, where it stands."""
    if isinstance(node, Mapping):
        for name, value in node.entries.items():
            yield from texts_in(value, f"{where}.{name}")
    elif isinstance(node, Listing):
        for index, value in enumerate(node.items):
            yield from texts_in(value, f"{where}[{index}]")
    elif isinstance(node, Scalar) and isinstance(node.value, str):
        yield node, node.value, where


def _misfit(node: Node, value: Json, parameter: Parameter, calls: int | None) -> str | None:
    if form_of(value):
        return _form_misfit(value, parameter) if calls is not None else "a form of a value has no place here"
    if not fits(parameter.type, value):
        hint = ""
        if parameter.type == "string" and isinstance(node, Scalar):
            hint = f'; quote it: "{node.raw}"' if node.raw else '; text that starts with # must be quoted: "#..."'
        elif parameter.type in ("integer", "number") and isinstance(value, str):
            hint = "; write it without quotes, in digits" if value.strip().lstrip("-").isdigit() else ""
        return f"expected {_WORDS[parameter.type]}, got {describe(node)}{hint}"
    if parameter.enum and value not in parameter.enum:
        words = [str(word) for word in parameter.enum]
        return f"{describe(node)} is not one of the values of {quoted(parameter.name)}{did_you_mean(str(value), words)}"
    return None


def _form_misfit(value: Json, parameter: Parameter) -> str | None:
    """Why a form is none, or which of its values the parameter does not take."""
    malformed = why_malformed(value)
    if malformed:
        return malformed
    for one in values_in(value):
        if one is None or is_reference(one):
            continue
        if not fits(parameter.type, one):
            return f"expected {_WORDS[parameter.type]}, got {quoted(one)}"
        if parameter.enum and one not in parameter.enum:
            words = [str(word) for word in parameter.enum]
            return f"{quoted(one)} is not one of the values of {quoted(parameter.name)}{did_you_mean(str(one), words)}"
    return None


def _check_items(node: Listing, parameter: Parameter, where: str, report: Report) -> None:
    """The type of each item of a list; `validate` checks the rest of the tool's schema."""
    schema = parameter.constraints.get("items")
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind not in _WORDS:
        return
    for index, item in enumerate(node.items):
        value = plain(item)
        if not (fits(kind, value) or is_reference(value) or form_of(value)):
            report.add(item.line, f"{where}[{index}]", f"expected {_WORDS[kind]}, got {describe(item)}")


def _check_reference(text: str, node: Node, where: str, report: Report, calls: int | None) -> None:
    reference = parse(text)
    if calls is None:
        report.add(node.line, where, f"{text}: a reference has no place here")
    elif reference is None or not is_reference(text):
        report.add(node.line, where, f"{quoted(text)} is not a reference: $RESULT_<n>.<key>, then .key, [index] or [*]")
    elif reference.call >= calls:
        known = f"the calls before this one are 0 to {calls - 1}" if calls else "there is no call before this one"
        report.add(node.line, where, f"{text} points at expected call {reference.call}; {known}")
