"""Typed comparison of argument values: match, mismatch or cannot tell, with the reason in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from pytest_voicebench.matchers.boolean import boolean
from pytest_voicebench.matchers.currency import currency
from pytest_voicebench.matchers.dates import date
from pytest_voicebench.matchers.enumeration import enum
from pytest_voicebench.matchers.exact import exact
from pytest_voicebench.matchers.identifier import identifier
from pytest_voicebench.matchers.money import money
from pytest_voicebench.matchers.number import number
from pytest_voicebench.matchers.place import place
from pytest_voicebench.matchers.text import text
from pytest_voicebench.matchers.verdict import EQUAL, Context, Json, Match, Matcher, accept, cannot_tell, reject
from pytest_voicebench.tools import Parameter

__all__ = ["KINDS", "Context", "Match", "Matcher", "compare_value", "json_type_fits", "kind_of", "match"]

KINDS: Mapping[str, Matcher] = {
    "identifier": identifier,
    "number": number,
    "money": money,
    "currency": currency,
    "boolean": boolean,
    "enum": enum,
    "date": date,
    "place": place,
    "text": text,
    "exact": exact,
}
"""Every kind that `match:` may name."""

T = TypeVar("T")

_MAX_DEPTH = 40
_SCALARS = frozenset({str, int, float, bool})


def match(
    kind: str, expected: Json, actual: Json, *, today: dt.date | None = None, options: Mapping[str, Json] | None = None
) -> Match:
    """Compare an actual value with an expected one by the rules of `kind`.

    null is absent. The rules of a kind hold inside lists (by order; as sets with the option `set`) and objects (by
    key). Numbers written as text are read. `type_mismatch` is noted where the JSON types differ. The option `aliases`
    maps an expected value to further right ones (a plain list would make them right for every value: it is not read),
    and `type_mismatch` is noted for every leaf. Raises ValueError for an unknown kind.
    """
    if kind not in KINDS:
        raise ValueError(f"no matcher {kind!r}; there are {', '.join(sorted(KINDS))}")
    found = _compare(kind, expected, actual, Context(today=today, options=options or {}), 0)
    return found if _type_of(expected) == _type_of(actual) or actual is None else found.noted("type_mismatch")


def compare_value(
    parameter: Parameter | None,
    expected: Json,
    actual: Json,
    today: dt.date | None,
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> Match:
    """Compare the value of one argument by its parameter's declaration (None: the tool lacks it; by the value's type).

    `aliases` maps expected values to further right ones, as scenarios give them. `type_mismatch` is noted where the
    value does not have the declared JSON type.
    """
    options = _options(parameter, aliases)
    found = _compare(kind_of(parameter, expected), expected, actual, Context(today=today, options=options), 0)
    fits = json_type_fits(parameter, actual) if parameter else _type_of(expected) == _type_of(actual)
    return found if fits or actual is None else found.noted("type_mismatch")


def kind_of(parameter: Parameter | None, expected: Json) -> str:
    """The matcher of an argument: the declared one, else by type and format; figures and truth values by their own."""
    if parameter is not None and parameter.match is not None:
        return parameter.match
    if isinstance(expected, bool):
        return "boolean"
    if isinstance(expected, int | float):
        return "number"
    if parameter is None:
        return "text"
    if parameter.enum:
        return "enum"
    return {"integer": "number", "number": "number", "boolean": "boolean"}.get(
        parameter.type, "date" if parameter.format == "date" else "text"
    )


def json_type_fits(parameter: Parameter, value: Json) -> bool:
    """Whether a value has the JSON type that its parameter declares; 3.0 is an integer, as JSON Schema has it."""
    found = _type_of(value)
    if parameter.type == "integer":
        return found == "number" and (isinstance(value, int) or value.is_integer())
    return found == parameter.type


def _options(parameter: Parameter | None, aliases: Mapping[str, Sequence[str]] | None) -> Mapping[str, Json]:
    """The parameter's options; the scenario's aliases are added to the tool's."""
    options = parameter.options if parameter else {}
    if not aliases and not (parameter and parameter.enum):
        return options
    merged = dict(options)
    if aliases:
        own = options.get("aliases")
        keys = {*own, *aliases} if isinstance(own, Mapping) else aliases
        merged["aliases"] = {key: [*_aliases(options, key), *aliases.get(key, ())] for key in keys}
    if parameter and parameter.enum:
        merged["enum"] = parameter.enum
    return merged


