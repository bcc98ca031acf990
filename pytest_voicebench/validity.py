"""Whether a conversation measured what it meant to measure; all thresholds are here."""

from __future__ import annotations

from pytest_voicebench.conversation import Conversation, Problem, Span, Utterance, to_seconds
from pytest_voicebench.scenario import Scenario

LATE_P99_S = 0.020
"""Blocks later than this at the 99th percentile: latencies of this conversation are not measured."""

LATE_ONCE_S = 0.100
"""One block later than this, which a 99th percentile does not show: the user's end may have been that late, and
latencies of the conversation are not measured. A result or a played position that leaves later than this, because what
it answers waited to be read: what the agent did after that answer is not measured."""

CALL_BEFORE_START_S = 0.5
CALL_AFTER_END_S = 60.0
"""A call outside [-0.5 s, duration + 60 s] was timed by another clock."""

CUT_AFTER_TURN_S = 10.0
"""An unanswered turn needs this much recording after it before it counts against the agent."""


def measurement_problems(scenario: Scenario, conversation: Conversation) -> tuple[Problem, ...]:
    """What makes the item `invalid_measurement`; empty where the scores can be trusted.

    Undelivered user audio (also where the agent hung up: nobody is judged on what they never heard), a barge-in that
    did not overlap heard speech, a recording that we cut before a reply could be demanded, calls timed by another
    clock, no detection.
    """
    found = [
        *_undelivered(conversation),
        *_missed_barge_ins(scenario, conversation),
        *_cut_short(conversation),
        *_foreign_clock(conversation),
    ]
    if conversation.agent_speech is None:
        found.append("the agent's speech was never detected")
    return tuple(Problem(kind="invalid_measurement", message=message) for message in found)


def blocks_were_late(conversation: Conversation) -> bool:
    """Whether the user's audio left so late that latencies cannot be trusted; on the virtual clock
    only where the agent waits inside send()."""
    usually, once = conversation.delivery.late_p99_s, conversation.delivery.late_max_s
    return (usually is not None and usually > LATE_P99_S) or (once is not None and once > LATE_ONCE_S)


def answers_were_late(conversation: Conversation) -> bool:
    """Whether an answer of ours left so late, by our own reading, that times of what followed it cannot be trusted."""
    late = conversation.delivery.answer_late_max_s
    return late is not None and late > LATE_ONCE_S


def _undelivered(conversation: Conversation) -> list[str]:
    delivery = conversation.delivery
    if delivery.sent_blocks >= delivery.planned_blocks:
        return []
    return [f"only {delivery.sent_blocks} of {delivery.planned_blocks} blocks of the user's audio were delivered"]


def _missed_barge_ins(scenario: Scenario, conversation: Conversation) -> list[str]:
    """Steps that were to speak into the agent's voice and met silence. Steps made at run time are not known here."""
    if conversation.agent_speech is None:
        return []
    into = {n for n, step in enumerate(scenario.steps) if step.trigger.kind == "into_agent"}
    return [
        f"the barge-in of step {u.step} at {to_seconds(u.start_ticks):.2f} s met no speech of the agent"
        for u in conversation.utterances
        if u.step in into and not any(_overlap(u, s) for s in conversation.agent_speech)
    ]


def _overlap(utterance: Utterance, span: Span) -> bool:
    """The agent was speaking when the user began."""
    return span.start_ticks < utterance.start_ticks < span.end_ticks


def _cut_short(conversation: Conversation) -> list[str]:
    if conversation.ended != "max_duration" or not conversation.turns:
        return []
    end = conversation.turns[-1].end_ticks
    answered = any(s.end_ticks > end for s in conversation.agent_speech or ())
    left_s = to_seconds(conversation.duration_ticks - end)
    if answered or left_s >= CUT_AFTER_TURN_S:
        return []
    return [f"the conversation reached max_duration_s {left_s:.1f} s after the user's end, before a reply"]


def _foreign_clock(conversation: Conversation) -> list[str]:
    first, last = -CALL_BEFORE_START_S, to_seconds(conversation.duration_ticks) + CALL_AFTER_END_S
    return [
        f"call {c.call_id} at {to_seconds(c.at_ticks):.1f} s lies outside the conversation: another clock"
        for c in conversation.calls
        if not first <= to_seconds(c.at_ticks) <= last
    ]
