"""Sound files: read with their faults named, tracks written as FLAC."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench.audio import Audio, Samples, peak_dbfs, rms_dbfs, to_int16
from pytest_voicebench.files import write_atomically
from pytest_voicebench.timeline import MAX_RECORDED_HZ, MIN_RECORDED_HZ
from pytest_voicebench.wav_header import repaired_wav

Channel = Literal["left", "right", "mix"]

QUIET_DBFS = -50.0
CLIPPED_SHARE = 0.01
MIX_LOSS_DB = 20.0

_MOST_CHANNELS = 8  # of FLAC
_BLOCK_FRAMES = 1 << 18
_MOST_FRAMES_A_BYTE = 100_000  # silence takes a byte for some hundred frames; libsndfile cannot read files beyond this
_EXACT_SUBTYPES = frozenset({"PCM_16", "PCM_S8", "PCM_U8", "ULAW", "ALAW"})  # int16 holds every value of these


class AudioError(ValueError):
    """A sound file cannot be used; the text is one line with the path and what to do."""


class ChannelError(AudioError):
    """A file has two channels and none was chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioFile:
    """The sound of a file and what is remarkable about it, one line each (with the path)."""

    audio: Audio
    warnings: tuple[str, ...] = ()


def read_audio(path: Path, *, channel: Channel | None = None) -> AudioFile:
    """One channel of a WAV, FLAC, Ogg or MP3 file at its own rate, as int16.

    A file with two channels needs `channel`. A WAV header that lies about the length is repaired with a warning; float
    samples beyond full scale are clipped and counted; so are levels that no agent can work with (`level_warnings`).
    Raises AudioError: not a file, not sound, no samples, a rate outside 8 to 96 kHz, NaN or infinite samples, more than
    two channels, a channel that is not there, a mix that cancels itself out.
    """
    data = _bytes_of(path)
    data, warnings = repaired_wav(data)
    table, rate_hz, clipped = _decoded(path, data)
    if clipped:
        warnings.append(f"{clipped} samples beyond full scale were clipped")
    samples = _channel_of(path, table, channel)
    warnings += level_warnings(samples)
    audio = Audio(samples=samples, rate_hz=rate_hz)
    return AudioFile(audio=audio, warnings=tuple(f"{path}: {text}" for text in warnings))


def level_warnings(samples: Samples) -> list[str]:
    """Remarks on sound that an agent can hardly hear: silent, peak under -50 dBFS, or over 1 % of samples clipped."""
    peak = peak_dbfs(samples)
    if peak == float("-inf"):
        return ["every sample is zero: nothing can be heard"]
    if peak < QUIET_DBFS:
        return [f"very quiet: its peak is {peak:.0f} dBFS; an agent may not hear it"]
    clipped = np.count_nonzero((samples == 32767) | (samples == -32768)) / len(samples)
    if clipped > CLIPPED_SHARE:
        return [f"clipped: {clipped:.0%} of its samples are at full scale"]
    return []


def write_flac(path: Path, tracks: Sequence[Samples], rate_hz: int) -> None:
    """Write tracks of equal length (1 to 8) as one 16 bit FLAC file, whole or not at all; equal samples, equal bytes.

    Raises ValueError for no tracks, unequal lengths, or no samples (FLAC has no file without any).
    """
    import soundfile

    lengths = {len(track) for track in tracks}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(f"tracks of one file must be equally long and not empty, not {sorted(lengths)} samples")
    file = io.BytesIO()
    soundfile.write(file, np.stack(list(tracks), axis=1), rate_hz, format="FLAC", subtype="PCM_16")
    write_atomically(path, file.getvalue())


def read_flac(path: Path) -> tuple[tuple[Samples, ...], int]:
    """The tracks of a file that `write_flac` wrote, and their rate. Raises AudioError where it cannot be read."""
    table, rate_hz, _ = _decoded(path, _bytes_of(path))
    return tuple(np.ascontiguousarray(table[:, i]) for i in range(table.shape[1])), rate_hz


