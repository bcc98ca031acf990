"""Words for an agent's voice where the agent gave none: recognised in its detected speech, and in nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from pytest_voicebench.audio import RATE_HZ, Audio, resample
from pytest_voicebench.conversation import Conversation, Span, Transcribed, Word, to_ticks
from pytest_voicebench.item_speech import speech_alone, speech_by_item
from pytest_voicebench.kept import Kept
from pytest_voicebench.whisper import BUNDLED, WHISPER_HZ, TimedWords, load_recognizer

Recogniser = Callable[[Audio], TimedWords]
"""Writes down a stretch of speech: (word, start, end), in seconds from its start."""

BEAM = 5

_EDGE_TICKS = to_ticks(0.2)
"""How far from speech a recognised word may begin and still belong to it: nine in ten begin within this."""

_STRETCH_GAP_TICKS = to_ticks(1.5)  # over shorter pauses the recogniser sees the whole sentence

_kept: Kept[TimedWords] = Kept()


def with_recognised_words(conversation: Conversation, recognise: Recogniser) -> Conversation:
    """The conversation with texts of source `recognised` for every item of which speech was heard and no text came.

    A text without an item may be that of any sound: beside one, nothing is recognised. Words that do not begin in
    detected speech are dropped, and counted in `words_dropped`. An item that has no word left gets no text. Where
    speech was not detected, or there is no recording, the conversation is as it was.
    """
    if conversation.recording is None or conversation.agent_speech is None:
        return conversation
    given = [t for t in conversation.transcripts if t.source == "provider"]
    texts = {t.item_id for t in given if t.speaker == "agent" and t.text.strip()}
    found: list[Transcribed] = []
    dropped = 0
    for item, speech in speech_by_item(conversation).items():
        if speech and not texts & {item, None}:
            words = _words_around(conversation, speech, recognise)
            kept = within_speech(words, speech)
            dropped += len(words) - len(kept)
            found += [_entry(item, kept)] if kept else []
    ordered = sorted([*given, *found], key=lambda t: t.at_ticks)
    return replace(conversation, transcripts=tuple(ordered), words_dropped=dropped)


def within_speech(words: Iterable[Word], speech: Sequence[Span]) -> tuple[Word, ...]:
    """The words that begin in detected speech, or up to 0.2 s beside it; a word ends with the speech it begins in."""
    kept = []
    for word in words:
        at = word.start_ticks
        homes = [s for s in speech if s.start_ticks - _EDGE_TICKS <= at < s.end_ticks + _EDGE_TICKS]
        if homes:
            home = min(homes, key=lambda s: max(s.start_ticks - at, at - s.end_ticks))
            kept.append(_placed_in(word, home))
    return tuple(kept)


def _placed_in(word: Word, span: Span) -> Word:
    start = min(max(word.start_ticks, span.start_ticks), span.end_ticks)
    return replace(word, start_ticks=start, end_ticks=max(start, min(word.end_ticks, span.end_ticks)))


def whisper_words(audio: Audio) -> TimedWords:
    """What Whisper tiny.en hears; sound that was recognised before costs only its hash. Raises WhisperAbsent."""
    at_16k = resample(audio, WHISPER_HZ).samples

    def recognise() -> TimedWords:
        return load_recognizer(BUNDLED, BEAM).words(at_16k.astype(np.float32) / np.float32(32768))

    return _kept.get(at_16k.tobytes(), recognise)


def _words_around(conversation: Conversation, speech: Sequence[Span], recognise: Recogniser) -> list[Word]:
    """All that the recogniser says it hears, on the timeline."""
    assert conversation.recording is not None
    words = []
    for stretch in _stretches(speech):
        start, audio = speech_alone(conversation.recording.agent, stretch, _EDGE_TICKS)
        for text, a_s, b_s in recognise(audio):
            a, b = (start + round(s * RATE_HZ) for s in (a_s, b_s))
            words.append(Word(text=text, start_ticks=a, end_ticks=b))
    return words


def _stretches(speech: Sequence[Span]) -> list[list[Span]]:
    """Spans that are recognised together."""
    stretches: list[list[Span]] = []
    for span in speech:
        if stretches and span.start_ticks - stretches[-1][-1].end_ticks <= _STRETCH_GAP_TICKS:
            stretches[-1].append(span)
        else:
            stretches.append([span])
    return stretches


def _entry(item: str | None, words: Sequence[Word]) -> Transcribed:
    text = " ".join(word.text for word in words)
    return Transcribed(
        speaker="agent",
        text=text,
        at_ticks=words[0].start_ticks,
        item_id=item,
        words=tuple(words),
        heard_text=text,
        source="recognised",
    )
