"""The timing file comes back as it was written, and a broken one says what is wrong."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_voicebench.scenario import RoomTone, Timing
from pytest_voicebench.timing_file import TimingError, read_timing, timing_path, write_timing

TIMING = Timing(
    audio_sha256="ab" * 32,
    rate_hz=24_000,
    speech=((0.31, 0.9),),
    words=(("Find", 0.31, 0.52), ("café", 0.52, 0.9)),
    voice="slt",
    engine="flite",
    seed=7,
    unsure=(1,),
    tone=RoomTone(seed=3, level_dbfs=-55.5),
)


def test_the_timing_file_of_x_ogg_is_x_json() -> None:
    assert timing_path(Path("audio/x.a.ogg")) == Path("audio/x.a.json")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    write_timing(tmp_path / "x.json", TIMING, "synthesized")
    assert read_timing(tmp_path / "x.json") == TIMING


def test_the_file_has_one_field_a_line_and_no_leftovers(tmp_path: Path) -> None:
    write_timing(tmp_path / "x.json", TIMING, "synthesized")
    golden = """{
  "audio_sha256": "abababababababababababababababababababababababababababababababab",
  "rate_hz": 24000,
  "source": "synthesized",
  "voice": "slt",
  "engine": "flite",
  "seed": 7,
  "tone": {"seed": 3, "level_dbfs": -55.5},
  "speech": [[0.31, 0.9]],
  "words": [["Find", 0.31, 0.52], ["café", 0.52, 0.9]],
  "unsure": [1]
}
"""
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == golden
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


@given(st.integers(0, 10**7), st.sampled_from([8_000, 16_000, 24_000, 44_100, 48_000, 96_000]))
def test_a_sample_position_survives_the_rounding(position: int, rate_hz: int) -> None:
    assert round(round(position / rate_hz, 5) * rate_hz) == position


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": None}, "not a timing file"),
        ({"speech": [[0.9, 0.3]]}, "times must ascend"),
        ({"speech": [[0.1, float("inf")]]}, "times must ascend"),
        ({"speech": [[0.1, float("nan")]]}, "times must ascend"),
        ({"speech": [[0.1, 0.5], [0.4, 0.8]]}, "times must ascend"),
        ({"unsure": [2]}, "a word that is not there"),
        ({"rate_hz": "fast"}, "not a timing file"),
        ({"rate_hz": "24000"}, 'rate_hz: expected a whole number, got "24000"'),
        ({"rate_hz": 24000.5}, "rate_hz: expected a whole number, got 24000.5"),
        ({"rate_hz": True}, "rate_hz: expected a whole number, got true"),
        ({"rate_hz": 7999}, "rate_hz: expected a whole number from 8000 to 96000, got 7999"),
        ({"rate_hz": 96001}, "rate_hz: expected a whole number from 8000 to 96000"),
        ({"audio_sha256": 5}, "audio_sha256: expected text, got 5"),
        ({"voice": ["slt"]}, "voice: expected text"),
        ({"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
        ({"seed": 1.0}, "seed: expected a whole number"),
        ({"tone": {"seed": -1, "level_dbfs": -50}}, "tone.seed: expected a whole number of at least 0"),
        ({"tone": {"seed": 1, "level_dbfs": 0.5}}, "tone.level_dbfs: expected a number from -120 to 0, got 0.5"),
        ({"tone": {"seed": 1, "level_dbfs": -121}}, "tone.level_dbfs: expected a number from -120 to 0"),
        ({"tone": {"seed": 1, "level_dbfs": float("nan")}}, "tone.level_dbfs: expected a number from -120 to 0"),
        ({"tone": {"seed": 1, "level_dbfs": "-50"}}, "tone.level_dbfs: expected a number, got"),
        ({"tone": {"level_dbfs": -50}}, "the field 'seed' is missing"),
        ({"tone": {}}, "the field 'level_dbfs' is missing"),
        ({"unsure": [0.5]}, "unsure: expected a whole number, got 0.5"),
        ({"unsure": [True]}, "unsure: expected a whole number, got true"),
        ({"unsure": [-1]}, "unsure: expected a whole number of at least 0"),
        ({"speech": [["0.1", 0.5]]}, 'speech: expected a number, got "0.1"'),
        ({"speech": [[0.1, 10**400]]}, "speech: the number is too large"),
        ({"speech": [[0.5, 0.5]]}, "speech: 0.5 to 0.5 s has no length"),
        ({"words": [[1, 0.1, 0.2]]}, "words: expected text, got 1"),
        ({"words": [["a", False, 0.2]]}, "words: expected a number, got false"),
    ],
)
def test_a_broken_file_is_one_line_that_says_what_is_wrong(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "x.json"
    write_timing(path, TIMING, "aligned")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(TimingError, match=message) as caught:
        read_timing(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"[]", b'"text"', b"{}", b"\xff\xfe", b'{"rate_hz": 1}', b"[" * 100_000])
def test_anything_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(TimingError, match=r"x\.json"):
        read_timing(tmp_path / "x.json")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TimingError, match="cannot read the timing file"):
        read_timing(tmp_path / "no.json")
