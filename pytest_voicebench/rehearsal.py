"""Plays a suite's expected calls on its mock tools: finds what only running tells, before an agent is blamed for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_voicebench.loading import Mistake
from pytest_voicebench.matchers import stand_in
from pytest_voicebench.references import Unresolvable, expand
from pytest_voicebench.scenario import ExpectedCall, Scenario, Suite
from pytest_voicebench.toolbox import MockError, Toolbox, broken_rule

Json = Any


def rehearse(suite: Suite) -> tuple[Mistake, ...]:
    """What goes wrong when each scenario's expected calls are made in the order written.

    A mock that breaks or answers otherwise the second time, a reference that its result does not hold, arguments that
    the tool's schema refuses (`minimum`, `pattern`, ...). An error that a tool answers with is no mistake: scenarios
    may ask for what does not exist. The suite's mock code runs, as in a conversation.
    """
    # Speakers expect the same calls. What a known issue expects cannot be done; that is the issue.
    scenarios = {scenario.id: scenario for scenario in suite.scenarios if not scenario.known_issue}
    return tuple(mistake for scenario in scenarios.values() for mistake in _mistakes(scenario))


def _mistakes(scenario: Scenario) -> Iterator[Mistake]:
    try:
        first, second = (Toolbox(scenario.suite.tools, scenario.suite.folder) for _ in range(2))
    except MockError as error:
        yield _mistake(scenario, "tools", str(error))
        return
    results: dict[int, Json] = {}
    for index, call in enumerate(scenario.expect.calls):
        where = f"expect.calls[{index}].{call.tool}"
        try:
            arguments = _resolved(call, results)
            reason = broken_rule(scenario.suite.tools[call.tool], arguments)
            answers = [box.call(call.tool, arguments) for box in (first, second)]
        except (Unresolvable, MockError) as error:
            yield _mistake(scenario, where, str(error))
            return
        if reason:
            yield _mistake(scenario, where, reason)
        if answers[0] != answers[1] or first.state_sha256() != second.state_sha256():
            yield _mistake(scenario, where, "the mock answers the same calls otherwise the second time")
        results[index] = answers[0].result


def _resolved(call: ExpectedCall, results: Mapping[int, Json]) -> dict[str, Json]:
    """The arguments with references and forms replaced by the first value that they stand for. Raises Unresolvable."""
    return {name: stand_in(expand(value, results)[0]) for name, value in call.args.items()}


def _mistake(scenario: Scenario, where: str, what: str) -> Mistake:
    return Mistake(path=scenario.suite.path, line=scenario.line, where=f"{scenario.id}.{where}", what=what)
