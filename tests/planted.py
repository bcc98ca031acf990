"""Data made from nothing but their types, with one text wherever a text may stand: no field can be forgotten."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pages import sound
from results import a_run

import pytest_voicebench
from pytest_voicebench.conversation import Conversation, Recording, to_ticks
from pytest_voicebench.conversation_files import save_conversation
from pytest_voicebench.result import VALID, Result
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.summary import Summary

VARIANTS = 6
"""So many values of a class show each of its choices at least once; texts that exclude each other take turns."""

LEFT_ALONE = {"format", "recording"}
"""Fields that make a file unreadable where they are anything else, or hold no text."""


def planted(cls: Any, text: str, variant: int = 0) -> Any:
    """An instance of a dataclass with `text` in each of its texts, and in those of all that it holds.

    Every optional part is there, every list and mapping has an entry. `variant` goes through the choices of a Literal;
    times lie in order inside ten seconds.
    """
    return _Planter(text, variant).made(cls)


def header_with(value: Any) -> dict[str, Any]:
    """The head of a run with `value` under every name that any code of ours looks up in one."""
    sources = (path.read_text(encoding="utf-8") for path in Path(pytest_voicebench.__file__).parent.rglob("*.py"))
    return {name: value for text in sources for name in re.findall(r'\bheader(?:\.get\(|\[)"(\w+)"', text)}


def planted_run(folder: Path, *texts: str) -> SavedRun:
    """A run of VARIANTS items, each with its conversation and sound; the texts take turns."""
    results = []
    for variant in range(VARIANTS):
        text = texts[variant % len(texts)]
        result = planted(Result, text, variant)
        if result.outcome not in VALID:
            result = replace(result, scorecard=None)
        place = f"items/n{variant}"
        results.append(replace(result, item_id=f"{text} {variant}", folder=place))
        voices = Recording(user=sound(10.0, (0.5, 4.0)), agent=sound(10.0, (5.0, 8.0)))
        save_conversation(replace(planted(Conversation, text, variant), recording=voices), folder / place)
    return load_run(a_run(folder, *results))


def planted_summary(run: SavedRun, text: str, header: Mapping[str, Any]) -> Summary:
    """The run's summary, with its own agents before a planted one, and all else planted."""
    own, other = run.summary(), planted(Summary, text)
    return replace(other, header=header, counts=own.counts, agents=(*own.agents, *other.agents))


class _Planter:
    def __init__(self, text: str, variant: int) -> None:
        self.text, self.variant, self.moments = text, variant, count(1)

    def made(self, cls: Any) -> Any:
        hints = get_type_hints(cls)
        own = [field.name for field in fields(cls) if field.name not in LEFT_ALONE]
        return cls(**{name: self._field(name, hints[name]) for name in own})

    def _field(self, name: str, hint: Any) -> Any:
        if name.endswith("_ticks") and get_origin(hint) is not tuple:
            return to_ticks(10.0) if name == "duration_ticks" else to_ticks(next(self.moments) % 80 / 10)
        return self._value(name, hint)

    def _value(self, name: str, hint: Any) -> Any:
        origin, args = get_origin(hint), get_args(hint)
        if is_dataclass(hint):
            return self.made(hint)
        if origin is Literal:
            return args[self.variant % len(args)]
        if origin in (Union, types.UnionType):
            kinds = [arg for arg in args if arg is not types.NoneType]
            return self._value(name, str if str in kinds else kinds[0])
        if origin is tuple:
            return tuple(self._value(name, arg) for arg in args if arg is not Ellipsis)
        if origin in (Mapping, dict):
            return {self.text: self._value(name, args[1])}
        return self._scalar(name, hint)

    def _scalar(self, name: str, hint: Any) -> Any:
        if hint is int:
            return 24_000 if name == "input_hz" else self.variant % 2
        scalars = {str: self.text, bool: self.variant % 2 == 0, float: 0.5}
        return scalars.get(hint, {self.text: [self.text]})
