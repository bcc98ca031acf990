"""References from one expected call into the result of another: the exact grammar `$RESULT_<n>.<path>`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, Literal

Json = Any

_STEP = r"\.[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]|\[\*\]"
_REFERENCE = re.compile(rf"\$RESULT_(\d+)(\.[A-Za-z_][A-Za-z0-9_-]*(?:{_STEP})*)")
_STEPS = re.compile(_STEP)
_MOST_READINGS = 1000  # of references with [*] inside lists and objects, which multiply


class Unresolvable(ValueError):  # noqa: N818 - says what the reference is
    """The path leads nowhere in the recorded results. The message says where it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A parsed reference: the index of the expected call it points at, and the steps into that call's result.

    A step is a key, an index, or `"*"` wrapped in a one-tuple for "any element" (so that a key named `*` cannot be
    mistaken for it).
    """

    text: str
    call: int
    path: tuple[str | int | tuple[Literal["*"]], ...]


def parse(text: str) -> Reference | None:
    """The reference that `text` is, or None where it is a literal (`$500`, `$RESULT_0`, `see $RESULT_0.id`)."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        return None
    return Reference(text=text, call=int(found[1]), path=tuple(_step(s) for s in _STEPS.findall(found[2])))


def _step(text: str) -> str | int | tuple[Literal["*"]]:
    if text == "[*]":
        return ("*",)
    return text[1:] if text.startswith(".") else int(text[1:-1])


def is_reference(value: Json) -> bool:
    """Whether a value of an expected argument is a reference rather than a literal."""
    return isinstance(value, str) and value.startswith("$RESULT_") and _REFERENCE.fullmatch(value) is not None


def resolve(reference: Reference, results: Mapping[int, Json]) -> tuple[Json, ...]:
    """The values a reference may stand for: one, or every element where the path says `[*]`; never empty, never null.

    `results` maps the index of an expected call to the recorded result of the call paired with it. Raises Unresolvable
    where that result is missing, a key or index is not there, or nothing but null is found: such an argument has no
    right value, so nothing may pass for it.
    """
    if reference.call not in results:
        raise Unresolvable(f"{reference.text}: expected call {reference.call} has no recorded result")
    values: list[Json] = [results[reference.call]]
    for step in reference.path:
        values = [after for value in values for after in _descend(value, step, reference.text)]
    found = tuple(value for value in values if value is not None)
    if not found:
        raise Unresolvable(f"{reference.text}: the result holds nothing there")
    return found


def _descend(value: Json, step: str | int | tuple[Literal["*"]], text: str) -> list[Json]:
    if isinstance(step, tuple):
        if not isinstance(value, list):
            raise Unresolvable(f"{text}: [*] needs a list")
        return value
    if isinstance(step, int):
        if not isinstance(value, list) or step >= len(value):
            raise Unresolvable(f"{text}: no element [{step}]")
        return [value[step]]
    if not isinstance(value, Mapping) or step not in value:
        raise Unresolvable(f"{text}: no key '{step}'")
    return [value[step]]


def expand(value: Json, results: Mapping[int, Json]) -> tuple[Json, ...]:
    """The values that an expected value may stand for, its references resolved, inside lists and objects too.

    Raises Unresolvable.
    """
    if isinstance(value, str):
        reference = parse(value) if value.startswith("$") else None
        return (value,) if reference is None else resolve(reference, results)
    if value is None or isinstance(value, int | float):
        return (value,)
    if isinstance(value, list | tuple) and any(True for _ in referred_calls(value)):
        return tuple(list(one) for one in islice(product(*(expand(v, results) for v in value)), _MOST_READINGS))
    if isinstance(value, Mapping) and any(True for _ in referred_calls(value)):
        choices = product(*(expand(v, results) for v in value.values()))
        return tuple(dict(zip(value, one, strict=True)) for one in islice(choices, _MOST_READINGS))
    return (value,)


def referred_calls(value: Json) -> Iterator[int]:
    """The indexes of the expected calls that a value refers to, inside lists and objects too."""
    if isinstance(value, str):
        reference = parse(value) if value.startswith("$") else None
        if reference is not None:
            yield reference.call
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from referred_calls(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from referred_calls(inner)