def _bytes_of(path: Path) -> bytes:
    """The file's content. Only ordinary files are opened: a pipe would wait for ever."""
    if not path.exists():
        raise AudioError(f"{path}: no such file")
    if not path.is_file():
        raise AudioError(f"{path}: not a file; give a WAV, FLAC, Ogg or MP3 file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise AudioError(f"{path}: cannot be read: {error.strerror}") from None
    if not data:
        raise AudioError(f"{path}: no audio: the file is empty; record it again")
    return data


def _decoded(path: Path, data: bytes) -> tuple[NDArray[np.int16], int, int]:
    """Samples as [frame, channel], rate, and how many float samples were clipped."""
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            rate_hz, subtype = file.samplerate, file.subtype
            _check_shape(path, rate_hz, file.channels)
            if file.frames > len(data) * _MOST_FRAMES_A_BYTE:
                raise AudioError(f"{path}: its header does not say how long it is; export it again")
            table = _all_frames(file, "int16" if subtype in _EXACT_SUBTYPES else "float64")
    except (soundfile.SoundFileError, RuntimeError) as error:
        cause = " ".join(str(error).split()).split(">: ")[-1].rstrip(".")
        raise AudioError(f"{path}: not a sound file we can read ({cause}); give WAV, FLAC, Ogg or MP3") from None
    if len(table) == 0:
        raise AudioError(f"{path}: no audio: the file has a header and no samples; record it again")
    if subtype in _EXACT_SUBTYPES:
        return table, rate_hz, 0
    return _from_float(path, table, is_float=subtype in ("FLOAT", "DOUBLE"), rate_hz=rate_hz)


def _check_shape(path: Path, rate_hz: int, channels: int) -> None:
    if not MIN_RECORDED_HZ <= rate_hz <= MAX_RECORDED_HZ:
        bounds = f"{MIN_RECORDED_HZ} to {MAX_RECORDED_HZ} Hz"
        raise AudioError(f"{path}: its rate is {rate_hz} Hz; convert it to one of {bounds}")
    if channels > _MOST_CHANNELS:
        raise AudioError(f"{path}: has {channels} channels; convert it to mono or stereo")


def _all_frames(file: Any, dtype: str) -> NDArray[Any]:
    """All that is there, block by block: a broken header may claim more frames than memory holds."""
    blocks = [file.read(_BLOCK_FRAMES, dtype=dtype, always_2d=True)]
    while len(blocks[-1]) == _BLOCK_FRAMES:
        blocks.append(file.read(_BLOCK_FRAMES, dtype=dtype, always_2d=True))
    return np.concatenate(blocks)


def _from_float(path: Path, table: NDArray[Any], *, is_float: bool, rate_hz: int) -> tuple[NDArray[np.int16], int, int]:
    bad = int(np.count_nonzero(~np.isfinite(table)))
    if bad:
        raise AudioError(f"{path}: {bad} samples are not numbers (NaN or infinite); export it again")
    # A lossy decoder overshoots full scale by a little on any loud file: only float formats are told about it.
    clipped = int(np.count_nonzero(np.abs(table) > 1.0)) if is_float else 0
    return to_int16(table * 32768), rate_hz, clipped


def _channel_of(path: Path, table: NDArray[np.int16], channel: Channel | None) -> Samples:
    count = table.shape[1]
    if count > 2:
        raise AudioError(f"{path}: has {count} channels; convert it to mono or stereo")
    if count == 1:
        if channel == "right":
            raise AudioError(f"{path}: has one channel, so there is no right one; leave the channel out")
        return np.ascontiguousarray(table[:, 0])
    if channel is None:
        raise ChannelError(f"{path}: has two channels; choose left, right or mix")
    if channel == "mix":
        return _mixed(path, table)
    return np.ascontiguousarray(table[:, 0 if channel == "left" else 1])


def _mixed(path: Path, table: NDArray[np.int16]) -> Samples:
    mixed = to_int16(table.sum(axis=1, dtype=np.int64) / 2)
    loudest = max(rms_dbfs(np.ascontiguousarray(table[:, i])) for i in range(2))
    if rms_dbfs(mixed) < loudest - MIX_LOSS_DB:
        raise AudioError(f"{path}: its channels cancel each other out when mixed; choose left or right")
    return mixed
