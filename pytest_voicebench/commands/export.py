"""`export KIND RUN`: a run for other programs: CTRF, CSV, Parquet, or the layout of the official FDB-v3 scripts."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_voicebench.codec import CodecError
from pytest_voicebench.commands.report import print_bytes
from pytest_voicebench.counted import counted
from pytest_voicebench.exporters.ctrf import ctrf_bytes
from pytest_voicebench.exporters.official_folders import ExportRefused, export_run, suites_of
from pytest_voicebench.exporters.table_files import csv_bytes, write_parquet
from pytest_voicebench.files import write_atomically
from pytest_voicebench.regression.baseline import RUN_OR_FILE, load_given
from pytest_voicebench.result_files import RunUnreadable
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.writers.plain_text import encodable, one_line

MOST_LINES = 20
_PROVIDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")


def run(argv: Sequence[str]) -> int:
    """0: exported, with a summary; a file that was not named goes to the standard output. 2: one line on stderr says
    why not."""
    options = _parser().parse_args(argv)
    try:
        saved = load_given(options.run, options.reports)
        options.write(saved, options)
    except (ExportRefused, RunUnreadable, CodecError, OSError) as error:
        print(one_line(f"export: {error}"), file=sys.stderr)
        return 2
    for note in saved.notes:
        print(one_line(f"note: {note}"), file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench export", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    ctrf = _kind(kinds, "ctrf", "Common Test Report Format, as tools of CI systems read it", _ctrf)
    table = _kind(kinds, "csv", "a row an item, a column a score", _csv)
    for one in (ctrf, table):
        one.add_argument("--out", type=Path, metavar="FILE", help="(default: standard output)")
    parquet = _kind(kinds, "parquet", "the same table for data frames (extra `parquet`)", _parquet)
    parquet.add_argument("--out", type=Path, metavar="FILE", help="(default: items.parquet inside RUN)")
    results = _kind(
        kinds, "fdb3-results", "folders as of fdb_v3_data_released, with result and output files", _official
    )
    results.add_argument("--out", type=Path, metavar="DIR", help="(default: fdb_v3_data_released inside RUN)")
    results.add_argument("--provider", metavar="NAME", help="of result_NAME.json (default: the agent's name)")
    results.add_argument(
        "--suite", type=Path, action="append", default=[], metavar="FOLDER", help="where the run's scenarios are now"
    )
    return parser


def _kind(kinds: Any, name: str, text: str, write: Callable[..., None]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = kinds.add_parser(name, help=text)
    parser.add_argument("run", metavar="RUN", help=RUN_OR_FILE)
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    parser.set_defaults(write=write)
    return parser


def _ctrf(saved: SavedRun, options: argparse.Namespace) -> None:
    _give(ctrf_bytes(saved), saved, options.out)


def _csv(saved: SavedRun, options: argparse.Namespace) -> None:
    _give(csv_bytes(saved), saved, options.out)


def _parquet(saved: SavedRun, options: argparse.Namespace) -> None:
    out = options.out or _in_its_folder(saved, "items.parquet")
    write_parquet(saved, out)
    _tell(saved, out)


def _in_its_folder(saved: SavedRun, name: str) -> Path:
    if not saved.folder.is_dir():
        raise ExportRefused(f"{saved.folder}: a file has no folder of its own: say where to with --out")
    return saved.folder / name


def _give(data: bytes, saved: SavedRun, out: Path | None) -> None:
    if out is None:
        print_bytes(data)
        return
    write_atomically(out, data)
    _tell(saved, out)


def _tell(saved: SavedRun, out: Path) -> None:
    print(encodable(one_line(f"{counted(len(saved.results), 'item')}: {out}"), sys.stdout.encoding))


def _official(saved: SavedRun, options: argparse.Namespace) -> None:
    if options.provider is not None and not _PROVIDER.fullmatch(options.provider):
        raise ExportRefused(f"--provider {options.provider!r}: letters, digits, _, - and . only")
    out = options.out or _in_its_folder(saved, "fdb_v3_data_released")
    found = export_run(saved, out, provider=options.provider, suites=options.suite or suites_of(saved))
    lines = [
        f"{found.items} of {counted(len(saved.results), 'item')} as result_{'/'.join(found.providers)}.json: {out}"
    ]
    for title, told in (("not exported", found.left_out), ("remarks", found.remarks)):
        lines += [f"{title}: {len(told)}", *(f"  {line}" for line in told[:MOST_LINES])] if told else []
        lines += [f"  and {len(told) - MOST_LINES} more"] if len(told) > MOST_LINES else []
    for line in lines:
        print(encodable(one_line(line), sys.stdout.encoding))
