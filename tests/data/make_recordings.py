"""Writes the tiny recordings of tests/data from a formula: one short tone for each word; and their timing files.

Run it by hand after a text in `good` was changed: `python tests/data/make_recordings.py`. FLAC and WAV repeat
byte for byte.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import soundfile
import yaml

RATE_HZ = 8000
WORD_S, GAP_S, MARGIN_S = 0.05, 0.015, 0.05
HERE = Path(__file__).parent


def recordings(folder: Path) -> dict[str, str]:
    """Path to text, for every recording that the suites of a folder name."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        suite = yaml.safe_load(path.read_text(encoding="utf-8"))
        for scenario in suite.get("scenarios", ()) if "voicebench" in suite else ():
            steps = scenario["user"] if isinstance(scenario["user"], list) else []
            for step in steps:
                for speaker in scenario.get("speakers", [""]):
                    if "audio" in step:
                        name = str(Path(suite.get("audio_root", ""), step["audio"].replace("{speaker}", speaker)))
                        text = step.get("say") or step.get("backchannel") or step["insert"]
                        assert found.setdefault(name, text) == text, f"{name}: two texts"
    return found


def write(path: Path, text: str) -> None:
    """One recording and its timing file."""
    words, at_s, pieces = [], MARGIN_S, [np.zeros(round(MARGIN_S * RATE_HZ))]
    for index, word in enumerate(text.split()):
        t = np.arange(round(WORD_S * RATE_HZ)) / RATE_HZ
        pieces += [0.1 * np.sin(2 * np.pi * (200 + 40 * (index % 5)) * t), np.zeros(round(GAP_S * RATE_HZ))]
        words.append([word, round(at_s, 5), round(at_s + WORD_S, 5)])
        at_s += WORD_S + GAP_S
    samples = np.round(np.concatenate(pieces) * 32767).astype(np.int16)
    path.parent.mkdir(exist_ok=True)
    soundfile.write(path, samples, RATE_HZ)
    timing = {
        "audio_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "rate_hz": RATE_HZ,
        "speech": [[words[0][1], words[-1][2]]],
        "words": words,
    }
    path.with_suffix(".json").write_text(json.dumps(timing) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name, text in recordings(HERE / "good").items():
        write(HERE / "good" / name, text)
    write(HERE / "bad" / "scenarios" / "audio" / "one.flac", "Find Rome, no wait, Milan. Milan please.")
