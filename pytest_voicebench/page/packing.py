"""Frozen data as small JSON: arrays in the order of the fields, whose names are written once for the whole page."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from pytest_voicebench.writers.plain_text import one_line

Json = Any


def packed(value: Any) -> Json:
    """Arrays for dataclasses and tuples, without what is empty at their end; all text as `one_line` shows it."""
    if isinstance(value, str):
        return one_line(value)
    if is_dataclass(value):
        entries = [packed(getattr(value, field.name)) for field in fields(value)]
        while entries and _is_empty(entries[-1]):
            entries.pop()
        return entries
    if isinstance(value, tuple | list):
        return [packed(entry) for entry in value]
    return value


def shapes(cls: Any) -> dict[str, list[list[Json]]]:
    """How to read what `packed` made of `cls`: for each class its fields as name, class (or None), and empty value.

    A field whose empty value is an array holds many of its class.
    """
    found: dict[str, list[list[Json]]] = {}
    _add_shape(cls, found)
    return found


def _is_empty(entry: Json) -> bool:
    return entry is None or entry is False or entry in ("", [])


def _add_shape(cls: Any, found: dict[str, list[list[Json]]]) -> None:
    hints: Mapping[str, Any] = get_type_hints(cls)
    found[cls.__name__] = [[field.name, *_kind(hints[field.name], found)] for field in fields(cls)]


def _kind(hint: Any, found: dict[str, list[list[Json]]]) -> tuple[str | None, Json]:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (inner,) = [arg for arg in args if arg is not type(None)]
        return _kind(inner, found)[0], None
    if origin is tuple:
        return _kind(args[0], found)[0], []
    if is_dataclass(hint):
        name = hint.__name__  # type: ignore[union-attr]
        if name not in found:
            _add_shape(hint, found)
        return name, None
    return None, "" if hint is str else (False if hint is bool else None)
