"""What the official scripts would read of a conversation: user end, agent start, words, transcript, call log."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pytest_voicebench.conversation import Call, Conversation, Reported, Span, to_seconds, to_ticks

TURN_GAP_S = 2.0
"""The user's speech ends, by the official rule, before the first gap between words that is longer than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfficialRecord:
    """The inputs of the official scores; seconds from the start of the stream, None where nothing is known.

    `words` are (text, start, end); each stretch of the agent's heard speech that has no word times stands for one, with
    an empty text. `calls` is the log, in its order, and `first_call_s` the start of its first, which need not be the
    earliest.
    """

    inputs: Literal["reported", "derived"]
    user_end_s: float | None
    agent_start_s: float | None
    transcript: str
    words: tuple[tuple[str, float | None, float | None], ...]
    calls: tuple[Call, ...]
    first_call_s: float | None


def official_record(conversation: Conversation) -> OfficialRecord:
    """The values that an official result file gave, raw (a user end of 0 too), or else those of our conversation."""
    calls, reported = logged_calls(conversation), conversation.reported
    if reported is not None:
        return _reported(reported, calls)
    start = min((s.start_ticks for s in conversation.agent_speech or ()), default=None)
    end = user_end_ticks(conversation)
    return OfficialRecord(
        inputs="derived",
        user_end_s=None if end is None else to_seconds(end),
        agent_start_s=None if start is None else to_seconds(start),
        transcript=_transcript(conversation),
        words=_words(conversation),
        calls=calls,
        first_call_s=_first_call_s(calls),
    )


def _first_call_s(calls: tuple[Call, ...]) -> float | None:
    return to_seconds(calls[0].at_ticks) if calls else None


def _reported(reported: Reported, calls: tuple[Call, ...]) -> OfficialRecord:
    return OfficialRecord(
        inputs="reported",
        user_end_s=reported.user_end_s,
        agent_start_s=reported.agent_start_s,
        transcript=reported.transcript,
        words=reported.words,
        calls=calls,
        first_call_s=reported.call_starts_s[0] if reported.call_starts_s else _first_call_s(calls),
    )


def logged_calls(conversation: Conversation) -> tuple[Call, ...]:
    """The calls that the official log would hold, in its order.

    There a tool writes its own line when it runs. A rejected call (no such tool, arguments that are no JSON object) and
    a cancelled one never ran, so they cost nothing. What an imported log reported is held, whatever we think of it.
    """
    return tuple(c for c in conversation.calls if c.self_reported or c.status in ("executed", "failed"))


def user_end_ticks(conversation: Conversation) -> int | None:
    """The end of the last word before the first gap of more than 2.0 s; None where the user said nothing.

    The rule takes a long pause inside the request for its end: a known fault. Utterances without word times count by
    their stretches of speech.
    """
    heard = sorted(_user_stretches(conversation), key=lambda s: (s.start_ticks, s.end_ticks))
    for now, following in pairwise(heard):
        if following.start_ticks - now.end_ticks > to_ticks(TURN_GAP_S):
            return now.end_ticks
    return heard[-1].end_ticks if heard else None


def _user_stretches(conversation: Conversation) -> list[Span]:
    found: list[Span] = []
    for said in conversation.utterances:
        if said.words:
            found += [Span(start_ticks=w.start_ticks, end_ticks=w.end_ticks) for w in said.words]
        else:
            found += said.speech or (Span(start_ticks=said.start_ticks, end_ticks=said.end_ticks),)
    return found


def _heard_nothing(conversation: Conversation) -> bool:
    """Speech was looked for and none was there: no recogniser would find words in it."""
    return conversation.agent_speech is not None and not conversation.agent_speech


def _transcript(conversation: Conversation) -> str:
    """What the agent was heard to say, as far as it gave text for it."""
    if _heard_nothing(conversation):
        return ""
    spoken = [t for t in conversation.transcripts if t.speaker == "agent"]
    return " ".join(t.text if t.heard_text is None else t.heard_text for t in spoken).strip()


def _words(conversation: Conversation) -> tuple[tuple[str, float | None, float | None], ...]:
    if _heard_nothing(conversation):
        return ()
    found = [
        (w.start_ticks, w.end_ticks, w.text) for t in conversation.transcripts if t.speaker == "agent" for w in t.words
    ]
    bare = [
        (s.start_ticks, s.end_ticks, "")
        for s in conversation.agent_speech or ()
        if not any(a < s.end_ticks and b > s.start_ticks for a, b, _ in found)
    ]
    return tuple((text, to_seconds(start), to_seconds(end)) for start, end, text in sorted(found + bare))
