"""Which values a form of an expected value names as right."""

from __future__ import annotations

from typing import Any

from pytest_voicebench.matchers.forms import form_of, stand_in

Json = Any


def form_name(value: Json) -> str:
    """The form's name (`$one_of`, `$any`, ...); "" where the value is none."""
    form = form_of(value)
    return form[0] if form else ""


def right_values(value: Json) -> tuple[Json, ...]:
    """The values that a form names as right, itself where it is none."""
    form = form_of(value)
    if form and form[0] == "$one_of":
        return tuple(right for one in form[1] for right in right_values(one))
    return (stand_in(value),)
