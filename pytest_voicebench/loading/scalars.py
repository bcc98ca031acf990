"""Plain YAML scalars to values, by the YAML 1.2 core schema in decimal, with JSON's numbers."""

from __future__ import annotations

import math
import re

from pytest_voicebench.loading.mistakes import Report, quoted

MAX_INTEGER = 2**53

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
TYPED_FIRST = frozenset("-+.0123456789tTfFnN~")
"""Characters that a plain scalar which is not text can start with."""


def typed(raw: str, line: int, report: Report) -> str | int | float | bool | None:
    """The value of a plain scalar."""
    if raw in _NULLS:
        return None
    if raw in _BOOLEANS:
        return _BOOLEANS[raw]
    if match := _NUMBER.fullmatch(raw):
        return _number(raw, match.group(2) is None and match.group(3) is None, line, report)
    if _NOT_FINITE.fullmatch(raw):
        report.add(line, "yaml", f"{raw} is not a number that JSON can hold; quote it where it is text")
    return raw


def _number(raw: str, whole: bool, line: int, report: Report) -> int | float:
    if whole and len(raw) < 16:
        return int(raw)
    if whole:
        if len(raw) > 18 or abs(int(raw)) > MAX_INTEGER:
            report.add(line, "yaml", f"{quoted(raw, 30)}: a whole number above 2^53 loses digits in JSON; quote it")
            return 0
        return int(raw)
    value = float(raw)
    if not math.isfinite(value):
        report.add(line, "yaml", f"{quoted(raw, 30)} is too large a number for JSON; quote it where it is text")
        return 0.0
    return value
