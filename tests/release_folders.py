"""Small folders in the layout of the official FDB-v3 release, with sentences, ids and voices of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from voice import silence, spoken

from pytest_voicebench.audio import RATE_HZ, Audio, Samples, resample

ANNA, BERT = "0" * 23 + "1", "a" * 22 + "b2"
PROVIDER = "acme"
SAID_S, TAIL_S, LEAD_S = 3.0, 2.0, 0.5
USER_END_S = LEAD_S + SAID_S
SESSION_S = USER_END_S + TAIL_S

ORDER = "Hi, where is my order Q seven seven? I am waiting for it."


def metadata(scenario_id: str = "shop_01", text: str = ORDER, **changes: Any) -> dict[str, Any]:
    """A description with one expected call."""
    calls = [{"function": "track_order", "args": {"order_id": "Q77"}}]
    return {
        "id": scenario_id,
        "domain": "ecommerce_support",
        "title": "A late order",
        "difficulty": "easy",
        "dialogue": [{"user": text, "user_annotated": text, "ai": "It is on its way."}],
        "acting_notes": "calm",
        "disfluency_features": ["FILLER"],
        "expected_tool_calls": calls,
        "num_expected_calls": 1,
        "state_rollback_test": False,
        "latency_profile": "instant",
        **changes,
    }


def request() -> Samples:
    """Someone speaks from 0.5 to 3.5 s; 2 s of silence follow."""
    return np.concatenate([silence(LEAD_S), spoken(SAID_S), silence(TAIL_S)])


def write_wav(path: Path, samples: Samples, kind: str = "16k") -> None:
    """A recording as the release has them: `48k` mono 32 bit, `stereo` 48 kHz 32 bit (voice right), `16k` 16 bit."""
    rate = 16_000 if kind == "16k" else 48_000
    sound = resample(Audio(samples=samples, rate_hz=RATE_HZ), rate).samples
    if kind == "stereo":
        sound = np.stack([np.zeros_like(sound), sound], axis=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, sound, rate, subtype="PCM_16" if kind == "16k" else "PCM_32")


def add(root: Path, speaker: str = ANNA, data: Mapping[str, Any] | None = None, kind: str | None = "16k") -> Path:
    """One folder of the release; without a `kind` it has no recording."""
    data = metadata() if data is None else data
    folder = root / f"{data['id']}_{speaker}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metadata.json").write_text(json.dumps(data), encoding="utf-8")
    if kind is not None:
        write_wav(folder / "input.wav", request(), kind)
    return folder


def result(folder: Path, **changes: Any) -> Path:
    """A result file of a completed conversation: the agent calls at 4.0 s and answers from 5.0 to 6.0 s."""
    scenario_id, _, speaker = folder.name.rpartition("_")
    data = {
        "pid": speaker,
        "example_id": scenario_id,
        "provider": PROVIDER,
        "status": "completed",
        "input_transcript": ORDER,
        "input_asr_chunks": [{"text": "hi", "timestamp": [0.6, 0.9]}, {"text": "it", "timestamp": [2.9, 3.3]}],
        "user_speech_end_rel": 3.3,
        "latency": {"input_duration_s": SESSION_S, "output_duration_s": SESSION_S, "first_speech_s": 5.0},
        "audio_agent_speech_start": 5.0,
        "transcript": "on its way",
        "asr_chunks": [{"text": "on", "timestamp": [5.0, 5.4]}, {"text": "its way", "timestamp": [5.4, 6.0]}],
        "actual_tool_calls": [call(start_s=4.0)],
        **changes,
    }
    path = folder / f"result_{PROVIDER}.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def call(name: str = "track_order", start_s: float | None = 4.0, **args: Any) -> dict[str, Any]:
    """One logged call; of the right order unless told otherwise."""
    return {
        "function": name,
        "args": args or {"order_id": "Q77"},
        "timestamp_start": start_s,
        "timestamp_end": None if start_s is None else start_s + 0.1,
    }


def agent_voice(start_s: float, length_s: float, session_s: float = SESSION_S + 2) -> Samples:
    """An agent's track on the session's clock."""
    rest = session_s - start_s - length_s
    return np.concatenate([silence(start_s), spoken(length_s, pitch_hz=180.0), silence(rest)])


def output(folder: Path, samples: Samples) -> Path:
    """The agent's recording beside its result."""
    path = folder / f"output_{PROVIDER}.wav"
    soundfile.write(path, samples, RATE_HZ)
    return path
