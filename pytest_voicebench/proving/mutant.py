"""The nouns of a proof: a call as it is to be made, a mutant of the oracle, and a mutant not made with its reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_voicebench.conversation import Conversation

Json = Any
Kind = Literal[
    "no_op",
    "silent_worker",
    "value_retracted",
    "value_near",
    "values_exchanged",
    "argument_omitted",
    "call_dropped",
    "call_doubled",
    "call_invented",
    "call_retracted",
    "order_swapped",
    "mention_unsaid",
    "reply_off_topic",
    "user_interrupted",
    "reply_late",
]

KINDS: Mapping[Kind, str] = {
    "no_op": "nothing done, nothing said",
    "silent_worker": "the right calls, nothing said",
    "value_retracted": "a value that was taken back",
    "value_near": "a value next to the right one",
    "values_exchanged": "two right values exchanged",
    "argument_omitted": "an argument left out",
    "call_dropped": "a call left out",
    "call_doubled": "a call made twice",
    "call_invented": "a call nobody asked for",
    "call_retracted": "a call that was taken back",
    "order_swapped": "two calls in the wrong order",
    "mention_unsaid": "a required fact not said",
    "reply_off_topic": "a reply about nothing",
    "user_interrupted": "the user interrupted where that is forbidden",
    "reply_late": "a reply later than allowed",
}
"""Every kind of mutant in the order in which tables show them, and what it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """A call to be made. `args` may hold references to results of expected calls; `expected` is the index of the
    expected call whose part it plays, None where it plays none."""

    tool: str
    args: Mapping[str, Json]
    expected: int | None = None


def _unchanged(conversation: Conversation) -> Conversation:
    return conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """The oracle with one change: calls in the order in which they are made, and what is done to the voices.

    `what` says the change in words. `argument` names the argument that was changed, `expected` the call (by index), for
    whoever explains why the mutant was not noticed.
    """

    kind: Kind
    what: str
    calls: tuple[PlannedCall, ...]
    voices: Callable[[Conversation], Conversation] = _unchanged
    expected: int | None = None
    argument: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A mutant that was not made, because it would be no fault, or because it cannot be made; `reason` says which."""

    kind: Kind
    what: str
    reason: str


Made = Mutant | Excluded
