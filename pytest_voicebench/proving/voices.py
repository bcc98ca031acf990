"""Mutants of what is heard: facts not said, a reply about nothing, the user interrupted, a late reply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pytest_voicebench.conversation import Conversation, Span, to_ticks
from pytest_voicebench.proving.mutant import Excluded, Made, Mutant
from pytest_voicebench.proving.oracle import Oracle
from pytest_voicebench.proving.wording import folded_words
from pytest_voicebench.scenario import Requirement

SAID_BY_ANOTHER = "another required fact has the same words"

_INTERRUPTION_TICKS = to_ticks(1.2)
_NOTHING = "Well, there you are."


def voice_mutants(oracle: Oracle) -> Iterator[Made]:
    """One for each requirement on what is heard; the reply about nothing where no call is expected."""
    for requirement in oracle.scenario.expect.pass_requires:
        if requirement.name == "mentions":
            yield from _unsaid(oracle)
        elif requirement.name == "no_interruption":
            what = "the user's last words interrupted"
            yield Mutant(kind="user_interrupted", what=what, calls=oracle.calls, voices=interrupting)
        elif requirement.name == "first_response_s":
            yield _late(oracle, requirement)
    if not oracle.calls:
        yield Mutant(kind="reply_off_topic", what=f'"{_NOTHING}" instead of an answer', calls=(), voices=saying([]))


def _unsaid(oracle: Oracle) -> Iterator[Made]:
    mentions = oracle.scenario.expect.mentions
    for fact in mentions:
        rest = [m for m in mentions if m != fact]
        what = f'"{fact}" not said'
        if set(folded_words(fact)) <= {word for m in rest for word in folded_words(m)}:
            yield Excluded(kind="mention_unsaid", what=what, reason=SAID_BY_ANOTHER)
        else:
            yield Mutant(kind="mention_unsaid", what=what, calls=oracle.calls, voices=saying(rest))


def _late(oracle: Oracle, requirement: Requirement) -> Mutant:
    turns = len(oracle.held.turns)
    delay_ticks = to_ticks((requirement.bound or 0.0) * turns + 1.0)  # the latency is a mean over turns

    def late(held: Conversation) -> Conversation:
        end = held.turns[-1].end_ticks
        spans = (_later(s, delay_ticks) if s.start_ticks >= end else s for s in held.agent_speech or ())
        return replace(held, agent_speech=tuple(spans), duration_ticks=held.duration_ticks + delay_ticks)

    return Mutant(kind="reply_late", what=f"not {requirement.text}", calls=oracle.calls, voices=late)


def _later(span: Span, ticks: int) -> Span:
    return Span(start_ticks=span.start_ticks + ticks, end_ticks=span.end_ticks + ticks)


class saying:  # noqa: N801 - reads as what it does: voices=saying([...])
    """The agent's words replaced by a phrase about nothing and these facts."""

    def __init__(self, facts: Iterable[str]) -> None:
        self._text = " ".join([_NOTHING, *facts])

    def __call__(self, held: Conversation) -> Conversation:
        """The conversation with these words in the last reply, and none before."""
        theirs = tuple(t for t in held.transcripts if t.speaker != "agent")
        said = [t for t in held.transcripts if t.speaker == "agent"][-1:]
        return replace(
            held, transcripts=(*theirs, *(replace(t, text=self._text, words=(), heard_text=self._text) for t in said))
        )


def interrupting(held: Conversation) -> Conversation:
    """The conversation with the agent speaking over the end of the user's last turn."""
    end = held.turns[-1].end_ticks
    start = max(held.turns[-1].start_ticks, end - _INTERRUPTION_TICKS // 2)
    span = Span(start_ticks=start, end_ticks=end + _INTERRUPTION_TICKS // 2)
    spans = sorted((*(held.agent_speech or ()), span), key=lambda s: s.start_ticks)
    return replace(held, agent_speech=tuple(spans))
