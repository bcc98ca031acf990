"""Tool declarations: what an agent may call, with which parameters, and how each argument is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Any

JsonType = Literal["string", "integer", "number", "boolean", "array", "object"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a tool. `match` names the matcher that compares its values (`matchers.KINDS`,
    or a user's `package.module:function`); None = chosen from the type."""

    name: str
    type: JsonType
    required: bool = False
    description: str = ""
    default: Json = None
    has_default: bool = False
    enum: tuple[Json, ...] = ()
    format: str | None = None
    match: str | None = None
    options: Mapping[str, Json] = field(default_factory=dict)  # of the matcher: aliases, approx, set, ...
    constraints: Mapping[str, Json] = field(default_factory=dict)  # other JSON Schema keywords: items, minimum, ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: its declaration for the agent and its mock answer (`returns`: data; `answer`: `module:function`)."""

    name: str
    description: str
    parameters: Mapping[str, Parameter]
    writes: bool = False
    returns: Json = None
    answer: str | None = None
    latency_s: float = 0.0

    def json_schema(self) -> dict[str, Json]:
        """The JSON Schema of the arguments object, as agents receive it."""
        properties: dict[str, Json] = {}
        for parameter in self.parameters.values():
            schema: dict[str, Json] = {"type": parameter.type, **parameter.constraints}
            if parameter.description:
                schema["description"] = parameter.description
            if parameter.format:
                schema["format"] = parameter.format
            if parameter.enum:
                schema["enum"] = list(parameter.enum)
            if parameter.has_default:
                schema["default"] = parameter.default
            properties[parameter.name] = schema
        return {
            "type": "object",
            "properties": properties,
            "required": [p.name for p in self.parameters.values() if p.required],
            "additionalProperties": False,
        }


Toolset = Mapping[str, Tool]
