"""Matching and scoring the calls of 10,000 conversations: `python benchmarks/matching.py [CONVERSATIONS] [--profile]`.

The expected calls of suites/fdb3, each conversation with calls as agents make them: right, in another spoken or written
form, wrong, left out, doubled, out of order. Every conversation has values of its own where the real ones would (names,
dates, ids, amounts), so that a cache finds here what it would find there. Pairing and scores only, no speech.
"""

from __future__ import annotations

import cProfile
import pstats
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from pytest_voicebench.conversation import Call
from pytest_voicebench.loading import load_suite
from pytest_voicebench.matchers import kind_of
from pytest_voicebench.metrics.arguments import Rules, rules_of
from pytest_voicebench.metrics.calls import call_scores
from pytest_voicebench.metrics.pairing import pair_calls
from pytest_voicebench.references import Unresolvable, expand
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.toolbox import Toolbox
from pytest_voicebench.tools import Parameter

SUITE = Path(__file__).parents[1] / "suites" / "fdb3"
AIM_S = 3.0

Form = Callable[[Any, random.Random], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conversation: its scenario and the calls that the agent made."""

    scenario: Scenario
    calls: tuple[Call, ...]


def _other_day(value: Any, rng: random.Random) -> Any:
    return (date(2026, 4, 6) + timedelta(days=rng.randrange(365))).isoformat()


def _long_date(value: Any, rng: random.Random) -> Any:
    try:
        day = date.fromisoformat(str(value))
    except ValueError:
        return value
    return f"{day:%B} {day.day}"


FORMS: dict[str, tuple[Form, ...]] = {
    "identifier": (
        lambda v, _: "-".join(str(v)),
        lambda v, _: str(v).lower(),
        lambda v, rng: f"{v}{rng.randrange(10)}",
    ),
    "date": (_long_date, _other_day),
    "number": (lambda v, _: str(v), lambda v, rng: rng.randrange(10_000)),
    "money": (lambda v, _: f"${v}", lambda v, rng: float(rng.randrange(10_000))),
    "currency": (lambda v, _: {"USD": "US dollars", "EUR": "euros", "GBP": "British pounds"}.get(v, v),),
    "enum": (lambda v, _: str(v).replace("_", " ").title(), lambda v, rng: f"{v} {rng.choice(['x', 'plan'])}"),
}
WORDS: tuple[Form, ...] = (
    lambda v, _: str(v).lower(),
    lambda v, _: f"the {v}",
    lambda v, rng: f"{rng.randrange(1, 9999)} {rng.choice(['Oak', 'Elm', 'Main'])} {rng.choice(['St', 'Ave', 'Rd'])}",
)


def make_cases(count: int, seed: int = 20_260_406) -> list[Case]:
    """Conversations in turn over all scenarios of the suite."""
    rng = random.Random(seed)
    suites = [load_suite(SUITE / f"{name}.yaml") for name in ("ecommerce", "finance", "housing", "travel")]
    scenarios = [scenario for suite in suites for scenario in suite.scenarios]
    return [
        Case(scenario=scenario, calls=tuple(_calls(scenario, rng)))
        for scenario in (scenarios[n % len(scenarios)] for n in range(count))
    ]


def _calls(scenario: Scenario, rng: random.Random) -> list[Call]:
    box = Toolbox(scenario.suite.tools, scenario.suite.folder)
    made: list[tuple[str, dict[str, Any], Any]] = []
    results: dict[int, Any] = {}
    for index, expected in enumerate(scenario.expect.calls):
        if rng.random() < 0.1:
            continue  # never called
        tool = scenario.suite.tools[expected.tool]
        for _ in range(1 + (rng.random() < 0.15)):  # a stale call first, or twice
            right = {name: _resolved(value, results) for name, value in expected.args.items()}
            arguments = {name: _said(tool.parameters[name], value, rng) for name, value in right.items()}
            results[index] = box.call(expected.tool, right).result
            made.append((expected.tool, arguments, results[index]))
    if rng.random() < 0.1:
        rng.shuffle(made)
    return [
        Call(
            call_id=f"c{n}", name=name, arguments=arguments, at_ticks=24_000 * (n + 1), status="executed", result=result
        )
        for n, (name, arguments, result) in enumerate(made)
    ]


def _resolved(value: Any, results: dict[int, Any]) -> Any:
    try:
        return expand(value, results)[0]
    except Unresolvable:
        return "X1"


def _said(parameter: Parameter, value: Any, rng: random.Random) -> Any:
    if rng.random() < 0.5:
        return value
    return rng.choice(FORMS.get(kind_of(parameter, value), WORDS))(value, rng)


def score_all(cases: list[Case]) -> int:
    """Pairs and scores of every conversation; how many had every pair right."""
    right = 0
    for case in cases:
        rules: Rules = rules_of(case.scenario)
        pairs = pair_calls(case.scenario.expect.calls, case.calls, rules)
        call_scores(pairs, len(case.calls))
        right += all(pair.matches for pair in pairs)
    return right


def main() -> None:
    """Print the time; exit status 1 where it is over the aim for 10,000."""
    numbers = [argument for argument in sys.argv[1:] if argument.isdigit()]
    count = int(numbers[0]) if numbers else 10_000
    cases = make_cases(count)
    if "--profile" in sys.argv:
        with cProfile.Profile() as profile:
            score_all(cases)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    wall, cpu = time.perf_counter(), time.process_time()
    right = score_all(cases)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    calls = sum(len(case.calls) for case in cases)
    print(f"{count} conversations, {calls} calls, {right} with every pair right")
    print(f"wall {wall:.2f} s, CPU {cpu:.2f} s, {wall / count * 1e6:.0f} us a conversation; aim {AIM_S} s for 10,000")
    sys.exit(wall / count * 10_000 > AIM_S)


if __name__ == "__main__":
    main()
