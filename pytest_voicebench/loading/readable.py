"""Whether a value written in a suite is one that its own matcher can read: one it cannot read fails every agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from pytest_voicebench.loading.mistakes import quoted
from pytest_voicebench.matchers import compare_value, kind_of
from pytest_voicebench.matchers.boolean import read as read_boolean
from pytest_voicebench.matchers.currency import candidates
from pytest_voicebench.matchers.dates import read as read_date
from pytest_voicebench.matchers.money import read as read_money
from pytest_voicebench.matchers.number import read as read_number
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

        References are not judged; they have a value only in a conversation.
        """
        if isinstance(value, dict | list):
            return self._judge(parameter, value)
        if isinstance(value, str) and self._aliases.get(value):
            return None
        key = (id(parameter), type(value), value)
        if key not in self._seen:
            self._kept.append(parameter)
            self._seen[key] = self._judge(parameter, value)
        return self._seen[key]

    def _judge(self, parameter: Parameter, value: Json) -> str | None:
        found = compare_value(parameter, value, value, _ANY_DAY)
        if not found.matches:  # not even with itself
            return f"{quoted(value)} can never match: {found.reason}"
        return self._unread(parameter, kind_of(parameter, value), value)

    def _unread(self, parameter: Parameter, kind: str, value: Json) -> str | None:
        """Why the value, or a part of it, matches only where an agent copies it letter by letter."""
        reader, what = _READERS.get(kind, (None, ""))
        if reader is None or value is None:
            return None
        if isinstance(value, list | dict):
            parts = value if isinstance(value, list) else value.values()
            return next(filter(None, (self._unread(parameter, kind, part) for part in parts)), None)
        if is_reference(value) or self._has_alias(parameter, value) or reader(value, parameter):
            return None
        return f"{quoted(value)} can never match a right answer: it is not {what} that the matcher can read"

    def _has_alias(self, parameter: Parameter, value: Json) -> bool:
        own = parameter.options.get("aliases")
        return bool(own.get(value) if isinstance(own, Mapping) else own) or bool(self._aliases.get(value))


def _is_date(value: Json, _parameter: Parameter) -> bool:
    return isinstance(value, str) and bool(read_date(value, _ANY_DAY))


def _is_currency(value: Json, parameter: Parameter) -> bool:
    named = parameter.options.get("names")
    known = {str(name).casefold() for name in named} if isinstance(named, Mapping) else set()
    return isinstance(value, str) and (value.casefold().strip() in known or candidates(value) is not None)


_READERS: dict[str, tuple[Callable[[Json, Parameter], bool], str]] = {
    "date": (_is_date, "a day of the calendar"),
    "currency": (_is_currency, "a currency"),
    "money": (lambda value, _parameter: read_money(value) is not None, "an amount"),
    "number": (lambda value, _parameter: read_number(value) is not None, "a number"),
    "boolean": (lambda value, _parameter: read_boolean(value) is not None, "a yes or no"),
}
"""Kinds that read a value before they compare it; the others compare words or characters, which any text has."""
