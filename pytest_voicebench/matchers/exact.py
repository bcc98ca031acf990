"""`exact`: equal as JSON; case, spaces and types count."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, reject


def exact(expected: Json, actual: Json, context: Context) -> Match:
    """JSON equality: 25 is 25.0, true is not 1, NaN equals nothing; lists by order, objects by key."""
    return EQUAL if json_equal(expected, actual) else reject(expected, actual)


def json_equal(a: Json, b: Json) -> bool:
    """Equality of two JSON values, without Python's true == 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(json_equal(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(json_equal(a[key], b[key]) for key in a)
    return bool(a == b)


KIND = Kind(compare=exact, whole=True)
