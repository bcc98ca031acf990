"""What the scenarios of a suite say elsewhere: other values for an argument, and a call that others expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.matchers import kind_of
from pytest_voicebench.metrics.arguments import rules_of
from pytest_voicebench.references import is_reference, referred_calls
from pytest_voicebench.scenario import ExpectedCall, Scenario
from pytest_voicebench.tools import Toolset

Json = Any

_OF_ONE_SORT = ("place", "person")
"""Kinds whose values can stand for each other in any argument; other texts belong to their argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Texts by argument (tool and name) or by kind, in the order written, and the expected calls without references."""

    texts: Mapping[str, tuple[str, ...]]
    calls: tuple[ExpectedCall, ...]

    def others(self, tool: str, name: str, kind: str, same: Iterable[str]) -> tuple[str, ...]:
        """Texts that other scenarios have where this argument stands, without those that are called the same."""
        known = {one.casefold() for one in same}
        return tuple(t for t in self.texts.get(_shelf(tool, name, kind), ()) if t.casefold() not in known)

    def foreign_call(self, expected: Sequence[ExpectedCall]) -> ExpectedCall | None:
        """A call of a tool that is not among the expected ones; None where the suite knows none."""
        used = {call.tool for call in expected}
        return next((call for call in self.calls if call.tool not in used), None)


def vocabulary_of(scenarios: Iterable[Scenario]) -> Vocabulary:
    """The vocabulary of a suite."""
    shelves: dict[str, dict[str, None]] = {}
    calls: dict[str, ExpectedCall] = {}
    for scenario in scenarios:
        tools = rules_of(scenario).tools
        for call in scenario.expect.calls:
            if not any(True for _ in referred_calls(call.args)):
                calls.setdefault(call.tool, call)
        for tool, name, text in _texts(scenario):
            shelf = _shelf(tool, name, _kind(tools, tool, name, text))
            shelves.setdefault(shelf, {})[text] = None
    return Vocabulary(texts={shelf: tuple(texts) for shelf, texts in shelves.items()}, calls=tuple(calls.values()))


def _texts(scenario: Scenario) -> Iterator[tuple[str, str, str]]:
    said = [(c.tool, c.args) for c in scenario.expect.calls] + [(r.tool, r.args) for r in scenario.retracted]
    for tool, args in said:
        for name, value in args.items():
            if isinstance(value, str) and not is_reference(value):
                yield tool, name, value


def _kind(tools: Toolset, tool: str, name: str, text: str) -> str:
    declared = tools.get(tool)
    return kind_of(declared.parameters.get(name) if declared else None, text)


def _shelf(tool: str, name: str, kind: str) -> str:
    return kind if kind in _OF_ONE_SORT else f"{tool}.{name}"
