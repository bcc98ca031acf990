"""Every kind that `match:` may name. A new kind is a module with its `KIND`, and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_voicebench.matchers import (
    boolean,
    card,
    currency,
    custom,
    dates,
    duration,
    email,
    enumeration,
    exact,
    identifier,
    money,
    number,
    person,
    phone,
    place,
    quantity,
    text,
    times,
)
from pytest_voicebench.matchers.verdict import Kind

KINDS: Mapping[str, Kind] = {
    "identifier": identifier.KIND,
    "number": number.KIND,
    "money": money.KIND,
    "currency": currency.KIND,
    "boolean": boolean.KIND,
    "enum": enumeration.KIND,
    "date": dates.KIND,
    "time": times.KIND,
    "duration": duration.KIND,
    "quantity": quantity.KIND,
    "phone": phone.KIND,
    "card": card.KIND,
    "email": email.KIND,
    "place": place.KIND,
    "person": person.KIND,
    "text": text.KIND,
    "exact": exact.KIND,
}


def find_kind(name: str) -> Kind:
    """The kind of a name, or of a user's `package.module:function`.

    Raises ValueError for an unknown name, CustomMatcherError where a user's matcher cannot be used.
    """
    found = KINDS.get(name)
    if found is not None:
        return found
    if ":" in name:
        return custom.load(name)
    raise ValueError(f"no matcher {name!r}; there are {', '.join(sorted(KINDS))}, or package.module:function")
