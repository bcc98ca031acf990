"""`annotate FILE --text TEXT`: the timing file of a recording of a person, by alignment with its text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_voicebench.alignment import Alignment, AlignmentError, align
from pytest_voicebench.audio_files import AudioError, ChannelError, read_audio
from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.files import file_sha256
from pytest_voicebench.scenario import Timing
from pytest_voicebench.timing_file import timing_path, write_timing


def run(argv: Sequence[str]) -> int:
    """0: the timing file was written, a table of words printed. 1: one line on stderr says why not."""
    options = _parser().parse_args(argv)
    try:
        return _annotate(options)
    except (AudioError, AlignmentError, OSError, UnicodeDecodeError) as error:
        hint = " (--channel)" if isinstance(error, ChannelError) else ""
        print(f"annotate: {error}{hint}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_voicebench annotate",
        description="Find where each word of a text is said in a recording; write FILE's timing file beside it.",
    )
    parser.add_argument("file", type=Path, help="WAV, FLAC, Ogg or MP3")
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", help="every word that is said, um and uh too, numbers spelled out")
    text.add_argument("--text-file", type=Path, help="the same from a UTF-8 file")
    parser.add_argument("--channel", choices=["left", "right", "mix"], help="of a file with two channels")
    parser.add_argument("--out", type=Path, help="where to write (default: FILE with .json)")
    parser.add_argument("--overwrite", action="store_true", help="replace a timing file that is already there")
    return parser


def _annotate(options: argparse.Namespace) -> int:
    out: Path = options.out or timing_path(options.file)
    if out.exists() and not options.overwrite:
        raise AlignmentError(f"{out} is already there; give --overwrite, or another place with --out")
    text = options.text if options.text is not None else options.text_file.read_text(encoding="utf-8-sig")
    file = read_audio(options.file, channel=options.channel)
    try:
        found = align(file.audio, text)
    except AlignmentError as error:
        raise AlignmentError(f"{options.file}: {error}") from None
    timing = Timing(
        audio_sha256=file_sha256(options.file),
        rate_hz=file.audio.rate_hz,
        speech=found.speech,
        words=found.words,
        unsure=found.unsure,
    )
    write_timing(out, timing, "aligned")
    for line in (*file.warnings, *(f"{options.file}: {remark}" for remark in found.remarks)):
        print(f"warning: {line}", file=sys.stderr)
    _print_words(found)
    print(f"wrote {out}")
    return 0


def _print_words(found: Alignment) -> None:
    width = max(len("word"), *(len(text) for text, _, _ in found.words))
    print(f"{'word':{width}}  start_s    end_s")
    for index, (text, start, end) in enumerate(found.words):
        print(f"{text:{width}} {start:8.3f} {end:8.3f}{'  unsure' if index in found.unsure else ''}")
    if found.unsure:
        number = len(found.unsure)
        told = f"{number} of {counted(len(found.words), 'word')} {noun_for(number, 'is', 'are')} unsure"
        print(f"{told}: listen and correct the times")
