"""The timing file beside a recording: where its speech and its words are, as JSON, one field a line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_voicebench.counted import counted
from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.scenario import RoomTone, Timing
from pytest_voicebench.timeline import MAX_RECORDED_HZ, MIN_RECORDED_HZ

Source = Literal["synthesized", "aligned", "annotated", "detected"]
"""Where the times come from: known from synthesis, found by forced alignment, set by a person, or speech detected."""

_DECIMALS = 5  # 10 microseconds: less than half a sample at every rate we read, so that samples come back exactly

MIN_TONE_DBFS = -120.0

Json = Any


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
        written = read_file(path)
        data = json.loads(written)
    except OSError as error:
        raise TimingError(f"{path}: cannot read the timing file: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
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


def _timing_of(data: dict[str, Json]) -> Timing:
    """Raises KeyError for a field that is missing, ValueError or TypeError for one of another form."""
    tone = data.get("tone")
    return Timing(
        audio_sha256=_text("audio_sha256", data["audio_sha256"]),
        rate_hz=_whole("rate_hz", data["rate_hz"], least=MIN_RECORDED_HZ, most=MAX_RECORDED_HZ),
        speech=tuple((_number("speech", a), _number("speech", b)) for a, b in data["speech"]),
        words=tuple((_text("words", t), _number("words", a), _number("words", b)) for t, a, b in data["words"]),
        voice=_text_or_none("voice", data.get("voice")),
        engine=_text_or_none("engine", data.get("engine")),
        seed=None if data.get("seed") is None else _whole("seed", data["seed"], least=0),
        unsure=tuple(_whole("unsure", i, least=0) for i in data.get("unsure", ())),
        tone=None if tone is None else _tone_of(tone),
    )


def _tone_of(tone: dict[str, Json]) -> RoomTone:
    level_dbfs = _number("tone.level_dbfs", tone["level_dbfs"])
    if not MIN_TONE_DBFS <= level_dbfs <= 0:
        raise ValueError(f"tone.level_dbfs: expected a number from {MIN_TONE_DBFS:g} to 0, got {level_dbfs:g}")
    return RoomTone(seed=_whole("tone.seed", tone["seed"], least=0), level_dbfs=level_dbfs)


def _whole(name: str, value: Json, *, least: int, most: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name}: expected a whole number, got {_shown(value)}")
    if value < least or (most is not None and value > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}: expected a whole number {bounds}, got {_shown(value)}")
    return value


def _number(name: str, value: Json) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"{name}: expected a number, got {_shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name}: the number is too large") from None


def _text(name: str, value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected text, got {_shown(value)}")
    return value


def _text_or_none(name: str, value: Json) -> str | None:
    return None if value is None else _text(name, value)


def _shown(value: Json) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _check_order(path: Path, timing: Timing) -> None:
    for name, spans in (("speech", timing.speech), ("words", [(a, b) for _, a, b in timing.words])):
        before = 0.0
        for start, end in spans:
            if not before <= start <= end < float("inf"):
                raise TimingError(f"{path}: {name}: {start} to {end} s does not follow {before} s; times must ascend")
            if name == "speech" and start == end:
                raise TimingError(f"{path}: speech: {start} to {end} s has no length")
            before = start if name == "words" else end
    if any(not 0 <= i < len(timing.words) for i in timing.unsure):
        raise TimingError(f"{path}: unsure: names a word that is not there ({counted(len(timing.words), 'word')})")
