"""The run to compare with: a folder, a name, the newest finished run, or a results.jsonl that somebody kept."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from pytest_voicebench.codec import CodecError, parse_text
from pytest_voicebench.files import read_file
from pytest_voicebench.plan import PLAN_NAME
from pytest_voicebench.result_files import LATEST_NAME, RESULTS_NAME, RunUnreadable, find_run
from pytest_voicebench.saved_run import SavedRun, load_results_file, load_run
from pytest_voicebench.writers.summary_json import SUMMARY_NAME


def load_baseline(given: str, reports: Path, *, here: Path = Path(), besides: Collection[Path] = ()) -> SavedRun:
    """The run that `--voicebench-baseline` names. Raises RunUnreadable, one line.

    A file counts from `here`: a results.jsonl under any name stands alone; summary.json, which holds no items, stands
    for the folder that it lies in. A run is given as in all commands; `latest` is the newest one that was finished,
    other than `besides`.
    """
    path = here / given
    if path.is_file() and given != LATEST_NAME:
        return _from_file(path)
    if given == LATEST_NAME:
        return load_run(newest_finished(reports, besides))
    return load_run(path if path.is_dir() else _found(given, reports))


def _found(given: str, reports: Path) -> Path:
    try:
        return find_run(given, reports)
    except RunUnreadable:
        raise RunUnreadable(f"{given}: no such file, and no such run in {reports}") from None


def _from_file(path: Path) -> SavedRun:
    folder = path.parent
    if path.name == SUMMARY_NAME:
        if not (folder / RESULTS_NAME).is_file():
            raise RunUnreadable(f"{path}: holds no items; keep the run's {RESULTS_NAME} as a baseline")
        return load_run(folder)
    if path.name == RESULTS_NAME and (folder / PLAN_NAME).is_file():
        return load_run(folder)
    return load_results_file(path)


def newest_finished(reports: Path, besides: Collection[Path] = ()) -> Path:
    """The newest whole run of which every planned item ran, by when its summary was written. Raises RunUnreadable.

    Runs that go on, that ended early or measured nothing, and shards are none to go by.
    """
    left_out = {folder.resolve() for folder in besides}
    summaries = [path for path in reports.glob(f"*/{SUMMARY_NAME}") if path.parent.resolve() not in left_out]
    for path in sorted(summaries, key=lambda path: (path.stat().st_mtime_ns, path.parent.name), reverse=True):
        if _finished(path):
            return path.parent
    raise RunUnreadable(f"{LATEST_NAME}: no other finished run in {reports}")


def _finished(summary: Path) -> bool:
    try:
        data: Any = parse_text(read_file(summary), where=str(summary))
    except (OSError, CodecError):
        return False
    counts, header = (data.get(name) if isinstance(data, dict) else None for name in ("counts", "header"))
    if not isinstance(counts, dict) or not isinstance(header, dict) or "shard" in header:
        return False
    measured = any(counts.get(name) for name in ("passed", "failed"))
    return measured and counts.get("not_run") == 0 and (summary.parent / RESULTS_NAME).is_file()
