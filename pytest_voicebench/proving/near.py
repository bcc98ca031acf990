"""Values next to a right one: another value for certain, by how it is made and not by what a matcher says of it."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.matchers.forms import form_of, stand_in
from pytest_voicebench.proving.forms import right_values
from pytest_voicebench.proving.wording import (
    changed_digit,
    changed_letter,
    folded_words,
    have_nothing_in_common,
    last_word_replaced,
    next_word,
    opposite,
    swapped_digits,
)

Json = Any
MOST = 2
"""Near values of one argument."""

_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_HOUR = re.compile(r"\d{1,2}")
_FIGURES = re.compile(r"\d+")
_MINUTES = re.compile(r"\d{1,2}:\d{2}(?!\d|:)")
_NAMES = ("Fletcher", "Okafor")
_PLACES = ("Quillmoor", "Wexbury")
_CODES = {
    "EUR": ("eur", "€"),
    "JPY": ("jpy", "yen", "¥"),
    "CHF": ("chf", "franc"),
    "SEK": ("sek", "kron", "crown"),
}
_UNRELATED = {"string": "umbrella", "integer": 7, "number": 7.5, "boolean": True, "array": ["umbrella"], "object": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is known around a value: the tool's allowed values, the tolerance, and other values of the suite.

    `approx` is a share (0.05) or a length in words (`15 minutes`). `others` are values that scenarios of the suite give
    this argument (or one of its kind), without those that the author calls the same. `fields` are the rules that keys
    of an object have of their own.
    """

    enum: Sequence[Json] = ()
    approx: float | str = 0.0
    others: Sequence[str] = ()
    fields: Mapping[str, Json] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The tolerance of a number; one in words is taken for the widest share there is."""
        return 1.0 if isinstance(self.approx, str) else self.approx


def near_values(kind: str, value: Json, around: Surroundings) -> tuple[Json, ...]:
    """Up to two wrong values next to an expected one, the nearest first; empty where none can be made.

    `kind` is the matcher's name; an unknown one is served by the value's JSON type. Inside lists and objects one
    element is changed. Of a form, values outside what it allows: `$not` gives what it excludes, `$any` nothing.
    """
    found: list[Json] = []
    for other in _candidates(kind, value, around):
        if not any(json_equal(other, one) for one in (value, *found)):
            found.append(other)
        if len(found) == MOST:
            break
    return tuple(found)


def unrelated_value(json_type: str, enum: Sequence[Json]) -> Json:
    """A value for an argument that should have none."""
    return enum[0] if enum else _UNRELATED.get(json_type, "umbrella")


def _candidates(kind: str, value: Json, around: Surroundings) -> Iterable[Json]:
    name, content = form_of(value) or ("$value", value)
    if name != "$value":
        return _of_form(name, content, kind, around)
    value = content
    if isinstance(value, list | tuple):
        return _lists(kind, list(value), around)
    if isinstance(value, Mapping):
        return _objects(kind, value, around)
    if around.enum and kind != "boolean":
        return _of_enum(value, around)
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [bool(value == 0)] if kind == "boolean" else _numbers(value, around.share)
    if isinstance(value, str):
        return [one for one in _TEXTS.get(kind, _text)(value, around) if one is not None] or [f"{value}7"]
    return ()


def _of_form(name: str, content: Json, kind: str, around: Surroundings) -> Iterable[Json]:
    if name == "$not":
        return [right for one in content["values"] for right in right_values(one)]
    if name == "$approx":
        return near_values(kind, content["value"], replace(around, approx=content["by"]))
    if name == "$any":
        return ()
    right = [value for one in content for value in right_values(one)]
    near = (value for one in content for value in near_values(kind, one, around))  # of thousands, two are needed
    return (value for value in near if not any(json_equal(value, one) for one in right))


def _lists(kind: str, value: list[Json], around: Surroundings) -> Iterable[Json]:
    """One element changed into what is not in the list, or left out where it stands once: also sets then differ."""
    for at, element in enumerate(value):
        before, after = stand_in(value[:at]), stand_in(value[at + 1 :])
        rest = before + after
        if any(json_equal(element, other) for other in rest):
            continue
        for near in near_values(kind, element, around):
            if not any(json_equal(near, other) for other in rest):
                yield [*before, near, *after]
                break
        yield rest


def _objects(kind: str, value: Mapping[str, Json], around: Surroundings) -> Iterable[Json]:
    for key, inner in value.items():
        own = around.fields.get(key) or {}
        rules = Surroundings(enum=own.get("enum", ()), approx=own.get("approx", 0.0), fields=own.get("fields", {}))
        for near in near_values(own.get("kind", kind), inner, rules if own else around)[:1]:
            yield {**stand_in(value), key: near}


def _of_enum(value: Json, around: Surroundings) -> Iterable[Json]:
    """The allowed values after this one, in turn; those that differ in more than case and joints."""
    own = folded_words(str(value))
    places = [n for n, one in enumerate(around.enum) if folded_words(str(one)) == own]
    start = places[0] + 1 if places else 0
    turned = [*around.enum[start:], *around.enum[:start]]
    return [one for one in turned if folded_words(str(one)) != own]


def _numbers(value: float, approx: float) -> Iterable[Json]:
    """The neighbour outside the tolerance, and ten times the value."""
    if isinstance(value, int):
        beyond = math.ceil(2 * approx * abs(value)) + 1
        return [value + beyond, value * 10 if value and approx < 1 else value - beyond]
    if not math.isfinite(value):
        return [0.0]
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(int(exact.as_tuple().exponent)) if value else Decimal(1)
    near = float(exact + step + 2 * Decimal(repr(approx)) * abs(exact))
    return [near if math.isfinite(near) else value / 10, value / 10 if value and approx < 0.5 else near + 1]


def _identifier(value: str, _: Surroundings) -> Iterable[str | None]:
    return changed_digit(value), changed_letter(value), swapped_digits(value)


def _digits(value: str, around: Surroundings) -> Iterable[str | None]:
    return changed_digit(value), swapped_digits(value), *_text(value, around)


def _email(value: str, _: Surroundings) -> Iterable[str | None]:
    """A letter of the name, and one of the domain."""
    name, at, domain = value.partition("@")
    other = changed_letter(domain)
    return _join(changed_letter(name) or changed_digit(name), at + domain), other and name + at + other


def _join(head: str | None, tail: str) -> str | None:
    return None if head is None else head + tail


def _date(value: str, around: Surroundings) -> Iterable[str | None]:
    """The next day, and the same day of the next year; other forms: the next month or number of their own words."""
    found = _ISO_DAY.match(value)
    if found:
        try:
            day = dt.date.fromisoformat(found[0])
            following = day + dt.timedelta(days=1)
        except (ValueError, OverflowError):
            return _quantity(value, around)
        year = f"{day.year + 1:04d}" if day.year < 9999 else "0001"
        rest = "-02-28" if (day.month, day.day) == (2, 29) else found[0][4:]
        return following.isoformat() + value[10:], year + rest + value[10:]
    return next_word(value), changed_digit(value), *_text(value, around)


def _time(value: str, around: Surroundings) -> Iterable[str | None]:
    """The next hour, and the next minute; half a turn of the clock where there is a tolerance."""
    found = _HOUR.search(value)
    if found is None:
        return _quantity(value, around)
    hour = (int(found[0]) + (5 if around.approx else 0)) % 12 + 1
    other = value[: found.start()] + str(hour).zfill(len(found[0])) + value[found.end() :]
    minutes = _MINUTES.search(value)  # of a time with seconds: a second more may be the same time
    if minutes is None or around.approx:
        return [other]
    return other, value[: minutes.start()] + str(changed_digit(minutes[0])) + value[minutes.end() :]


def _quantity(value: str, around: Surroundings) -> Iterable[str | None]:
    """An amount with a digit or a number word changed; figures alone as the number that they are."""
    plain = value.strip()
    if plain.isascii() and plain.isdigit() and len(plain) == len(str(int(plain))):
        return (str(near) for near in _numbers(int(plain), around.share))
    if around.approx:  # a digit more or less may be within the tolerance
        return [_FIGURES.sub(lambda m: f"{m[0]}000", value, count=1)]
    return changed_digit(value), next_word(value), *_text(value, around)


def _boolean(value: str, around: Surroundings) -> Iterable[str | None]:
    return opposite(value), *_quantity(value, around)


def _currency(value: str, _: Surroundings) -> Iterable[str | None]:
    """Another currency: one whose code, name and sign do not occur in the value."""
    plain = value.casefold()
    return (code for code, marks in _CODES.items() if not any(mark in plain for mark in marks))


def _place(value: str, around: Surroundings) -> Iterable[str | None]:
    """Another house number, another place of the suite, or a place of no map."""
    elsewhere = next((o for o in around.others if have_nothing_in_common(o, value)), None)
    return changed_digit(value), elsewhere, last_word_replaced(value, _PLACES)


def _person(value: str, around: Surroundings) -> Iterable[str | None]:
    """Another surname, and another person of the suite."""
    somebody = next((o for o in around.others if have_nothing_in_common(o, value)), None)
    return last_word_replaced(value, _NAMES), somebody


def _text(value: str, around: Surroundings) -> Iterable[str | None]:
    """The opposite, another number, or another last word; then another text of the suite."""
    another = next((o for o in around.others if have_nothing_in_common(o, value)), None)
    first = opposite(value) or changed_digit(value)
    return first, last_word_replaced(value), another


_TEXTS: Mapping[str, Callable[[str, Surroundings], Iterable[str | None]]] = {
    "identifier": _identifier,
    "exact": _identifier,
    "phone": _digits,
    "card": _digits,
    "email": _email,
    "number": _quantity,
    "money": _quantity,
    "duration": _quantity,
    "quantity": _quantity,
    "boolean": _boolean,
    "currency": _currency,
    "date": _date,
    "time": _time,
    "place": _place,
    "person": _person,
}
"""How a text of each kind is changed; every other kind as free text."""
