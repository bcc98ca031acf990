"""The oracle's conversation with other calls in it, run anew on the suite's mock tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_voicebench.audio import BLOCK_TICKS
from pytest_voicebench.conversation import Call, Conversation, to_ticks
from pytest_voicebench.proving.forms import stand_in
from pytest_voicebench.proving.mutant import PlannedCall
from pytest_voicebench.references import Unresolvable, expand
from pytest_voicebench.scenario import ExpectedCall, Scenario
from pytest_voicebench.toolbox import Answer, MockError, Toolbox

Json = Any

_CALL_AFTER_TURN_TICKS = to_ticks(0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What replaying came to. `broke` says which mock broke on a call: an error of the suite in a real run."""

    conversation: Conversation
    broke: str | None = None


def planned(expected: Sequence[ExpectedCall]) -> tuple[PlannedCall, ...]:
    """The expected calls as the oracle makes them."""
    return tuple(PlannedCall(tool=call.tool, args=call.args, expected=n) for n, call in enumerate(expected))


def replayed(scenario: Scenario, held: Conversation, calls: Sequence[PlannedCall]) -> Replay:
    """The conversation with these calls instead of its own, one after another, each made when the one before is over.

    Mock tools start from their first state. A reference stands for the first value it may have; one that leads nowhere
    is sent as it is written.
    """
    box = Toolbox(scenario.suite.tools, scenario.suite.folder)
    at = _first_call_ticks(held)
    made: list[Call] = []
    results: dict[int, Json] = {}
    broke = None
    for number, planned_call in enumerate(calls):
        arguments = resolved(planned_call.args, results)
        done = at + to_ticks(box.latency_s(planned_call.tool))
        try:
            answer = box.call(planned_call.tool, arguments)
        except MockError as error:
            broke = str(error)
            made.append(_unanswered(number, planned_call.tool, arguments, at))
            break
        made.append(_answered(number, planned_call.tool, answer, at, done))
        if planned_call.expected is not None:
            results[planned_call.expected] = answer.result
        at = done + BLOCK_TICKS
    conversation = replace(
        held,
        calls=tuple(made),
        duration_ticks=max(held.duration_ticks, at),
        state=box.snapshot(),
        state_sha256_after=box.state_sha256(),
        recording=None,
    )
    return Replay(conversation=conversation, broke=broke)


def resolved(args: Mapping[str, Json], results: Mapping[int, Json]) -> dict[str, Json]:
    """The arguments with every reference and every form replaced by the first value that it may stand for."""
    return {name: stand_in(readings(value, results)[0]) for name, value in args.items()}


def readings(value: Json, results: Mapping[int, Json]) -> tuple[Json, ...]:
    """All values that a value with references may stand for; itself where a reference leads nowhere."""
    try:
        return expand(value, results)
    except Unresolvable:
        return (value,)


def _first_call_ticks(held: Conversation) -> int:
    if held.calls:
        return min(call.at_ticks for call in held.calls)
    return (held.turns[-1].end_ticks if held.turns else 0) + _CALL_AFTER_TURN_TICKS


def _answered(number: int, tool: str, answer: Answer, at: int, done: int) -> Call:
    return Call(
        call_id=f"call-{number}",
        name=tool,
        arguments=answer.arguments,
        arguments_text=answer.arguments_text,
        status=answer.status,
        at_ticks=at,
        finished_ticks=done,
        answered_ticks=done,
        acknowledged_ticks=done,
        result=answer.result,
        reason=answer.reason,
    )


def _unanswered(number: int, tool: str, arguments: Mapping[str, Json], at: int) -> Call:
    reason = "the conversation ended before the tool answered"
    return Call(call_id=f"call-{number}", name=tool, arguments=arguments, status="failed", at_ticks=at, reason=reason)
