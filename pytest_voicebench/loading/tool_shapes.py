"""Tool lists in the shapes that others use (OpenAI's functions, MCP's tools), turned into ours, lines kept."""

from __future__ import annotations

from pytest_voicebench.loading.document import Listing, Mapping, Node, Scalar
from pytest_voicebench.loading.fields import Fields, as_text, describe
from pytest_voicebench.loading.mistakes import Report

MOCK_KEYS = ("writes", "returns", "answer", "latency_s")
_SCHEMA_KEYS = ("parameters", "inputSchema", "input_schema")
_PASSED_OVER = frozenset(("type", "name", "title", "strict", "annotations", "outputSchema", *_SCHEMA_KEYS))
_SCHEMA_PASSED_OVER = frozenset(("title", "examples", "$comment"))
_SHAPES = "ours (name: {description, parameters, returns}), OpenAI's (type: function, ...) or MCP's (inputSchema)"


def declarations(root: Node, report: Report) -> dict[str, Mapping]:
    """Name to declaration in our shape. A list (also under the only key `tools`) holds tools in one of the others."""
    if isinstance(root, Mapping) and list(root.entries) == ["tools"] and isinstance(root.entries["tools"], Listing):
        root = root.entries["tools"]
    if isinstance(root, Listing):
        return _from_list(root, report)
    if not isinstance(root, Mapping):
        report.add(root.line, "tools", f"expected tool declarations, got {describe(root)}")
        return {}
    ours: dict[str, Mapping] = {}
    for name, node in root.entries.items():
        if isinstance(node, Mapping):
            ours[name] = Mapping(root.lines[name], node.entries, node.lines)
        else:
            report.add(node.line, name, f"expected a declaration, got {describe(node)}; known shapes: {_SHAPES}")
    return ours


def looks_like_tools(root: Node) -> bool:
    """Whether a document that should be something else is a file of tools, in any of the shapes."""
    if isinstance(root, Mapping) and list(root.entries) == ["tools"]:
        root = root.entries["tools"]
    if isinstance(root, Listing):
        listed = [item for item in root.items if isinstance(item, Mapping)]
        return any(key in item.entries for item in listed for key in ("function", *_SCHEMA_KEYS))
    declared = list(root.entries.values()) if isinstance(root, Mapping) else []
    mappings = [node for node in declared if isinstance(node, Mapping)]
    keys = ("parameters", "returns", "answer")
    return len(mappings) == len(declared) and any(key in node.entries for node in mappings for key in keys)


def _from_list(root: Listing, report: Report) -> dict[str, Mapping]:
    found: dict[str, Mapping] = {}
    for index, item in enumerate(root.items):
        where = f"tools[{index}]"
        inner = item.entries.get("function", item) if isinstance(item, Mapping) else item
        if not isinstance(item, Mapping) or not isinstance(inner, Mapping) or "name" not in inner.entries:
            report.add(item.line, where, f"not a tool in a known shape: {_SHAPES}")
            continue
        name = as_text(inner.entries["name"], f"{where}.name", report)
        if name in found:
            report.add(item.line, where, f'the tool "{name}" stands twice; first in line {found[name].line}')
        elif name is not None:
            found[name] = _ours(item, inner, where, report)
    return found


def _ours(item: Mapping, inner: Mapping, where: str, report: Report) -> Mapping:
    kind = item.entries.get("type")
    if kind is not None and not (isinstance(kind, Scalar) and kind.value == "function"):
        report.add(kind.line, f"{where}.type", f"expected function, got {describe(kind)}")
    entries = {name: node for name, node in inner.entries.items() if name not in _PASSED_OVER}
    lines = dict(inner.lines)
    if item is not inner:  # the mock's keys stand beside `function`
        beside = Fields(item, where, report, ("type", "function", *MOCK_KEYS)).entries
        entries |= {name: beside[name] for name in MOCK_KEYS if name in beside}
        lines |= item.lines
    schemas = [inner.entries[key] for key in _SCHEMA_KEYS if key in inner.entries]
    if schemas:
        entries["parameters"] = _parameters(schemas[0], where, report)
        lines["parameters"] = schemas[0].line
    return Mapping(item.line, entries, lines)


def _parameters(schema: Node, where: str, report: Report) -> Mapping:
    """Our mapping of parameters from a JSON Schema of the arguments object."""
    empty = Mapping(schema.line, {}, {})
    kind = schema.entries.get("type") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or not isinstance(kind, Scalar) or kind.value != "object":
        report.add(schema.line, where, "the parameters must be a JSON Schema of type object")
        return empty
    for name in schema.entries:
        if name not in ("type", "properties", "required", "additionalProperties", "title", "description", "$schema"):
            report.add(schema.lines[name], where, f'the JSON Schema keyword "{name}" is not read here')
    properties = schema.entries.get("properties", empty)
    required = schema.entries.get("required", Listing(schema.line, []))
    if not isinstance(properties, Mapping) or not isinstance(required, Listing):
        report.add(schema.line, where, "properties must be a mapping and required a list")
        return empty
    needed = {item.value for item in required.items if isinstance(item, Scalar)}
    for item in required.items:
        if not isinstance(item, Scalar) or item.value not in properties.entries:
            report.add(item.line, where, f"required names {describe(item)}, which is no property")
    entries = {name: _parameter(node, name in needed) for name, node in properties.entries.items()}
    return Mapping(properties.line, entries, properties.lines)


def _parameter(node: Node, needed: bool) -> Node:
    """One property: `required` moves into it; a type that allows null means that it may be left out."""
    if not isinstance(node, Mapping):
        return node
    entries = {name: value for name, value in node.entries.items() if name not in _SCHEMA_PASSED_OVER}
    kind = entries.get("type")
    if isinstance(kind, Listing):
        others = [k for k in kind.items if not (isinstance(k, Scalar) and k.raw == "null")]
        if len(others) == 1 and len(kind.items) == 2:
            entries["type"], needed = others[0], False
    lines = {**node.lines, "required": node.line, "needs": node.line}
    if isinstance(entries.get("required"), Listing):  # of the properties of an object
        entries["needs"] = entries["required"]
    entries["required"] = Scalar(node.line, needed, str(needed).lower())
    return Mapping(node.line, entries, lines)
