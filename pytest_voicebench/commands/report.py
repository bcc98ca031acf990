"""`report [RUN]`: a run's tables, summary.md and report.html again, computed anew from what its folder holds."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pytest_voicebench.codec import CodecError, dump_json
from pytest_voicebench.commands.gate_options import (
    add_gate_arguments,
    asked_for,
    decided_or_kept,
    keep_decisions,
    status,
    with_earlier_gates,
)
from pytest_voicebench.files import os_error_text
from pytest_voicebench.page.write import write_page, write_page_with_sound
from pytest_voicebench.result_files import RunUnreadable, find_run
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.summary import Summary
from pytest_voicebench.writers.markdown import write_markdown
from pytest_voicebench.writers.official_tables import render_official
from pytest_voicebench.writers.plain_text import encodable, one_line
from pytest_voicebench.writers.summary_json import summary_bytes
from pytest_voicebench.writers.terminal import render


def run(argv: list[str]) -> int:
    """Print the tables, or with `--json` summary.json, and write summary.md and report.html anew, and where a gate or
    a baseline is given summary.json and junit.xml too. Exit status 0; 1 where a gate fails, or a file does not hold
    what was decided or embedded; 2 with one line where the run, the baseline or a gate is unreadable."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench report", description=__doc__)
    parser.add_argument("run", nargs="?", default="latest", metavar="RUN", help="a run's folder, its name, or `latest`")
    parser.add_argument("--json", action="store_true", help="print summary.json instead of tables")
    parser.add_argument(
        "--scores",
        choices=("official", "voicebench"),
        help="which set: tables show voicebench unless told otherwise, --json has both",
    )
    parser.add_argument(
        "--voicebench-html-embed", action="store_true", help="put recordings and event logs into report.html"
    )
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    add_gate_arguments(parser)
    options = parser.parse_args(argv)
    try:
        saved = load_run(find_run(options.run, options.reports))
        asked = with_earlier_gates(saved, asked_for(options, saved))
        summary = decided_or_kept(saved, asked)
        data = report_bytes(summary, options.scores)
    except (RunUnreadable, CodecError, OverflowError) as error:
        print(one_line(f"report: {error}"), file=sys.stderr)
        return 2
    embeds = options.voicebench_html_embed
    lost = _markdown_lost(saved, summary) if asked.nothing else keep_decisions(saved, summary, strict=asked.strict)
    lost += page_lost(saved, summary, write_page_with_sound if embeds else write_page)
    for note in (*saved.notes, *lost):
        print(one_line(f"note: {note}"), file=sys.stderr)
    if options.json:
        print_bytes(data)
    else:
        print_tables(summary, official=options.scores == "official")
    if lost and (embeds or not asked.nothing):
        return 1  # tables alone can be read where nobody can write; what was decided must not be lost
    return status(summary, asked)


def _markdown_lost(saved: SavedRun, summary: Summary) -> list[str]:
    try:
        write_markdown(saved.folder, summary, saved.results)
    except OSError as error:
        return [f"cannot write {os_error_text(error)}"]
    return []


def page_lost(saved: SavedRun, summary: Summary, write: Callable[[SavedRun, Summary], Path]) -> list[str]:
    """Write report.html into the run's folder; gives a line where it cannot be written."""
    try:
        write(saved, summary)
    except OSError as error:
        return [f"cannot write {os_error_text(error)}"]
    return []


def report_bytes(summary: Summary, scores: str | None) -> bytes:
    """summary.json, or of it the one set: `official` with what was run, or all but `official`. Raises CodecError."""
    if scores is None:
        return summary_bytes(summary)
    if scores == "voicebench":
        return summary_bytes(replace(summary, official=None))
    names = ("schema_version", "header", "suites", "stimulus", "notices", "counts", "official")
    ours = {name: value for name, value in summary.header.items() if name != "rules"}  # which made the other set
    return dump_json({name: getattr(replace(summary, header=ours), name) for name in names}, indent=2) + b"\n"


def print_bytes(data: bytes) -> None:
    """UTF-8 as it is, whatever the output's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_tables(summary: Summary, *, official: bool = False) -> None:
    """Tables as wide as the terminal, in colour where it has it; 100 columns without colour into a file or a pipe."""
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((100, 24)).columns if terminal else 100
    color = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    page = render_official if official else render
    print(encodable(page(summary, width=width, color=color), sys.stdout.encoding), end="")
