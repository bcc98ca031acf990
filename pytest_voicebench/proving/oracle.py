"""What the oracle does in one item: its calls with the values that references have, and how each argument is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.conversation import Conversation
from pytest_voicebench.matchers import kind_of
from pytest_voicebench.proving.mutant import PlannedCall
from pytest_voicebench.proving.near import Surroundings, near_values
from pytest_voicebench.proving.replay import planned, readings, replayed
from pytest_voicebench.proving.vocabulary import Vocabulary
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.tools import Parameter

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The right calls of a scenario. `results` are those of the expected calls, by index."""

    scenario: Scenario
    held: Conversation
    calls: tuple[PlannedCall, ...]
    results: Mapping[int, Json]
    vocabulary: Vocabulary

    def parameter(self, tool: str, name: str) -> Parameter | None:
        """A tool's parameter, None where it lacks one."""
        declared = self.scenario.suite.tools.get(tool)
        return declared.parameters.get(name) if declared else None

    def readings(self, value: Json) -> tuple[Json, ...]:
        """All right values of an expected value, its references resolved."""
        return readings(value, self.results)

    def near(self, tool: str, name: str, value: Json) -> tuple[Json, ...]:
        """Values next to one right value of an argument."""
        parameter = self.parameter(tool, name)
        kind = kind_of(parameter, value)
        options = parameter.options if parameter else {}
        approx = options.get("approx")
        return near_values(
            kind,
            value,
            Surroundings(
                enum=(parameter.enum if parameter else ()) or options.get("enum") or (),
                approx=float(approx) if isinstance(approx, int | float) else 0.0,
                others=self.vocabulary.others(tool, name, kind, self._same(value, options)),
            ),
        )

    def label(self, index: int, name: str | None = None) -> str:
        """`search_flights.date`; `calls[1].search_flights.date` where the tool is expected more than once."""
        tool = self.calls[index].tool
        several = sum(call.tool == tool for call in self.calls) > 1
        return (f"calls[{index}].{tool}" if several else tool) + (f".{name}" if name else "")

    def _same(self, value: Json, options: Mapping[str, Json]) -> list[str]:
        """What the author calls the same as this value."""
        if not isinstance(value, str):
            return []
        own = options.get("aliases")
        listed = own.get(value, ()) if isinstance(own, Mapping) else own or ()
        return [value, *map(str, listed), *self.scenario.expect.aliases.get(value, ())]


def oracle_of(scenario: Scenario, held: Conversation, vocabulary: Vocabulary) -> Oracle:
    """The oracle of a scenario whose conversation was held. Raises MockError where the mock tools do not run."""
    calls = planned(scenario.expect.calls)
    made = replayed(scenario, held, calls).conversation.calls
    results = {n: call.result for n, call in enumerate(made)}
    return Oracle(scenario=scenario, held=held, calls=calls, results=results, vocabulary=vocabulary)
