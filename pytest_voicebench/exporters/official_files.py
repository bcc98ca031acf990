"""The two JSON files of the official layout: what a scenario is, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pytest_voicebench.conversation import Call, Conversation, to_seconds
from pytest_voicebench.importers.labels import OUR_KEY, known_words
from pytest_voicebench.metrics.official_record import logged_calls, official_record
from pytest_voicebench.result import Result
from pytest_voicebench.scenario import Scenario

NOT_HELD, NOT_MEASURED, COMPLETED = "inference_failed", "inference_error", "completed"

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What an item's scenario asks for: the user's words ("" where unknown) and the calls, as (tool, arguments)."""

    said: str
    calls: tuple[tuple[str, Mapping[str, Json]], ...]
    latency_profile: str = "instant"
    has_mentions: bool = False


def expected_of(scenario: Scenario) -> Expected:
    """As the scenario has it."""
    return Expected(
        said=known_words(scenario.stimulus_text),
        calls=tuple((call.tool, call.args) for call in scenario.expect.calls),
        latency_profile=scenario.latency_profile or "instant",
        has_mentions=bool(scenario.expect.mentions),
    )


def expected_by_scores(result: Result, held: Conversation | None) -> Expected | None:
    """As a result's scores have it, references resolved; None where it was not scored."""
    if result.scorecard is None:
        return None
    said = known_words("\n".join(u.text for u in held.utterances)) if held else ""
    calls = tuple((pair.tool, {a.name: a.expected for a in pair.arguments}) for pair in result.scorecard.pairs)
    return Expected(said=said, calls=calls, has_mentions="mentions" in result.scorecard.diagnostics)


def metadata(result: Result, expected: Expected) -> Json:
    """metadata.json. `ai` is empty: we write no reference answers."""
    facts = result.facts
    return {
        "id": facts.scenario_id,
        "domain": facts.domain or "",
        "title": facts.title,
        "difficulty": facts.difficulty or "",
        "dialogue": [{"user": expected.said, "user_annotated": expected.said, "ai": ""}],
        "acting_notes": "",
        "disfluency_features": [word.upper() for word in facts.disfluency],
        "expected_tool_calls": [{"function": tool, "args": dict(args)} for tool, args in expected.calls],
        "num_expected_calls": len(expected.calls),
        "state_rollback_test": facts.state_rollback,
        "latency_profile": expected.latency_profile,
        OUR_KEY: {
            "stimulus": facts.stimulus,
            "suite": facts.suite,
            "known_issue": facts.known_issue,
            "has_retraction": facts.has_retraction,
            "has_mentions": expected.has_mentions,
        },
    }


def result_json(
    result: Result, held: Conversation | None, *, speaker: str, provider: str, said: str, started_at: Json
) -> Json:
    """result_<provider>.json with all keys of the official scripts, times by their rules; unknown ones are null.

    One key more, `voicebench`, holds what the layout has no place for; `import fdb3-results` reads it.
    """
    return {
        "pid": speaker,
        "example_id": result.facts.scenario_id,
        "category": result.facts.domain or "",
        "title": result.facts.title,
        "provider": provider,
        "evaluated_at": started_at if isinstance(started_at, str) else None,
        "inference_time_s": result.duration_s,
        "room_name": "",
        "input_transcript": _user_transcript(held, said),
        "input_asr_chunks": _user_chunks(held),
        **_measured(result, held, _unix(started_at)),
        "status": _status(result, held),
    }


def _measured(result: Result, held: Conversation | None, began: float | None) -> dict[str, Json]:
    """What the conversation gives, as the official scripts would have written it down."""
    record = official_record(held) if held else None
    logged, others = _calls(held)
    end_s = record.user_end_s if record else None
    return {
        "stream_start_time": began,
        "user_speech_end_rel": end_s,
        "latency": {
            "input_duration_s": result.duration_s,
            "output_duration_s": result.duration_s,
            "first_speech_s": record.agent_start_s if record else None,
        },
        "user_done_unix": None if began is None or end_s is None else began + end_s,
        "audio_agent_speech_start": record.agent_start_s if record else None,
        "transcript": record.transcript if record else "",
        "asr_chunks": [_chunk(*word) for word in record.words] if record else [],
        "actual_tool_calls": logged,
        OUR_KEY: {
            "scenario_sha256": result.facts.scenario_sha256,
            "clock": result.agent.clock,
            "transcript_source": held.transcript_source if held else None,
            "rejected_calls": others,
        },
    }


def _status(result: Result, held: Conversation | None) -> str:
    if held is not None and held.reported is not None:
        return held.reported.status
    if result.outcome in ("passed", "failed"):
        return COMPLETED
    return NOT_MEASURED if held else NOT_HELD


def _calls(held: Conversation | None) -> tuple[list[Json], list[Json]]:
    """The official log, and the calls that it would not hold, each with its place among all.

    A rejected call never reached a tool, so no tool logged it; a cancelled one never was.
    """
    logged: list[Json] = []
    others: list[Json] = []
    if held is None:
        return logged, others
    starts = held.reported.call_starts_s if held.reported else ()
    raw = iter(starts) if len(starts) == sum(call.self_reported for call in held.calls) else iter(())
    official = {id(call) for call in logged_calls(held)}
    for place, call in enumerate(call for call in held.calls if call.status != "cancelled"):
        entry = _call(call, next(raw, None) if call.self_reported else None)
        if id(call) in official:
            logged.append(entry)
        else:
            others.append({"place": place, **entry})
    return logged, others


def _call(call: Call, raw_start_s: float | None) -> Json:
    start_s = raw_start_s if raw_start_s is not None else (to_seconds(call.at_ticks) if call.timed else None)
    end_s = None if call.finished_ticks is None else to_seconds(call.finished_ticks)
    ours = {"status": call.status, "reason": call.reason, "result": call.result, "text": call.arguments_text}
    if call.answered_ticks is not None:
        ours["answered_s"] = to_seconds(call.answered_ticks)
    return {
        "function": call.name,
        "args": dict(call.arguments),
        "timestamp_start": start_s,
        "timestamp_end": end_s,
        OUR_KEY: {key: value for key, value in ours.items() if value is not None},
    }


def _user_transcript(held: Conversation | None, said: str) -> str:
    """What a recogniser made of the user where one listened, else the scenario's words."""
    reported = held.reported.user_transcript if held is not None and held.reported is not None else None
    return said if reported is None else reported


def _user_chunks(held: Conversation | None) -> list[Json]:
    if held is None:
        return []
    if held.reported is not None:
        return [_chunk(*word) for word in held.reported.user_words]
    return [
        _chunk(word.text, to_seconds(word.start_ticks), to_seconds(word.end_ticks))
        for utterance in held.utterances
        for word in utterance.words
    ]


def _chunk(text: str, start_s: float | None, end_s: float | None) -> Json:
    return {"text": text, "timestamp": [start_s, end_s]}


def _unix(started_at: Json) -> float | None:
    try:
        return datetime.fromisoformat(started_at).timestamp() if isinstance(started_at, str) else None
    except (ValueError, OverflowError, OSError):
        return None
