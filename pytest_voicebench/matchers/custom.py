"""Matchers of users: `match: package.module:function`, called with the expected value, the actual one and a Context."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, get_args

from pytest_voicebench.matchers.verdict import Context, Json, Kind, Match, accept, cannot_tell, quote, reject
from pytest_voicebench.scorecard import Verdict

_LONGEST_REASON = 400  # characters
TARGET = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


class CustomMatcherError(Exception):
    """A user's matcher cannot be used; one line that says why."""


def is_target(name: str) -> bool:
    """Whether a kind's name is of the form `package.module:function`."""
    return TARGET.fullmatch(name) is not None


@lru_cache(maxsize=256)
def load(target: str) -> Kind:
    """The kind that `package.module:function` stands for. Raises CustomMatcherError.

    The function gives a Match, or true, false or None (cannot tell). One that raises, or gives anything else, leaves
    the value at cannot_tell with one line that says what happened. It gets copies: what it changes in them is lost.
    """
    function = _find(target)

    def compare(expected: Json, actual: Json, context: Context) -> Match:
        try:
            found = function(_copied(expected), _copied(actual), replace(context, options=_copied(context.options)))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - also sys.exit and pytest.skip: scoring goes on
            return cannot_tell(f"{target} raised {_one_line(error)}", "matcher_failed")
        if isinstance(found, Match):
            wrong = _why_wrong(found)
            return cannot_tell(f"{target} gave a Match {wrong}", "matcher_failed") if wrong else _short(found)
        if isinstance(found, bool):
            return accept(f"right by {target}") if found else reject(expected, actual, f"wrong by {target}")
        if found is None:
            return cannot_tell(f"{target} cannot tell")
        return cannot_tell(f"{target} gave {quote(found)}, not a Match, true, false or None", "matcher_failed")

    return Kind(compare=compare, whole=True, custom=True)


def _copied(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return type(value)(map(_copied, value)) if isinstance(value, list | tuple) else value


def _why_wrong(match: Match) -> str | None:
    """What of a Match that a user filled in by hand could not be written down."""
    if match.verdict not in get_args(Verdict):
        return f"of verdict {quote(match.verdict)}, not {', '.join(get_args(Verdict))}"
    if not isinstance(match.reason, str):
        return "whose reason is not text"
    right = isinstance(match.notes, tuple) and all(isinstance(note, str) for note in match.notes)
    return None if right else "whose notes are no tuple of texts"


def _short(match: Match) -> Match:
    return match if len(match.reason) <= _LONGEST_REASON else replace(match, reason=match.reason[:_LONGEST_REASON])


def _find(target: str) -> Callable[..., Any]:
    if not is_target(target):
        raise CustomMatcherError(f'"{target}" is not of the form package.module:function')
    module_name, _, name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's module raises
        raise CustomMatcherError(f"{module_name} cannot be imported: {_one_line(error)}") from None
    function: Callable[..., Any] | None = getattr(module, name, None)
    if function is None:
        raise CustomMatcherError(f"{module_name} has no {name}")
    if not callable(function):
        raise CustomMatcherError(f"{target} is not a function")
    try:
        inspect.signature(function).bind(None, None, None)
    except ValueError:  # a built-in that does not say what it takes
        return function
    except TypeError:
        raise CustomMatcherError(f"{target} cannot be called with (expected, actual, context)") from None
    return function


def _one_line(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - an exception of a user's whose text cannot be made
        text = ""
    return f"{type(error).__name__}: {text}"[:200]
