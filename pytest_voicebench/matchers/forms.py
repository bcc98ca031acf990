"""Forms of an expected value: `$one_of`, `$any`, `$not`, `$approx`, and `$value` for an object that looks like one.

A form is an object with one key, and that key begins with `$`. No argument can be mistaken for one: an expected object
whose only key begins with `$` is written `{$value: {...}}`. Forms may stand inside lists and objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_voicebench.matchers.verdict import Json, quote

SHAPES: dict[str, str] = {
    "$one_of": "{$one_of: [VALUE, ...]}",
    "$any": "{$any: {such_as: VALUE}}",
    "$not": "{$not: {values: [VALUE, ...], such_as: VALUE}}",
    "$approx": "{$approx: {value: VALUE, by: 0.05}}",
    "$value": "{$value: {...}}",
}
"""Every form, as it is written. `such_as` is a right value: what the oracle says, and what a mock is tried with."""

_KEYS = {"$any": {"such_as"}, "$not": {"values", "such_as"}, "$approx": {"value", "by"}}


def form_of(value: Json) -> tuple[str, Json] | None:
    """The form's name and what it holds; None where the value is no form (its name may still be unknown)."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    name, content = next(iter(value.items()))
    return (name, content) if isinstance(name, str) and name.startswith("$") else None


def why_malformed(value: Json) -> str | None:
    """What is wrong with the form that a value is, in one sentence; None for a right one. Looks no deeper."""
    form = form_of(value)
    if form is None:
        return None
    name, content = form
    if name not in SHAPES:
        return f"{quote(name)} is no form of a value; there are {', '.join(SHAPES)}; an object is {SHAPES['$value']}"
    if name in _KEYS:
        right = isinstance(content, Mapping) and content.keys() == _KEYS[name]
        right = right and (name != "$not" or _is_list(content["values"]))
    else:
        right = _is_list(content) if name == "$one_of" else isinstance(content, Mapping)
    return None if right else f"expected {SHAPES[name]}"


def _is_list(value: Json) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0


def values_in(value: Json, deepest: int = 40) -> Iterator[Json]:
    """The values that a form compares with or stands for; the value itself where it is no form, or one nested too
    deep to be compared."""
    form = form_of(value)
    if form is None or deepest == 0 or why_malformed(value):
        yield value
        return
    name, content = form
    if name == "$one_of":
        for one in content:
            yield from values_in(one, deepest - 1)
    elif name == "$value":
        yield content
    else:
        yield from (
            inner for key in ("value", "such_as") if key in content for inner in values_in(content[key], deepest - 1)
        )
        yield from (inner for one in content.get("values", ()) for inner in values_in(one, deepest - 1))


def stand_in(value: Json) -> Json:
    """A value that an agent may give where this one is expected: forms replaced, inside lists and objects too."""
    form = form_of(value)
    if form is not None and not why_malformed(value):
        name, content = form
        if name == "$value":
            return {key: stand_in(inner) for key, inner in content.items()}
        return stand_in(content[0] if name == "$one_of" else content["value" if name == "$approx" else "such_as"])
    if isinstance(value, Mapping):
        return {key: stand_in(inner) for key, inner in value.items()}
    return [stand_in(inner) for inner in value] if isinstance(value, list | tuple) else value
