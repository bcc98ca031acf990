"""`merge RUN --replace RERUN`: lay a rerun of some items over a run of all, and say which came from where."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_voicebench.codec import CodecError
from pytest_voicebench.commands.report import print_tables, write_page_or_tell
from pytest_voicebench.merging import Merge, MergeRefused, lay_over, merge_text, write_merge
from pytest_voicebench.page.write import write_page
from pytest_voicebench.result_files import RunUnreadable, find_run, mark_latest_in
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.writers.plain_text import encodable, one_line


def run(argv: list[str]) -> int:
    """Write the merged run's folder and print what was taken, then its tables (0); 2 with one line if refused."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench merge", description=__doc__)
    parser.add_argument("run", metavar="RUN", help="the whole run: its folder, its name, or `latest`")
    parser.add_argument("--replace", required=True, metavar="RERUN", help="the rerun whose results take precedence")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the merged run's folder (default: RUN+RERUN)")
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    options = parser.parse_args(argv)
    try:
        saved = load_run(find_run(options.run, options.reports))
        rerun = load_run(find_run(options.replace, options.reports))
        merge = lay_over(saved, rerun)
        out = options.out or saved.folder.resolve().parent / f"{saved.name}+{rerun.name}"
        merged = write_merge(merge, saved, rerun, out)
        mark_latest_in(options.reports, out)
    except (RunUnreadable, MergeRefused, CodecError, OSError) as error:
        print(one_line(f"merge: {error}"), file=sys.stderr)
        return 2
    for note in (*saved.notes, *rerun.notes):
        print(one_line(f"note: {note}"), file=sys.stderr)
    _print_merge(merge, saved, rerun, out)
    summary = merged.summary()
    write_page_or_tell(merged, summary, write_page)
    print_tables(summary)
    return 0


def _print_merge(merge: Merge, saved: SavedRun, rerun: SavedRun, out: Path) -> None:
    """What became of each item of the rerun, and where the others come from."""
    lines = [merge_text(merge, saved, rerun)]
    for item in merge.laid:
        kept = "" if item.taken else f"  (kept that of {saved.name}: the rerun measured nothing)"
        lines.append(f"  {item.item_id}: {item.before} -> {item.after}{kept}")
    lines += [f"all other items come from {saved.name}", f"written to {out}", ""]
    for line in lines:
        print(encodable(one_line(line), sys.stdout.encoding))
