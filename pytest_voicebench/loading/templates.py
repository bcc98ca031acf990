"""A tool's `returns`: data in which "{param}" stands for an argument. What it names, and which paths it can have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_voicebench.loading.document import Json, Listing, Mapping, Node, Scalar
from pytest_voicebench.loading.mistakes import Report, did_you_mean
from pytest_voicebench.references import Reference
from pytest_voicebench.tools import Tool

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def check_placeholders(node: Node, names: list[str], where: str, report: Report) -> None:
    """Report every placeholder that names no parameter."""
    for text, line in _texts(node):
        for match in PLACEHOLDER.finditer(text):
            if match[1] not in names:
                what = f'"{match[0]}" names no parameter of the tool{did_you_mean(match[1], names)}'
                report.add(line, where, what)


def _texts(node: Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, Mapping):
        for value in node.entries.values():
            yield from _texts(value)
    elif isinstance(node, Listing):
        for value in node.items:
            yield from _texts(value)
    elif isinstance(node, Scalar) and isinstance(node.value, str):
        yield node.value, node.line


def fill(template: Json, values: dict[str, Json]) -> Json:
    """The template with every placeholder replaced.

    A text that is one placeholder and nothing else becomes the value with its type (None where the argument was left
    out); inside a longer text the value is written as text, numbers and booleans as in JSON, nothing where left out.
    """
    if isinstance(template, dict):
        return {name: fill(value, values) for name, value in template.items()}
    if isinstance(template, list):
        return [fill(value, values) for value in template]
    if not isinstance(template, str):
        return template
    whole = PLACEHOLDER.fullmatch(template)
    if whole and whole[1] in values:
        return values[whole[1]]
    return PLACEHOLDER.sub(lambda m: _as_text(values[m[1]]) if m[1] in values else m[0], template)


def _as_text(value: Json) -> str:
    import json

    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def unreachable(reference: Reference, tool: Tool) -> str | None:
    """Why the tool's answer cannot have the reference's path; None where it can, or where only running would tell."""
    if tool.answer is not None:
        return None
    places = [tool.returns]
    for step in reference.path:
        places, reason = _descend(places, step, tool)
        if reason:
            return reason
        if not places:  # an argument that is itself a list or a mapping: only the call tells
            return None
    return "nothing but null stands there" if all(place is None for place in places) else None


def _descend(places: list[Json], step: object, tool: Tool) -> tuple[list[Json], str | None]:
    found: list[Json] = []
    reason = None
    for place in places:
        if isinstance(place, str) and _is_open(place, tool):
            return [], None
        if isinstance(step, str):
            if isinstance(place, dict) and step in place:
                found.append(place[step])
            else:
                keys = list(place) if isinstance(place, dict) else []
                reason = f'the answer of {tool.name} has no key "{step}" there{did_you_mean(step, keys)}'
        elif not isinstance(place, list):
            reason = f"the answer of {tool.name} has no list there"
        elif isinstance(step, int):
            found += place[step : step + 1]
            reason = reason if step < len(place) else f"the list in the answer of {tool.name} has no element [{step}]"
        else:
            found += place
            reason = reason if place else f"the list in the answer of {tool.name} is empty"
    return found, reason if not found else None


def _is_open(text: str, tool: Tool) -> bool:
    whole = PLACEHOLDER.fullmatch(text)
    parameter = tool.parameters.get(whole[1]) if whole else None
    return parameter is not None and parameter.type in ("array", "object")
