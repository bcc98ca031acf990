"""What the oracle does in one item: its calls with the values that references have, and how each argument is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.conversation import Conversation
from pytest_voicebench.matchers import kind_of
from pytest_voicebench.matchers.exact import json_equal
from pytest_voicebench.metrics.arguments import rules_of
from pytest_voicebench.proving.forms import right_values
from pytest_voicebench.proving.mutant import PlannedCall
from pytest_voicebench.proving.near import Surroundings, near_values
from pytest_voicebench.proving.replay import planned, readings, replayed
from pytest_voicebench.proving.vocabulary import Vocabulary
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.tools import Parameter, Toolset

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The right calls of a scenario.

    `results` are those of the expected calls, by index; `tools` are declared as this scenario has them compared.
    """

    scenario: Scenario
    held: Conversation
    calls: tuple[PlannedCall, ...]
    results: Mapping[int, Json]
    vocabulary: Vocabulary
    tools: Toolset

    def parameter(self, tool: str, name: str) -> Parameter | None:
        """A tool's parameter, None where it lacks one."""
        declared = self.tools.get(tool)
        return declared.parameters.get(name) if declared else None

    def right(self, value: Json) -> tuple[Json, ...]:
        """The right values of an expected value, its references resolved; the oracle's own is the first."""
        return tuple(one for reading in readings(value, self.results) for one in right_values(reading))

    def near(self, tool: str, name: str, expected: Json) -> tuple[Json, ...]:
        """Wrong values next to the right ones of an argument, the nearest first."""
        right = self.right(expected)
        found = self._near(tool, name, readings(expected, self.results)[0])
        return tuple(value for value in found if not any(json_equal(value, one) for one in right))

    def _near(self, tool: str, name: str, value: Json) -> tuple[Json, ...]:
        parameter = self.parameter(tool, name)
        kind = kind_of(parameter, value)
        options = parameter.options if parameter else {}
        approx = options.get("approx")
        return near_values(
            kind,
            value,
            Surroundings(
                enum=(parameter.enum if parameter else ()) or options.get("enum") or (),
                approx=approx if isinstance(approx, int | float | str) else 0.0,
                others=self.vocabulary.others(tool, name, kind, self._same(value, options)),
                fields=options.get("fields") or {},
            ),
        )

    def label(self, index: int, name: str | None = None) -> str:
        """`search_flights.date`; `calls[1].search_flights.date` where the tool is expected more than once."""
        tool = self.calls[index].tool
        several = sum(call.tool == tool for call in self.calls) > 1
        return (f"calls[{index}].{tool}" if several else tool) + (f".{name}" if name else "")

    def _same(self, value: Json, options: Mapping[str, Json]) -> list[str]:
        """What the author calls the same as this value."""
        own = options.get("aliases")
        found: list[str] = []
        for right in (one for one in right_values(value) if isinstance(one, str)):
            listed = own.get(right, ()) if isinstance(own, Mapping) else own or ()
            found += [right, *map(str, listed), *self.scenario.expect.aliases.get(right, ())]
        return found


def oracle_of(scenario: Scenario, held: Conversation, vocabulary: Vocabulary) -> Oracle:
    """The oracle of a scenario whose conversation was held. Raises MockError where the mock tools do not run."""
    calls = planned(scenario.expect.calls)
    made = replayed(scenario, held, calls).conversation.calls
    results = {n: call.result for n, call in enumerate(made)}
    tools = rules_of(scenario).tools
    return Oracle(scenario=scenario, held=held, calls=calls, results=results, vocabulary=vocabulary, tools=tools)
