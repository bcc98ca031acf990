"""A YAML suite of four short requests, written with its recordings: what profiles of simulated agents are proved on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from pytest_voicebench.scenario import Timing
from pytest_voicebench.timing_file import timing_path, write_timing
from tests import stage

SUITE = """\
voicebench: 1
kind: tool_use
suite: profiles
tools: tools.yaml
today: 2026-04-06
stimulus: synthetic
scenarios:
  - id: one_call
    title: One call
    difficulty: easy
    domain: travel
    user:
      - {say: "Flights to Milan on June third, please.", audio: audio/one_call.flac}
    expect:
      calls:
        - search_flights: {destination: Milan, date: 2026-06-03}
  - id: two_calls
    title: The second call needs the first one's result
    difficulty: hard
    domain: travel
    user:
      - {say: "Find a flight to Oslo on May second and book it.", audio: audio/two_calls.flac}
    expect:
      calls:
        - search_flights: {destination: Oslo, date: 2026-05-02}
        - book_flight: {flight_id: "$RESULT_0.flights[0].flight_id"}
  - id: taken_back
    title: A destination is taken back
    difficulty: hard
    domain: travel
    disfluency: [self_correction]
    user:
      - {say: "To Rome, no wait, to Milan, on June third.", audio: audio/taken_back.flac}
    retracted:
      - {tool: search_flights, args: {destination: Rome}, until: "to Milan"}
    expect:
      calls:
        - search_flights: {destination: Milan, date: 2026-06-03}
  - id: same_tool_twice
    title: One tool twice
    difficulty: medium
    domain: travel
    user:
      - {say: "Flights to Bonn on May second, and to Graz on May fourth.", audio: audio/same_tool_twice.flac}
    expect:
      calls:
        - search_flights: {destination: Bonn, date: 2026-05-02}
        - search_flights: {destination: Graz, date: 2026-05-04}
"""

TOOLS = """\
search_flights:
  description: Find flights.
  parameters:
    destination: {type: string, match: place, required: true}
    date: {type: string, format: date, match: date, required: true}
  returns: {flights: [{flight_id: FL123, destination: "{destination}"}]}
book_flight:
  description: Book a flight.
  parameters:
    flight_id: {type: string, match: identifier, required: true}
  writes: true
  returns: {status: booked, flight_id: "{flight_id}"}
"""


def write(folder: Path, extra: str = "") -> Path:
    """The suite's path. `extra` is appended to the suite's head."""
    (folder / "audio").mkdir(parents=True)
    said = re.findall(r'say: "(.*?)", audio: (.*?)}', SUITE)
    for number, (text, audio) in enumerate(said):
        path, timing = stage.recording(folder / audio, ["filler", 0.6 + 0.2 * number, "reply"])
        write_timing(timing_path(path), _with_words(timing, text.split()), "annotated")
    (folder / "tools.yaml").write_text(TOOLS)
    (folder / "suite.yaml").write_text(SUITE.replace("stimulus: synthetic\n", f"stimulus: synthetic\n{extra}"))
    return folder / "suite.yaml"


def _with_words(timing: Timing, words: list[str]) -> Timing:
    """The words spread evenly from the first sound to the last."""
    start_s, end_s = timing.speech[0][0], timing.speech[-1][1]
    step_s = (end_s - start_s) / len(words)
    placed = [(word, start_s + n * step_s, start_s + (n + 1) * step_s) for n, word in enumerate(words)]
    return replace(timing, words=tuple(placed))
