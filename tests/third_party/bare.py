"""Packages without what their `__init__` imports: vLLM-Omni's and SGLang-Omni's want torch, their clients do not."""

from __future__ import annotations

import importlib.util
import sys
import types


def bare(*names: str) -> None:
    """Let submodules of packages be imported as if their `__init__` were empty."""
    for name in names:
        found = importlib.util.find_spec(name)
        module = types.ModuleType(name)
        module.__path__ = list(found.submodule_search_locations)
        sys.modules[name] = module
