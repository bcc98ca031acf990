"""Words are found where they were put, doubtful ones are marked, and a wrong text is refused."""

import sys
from itertools import pairwise

import numpy as np
import pytest

from pytest_voicebench.alignment import AlignmentError, align
from pytest_voicebench.audio import RATE_HZ, Audio, Samples, resample
from pytest_voicebench.room_tone import room_tone
from tests.flite import needs_flite, say, uncut, word_starts_s
from tests.voice import silence, spoken

pytestmark = needs_flite

PIECES = ["find me a flight to rome", "no wait", "to milan on the third of june please"]
TEXT = "Find me a flight to Rome ... no wait, to Milan on the third of June, please."


def recording(voice: str, tone_dbfs: float | None = None) -> tuple[Audio, list[tuple[float, float]]]:
    """The pieces with 0.8 s between them, and where each begins and ends, in seconds."""
    parts: list[Samples] = []
    bounds, at = [], 0
    for piece in PIECES:
        sound = say(piece, voice)
        parts += [silence(0.8), sound]
        at += len(silence(0.8))
        bounds.append((at / RATE_HZ, (at + len(sound)) / RATE_HZ))
        at += len(sound)
    samples = np.concatenate([*parts, silence(2.0)])
    if tone_dbfs is not None:
        samples += room_tone(1, tone_dbfs, 0, len(samples))
    return Audio(samples=samples, rate_hz=RATE_HZ), bounds


@pytest.mark.parametrize("voice", ["slt", "rms", "awb"])
@pytest.mark.parametrize("tone_dbfs", [None, -60.0])
def test_the_words_at_the_edges_of_each_piece_are_where_it_was_spliced_in(voice: str, tone_dbfs: float | None) -> None:
    audio, bounds = recording(voice, tone_dbfs)
    found = align(audio, TEXT)
    assert [w for w, _, _ in found.words] == TEXT.replace(",", "").replace(" ...", "").rstrip(".").split()
    for first, last, (start, end) in zip([0, 6, 8], [5, 7, 15], bounds, strict=True):
        assert found.words[first][1] == pytest.approx(start, abs=0.08)
        assert found.words[last][2] == pytest.approx(end, abs=0.08)
    assert found.unsure == ()
    assert found.remarks == ()


@pytest.mark.parametrize("voice", ["slt", "rms", "awb"])
@pytest.mark.parametrize(
    "text",
    [
        "find me a flat in rome on the third of june please",
        "show me laptops under nine hundred dollars with a big screen",
    ],
)
def test_words_begin_where_the_synthesizer_says_they_begin(text: str, voice: str) -> None:
    found = align(Audio(samples=uncut(text, voice), rate_hz=RATE_HZ), text)
    errors = np.array([start for _, start, _ in found.words]) - word_starts_s(text, voice)
    assert abs(np.median(errors)) < 0.015
    assert np.abs(errors).max() < 0.06


def test_words_are_in_order_and_inside_the_speech() -> None:
    audio, _ = recording("slt")
    found = align(audio, TEXT)
    times = [(a, b) for _, a, b in found.words]
    assert all(a < b for a, b in times)
    assert all(before[1] <= after[0] for before, after in pairwise(times))
    assert all(any(s <= a and b <= e for s, e in found.speech) for a, b in times)


def test_the_rate_of_the_recording_does_not_move_words() -> None:
    audio, _ = recording("slt")
    at_24k, at_48k = align(audio, TEXT), align(resample(audio, 48_000), TEXT)
    for one, other in zip(at_24k.words, at_48k.words, strict=True):
        assert one[1:] == pytest.approx(other[1:], abs=0.03)


def test_a_word_that_was_not_said_is_marked() -> None:
    audio, _ = recording("slt")
    found = align(audio, TEXT.replace("Milan", "Kathmandu"))
    place = [w for w, _, _ in found.words].index("Kathmandu")
    assert place in found.unsure
    assert {place - 1, place, place + 1} >= set(found.unsure)  # its neighbours' borders may be off too


def test_a_word_without_a_known_sound_is_placed_and_marked() -> None:
    sound = np.concatenate([silence(0.5), say("find me a flat in blorkston near the park"), silence(0.5)])
    found = align(Audio(samples=sound, rate_hz=RATE_HZ), "find me a flat in Blorkston near the park")
    assert [found.words[i][0] for i in found.unsure] == ["Blorkston"]


@pytest.mark.parametrize(
    "text",
    [
        "I would like to track my order and then cancel it, thank you very much indeed",
        "hello",
        TEXT + " And then tell me everything about every hotel in the middle of the old town, with its prices.",
        "Find me a flight",
    ],
)
def test_a_text_that_is_not_what_is_said_is_refused_in_one_line(text: str) -> None:
    audio, _ = recording("slt")
    with pytest.raises(AlignmentError, match="the text does not fit the recording") as caught:
        align(audio, text)
    assert "\n" not in str(caught.value)


def test_a_phrase_that_the_text_lacks_is_remarked() -> None:
    audio, bounds = recording("slt")
    longer = np.concatenate(
        [audio.samples, say("that is all"), silence(1.0), say("thanks a lot for that"), silence(0.5)]
    )
    found = align(Audio(samples=longer, rate_hz=RATE_HZ), TEXT + " That is all.")
    assert len(found.remarks) == 1
    assert found.remarks[0].startswith("speech without words in the text: ")
    assert found.words[0][1] == pytest.approx(bounds[0][0], abs=0.08)


def test_a_recording_without_speech_is_refused() -> None:
    with pytest.raises(AlignmentError, match="no speech was detected"):
        align(Audio(samples=silence(3.0), rate_hz=RATE_HZ), "hello")


def test_numbers_must_be_spelled_out() -> None:
    with pytest.raises(AlignmentError, match='"3rd" has more than one reading'):
        align(Audio(samples=spoken(1.0), rate_hz=RATE_HZ), "on the 3rd of June")


def test_without_pocketsphinx_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pocketsphinx", None)
    with pytest.raises(AlignmentError, match=r'pip install "pytest-voicebench\[align\]"'):
        align(Audio(samples=spoken(1.0), rate_hz=RATE_HZ), "hello")
