"""The form of a table: pairs (expected, actual) to accept, reject or leave open; `near` are one edit from an accept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Cases = list[tuple[Any, Any]]


@dataclass(frozen=True, kw_only=True)
class Table:
    """The cases of one kind."""

    accepts: Cases
    rejects: Cases
    near: Cases
    open: Cases = field(default_factory=list)  # cannot_tell
    options: dict[str, Any] = field(default_factory=dict)


def each(expected: Any, *actuals: Any) -> Cases:
    """One expected value against several actual ones."""
    return [(expected, actual) for actual in actuals]
