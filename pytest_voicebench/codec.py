"""Our frozen dataclasses as JSON and back: one rule for time, one canonical form of bytes, errors that name the place.

Fields that end in `_ticks` hold whole samples at 24 kHz in memory; in JSON they end in `_s` and hold seconds, rounded
to six decimals, which is fine enough that reading gives the same tick. Tuples become arrays, None becomes null, keys
keep the order of the fields. NaN and infinities have no place in JSON and are refused. The fields `recording` and
`wire_events` are left out: they have files of their own.

Keys that a class does not know are ignored, so that a file of a newer version that only adds fields stays readable;
a change that old code would misread raises the number in `format` or `schema_version`, which the readers check.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pytest_voicebench.timeline import RATE_HZ

Json = Any
T = TypeVar("T")
Decode = Callable[[Json], Any]

LEFT_OUT = frozenset({"recording", "wire_events"})


class CodecError(ValueError):
    """A value that cannot be written as JSON, or JSON that does not fit a class; the message names the field."""


def to_json(value: object) -> Json:
    """Dicts, lists and scalars for a dataclass (or a tuple or mapping of them). Raises CodecError."""
    try:
        return _plain(value, "")
    except RecursionError:
        raise CodecError("nested too deeply to be written as JSON") from None


def dump_json(value: object, *, indent: int | None = None) -> bytes:
    """Canonical UTF-8 bytes: equal values give equal bytes. Without `indent` it is one line without a line end."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(to_json(value), ensure_ascii=False, allow_nan=False, separators=separators, indent=indent)
    return text.encode("utf-8", "backslashreplace")  # a lone surrogate becomes its own JSON escape


def from_json(cls: type[T], data: Json, *, where: str = "") -> T:
    """An object of `cls`. Raises CodecError `where: field: what is wrong` for missing fields and wrong types."""
    try:
        decoded: T = _decoder(cls)(data)  # type: ignore[arg-type]
        return decoded
    except _Misfit as misfit:
        raise CodecError(misfit.at(where)) from None


def parse_json(cls: type[T], data: bytes, *, where: str) -> T:
    """An object of `cls` from UTF-8 JSON text; `where` names the file (and line) in errors. Raises CodecError."""
    return from_json(cls, parse_text(data, where=where), where=where)


def parse_text(data: bytes, *, where: str) -> Json:
    """JSON text as dicts and lists. Raises CodecError for what is not UTF-8 JSON."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise CodecError(f"{where}: not JSON: {error}") from None


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def _plain(value: Any, where: str) -> Json:
    kind: Any = type(value)
    if value is None or kind in (str, int, bool):
        return value
    if kind is float:
        if not math.isfinite(value):
            raise CodecError(f"{where}: {value} has no place in JSON")
        return value
    if is_dataclass(value):
        return {
            key: _seconds(getattr(value, name)) if timed else _plain(getattr(value, name), f"{where}.{name}".strip("."))
            for name, key, timed in _written_fields(kind)
        }
    if isinstance(value, tuple | list):
        return [_plain(entry, f"{where}[{i}]") for i, entry in enumerate(value)]
    if isinstance(value, Mapping):
        return {_key(key, where): _plain(entry, f"{where}.{key}") for key, entry in value.items()}
    raise CodecError(f"{where}: a {kind.__name__} cannot be written as JSON")


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise CodecError(f"{where}: key {key!r} is not text")
    return key


def _seconds(ticks: int | tuple[int, ...] | None) -> Json:
    if ticks is None:
        return None
    if isinstance(ticks, tuple):
        return [round(t / RATE_HZ, 6) for t in ticks]
    return round(ticks / RATE_HZ, 6)


@cache
def _written_fields(cls: Any) -> tuple[tuple[str, str, bool], ...]:
    return tuple((f.name, json_key(f.name), f.name.endswith("_ticks")) for f in fields(cls) if f.name not in LEFT_OUT)


def json_key(field_name: str) -> str:
    """The key of a field in JSON: `start_ticks` is written as `start_s`."""
    return field_name.removesuffix("_ticks") + "_s" if field_name.endswith("_ticks") else field_name


class _Misfit(Exception):  # noqa: N818 - becomes a CodecError once its place is known
    """JSON that does not fit; `place` grows from the inside out."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.place: list[str | int] = []

    def at(self, where: str) -> str:
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in reversed(self.place)).strip(".")
        return ": ".join(part for part in (where, path, self.message) if part)


def _wrong(wanted: str, data: Json) -> _Misfit:
    return _Misfit(f"expected {wanted}, found {json.dumps(data, default=str)[:60]}")


