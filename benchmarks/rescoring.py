"""Judging 100 saved conversations again: `python benchmarks/rescoring.py [ROUNDS]`.

The suite is fdb3, held once with the simulated agent. Whole processes are measured: start, collection, the reading of
the earlier run, judgement, all files, the summary. What is written anew is told apart from what both runs share.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from processes import ROOT, measure_pytest

SUITE = "suites/fdb3"
WAYS = (("-p", "no:xdist"), ("-n", "2"))


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        reports = f"--voicebench-reports={folder}"
        held = measure_pytest(ROOT, SUITE, "--agent=simulated,behaviour=mix", "-p", "no:xdist", reports)
        run = Path(folder, Path(folder, "latest").read_text(encoding="utf-8").strip())
        print(f"{len(list((run / 'items').iterdir()))} conversations            wall s   CPU s   peak MB")
        print(f"held                          {held.wall_s:7.2f} {held.cpu_s:7.2f} {held.peak_mb:9.0f}")
        for way in WAYS:
            words = (SUITE, f"--voicebench-rescore={run}", *way, reports)
            found = min((measure_pytest(ROOT, *words) for _ in range(rounds)), key=lambda m: m.wall_s)
            name = f"judged again, {' '.join(way)}"
            print(f"{name:30}{found.wall_s:7.2f} {found.cpu_s:7.2f} {found.peak_mb:9.0f}")
        newest = Path(folder, Path(folder, "latest").read_text(encoding="utf-8").strip())
        print(f"{_megabytes(run):.1f} MB in the run, {_megabytes(newest, unshared=True):.1f} MB more in one of it")


def _megabytes(folder: Path, *, unshared: bool = False) -> float:
    """The files' sizes in millions of bytes; on request only of those that no other run has too."""
    sizes = (path.stat() for path in folder.rglob("*") if path.is_file())
    return sum(s.st_size for s in sizes if not unshared or s.st_nlink == 1) / 1_000_000


if __name__ == "__main__":
    main()
