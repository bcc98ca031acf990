"""Typed comparison of argument values: match, mismatch or cannot tell, with the reason in words."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from pytest_voicebench.matchers.custom import CustomMatcherError
from pytest_voicebench.matchers.forms import form_of, stand_in, values_in
from pytest_voicebench.matchers.kinds import KINDS, find_kind
from pytest_voicebench.matchers.overrides import overridden, with_rules
from pytest_voicebench.matchers.structure import aliases_of, compare, type_of
from pytest_voicebench.matchers.verdict import (
    EQUAL,
    Context,
    Json,
    Kind,
    Match,
    Matcher,
    accept,
    cannot_tell,
    reject,
)
from pytest_voicebench.tools import Parameter

__all__ = [
    "KINDS",
    "Context",
    "CustomMatcherError",
    "Kind",
    "Match",
    "Matcher",
    "accept",
    "cannot_tell",
    "compare_value",
    "find_kind",
    "json_type_fits",
    "kind_of",
    "match",
    "overridden",
    "reject",
    "stand_in",
    "with_rules",
]


def match(
    kind: str, expected: Json, actual: Json, *, today: dt.date | None = None, options: Mapping[str, Json] | None = None
) -> Match:
    """Compare an actual value with an expected one by the rules of `kind`, a name or `package.module:function`.

    null is absent. The rules of a kind hold inside lists (by order; as sets with the option `set`) and objects (by
    key; `fields` gives a key its own `kind` and options). Numbers written as text are read. `type_mismatch` is noted
    where the JSON types differ, for every leaf. The option `aliases` maps an expected value to further right ones. An
    expected value may be a form (`{"$one_of": [...]}`, see `forms`). Raises ValueError for an unknown kind.
    """
    if kind not in KINDS and ":" not in kind:
        find_kind(kind)
    found = compare(kind, expected, actual, Context(today=today, options=options or {}))
    fits = actual is None or type_of(actual) in {type_of(value) for value in values_in(expected)}
    return found if fits else found.noted("type_mismatch")


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
    kind = kind_of(parameter, expected)
    if type(expected) is str and expected == actual and ":" not in kind:
        found = EQUAL
    else:
        name = parameter.name if parameter else ""
        context = Context(today=today, name=name, options=_options(parameter, aliases))
        found = compare(kind, expected, actual, context)
    fits = json_type_fits(parameter, actual) if parameter else _has_type_of(expected, actual)
    return found if fits or actual is None else found.noted("type_mismatch")


def _has_type_of(expected: Json, actual: Json) -> bool:
    return type_of(actual) in {type_of(value) for value in values_in(expected)}


def kind_of(parameter: Parameter | None, expected: Json) -> str:
    """The matcher of an argument: the declared one, else by type and format; figures and truth values by their own."""
    if parameter is not None and parameter.match is not None:
        return parameter.match
    if isinstance(expected, bool):
        return "boolean"
    if isinstance(expected, int | float):
        return "number"
    if isinstance(expected, Mapping) and form_of(expected):
        return kind_of(parameter, next(values_in(expected), "") if parameter is None else "")
    if parameter is None:
        return "text"
    if parameter.enum:
        return "enum"
    return _KIND_OF_TYPE.get(parameter.type) or _KIND_OF_FORMAT.get(parameter.format or "", "text")


_KIND_OF_TYPE = {"integer": "number", "number": "number", "boolean": "boolean"}
_KIND_OF_FORMAT = {"date": "date", "time": "time", "duration": "duration", "email": "email"}
"""Formats of JSON Schema 2020-12 whose values have a kind of their own."""


def json_type_fits(parameter: Parameter, value: Json) -> bool:
    """Whether a value has the JSON type that its parameter declares; 3.0 is an integer, as JSON Schema has it."""
    found = type_of(value)
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
        merged["aliases"] = {key: [*aliases_of(options, key), *aliases.get(key, ())] for key in keys}
    if parameter and parameter.enum:
        merged["enum"] = parameter.enum
    return merged
