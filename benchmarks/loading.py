"""Seconds to load a suite of 1,000 scenarios, each with its own recording: `python benchmarks/loading.py [COUNT]`."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile

from pytest_voicebench.loading import load_suite

TEXT = "Find me a flight to Rome, um, no wait, to Milan, on June first. Sorry, June third."
TOOLS = """\
search_flights:
  description: Find flights to a city on a date.
  parameters:
    destination: {type: string, match: place, required: true}
    date: {type: string, format: date, match: date, required: true}
  returns: {flights: [{flight_id: FL123, destination: "{destination}", date: "{date}"}]}
"""
HEAD = """\
voicebench: 1
kind: tool_use
suite: benchmark
tools: tools.yaml
today: 2026-04-06
scenarios:
"""
SCENARIO = """\
  - id: item_{n}
    title: Two corrections in one breath
    domain: travel_identity
    difficulty: hard
    disfluency: [self_correction, filler]
    speakers: [a]
    user:
      - say: "{text}"
        audio: audio/item_{n}.{{speaker}}.ogg
    retracted:
      - {{tool: search_flights, args: {{destination: Rome}}, until: "to Milan"}}
      - {{tool: search_flights, args: {{date: 2026-06-01}}, until: "June third"}}
    expect:
      calls:
        - search_flights: {{destination: Milan, date: 2026-06-03}}
      mentions: [Milan]
      pass_requires: [mentions]
"""


def write_suite(folder: Path, count: int) -> Path:
    """A suite of `count` scenarios; recordings of 12 s, as large as those of fdb3."""
    file = io.BytesIO()
    noise = np.random.default_rng(1).standard_normal(16_000 * 12) * 3_000
    soundfile.write(file, noise.astype(np.int16), 16_000, format="OGG", subtype="VORBIS")
    data = file.getvalue()
    words = [[word, round(0.3 + 0.5 * n, 2), round(0.7 + 0.5 * n, 2)] for n, word in enumerate(TEXT.split())]
    timing = {
        "audio_sha256": hashlib.sha256(data).hexdigest(),
        "rate_hz": 16_000,
        "speech": [[0.3, 8.7]],
        "words": words,
    }
    (folder / "audio").mkdir()
    for n in range(count):
        (folder / "audio" / f"item_{n}.a.ogg").write_bytes(data)
        (folder / "audio" / f"item_{n}.a.json").write_text(json.dumps(timing), encoding="utf-8")
    (folder / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    (folder / "speakers.yaml").write_text("a: {voice: slt, tone: {seed: 1, level_dbfs: -60}}\n", encoding="utf-8")
    path = folder / "suite.yaml"
    path.write_text(HEAD + "".join(SCENARIO.format(n=n, text=TEXT) for n in range(count)), encoding="utf-8")
    return path


def main() -> None:
    """Print the median of five loads."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder:
        path = write_suite(Path(folder), count)
        cpu_s, wall_s = [], []
        for _ in range(5):
            wall, cpu = time.perf_counter(), time.process_time()
            assert len(load_suite(path).scenarios) == count
            cpu_s.append(time.process_time() - cpu)
            wall_s.append(time.perf_counter() - wall)
    print(f"{count} scenarios: {sorted(cpu_s)[2]:.3f} s CPU, {sorted(wall_s)[2]:.3f} s wall (medians of 5)")


if __name__ == "__main__":
    main()
