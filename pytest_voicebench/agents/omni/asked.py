"""What is asked of a model that listens and speaks at once, in no server's words yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_voicebench.agents.briefing import briefing, function_tools
from pytest_voicebench.agents.protocol import Setup

Json = Any

INPUT_HZ = 16_000
OUTPUT_HZ = 24_000


def overlap_policy(detection: dict[str, Json] | None) -> str:
    """What speech during speech does on vLLM-Omni: it takes no other with either kind of turn detection."""
    return "listen_only" if detection is None else "barge_in_on_speech"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The settings of a session. `reference` is a WAV file whose voice the model takes; None leaves it to the server.

    `detection` is the server's turn detection with its parameters, None where the model alone decides when to speak.
    """

    setup: Setup
    model: str
    tools: bool
    detection: dict[str, Json] | None
    playback_commit_policy: str
    reference: bytes | None

    @property
    def instructions(self) -> str:
        """What the model is told."""
        return briefing(self.setup)

    @property
    def declarations(self) -> list[dict[str, Json]]:
        """The tools it is told of."""
        return function_tools(self.setup) if self.tools else []
