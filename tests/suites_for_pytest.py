"""Small suite folders on disk, and pytest runs on them in a process of their own."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

import stage

from pytest_voicebench.timing_file import timing_path, write_timing

ROOT = Path(__file__).parents[1]

TOOLS = """
search_flights:
  description: Find flights to a city on a date.
  parameters:
    destination: {type: string, match: place, required: true}
    date: {type: string, format: date, match: date, required: true}
  writes: false
  returns: {status: success, flights: [{flight_id: FL123, destination: "{destination}"}]}
"""

SPEAKERS = """
a: {accent: scottish, native: true, age: 40}
b: {accent: indian, native: false}
"""

HEAD = """voicebench: 1
kind: tool_use
suite: small
tools: tools.yaml
today: 2026-04-06
stimulus: synthetic
settle_s: 1.0
scenarios:
"""

SCENARIO = """
  - id: {id}
    title: A flight to {city}
    domain: travel_identity
    difficulty: {difficulty}
    disfluency: [{disfluency}]
    {more}
    user:
      - say: "Find me a flight to {city} on June third."
        audio: audio/turn.{form}flac
    expect:
      calls:
        - search_flights: {{destination: {city}, date: 2026-06-03}}
"""


def scenario_yaml(
    name: str, *, difficulty: str = "easy", disfluency: str = "filler", more: str = "speakers: [a]", city: str = "Milan"
) -> str:
    """One scenario: a flight to a city on June third, spoken by a unless `more` says otherwise."""
    return SCENARIO.format(
        id=name, difficulty=difficulty, disfluency=disfluency, more=more, city=city, form="{speaker}."
    )


def write_suite(folder: Path, *scenarios: str, name: str = "travel.yaml") -> Path:
    """A suite file with its tools, speakers and one recording in two voices."""
    (folder / "audio").mkdir(parents=True, exist_ok=True)
    (folder / "tools.yaml").write_text(TOOLS)
    (folder / "speakers.yaml").write_text(SPEAKERS)
    for who in ("a", "b"):
        path = folder / "audio" / f"turn.{who}.flac"
        if not path.exists():
            _, timing = stage.recording(path, ("reply", 0.3, "filler"))
            write_timing(timing_path(path), timing, "synthesized")
    suite = folder / name
    suite.write_text(HEAD + "".join(scenarios))
    return suite
