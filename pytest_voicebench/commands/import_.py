"""`import fdb3 DIR` and `import fdb3-results DIR`: the official release as a suite, results of its scripts as a run."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from pytest_voicebench.codec import CodecError
from pytest_voicebench.commands.report import page_lost, print_tables
from pytest_voicebench.counted import counted
from pytest_voicebench.importers.release import ImportRefused, read_release
from pytest_voicebench.importers.release_suite import DEFAULT_NAME, ImportedSuite, import_release
from pytest_voicebench.importers.result_run import import_results
from pytest_voicebench.page.write import write_page
from pytest_voicebench.result_files import RunUnreadable, mark_latest_in
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.writers.official_tables import official_headlines
from pytest_voicebench.writers.plain_text import encodable, one_line

MOST_LINES = 20
WIDTH = 100
_PROVIDER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}")

_RELEASE = "the folder of the official release: fdb_v3_data_released, or the one that holds it"


def run(argv: Sequence[str]) -> int:
    """0: imported, with a summary. 2: one line on stderr says why not."""
    options = _parser().parse_args(argv)
    try:
        return int(options.work(options))
    except (ImportRefused, RunUnreadable, CodecError, OSError) as error:
        print(one_line(f"import: {error}"), file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench import", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="KIND")
    suite = kinds.add_parser("fdb3", help="the official FDB-v3 release as a suite that points at its recordings")
    suite.add_argument("directory", type=Path, metavar="DIR", help=_RELEASE)
    suite.add_argument("--out", type=Path, default=Path("suites", DEFAULT_NAME), help="(default: %(default)s)")
    suite.add_argument(
        "--align", action="store_true", help="find every word, so that only the request counts as speech"
    )
    suite.add_argument("--force", action="store_true", help="replace what an earlier import wrote there")
    suite.set_defaults(work=_import_suite)
    results = kinds.add_parser("fdb3-results", help="result files of the official scripts as a run, scored by our code")
    results.add_argument("directory", type=Path, metavar="DIR", help=_RELEASE)
    results.add_argument("--provider", required=True, metavar="NAME", help="of result_NAME.json and output_NAME.wav")
    results.add_argument("--agent-channel", choices=["left", "right"], help="of an output_NAME.wav with two channels")
    results.add_argument(
        "--suite", type=Path, metavar="FOLDER", help="scenarios to score by (default: DIR's own labels)"
    )
    results.add_argument("--out", type=Path, metavar="RUN", help="the run's folder (default: NAME-imported in reports)")
    results.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    results.add_argument("--force", action="store_true", help="replace a run that an earlier import wrote there")
    results.set_defaults(work=_import_results)
    return parser


def _import_results(options: argparse.Namespace) -> int:
    if not _PROVIDER.fullmatch(options.provider):
        raise ImportRefused(
            f"--provider {options.provider!r}: letters, digits, _, - and . only, as in result_NAME.json"
        )
    out = options.out or options.reports / f"{options.provider}-imported"
    run = import_results(
        read_release(options.directory),
        out,
        provider=options.provider,
        side=options.agent_channel,
        suite=options.suite,
        force=options.force,
        progress=_progress,
    )
    mark_latest_in(options.reports, out)
    summary = run.summary()
    for line in result_lines(run, out):
        _print(line)
    for note in page_lost(run, summary, write_page):
        print(one_line(f"note: {note}"), file=sys.stderr)
    print_tables(summary)
    for line in ("", *official_headlines(summary.official), _next_command(out, options.reports)):
        _print(line)
    return 0


def _next_command(out: Path, reports: Path) -> str:
    """By the name where `report` finds it by name."""
    is_there = out.resolve().parent == Path("reports").resolve() == reports.resolve()
    return f"official tables: python -m pytest_voicebench report {out.name if is_there else out} --scores official"


def result_lines(run: SavedRun, out: Path) -> list[str]:
    """How many items were scored, what was wrong with the others, and what is remarkable about all."""
    valid = sum(result.outcome in ("passed", "failed") for result in run.results)
    lines = [f"{valid} of {counted(len(run.results), 'item')} scored: {out}"]
    lines += _block("errors", [f"{r.item_id}: {r.cause}" for r in run.results if r.outcome == "error"])
    lines += _block("skipped", [f"{r.item_id}: {r.cause}" for r in run.results if r.outcome == "skipped"])
    lines += _block("not imported", run.plan.notices)
    lines += _block("warnings", _grouped([(r.item_id, w) for r in run.results for w in r.warnings]))
    return [*lines, ""]


def _grouped(found: Sequence[tuple[str, str]]) -> list[str]:
    """Of pairs (item, text) each text once, with how many items have it where they are several."""
    items: dict[str, list[str]] = {}
    for item, text in found:
        items.setdefault(text, []).append(item)
    return [
        f"{names[0]}: {text}" if len(names) == 1 else f"{len(names)} items: {text}" for text, names in items.items()
    ]


def _import_suite(options: argparse.Namespace) -> int:
    found = import_release(
        read_release(options.directory),
        options.out,
        with_words=options.align,
        force=options.force,
        progress=_progress,
    )
    for line in suite_lines(found, options.out):
        _print(line)
    return 0


def suite_lines(found: ImportedSuite, out: Path) -> list[str]:
    """What was imported, what was not, and what looks odd: counted, and named as far as there is room."""
    lines = [
        f"{counted(len(found.entries), 'scenario')}, {counted(found.recordings, 'recording')} of "
        f"{counted(found.speakers, 'speaker')}: {out}"
    ]
    if found.unspoken:
        lines += _wrapped(f"without a recording, skipped: {len(found.unspoken)}: {', '.join(found.unspoken)}")
    lines += _block("not imported", found.left_out)
    lines += _block("known issues", [f"{name}: {reason}" for name, reason in found.known_issues.items()])
    lines += _block("remarks", _grouped([remark.partition(": ")[::2] for remark in found.remarks]))
    for profile, number in found.slow_profiles.items():
        lines.append(
            f"latency_profile {profile}: {counted(number, 'scenario')}; not simulated, the tools answer at once"
        )
    return [*lines, f"run it: pytest {out} --agent=..."]


def _block(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    shown = [part for line in lines[:MOST_LINES] for part in _wrapped(f"  {line}")]
    more = [f"  and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return [f"{title}: {len(lines)}", *shown, *more]


def _wrapped(line: str) -> list[str]:
    """The line on as many of 100 columns as it takes; a path or an id is never broken."""
    return wrap(
        line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )


def _progress(name: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{name}", end="\r", file=sys.stderr, flush=True)


def _print(line: str) -> None:
    print(encodable(one_line(line), sys.stdout.encoding))
