"""The shapes in which one session is asked for: OpenAI's of today, the one before it, and Grok's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_voicebench.agents.briefing import briefing, function_tools
from pytest_voicebench.agents.protocol import Setup
from pytest_voicebench.audio import RATE_HZ

Json = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a session shall be like; `turn_detection` holds its kind under that name, and the kind's parameters."""

    voice: str
    turn_detection: Mapping[str, Json]
    transcription: str | None

    def detection(self) -> dict[str, Json]:
        """Turn detection as the API names it."""
        rest = {k: v for k, v in self.turn_detection.items() if k != "turn_detection"}
        return {"type": self.turn_detection["turn_detection"], **rest}

    def recogniser(self) -> dict[str, Json] | None:
        """Transcription of the user; None turns it off."""
        return {"model": self.transcription} if self.transcription else None


def _ga(asked: Asked, setup: Setup) -> dict[str, Json]:
    return {
        "type": "realtime",
        "output_modalities": ["audio"],
        "instructions": briefing(setup),
        "tools": function_tools(setup),
        "tool_choice": "auto",
        "audio": {
            "input": {
                "format": {"type": "audio/pcm", "rate": RATE_HZ},
                "transcription": asked.recogniser(),
                "noise_reduction": None,
                "turn_detection": {**asked.detection(), "create_response": True, "interrupt_response": True},
            },
            "output": {"format": {"type": "audio/pcm", "rate": RATE_HZ}, "voice": asked.voice},
        },
    }


def _beta(asked: Asked, setup: Setup) -> dict[str, Json]:
    return {
        "modalities": ["text", "audio"],
        "instructions": briefing(setup),
        "tools": function_tools(setup),
        "tool_choice": "auto",
        "voice": asked.voice,
        "input_audio_format": "pcm16",
        "output_audio_format": "pcm16",
        "input_audio_transcription": asked.recogniser(),
        "turn_detection": {**asked.detection(), "create_response": True, "interrupt_response": True},
    }


def _grok(asked: Asked, setup: Setup) -> dict[str, Json]:
    pcm = {"type": "audio/pcm", "rate": RATE_HZ}
    return {
        "voice": asked.voice,
        "instructions": briefing(setup),
        "tools": function_tools(setup),
        "turn_detection": asked.detection(),
        "audio": {
            "input": {"format": pcm, "transcription": asked.recogniser(), "transport": "json"},
            "output": {"format": pcm, "transport": "json"},
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one kind of server is spoken to."""

    session: Callable[[Asked, Setup], dict[str, Json]]
    headers: Mapping[str, str] = field(default_factory=dict)
    turn_detections: tuple[str, ...] = ("server_vad", "semantic_vad")


DIALECTS: Mapping[str, Dialect] = {
    "ga": Dialect(session=_ga),
    "beta": Dialect(session=_beta, headers={"OpenAI-Beta": "realtime=v1"}),
    "grok": Dialect(session=_grok, turn_detections=("server_vad",)),
}


def session_update(dialect: str, asked: Asked, setup: Setup) -> dict[str, Json]:
    """The client event that makes the session as asked."""
    return {"type": "session.update", "session": DIALECTS[dialect].session(asked, setup)}


_OLD_NAMES: Mapping[str, str] = {
    "response.audio.delta": "response.output_audio.delta",
    "response.audio.done": "response.output_audio.done",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.audio_transcript.done": "response.output_audio_transcript.done",
    "response.text.done": "response.output_text.done",
}


def current_name(kind: str) -> str:
    """Today's name of a server event; servers mix the old and the new ones, so both are read in every dialect."""
    return _OLD_NAMES.get(kind, kind)


def differences(asked: Mapping[str, Json], echoed: Json) -> list[str]:
    """Where a session, as the server says it is, differs from what was asked; what it does not say is no difference.

    `null` is something said: a setting that was asked for is off, or one that was asked to be off is not.
    """
    found: list[str] = []
    if isinstance(echoed, Mapping):
        _compare(asked, echoed, "", found)
    return found


def _compare(asked: Mapping[str, Json], echoed: Mapping[str, Json], place: str, found: list[str]) -> None:
    for name, value in asked.items():
        if name not in echoed:
            continue
        told, where = echoed[name], f"{place}{name}"
        if isinstance(value, Mapping) and isinstance(told, Mapping) and not _is_off(told):
            _compare(value, told, f"{where}.", found)
        elif (flaw := _flaw(name, value, told)) is not None:
            found.append(f"{where}{flaw}"[:200])


def _flaw(name: str, asked: Json, told: Json) -> str | None:
    """How one setting differs, to be said after its name; None where it does not."""
    if (_is_off(asked) and _is_off(told)) or asked == told:
        return None
    if name == "tools" and isinstance(asked, list) and isinstance(told, list):
        return None if _names(told) == _names(asked) else f": {len(told)} instead of {len(asked)}"
    if isinstance(asked, list) and isinstance(told, list) and _in_order(asked) == _in_order(told):
        return None
    return " was changed" if name == "instructions" else f" {told!r} instead of {asked!r}"


def _is_off(value: Json) -> bool:
    """Some servers write `{"type": null}` for nothing."""
    return value in (None, [], {}) or (isinstance(value, Mapping) and value.get("type", "") is None)


def _in_order(values: list[Json]) -> list[str]:
    return sorted(map(str, values))


def _names(tools: list[Json]) -> list[str]:
    return _in_order([t.get("name") for t in tools if isinstance(t, Mapping)])
