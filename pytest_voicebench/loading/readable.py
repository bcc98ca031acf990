"""Whether a value written in a suite is one that its own matcher can read: one it cannot read fails every agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from pytest_voicebench.loading.match_options import why_no_tolerance
from pytest_voicebench.loading.mistakes import quoted
from pytest_voicebench.matchers import KINDS, Context, Kind, compare_value, find_kind, kind_of
from pytest_voicebench.matchers.forms import form_of, values_in, why_malformed
from pytest_voicebench.references import is_reference
from pytest_voicebench.tools import Parameter

Json = Any
Aliases = Mapping[str, Sequence[str]]


_ANY_DAY = date(2000, 1, 1)  # whether `tomorrow` is a date does not depend on which day it is


class Readable:
    """Judges the values of one suite, each value of a parameter once: a thousand scenarios share a few tools."""

    def __init__(self) -> None:
        self._aliases: Aliases = {}
        self._seen: dict[tuple[int, type, Json], str | None] = {}
        self._kept: list[Parameter] = []  # so that no id is given twice

    def with_aliases(self, aliases: Aliases) -> Readable:
        """The same where a scenario has further right values for some: those can be matched by them."""
        if not aliases:
            return self
        other = Readable()
        other._aliases, other._seen, other._kept = aliases, self._seen, self._kept
        return other

    def why_not(self, parameter: Parameter, value: Json) -> str | None:
        """`"x" can never match ...: REASON`, or None where an agent's value can match this one.

        References are not judged; they have a value only in a conversation. Of a form every value is judged.
        """
        if isinstance(value, dict | list):
            return self._judge_form(parameter, value) if form_of(value) else self._judge(parameter, value)
        if isinstance(value, str) and self._aliases.get(value):
            return None
        key = (id(parameter), type(value), value)
        if key not in self._seen:
            self._kept.append(parameter)
            self._seen[key] = self._judge(parameter, value)
        return self._seen[key]

    def _judge_form(self, parameter: Parameter, value: Json) -> str | None:
        malformed = why_malformed(value)
        if malformed:
            return malformed
        word, content = next(iter(value.items()))
        if word == "$approx":
            why = why_no_tolerance(_kind_of_leaf(parameter, content["value"]), content["by"])
            if why:
                return f"$approx: by: {why}, got {quoted(content['by'])}"
        if word == "$value":
            return next(filter(None, (self._judge(parameter, one) for one in content.values())), None)
        inner = (one for one in values_in(value) if one is not None)
        return next(filter(None, (self.why_not(parameter, one) for one in inner)), None)

    def _judge(self, parameter: Parameter, value: Json) -> str | None:
        kind = kind_of(parameter, value)
        if find_kind(kind).custom:
            return _why_not_by_own(parameter, kind, value)
        found = compare_value(parameter, value, value, _ANY_DAY)
        if not found.matches and not _holds_form(value):  # not even with itself
            return f"{quoted(value)} can never match: {found.reason}"
        return self._unread(parameter, kind, value)

    def _unread(self, parameter: Parameter, kind: str, value: Json) -> str | None:
        """Why the value, or a part of it, matches only where an agent copies it letter by letter."""
        if value is None:
            return None
        if isinstance(value, list | dict):
            if form_of(value):
                return self._judge_form(parameter, value)
            return next(filter(None, (self._unread(parameter, *part) for part in _parts(parameter, kind, value))), None)
        rules = find_kind(kind)
        if rules.reads is None or is_reference(value) or self._has_alias(parameter, value):
            return None
        if rules.reads(value, Context(today=_ANY_DAY, options=parameter.options)):
            return None
        return f"{quoted(value)} can never match a right answer: it is not {rules.what} that the matcher can read"

    def _has_alias(self, parameter: Parameter, value: Json) -> bool:
        own = parameter.options.get("aliases")
        return bool(isinstance(own, Mapping) and own.get(value)) or bool(self._aliases.get(value))


def _why_not_by_own(parameter: Parameter, kind: str, value: Json) -> str | None:
    """A user's matcher is tried: it must take the expected value itself; a pattern has its place among the options."""
    if value is None or _holds_reference(value) or _holds_form(value):
        return None
    found = compare_value(parameter, value, value, _ANY_DAY)
    if "matcher_failed" in found.notes:
        return found.reason
    if found.matches:
        return None
    return f"{quoted(value)} can never match: {found.reason} (expected and actual are the same)"


def _holds_reference(value: Json) -> bool:
    if isinstance(value, list | dict):
        return any(map(_holds_reference, value if isinstance(value, list) else value.values()))
    return isinstance(value, str) and is_reference(value)


def _kind_of_leaf(parameter: Parameter, value: Json) -> Kind:
    kind = find_kind(kind_of(parameter, value))
    return KINDS["number"] if kind.words and not isinstance(value, str) else kind


def _parts(parameter: Parameter, kind: str, value: Json) -> list[tuple[str, Json]]:
    """The parts of a list or object, each with its kind."""
    if isinstance(value, list):
        return [(kind, part) for part in value]
    fields = parameter.options.get("fields", {})
    return [(fields.get(name, {}).get("kind", kind), part) for name, part in value.items()]


def _holds_form(value: Json) -> bool:
    if isinstance(value, list | dict):
        inner = value if isinstance(value, list) else value.values()
        return form_of(value) is not None or any(_holds_form(one) for one in inner)
    return False
