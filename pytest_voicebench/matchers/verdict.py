"""What every matcher takes and gives: the context of a comparison and its verdict with the reason in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from pytest_voicebench.scorecard import Verdict

Json = Any

_MOST_BITS = 14_000  # of an integer that is compared as text: Python writes out 4,300 digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The verdict on one value. `cannot_tell` never passes. `notes` are fixed words such as `type_mismatch`."""

    verdict: Verdict
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """Whether the value passes."""
        return self.verdict == "match"

    def noted(self, note: str) -> Match:
        """The same verdict with one more note; a note is given once."""
        return self if note in self.notes else replace(self, notes=(*self.notes, note))


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a comparison may know beside the two values: the scenario's date, the parameter's options and its name."""

    today: date | None = None
    name: str = ""
    options: Mapping[str, Json] = field(default_factory=dict)


Matcher = Callable[[Json, Json, Context], Match]

EQUAL = Match(verdict="match", reason="equal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What `match: NAME` stands for: the comparison, and what the loader must know to check a suite against it.

    `reads` says whether an expected value is one that the matcher can read, `what` names such values in a sentence;
    None where any text is. `options` are those beside `aliases`, `set` and `approx`. `approx` may be a share where
    `share` is true, and a text that `tolerance` takes, such as `2 days`. Figures are compared as numbers where the kind
    is one of `words`. A `whole` kind takes lists and objects as they are; the others take their leaves.
    """

    compare: Matcher
    reads: Callable[[Json, Context], bool] | None = None
    what: str = ""
    options: tuple[str, ...] = ()
    share: bool = False
    tolerance: Callable[[str], bool] | None = None
    words: bool = False
    whole: bool = False
    custom: bool = False  # a user's: its options are its own


def accept(reason: str, *notes: str) -> Match:
    """A match."""
    return Match(verdict="match", reason=reason, notes=notes)


def reject(expected: Json, actual: Json, why: str = "", *notes: str) -> Match:
    """A mismatch that quotes both values, shortened."""
    tail = f": {why}" if why else ""
    return Match(verdict="mismatch", reason=f"expected {quote(expected)}, got {quote(actual)}{tail}", notes=notes)


def cannot_tell(why: str, *notes: str) -> Match:
    """Neither; the reason says what would have to be known."""
    return Match(verdict="cannot_tell", reason=why, notes=notes)


def quote(value: Json) -> str:
    """A value as a reader recognises it, at most 60 characters."""
    try:
        text = repr(value)
    except RecursionError:
        return "a deeply nested value"
    except ValueError:  # an integer that Python does not write out
        return "a number of thousands of digits"
    except Exception:  # noqa: BLE001 - an object of a user's matcher
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def as_text(value: Json) -> str | None:
    """The text of a string or of a JSON number (25.0 is 25); None for anything else, also an endless integer."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)
