"""Sound files with every fault met in practice are read, repaired with a remark, or refused in one line."""

import hashlib
import io
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_voicebench.audio import Samples
from pytest_voicebench.audio_files import AudioError, level_warnings, read_audio, read_flac, write_flac

RATE_HZ = 16_000


def tone(seconds: float = 1.0, amplitude: float = 8000, rate_hz: int = RATE_HZ) -> Samples:
    return (amplitude * np.sin(2 * np.pi * 440 * np.arange(round(seconds * rate_hz)) / rate_hz)).astype(np.int16)


def wav_bytes(samples: Samples, *, claimed: int | None = None, tail: bytes = b"") -> bytes:
    """A plain 16 bit mono WAV file whose header claims `claimed` bytes of sound."""
    data = samples.astype("<i2").tobytes()
    size = len(data) if claimed is None else claimed
    head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, RATE_HZ, RATE_HZ * 2, 2, 16)
    return (
        b"RIFF" + struct.pack("<I", min(36 + size, 0xFFFFFFFF)) + head + b"data" + struct.pack("<I", size) + data + tail
    )


def written(folder: Path, content: bytes, name: str = "input.wav") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def refused(path: Path, channel: str | None = None) -> str:
    with pytest.raises(AudioError) as caught:
        read_audio(path, channel=channel)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    assert "BytesIO" not in text
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


def test_a_sound_file_is_read_sample_for_sample(tmp_path: Path) -> None:
    found = read_audio(written(tmp_path, wav_bytes(tone())))
    np.testing.assert_array_equal(found.audio.samples, tone())
    assert found.audio.rate_hz == RATE_HZ
    assert found.warnings == ()


@pytest.mark.parametrize(("name", "exact"), [("x.flac", True), ("x.wav", True), ("x.ogg", False), ("x.mp3", False)])
def test_four_formats_are_read(tmp_path: Path, name: str, exact: bool) -> None:
    soundfile.write(tmp_path / name, tone(), RATE_HZ)
    found = read_audio(tmp_path / name)
    assert found.audio.samples.dtype == np.int16
    assert found.audio.duration_s == pytest.approx(1.0, abs=0.1)
    assert not exact or found.audio.samples.tolist() == tone().tolist()


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 44_100, 48_000, 96_000])
def test_any_rate_from_8_to_96_khz_is_read(tmp_path: Path, rate_hz: int) -> None:
    soundfile.write(tmp_path / "x.wav", tone(rate_hz=rate_hz), rate_hz)
    assert read_audio(tmp_path / "x.wav").audio.rate_hz == rate_hz


@pytest.mark.parametrize("rate_hz", [4_000, 192_000])
def test_other_rates_are_refused(tmp_path: Path, rate_hz: int) -> None:
    soundfile.write(tmp_path / "x.wav", tone(), rate_hz)
    assert refused(tmp_path / "x.wav") == f"its rate is {rate_hz} Hz; convert it to one of 8000 to 96000 Hz"


@pytest.mark.parametrize("claimed", [0, 16_000, 50_000])
def test_a_header_that_claims_another_length_is_repaired_with_both_lengths(tmp_path: Path, claimed: int) -> None:
    path = written(tmp_path, wav_bytes(tone(), claimed=claimed))
    found = read_audio(path)
    np.testing.assert_array_equal(found.audio.samples, tone())
    says = f"the header says {claimed / 32_000:.3f} s of sound, the file holds 1.000 s: read to the end of the file"
    assert found.warnings == (f"{path}: {says}",)


def test_a_streamed_header_without_a_length_is_read_to_the_end_without_a_remark(tmp_path: Path) -> None:
    found = read_audio(written(tmp_path, wav_bytes(tone(), claimed=0xFFFFFFFF)))
    np.testing.assert_array_equal(found.audio.samples, tone())
    assert found.warnings == ()


