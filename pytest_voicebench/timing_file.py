"""The timing file beside a recording: where its speech and its words are, as JSON, one field a line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_voicebench.files import write_atomically
from pytest_voicebench.scenario import RoomTone, Timing

Source = Literal["synthesized", "aligned", "annotated"]
"""Where the times come from: known from synthesis, found by forced alignment, or set by a person."""

_DECIMALS = 5  # 10 microseconds: less than half a sample at every rate we read, so that samples come back exactly


class TimingFile(NamedTuple):
    """A timing file as read: the timing, where its times come from (None: it does not say), SHA-256 of its bytes."""

    timing: Timing
    source: str | None
    sha256: str


class TimingError(ValueError):
    """A timing file cannot be used; the text is one line with the path and what to do."""


def timing_path(audio_path: Path) -> Path:
    """The place of a recording's timing file: `x.ogg` has `x.json`."""
    return audio_path.with_suffix(".json")


def write_timing(path: Path, timing: Timing, source: Source) -> None:
    """Write a timing file, whole or not at all. Times are rounded to 10 microseconds; equal timings, equal bytes."""
    tone = timing.tone and {"seed": timing.tone.seed, "level_dbfs": timing.tone.level_dbfs}
    fields = {
        "audio_sha256": timing.audio_sha256,
        "rate_hz": timing.rate_hz,
        "source": source,
        "voice": timing.voice,
        "engine": timing.engine,
        "seed": timing.seed,
        "tone": tone,
        "speech": [[_rounded(a), _rounded(b)] for a, b in timing.speech],
        "words": [[text, _rounded(a), _rounded(b)] for text, a, b in timing.words],
        "unsure": list(timing.unsure),
    }
    lines = [f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=False, allow_nan=False)}" for k, v in fields.items()]
    write_atomically(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def read_timing(path: Path) -> Timing:
    """The timing that a file holds; raises as `read_timing_file`."""
    return read_timing_file(path).timing


def read_timing_file(path: Path) -> TimingFile:
    """All that a timing file holds.

    Raises TimingError where the file is missing, is not JSON, lacks a field, or its times are not in order.
    """
    try:
        written = path.read_bytes()
        data = json.loads(written)
    except OSError as error:
        raise TimingError(f"{path}: cannot read the timing file: {error.strerror}") from None
    except ValueError as error:
        raise TimingError(f"{path}: not a JSON file: {error}") from None
    try:
        timing = _timing_of(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        cause = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise TimingError(
            f"{path}: not a timing file: {cause}; make it again with `synthesize` or `annotate`"
        ) from None
    _check_order(path, timing)
    source = data.get("source")
    return TimingFile(timing, source if isinstance(source, str) else None, hashlib.sha256(written).hexdigest())


def _rounded(seconds: float) -> float:
    return round(float(seconds), _DECIMALS)


def _timing_of(data: dict[str, Any]) -> Timing:
    tone = data.get("tone")
    return Timing(
        audio_sha256=str(data["audio_sha256"]),
        rate_hz=int(data["rate_hz"]),
        speech=tuple((float(a), float(b)) for a, b in data["speech"]),
        words=tuple((str(text), float(a), float(b)) for text, a, b in data["words"]),
        voice=data.get("voice"),
        engine=data.get("engine"),
        seed=data.get("seed"),
        unsure=tuple(int(i) for i in data.get("unsure", ())),
        tone=RoomTone(seed=int(tone["seed"]), level_dbfs=float(tone["level_dbfs"])) if tone else None,
    )


def _check_order(path: Path, timing: Timing) -> None:
    for name, spans in (("speech", timing.speech), ("words", [(a, b) for _, a, b in timing.words])):
        before = 0.0
        for start, end in spans:
            if not before <= start <= end < float("inf"):
                raise TimingError(f"{path}: {name}: {start} to {end} s does not follow {before} s; times must ascend")
            before = start if name == "words" else end
    if any(not 0 <= i < len(timing.words) for i in timing.unsure):
        raise TimingError(f"{path}: unsure: names a word that is not there ({len(timing.words)} words)")
