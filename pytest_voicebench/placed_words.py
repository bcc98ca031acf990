"""Times for the words of texts that an agent gave without them: laid on its heard voice, which says what was heard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pytest_voicebench.alignment import AlignerAbsent, AlignmentError, Spans, TimedWords, align_beginning, align_words
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.conversation import Conversation, Span, Transcribed, Word, to_seconds, to_ticks
from pytest_voicebench.item_speech import cut_ticks, speech_alone, speech_by_item
from pytest_voicebench.kept import Kept
from pytest_voicebench.phrases import without_control_tokens
from pytest_voicebench.spoken_words import UnspokenError, words_as_read

_CUT_S = 0.05
"""A word that ends less than this before a cut was being said when it came."""

_WORD_S = 1.0

_MARGIN_TICKS = to_ticks(0.3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Words that were heard whole, in seconds from the sound's start; `unsure` holds indexes of doubtful times."""

    words: TimedWords
    unsure: tuple[int, ...] = ()


Placer = Callable[[Audio, str, Spans, float | None], Placed | None]
"""(sound, text, stretches of speech in s, the second of a cut or None) to the words heard whole; None: a misfit."""

_kept: Kept[Placed | None] = Kept()


def with_placed_words(conversation: Conversation, place: Placer) -> Conversation:
    """The conversation with word times for the agent's texts that lack them, wherever they fit its heard voice.

    The `heard_text` of a reply that was cut is then made of the words heard whole, and no longer estimated; of a cut
    reply of which no speech was heard it is empty. A text that does not fit stays as it was. A text without an item is
    placed only where it is the agent's only one and nothing was cut.
    """
    if conversation.recording is None or conversation.agent_speech is None:
        return conversation
    spoken = speech_by_item(conversation)
    texts = tuple(_placed(conversation, entry, spoken, place) for entry in conversation.transcripts)
    return replace(conversation, transcripts=texts)


def _placed(
    conversation: Conversation, entry: Transcribed, spoken: dict[str | None, tuple[Span, ...]], place: Placer
) -> Transcribed:
    if entry.speaker != "agent" or entry.source != "provider" or entry.words or not entry.text.strip():
        return entry
    speech = _all_speech(conversation) if entry.item_id is None else spoken.get(entry.item_id)
    cut = cut_ticks(conversation, entry.item_id)
    if not speech:
        nothing_heard = speech is not None and cut is not None
        return replace(entry, heard_text="", estimated=False) if nothing_heard else entry
    return _with_times(conversation, entry, speech, cut, place)


def _with_times(
    conversation: Conversation, entry: Transcribed, speech: tuple[Span, ...], cut: int | None, place: Placer
) -> Transcribed:
    assert conversation.recording is not None
    start, audio = speech_alone(conversation.recording.agent, speech, _MARGIN_TICKS)
    spans = tuple((to_seconds(s.start_ticks - start), to_seconds(s.end_ticks - start)) for s in speech)
    text = without_control_tokens(entry.text)
    found = place(audio, text, spans, None if cut is None else to_seconds(cut - start))
    if found is None:
        return entry
    words = tuple(
        Word(text=text, start_ticks=start + round(a * RATE_HZ), end_ticks=start + round(b * RATE_HZ))
        for text, a, b in found.words
    )
    heard = entry.text if cut is None else " ".join(word.text for word in words)
    return replace(entry, words=words, unsure=found.unsure, aligned=True, heard_text=heard, estimated=False)


def _all_speech(conversation: Conversation) -> tuple[Span, ...] | None:
    """The speech of a text that names no item; None where that is not certain."""
    texts = [t for t in conversation.transcripts if t.speaker == "agent" and t.text.strip()]
    return conversation.agent_speech if len(texts) == 1 and not conversation.clears_ticks else None


def place_words(audio: Audio, text: str, speech: Spans, cut_s: float | None) -> Placed | None:
    """By forced alignment; what was placed before costs only its hash. Raises AlignerAbsent."""
    content = f"{text}\0{speech}\0{cut_s}\0".encode("utf-8", "replace") + audio.samples.tobytes()
    return _kept.get(content, lambda: _place(audio, text, speech, cut_s))


def _place(audio: Audio, text: str, speech: Spans, cut_s: float | None) -> Placed | None:
    try:
        words = words_as_read(text)
        found = align_words(audio, words, speech) if cut_s is None else align_beginning(audio, words, speech)
    except AlignerAbsent:
        raise  # else no text would fit, and nobody would know why
    except (UnspokenError, AlignmentError):
        return None
    if cut_s is None:
        return Placed(words=found.words, unsure=found.unsure)
    whole = sum(end < cut_s - _CUT_S for _, _, end in found.words)
    if not whole and 0 in found.unsure and speech[-1][1] - speech[0][0] > _WORD_S:
        return None  # one word over all that: some other text is spoken
    return Placed(words=found.words[:whole], unsure=tuple(n for n in found.unsure if n < whole))
