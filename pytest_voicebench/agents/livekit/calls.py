"""Calls that a session reports, told apart from those that came to the suite's tools already."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_voicebench.agents.protocol import ToolRan

Json = Any
Source = Literal["both", "host", "session"]

_LONGEST_READ = 100_000
"""Longer outputs stay text."""


@dataclass(slots=True)
class _Begun:
    at_s: float
    name: str
    arguments: str


@dataclass(slots=True, kw_only=True)
class ReportedCalls:
    """Gives each call that the session reports, and that nobody else has recorded, once.

    `both`: a report is taken for a call that came to the host when that had the same name, the same arguments first of
    all, and no other report was or will be taken for it: an agent's function calls the host before the session reports
    the end of the function. `host`: no report counts. `session`: each counts.
    """

    source: Source
    now_s: Callable[[], float]
    _at_host: list[tuple[str, Json]] = field(default_factory=list)
    _begun: dict[str, _Begun] = field(default_factory=dict)
    _told: set[tuple[str, str, str]] = field(default_factory=set)

    def came_to_host(self, name: str, arguments: str | dict[str, Json]) -> None:
        """A call that is recorded from the host."""
        self._at_host.append((name, _read(arguments)))

    def begun(self, call_id: str, name: str, arguments: str) -> None:
        """The session says that a call begins."""
        self._begun.setdefault(call_id, _Begun(self.now_s(), name, arguments))

    def ran(
        self,
        call_id: str,
        name: str,
        arguments: str,
        output: str,
        *,
        is_error: bool,
        others: Sequence[tuple[str, str]] = (),
    ) -> list[ToolRan]:
        """The session says how a call ended: the call where it is to be recorded, else nothing.

        `others`: name and arguments of the calls whose ends it says with this one's, but after it.
        """
        begun = self._begun.pop(call_id, None)
        if self.source == "host" or not name or (call_id, name, arguments) in self._told:
            return []
        self._told.add((call_id, name, arguments))
        if self.source == "both" and self._is_the_hosts(name, arguments, others):
            return []
        return [
            ToolRan(
                call_id=call_id,
                name=name,
                arguments=arguments,
                result=read_output(output),
                is_error=is_error,
                took_s=max(0.0, self.now_s() - begun.at_s) if begun else None,
            )
        ]

    def _is_the_hosts(self, name: str, arguments: str, others: Sequence[tuple[str, str]]) -> bool:
        """Whether a call of the host stands for this one; it then stands for no other.

        Where the arguments differ, it must not be one that a call whose end is still to be said names exactly.
        """
        wanted, free = (name, _read(arguments)), [call for call in self._at_host if call[0] == name]
        if wanted in free:
            self._at_host.remove(wanted)
            return True
        for other, said in [*others, *((b.name, b.arguments) for b in self._begun.values())]:
            if (call := (other, _read(said))) in free:
                free.remove(call)
        if free:
            self._at_host.remove(free[0])
        return bool(free)


def _read(arguments: str | dict[str, Json]) -> Json:
    if isinstance(arguments, dict):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def read_output(output: str) -> Json:
    """What a tool gave: JSON where it is JSON, an object or list as Python writes it, else the text as it stands.

    LiveKit tells a model `str(result)`, so that a function which returns a dict is reported as `{'a': 1}`.
    """
    text = output.strip()
    if len(text) > _LONGEST_READ:
        return output
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        pass
    if text[:1] in ("{", "["):
        try:
            value = ast.literal_eval(text)
            return json.loads(json.dumps(value, allow_nan=False))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            pass
    return output


def _no_constant(word: str) -> None:
    raise ValueError(word)
