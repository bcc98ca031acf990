"""Latencies and pre-emption: when the agent called, spoke and delivered (arXiv 2604.04847, section on latency)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_voicebench.conversation import Call, Conversation, to_seconds
from pytest_voicebench.metrics.turns import spans_in_order, turn_at
from pytest_voicebench.scorecard import LatencyCause, Pair, Times, TurnScore
from pytest_voicebench.stats import mean


def times(
    conversation: Conversation,
    turns: Sequence[TurnScore],
    pairs: Sequence[Pair],
    *,
    late: bool = False,
    late_answers: bool = False,
) -> Times:
    """All that was measured in time. `late`: the user's audio left late, so that no latency can be trusted;
    `late_answers`: some answer of ours did, so that none can that follows one."""
    cause = _blocking_cause(conversation, turns, late)
    depths = [t.interruption_depth_s for t in turns if t.interruption_depth_s is not None]
    replies = {} if cause else {n: t.latency_s for n, t in enumerate(turns) if t.latency_s is not None}
    spoilt = {n for n in replies if late_answers and _follows_an_answer(conversation, n, turns[n])}
    latencies = [latency_s for n, latency_s in replies.items() if n not in spoilt]
    return Times(
        first_response_latency_s=mean(latencies),
        tool_call_latency_s=None if cause else tool_call_latency_s(conversation, turns),
        task_completion_latency_s=None
        if cause or late_answers
        else task_completion_latency_s(conversation, turns, pairs),
        user_end_s=turns[-1].end_s if turns else None,
        reply_start_s=turns[-1].reply_start_s if turns else None,
        interruption_depth_s=depths[0] if depths else None,
        cause=cause or (None if latencies else "late_answers" if spoilt else _missing_cause(turns)),
    )


def _blocking_cause(conversation: Conversation, turns: Sequence[TurnScore], late: bool) -> LatencyCause | None:
    if not turns:
        return "no_user_end"
    if conversation.agent_speech is None:
        return "no_speech_detection"
    return "late_blocks" if late else None


def _missing_cause(turns: Sequence[TurnScore]) -> LatencyCause:
    if any(t.interruptions for t in turns):
        return "interrupted"
    return "censored" if turns[-1].censored else "no_reply"


def _follows_an_answer(conversation: Conversation, place: int, turn: TurnScore) -> bool:
    """Whether the reply to a turn came after the answer to a call that was made in it."""
    answered = [c.answered_ticks for c in conversation.calls if turn_at(conversation.turns, c.at_ticks) == place]
    until_s = turn.reply_start_s
    return until_s is not None and any(at is not None and to_seconds(at) <= until_s for at in answered)


def _timed_calls(conversation: Conversation) -> tuple[Call, ...]:
    """Counted calls whose time is known, by time."""
    return tuple(call for call in conversation.counted_calls if call.timed)


def tool_call_latency_s(conversation: Conversation, turns: Sequence[TurnScore]) -> float | None:
    """Seconds from the user's end to the first counted call, negative before it; None if interrupted or without calls.

    With several turns the end is that of the turn in which the call was made.
    """
    calls = _timed_calls(conversation)
    return _after_user_end_s(conversation, turns, calls[0].at_ticks) if calls else None


def task_completion_latency_s(
    conversation: Conversation, turns: Sequence[TurnScore], pairs: Sequence[Pair]
) -> float | None:
    """Seconds from the user's end to the first speech that can carry the answer.

    That is the first heard span that begins at or after the moment when the result of the last expected call was handed
    over; None if an expected call is unpaired or never answered, if nothing was said then, or after an interruption.
    With several turns the end is that of the turn in which that call was made: the request that it serves.
    """
    done = _last_done(conversation, pairs)
    if done is None or turns[done.turn].interruptions:
        return None
    onsets = [s.start_ticks for s in spans_in_order(conversation) if s.start_ticks >= done.at_ticks]
    return to_seconds(onsets[0] - conversation.turns[done.turn].end_ticks) if onsets else None


class _Done(NamedTuple):
    """When the result of the last expected call was handed over, and the turn in which that call was made."""

    at_ticks: int
    turn: int


def _last_done(conversation: Conversation, pairs: Sequence[Pair]) -> _Done | None:
    """None if not all expected calls are paired and answered, if there are none, or without turns."""
    calls = conversation.counted_calls
    made = [None if p.actual is None else calls[p.actual] for p in pairs]
    answered = [(c.answered_ticks, c.at_ticks) for c in made if c is not None and c.answered_ticks is not None]
    if not answered or len(answered) < len(made):
        return None
    at_ticks, called = max(answered)
    turn = turn_at(conversation.turns, called)
    return None if turn is None else _Done(at_ticks, turn)


def _after_user_end_s(conversation: Conversation, turns: Sequence[TurnScore], moment: int) -> float | None:
    place = turn_at(conversation.turns, moment)
    if place is None or turns[place].interruptions:
        return None
    return to_seconds(moment - conversation.turns[place].end_ticks)


def is_preemptive(conversation: Conversation) -> bool | None:
    """Whether the earliest counted call came before the user's end of its turn; None without a call or a turn."""
    calls = _timed_calls(conversation)
    place = turn_at(conversation.turns, calls[0].at_ticks) if calls else None
    return None if place is None else calls[0].at_ticks < conversation.turns[place].end_ticks


def is_filler(conversation: Conversation, turns: Sequence[TurnScore], pairs: Sequence[Pair]) -> bool | None:
    """Whether the reply began before the result of the last expected call was handed over.

    The reply is that of the turn in which the call was made. None unless that turn is clean (taken, not interrupted)
    and has calls, and where that moment does not exist because an expected call is unpaired.
    """
    done = _last_done(conversation, pairs)
    if done is None or turns[done.turn].interruptions:
        return None
    reply = turns[done.turn].reply_start_s
    return None if reply is None else reply < to_seconds(done.at_ticks)


def spoke_before_first_call(conversation: Conversation) -> bool | None:
    """Whether the agent spoke, greetings aside, before its first counted call; None without a call or a turn."""
    calls, turns = _timed_calls(conversation), conversation.turns
    if not calls or not turns:
        return None
    first = turns[0].start_ticks
    return any(first <= s.start_ticks < calls[0].at_ticks for s in spans_in_order(conversation))
