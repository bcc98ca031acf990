"""Why something passed that should have failed, or failed that should have passed: the scenario's fault in words."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.conversation import Problem
from pytest_voicebench.proving.mutant import Mutant
from pytest_voicebench.scenario import Scenario
from pytest_voicebench.scorecard import Scorecard


def why_it_passed(scenario: Scenario, mutant: Mutant, card: Scorecard) -> str:
    """What lets the mutant through, and what to do about it."""
    if mutant.kind == "order_swapped" and mutant.argument is None:
        return "the order is only shown: add `order` to pass_requires"
    if mutant.kind == "reply_off_topic":
        return "no call is expected and nothing said is required: add mentions, and `mentions` to pass_requires"
    if mutant.expected is not None and mutant.argument is not None:
        return _argument_passed(scenario, mutant.expected, mutant.argument, card)
    return "no rule of this scenario sees it"


def _argument_passed(scenario: Scenario, index: int, name: str, card: Scorecard) -> str:
    expected = scenario.expect.calls[index]
    if name not in expected.args:
        return f"{name} is not expected, and extra arguments never count against Pass: expect `{name}: null`"
    score = next((s for s in card.pairs[index].arguments if s.name == name), None)
    if score is None:
        return "no rule of this scenario sees it"
    if "alias" in score.notes:
        return f"it is {score.reason}: take it out of the aliases"
    return f"the matcher of {expected.tool}.{name} takes both for the same ({score.reason}): choose a narrower one"


def why_the_oracle_failed(card: Scorecard, problems: Sequence[Problem]) -> str:
    """What an agent that does everything right failed on: the problems, or the scores where there was none."""
    if problems:
        return "; ".join(dict.fromkeys(f"{p.kind}: {p.message}" for p in problems))
    found = [f"{pair.tool} was not counted" for pair in card.pairs if pair.actual is None]
    found += [f"{p.tool}.{a.name}: {a.reason}" for p in card.pairs for a in p.arguments if a.verdict != "match"]
    found += [f"{tool} is one call too many" for tool in card.surplus_tools]
    found += [] if card.spoke else ["its reply did not count"]
    found += [f"`{text}` was not met" for text, met in card.requirements.items() if met is not True]
    return "; ".join(dict.fromkeys(found)) or "a call was rejected"