@cache
def _decoder(kind: Any) -> Decode:
    if kind is Any:
        return lambda data: data
    if is_dataclass(kind):
        return _object_decoder(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union_decoder(args)
    if origin is Literal:
        return _literal_decoder(args)
    if origin is tuple:
        return _tuple_decoder(args)
    if origin in (Mapping, dict):
        return _mapping_decoder(args[1])
    return _SCALARS[kind]


def _scalar_decoder(wanted: str, *kinds: type) -> Decode:
    def decode(data: Json) -> Any:
        if type(data) in kinds:
            return data
        raise _wrong(wanted, data)

    return decode


def _decode_float(data: Json) -> float:
    if type(data) in (int, float):
        try:
            number = float(data)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):  # JSON can write 1e999, which reads as infinite
            return number
        raise _Misfit("a number too large to read")
    raise _wrong("a number", data)


def _decode_ticks(data: Json) -> int:
    return round(_decode_float(data) * RATE_HZ)


_SCALARS: dict[Any, Decode] = {
    str: _scalar_decoder("text", str),
    bool: _scalar_decoder("true or false", bool),
    int: _scalar_decoder("a whole number", int),
    float: _decode_float,
    type(None): _scalar_decoder("null", type(None)),
}


def _union_decoder(args: tuple[Any, ...]) -> Decode:
    """Optional values, and unions of scalars; a scalar keeps the type it has in JSON."""
    rest = tuple(a for a in args if a is not type(None))
    optional = len(rest) < len(args)
    if len(rest) == 1:
        inner = _decoder(rest[0])
        return lambda data: None if data is None else inner(data)
    names = ", ".join(a.__name__ for a in rest)
    return _scalar_decoder(f"one of {names}", *rest, *([type(None)] if optional else []))


def _literal_decoder(values: tuple[Any, ...]) -> Decode:
    def decode(data: Json) -> Any:
        if type(data) in (str, int, bool) and data in values:
            return data
        raise _wrong("one of " + ", ".join(map(str, values)), data)

    return decode


def _entries(data: list[Json], inner: Sequence[Decode]) -> tuple[Any, ...]:
    decoded: list[Any] = []
    try:
        for decode, entry in zip(inner, data, strict=False):
            decoded.append(decode(entry))
    except _Misfit as misfit:
        misfit.place.append(len(decoded))
        raise
    return tuple(decoded)


def _tuple_decoder(args: tuple[Any, ...]) -> Decode:
    inner = [_decoder(a) for a in args if a is not Ellipsis]
    open_ended = Ellipsis in args

    def decode(data: Json) -> tuple[Any, ...]:
        if not isinstance(data, list) or (not open_ended and len(data) != len(inner)):
            raise _wrong("a list" if open_ended else f"a list of {len(inner)}", data)
        return _entries(data, inner * len(data) if open_ended else inner)

    return decode


def _mapping_decoder(value_kind: Any) -> Decode:
    inner = _decoder(value_kind)

    def decode(data: Json) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise _wrong("an object", data)
        return dict(zip(data, _entries(list(data.values()), [inner] * len(data)), strict=True))

    return decode


def _ticks_decoder(kind: Any) -> Decode:
    """The decoder of a `_ticks` field: int, an optional int, or a tuple of ints, read from seconds."""
    if kind is int:
        return _decode_ticks
    if get_origin(kind) is tuple:
        numbers = _decoder(tuple[float, ...])
        return lambda data: tuple([round(s * RATE_HZ) for s in numbers(data)])
    return lambda data: None if data is None else _decode_ticks(data)


def _object_decoder(cls: Any) -> Decode:
    hints = get_type_hints(cls)
    plan = []
    for f in fields(cls):
        if f.name not in LEFT_OUT:
            required = f.default is MISSING and f.default_factory is MISSING
            decode_field = (_ticks_decoder if f.name.endswith("_ticks") else _decoder)(hints[f.name])
            plan.append((f.name, json_key(f.name), decode_field, required))

    def decode(data: Json) -> Any:
        if not isinstance(data, dict):
            raise _wrong("an object", data)
        values: dict[str, Any] = {}
        for name, key, decode_field, required in plan:
            if key in data:
                try:
                    values[name] = decode_field(data[key])
                except _Misfit as misfit:
                    misfit.place.append(key)
                    raise
            elif required:
                raise _Misfit(f"{key} is missing")
        try:
            return cls(**values)
        except ValueError as error:  # what the class itself refuses
            raise _Misfit(str(error)) from None

    return decode
