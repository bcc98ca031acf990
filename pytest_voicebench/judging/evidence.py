"""From a saved conversation to the records that a judge sees: request, calls with results, and the speech heard."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_voicebench.conversation import Call, Conversation, Transcribed, to_seconds
from pytest_voicebench.judgement import Asked
from pytest_voicebench.phrases import without_control_tokens

Json = Any

_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence that the agent said; `start_s` where its words have times."""

    text: str
    start_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a judge may know about one item. `sentences` is empty where the agent gave no text of its speech."""

    request: tuple[str, ...]
    calls: tuple[Mapping[str, Json], ...]
    sentences: tuple[Sentence, ...]


def evidence_of(conversation: Conversation) -> Evidence:
    """Everything that was said to the agent or heard from it, and every call that counts, in order of time.

    Of a reply that was cut off, only what was heard; provider's text rather than a recogniser's where there are both.
    """
    said = [u.text for u in conversation.utterances if u.kind in ("turn", "backchannel") and u.text]
    return Evidence(
        request=tuple(said),
        calls=tuple(_call(call) for call in conversation.counted_calls),
        sentences=tuple(sentence for text in _agent_texts(conversation) for sentence in sentences_of(text)),
    )


def _agent_texts(conversation: Conversation) -> list[Transcribed]:
    """Of a reply whose text was lost, what was recognised stands in for it, beside the texts of the others."""
    own = [t for t in conversation.transcripts if t.speaker == "agent" and t.text.strip()]
    given = {t.item_id for t in own if t.source == "provider"}
    chosen = [t for t in own if t.source == "provider" or not given & {t.item_id, None}]
    return sorted(chosen, key=lambda t: t.at_ticks)


def _call(call: Call) -> dict[str, Json]:
    arguments: Json = call.arguments if call.arguments_text is None else call.arguments_text
    shown: dict[str, Json] = {"tool": call.name, "arguments": arguments, "status": call.status, "result": call.result}
    return shown | ({"error": call.reason} if call.reason else {})


def sentences_of(transcribed: Transcribed) -> list[Sentence]:
    """The sentences that were heard of one text, control tokens taken out, each with the time of its first word.

    Times need one timed word for each word of the text; otherwise no sentence has one.
    """
    heard = transcribed.text if transcribed.heard_text is None else transcribed.heard_text
    text = without_control_tokens(heard)
    times = [to_seconds(word.start_ticks) for word in transcribed.words]
    timed = len(times) == len(text.split()) and heard == transcribed.text
    found, at = [], 0
    for sentence in filter(None, _SENTENCE_END.split(text)):
        found.append(Sentence(text=sentence, start_s=times[at] if timed else None))
        at += len(sentence.split())
    return found


def record_of(asked: Asked, evidence: Evidence) -> dict[str, Json]:
    """The record of one question."""
    request, calls = list(evidence.request), list(evidence.calls)
    texts = [sentence.text for sentence in evidence.sentences]
    if asked.question == "argument":
        return argument_record(request, asked.tool, asked.argument, asked.expected, asked.actual)
    return (
        response_record(request, calls, texts)
        if asked.question == "response"
        else information_record(request, calls, texts)
    )


def response_record(request: Sequence[str], calls: Sequence[Json], sentences: Sequence[str]) -> dict[str, Json]:
    """What the question `response` is about."""
    return {"user_request": request, "tool_calls": calls, "agent_speech": sentences}


def information_record(request: Sequence[str], calls: Sequence[Json], sentences: Sequence[str]) -> dict[str, Json]:
    """What the question `information` is about."""
    numbered = [{"index": index, "text": text} for index, text in enumerate(sentences)]
    return {"user_request": request, "tool_calls": calls, "agent_sentences": numbered}


def argument_record(
    request: Sequence[str], tool: str | None, argument: str | None, expected: Json, actual: Json
) -> dict[str, Json]:
    """What the question `argument` is about."""
    return {"user_request": request, "tool": tool, "argument": argument, "expected": expected, "actual": actual}
