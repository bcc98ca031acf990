"""One `result_<provider>.json` of the official scripts, read without believing any of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_voicebench.conversation import Reported, TranscriptSource
from pytest_voicebench.importers.call_shapes import read_call
from pytest_voicebench.importers.labels import OUR_KEY
from pytest_voicebench.importers.release import read_json_object

_MOST_S = 1e11  # a date in milliseconds is still a number; beyond it nothing is meant

Json = Any
TimedText = tuple[str, float | None, float | None]


class StaleResult(ValueError):  # noqa: N818 - says what is the case
    """A result file that belongs to something else than the folder it lies in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCall:
    """One entry of `actual_tool_calls`. `arguments` is None where they are no object; `text` is then what stood there.

    What our own export adds: `status`, `result`, `reason`, `answered_s`, and `is_logged`, False for a call that the
    official log would not hold.
    """

    name: str
    arguments: Mapping[str, Json] | None
    text: str | None
    start_s: float | None
    end_s: float | None
    status: str | None = None
    reason: str | None = None
    result: Json = None
    answered_s: float | None = None
    is_logged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """A result file's content: `reported` raw, calls in the order logged, and how long it says its streams were.

    `calls` is None where the file has none to show (not even an empty list). `transcript_source` is `recognised`, as
    with the official scripts, unless our own export says that the words are the provider's.
    """

    reported: Reported
    calls: tuple[ReportedCall, ...] | None
    input_duration_s: float | None
    output_duration_s: float | None
    scenario_sha256: str | None = None
    transcript_source: TranscriptSource = "recognised"


def read_result_file(path: Path, *, provider: str, scenario_id: str, speaker: str) -> ResultFile:
    """What a result file says. Raises ValueError, one line: unreadable, broken; StaleResult: of something else.

    Values of another type than expected are read as absent.
    """
    data = read_json_object(path)
    _check_fit(data, provider, scenario_id, speaker)
    latency, ours = _mapping(data.get("latency")), _mapping(data.get(OUR_KEY))
    logged = data.get("actual_tool_calls")
    calls = tuple(_call(entry) for entry in logged) if isinstance(logged, list) else None
    reported = Reported(
        provider=_text(data.get("provider")) or provider,
        status=_text(data.get("status")),
        user_end_s=_number(data.get("user_speech_end_rel")),
        agent_start_s=_number(data.get("audio_agent_speech_start")),
        transcript=_text(data.get("transcript")),
        words=_words(data.get("asr_chunks")),
        user_words=_words(data.get("input_asr_chunks")),
        user_transcript=_text(data.get("input_transcript")) if "input_transcript" in data else None,
        call_starts_s=tuple(call.start_s for call in calls or ()),
    )
    return ResultFile(
        reported=reported,
        calls=None if calls is None else _with_rejected(calls, ours.get("rejected_calls")),
        input_duration_s=_length(latency.get("input_duration_s")),
        output_duration_s=_length(latency.get("output_duration_s")),
        scenario_sha256=_text(ours.get("scenario_sha256")) or None,
        transcript_source="provider" if ours.get("transcript_source") == "provider" else "recognised",
    )


def _check_fit(data: Mapping[str, Json], provider: str, scenario_id: str, speaker: str) -> None:
    for key, wanted in (("example_id", scenario_id), ("provider", provider), ("pid", speaker)):
        found = data.get(key)
        if found is None and key != "example_id":
            continue
        if found != wanted and not (key == "pid" and wanted in str(found)):
            raise StaleResult(f"its {key} is {str(found)[:60]!r}, not {wanted!r}: a result of something else")


def _call(entry: Json, *, is_logged: bool = True) -> ReportedCall:
    shaped = read_call(entry)
    if shaped is None:
        raise ValueError(f"a call of a shape that is not known: {json.dumps(entry)[:80]}")
    data = _mapping(entry)
    ours = _mapping(data.get(OUR_KEY))
    return ReportedCall(
        name=shaped.name,
        arguments=shaped.arguments,
        text=shaped.text or _text(ours.get("text")) or None,
        start_s=_number(data.get("timestamp_start")),
        end_s=_number(data.get("timestamp_end")),
        status=_text(ours.get("status")) or None,
        reason=_text(ours.get("reason")) or None,
        result=ours.get("result"),
        answered_s=_number(ours.get("answered_s")),
        is_logged=is_logged,
    )


def _with_rejected(calls: tuple[ReportedCall, ...], others: Json) -> tuple[ReportedCall, ...]:
    """The log with the calls that our export keeps beside it, each in its place."""
    found = list(calls)
    for entry in others if isinstance(others, list) else ():
        place = _mapping(entry).get("place")
        if isinstance(place, int) and 0 <= place <= len(found):
            found.insert(place, _call(entry, is_logged=False))
    return tuple(found)


def _words(value: Json) -> tuple[TimedText, ...]:
    return tuple(_word(entry) for entry in value if isinstance(entry, dict)) if isinstance(value, list) else ()


def _word(entry: Mapping[str, Json]) -> TimedText:
    times = entry.get("timestamp")
    start, end = times if isinstance(times, list) and len(times) == 2 else (None, None)
    return _text(entry.get("text")), _number(start), _number(end)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Json) -> float | None:
    """Seconds of any sign; 1.8e9 (a clock's time) is one, to be flagged by whoever uses it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_MOST_S <= value <= _MOST_S:
        return None
    return float(value)


def _length(value: Json) -> float | None:
    """A stream's length; 0 and less say nothing, and an hour is more than any."""
    found = _number(value)
    return found if found is not None and 0 < found <= 3600 else None
