"""Word times of a recording whose text is known, by forced alignment (extra `align`: pocketsphinx)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_voicebench.audio import RATE_HZ, Audio, resample
from pytest_voicebench.speech import detect_user_speech
from pytest_voicebench.spoken_words import SpokenWord, UnspokenError, pronunciation, spoken_words

_ALIGNER_HZ = 16_000
_FRAME_S = 0.01
_MARGIN_S = 0.3

# Mean log score of a word's frames, where 0 is the best that any sound could get there. Measured on three real
# speakers and three synthetic voices: medians of right texts -0.9 to -2.2, of wrong ones -3.9 and lower.
_WORD_FITS = -3.5
_TEXT_FITS = -3.0
_LEAST_SCORE = 1e-300

_LONGEST_WORD_S = 1.5
_UNHEARD_S = 1.0
_UNHEARD_SHARE = 0.25

TimedWords = tuple[tuple[str, float, float], ...]
Spans = Sequence[tuple[float, float]]
"""Stretches of time in seconds, in order."""


class AlignmentError(ValueError):
    """A text cannot be laid on a recording; the message is one line that says why and what to do."""


class AlignerAbsent(AlignmentError):  # noqa: N818 - says what is the case
    """No text can be laid on any recording: pocketsphinx is not installed, or cannot be loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Where speech and words are, in seconds from the recording's start.

    `unsure` holds indexes of words whose times should be checked: their sounds do not fit, their pronunciation was
    guessed, they are strangely long, or no speech was detected where they lie. `remarks` are lines for people.
    """

    speech: tuple[tuple[float, float], ...]
    words: TimedWords
    unsure: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()


def align(audio: Audio, text: str) -> Alignment:
    """Times for every word of an English text in a recording of it.

    Starts come from pocketsphinx (error: median 0, 90 % within 30 ms on clean speech); a word's end is not later than
    the end of the speech span that holds it, which energy gives. Numbers must be spelled out. Raises AlignmentError:
    pocketsphinx is not installed, no speech, a word that cannot be read, or a text that is not what is said.
    """
    try:
        words = spoken_words(text)
    except UnspokenError as error:
        raise AlignmentError(f"text: {error}") from None
    _decoder()  # says what is missing before anything is detected
    speech = tuple((s.start_ticks / RATE_HZ, s.end_ticks / RATE_HZ) for s in detect_user_speech(audio))
    if not speech:
        raise AlignmentError("no speech was detected in the recording; listen to it, or choose another channel")
    return align_words(audio, words, speech)


def align_words(audio: Audio, words: Sequence[SpokenWord], speech: Spans) -> Alignment:
    """As `align`, where the words and the stretches of speech (at least one, in seconds) are known."""
    return _alignment(audio, words, speech, fitting=len(words))


def align_beginning(audio: Audio, words: Sequence[SpokenWord], speech: Spans) -> Alignment:
    """As `align_words`, for a recording that ends somewhere in the text; what follows has no place in the answer.

    The last word may be cut off. One of several parts ("1,450") is left out if not all of them were said.
    """
    begun = _begun(audio, words, speech)
    if not begun:
        raise AlignmentError(_misfit("not even its first word is found"))
    found = _alignment(audio, begun, speech, fitting=len(begun) - 1)
    said = len(begun) - (begun[-1] != words[len(begun) - 1])
    return replace(found, words=found.words[:said], unsure=tuple(n for n in found.unsure if n < said))


def _alignment(audio: Audio, words: Sequence[SpokenWord], speech: Spans, *, fitting: int) -> Alignment:
    """`fitting` is how many of the words, from the first on, must fit the sound on the whole."""
    decoder = _decoder()
    guessed = _taught(decoder, words)
    found = list(_per_word(words, _aligned_parts(decoder, audio, speech, words)))
    scores = [score for _, _, score in found]
    if fitting and statistics.median(scores[:fitting]) < _TEXT_FITS:
        raise AlignmentError(_misfit("its sounds are others"))
    timed = tuple((word.text, *_within(speech, a, b)) for word, (a, b, _) in zip(words, found, strict=True))
    unsure = [i for i, score in enumerate(scores) if score < _WORD_FITS or _is_odd(timed[i], speech)]
    return Alignment(
        speech=tuple(speech),
        words=timed,
        unsure=tuple(sorted({*unsure, *guessed})),
        remarks=_unheard(speech, timed),
    )


def _begun(audio: Audio, words: Sequence[SpokenWord], speech: Spans) -> tuple[SpokenWord, ...]:
    """The words of a text that are in a recording which ends somewhere in it, none where not even the first is there.

    The last one may be cut off; where it has several parts, it comes back with those that are there.
    """
    decoder = _decoder()
    _taught(decoder, words)
    parts = [part for word in words for part in word.parts]
    ahead = [(n, n + 1, 1.0, part) for n, part in enumerate(parts)]
    endings = [(n, len(parts), 1.0) for n in range(len(parts))]
    decoder.add_fsg("beginning", decoder.create_fsg("beginning", 0, len(parts), ahead + endings))
    decoder.activate_search("beginning")
    _decode(decoder, audio, speech)
    left = sum(s.word[0] not in "<[+(" for s in decoder.seg()) if decoder.hyp() is not None else 0
    begun = []
    for word in words:
        if left > 0:
            begun.append(replace(word, parts=word.parts[:left]))
        left -= len(word.parts)
    return tuple(begun)


def _decoder() -> Any:
    try:
        import pocketsphinx
    except ImportError:
        raise AlignerAbsent('alignment needs pocketsphinx: pip install "pytest-voicebench[align]"') from None
    return pocketsphinx.Decoder(lm=None, loglevel="FATAL")


def _taught(decoder: Any, words: Sequence[SpokenWord]) -> list[int]:
    """Give the decoder the words it lacks; returns the indexes of words with a guessed pronunciation."""
    guessed = []
    for index, word in enumerate(words):
        for part in word.parts:
            phones, is_known = pronunciation(part, decoder.lookup_word)
            if decoder.lookup_word(part) is None:
                decoder.add_word(part, phones, True)
            if not is_known:
                guessed.append(index)
    return guessed


def _aligned_parts(
    decoder: Any, audio: Audio, speech: Spans, words: Sequence[SpokenWord]
) -> list[tuple[float, float, float]]:
    """Start, end and score of every part of every word."""
    decoder.set_align_text(" ".join(part for word in words for part in word.parts))
    first_s = _decode(decoder, audio, speech)
    if decoder.hyp() is None:
        raise AlignmentError(_misfit("its words, the last ones above all, are not found in this order"))
    return [
        (first_s + s.start_frame * _FRAME_S, first_s + (s.end_frame + 1) * _FRAME_S, _score(s))
        for s in decoder.seg()
        if s.word[0] not in "<[+"
    ]


def _decode(decoder: Any, audio: Audio, speech: Spans) -> float:
    """Let the decoder hear all from the first speech to the last; gives the second at which that begins."""
    first_s = max(speech[0][0] - _MARGIN_S, 0.0)
    samples = resample(audio, _ALIGNER_HZ).samples
    heard = samples[round(first_s * _ALIGNER_HZ) : round((speech[-1][1] + _MARGIN_S) * _ALIGNER_HZ)]
    decoder.start_utt()
    decoder.process_raw(heard.astype("<i2").tobytes(), full_utt=True)
    decoder.end_utt()
    return first_s


def _score(segment: Any) -> float:
    frames: int = segment.end_frame - segment.start_frame + 1
    return math.log(max(segment.ascore, _LEAST_SCORE)) / frames


def _per_word(
    words: Sequence[SpokenWord], parts: Sequence[tuple[float, float, float]]
) -> Iterator[tuple[float, float, float]]:
    """Start of the first part, end of the last, worst score, for each word."""
    if len(parts) != sum(len(word.parts) for word in words):
        raise AlignmentError(_misfit("some of its words were not found"))
    position = 0
    for word in words:
        own = parts[position : position + len(word.parts)]
        position += len(word.parts)
        yield own[0][0], own[-1][1], min(score for _, _, score in own)


def _within(speech: Spans, start: float, end: float) -> tuple[float, float]:
    """The word's bounds, cut to the speech span that holds most of it; unchanged where none does."""
    shared, first, last = max((min(end, b) - max(start, a), a, b) for a, b in speech)
    return (max(start, first), min(end, last)) if shared > 0 else (start, end)


