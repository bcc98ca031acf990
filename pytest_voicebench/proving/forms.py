"""Expected values that stand for several: what an oracle gives for them, and which values are right and which not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any


def form_of(value: Json) -> tuple[str, Json]:
    """The form's name (`$one_of`, `$any`, `$not`, `$approx`, `$value`) and what it holds; "" where it is none."""
    if isinstance(value, Mapping) and len(value) == 1:
        name, content = next(iter(value.items()))
        if name in ("$one_of", "$any", "$not", "$approx", "$value"):
            return name, content
    return "", value


def stand_in(value: Json) -> Json:
    """A right value: forms replaced by one that they stand for, inside lists and objects too."""
    name, content = form_of(value)
    match name:
        case "$one_of":
            return stand_in(content[0])
        case "$approx":
            return stand_in(content["value"])
        case "$any" | "$not":
            return stand_in(content["such_as"])
    if isinstance(content, Mapping):
        return {key: stand_in(inner) for key, inner in content.items()}
    return [stand_in(inner) for inner in content] if isinstance(content, list | tuple) else content


def right_values(value: Json) -> tuple[Json, ...]:
    """The values that a form names as right, itself where it is none."""
    name, content = form_of(value)
    if name == "$one_of":
        return tuple(right for one in content for right in right_values(one))
    return (stand_in(value),)
