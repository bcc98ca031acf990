"""Speech detection: seconds of audio judged per CPU second. Run: `python -m benchmarks.detection [RECORDING]`.

The track is what one conversation leaves: 45 s of the agent's channel with 8 s of speech. With a path, that recording's
right channel is judged instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.cpu_time import fastest_cpu_s
from pytest_voicebench import silero
from pytest_voicebench.audio import RATE_HZ, Audio, Samples
from pytest_voicebench.audio_files import read_audio
from pytest_voicebench.room_tone import room_tone
from pytest_voicebench.speech import detect_agent_speech, detect_user_speech
from tests.voice import silence, spoken

_ROUNDS = 5


def main() -> None:
    """Print the table."""
    track = _track_of(sys.argv[1:])
    seconds = len(track) / RATE_HZ
    user = Audio(samples=track, rate_hz=RATE_HZ)
    detect_agent_speech(spoken(1.0))  # loads the model
    print(f"{seconds:.1f} s of audio, {_speech_s(track):.1f} s of speech; audio seconds per CPU second")
    print(f"agent's channel, new:          {seconds / _cpu_s(lambda: detect_agent_speech(track), new=True):10.0f}")
    print(f"agent's channel, heard before: {seconds / _cpu_s(lambda: detect_agent_speech(track), new=False):10.0f}")
    print(f"agent's channel, silent:       {seconds / _cpu_s(lambda: detect_agent_speech(track * 0), new=True):10.0f}")
    print(f"user's recording, new:         {seconds / _cpu_s(lambda: detect_user_speech(user), new=True):10.0f}")
    print(f"room tone in 20 ms blocks:     {60 / _cpu_s(_one_minute_of_tone, new=True):10.0f}")


def _track_of(arguments: list[str]) -> Samples:
    if arguments:
        return read_audio(Path(arguments[0]), channel="right").audio.samples
    return np.concatenate([silence(15.0), spoken(3.0), silence(0.8), spoken(5.0), silence(21.2)])


def _speech_s(track: Samples) -> float:
    return sum(s.end_ticks - s.start_ticks for s in detect_agent_speech(track)) / RATE_HZ


def _one_minute_of_tone() -> None:
    seed = time.process_time_ns()  # a room that was not heard before
    for block in range(3000):
        room_tone(seed, -55.0, block * 480, 480)


def _cpu_s(work: Callable[[], object], *, new: bool) -> float:
    """The fastest of some rounds; `new`: as if nothing had been heard before."""
    return fastest_cpu_s(work, rounds=_ROUNDS, forgetting=(silero._kept.clear,) if new else ())


if __name__ == "__main__":
    main()
