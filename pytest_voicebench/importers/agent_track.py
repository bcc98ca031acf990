"""An agent's recording on the session's clock, or why it cannot be laid there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from pytest_voicebench.audio import RATE_HZ, Samples, resample, rms_dbfs
from pytest_voicebench.audio_files import AudioError, ChannelError, read_audio
from pytest_voicebench.speech import SPEECH_DBFS

SHORT_S = 1.0
SHORT_SHARE = 0.02
"""A track that lacks more than this of the session does not begin where the session begins, for all we know."""

TAIL_S = 0.2
"""An agent that is audible so close to the end was cut off."""

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTrack:
    """Samples at 24 kHz from the session's start; `truncated` where the agent was speaking when they end."""

    samples: Samples
    truncated: bool
    warnings: tuple[str, ...] = ()


def read_agent_track(path: Path, side: Side | None, session_s: float | None) -> AgentTrack:
    """The agent's channel of a recording. Raises AudioError, one line, where it cannot be used.

    Two channels need `side`; they share a clock, so their length is the session's. A file of one channel holds the
    agent alone; where it is shorter than the session (the user's recording) nobody knows when it began.
    """
    is_session = False
    try:
        file = read_audio(path)
    except ChannelError:
        if side is None:
            raise ChannelError(
                f"{path.name}: has two channels; say which is the agent's: --agent-channel left or right"
            ) from None
        file, is_session = read_audio(path, channel=side), True
    length_s = file.audio.duration_s
    if not is_session and session_s is not None and session_s - length_s > max(SHORT_S, SHORT_SHARE * session_s):
        raise AudioError(
            f"{path.name}: unaligned: it is {length_s:.1f} s long, the session {session_s:.1f} s; "
            "a recording of the agent must begin where the session begins"
        )
    samples = resample(file.audio, RATE_HZ).samples
    warnings = tuple(
        text.replace(f"{path}: ", f"{path.name}: ") for text in file.warnings if "every sample" not in text
    )
    return AgentTrack(samples=samples, truncated=_is_cut(samples), warnings=warnings)


def padded(samples: Samples, ticks: int) -> Samples:
    """The samples with silence up to so many ticks."""
    return np.pad(samples, (0, max(ticks - len(samples), 0)))


def _is_cut(samples: Samples) -> bool:
    return rms_dbfs(samples[-round(TAIL_S * RATE_HZ) :]) >= SPEECH_DBFS
