"""`speech` and `annotate` print what was found, and one line where nothing can be done."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_voicebench.audio import RATE_HZ, Samples
from pytest_voicebench.commands import annotate, speech
from pytest_voicebench.timing_file import read_timing
from tests.flite import needs_flite, say
from tests.voice import silence, spoken

Capture = pytest.CaptureFixture[str]


def saved(path: Path, *tracks: Samples) -> str:
    soundfile.write(path, np.stack(tracks, axis=1), RATE_HZ)
    return str(path)


@pytest.fixture
def duplex(tmp_path: Path) -> str:
    """User on the left 0.5 to 2.5 s and 3.5 to 4.0 s, agent on the right 6.0 to 7.0 s."""
    user = np.concatenate([silence(0.5), spoken(2.0), silence(1.0), spoken(0.5), silence(4.0)])
    agent = np.concatenate([silence(6.0), spoken(1.0, pitch_hz=180), silence(1.0)])
    return saved(tmp_path / "duplex.wav", user, agent)


def test_speech_prints_a_table_of_both_voices(duplex: str, capsys: Capture) -> None:
    assert speech.run([duplex, "--agent-channel", "right"]) == 0
    golden = """\
user (left channel): 2.50 s of speech in 8.00 s
   start_s    end_s  length_s  level_dbfs  pause_after_s
     0.500    2.500     2.000       -22.4          1.000
     3.500    4.000     0.500       -22.4
agent (right channel): 1.00 s of speech in 8.00 s
   start_s    end_s  length_s  level_dbfs  pause_after_s
     6.000    7.000     1.000       -22.4
"""
    assert _without_levels(capsys.readouterr().out) == _without_levels(golden)


def _without_levels(table: str) -> list[str]:
    return [" ".join(word for word in line.split() if not word.startswith("-")) for line in table.splitlines()]


def test_speech_prints_json_with_spans_pauses_and_levels(duplex: str, capsys: Capture) -> None:
    assert speech.run([duplex, "--agent-channel", "right", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["file"], found["warnings"]) == (duplex, [])
    user, agent = found["tracks"]
    assert (user["who"], user["channel"], user["duration_s"]) == ("user", "left", 8.0)
    assert user["spans"][0]["start_s"] == pytest.approx(0.5, abs=0.01)
    assert user["spans"][0]["level_dbfs"] == pytest.approx(-22, abs=3)
    assert [user["pauses"][0][k] for k in ("start_s", "end_s")] == pytest.approx([2.5, 3.5], abs=0.01)
    assert (agent["who"], agent["channel"], agent["pauses"]) == ("agent", "right", [])
    assert agent["spans"][0]["start_s"] == pytest.approx(6.0, abs=0.01)


def test_speech_looks_at_one_channel(duplex: str, capsys: Capture) -> None:
    assert speech.run([duplex, "--channel", "left"]) == 0
    assert capsys.readouterr().out.startswith("user (left channel): 2.50 s of speech")


def test_speech_says_that_nothing_was_detected(tmp_path: Path, capsys: Capture) -> None:
    assert speech.run([saved(tmp_path / "s.wav", silence(2.0))]) == 0
    printed = capsys.readouterr()
    assert printed.out == "user: 0.00 s of speech in 2.00 s\n  no speech detected\n"
    assert "every sample is zero" in printed.err


@pytest.mark.parametrize("run", [speech.run, lambda argv: annotate.run([*argv, "--text", "hello"])])
def test_two_channels_need_a_choice_and_the_option_is_named(
    duplex: str, capsys: Capture, run: Callable[[list[str]], int]
) -> None:
    assert run([duplex]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "has two channels; choose left, right or mix (--channel" in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize("run", [speech.run, lambda argv: annotate.run([*argv, "--text", "hello"])])
def test_a_missing_file_is_one_line(tmp_path: Path, capsys: Capture, run: Callable[[list[str]], int]) -> None:
    assert run([str(tmp_path / "no.wav")]) == 1
    assert capsys.readouterr().err.endswith("no.wav: no such file\n")


@pytest.fixture
def request_(tmp_path: Path) -> Path:
    sound = np.concatenate([silence(0.5), say("find me a flat in rome"), silence(1.0)])
    return Path(saved(tmp_path / "x.flac", sound))


@needs_flite
def test_annotate_writes_the_timing_file_beside_the_recording(request_: Path, capsys: Capture) -> None:
    assert annotate.run([str(request_), "--text", "Find me a flat in Rome."]) == 0
    timing = read_timing(request_.with_suffix(".json"))
    assert timing.audio_sha256 == hashlib.sha256(request_.read_bytes()).hexdigest()
    assert (timing.rate_hz, timing.voice, timing.engine) == (RATE_HZ, None, None)
    assert [word for word, _, _ in timing.words] == ["Find", "me", "a", "flat", "in", "Rome"]
    assert timing.words[0][1] == pytest.approx(0.5, abs=0.08)
    assert json.loads(request_.with_suffix(".json").read_text())["source"] == "aligned"
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == ["word", "start_s", "end_s"]
    assert printed[6].split()[0] == "Rome"
    assert printed[-1] == f"wrote {request_.with_suffix('.json')}"


@needs_flite
def test_annotate_marks_unsure_words(request_: Path, capsys: Capture) -> None:
    assert annotate.run([str(request_), "--text", "Find me a phlat in Rome", "--out", f"{request_}.t.json"]) == 0
    assert read_timing(Path(f"{request_}.t.json")).unsure == (3,)
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines() if line.endswith(" unsure")] == ["phlat"]
    assert "1 of 6 words is unsure" in printed


@needs_flite
def test_annotate_reads_the_text_from_a_file(request_: Path, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(b"\xef\xbb\xbfFind me a flat\nin Rome.\n")
    assert annotate.run([str(request_), "--text-file", str(tmp_path / "x.txt")]) == 0


@needs_flite
def test_annotate_keeps_a_timing_file_unless_told(request_: Path, capsys: Capture) -> None:
    request_.with_suffix(".json").write_text("corrected by hand")
    argv = [str(request_), "--text", "Find me a flat in Rome."]
    assert annotate.run(argv) == 1
    assert "is already there; give --overwrite" in capsys.readouterr().err
    assert request_.with_suffix(".json").read_text() == "corrected by hand"
    assert annotate.run([*argv, "--overwrite"]) == 0
    assert read_timing(request_.with_suffix(".json")).rate_hz == RATE_HZ


@needs_flite
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Where is my parcel, it should have come on Friday", "the text does not fit the recording"),
        ("Find me 2 flats", "has more than one reading"),
        (" ... ", "the text has no words"),
    ],
)
def test_annotate_refuses_a_text_that_does_not_fit_and_writes_nothing(
    request_: Path, capsys: Capture, text: str, why: str
) -> None:
    assert annotate.run([str(request_), "--text", text]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"annotate: {request_}: ")
    assert why in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert not request_.with_suffix(".json").exists()


def test_a_wrong_command_line_is_usage_not_a_traceback(capsys: Capture) -> None:
    for run, argv in ((speech.run, []), (annotate.run, ["x.wav"]), (speech.run, ["x.wav", "--channel", "third"])):
        with pytest.raises(SystemExit) as caught:
            run(argv)
        assert caught.value.code == 2
        assert capsys.readouterr().err.startswith("usage: python -m pytest_voicebench ")
