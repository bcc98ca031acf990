"""Python files in a suite's folder (mock answers, step generators): found without running, run without importing.

A file runs as a fresh module each time: nothing in it is shared between conversations, `sys.modules` and `sys.path`
stay as they are, and no `__pycache__` appears in the user's folder.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
import types
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

_TARGET = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):([A-Za-z_][A-Za-z0-9_]*)")
_numbers = itertools.count()


class FolderCodeError(Exception):
    """A `module:function` cannot be used; one line that says why and where."""


def find_function(folder: Path, target: str) -> Path:
    """The file that holds `module:function`, without running it.

    Raises FolderCodeError where the target is written wrongly, the file is missing, outside the folder or not Python,
    or no such name is bound at its top level.
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        raise FolderCodeError(f'"{target}" is not of the form module:function')
    path = folder / f"{match[1]}.py"
    if not path.is_file():
        raise FolderCodeError(f"there is no {path.name} in the suite's folder")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise FolderCodeError(f"{path.name} lies outside the suite's folder")
    names = _bound_names(_source(path), path)
    if match[2] not in names:
        import difflib

        near = difflib.get_close_matches(match[2], names, n=1)
        raise FolderCodeError(f"{path.name} has no {match[2]}" + (f'; did you mean "{near[0]}"?' if near else ""))
    return path


def load_functions(folder: Path, targets: list[str]) -> dict[str, Callable[..., Any]]:
    """The functions named by `targets`; those of one file share one fresh module. Raises FolderCodeError."""
    modules: dict[Path, types.ModuleType] = {}
    functions: dict[str, Callable[..., Any]] = {}
    for target in targets:
        path = find_function(folder, target)
        if path not in modules:
            modules[path] = _run(path)
        function = getattr(modules[path], target.partition(":")[2])
        if not callable(function):
            raise FolderCodeError(f"{target} is not a function")
        functions[target] = function
    return functions


def place_of(error: BaseException, folder: Path) -> str:
    """`mock_api.py:LINE` of the last frame inside the folder, with the error's type and text, on one line."""
    place, inside = "", str(folder.absolute())
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(inside):
            place = f"{Path(name).name}:{trace.tb_lineno}: "
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{Path(error.filename).name}:{error.lineno or 1}: "
        return f"{place}{type(error).__name__}: {error.msg}"
    return f"{place}{type(error).__name__}: {' '.join(str(error).split())}"


def _source(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FolderCodeError(f"{path.name} cannot be read: {error}") from None


@lru_cache(maxsize=32)
def _bound_names(source: str, path: Path) -> frozenset[str]:
    """Names bound at the top level by def, import or assignment."""
    try:
        tree = ast.parse(source, filename=str(path))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise FolderCodeError(place_of(error, path.parent)) from None
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        else:
            names.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return frozenset(names)


@lru_cache(maxsize=32)
def _compiled(source: str, path: Path) -> types.CodeType:
    return compile(source, str(path.absolute()), "exec", dont_inherit=True)


def _run(path: Path) -> types.ModuleType:
    module = types.ModuleType(f"_voicebench_{path.stem}_{next(_numbers)}")
    module.__file__ = str(path.absolute())
    sys.modules[module.__name__] = module  # while it runs: dataclasses look their module up there
    try:
        exec(_compiled(_source(path), path), module.__dict__)
    except (Exception, SystemExit) as error:  # whatever the user's file raises is that file's fault
        raise FolderCodeError(place_of(error, path.parent)) from error
    finally:
        del sys.modules[module.__name__]
    return module
