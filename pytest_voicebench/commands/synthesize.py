"""`synthesize FILE`: makes the recordings that a speech script or a suite names and that are not there yet."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_voicebench.counted import counted
from pytest_voicebench.synthesis.engines import EngineError, installed_engines
from pytest_voicebench.synthesis.markup import MarkupError
from pytest_voicebench.synthesis.recording_files import is_made, make
from pytest_voicebench.synthesis.script import ScriptError, Utterance, read_script

EPILOG = """\
FILE is a speech script, or a suite (its `say` texts are then spoken as they are, by the first engine installed):

  speech_script: 1
  speakers: speakers.yaml            # optional: room tones for the timing files
  voices:
    a: {engine: flite, voice: slt, pitch_hz: 170, rate: 1.0, size: 1.0}
  say:
    - audio: audio/order_01.{speaker}.ogg
      speakers: [a]
      text: "I'd like to fly to Bos{ton}- [0.3] to Denver, [0.9] um, [0.4] on June third."

[0.9] is a pause in seconds, Bos{ton}- a word cut after "Bos", {A=ay} a word written "A" and spoken "ay".
Recordings that exist are left alone unless --again is given.
"""


def run(argv: Sequence[str]) -> int:
    """Exit status: 0 when all recordings are there, 1 when one could not be made, 2 for a wrong command line."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_voicebench synthesize",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--only", metavar="TEXT", default="", help="only recordings with TEXT in their file name")
    parser.add_argument("--again", action="store_true", help="make recordings again that exist")
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        wanted = [u for u in read_script(options.file) if options.only in u.audio.name]
        return _make_all(wanted, again=options.again)
    except (ScriptError, EngineError, MarkupError) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"{error.filename}: cannot be written: {error.strerror}", file=sys.stderr)
    return 1


def _make_all(wanted: Sequence[Utterance], *, again: bool) -> int:
    missing = [utterance for utterance in wanted if again or not is_made(utterance)]
    for utterance in missing:
        timing = make(utterance)
        longest_s = max((b[0] - a[1] for a, b in zip(timing.speech, timing.speech[1:], strict=False)), default=0.0)
        unsure = f", {counted(len(timing.unsure), 'word')} with doubtful times" if timing.unsure else ""
        print(f"{utterance.audio.name}: {timing.speech[-1][1]:.1f} s, longest pause {longest_s:.2f} s{unsure}")
    engines = ", ".join(installed_engines()) or "none"
    print(f"{len(missing)} made, {len(wanted) - len(missing)} were there (engines: {engines})")
    return 0
