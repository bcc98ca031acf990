"""`leaderboard RUN...`: agents of several runs in one table, with intervals, and which cannot be told apart."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_voicebench.codec import CodecError
from pytest_voicebench.commands.report import print_bytes
from pytest_voicebench.counted import counted
from pytest_voicebench.files import write_atomically
from pytest_voicebench.ranking import RankingRefused, rank
from pytest_voicebench.regression.baseline import RUN_OR_FILE, load_given
from pytest_voicebench.result_files import RunUnreadable
from pytest_voicebench.writers.leaderboard import markdown, page
from pytest_voicebench.writers.plain_text import encodable, one_line


def run(argv: Sequence[str]) -> int:
    """Print or write the table (0); 2 with one line where runs cannot be read or must not stand in one table."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench leaderboard", description=__doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=RUN_OR_FILE)
    parser.add_argument("--html", action="store_true", help="one HTML page that loads nothing, in place of Markdown")
    parser.add_argument("--out", type=Path, metavar="FILE", help="(default: standard output)")
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    options = parser.parse_args(argv)
    try:
        runs = [load_given(name, options.reports) for name in options.runs]
        ranking = rank(runs)
        data = (page if options.html else markdown)(ranking).encode("utf-8", "backslashreplace")
        if options.out is not None:
            write_atomically(options.out, data)
    except (RunUnreadable, RankingRefused, CodecError, OSError) as error:
        print(one_line(f"leaderboard: {error}"), file=sys.stderr)
        return 2
    for note in (note for run in runs for note in run.notes):
        print(one_line(f"note: {note}"), file=sys.stderr)
    if options.out is None:
        print_bytes(data)
    else:
        print(encodable(one_line(f"{counted(len(ranking.rows), 'agent')}: {options.out}"), sys.stdout.encoding))
    return 0
