"""The folder of a run that was put together from others: it stands alone, and every figure in it is computed anew."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element

from pytest_voicebench.files import copy_files, link_or_copy
from pytest_voicebench.judgement import Judgement
from pytest_voicebench.judgement_files import write_judgements
from pytest_voicebench.manifest import merged_manifest, write_manifest
from pytest_voicebench.plan import Plan, write_plan
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import ITEMS_NAME, RunUnreadable, folder_of, save_result
from pytest_voicebench.saved_run import SavedRun, load_run
from pytest_voicebench.staging import staged
from pytest_voicebench.writers.junit import JUNIT_NAME, write_junit
from pytest_voicebench.writers.markdown import write_markdown
from pytest_voicebench.writers.summary_json import write_summary


class MergeRefused(Exception):  # noqa: N818 - says what is the case, for a person
    """Runs whose results must not stand in one table; one line that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the folder is made of: each result with the run that it comes from, and what judges said.

    `cases` are test cases of the runs' own junit.xml by name, which tell why an item failed.
    """

    plan: Plan
    rows: Sequence[tuple[Result, SavedRun]]
    judgements: Sequence[Judgement]
    cases: Mapping[str, Element] = field(default_factory=dict)


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder for `write_merged` and what follows it, which is at `out` once all of it is there, and nowhere before.

    Raises MergeRefused where `out` exists; OSError.
    """
    if os.path.lexists(out):
        raise MergeRefused(f"{out}: exists already; give another folder with --out")
    with staged(out) as stage:
        yield stage


def write_merged(parts: Parts, out: Path) -> SavedRun:
    """Write plan, results, evidence (hard links where possible), judgements, summary.json, summary.md,
    manifest.json and junit.xml into an empty folder.

    Gives the run as read back from it. Raises MergeRefused where a result's folder lies outside its run or is not read
    to its end; RunUnreadable for figures too large to sum up; OSError.
    """
    evidence = [_evidence(run.folder, result) for result, run in parts.rows if result.folder]
    write_plan(out, parts.plan)
    _link(evidence, out)
    for result, _ in parts.rows:
        if result.outcome != "not_run" or result.usd or result.usd_unknown:  # what was cut off ran up a bill
            save_result(out, result)
    if parts.judgements:
        write_judgements(out, parts.judgements)
    merged = load_run(out)
    summary = merged.summary()
    write_summary(out, summary)
    write_markdown(out, summary, merged.results)
    folders = dict.fromkeys(run.folder for _, run in parts.rows)
    write_manifest(out, merged_manifest(merged.plan, merged.results, folders))
    write_junit(out / JUNIT_NAME, merged.results, summary, parts.cases)
    return merged


def _evidence(run_folder: Path, result: Result) -> tuple[Path, str]:
    """Where an item's files are and where they go: those of all its attempts."""
    try:
        folder_of(run_folder, result)
    except RunUnreadable as error:
        raise MergeRefused(str(error)) from None
    parts = PurePosixPath(result.folder or "").parts
    name = "/".join(parts[:2] if parts[0] == ITEMS_NAME else parts)
    return run_folder / name, name


def _link(evidence: Iterable[tuple[Path, str]], out: Path) -> None:
    for source, folder in evidence:
        if source.is_dir():
            copy_files(source, out / folder, link_or_copy)
