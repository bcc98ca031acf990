"""Recordings from marked text: what the markup means, how pieces are joined, and what the command says."""

from __future__ import annotations

import io
import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_voicebench.commands import synthesize
from pytest_voicebench.synthesis import engines, recording_files, splice
from pytest_voicebench.synthesis.engines import EngineError, Spoken, Voice
from pytest_voicebench.synthesis.festival import festival_script, read_festival_times
from pytest_voicebench.synthesis.flite import flite_arguments, flite_word_times
from pytest_voicebench.synthesis.markup import CUT_PAUSE_S, SENTENCE_PAUSE_S, MarkupError, pieces, transcript
from pytest_voicebench.synthesis.recording_files import describe, with_serial
from pytest_voicebench.synthesis.script import ScriptError, read_script
from pytest_voicebench.timing_file import read_timing

TONE = Voice(engine="tone", name="beep")
WORD_S = 0.2
needs_flite = pytest.mark.skipif(shutil.which("flite") is None, reason="flite is not installed (apt-get install flite)")


def beeps(words: tuple[str, ...], voice: Voice, speed: float = 1.0) -> Spoken:
    """Each word 0.2 s of a tone, without a gap, 0.1 s of silence around them: an engine that needs nothing."""
    rate_hz = 16_000
    length = round(len(words) * WORD_S * rate_hz)
    wave = np.concatenate([np.zeros(1600), 0.3 * np.sin(np.arange(length) * 0.3), np.zeros(1600)])
    times = tuple((0.1 + at * WORD_S, 0.1 + (at + 1) * WORD_S) for at in range(len(words)))
    return Spoken(wave=wave, rate_hz=rate_hz, word_times=times)


@pytest.fixture
def beeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splice, "speak", beeps)


# -- markup


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Fly to Bos{ton}- [0.3] to {A=ay}, [0.5] Dallas.", "Fly to Bos- to A, Dallas."),
        ("[0.5] Hello [1] there", "Hello there"),
        ('She said "{W=double you}".', 'She said "W".'),
        ("no markup at all", "no markup at all"),
    ],
)
def test_the_transcript_is_the_text_without_its_markup(text: str, plain: str) -> None:
    assert transcript(text) == plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two", [("one two", 0.0, 1.0)]),
        ("one [0.8] two", [("one", 0.8, 1.0), ("two", 0.0, 1.0)]),
        ("One. Two", [("One.", SENTENCE_PAUSE_S, 1.0), ("Two", 0.0, 1.0)]),
        ("One. [1.2] Two", [("One.", 1.2, 1.0), ("Two", 0.0, 1.0)]),
        ("to Bos{ton}- to", [("to", 0.0, 1.0), ("Boston", CUT_PAUSE_S, 0.5), ("to", 0.0, 1.0)]),
        ("Bos{ton}- [0.3] to", [("Boston", 0.3, 0.5), ("to", 0.0, 1.0)]),
        ("[0.9] one", [("one", 0.0, 1.0)]),
    ],
)
def test_pieces_end_at_pauses_sentences_and_cut_words(text: str, expected: list[tuple[str, float, float]]) -> None:
    found = [(" ".join(w.spoken for w in piece.words), piece.pause_s, piece.kept) for piece in pieces(text)]
    assert found == expected


@pytest.mark.parametrize(
    "text", ["a [b] c", "a [99] c", "a [-1] c", "a {b} c", "a {b=c c", "{a=}", "a -- b", "", "[1.0]"]
)
def test_markup_that_means_nothing_is_an_error(text: str) -> None:
    with pytest.raises(MarkupError):
        pieces(text)


WORDS = st.lists(st.from_regex(r"[a-z]{1,8}[.,?]?", fullmatch=True), min_size=1, max_size=8)


@given(WORDS, st.lists(st.floats(0.01, 9.99), min_size=8, max_size=8))
def test_no_word_is_lost_or_moved_by_pauses(words: list[str], pauses: list[float]) -> None:
    text = " ".join(f"{word} [{pause:.2f}]" for word, pause in zip(words, pauses, strict=False))
    assert transcript(text) == " ".join(words)
    assert [w.written for piece in pieces(text) for w in piece.words] == words


# -- joining


@pytest.mark.usefixtures("beeping")
def test_a_pause_is_exact_and_lies_between_speech_edges() -> None:
    made = splice.record("one two [0.8] three [2.0] four", TONE, seed=1)
    gaps = [b[0] - a[1] for a, b in itertools.pairwise(made.speech)]
    assert gaps == pytest.approx([0.8, 2.0], abs=1e-9)
    assert made.speech[0][0] == pytest.approx(splice.LEAD_S)
    for (_, end_s), (start_s, _) in itertools.pairwise(made.speech):
        silence = made.samples[round(end_s * made.rate_hz) : round(start_s * made.rate_hz)]
        assert not silence.any()