def _compare(kind: str, expected: Json, actual: Json, context: Context, depth: int) -> Match:
    if expected is None or actual is None:
        if expected is actual:
            return EQUAL
        return reject(expected, actual, "absent" if actual is None else "nothing was expected")
    if depth > _MAX_DEPTH:
        return cannot_tell(f"nested more than {_MAX_DEPTH} deep")
    if kind != "exact" and not (type(expected) in _SCALARS and type(actual) in _SCALARS):
        if isinstance(expected, list | tuple):
            return _compare_lists(kind, expected, actual, context, depth)
        if isinstance(expected, Mapping):
            return _compare_objects(kind, expected, actual, context, depth)
        if isinstance(actual, list | tuple | Mapping):
            return reject(expected, actual)
    found = _compare_scalars(kind, expected, actual, context)
    return found if depth == 0 or _type_of(expected) == _type_of(actual) else found.noted("type_mismatch")


def _compare_scalars(kind: str, expected: Json, actual: Json, context: Context) -> Match:
    function = KINDS[_by_type(kind, expected)]
    found = function(expected, actual, context)
    if found.matches:
        return found
    for alias in _aliases(context.options, expected):
        if function(alias, actual, context).matches:
            return accept(f"an alias of {expected!r}", "alias")
    return found


def _by_type(kind: str, expected: Json) -> str:
    """Figures and truth values are never compared as words."""
    if kind in ("text", "place", "enum") and not isinstance(expected, str):
        return "boolean" if isinstance(expected, bool) else "number"
    return kind


def _aliases(options: Mapping[str, Json], expected: Json) -> Iterable[Json]:
    """The further right values of `expected`; the option maps expected values to them."""
    aliases = options.get("aliases")
    found = aliases.get(expected) if isinstance(aliases, Mapping) and isinstance(expected, str) else None
    return found if isinstance(found, list | tuple) else () if found is None else [found]


def _compare_lists(kind: str, expected: Sequence[Json], actual: Json, context: Context, depth: int) -> Match:
    if not isinstance(actual, list | tuple):
        return reject(expected, actual, "not a list")
    if context.options.get("set"):
        return _compare_sets(kind, expected, actual, context, depth)
    if len(expected) != len(actual):
        return reject(expected, actual, f"{len(actual)} elements instead of {len(expected)}")
    return _all(_compare(kind, a, b, context, depth + 1) for a, b in zip(expected, actual, strict=True))


def _compare_sets(kind: str, expected: Sequence[Json], actual: Sequence[Json], context: Context, depth: int) -> Match:
    """Every element has its like on the other side; order and repetition do not count."""
    found = [[_compare(kind, a, b, context, depth + 1) for b in actual] for a in expected]
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


def _compare_objects(kind: str, expected: Mapping[str, Json], actual: Json, context: Context, depth: int) -> Match:
    if not isinstance(actual, Mapping):
        return reject(expected, actual, "not an object")
    keys = sorted({key for side in (expected, actual) for key, value in side.items() if value is not None})
    return _all(_compare(kind, expected.get(key), actual.get(key), context, depth + 1) for key in keys)


def _all(matches: Iterable[Match]) -> Match:
    """The worst verdict of the parts, the first of its kind; all notes."""
    found = list(matches)
    notes = tuple(dict.fromkeys(note for one in found for note in one.notes))
    for verdict in ("mismatch", "cannot_tell"):
        for one in found:
            if one.verdict == verdict:
                return Match(verdict=one.verdict, reason=one.reason, notes=notes)
    return Match(verdict="match", reason="equal in every part", notes=notes)


def _type_of(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else "null"
