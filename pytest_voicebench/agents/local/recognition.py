"""The recogniser of this agent: the shared Whisper, whose absence is the agent's."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pytest_voicebench import whisper
from pytest_voicebench.agents.protocol import AgentAbsent


class Transcriber(Protocol):
    """Something that writes down speech."""

    def transcribe(self, speech: NDArray[np.float32]) -> str:
        """The words of speech at 16 kHz in -1..1; empty where there are none."""


def load_recognizer(model: str, beam: int, prompt: str = "") -> Transcriber:
    """A recogniser on the model, which is loaded once per process. Raises AgentAbsent, in one line, without a model."""
    try:
        return whisper.load_recognizer(model, beam, prompt)
    except whisper.WhisperAbsent as absent:
        raise AgentAbsent(f"agent local: {absent}") from absent
