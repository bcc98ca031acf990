"""Python that belongs to a suite: functions named `module:function` in the suite's own folder."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


class SuiteCodeError(Exception):
    """A suite's module or function cannot be loaded; the text says which file and why."""


def load_function(folder: Path, spec: str) -> Callable[..., Any]:
    """The function `module:function` of a Python file in `folder`, from a fresh copy of the module.

    Fresh, so that no state leaks from one conversation to the next; compiled here, so that nothing is written into the
    suite's folder and `sys.modules` and `sys.path` stay as they are. Raises SuiteCodeError.
    """
    module_name, _, function_name = spec.partition(":")
    path = folder / f"{module_name}.py"
    try:
        code = compile(path.read_bytes(), str(path), "exec")
        module = types.ModuleType(module_name)
        module.__file__ = str(path)
        exec(code, module.__dict__)
    except FileNotFoundError:
        raise SuiteCodeError(f"{path.name}: no such file beside the suite (needed for '{spec}')") from None
    except Exception as error:
        raise SuiteCodeError(f"{path.name}:{_line_in(path, error)}: {type(error).__name__}: {error}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise SuiteCodeError(f"{path.name}: has no function '{function_name}'")
    return function


def _line_in(path: Path, error: BaseException) -> int:
    """The last line of `path` that the error passed through."""
    if isinstance(error, SyntaxError) and error.lineno:
        return error.lineno
    traceback, line = error.__traceback__, 0
    while traceback:
        if traceback.tb_frame.f_code.co_filename == str(path):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