@pytest.mark.usefixtures("beeping")
def test_words_lie_where_they_sound_and_keep_their_order() -> None:
    made = splice.record("One two [0.8] Bos{ton}- four. Five", TONE, seed=1)
    assert [word for word, _, _ in made.words] == ["One", "two", "Bos-", "four", "Five"]
    times = [time for _, start, end in made.words for time in (start, end)]
    assert times == sorted(times)
    assert made.words[1][1] - made.words[0][1] == pytest.approx(WORD_S, abs=0.01)
    assert made.words[2][2] - made.words[2][1] == pytest.approx(WORD_S / 2, abs=0.02)
    assert made.unsure == ()


@pytest.mark.usefixtures("beeping")
@given(st.lists(st.floats(0.0, 1.5), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_speech_spans_ascend_inside_the_recording_whatever_the_pauses(pauses: list[float]) -> None:
    made = splice.record("go " + " ".join(f"[{pause:.3f}] on" for pause in pauses), TONE, seed=1)
    flat = [time for span in made.speech for time in span]
    assert flat == sorted(flat)
    assert flat[-1] <= len(made.samples) / made.rate_hz
    assert all(b[0] - a[1] >= splice.MERGE_S - 1e-6 for a, b in itertools.pairwise(made.speech))


@pytest.mark.usefixtures("beeping")
def test_speech_is_at_the_promised_level_whatever_the_engine_gives() -> None:
    made = splice.record("one two three [1.0] four", TONE, seed=1)
    spoken = np.concatenate([made.samples[round(a * 16_000) : round(b * 16_000)] for a, b in made.speech]) / 32767
    assert 10 * np.log10((spoken**2).mean()) == pytest.approx(splice.LEVEL_DBFS, abs=0.7)


@pytest.mark.usefixtures("beeping")
def test_a_written_word_of_two_spoken_ones_has_one_time() -> None:
    made = splice.record("{W=double you} two", TONE, seed=1)
    assert [word for word, _, _ in made.words] == ["W", "two"]
    assert made.words[0][2] - made.words[0][1] == pytest.approx(2 * WORD_S, abs=0.01)


def test_an_engine_that_says_nothing_is_an_error_that_names_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def mute(words: tuple[str, ...], voice: Voice, speed: float = 1.0) -> Spoken:
        return Spoken(wave=np.zeros(1600), rate_hz=16_000, word_times=None)

    monkeypatch.setattr(splice, "speak", mute)
    with pytest.raises(EngineError, match="says nothing for 'hush'"):
        splice.record("hush", TONE, seed=1)


def test_hum_before_the_first_word_is_not_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    def humming(words: tuple[str, ...], voice: Voice, speed: float = 1.0) -> Spoken:
        clean = beeps(words, voice, speed)
        assert clean.word_times is not None
        hum = 0.02 * np.sin(np.arange(8000) * 0.05)
        times = tuple((start + 0.5, end + 0.5) for start, end in clean.word_times)
        return Spoken(wave=np.concatenate([hum, clean.wave]), rate_hz=clean.rate_hz, word_times=times)

    monkeypatch.setattr(splice, "speak", humming)
    made = splice.record("one two", TONE, seed=1)
    assert made.words[0][1] - made.speech[0][0] <= splice.BREATH_S + splice.FRAME_S


def test_words_of_an_engine_without_times_are_marked_unsure_where_alignment_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def silent_about_times(words: tuple[str, ...], voice: Voice, speed: float = 1.0) -> Spoken:
        clean = beeps(words, voice, speed)
        return Spoken(wave=clean.wave, rate_hz=clean.rate_hz, word_times=None)

    monkeypatch.setattr(splice, "speak", silent_about_times)
    made = splice.record("one three [0.9] five", TONE, seed=1)
    assert made.unsure == (0, 1, 2)
    assert made.words[0][2] - made.words[0][1] == pytest.approx(0.4 * 3 / 8, abs=0.02)
    assert len(made.speech) == 2


def test_a_larger_speaker_is_lower_in_pitch_by_the_same_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splice, "speak", beeps)

    def strongest_hz(size: float) -> float:
        made = splice.record("one two three four", Voice(engine="tone", name="beep", size=size), seed=1)
        start, end = (round(time * made.rate_hz) for time in made.speech[0])
        spectrum = np.abs(np.fft.rfft(made.samples[start:end], 1 << 16))
        return float(spectrum.argmax()) * made.rate_hz / (1 << 16)

    assert strongest_hz(0.8) / strongest_hz(1.0) == pytest.approx(0.8, rel=0.01)


def test_a_telephone_band_removes_what_lies_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_tones(words: tuple[str, ...], voice: Voice, speed: float = 1.0) -> Spoken:
        t = np.arange(16_000) / 16_000
        wave = 0.2 * np.sin(2 * np.pi * 1000 * t) + 0.2 * np.sin(2 * np.pi * 6000 * t)
        return Spoken(wave=wave, rate_hz=16_000, word_times=((0.0, 1.0),))

    monkeypatch.setattr(splice, "speak", two_tones)
    made = splice.record("one", Voice(engine="tone", name="beep", band_hz=(300.0, 3400.0)), seed=1)
    middle = made.samples[8000:16000] * np.hanning(8000)
    spectrum = np.abs(np.fft.rfft(middle))
    assert spectrum[3000] < spectrum[500] / 1000


# -- engines


def test_phones_are_dealt_out_by_their_number_or_not_at_all() -> None:
    alone = {"hi ": "pau:0.1 hh:0.2 ay:0.3 pau:0.4", "you ": "pau:0.1 y:0.2 uw:0.3 pau:0.4"}
    printed = "pau:0.2 hh:0.3 ay:0.5 pau:0.6 y:0.7 uw:1.0 pau:1.2"

    def run(command: list[str]) -> str:
        return alone[command[command.index("-t") + 1]]

    assert flite_word_times(printed, ("hi", "you"), run) == ((0.2, 0.5), (0.6, 1.0))
    assert flite_word_times("hh:0.3 ay:0.5 y:0.7", ("hi", "you"), run) is None


def test_flites_rate_is_a_stretch_and_its_pitch_a_feature() -> None:
    assert flite_arguments("slt", 200.0, 1.25) == [
        *("flite", "-voice", "slt", "--setf", "duration_stretch=0.8000"),
        *("--setf", "int_f0_target_mean=200", "-psdur"),
    ]


def test_festivals_times_ignore_punctuation_and_must_fit_the_words() -> None:
    printed = "word 0.1 0.3 \nword 0.3 0.6 word 0.6 0.0 \n\n"
    assert read_festival_times(printed, 2) == ((0.1, 0.3), (0.3, 0.6))
    assert read_festival_times(printed, 3) is None


def test_a_text_cannot_leave_its_quotes_in_festivals_script() -> None:
    script = festival_script('x") (system "ls', "v", 1.0, Path("out.wav"))
    assert 'Text "x ) (system  ls"' in script


def test_without_any_engine_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "installed_engines", lambda: ())
    with pytest.raises(EngineError, match="apt install flite") as raised:
        engines.speak(("a",), Voice(engine="flite", name="slt"))
    assert "\n" not in str(raised.value)
    with pytest.raises(EngineError, match="apt install flite"):
        engines.default_voice()


