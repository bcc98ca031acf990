"""Who spoke when: greetings, backchannels, interruptions and replies, turn by turn."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.conversation import Conversation, Span, Utterance, to_seconds, to_ticks
from pytest_voicebench.scorecard import TurnScore

BACKCHANNEL_S = 1.0
"""Agent speech inside a user turn is a backchannel if it is shorter than this and over before the turn is."""

RESPONSE_TIMEOUT_S = 10.0
"""A turn without a reply is censored, not unanswered, if the conversation ends within this time after it."""


def spans_in_order(conversation: Conversation) -> tuple[Span, ...]:
    """The agent's speech as heard, by start; empty where it was never detected."""
    return tuple(sorted(conversation.agent_speech or (), key=lambda s: (s.start_ticks, s.end_ticks)))


def greetings(conversation: Conversation) -> int:
    """Number of agent spans that start before the user's first word."""
    turns = conversation.turns
    if not turns:
        return 0
    return sum(span.start_ticks < turns[0].start_ticks for span in spans_in_order(conversation))


def turn_scores(conversation: Conversation) -> tuple[TurnScore, ...]:
    """One entry for each turn of the user, in order; agent spans before the user's first word belong to none.

    An agent span that starts inside a turn, pauses included, is a backchannel or an interruption. The reply is the
    first span that starts at or after the turn's end and before the next turn.
    """
    spans, turns = spans_in_order(conversation), conversation.turns
    untils: list[int | None] = [t.start_ticks for t in turns[1:]]
    return tuple(
        _score_turn(turn, until, spans, conversation.duration_ticks)
        for turn, until in zip(turns, [*untils, None], strict=False)  # no turns: nothing to pair
    )


def interrupting_spans(conversation: Conversation) -> tuple[Span, ...]:
    """Agent spans that start inside a turn of the user and are no backchannels, in order."""
    spans = spans_in_order(conversation)
    return tuple(s for turn in conversation.turns for s in _inside(turn, spans) if not _is_backchannel(s, turn))


def backchannel_spans(conversation: Conversation) -> tuple[Span, ...]:
    """Agent spans that start inside a turn of the user and are backchannels, in order."""
    spans = spans_in_order(conversation)
    return tuple(s for turn in conversation.turns for s in _inside(turn, spans) if _is_backchannel(s, turn))


def _inside(turn: Utterance, spans: Sequence[Span]) -> list[Span]:
    return [s for s in spans if turn.start_ticks <= s.start_ticks < turn.end_ticks]


def _score_turn(turn: Utterance, until: int | None, spans: Sequence[Span], duration: int) -> TurnScore:
    inside = _inside(turn, spans)
    backchannels = [s for s in inside if _is_backchannel(s, turn)]
    interruptions = [s for s in inside if s not in backchannels]
    after = [
        s.start_ticks for s in spans if turn.end_ticks <= s.start_ticks and (until is None or s.start_ticks < until)
    ]
    reply = after[0] if after else None
    unanswered = reply is None and not interruptions and until is None
    return TurnScore(
        step=turn.step,
        start_s=to_seconds(turn.start_ticks),
        end_s=to_seconds(turn.end_ticks),
        interruptions=len(interruptions),
        interruptions_in_pause=sum(_in_pause(s, turn) for s in interruptions),
        backchannels=len(backchannels),
        interruption_depth_s=to_seconds(turn.end_ticks - interruptions[0].start_ticks) if interruptions else None,
        reply_start_s=None if reply is None else to_seconds(reply),
        latency_s=None if reply is None or interruptions else to_seconds(reply - turn.end_ticks),
        censored=unanswered and duration - turn.end_ticks < to_ticks(RESPONSE_TIMEOUT_S),
    )


def _is_backchannel(span: Span, turn: Utterance) -> bool:
    return span.end_ticks - span.start_ticks < to_ticks(BACKCHANNEL_S) and span.end_ticks < turn.end_ticks


def _in_pause(span: Span, turn: Utterance) -> bool:
    """Whether agent speech began between the stretches of the user's; False where the timing file gave none."""
    return bool(turn.speech) and not any(s.start_ticks <= span.start_ticks < s.end_ticks for s in turn.speech)


def turn_at(turns: Sequence[Utterance], at_ticks: int) -> int | None:
    """Index of the turn that a moment belongs to: the last that began by then, else the first; None without turns."""
    began = [n for n, turn in enumerate(turns) if turn.start_ticks <= at_ticks]
    return began[-1] if began else (0 if turns else None)
