"""Small scenarios for engine tests: recordings joined from the package's own short voices, with exact timing; held."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from pytest_voicebench.agents import simulated
from pytest_voicebench.agents.protocol import Agent
from pytest_voicebench.audio import RATE_HZ, Samples
from pytest_voicebench.audio_files import read_audio, write_flac
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.duplex import Progress
from pytest_voicebench.files import file_sha256
from pytest_voicebench.runner import Runner
from pytest_voicebench.scenario import (
    Expectation,
    ExpectedCall,
    Retraction,
    RoomTone,
    Scenario,
    Speaker,
    Step,
    SuiteInfo,
    Timing,
    Trigger,
)
from pytest_voicebench.tools import Parameter, Tool

LEAD_S = 0.3
"""Silence before the first word of every recording made here."""

TOOLS = {
    "search_flights": Tool(
        name="search_flights",
        description="Find flights.",
        parameters={
            "destination": Parameter(name="destination", type="string", match="place", required=True),
            "date": Parameter(name="date", type="string", format="date", match="date", required=True),
        },
        returns={"flights": [{"flight_id": "FL123", "destination": "{destination}"}]},
    ),
    "book_flight": Tool(
        name="book_flight",
        description="Book a flight.",
        parameters={"flight_id": Parameter(name="flight_id", type="string", match="identifier", required=True)},
        writes=True,
        returns={"status": "booked", "flight_id": "{flight_id}"},
    ),
}

SEARCH = ExpectedCall(tool="search_flights", args={"destination": "Milan", "date": "2026-06-03"})
BOOK = ExpectedCall(tool="book_flight", args={"flight_id": "$RESULT_0.flights[0].flight_id"})


def voice(kind: str = "reply") -> Samples:
    """One of the package's short recordings: 24 kHz."""
    return read_audio(Path(simulated.__file__).with_name("voices") / f"{kind}.flac").audio.samples


def recording(path: Path, pieces: Sequence[float | str], tail_s: float = 0.2) -> tuple[Path, Timing]:
    """A recording of voices (`reply`, `filler`) and pauses in seconds, after a short lead; and its timing."""
    parts = [np.zeros(round(LEAD_S * RATE_HZ), np.int16)]
    speech: list[tuple[float, float]] = []
    words: list[tuple[str, float, float]] = []
    for piece in pieces:
        start_s = sum(map(len, parts)) / RATE_HZ
        if isinstance(piece, str):
            parts.append(voice(piece))
            end_s = start_s + len(parts[-1]) / RATE_HZ
            speech.append((start_s, end_s))
            words.append((piece, start_s, end_s))
        else:
            parts.append(np.zeros(round(piece * RATE_HZ), np.int16))
    parts.append(np.zeros(round(tail_s * RATE_HZ), np.int16))
    write_flac(path, [np.concatenate(parts)], RATE_HZ)
    timing = Timing(audio_sha256=file_sha256(path), rate_hz=RATE_HZ, speech=tuple(speech), words=tuple(words))
    return path, timing


def say(folder: Path, name: str, *pieces: float | str, when: Trigger | None = None, tail_s: float = 0.2) -> Step:
    """A turn."""
    audio, timing = recording(folder / f"{name}.flac", pieces or ("reply", 0.6, "filler"), tail_s)
    return Step(kind="say", text=name, audio=audio, timing=timing, trigger=when or Trigger(kind="start"))


def after_agent(seconds: float = 0.8) -> Trigger:
    """When the agent has been silent that long."""
    return Trigger(kind="after_agent", seconds=seconds)


def into_agent(seconds: float) -> Trigger:
    """When the agent has been speaking that long."""
    return Trigger(kind="into_agent", seconds=seconds)


def scenario(
    folder: Path,
    *steps: Step,
    calls: Sequence[ExpectedCall] = (SEARCH,),
    retracted: Sequence[Retraction] = (),
    item_id: str = "milan_01",
    tone: RoomTone | None = None,
    **suite: Any,
) -> Scenario:
    """A scenario with those steps; one turn of about four seconds where none are given."""
    info = SuiteInfo(
        path=folder / "suite.yaml",
        name="stage",
        kind="tool_use",
        tools=TOOLS,
        instructions="",
        today=date(2026, 4, 6),
        **suite,
    )
    return Scenario(
        id=item_id,
        item_id=item_id,
        title="",
        suite=info,
        line=1,
        expect=Expectation(calls=tuple(calls)),
        steps=steps or (say(folder, "turn"),),
        retracted=tuple(retracted),
        sha256="0" * 64,
        speaker=Speaker(id="a", tone=tone),
        difficulty="easy",
        domain="travel",
    )


def hold(scenario: Scenario, agent: Agent, *, progress: Progress | None = None) -> Conversation:
    """Hold one conversation as a run does."""
    with closing(Runner()) as runner:
        return runner.submit(scenario, agent, progress=progress).result()
