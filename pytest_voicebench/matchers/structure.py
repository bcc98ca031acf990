"""Comparison of whole values: forms, lists, sets and objects down to their leaves, and aliases of leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pytest_voicebench.matchers.custom import CustomMatcherError
from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.matchers.forms import form_of, why_malformed
from pytest_voicebench.matchers.kinds import KINDS, find_kind
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Kind, Match, accept, cannot_tell, quote, reject

T = TypeVar("T")

_MAX_DEPTH = 40
_MOST_PAIRS = 50_000  # of elements of two sets, each of which is compared with each
_TOO_LARGE = "sets of {} and {} elements are too large to be compared"
_SCALARS = frozenset({str, int, float, bool})


def compare(name: str, expected: Json, actual: Json, context: Context, depth: int = 0) -> Match:
    """An actual value against an expected one by the kind `name`, forms resolved, down to the leaves.

    null is absent. `type_mismatch` is noted for leaves inside lists and objects. Raises ValueError for an unknown kind;
    a user's matcher that cannot be used is cannot_tell.
    """
    if type(expected) is not str:
        form = form_of(expected)
        if form is not None:
            return _compare_form(name, expected, form, actual, context, depth)
    return _compare_value(name, expected, actual, context, depth)


def _compare_form(
    name: str, expected: Json, form: tuple[str, Json], actual: Json, context: Context, depth: int
) -> Match:
    malformed = why_malformed(expected) if depth <= _MAX_DEPTH else f"nested more than {_MAX_DEPTH} deep"
    if malformed:
        return cannot_tell(malformed)
    word, content = form
    if word == "$value":
        return _compare_value(name, content, actual, context, depth)
    if word == "$one_of":
        return _one_of([compare(name, one, actual, context, depth + 1) for one in content], expected, actual)
    if actual is None:
        return reject(expected, actual, "absent")
    if word == "$any":
        return accept("any value is right")
    if word == "$approx":
        near = replace(context, options={**context.options, "approx": content["by"]})
        return compare(name, content["value"], actual, near, depth + 1)
    kind = KINDS.get(name)
    if kind is not None and kind.reads and type(actual) in _SCALARS and not kind.reads(actual, context):
        return reject(expected, actual, f"not {kind.what}")  # no other date, if it is none
    return _not([compare(name, one, actual, context, depth + 1) for one in content["values"]], expected, actual)


def _one_of(found: Sequence[Match], expected: Json, actual: Json) -> Match:
    """The best verdict; a match without a mismatch of type before one with it."""
    matches = sorted((one for one in found if one.matches), key=lambda one: "type_mismatch" in one.notes)
    if matches:
        return matches[0]
    open_ones = [one for one in found if one.verdict == "cannot_tell"]
    return open_ones[0] if open_ones else reject(expected, actual, "none of the right values")


def _not(found: Sequence[Match], expected: Json, actual: Json) -> Match:
    """Right where every excluded value is surely another one."""
    if any(one.matches for one in found):
        return reject(expected, actual, "an excluded value")
    open_ones = [one for one in found if one.verdict == "cannot_tell"]
    return open_ones[0] if open_ones else accept("none of the excluded values")


def _compare_value(name: str, expected: Json, actual: Json, context: Context, depth: int) -> Match:
    if expected is None or actual is None:
        if expected is actual:
            return EQUAL
        return reject(expected, actual, "absent" if actual is None else "nothing was expected")
    if depth > _MAX_DEPTH:
        return cannot_tell(f"nested more than {_MAX_DEPTH} deep")
    try:
        kind = KINDS.get(name) or find_kind(name)
    except CustomMatcherError as error:
        return cannot_tell(str(error), "matcher_failed")
    if not kind.whole and not (type(expected) in _SCALARS and type(actual) in _SCALARS):
        if isinstance(expected, list | tuple):
            return _compare_lists(name, expected, actual, context, depth)
        if isinstance(expected, Mapping):
            return _compare_objects(name, expected, actual, context, depth)
        if isinstance(actual, list | tuple | Mapping):
            return reject(expected, actual)
    found = _compare_leaf(kind, expected, actual, context)
    return found if depth == 0 or type_of(expected) == type_of(actual) else found.noted("type_mismatch")


def _compare_leaf(kind: Kind, expected: Json, actual: Json, context: Context) -> Match:
    function = _by_type(kind, expected).compare
    found = function(expected, actual, context)
    if found.matches:
        return found
    for alias in aliases_of(context.options, expected):
        if function(alias, actual, context).matches:
            return accept(f"an alias of {quote(expected)}", "alias")
    return found


def _by_type(kind: Kind, expected: Json) -> Kind:
    """Figures and truth values are never compared as words."""
    if kind.words and not isinstance(expected, str):
        return KINDS["boolean" if isinstance(expected, bool) else "number"]
    return kind


def aliases_of(options: Mapping[str, Json], expected: Json) -> Iterable[Json]:
    """The further right values of `expected`; the option maps expected values to them."""
    aliases = options.get("aliases")
    found = aliases.get(expected) if isinstance(aliases, Mapping) and isinstance(expected, str) else None
    return found if isinstance(found, list | tuple) else () if found is None else [found]


def _compare_lists(name: str, expected: Sequence[Json], actual: Json, context: Context, depth: int) -> Match:
    if not isinstance(actual, list | tuple):
        return reject(expected, actual, "not a list")
    if context.options.get("set"):
        return _compare_sets(name, expected, actual, context, depth)
    if len(expected) != len(actual):
        return reject(expected, actual, f"{len(actual)} elements instead of {len(expected)}")
    return _all(compare(name, a, b, context, depth + 1) for a, b in zip(expected, actual, strict=True))


def _compare_sets(name: str, expected: Sequence[Json], actual: Sequence[Json], context: Context, depth: int) -> Match:
    """Every element has its like on the other side; order and repetition do not count."""
    if len(expected) * len(actual) > _MOST_PAIRS:
        return EQUAL if json_equal(expected, actual) else cannot_tell(_TOO_LARGE.format(len(expected), len(actual)))
    found = [[compare(name, a, b, context, depth + 1) for b in actual] for a in expected]
    strict = [[one.matches and "type_mismatch" not in one.notes for one in row] for row in found]
    if all(any(line) for line in _lines(strict, len(actual))):
        return accept("the same set")
    lines = _lines([[one.verdict for one in row] for row in found], len(actual))
    if all("match" in line for line in lines):
        return accept("the same set", "type_mismatch")
    if all("match" in line or "cannot_tell" in line for line in lines):
        return cannot_tell("an element of the set cannot be told")
    return reject(expected, actual, "another set")


def _lines(rows: list[list[T]], width: int) -> list[list[T]]:
    """The rows and the columns of a table; without rows its columns are empty."""
    return [*rows, *([row[n] for row in rows] for n in range(width))]


def _compare_objects(name: str, expected: Mapping[str, Json], actual: Json, context: Context, depth: int) -> Match:
    """Key by key; the option `fields` gives a key its own kind and options."""
    if not isinstance(actual, Mapping):
        return reject(expected, actual, "not an object")
    fields = context.options.get("fields")
    own = fields if isinstance(fields, Mapping) else {}
    keys = sorted({key for side in (expected, actual) for key, value in side.items() if value is not None})
    return _all(
        compare(*_rules_of(own.get(key), name, expected.get(key), actual.get(key), context), depth + 1) for key in keys
    )


def _rules_of(
    field: Json, name: str, expected: Json, actual: Json, context: Context
) -> tuple[str, Json, Json, Context]:
    """The kind and the options of one key: its own where it has some, else those of the object."""
    if not isinstance(field, Mapping):
        return name, expected, actual, context
    options = {key: value for key, value in field.items() if key != "kind"}
    if "aliases" in context.options:
        options.setdefault("aliases", context.options["aliases"])
    return field.get("kind", name), expected, actual, replace(context, options=options)


def _all(matches: Iterable[Match]) -> Match:
    """The worst verdict of the parts, the first of its kind; all notes."""
    found = list(matches)
    notes = tuple(dict.fromkeys(note for one in found for note in one.notes))
    for verdict in ("mismatch", "cannot_tell"):
        for one in found:
            if one.verdict == verdict:
                return Match(verdict=one.verdict, reason=one.reason, notes=notes)
    return Match(verdict="match", reason="equal in every part", notes=notes)


def type_of(value: Json) -> str:
    """The JSON type of a value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else "null"