@needs_flite
def test_flite_says_the_same_twice_and_knows_its_words() -> None:
    words = ("Order", "number", "seven")
    one, two = (engines.speak(words, Voice(engine="flite", name="slt")) for _ in range(2))
    assert np.array_equal(one.wave, two.wave)
    assert one.word_times is not None
    assert len(one.word_times) == 3


@needs_flite
def test_a_voice_that_flite_lacks_is_an_error_and_not_another_voice() -> None:
    with pytest.raises(EngineError, match="flite has no voice 'nobody'"):
        engines.speak(("a",), Voice(engine="flite", name="nobody"))


# -- files


def test_the_same_sound_gives_the_same_ogg_and_stays_readable() -> None:
    sound = (3000 * np.sin(np.arange(16_000) * 0.2)).astype(np.int16)

    def encoded() -> bytes:
        buffer = io.BytesIO()
        soundfile.write(buffer, sound, 16_000, format="OGG", subtype="VORBIS")
        return buffer.getvalue()

    one, two = with_serial(encoded(), 7), with_serial(encoded(), 7)
    assert one == two
    read, rate_hz = soundfile.read(io.BytesIO(one))
    assert (len(read), rate_hz) == (16_000, 16_000)
    assert one[14:18] == (7).to_bytes(4, "little")


def test_a_voices_description_names_what_was_changed() -> None:
    assert describe(Voice(engine="flite", name="slt")) == "slt"
    changed = Voice(engine="flite", name="slt", pitch_hz=168, rate=0.9, size=1.1, band_hz=(300, 3400))
    assert describe(changed) == "slt pitch_hz=168 rate=0.9 size=1.1 band_hz=300-3400"


def test_a_broken_room_is_one_line(tmp_path: Path) -> None:
    written(tmp_path, "a: {tone: {seed: x}}\n", "speakers.yaml")
    with pytest.raises(ScriptError, match=r"speakers.yaml: a: tone: expected"):
        read_script(written(tmp_path, SCRIPT.replace("voices:", "speakers: speakers.yaml\nvoices:")))


