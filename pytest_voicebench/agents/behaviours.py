"""What simulated agents do: plans of acts, timed from the end of the user's last turn (design section 8)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Literal

from pytest_voicebench.conversation import to_ticks
from pytest_voicebench.matchers import compare_value, stand_in
from pytest_voicebench.matchers.forms import form_of, values_in
from pytest_voicebench.references import is_reference
from pytest_voicebench.scenario import ExpectedCall, Retraction, Scenario
from pytest_voicebench.tools import Parameter, Tool

Json = Any

REPLY_S = 0.8
CALL_S = 0.3
FILLER_S = 0.2
INTERRUPTION_S = -1.5
EARLY_CALL_S = -1.0
ANSWER_AFTER_FILLER_S = 2.5
"""A shipped filler lasts 1.4 s; this leaves a clear silence before the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One thing to do, `at_ticks` after the user's end. A call may refer to results of expected calls by index."""

    at_ticks: int
    kind: Literal["reply", "filler", "call"]
    tool: str = ""
    arguments: Mapping[str, Json] | None = None
    expected: int | None = None


Plan = tuple[Act, ...]


def _speak(kind: Literal["reply", "filler"], at_s: float) -> Act:
    return Act(at_ticks=to_ticks(at_s), kind=kind)


def _calls(expected: Sequence[ExpectedCall], at_s: float) -> Plan:
    return tuple(
        Act(at_ticks=to_ticks(at_s), kind="call", tool=call.tool, arguments=stand_in(call.args), expected=n)
        for n, call in enumerate(expected)
    )


def oracle(scenario: Scenario) -> Plan:
    """Makes every expected call, then replies 0.8 s after the user's end."""
    return (*_calls(scenario.expect.calls, CALL_S), _speak("reply", REPLY_S))


def no_op(_: Scenario) -> Plan:
    """Does nothing and says nothing."""
    return ()


def silent_worker(scenario: Scenario) -> Plan:
    """Makes every call and says nothing."""
    return _calls(scenario.expect.calls, CALL_S)


def eager_filler(scenario: Scenario) -> Plan:
    """Fills the silence at once, then calls, then answers."""
    return (
        _speak("filler", FILLER_S),
        *_calls(scenario.expect.calls, 2 * CALL_S),
        _speak("reply", ANSWER_AFTER_FILLER_S),
    )


def interrupter(scenario: Scenario) -> Plan:
    """As the oracle, but speaks over the user's last words."""
    return (_speak("filler", INTERRUPTION_S), *oracle(scenario))


def early_caller(scenario: Scenario) -> Plan:
    """Makes the final calls while the user still speaks."""
    return (*_calls(scenario.expect.calls, EARLY_CALL_S), _speak("reply", REPLY_S))


def stale_commit(scenario: Scenario) -> Plan:
    """Calls with the values that the user took back; the oracle where nothing was taken back."""
    return (*_calls(_stale(scenario.expect.calls, scenario.retracted), CALL_S), _speak("reply", REPLY_S))


def argument_swapper(scenario: Scenario) -> Plan:
    """Calls the right tools with every argument wrong."""
    swapped = [_swapped(call, scenario.suite.tools[call.tool]) for call in scenario.expect.calls]
    return (*_calls(swapped, CALL_S), _speak("reply", REPLY_S))


def tool_inventor(scenario: Scenario) -> Plan:
    """As the oracle, with one call more, to a tool that does not exist."""
    invented = Act(at_ticks=to_ticks(CALL_S), kind="call", tool="invented_tool", arguments={})
    return (*_calls(scenario.expect.calls, CALL_S), invented, _speak("reply", REPLY_S))


def call_dropper(scenario: Scenario) -> Plan:
    """As the oracle, without the last call."""
    return (*_calls(scenario.expect.calls[:-1], CALL_S), _speak("reply", REPLY_S))


BEHAVIOURS: Mapping[str, Callable[[Scenario], Plan]] = {
    f.__name__: f
    for f in (
        oracle,
        no_op,
        silent_worker,
        eager_filler,
        interrupter,
        early_caller,
        stale_commit,
        argument_swapper,
        tool_inventor,
        call_dropper,
    )
}
"""All by name; `slow` is the oracle with a delay, `mix` gives each item one of these."""

MIX_DELAY_S = 1.5


def plan(behaviour: str, scenario: Scenario, *, delay_s: float = 0.0) -> Plan:
    """The acts of a behaviour in order of time, all later by `delay_s`. Raises KeyError for an unknown name."""
    if behaviour == "mix":
        behaviour = mixed_behaviour(scenario.item_id)
        delay_s += MIX_DELAY_S if behaviour == "slow" else 0.0
    acts = oracle(scenario) if behaviour == "slow" else BEHAVIOURS[behaviour](scenario)
    late = [replace(act, at_ticks=act.at_ticks + to_ticks(delay_s)) for act in acts]
    return tuple(sorted(late, key=lambda act: act.at_ticks))


def mixed_behaviour(item_id: str) -> str:
    """Which behaviour `mix` plants in an item: by the item's id, so that any subset of a run keeps it."""
    names = (*BEHAVIOURS, "slow")
    return names[int.from_bytes(hashlib.sha256(item_id.encode()).digest()[:4]) % len(names)]


def wrong_value(parameter: Parameter, value: Json) -> Json:
    """A value of the parameter's type that no matcher may take for `value`; null where all are right."""
    form = form_of(value)
    if form is not None and form[0] in ("$any", "$not"):
        return None if form[0] == "$any" else form[1]["values"][0]
    if form is not None:
        return _far_from(value, parameter)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1000
    if others := [v for v in parameter.enum if v != value]:
        return others[0]
    if not isinstance(value, str) or is_reference(value):
        return "none of these"
    try:
        return (date.fromisoformat(value) + timedelta(days=1)).isoformat()
    except ValueError:
        return f"{value} Q7"


def _far_from(form: Json, parameter: Parameter) -> Json:
    """A value that a form which stands for several, or for a range, surely does not take; null where none is found."""
    values = [one for one in values_in(form) if one is not None]
    near = [wrong_value(replace(parameter, enum=()), one) for one in values]
    candidates = [*parameter.enum, *near, *map(_far, values), "none of these"]
    wrong = (one for one in candidates if compare_value(parameter, form, one, None).verdict == "mismatch")
    return next(wrong, None)


def _far(value: Json) -> Json:
    """A value beyond any tolerance: more than twice as much, another year."""
    if isinstance(value, int | float):
        return value * 3 + 100_000
    try:
        return (date.fromisoformat(str(value)) + timedelta(days=400)).isoformat()
    except ValueError:
        return f"{value} Q7"


def _swapped(call: ExpectedCall, tool: Tool) -> ExpectedCall:
    return replace(call, args={name: wrong_value(tool.parameters[name], value) for name, value in call.args.items()})


def _stale(calls: Sequence[ExpectedCall], retracted: Sequence[Retraction]) -> list[ExpectedCall]:
    """Expected calls in which retracted values stand, each retraction in the first call of its tool that has room."""
    stale = list(calls)
    taken: set[tuple[int, str]] = set()
    for entry in retracted:
        for n, call in enumerate(stale):
            if call.tool == entry.tool and not any((n, name) in taken for name in entry.args):
                stale[n] = replace(call, args={**call.args, **entry.args})
                taken.update((n, name) for name in entry.args)
                break
    return stale
