"""summary.json: the summary as data for programs, and the JSON Schema that describes it."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pytest_voicebench.codec import CodecError, dump_json, from_json, json_key, parse_text
from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.manifest import MANIFEST_VERSION, Manifest
from pytest_voicebench.summary import SCHEMA_VERSION, Rate, Summary

Json = Any

SUMMARY_NAME = "summary.json"
SCHEMA_PATH = Path(__file__).parent.parent / "schemas" / "summary.schema.json"


class SummaryUnreadable(Exception):  # noqa: N818 - says what is the case, for a person
    """A summary.json that is missing, damaged or of another schema_version; one line that names the file."""


def summary_bytes(summary: Summary) -> bytes:
    """summary.json as bytes: equal summaries give equal bytes; what was not measured is null. Raises CodecError."""
    return dump_json(summary, indent=2) + b"\n"


def write_summary(run_folder: Path, summary: Summary) -> Path:
    """Write summary.json into a run's folder, whole or not at all; gives its path."""
    path = run_folder / SUMMARY_NAME
    write_atomically(path, summary_bytes(summary))
    return path


def load_summary(run_folder: Path) -> Summary:
    """The summary of a run's folder. Raises SummaryUnreadable."""
    path = run_folder / SUMMARY_NAME
    try:
        data = parse_text(read_file(path), where=str(path))
        found = data.get("schema_version") if isinstance(data, dict) else None
        if found != SCHEMA_VERSION:
            raise SummaryUnreadable(f"{path}: schema_version {found!r} is not readable here (this is {SCHEMA_VERSION})")
        return from_json(Summary, data, where=str(path))
    except OSError as error:
        raise SummaryUnreadable(f"{path}: {error.strerror}") from None
    except CodecError as error:
        raise SummaryUnreadable(str(error)) from None


def summary_schema() -> Json:
    """The JSON Schema of summary.json, made from the data classes; SCHEMA_PATH holds its published copy.

    Every key is required; keys that are not named are allowed, because later versions of schema_version 1 add some.
    """
    definitions: dict[str, Json] = {}
    top = _schema(Summary, definitions)
    definitions["Summary"]["properties"]["schema_version"] = {"const": SCHEMA_VERSION}
    share = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    definitions[Rate.__name__]["properties"] |= {"value": share, "low": share, "high": share}
    return _document("pytest-voicebench summary", top, definitions)


def manifest_schema() -> Json:
    """The JSON Schema of manifest.json, made in the same way."""
    definitions: dict[str, Json] = {}
    top = _schema(Manifest, definitions)
    definitions["Manifest"]["properties"]["schema_version"] = {"const": MANIFEST_VERSION}
    return _document("pytest-voicebench manifest", top, definitions)


def _document(title: str, top: Json, definitions: Mapping[str, Json]) -> Json:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **top,
        "$defs": dict(sorted(definitions.items())),
    }


_SCALARS: Mapping[Any, str] = {str: "string", bool: "boolean", float: "number", type(None): "null"}


def _schema(kind: Any, definitions: dict[str, Json]) -> Json:
    if kind is Any:
        return {}
    if kind is int:
        return {"type": "integer", "minimum": 0}  # all whole numbers of a summary are counts
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if is_dataclass(kind):
        return _object_schema(kind, definitions)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(a, definitions) for a in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return _array_schema(args, definitions)
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _schema(args[1], definitions)}
    raise TypeError(f"no JSON Schema for {kind}")


def _array_schema(args: tuple[Any, ...], definitions: dict[str, Json]) -> Json:
    if args[-1] is Ellipsis:
        return {"type": "array", "items": _schema(args[0], definitions)}
    entries = [_schema(a, definitions) for a in args]
    return {"type": "array", "prefixItems": entries, "items": False, "minItems": len(entries)}


def _object_schema(cls: Any, definitions: dict[str, Json]) -> Json:
    name = cls.__name__
    if name not in definitions:
        definitions[name] = {}
        hints = get_type_hints(cls)
        definitions[name] = {
            "description": " ".join((cls.__doc__ or "").split()),
            "type": "object",
            "properties": {json_key(f.name): _schema(hints[f.name], definitions) for f in fields(cls)},
            "required": [json_key(f.name) for f in fields(cls)],
        }
    return {"$ref": f"#/$defs/{name}"}
