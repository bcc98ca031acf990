"""A saved conversation as what the page draws: voices, words, calls and the moments worth seeing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from pytest_voicebench.conversation import Call, Conversation, Recording, Span, Transcribed, Word, to_seconds
from pytest_voicebench.conversation import Utterance as Said
from pytest_voicebench.metrics.turns import backchannel_spans, interrupting_spans
from pytest_voicebench.page.data import Evidence, Mark, Stretch, Text, ToolCall, Utterance, Words
from pytest_voicebench.page.waveform import outline
from pytest_voicebench.scorecard import Scorecard
from pytest_voicebench.writers.plain_text import one_line, value_text
from pytest_voicebench.writers.rollback_text import retraction_text

Json = Any

LONGEST_VALUE = 400
LONGEST_RESULT = 1500
LONGEST_TEXT = 4000
MOST_WORDS = 600
MOST_CALLS = 60
MOST_SPANS = 300


def evidence_of(conversation: Conversation, card: Scorecard | None, recording: Recording | None) -> Evidence:
    """What there is to draw. Texts and lists of an unreasonable length are cut, so that no item fills the page."""
    return Evidence(
        duration=_seconds(conversation.duration_ticks),
        sound=0.0 if recording is None else _seconds(len(recording.user)),
        user_outline="" if recording is None else outline(recording.user),
        agent_outline="" if recording is None else outline(recording.agent),
        utterances=tuple(map(_utterance, conversation.utterances)),
        agent_speech=_stretches(conversation.agent_speech or ()),
        texts=_texts(conversation),
        calls=_calls(conversation, card),
        marks=tuple(sorted(_marks(conversation, card), key=lambda mark: mark.at)),
    )


def arguments_text(arguments: Mapping[str, Json]) -> str:
    """`destination="Milan", date="2026-06-03"`."""
    text = ", ".join(f"{name}={value_text(value, LONGEST_VALUE)}" for name, value in arguments.items())
    return one_line(text, LONGEST_RESULT)


def _seconds(ticks: int) -> float:
    """To the millisecond, which is finer than any eye."""
    return round(to_seconds(ticks), 3)


def _stretches(spans: Iterable[Span]) -> tuple[Stretch, ...]:
    return tuple((_seconds(s.start_ticks), _seconds(s.end_ticks)) for s in spans)[:MOST_SPANS]


def _words(words: tuple[Word, ...]) -> Words | None:
    if not words:
        return None
    texts, places, before = [], [], 0
    for word in words[:MOST_WORDS]:
        start, end = round(100 * to_seconds(word.start_ticks)), round(100 * to_seconds(word.end_ticks))
        texts.append(one_line(word.text, 80).replace(" ", "\xa0") or "-")
        places += [start - before, end - start]
        before = end
    return Words(text=" ".join(texts), places=tuple(places))


def _utterance(said: Said) -> Utterance:
    return Utterance(
        kind=said.kind,
        text=one_line(said.text, LONGEST_TEXT),
        start=_seconds(said.start_ticks),
        end=_seconds(said.end_ticks),
        speech=_stretches(said.speech),
        words=_words(said.words),
    )


def _texts(conversation: Conversation) -> tuple[Text, ...]:
    said = {utterance.text for utterance in conversation.utterances}
    return tuple(_text(given, said) for given in conversation.transcripts[:MOST_WORDS])


def _text(given: Transcribed, said: Set[str]) -> Text:
    heard = None if given.heard_text in (None, given.text) else given.heard_text
    verbatim = given.speaker == "user" and given.text in said
    return Text(
        speaker=given.speaker,
        at=_seconds(given.at_ticks),
        source=given.source,
        text="" if verbatim else one_line(given.text, LONGEST_TEXT),
        verbatim=verbatim,
        heard=None if heard is None else one_line(heard, LONGEST_TEXT),
        words=_words(given.words),
    )


def _calls(conversation: Conversation, card: Scorecard | None) -> tuple[ToolCall, ...]:
    """The counted calls, whose places are those that pairs name, then the cancelled ones."""
    counted = conversation.counted_calls
    cancelled = [call for call in conversation.calls if call.status == "cancelled"]
    pairs = {} if card is None else {p.actual: n for n, p in enumerate(card.pairs) if p.actual is not None}
    found = []
    for index, call in enumerate((*counted[:MOST_CALLS], *cancelled[:MOST_CALLS])):
        pair = pairs.get(index) if call.status != "cancelled" else None
        premature = card is not None and call.status != "cancelled" and index in card.premature_commits
        found.append(_call(call, pair, _role(call, pair, card), premature=premature))
    return tuple(found)


def _role(call: Call, pair: int | None, card: Scorecard | None) -> str:
    if call.status == "cancelled":
        return "cancelled"
    if card is None:
        return "unjudged"
    if pair is None:
        return "surplus"
    return "ok" if card.pairs[pair].matches else "wrong"


def _call(call: Call, pair: int | None, role: str, *, premature: bool) -> ToolCall:
    until = call.answered_ticks if call.answered_ticks is not None else call.finished_ticks
    unread = None if call.arguments_text is None else one_line(call.arguments_text, LONGEST_RESULT)
    return ToolCall(
        name=call.name,
        arguments=arguments_text(call.arguments) if call.arguments or unread is None else unread,
        result=None if call.result is None else value_text(call.result, LONGEST_RESULT),
        at=_seconds(call.at_ticks),
        until=None if until is None else _seconds(until),
        untimed=not call.timed,
        status=call.status,
        reason=None if call.reason is None else one_line(call.reason, LONGEST_RESULT),
        role=role,
        pair=pair,
        premature=premature,
    )


def _marks(conversation: Conversation, card: Scorecard | None) -> Iterator[Mark]:
    for turn in conversation.turns:
        yield Mark(kind="user_end", at=_seconds(turn.end_ticks), text="end of the user's speech")
    for span in interrupting_spans(conversation):
        yield Mark(kind="interruption", at=_seconds(span.start_ticks), text="the agent interrupts")
    for span in backchannel_spans(conversation):
        yield Mark(kind="backchannel", at=_seconds(span.start_ticks), text="backchannel of the agent")
    for ticks in conversation.clears_ticks[:MOST_SPANS]:
        yield Mark(kind="clear", at=_seconds(ticks), text="the agent's sound was cut off")
    if card is None:
        return
    for entry in card.rollback:
        if entry.heard_s is not None:
            yield Mark(kind="retraction", at=round(entry.heard_s, 3), text=retraction_text(entry))
    if card.manners.filler and card.times.reply_start_s is not None:
        yield Mark(kind="filler", at=round(card.times.reply_start_s, 3), text="filler: a reply before the answer")
