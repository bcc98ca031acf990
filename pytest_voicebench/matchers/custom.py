"""Matchers of users: `match: package.module:function`, called with the expected value, the actual one and a Context."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from pytest_voicebench.matchers.verdict import Context, Json, Kind, Match, accept, cannot_tell, quote, reject

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
    the value at cannot_tell with one line that says what happened.
    """
    function = _find(target)

    def compare(expected: Json, actual: Json, context: Context) -> Match:
        try:
            found = function(expected, actual, context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's matcher raises, scoring goes on
            return cannot_tell(f"{target} raised {_one_line(error)}", "matcher_failed")
        if isinstance(found, Match):
            return found
        if isinstance(found, bool):
            return accept(f"right by {target}") if found else reject(expected, actual, f"wrong by {target}")
        if found is None:
            return cannot_tell(f"{target} cannot tell")
        return cannot_tell(f"{target} gave {quote(found)}, not a Match, true, false or None", "matcher_failed")

    return Kind(compare=compare, whole=True, custom=True)


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
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
