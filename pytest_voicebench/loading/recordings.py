"""Recordings and their timing files: there, readable, and made for each other. Nothing is decoded where all is well."""

from __future__ import annotations

import hashlib
from pathlib import Path
from stat import S_ISREG
from typing import Literal, NamedTuple

from pytest_voicebench.loading.folder import Folder
from pytest_voicebench.loading.mistakes import Report, quoted
from pytest_voicebench.scenario import Step, Timing
from pytest_voicebench.timeline import MAX_RECORDED_HZ, MIN_RECORDED_HZ
from pytest_voicebench.timing_file import TimingError, TimingFile, read_timing_file, timing_path

MAX_AUDIO_BYTES = 200_000_000
MAX_TIMING_BYTES = 2_000_000
_SLACK_S = 0.001  # times in the file are rounded


class Length(NamedTuple):
    """Rate and duration of a recording."""

    rate_hz: int
    seconds: float


class Place(NamedTuple):
    """A recording, its timing file where that does not lie beside it, and the channel of one that has two."""

    audio: Path
    timing_file: Path | None = None
    channel: Literal["left", "right", "mix"] | None = None


class Recordings:
    """Checks each recording once, whoever names it. `folder` is where their paths lead; None: it is not there."""

    def __init__(self, folder: Folder | None) -> None:
        self.folder = folder
        self._seen: dict[Place, TimingFile | str] = {}

    def timing(self, place: Place, line: int, where: str, report: Report) -> Timing | None:
        """The timing of a recording, or None and a mistake in the line that names it."""
        found = self._seen.get(place)
        if found is None:
            found = self._seen[place] = _check(place)
        if isinstance(found, str):
            report.add(line, where, found)
            return None
        return found.timing

    def digest(self, step: Step) -> str | None:
        """SHA-256 of a recording's timing file, which holds the recording's own; None where it was not read."""
        if not isinstance(step.audio, Path):
            return None
        found = self._seen.get(Place(step.audio, step.timing_file, step.channel))
        return found.sha256 if isinstance(found, TimingFile) else None

    def synthesized(self) -> dict[Path, str]:
        """The recordings that no person spoke, each with what its timing file says of its making."""
        files = {place.audio: file for place, file in self._seen.items() if isinstance(file, TimingFile)}
        found = {path: _made_by(file) for path, file in files.items()}
        return {path: how for path, how in found.items() if how is not None}


def _made_by(file: TimingFile) -> str | None:
    timing = file.timing
    if timing.engine is not None:
        return f"engine: {timing.engine}"
    if timing.voice is not None:
        return f"voice: {timing.voice}"
    return "source: synthesized" if file.source == "synthesized" else None


def _check(place: Place) -> TimingFile | str:
    """The timing file, or what is wrong. Messages name the file, not its whole path."""
    path = place.audio
    try:
        if path.stat().st_size > MAX_AUDIO_BYTES:
            return f"{quoted(path.name)} is larger than {MAX_AUDIO_BYTES:,} bytes"
        data = path.read_bytes()
    except OSError as error:
        return f"{quoted(path.name)} cannot be read: {error.strerror}"
    beside = place.timing_file or timing_path(path)
    file = _timing_file(path, beside)
    ends_s = 0.0 if isinstance(file, str) else _end_s(file.timing)
    length = _length(path, data, ends_s, place.channel)
    if isinstance(length, str):
        return length
    if isinstance(file, str):
        return file
    return _misfit(path, quoted(beside.name), file.timing, length, hashlib.sha256(data).hexdigest()) or file


def _misfit(path: Path, beside: str, timing: Timing, length: Length, sha256: str) -> str | None:
    """How a timing file, named `beside`, does not fit its recording."""
    if timing.audio_sha256 != sha256:
        return f"{beside} was made for another recording (its audio_sha256 is not {quoted(path.name)}'s){_make(path)}"
    if timing.rate_hz != length.rate_hz:
        return f"{beside} says {timing.rate_hz} Hz, the recording has {length.rate_hz} Hz"
    if not timing.speech:
        return f"{beside} has no speech"
    if _end_s(timing) > length.seconds + _SLACK_S:
        return f"{beside} has speech up to {_end_s(timing):g} s, the recording ends at {length.seconds:.3f} s"
    return None


