"""`merge RUN...`: shards joined to one run; `merge RUN --replace RERUN`: a rerun of some items laid over a run."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from pytest_voicebench.codec import CodecError
from pytest_voicebench.commands.gate_options import (
    add_gate_arguments,
    asked_for,
    asked_of_shards,
    status,
    write_decisions,
)
from pytest_voicebench.commands.report import print_tables
from pytest_voicebench.files import os_error_text
from pytest_voicebench.gating import Asked
from pytest_voicebench.joining import join, join_text, refuse_holes, write_joined
from pytest_voicebench.merged_folder import new_folder
from pytest_voicebench.merging import Merge, MergeRefused, lay_over, merge_text, write_merge
from pytest_voicebench.page.write import write_page
from pytest_voicebench.result_files import RunUnreadable, find_run, mark_latest_in
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.summary import Summary
from pytest_voicebench.writers.plain_text import encodable, one_line

DESCRIPTION = """
Without --replace: RUN... are the shards of one run (--voicebench-shard), which become one run. With --replace: the
results of a rerun take the place of the run's. Exit status 0: every item passed or was skipped; 1: something failed,
was an error or never ran, also where --allow-partial lets it be missing; 2: refused, because a shard or an item is
missing, is there twice, or is of another run, or because the run could not be written: then there is no folder. With
gates, those of the ini file that shards were run with and --gate: 1 where one fails, or an item never ran; a missed
scenario alone is 0 then.
"""


def run(argv: list[str]) -> int:
    """Write the merged run's folder, say what came from where, print its tables; exit status as `DESCRIPTION` says."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench merge", description=DESCRIPTION)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run: its folder, its name, or `latest`")
    parser.add_argument("--replace", metavar="RERUN", help="lay this rerun over the one RUN")
    parser.add_argument("--allow-partial", action="store_true", help="merge even if shards or items are missing")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the merged run's folder (default: after the runs)")
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    add_gate_arguments(parser)
    options = parser.parse_args(argv)
    if options.replace and len(options.runs) > 1:
        parser.error("--replace lays a rerun over one RUN")
    if options.replace and options.allow_partial:
        parser.error("--allow-partial is for shards, not for --replace")
    try:
        runs = [load_run(find_run(name, options.reports)) for name in options.runs]
        return _replace(runs[0], options) if options.replace else _join(runs, options)
    except (RunUnreadable, MergeRefused, CodecError, OSError) as error:
        told = os_error_text(error) if isinstance(error, OSError) else error
        print(one_line(f"merge: {told}"), file=sys.stderr)
        return 2


def _join(runs: list[SavedRun], options: argparse.Namespace) -> int:
    joined = join(runs)
    if not options.allow_partial:
        refuse_holes(joined)
    first, *others = joined.shards
    out = options.out or first.folder.resolve().parent / f"{first.name}+{len(others)}"
    asked = asked_of_shards(options, joined.shards)
    with new_folder(out) as stage:
        summary = _written(write_joined(joined, stage), asked)
    mark_latest_in(options.reports, out)
    for run in joined.shards:
        _print_notes(run)
    for line in (*joined.holes, *joined.cautions):
        print(one_line(f"note: {line}"), file=sys.stderr)
    _print([join_text(joined), f"written to {out}", ""])
    print_tables(summary)
    return status_of(summary, asked)


def _written(merged: SavedRun, asked: Asked) -> Summary:
    """The summary with what was decided, which all files of the run hold. Raises as `write_decisions`."""
    summary = write_decisions(merged, asked)
    write_page(merged, summary)
    return summary


def status_of(summary: Summary, asked: Asked) -> int:
    """What pytest's exit status would have been: by the gates, else 1 where an item failed, was an error or never
    ran."""
    counts = summary.counts
    if summary.gates:
        return status(summary, asked)
    return int(bool(counts.failed or counts.error or counts.not_run))


def _replace(saved: SavedRun, options: argparse.Namespace) -> int:
    rerun = load_run(find_run(options.replace, options.reports))
    merge = lay_over(saved, rerun)
    out = options.out or saved.folder.resolve().parent / f"{saved.name}+{rerun.name}"
    asked = asked_for(options, replace(saved, results=merge.results), rerun)
    with new_folder(out) as stage:
        summary = _written(write_merge(merge, saved, rerun, stage), asked)
    mark_latest_in(options.reports, out)
    _print_notes(saved)
    _print_notes(rerun)
    _print_merge(merge, saved, rerun, out)
    print_tables(summary)
    return status_of(summary, asked)


def _print_notes(run: SavedRun) -> None:
    for note in run.notes:
        print(one_line(f"note: {note}"), file=sys.stderr)


def _print_merge(merge: Merge, saved: SavedRun, rerun: SavedRun, out: Path) -> None:
    """What became of each item of the rerun, and where the others come from."""
    lines = [merge_text(merge, saved, rerun)]
    for item in merge.laid:
        kept = "" if item.taken else f"  (kept that of {saved.name}: the rerun measured nothing)"
        lines.append(f"  {item.item_id}: {item.before} -> {item.after}{kept}")
    _print([*lines, f"all other items come from {saved.name}", f"written to {out}", ""])


def _print(lines: list[str]) -> None:
    for line in lines:
        print(encodable(one_line(line), sys.stdout.encoding))