def test_chunks_behind_the_sound_are_not_sound(tmp_path: Path) -> None:
    found = read_audio(written(tmp_path, wav_bytes(tone(), tail=b"LIST" + struct.pack("<I", 4) + b"INFO")))
    np.testing.assert_array_equal(found.audio.samples, tone())
    assert found.warnings == ()


def test_part_of_a_sample_at_the_end_is_dropped_with_a_remark(tmp_path: Path) -> None:
    found = read_audio(written(tmp_path, wav_bytes(tone())[:-1]))
    np.testing.assert_array_equal(found.audio.samples, tone()[:-1])
    assert [w.split(": ", 1)[1] for w in found.warnings] == ["the last 1 bytes are part of a sample and were dropped"]


def test_an_empty_file_and_a_header_without_sound_have_no_audio(tmp_path: Path) -> None:
    assert refused(written(tmp_path, b"")) == "no audio: the file is empty; record it again"
    for content in (wav_bytes(tone(0)), wav_bytes(tone(0), tail=b"LIST" + struct.pack("<I", 4) + b"INFO")):
        assert refused(written(tmp_path, content)) == (
            "no audio: the file has a header and no samples; record it again"
        )


@pytest.mark.parametrize(
    "content", [b"RIFF", b"hello", b"RIFF\0\0\0\0WAVE", wav_bytes(tone())[:30], b"\0" * 1000, b"OggS"]
)
def test_what_is_not_sound_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "not a sound file we can read" in refused(written(tmp_path, content))


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.wav") == "no such file"
    assert "not a file" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe.wav")
    assert "not a file" in refused(tmp_path / "pipe.wav")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_numbers_are_refused(tmp_path: Path, bad: float) -> None:
    soundfile.write(tmp_path / "x.wav", np.array([0.1, bad, 0.2] * 100), RATE_HZ, subtype="FLOAT")
    assert refused(tmp_path / "x.wav") == "100 samples are not numbers (NaN or infinite); export it again"


def test_float_samples_beyond_full_scale_are_clipped_and_counted(tmp_path: Path) -> None:
    table = np.full(1000, 0.25)
    table[[3, 5]] = 4.0, -4.0
    soundfile.write(tmp_path / "x.wav", table, RATE_HZ, subtype="FLOAT")
    found = read_audio(tmp_path / "x.wav")
    assert found.audio.samples[[2, 3, 4, 5]].tolist() == [8192, 32767, 8192, -32768]
    assert found.warnings == (f"{tmp_path / 'x.wav'}: 2 samples beyond full scale were clipped",)


