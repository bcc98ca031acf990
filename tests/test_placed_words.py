"""An agent's texts get word times from its voice, and a cut reply says only what was heard of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from builders import expected, heard, scenario
from flite import needs_flite, uncut, word_starts_s
from test_recognised import chunk, talk, track

from pytest_voicebench import placed_words
from pytest_voicebench.alignment import AlignerAbsent
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.conversation import Conversation, to_seconds, to_ticks
from pytest_voicebench.kept import Kept
from pytest_voicebench.placed_words import Placed, place_words, with_placed_words
from pytest_voicebench.scoring import score
from pytest_voicebench.speech import detect_speech

CUT = (to_ticks(14.0),)


def placer(*words: tuple[str, float, float], unsure: tuple[int, ...] = ()):
    """What finds the same words everywhere, and notes what it was asked."""

    def place(audio, text, speech, cut_s):
        place.asked.append((text, speech, cut_s))
        return Placed(words=words, unsure=unsure)

    place.asked = []
    return place


def told(text: str, item: str | None = "a", **changes: object):
    return replace(heard(text, 12.0), item_id=item, **changes)  # type: ignore[arg-type]


def test_a_whole_text_gets_its_words_on_the_timeline_with_the_unsure_ones_marked():
    place = placer(("It", 0.3, 0.5), ("ships.", 0.5, 1.1), unsure=(1,))
    held = talk((12.0, 14.0), transcripts=(told("It ships."),), chunks=(chunk("a", 11.5, 15.0),))
    (entry,) = with_placed_words(held, place).transcripts
    assert [(w.text, to_seconds(w.start_ticks), to_seconds(w.end_ticks)) for w in entry.words] == [
        ("It", 12.0, 12.2),
        ("ships.", 12.2, 12.8),
    ]
    assert (entry.heard_text, entry.aligned, entry.unsure, entry.source) == ("It ships.", True, (1,), "provider")
    assert place.asked == [("It ships.", ((0.3, 2.3),), None)]


def test_the_heard_text_of_a_cut_reply_is_made_of_the_words_that_were_heard():
    """G3."""
    place = placer(("Your", 0.3, 0.6))
    cut = told("Your total is 90 dollars", heard_text="Your total is", estimated=True)
    held = talk((12.0, 14.0), transcripts=(cut,), chunks=(chunk("a", 12.0, 15.0, 2.0),), clears_ticks=CUT)
    (entry,) = with_placed_words(held, place).transcripts
    assert (entry.heard_text, entry.estimated, entry.text) == ("Your", False, "Your total is 90 dollars")
    assert place.asked == [("Your total is 90 dollars", ((0.3, 2.3),), 2.3)]


def test_of_a_cut_reply_without_heard_speech_nothing_was_said():
    cut = told("Your total", heard_text="Your", estimated=True)
    held = talk((20.0, 21.0), transcripts=(cut,), chunks=(chunk("a", 13.0, 15.0, 1.0),), clears_ticks=CUT)
    (entry,) = with_placed_words(held, placer()).transcripts
    assert (entry.heard_text, entry.estimated, entry.words) == ("", False, ())


def test_a_text_that_does_not_fit_stays_as_it_was():
    cut = told("Your total", heard_text="Your", estimated=True)
    held = talk((12.0, 14.0), transcripts=(cut,), chunks=(chunk("a", 12.0, 15.0, 2.0),), clears_ticks=CUT)
    assert with_placed_words(held, lambda *_: None) == held


@pytest.mark.parametrize(
    ("texts", "clears", "asked"),
    [((told("One.", None),), (), 1), ((told("One.", None),), CUT, 0), ((told("One.", None), told("Two.")), (), 0)],
)
def test_a_text_of_no_item_is_placed_only_where_it_can_be_of_no_other_sound(texts, clears, asked):
    place = placer(("One.", 0.3, 0.5))
    with_placed_words(talk((12.0, 14.0), transcripts=texts, clears_ticks=clears), place)
    assert len(place.asked) == asked


@pytest.mark.parametrize("changes", [{"agent_speech": None}, {"recording": None}])
def test_without_sound_or_detection_nothing_changes(changes):
    held = talk((12.0, 14.0), transcripts=(told("One.", None),), **changes)
    assert with_placed_words(held, placer(("One.", 0.3, 0.5))) == held


SPOKEN = "your total is ninety dollars and the order will ship on the third of june"
WRITTEN = "Your total is $90, and the order will ship on the 3rd of June."


def cut_reply(spoken: str, voice: str, after_s: float, text: str, **changes: object) -> Conversation:
    """A reply of flite's that was cut so long after it began, and the text that its agent gave."""
    sound = uncut(spoken, voice)
    played = sound[: round(after_s * 24000)]
    item = replace(chunk("a", 12.0, 13.0), length_ticks=len(sound), heard_ticks=len(played))
    entry = told(text, heard_text=text, estimated=True)
    held = replace(talk(), recording=track(reply=(12.0, played)), transcripts=(entry,), chunks=(item,), **changes)  # type: ignore[arg-type]
    return detect_speech(held)


