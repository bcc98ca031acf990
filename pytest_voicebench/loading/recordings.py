"""Recordings and their timing files: there, readable, and made for each other. Headers only: nothing is decoded."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pytest_voicebench.loading.mistakes import Report, quoted
from pytest_voicebench.scenario import Timing
from pytest_voicebench.timing_file import TimingError, read_timing, timing_path

_SLACK_S = 0.001  # times in the file are rounded


class Recordings:
    """Checks each recording once, whoever names it."""

    def __init__(self) -> None:
        self._seen: dict[Path, Timing | str] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def timing(self, path: Path, line: int, where: str, report: Report) -> Timing | None:
        """The timing of a recording, or None and a mistake in the line that names it."""
        found = self._seen.get(path)
        if found is None:
            found = self._seen[path] = _check(path)
        if isinstance(found, str):
            report.add(line, where, found)
            return None
        return found


def _check(path: Path) -> Timing | str:
    """The timing, or what is wrong. The name in messages is the file's, not its whole path."""
    name = quoted(path.name)
    beside = timing_path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    header = _vorbis_header(data) or _header(path)
    if isinstance(header, str):
        return f"{name} {header}"
    make = f"make it with: python -m pytest_voicebench annotate {path}"
    if not beside.is_file():
        return f"{name} has no timing file {quoted(beside.name)}; {make}"
    try:
        timing = read_timing(beside)
    except TimingError as error:
        return str(error).replace(str(beside), beside.name)
    if timing.audio_sha256 != hashlib.sha256(data).hexdigest():
        return f"{quoted(beside.name)} was made for another recording (its audio_sha256 is not {name}'s); {make}"
    return _check_times(timing, *header, name=beside.name) or timing


def _vorbis_header(data: bytes) -> tuple[int, float] | None:
    """Rate and length of an ordinary mono or stereo Ogg Vorbis file, the suites' format; None for all else.

    libsndfile sets up the whole decoder to tell these two (0.9 ms a file, most of the time of a large collection). Here
    they are read where RFC 3533 and the Vorbis I specification put them: the rate in the identification packet of the
    first page, the number of samples in the granule position of the last page.
    """
    last = data.rfind(b"OggS")
    if not data.startswith(b"OggS") or data[28:35] != b"\x01vorbis" or last < 58 or len(data) < last + 27:
        return None
    if data[last + 14 : last + 18] != data[14:18] or not data[last + 5] & 4:  # another stream, or not its last page
        return None
    rate_hz = int.from_bytes(data[40:44], "little")
    frames = int.from_bytes(data[last + 6 : last + 14], "little", signed=True)
    return (rate_hz, frames / rate_hz) if rate_hz > 0 and frames > 0 else None


def _header(path: Path) -> tuple[int, float] | str:
    """Rate in Hz and length in seconds as the file's header says, or what is wrong with it."""
    import soundfile

    try:
        info = soundfile.info(str(path))
    except (soundfile.SoundFileError, OSError, RuntimeError) as error:
        text = getattr(error, "error_string", "") or str(error)
        return f"is no readable audio: {text.strip().rstrip('.')}"
    if info.frames <= 0 or info.samplerate <= 0:
        return "holds no sound"
    return info.samplerate, info.frames / info.samplerate


def _check_times(timing: Timing, rate_hz: int, duration_s: float, *, name: str) -> str | None:
    if timing.rate_hz != rate_hz:
        return f"{quoted(name)} says {timing.rate_hz} Hz, the recording has {rate_hz} Hz"
    if not timing.speech:
        return f"{quoted(name)} has no speech"
    end_s = max([timing.speech[-1][1], *(end for _, _, end in timing.words)])
    if end_s > duration_s + _SLACK_S:
        return f"{quoted(name)} has speech up to {end_s:g} s, the recording ends at {duration_s:.3f} s"
    return None
