"""The run to compare with: a folder, a name, the newest finished run, or a results.jsonl that somebody kept."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from pytest_voicebench.codec import CodecError, parse_text
from pytest_voicebench.files import read_file
from pytest_voicebench.plan import PLAN_NAME
from pytest_voicebench.result import VALID
from pytest_voicebench.result_files import LATEST_NAME, RESULTS_NAME, RunUnreadable, find_run
from pytest_voicebench.saved_run import SavedRun, load_results_file, load_run
from pytest_voicebench.writers.summary_json import SUMMARY_NAME

RUN_OR_FILE = "a run's folder, its name, `latest`, or a results.jsonl under any name"
"""What `load_given` takes, for the help of commands."""


class NoFinishedRun(RunUnreadable):
    """There is no run yet that `latest` could mean; one line."""


def load_baseline(given: str, reports: Path, *, here: Path = Path(), besides: Collection[Path] = ()) -> SavedRun:
    """The run that `--voicebench-baseline` names. Raises RunUnreadable, one line, also for one that nothing can be
    held against: it could not be read whole, or measured nothing.

    `latest` is the newest run that was finished, other than `besides` (NoFinishedRun where there is none); all else is
    as `load_given` says.
    """
    if given == LATEST_NAME:
        return _usable(load_run(newest_finished(reports, besides)))
    return _usable(load_given(given, reports, here=here))


def _usable(run: SavedRun) -> SavedRun:
    if run.damage is not None:
        raise RunUnreadable(
            f"{run.damage}: who was worse cannot be told from the rest; give another run, or take that line out"
        )
    if not any(row.outcome in VALID for row in run.results):
        raise RunUnreadable(f"{run.folder}: no item was measured, so nothing can be held against it")
    return run


def load_given(given: str, reports: Path, *, here: Path = Path()) -> SavedRun:
    """A run that is only read: a file or a run's folder from `here`, or as in all commands. Raises RunUnreadable.

    A results.jsonl under any name stands alone; summary.json, which holds no items, stands for the folder that it lies
    in, and so does the results.jsonl of a run's folder.
    """
    path = here / given
    if given and given != LATEST_NAME and path.is_file():
        return _from_file(path)
    return load_run(path if given and given != LATEST_NAME and path.is_dir() else _found(given, reports))


def _found(given: str, reports: Path) -> Path:
    try:
        return find_run(given, reports)
    except RunUnreadable as error:
        if given in ("", LATEST_NAME):
            raise
        raise RunUnreadable(f"{given}: no such file, and no such run in {reports}") from error


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
    """The newest whole run of which every planned item ran, by when its summary was written. Raises NoFinishedRun.

    Runs that go on, that ended early or measured nothing, and shards are none to go by.
    """
    left_out = {folder.resolve() for folder in besides}
    summaries = [path for path in reports.glob(f"*/{SUMMARY_NAME}") if path.parent.resolve() not in left_out]
    for path in sorted(summaries, key=lambda path: (path.stat().st_mtime_ns, path.parent.name), reverse=True):
        if _finished(path):
            return path.parent
    raise NoFinishedRun(f"{LATEST_NAME}: no other finished run in {reports}")


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