def _make(path: Path) -> str:
    return f"; make it with: python -m pytest_voicebench annotate {path}"


def _timing_file(path: Path, beside: Path) -> TimingFile | str:
    try:
        status = beside.stat()
    except (OSError, ValueError):
        status = None
    if status is None or not S_ISREG(status.st_mode):
        return f"{quoted(path.name)} has no timing file {quoted(beside.name)}{_make(path)}"
    if status.st_size > MAX_TIMING_BYTES:
        return f"{quoted(beside.name)} is larger than {MAX_TIMING_BYTES:,} bytes{_make(path)}"
    try:
        return read_timing_file(beside)
    except TimingError as error:
        return str(error).replace(str(beside), beside.name)
    except (RecursionError, OverflowError) as error:
        return f"{beside.name}: not a timing file: {error}"


def _end_s(timing: Timing) -> float:
    return max([end for _, end in timing.speech[-1:]] + [end for _, _, end in timing.words], default=0.0)


def _length(path: Path, data: bytes, ends_s: float, channel: Literal["left", "right", "mix"] | None) -> Length | str:
    """Rate and duration, or what is wrong with the sound.

    Headers are believed where they fit what the timing file needs; else the whole file is read, as it will be when it
    is played, which repairs headers that lie and says what is wrong with the others.
    """
    length = _vorbis_length(data) or _header_length(path, channel is not None)
    if length is not None and _is_believed(length, ends_s):
        return length
    from pytest_voicebench.audio_files import AudioError, ChannelError, read_audio

    try:
        audio = read_audio(path, channel=channel).audio
    except ChannelError:
        return f"{path.name}: has two channels; say which is the user's, beside audio: channel: left, right or mix"
    except AudioError as error:
        return str(error).replace(str(path), path.name)
    return Length(audio.rate_hz, audio.duration_s)


def _is_believed(length: Length, ends_s: float) -> bool:
    """Other rates are refused when the file is read."""
    return MIN_RECORDED_HZ <= length.rate_hz <= MAX_RECORDED_HZ and length.seconds + _SLACK_S >= ends_s


def _vorbis_length(data: bytes) -> Length | None:
    """Rate and length of an ordinary mono Ogg Vorbis file, the suites' format; None for all else.

    libsndfile sets up the whole decoder to tell these two (0.8 ms a file, most of the time of a large collection). Here
    they are read where RFC 3533 and the Vorbis I specification put them: the rate in the identification packet of the
    first page, the number of samples in the granule position of the last page.
    """
    last = data.rfind(b"OggS")
    if not data.startswith(b"OggS") or data[28:35] != b"\x01vorbis" or data[39:40] != b"\x01" or last < 58:
        return None
    if data[last + 14 : last + 18] != data[14:18] or len(data) < last + 27 or not data[last + 5] & 4:
        return None  # of another stream, or not its last page
    rate_hz = int.from_bytes(data[40:44], "little")
    frames = int.from_bytes(data[last + 6 : last + 14], "little", signed=True)
    return Length(rate_hz, frames / rate_hz) if rate_hz > 0 and frames > 0 else None


def _header_length(path: Path, is_channel_chosen: bool) -> Length | None:
    """Rate and length of a file as its header says; None where it is no sound, or holds none.

    None also where it is not mono, unless it is stereo and somebody has said which channel counts.
    """
    import soundfile

    try:
        info = soundfile.info(str(path))
    except (soundfile.SoundFileError, OSError, RuntimeError):
        return None
    if info.channels != (2 if is_channel_chosen else 1) or info.frames <= 0 or info.samplerate <= 0:
        return None
    return Length(info.samplerate, info.frames / info.samplerate)
