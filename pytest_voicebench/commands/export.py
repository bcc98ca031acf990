"""`export fdb3-results RUN`: a run in the official layout, so that the official FDB-v3 scripts score it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_voicebench.exporters.official_folders import ExportRefused, export_run, suites_of
from pytest_voicebench.result_files import RunUnreadable, find_run
from pytest_voicebench.saved_run import load_run
from pytest_voicebench.writers.plain_text import encodable, one_line

MOST_LINES = 20
_PROVIDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")


def run(argv: Sequence[str]) -> int:
    """0: exported, with a summary. 2: one line on stderr says why not."""
    options = _parser().parse_args(argv)
    try:
        return _export(options)
    except (ExportRefused, RunUnreadable, OSError) as error:
        print(one_line(f"export: {error}"), file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench export", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    results = kinds.add_parser("fdb3-results", help="folders as of fdb_v3_data_released, with result and output files")
    results.add_argument("run", metavar="RUN", help="a run's folder, its name, or `latest`")
    results.add_argument("--out", type=Path, metavar="DIR", help="(default: fdb_v3_data_released inside RUN)")
    results.add_argument("--provider", metavar="NAME", help="of result_NAME.json (default: the agent's name)")
    results.add_argument(
        "--suite", type=Path, action="append", default=[], metavar="FOLDER", help="where the run's scenarios are now"
    )
    results.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    return parser


def _export(options: argparse.Namespace) -> int:
    if options.provider is not None and not _PROVIDER.fullmatch(options.provider):
        raise ExportRefused(f"--provider {options.provider!r}: letters, digits, _, - and . only")
    saved = load_run(find_run(options.run, options.reports))
    out = options.out or saved.folder / "fdb_v3_data_released"
    found = export_run(saved, out, provider=options.provider, suites=options.suite or suites_of(saved))
    lines = [f"{found.items} of {len(saved.results)} items as result_{'/'.join(found.providers)}.json: {out}"]
    for title, told in (("not exported", found.left_out), ("remarks", found.remarks), ("notes", list(saved.notes))):
        lines += [f"{title}: {len(told)}", *(f"  {line}" for line in told[:MOST_LINES])] if told else []
        lines += [f"  and {len(told) - MOST_LINES} more"] if len(told) > MOST_LINES else []
    for line in lines:
        print(encodable(one_line(line), sys.stdout.encoding))
    return 0
