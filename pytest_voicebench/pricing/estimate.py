"""What a conversation will cost, before it is held: from the length of its recordings and declared assumptions."""

from __future__ import annotations

import json

from pytest_voicebench.pricing.cost import SESSION, cost_of
from pytest_voicebench.pricing.prices import Price
from pytest_voicebench.result import Result
from pytest_voicebench.scenario import Scenario, Step

REPLY_S = 10.0
RESPONSES = 2
CHARACTERS = 4
UNKNOWN_STEP_S = 10.0
WINDOW_S = 30.0
"""How long a conversation with a fixed window goes on after its last step."""

ASSUMPTIONS = (
    f"{RESPONSES} responses and {REPLY_S:.0f} s of reply for each turn, {CHARACTERS} characters a token, "
    "all that was said read again for each response"
)


def estimate_usd(scenario: Scenario, price: Price) -> float:
    """USD for one conversation, by ASSUMPTIONS."""
    heard_s, turns = _heard_s(scenario), _turns(scenario)
    spoken_s = REPLY_S * turns
    usage = {SESSION: session_s(scenario)}
    names, readings = price.estimate, RESPONSES * turns
    counts = {
        names.text_in: _characters(scenario) / CHARACTERS * readings,
        names.audio_in: heard_s * names.audio_in_per_s * readings,
        names.audio_out: spoken_s * names.audio_out_per_s,
    }
    usage |= {name: value for name, value in counts.items() if name is not None}
    return cost_of(usage, price).at_least


def paid_usd(attempt: Result, price: Price | None, scenario: Scenario | None) -> float:
    """USD that an earlier attempt cost, by its own bill; where nobody could say then, by what can be said now.

    That is the price of its usage, else its estimate at least. Nothing where there was no session.
    """
    if attempt.usd is not None:
        return attempt.usd
    cost = cost_of(attempt.usage, price)
    if cost.usd is not None:
        return cost.usd
    if attempt.usd_unknown is None or price is None or scenario is None:
        return cost.at_least
    return max(cost.at_least, estimate_usd(scenario, price))


def session_s(scenario: Scenario) -> float:
    """How many seconds one conversation is expected to take: the recordings, a reply to each turn, and the window."""
    rest_s = scenario.suite.settle_s if scenario.suite.window == "settle" else WINDOW_S
    return _heard_s(scenario) + REPLY_S * _turns(scenario) + rest_s


def _turns(scenario: Scenario) -> int:
    return max(1, sum(step.kind == "say" for step in scenario.steps))


def _heard_s(scenario: Scenario) -> float:
    return sum(map(_step_s, scenario.steps)) or UNKNOWN_STEP_S


def _step_s(step: Step) -> float:
    if step.timing is not None and step.timing.speech:
        return step.timing.speech[-1][1]
    if step.kind in ("say", "backchannel", "insert"):
        return UNKNOWN_STEP_S
    return step.seconds


def _characters(scenario: Scenario) -> int:
    suite = scenario.suite
    tools = [
        json.dumps({"name": tool.name, "description": tool.description, "parameters": list(tool.parameters)})
        for tool in suite.tools.values()
    ]
    return len(suite.instructions) + sum(map(len, tools)) + sum(map(len, suite.documents))
