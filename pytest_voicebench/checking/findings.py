"""What a conversation shows about the agent: pure functions from a conversation to lines of the table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pytest_voicebench.checking.scenes import INTO_REPLY_S, SILENCE_S, TOKEN, SceneName
from pytest_voicebench.conversation import Call, Conversation, Span, Utterance, to_seconds, to_ticks
from pytest_voicebench.validity import LATE_ONCE_S, LATE_P99_S, answers_were_late, blocks_were_late

Verdict = Literal["works", "fails", "lacks", "unknown"]

_GOES_ON_TICKS = to_ticks(1.0)
"""Speech that began before a result and goes on so long after it is an answer too."""

STOPS_WITHIN_S = 2.0
"""An agent that is spoken to falls silent within this time, else it does not listen while it speaks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the table. lacks: the agent does without, which is no fault; unknown: nothing could be seen."""

    name: str
    verdict: Verdict
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A scene that was tried: its conversation with speech detected, or why there is none."""

    conversation: Conversation | None = None
    unsupported: str | None = None


def findings(held: Mapping[SceneName, Held]) -> Iterator[Finding]:
    """The table, in its order. Scenes that were not tried leave their lines unknown."""
    for scene in dict.fromkeys(of for _, of, _ in _CHECKS):
        yield from findings_of(scene, held.get(scene))
    yield faults(held)


def findings_of(scene: SceneName, of_scene: Held | None) -> Iterator[Finding]:
    """The lines of the table that one scene fills; unknown where it was not tried."""
    for name, of, see in _CHECKS:
        if of != scene:
            continue
        if of_scene is None:
            yield Finding(name=name, verdict="unknown", told="not tried, since no connection came about")
        elif of_scene.unsupported is not None:
            yield Finding(name=name, verdict="lacks", told=of_scene.unsupported)
        elif of_scene.conversation is not None:
            verdict, told = _absence(of_scene.conversation) or see(of_scene.conversation)
            yield Finding(name=name, verdict=verdict, told=told)


Seen = tuple[Verdict, str]


def _absence(conversation: Conversation) -> Seen | None:
    """What keeps anything from being seen: no connection, or a measurement that broke."""
    problem = next((p for p in conversation.problems if p.kind != "agent"), None)
    return ("fails", f"{problem.kind}: {problem.message}") if problem else None


def faults(held: Mapping[SceneName, Held]) -> Finding:
    """What the agent itself said went wrong, in any of the conversations."""
    conversations = [of_scene.conversation for of_scene in held.values() if of_scene.conversation]
    if all(_absence(conversation) for conversation in conversations):
        return Finding(name="faults", verdict="unknown", told="no conversation was held")
    told = dict.fromkeys(p.message for c in conversations for p in c.problems if p.kind == "agent")
    return Finding(name="faults", verdict="fails" if told else "works", told="; ".join(told) or "none")


def _connected(conversation: Conversation) -> Seen:
    return "works", f"ready; clock {conversation.agent.clock}"


def _paced(conversation: Conversation) -> Seen:
    delivery = conversation.delivery
    if delivery.sent_blocks < delivery.planned_blocks:
        return "fails", f"took {delivery.sent_blocks} of {delivery.planned_blocks} blocks of speech"
    if delivery.late_p99_s is None:
        return "works", "on the virtual clock, every block in time"
    late = f"blocks {1000 * delivery.late_p99_s:.1f} ms late at the 99th percentile"
    if blocks_were_late(conversation):
        most = f"{1000 * (delivery.late_max_s or 0.0):.1f} at most"
        return "fails", f"{late}, {most}; {1000 * LATE_P99_S:.0f} and {1000 * LATE_ONCE_S:.0f} ms are allowed"
    if delivery.read_late_p99_s is not None:
        late += f", messages read {1000 * delivery.read_late_p99_s:.1f} ms late"
    if answers_were_late(conversation):
        answer_ms = 1000 * (delivery.answer_late_max_s or 0.0)
        return (
            "fails",
            f"{late}, so that an answer left {answer_ms:.1f} ms late; {1000 * LATE_ONCE_S:.0f} are allowed",
        )
    return "works", late


def _answered(conversation: Conversation) -> Seen:
    reply = _reply_to(conversation, conversation.turns[-1]) if conversation.turns else None
    if reply is None:
        return "fails", "no speech was heard after the user's end"
    seconds = to_seconds(reply.start_ticks - conversation.turns[-1].end_ticks)
    return "works", f"spoke {seconds:.2f} s after the user's end"


def _tool_round_trip(conversation: Conversation) -> Seen:
    taken = _ran(conversation)
    if not taken:
        return "fails", f"no call ran and was answered; {_why_none(conversation.counted_calls)}"
    at = taken[0].acknowledged_ticks or 0
    if not any(s.start_ticks >= at or s.end_ticks >= at + _GOES_ON_TICKS for s in conversation.agent_speech or ()):
        return "fails", f"{taken[0].name} was answered, and nothing was said after it"
    return "works", f"{taken[0].name} {taken[0].status}, and speech after it"


