"""`speech FILE`: the speech that detection finds in a recording, so that one can see what is heard."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pytest_voicebench.audio import RATE_HZ, Audio, resample, rms_dbfs
from pytest_voicebench.audio_files import AudioError, Channel, ChannelError, read_audio
from pytest_voicebench.conversation import Span
from pytest_voicebench.speech import detect_agent_speech, detect_user_speech


@dataclass(frozen=True, slots=True, kw_only=True)
class _Track:
    """One voice of the file: who speaks, on which channel, and the spans found, with the sound at 24 kHz."""

    who: Literal["user", "agent"]
    channel: Channel | None
    audio: Audio
    spans: tuple[Span, ...]


def run(argv: Sequence[str]) -> int:
    """0: the spans were printed. 1: one line on stderr says why not."""
    options = _parser().parse_args(argv)
    try:
        tracks, warnings = _tracks(options.file, options.channel, options.agent_channel)
    except AudioError as error:
        hint = " (--channel; --agent-channel for two voices)" if isinstance(error, ChannelError) else ""
        print(f"speech: {error}{hint}", file=sys.stderr)
        return 1
    for line in warnings:
        print(f"warning: {line}", file=sys.stderr)
    if options.json:
        print(json.dumps({"file": str(options.file), "tracks": [_as_json(t) for t in tracks], "warnings": warnings}))
    else:
        for track in tracks:
            _print_table(track)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_voicebench speech", description="Print the speech detected in a recording."
    )
    parser.add_argument("file", type=Path, help="WAV, FLAC, Ogg or MP3")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--channel", choices=["left", "right", "mix"], help="look at one channel, a person's")
    which.add_argument(
        "--agent-channel", choices=["left", "right"], help="two voices: the agent's channel; the other is the user's"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _tracks(path: Path, channel: Channel | None, agent: Channel | None) -> tuple[list[_Track], list[str]]:
    if agent is None:
        file = read_audio(path, channel=channel)
        return [_user_track(file.audio, channel)], list(file.warnings)
    other: Channel = "left" if agent == "right" else "right"
    files = {name: read_audio(path, channel=name) for name in (other, agent)}
    at_24k = resample(files[agent].audio, RATE_HZ)
    agent_track = _Track(who="agent", channel=agent, audio=at_24k, spans=detect_agent_speech(at_24k.samples))
    warnings = [line.replace(f"{path}:", f"{path}: {name}:") for name, f in files.items() for line in f.warnings]
    return [_user_track(files[other].audio, other), agent_track], warnings


def _user_track(audio: Audio, channel: Channel | None) -> _Track:
    return _Track(who="user", channel=channel, audio=resample(audio, RATE_HZ), spans=detect_user_speech(audio))


def _as_json(track: _Track) -> dict[str, Any]:
    return {
        "who": track.who,
        "channel": track.channel,
        "duration_s": round(track.audio.duration_s, 4),
        "spans": [
            {"start_s": _s(span.start_ticks), "end_s": _s(span.end_ticks), "level_dbfs": _level(track, span)}
            for span in track.spans
        ],
        "pauses": [{"start_s": _s(a), "end_s": _s(b)} for a, b in _pauses(track.spans)],
    }


def _print_table(track: _Track) -> None:
    channel = f" ({track.channel} channel)" if track.channel else ""
    speech = sum(span.end_ticks - span.start_ticks for span in track.spans)
    print(f"{track.who}{channel}: {_s(speech):.2f} s of speech in {track.audio.duration_s:.2f} s")
    if not track.spans:
        print("  no speech detected")
        return
    print("   start_s    end_s  length_s  level_dbfs  pause_after_s")
    after = [b - a for a, b in _pauses(track.spans)]
    for span, pause in zip(track.spans, [*after, None], strict=True):
        start, end = span.start_ticks, span.end_ticks
        row = f"  {_s(start):8.3f} {_s(end):8.3f} {_s(end - start):9.3f} {_level(track, span):11.1f}"
        print(row if pause is None else f"{row} {_s(pause):14.3f}")


def _pauses(spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    return ((a.end_ticks, b.start_ticks) for a, b in pairwise(spans))


def _level(track: _Track, span: Span) -> float:
    """Spans hold sound, so this is never -inf."""
    return round(rms_dbfs(track.audio.samples[span.start_ticks : span.end_ticks]), 1)


def _s(ticks: int) -> float:
    return round(ticks / RATE_HZ, 4)
