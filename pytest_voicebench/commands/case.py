"""`case SCENARIO RUN...`: one scenario across agents and runs, side by side: calls, times, arguments, words."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_voicebench.casing import NoSuchCase, case_of
from pytest_voicebench.regression.baseline import load_given
from pytest_voicebench.result_files import RunUnreadable
from pytest_voicebench.writers.case_text import case_text
from pytest_voicebench.writers.grid import ansi, plain
from pytest_voicebench.writers.plain_text import encodable, one_line


def run(argv: Sequence[str]) -> int:
    """Print the case (0), as wide as the terminal, 100 columns into a file; 2 with one line where there is none."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench case", description=__doc__)
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario's id, or an item's")
    parser.add_argument("runs", nargs="*", metavar="RUN", default=["latest"], help="runs (default: latest)")
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    options = parser.parse_args(argv)
    try:
        runs = [load_given(name, options.reports) for name in options.runs]
        case = case_of(options.scenario, runs)
    except (RunUnreadable, NoSuchCase) as error:
        print(one_line(f"case: {error}"), file=sys.stderr)
        return 2
    for note in (note for run in runs for note in run.notes):
        print(one_line(f"note: {note}"), file=sys.stderr)
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
    color = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    text = case_text(case, width=max(width, 60), paint=ansi if color else plain)
    print(encodable(text, sys.stdout.encoding), end="")
    return 0