@pytest.mark.parametrize("subtype", ["PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_finer_samples_are_rounded_to_16_bits(tmp_path: Path, subtype: str) -> None:
    soundfile.write(tmp_path / "x.wav", np.array([0.5, -0.25, 100.6 / 32768, -1.0]), RATE_HZ, subtype=subtype)
    assert read_audio(tmp_path / "x.wav").audio.samples.tolist() == [16384, -8192, 101, -32768]


def stereo(folder: Path, left: Samples, right: Samples) -> Path:
    soundfile.write(folder / "s.wav", np.stack([left, right], axis=1), RATE_HZ)
    return folder / "s.wav"


def test_two_channels_need_a_choice(tmp_path: Path) -> None:
    path = stereo(tmp_path, tone(), tone() // 2)
    assert refused(path) == "has two channels; choose left, right or mix"
    assert read_audio(path, channel="left").audio.samples.tolist() == tone().tolist()
    assert read_audio(path, channel="right").audio.samples.tolist() == (tone() // 2).tolist()
    assert read_audio(path, channel="mix").audio.samples[10] == pytest.approx(tone()[10] * 0.75, abs=1)


def test_opposite_phases_are_not_mixed(tmp_path: Path) -> None:
    path = stereo(tmp_path, tone(), -tone())
    assert refused(path, "mix") == "its channels cancel each other out when mixed; choose left or right"
    assert read_audio(path, channel="left").audio.samples.tolist() == tone().tolist()


def test_a_mix_with_a_silent_channel_is_fine(tmp_path: Path) -> None:
    assert len(read_audio(stereo(tmp_path, tone(), tone() * 0), channel="mix").audio.samples) == RATE_HZ


def test_a_channel_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "no right one" in refused(written(tmp_path, wav_bytes(tone())), "right")
    soundfile.write(tmp_path / "six.wav", np.zeros((100, 6), np.int16), RATE_HZ)
    assert "6 channels" in refused(tmp_path / "six.wav", "left")


@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (tone(), None),
        (tone(amplitude=33), "very quiet: its peak is -60 dBFS"),
        (tone(amplitude=0), "every sample is zero"),
        (np.clip(tone().astype(int) * 20, -32768, 32767).astype(np.int16), "clipped: "),
    ],
)
def test_levels_that_no_agent_can_work_with_are_remarked(samples: Samples, words: str | None) -> None:
    found = level_warnings(samples)
    assert found == [] if words is None else found[0].startswith(words)


def test_flac_comes_back_sample_for_sample(tmp_path: Path) -> None:
    write_flac(tmp_path / "a.flac", [tone(), -tone()], 24_000)
    (left, right), rate_hz = read_flac(tmp_path / "a.flac")
    assert (left.tolist(), right.tolist(), rate_hz) == (tone().tolist(), (-tone()).tolist(), 24_000)


def test_equal_samples_give_equal_files(tmp_path: Path) -> None:
    for name in ("a.flac", "b.flac"):
        write_flac(tmp_path / name, [tone()], 24_000)
    assert (tmp_path / "a.flac").read_bytes() == (tmp_path / "b.flac").read_bytes()


@pytest.mark.parametrize("lengths", [(1.0, 2.0), (0.0, 0.0), ()])
def test_tracks_of_unequal_length_or_without_samples_are_refused_and_leave_no_file(
    tmp_path: Path, lengths: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match="equally long and not empty"):
        write_flac(tmp_path / "a.flac", [tone(length) for length in lengths], 24_000)
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_flac(tmp_path / "a.flac", [tone()], 24_000)
    before = hashlib.sha256((tmp_path / "a.flac").read_bytes()).hexdigest()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_flac(tmp_path / "a.flac", [tone(2.0)], 24_000)
    assert [p.name for p in tmp_path.iterdir()] == ["a.flac"]
    assert hashlib.sha256((tmp_path / "a.flac").read_bytes()).hexdigest() == before


def outcome(path: Path) -> str:
    try:
        read_audio(path)
    except AudioError as error:
        return str(error)
    return "read"


@pytest.mark.parametrize("format_", ["WAV", "FLAC", "OGG", "MP3"])
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path: Path, format_: str, data: st.DataObject) -> None:
    file = io.BytesIO()
    soundfile.write(file, tone(0.2), RATE_HZ, format=format_)
    content = bytearray(file.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, min(len(content), 200) - 1))] = data.draw(st.integers(0, 255))
    path = written(tmp_path, bytes(content[: data.draw(st.integers(1, len(content)))]))
    text = outcome(path)
    assert text == "read" or text.startswith(f"{path}: ")
    assert "\n" not in text


@pytest.mark.parametrize("claimed", [0, (1 << 36) - 1])  # 0: a recorder that never came back to its header
def test_a_flac_header_without_a_true_length_is_refused_with_advice(tmp_path: Path, claimed: int) -> None:
    file = io.BytesIO()
    soundfile.write(file, tone(), RATE_HZ, format="FLAC")
    content = bytearray(file.getvalue())
    content[21] = content[21] & 0xF0 | claimed >> 32  # STREAMINFO: the 36 bit frame count
    content[22:26] = (claimed & 0xFFFFFFFF).to_bytes(4, "big")
    assert (
        refused(written(tmp_path, bytes(content), "x.flac"))
        == "its header does not say how long it is; export it again"
    )


def test_a_truncated_flac_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    soundfile.write(file, tone(), RATE_HZ, format="FLAC")
    assert refused(written(tmp_path, file.getvalue()[:3000], "x.flac"))