def _is_odd(word: tuple[str, float, float], speech: Spans) -> bool:
    _, start, end = word
    return end - start > _LONGEST_WORD_S or not any(a <= start and end <= b for a, b in speech)


def _unheard(speech: Spans, words: TimedWords) -> tuple[str, ...]:
    """Remarks on stretches of speech without words; raises AlignmentError where they are a quarter of all speech."""
    bare = [gap for span in speech for gap in _gaps(span, words) if gap[1] - gap[0] >= _UNHEARD_S]
    if sum(b - a for a, b in bare) > _UNHEARD_SHARE * sum(b - a for a, b in speech):
        places = ", ".join(f"{a:.2f} to {b:.2f} s" for a, b in bare)
        raise AlignmentError(_misfit(f"it has no words for the speech at {places}"))
    return tuple(f"speech without words in the text: {a:.2f} to {b:.2f} s" for a, b in bare)


def _gaps(span: tuple[float, float], words: TimedWords) -> Iterator[tuple[float, float]]:
    """The parts of a span that no word covers."""
    at = span[0]
    for _, start, end in words:
        if start < span[1] and end > span[0]:
            yield at, start
            at = max(at, end)
    yield at, span[1]


def _misfit(why: str) -> str:
    return f"the text does not fit the recording: {why}; write every word that is said, um and uh too"
