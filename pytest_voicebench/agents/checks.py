"""Whether what an agent's author wrote keeps to the protocol: one line for each thing that does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_voicebench.agents import protocol
from pytest_voicebench.agents.protocol import AgentAudio, ToolCall, Transcript
from pytest_voicebench.audio import Audio

MIN_RATE_HZ = 8_000
MAX_RATE_HZ = 192_000

_LINE_METHODS = ("send", "receive", "answer", "played", "inject")
_EVENTS = (
    protocol.Ready,
    protocol.AgentAudio,
    protocol.PlaybackClear,
    protocol.ToolCall,
    protocol.ToolCancelled,
    protocol.Transcript,
    protocol.TurnEnd,
    protocol.Usage,
    protocol.Fault,
)


def line_flaw(line: object) -> str | None:
    """What is wrong with the object that connect() gave, or None."""
    missing = [name for name in _LINE_METHODS if not callable(getattr(line, name, None))]
    if missing:
        return f"the line has no {missing[0]}(): a line needs {', '.join(_LINE_METHODS)}"
    return None


def event_flaw(event: Any) -> str | None:
    """What is wrong with an event that receive() gave, or None."""
    if not isinstance(event, _EVENTS):
        return f"receive() gave a {type(event).__name__}, which is no event: see pytest_voicebench.agents.protocol"
    if isinstance(event, AgentAudio):
        return _audio_flaw(event.audio)
    if isinstance(event, ToolCall):
        if not isinstance(event.call_id, str) or not isinstance(event.name, str):
            return "ToolCall: call_id and name must be text"
        if not isinstance(event.arguments, str | dict):
            return f"ToolCall: arguments must be JSON text or a dict, not {type(event.arguments).__name__}"
    if isinstance(event, Transcript) and not isinstance(event.text, str):
        return f"Transcript: text must be text, not {type(event.text).__name__}"
    return None


def _audio_flaw(audio: Any) -> str | None:
    if not isinstance(audio, Audio):
        return f"AgentAudio: audio must be an Audio, not {type(audio).__name__}"
    samples = audio.samples
    if not isinstance(samples, np.ndarray) or samples.dtype != np.int16:
        kind = samples.dtype.name if isinstance(samples, np.ndarray) else type(samples).__name__
        return f"AgentAudio: samples must be int16, not {kind} (from -1..1: (x * 32767).astype('int16'))"
    if samples.ndim != 1:
        return f"AgentAudio: samples must be mono, one number each, not of shape {samples.shape}"
    if not isinstance(audio.rate_hz, int) or not MIN_RATE_HZ <= audio.rate_hz <= MAX_RATE_HZ:
        return f"AgentAudio: rate_hz must be a whole number of {MIN_RATE_HZ} to {MAX_RATE_HZ}, not {audio.rate_hz!r}"
    return None
