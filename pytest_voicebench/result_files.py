"""A run's folder: results.jsonl that grows as items finish, a folder per item, and which run is the newest."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_voicebench.codec import CodecError, dump_json, from_json, parse_text
from pytest_voicebench.files import read_file, write_atomically
from pytest_voicebench.result import Result
from pytest_voicebench.some_names import MOST_NAMES

RESULTS_NAME = "results.jsonl"
RESULT_NAME = "result.json"
ITEMS_NAME = "items"
LATEST_NAME = "latest"

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_DEVICE_NAMES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # Windows opens these as devices


class RunUnreadable(Exception):  # noqa: N818 - says what is the case, for a person
    """A run that is not there or cannot be read; one line that names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLog:
    """What a results.jsonl holds, line by line in order of writing, and notes on lines that were no results.

    `unreadable` are the ids of items that such a line names. `damage` tells of the first such line, and of how many
    there are; None where the file could be read whole.
    """

    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    unreadable: frozenset[str] = frozenset()
    damage: str | None = None


def append_result(run_folder: Path, result: Result) -> None:
    """Add one line to results.jsonl by a single write, so that processes may append side by side.

    Where the last line was torn by a killed process, the new one starts on a line of its own.
    """
    run_folder.mkdir(parents=True, exist_ok=True)
    path = run_folder / RESULTS_NAME
    line = dump_json(result) + b"\n"
    with path.open("ab+", buffering=0) as log:
        if log.seek(0, os.SEEK_END):
            log.seek(-1, os.SEEK_END)
            if log.read(1) != b"\n":
                line = b"\n" + line
        if log.write(line) != len(line):
            raise OSError(f"{path}: disk full, the result of {result.item_id} was cut")


def drop_torn_end(run_folder: Path) -> None:
    """Cut off what a killed process left of the last line, so that the run which goes on can be read whole.

    Only an end that is no JSON and has no line end: anything else was whole once, and is left to whoever damaged it.
    Raises OSError.
    """
    path = run_folder / RESULTS_NAME
    if not path.is_file():
        return
    data = read_file(path)
    start = data.rfind(b"\n") + 1
    try:
        parse_text(data[start:] or b"null", where=str(path))
    except CodecError:
        os.truncate(path, start)


def read_results(run_folder: Path) -> ResultLog:
    """All results of a run folder. Raises RunUnreadable without a results.jsonl.

    A line that is not JSON was torn by a killed process; one that is JSON and no result was changed by somebody. Either
    is left out, with a note (of very many, the first few): one bad line never takes the others with it.
    """
    return read_results_file(run_folder / RESULTS_NAME)


def read_results_file(path: Path) -> ResultLog:
    """As `read_results`, from a results.jsonl of any name and place. Raises RunUnreadable."""
    try:
        lines = read_file(path).split(b"\n")
    except OSError as error:
        raise RunUnreadable(f"{path}: {error.strerror}: not the folder of a run?") from None
    results: list[Result] = []
    wrong: list[str] = []
    unreadable: set[str] = set()
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        if line.strip():
            try:
                data = parse_text(line, where=where)
            except CodecError:
                wrong.append(f"{where}: torn line left out; its item may be missing")
                continue
            try:
                results.append(from_json(Result, data, where=where))
            except CodecError as error:
                wrong.append(f"{error}; line left out")
                unreadable |= _named_item(data)
    return ResultLog(
        results=tuple(results),
        notes=(*wrong[:MOST_NAMES], *[f"{path}: {len(wrong)} such lines in all"] * (len(wrong) > MOST_NAMES)),
        unreadable=frozenset(unreadable),
        damage=_damage(wrong),
    )


def _damage(wrong: Sequence[str]) -> str | None:
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return wrong[0] + more if wrong else None


def _named_item(data: object) -> set[str]:
    item_id = data.get("item_id") if isinstance(data, dict) else None
    return {item_id} if isinstance(item_id, str) else set()


def folder_of(run_folder: Path, result: Result) -> Path:
    """Where the item's conversation lies. Raises RunUnreadable where that is nowhere, or outside the run's folder."""
    if result.folder is None:
        raise RunUnreadable(f"{run_folder}: no conversation of {result.item_id} was saved")
    try:
        run, folder = run_folder.resolve(), (run_folder / result.folder).resolve()
    except (OSError, ValueError, RuntimeError):  # a null character, a name too long, links in a circle
        raise RunUnreadable(
            f"{run_folder}: the folder of {result.item_id} is no path: {result.folder[:80]!r}"
        ) from None
    if not folder.is_relative_to(run) or folder == run:
        raise RunUnreadable(f"{run_folder}: the folder of {result.item_id} lies outside the run: {result.folder}")
    return folder


def item_folder_name(item_id: str) -> str:
    """An item's folder in `items`: the id where it is a safe name, else its safe characters and digits of its hash."""
    if _SAFE_NAME.fullmatch(item_id) and not _DEVICE_NAMES.fullmatch(item_id) and not item_id.endswith("."):
        return item_id
    legible = re.sub(r"[^A-Za-z0-9_]+", "-", item_id).strip("-")[:60]
    digits = hashlib.sha256(item_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"item-{legible}-{digits}" if legible else f"item-{digits}"


def save_result(run_folder: Path, result: Result) -> None:
    """Write result.json into the item's folder (where it has one), then the line of results.jsonl."""
    if result.folder is not None:
        write_atomically(run_folder / result.folder / RESULT_NAME, dump_json(result, indent=2) + b"\n")
    append_result(run_folder, result)


def mark_latest(run_folder: Path) -> None:
    """Note in `latest`, beside the run's folder, that this run is the newest."""
    write_atomically(run_folder.parent / LATEST_NAME, run_folder.name.encode() + b"\n")


def mark_latest_in(reports: Path, run_folder: Path) -> None:
    """`mark_latest` for a run that lies in `reports`; elsewhere nobody looks for the newest."""
    if run_folder.resolve().parent == reports.resolve():
        mark_latest(run_folder)


def find_run(run: str, reports: Path = Path("reports")) -> Path:
    """The folder of a run given as a folder, as its name below `reports`, or as `latest`. Raises RunUnreadable."""
    if not run:
        raise RunUnreadable("an empty text names no run")
    if run == LATEST_NAME or Path(run) == reports / LATEST_NAME:
        return _latest(reports)
    for folder in (Path(run), reports / run):
        if folder.is_dir():
            return folder
    if Path(run).is_file():
        raise RunUnreadable(f"{run}: a file; the folder of a run is needed")
    raise RunUnreadable(f"{run}: no such run, neither as a folder nor in {reports}{os.sep}")


def _latest(reports: Path) -> Path:
    try:
        name = read_file(reports / LATEST_NAME).decode("utf-8", "replace").strip()
    except OSError:
        raise RunUnreadable(f"{reports / LATEST_NAME}: no run has been made here yet") from None
    if not name or Path(name).name != name or not (reports / name).is_dir():
        raise RunUnreadable(f"{reports / LATEST_NAME}: names the run {name!r}, which is not there")
    return reports / name