# -- scripts and the command

SCRIPT = """\
speech_script: 1
voices:
  a: {engine: flite, voice: slt}
  b: {engine: flite, voice: rms, pitch_hz: 100, size: 1.1}
say:
  - {audio: "audio/x.{speaker}.ogg", speakers: [a, b], text: "Go [0.8] on."}
"""


def written(folder: Path, content: str, name: str = "speech_script.yaml") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_a_script_gives_a_recording_for_each_speaker_with_the_speakers_room(tmp_path: Path) -> None:
    written(tmp_path, "a: {voice: x, tone: {seed: 5, level_dbfs: -60}}\nb: {voice: y}\n", "speakers.yaml")
    one, two = read_script(written(tmp_path, SCRIPT.replace("voices:", "speakers: speakers.yaml\nvoices:")))
    assert (one.audio.name, two.audio.name) == ("x.a.ogg", "x.b.ogg")
    assert (two.voice.name, two.voice.pitch_hz, two.voice.size) == ("rms", 100.0, 1.1)
    assert one.tone is not None
    assert (one.tone.seed, one.tone.level_dbfs, two.tone) == (5, -60.0, None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("speech_script: 1\n", "", r":1: neither `speech_script: 1` nor"),
        ("[a, b]", "[a, c]", r":6: say: speakers: 'c' has no voice"),
        ("x.{speaker}", "x", r":6: say: audio: needs \{speaker\}"),
        ("audio/x", "../x", r":6: say: audio: .* lies outside"),
        (".ogg", ".mp3", r"must end in"),
        ("[0.8]", "[much]", r":6: say: text: \[much\] is no pause"),
        ("size: 1.1", "size: 9", r":4: voices: b: 9 is not between"),
        ("size: 1.1", "tempo: 9", r":4: voices: b: needs engine and voice.*tempo"),
        ("say:", "says:", r":1: say: missing"),
        ("speech_script: 1", "speech_script: [", r":\d+: not YAML"),
    ],
)
def test_a_mistake_in_a_script_is_one_line_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message) as raised:
        read_script(written(tmp_path, SCRIPT.replace(old, new)))
    assert "\n" not in str(raised.value)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splice, "speak", beeps)
    monkeypatch.setattr(synthesize, "installed_engines", lambda: ("tone",))


@pytest.mark.usefixtures("command")
def test_synthesize_makes_what_is_missing_and_leaves_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, SCRIPT)
    assert synthesize.run([str(path)]) == 0
    assert "2 made, 0 were there" in capsys.readouterr().out
    before = {file: file.read_bytes() for file in (tmp_path / "audio").iterdir()}
    assert sorted(file.name for file in before) == ["x.a.json", "x.a.ogg", "x.b.json", "x.b.ogg"]
    assert synthesize.run([str(path)]) == 0
    assert "0 made, 2 were there" in capsys.readouterr().out
    assert synthesize.run([str(path), "--again"]) == 0
    assert {file: file.read_bytes() for file in (tmp_path / "audio").iterdir()} == before


@pytest.mark.usefixtures("command")
def test_the_timing_file_belongs_to_the_recording_and_keeps_the_pause(tmp_path: Path) -> None:
    synthesize.run([str(written(tmp_path, SCRIPT)), "--only", "x.a"])
    timing = read_timing(tmp_path / "audio" / "x.a.json")
    assert timing.audio_sha256 == recording_files.file_sha256(tmp_path / "audio" / "x.a.ogg")
    assert [word for word, _, _ in timing.words] == ["Go", "on"]
    assert timing.speech[1][0] - timing.speech[0][1] == pytest.approx(0.8, abs=1e-4)
    assert json.loads((tmp_path / "audio" / "x.a.json").read_text())["source"] == "synthesized"
    assert not (tmp_path / "audio" / "x.b.ogg").exists()


@pytest.mark.usefixtures("command")
def test_a_suites_own_texts_can_be_spoken_without_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_voicebench.synthesis.script.default_voice", lambda: TONE)
    suite = 'voicebench: 1\nscenarios:\n  - id: q\n    user: [{say: "Hello there.", audio: audio/q.ogg}, {wait_s: 1}]\n'
    assert synthesize.run([str(written(tmp_path, suite, "suite.yaml"))]) == 0
    assert len(read_timing(tmp_path / "audio" / "q.json").words) == 2


def test_the_command_explains_failures_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert synthesize.run([str(tmp_path / "none.yaml")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "cannot be read" in error
    assert synthesize.run(["--nonsense"]) == 2
