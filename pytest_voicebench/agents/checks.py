"""Whether what an agent's author wrote keeps to the protocol: one line for each thing that does not."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, get_args

import numpy as np

from pytest_voicebench.agents.protocol import (
    AgentAudio,
    AgentEvent,
    Fault,
    ToolCall,
    ToolCancelled,
    ToolRan,
    Transcript,
    TurnEnd,
    Usage,
)
from pytest_voicebench.audio import Audio

MIN_RATE_HZ = 8_000
MAX_RATE_HZ = 192_000

_LINE_METHODS = ("send", "receive", "answer", "played", "inject")
_EVENTS = get_args(AgentEvent)


def line_flaw(line: object) -> str | None:
    """What is wrong with the object that connect() gave, or None."""
    missing = [name for name in _LINE_METHODS if not callable(getattr(line, name, None))]
    if missing:
        return f"the line has no {missing[0]}(): a line needs {', '.join(_LINE_METHODS)}"
    return None


def usage_while_closing(line: Any) -> dict[str, float]:
    """`closing_usage` of a line, where it has one that counts; what is no finite number is left out."""
    told = getattr(line, "closing_usage", None)
    counts = told.items() if isinstance(told, dict) else ()
    return {name: value for name, value in counts if isinstance(name, str) and is_count(value)}


def event_flaw(event: Any) -> str | None:
    """What is wrong with an event that receive() gave, or None."""
    if not isinstance(event, _EVENTS):
        return f"receive() gave a {type(event).__name__}, which is no event: see pytest_voicebench.agents.protocol"
    if isinstance(event, AgentAudio):
        flaw = audio_flaw(event.audio)
        return f"AgentAudio: {flaw}" if flaw else None
    return _text_flaw(event)


def _text_flaw(event: Any) -> str | None:
    """What is wrong with the texts and numbers of an event, or None."""
    match event:
        case ToolCall(call_id=str(), name=str(), arguments=str() | dict(), response_id=str() | None):
            return None
        case ToolCall():
            return "ToolCall: call_id and name must be text, arguments JSON text or a dict, response_id text or None"
        case ToolRan(call_id=str(), name=str(), arguments=str() | dict(), took_s=took_s) if took_s is None or is_count(
            took_s
        ):
            return None
        case ToolRan():
            return (
                "ToolRan: call_id and name must be text, arguments JSON text or a dict, took_s a finite number or None"
            )
        case ToolCancelled(call_ids=call_ids) if not all(isinstance(c, str) for c in call_ids):
            return "ToolCancelled: call_ids must be texts"
        case Transcript(text=text, speaker=speaker) if not isinstance(text, str) or speaker not in ("user", "agent"):
            return f"Transcript: text must be text and speaker user or agent, not {speaker!r}"
        case TurnEnd(response_id=response_id) if not isinstance(response_id, str | None):
            return f"TurnEnd: response_id must be text or None, not {response_id!r}"
        case Usage(counts=counts) if not all(
            isinstance(name, str) and is_count(value) for name, value in counts.items()
        ):
            return "Usage: counts must be finite numbers by name"
        case Fault(kind=kind, message=message) if kind not in ("infrastructure", "agent") or not isinstance(
            message, str
        ):
            return f"Fault: kind must be infrastructure or agent and message text, not {kind!r}"
    return None


def is_count(value: Any) -> bool:
    """Whether it is a finite number: JSON has no infinity, but Python reads it, and integers that no float can hold."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def audio_flaw(audio: Any) -> str | None:
    """What is wrong with a sound that is to be played, or None."""
    if not isinstance(audio, Audio):
        return f"audio must be an Audio, not {type(audio).__name__}"
    samples = audio.samples
    if not isinstance(samples, np.ndarray) or samples.dtype != np.int16:
        kind = samples.dtype.name if isinstance(samples, np.ndarray) else type(samples).__name__
        return f"samples must be int16, not {kind} (from -1..1: (x * 32767).astype('int16'))"
    if samples.ndim != 1:
        return f"samples must be mono, one number each, not of shape {samples.shape}"
    if not isinstance(audio.rate_hz, int) or not MIN_RATE_HZ <= audio.rate_hz <= MAX_RATE_HZ:
        return f"rate_hz must be a whole number of {MIN_RATE_HZ} to {MAX_RATE_HZ}, not {audio.rate_hz!r}"
    return None
