"""One spelling of what the server says: protobuf's JSON may name a field in camelCase or in snake_case."""

from __future__ import annotations

import re
from typing import Any

Json = Any

_AFTER_LINE = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def camel_cased(value: Json) -> Json:
    """The same with every field's name in camelCase; the arguments of calls are the tool's, and stay."""
    if isinstance(value, dict):
        return {_camel(k): inner if k == "args" else camel_cased(inner) for k, inner in value.items()}
    return [camel_cased(inner) for inner in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    return _AFTER_LINE.sub(lambda found: found[1].upper(), name)


def seconds(value: Json) -> float | None:
    """A duration as protobuf writes it (`9.5s`); None for anything else."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)s", value) if isinstance(value, str) else None
    return float(found[1]) if found else None