def _two_calls(conversation: Conversation) -> Seen:
    taken = _ran(conversation)
    if len(taken) < 2:
        some = f"two calls are asked for; ran and answered: {_names(taken)}"
        others = tuple(call for call in conversation.counted_calls if call not in taken)
        return "fails", f"{some}; {_why_none(others)}" if others else some
    together = len({call.response_id for call in taken}) == 1 and taken[0].response_id is not None
    return "works", f"{_names(taken)}, {'in one response' if together else 'one after the other'}"


def _barge_in(conversation: Conversation) -> Seen:
    if len(conversation.turns) < 2:
        return "unknown", "the agent was never heard, so nobody could cut in"
    cut = conversation.turns[1]
    spoken = next((s for s in conversation.agent_speech or () if s.start_ticks < cut.start_ticks < s.end_ticks), None)
    if spoken is None:
        return "unknown", f"the reply was over when the user cut in, {INTO_REPLY_S:g} s after it began to be heard"
    seconds = to_seconds(spoken.end_ticks - cut.start_ticks)
    if seconds > STOPS_WITHIN_S:
        return "fails", f"spoke on for {seconds:.2f} s"
    told = f"fell silent {seconds:.2f} s after the user cut in"
    if any(at >= cut.start_ticks for at in conversation.clears_ticks) or _was_cut(conversation):
        return "works", told
    return "unknown", f"{told}, perhaps at its own end: no sound was cut off; a longer reply would tell"


def _silence(conversation: Conversation) -> Seen:
    verdict, told = _answered(conversation)
    if conversation.ended == "line_closed":
        return "fails", f"the line closed at {to_seconds(conversation.duration_ticks):.1f} s"
    begin = conversation.turns[0].start_ticks if conversation.turns else 0
    early = sum(s.start_ticks < begin for s in conversation.agent_speech or ())
    unasked = f"; spoke unasked {early} times before" if early > 1 else ""
    return verdict, f"after {SILENCE_S:.0f} s of silence {told}{unasked}"


def _injected(conversation: Conversation) -> Seen:
    """Whether what the agent was told silently shows in a call, or in a text of its own, after the user's next turn."""
    if len(conversation.turns) < 2:
        return "unknown", "the agent was not heard to answer, so nothing could be told between two turns"
    since = conversation.turns[1].start_ticks
    called = [c.name for c in conversation.calls if c.at_ticks >= since and _holds_token(_said_in(c))]
    if called:
        return "works", f"what it was told silently is in its call of {called[0]}"
    texts = [t.text for t in conversation.transcripts if t.speaker == "agent" and t.at_ticks >= since]
    if any(_holds_token(text) for text in texts):
        return "works", "what it was told silently is in what it says"
    return "unknown", f"it took the text, and neither calls nor says what it was told ({TOKEN}) after it"


def _said_in(call: Call) -> str:
    return f"{json.dumps(dict(call.arguments))} {call.arguments_text or ''}"


def _holds_token(text: str) -> bool:
    return TOKEN.lower() in "".join(c for c in text.lower() if c.isalnum())


def _usage(conversation: Conversation) -> Seen:
    counts = ", ".join(f"{name} {value:g}" for name, value in sorted(conversation.usage.items()))
    return ("works", counts) if counts else ("lacks", "the agent counts nothing, so nothing can be priced")


def _transcripts(conversation: Conversation) -> Seen:
    speakers = {t.speaker for t in conversation.transcripts if t.text.strip()}
    if not speakers:
        return "lacks", "no texts; --voicebench-words=recognise writes down what is heard"
    return "works", f"texts of {' and '.join(sorted(speakers))}"


def _was_cut(conversation: Conversation) -> bool:
    return any(chunk.heard_ticks < chunk.length_ticks for chunk in conversation.chunks)


def _ran(conversation: Conversation) -> list[Call]:
    """The calls whose tool ran and whose result was taken."""
    calls = conversation.counted_calls
    return [call for call in calls if call.status == "executed" and call.acknowledged_ticks is not None]


def _why_none(calls: tuple[Call, ...]) -> str:
    """What became of calls that did not run, or were not answered."""
    told = []
    for call in calls:
        waits = call.status == "executed" and call.response_id is not None
        end = f" (its result waits for TurnEnd of {call.response_id!r}: none came)" if waits else ""
        told.append(f"{call.name} {call.status}{end}")
    return f"calls: {', '.join(told) or 'none'}"


def _reply_to(conversation: Conversation, turn: Utterance) -> Span | None:
    return next((s for s in conversation.agent_speech or () if s.start_ticks >= turn.end_ticks), None)


def _names(calls: tuple[Call, ...] | list[Call]) -> str:
    return ", ".join(call.name for call in calls) or "none"


_CHECKS: tuple[tuple[str, SceneName, Callable[[Conversation], Seen]], ...] = (
    ("connect", "request", _connected),
    ("pacing", "request", _paced),
    ("one turn", "request", _answered),
    ("tool round trip", "request", _tool_round_trip),
    ("transcripts", "request", _transcripts),
    ("usage", "request", _usage),
    ("reconnect", "two_calls", _connected),
    ("two calls", "two_calls", _two_calls),
    ("barge-in", "barge_in", _barge_in),
    ("long silence", "silence", _silence),
    ("inject", "inject", _injected),
)
WIDTH = max(len(name) for name, _, _ in _CHECKS)
"""Characters of the longest name in the table."""