@needs_flite
@pytest.mark.parametrize("voice", ["slt", "rms", "awb"])
@pytest.mark.parametrize("words", [1, 2, 3, 5, 7, 10])
def test_real_replies_say_up_to_the_last_word_before_the_cut(words, voice):
    """G3: cut in the middle of the next word."""
    pytest.importorskip("pocketsphinx")
    starts = [*word_starts_s(SPOKEN, voice), len(uncut(SPOKEN, voice)) / 24000]
    held = cut_reply(SPOKEN, voice, (starts[words] + starts[words + 1]) / 2, WRITTEN, clears_ticks=CUT)
    (entry,) = with_placed_words(held, place_words).transcripts
    written = WRITTEN.split()
    written.insert(4, "")  # "$90," is two words when spoken
    assert entry.heard_text.split() == [word for word in written[:words] if word]
    assert not entry.estimated


@needs_flite
def test_what_nobody_heard_is_not_mentioned():
    """G3."""
    pytest.importorskip("pocketsphinx")
    cut_s = word_starts_s(SPOKEN, "slt")[1] + 0.1
    held = cut_reply(SPOKEN, "slt", cut_s, "Your total is 90 dollars", clears_ticks=CUT)
    wanted = replace(scenario(expected("ping")), expect=replace(scenario().expect, mentions=("90 dollars",)))
    assert score(wanted, held).diagnostics["mentions"] is True  # the estimate, as this agent's text was made up here
    placed = with_placed_words(held, place_words)
    assert placed.transcripts[0].heard_text == "Your"
    assert score(wanted, placed).diagnostics["mentions"] is False


@needs_flite
def test_a_whole_reply_has_its_words_where_the_synthesizer_says():
    pytest.importorskip("pocketsphinx")
    held = cut_reply(SPOKEN, "slt", 60.0, WRITTEN)
    (entry,) = with_placed_words(held, place_words).transcripts
    assert [w.text for w in entry.words] == WRITTEN.split()
    starts = word_starts_s(SPOKEN, "slt")
    del starts[4]  # "dollars" belongs to "$90,"
    errors = np.array([to_seconds(w.start_ticks) - 12.0 for w in entry.words]) - starts
    assert np.abs(errors).max() < 0.08
    assert (entry.heard_text, entry.estimated) == (WRITTEN, False)


@needs_flite
@pytest.mark.parametrize("text", ["I have cancelled the reservation that you made for the hotel.", "大きい", "..."])
def test_another_text_is_not_laid_on_a_voice(text):
    pytest.importorskip("pocketsphinx")
    for after_s in (2.0, 60.0):
        held = cut_reply(SPOKEN, "slt", after_s, text, clears_ticks=CUT)
        assert with_placed_words(held, place_words) == held


@pytest.mark.parametrize(
    ("cut_s", "unsure", "expected"),
    [
        (2.0, (1, 2), (("one", "two"), (1,))),  # what was not heard whole has no time to doubt
        (0.3, (0,), None),  # one doubtful word over two seconds of speech: another text
        (0.3, (1,), ((), ())),  # a sure first word that was cut
    ],
)
def test_of_a_cut_text_the_words_heard_whole_are_kept_with_their_doubts(
    monkeypatch: pytest.MonkeyPatch, cut_s: float, unsure: tuple[int, ...], expected: object
) -> None:
    words = (("one", 0.0, 0.4), ("two", 0.5, 0.9), ("three", 1.9, 2.4))
    found = SimpleNamespace(words=words, unsure=unsure)
    monkeypatch.setattr(placed_words, "align_beginning", lambda *_: found)
    monkeypatch.setattr(placed_words, "_kept", Kept())
    audio = Audio(samples=np.zeros(100, np.int16), rate_hz=RATE_HZ)
    placed = place_words(audio, "one two three", ((0.0, 2.0),), cut_s)
    assert (placed and (tuple(w for w, _, _ in placed.words), placed.unsure)) == expected


@pytest.mark.parametrize("cut_s", [None, 1.0])
def test_without_an_aligner_nobody_says_that_a_text_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, cut_s: float | None
) -> None:
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    monkeypatch.setattr(placed_words, "_kept", Kept())
    audio = Audio(samples=np.full(RATE_HZ, 1000, np.int16), rate_hz=RATE_HZ)
    with pytest.raises(AlignerAbsent, match="pip install"):
        place_words(audio, "one two", ((0.0, 1.0),), cut_s)
