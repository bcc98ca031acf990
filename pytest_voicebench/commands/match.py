"""`match KIND EXPECTED ACTUAL`: the verdict of a matcher on two values, and its reason.

EXPECTED and ACTUAL are read as JSON where they are a list, an object, a number, true, false or null, else as text; text
that looks like JSON is put in JSON's quotes: '"1200"'. KIND is a name or package.module:function.
Exit status: 0 match, 1 mismatch, 3 cannot tell, 2 where the question itself is wrong.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
from typing import Any

from pytest_voicebench.matchers import CustomMatcherError, find_kind, match
from pytest_voicebench.writers.plain_text import encodable, one_line

STATUS = {"match": 0, "mismatch": 1, "cannot_tell": 3}


def run(argv: list[str]) -> int:
    """Print `match: REASON`, `mismatch: REASON` or `cannot tell: REASON`; exit status 0, 1 or 3."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_voicebench match",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", metavar="KIND")
    parser.add_argument("expected", metavar="EXPECTED", type=read_value)
    parser.add_argument("actual", metavar="ACTUAL", type=read_value)
    parser.add_argument("--today", type=_date, metavar="YYYY-MM-DD", help="resolves dates without a year")
    parser.add_argument(
        "--options", type=_options, default={}, metavar="JSON", help="the matcher's: '{\"approx\": 0.05}'"
    )
    options = parser.parse_args(argv)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a user's matcher, when this is not run by `python -m`
    try:
        find_kind(options.kind)
    except (ValueError, CustomMatcherError) as error:
        print(one_line(f"match: {error}"), file=sys.stderr)
        return 2
    try:
        found = match(options.kind, options.expected, options.actual, today=options.today, options=options.options)
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:  # options that no suite could have
        print(one_line(f"match: the options cannot be read: {error}"), file=sys.stderr)
        return 2
    notes = f" [{', '.join(found.notes)}]" if found.notes else ""
    line = one_line(f"{found.verdict.replace('_', ' ')}: {found.reason}{notes}")
    print(encodable(line, sys.stdout.encoding))
    return STATUS[found.verdict]


def read_value(text: str) -> Any:
    """The JSON value that a text is, else the text itself. NaN and Infinity are text: JSON has neither."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return text


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2026-04-06") from None


def _options(text: str) -> dict[str, Any]:
    found = read_value(text)
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a JSON object")
    return found
