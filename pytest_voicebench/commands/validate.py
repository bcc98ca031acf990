"""`validate PATH...`: every mistake in suite files; the expected calls are played on the mock tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_voicebench.counted import counted
from pytest_voicebench.loading import Mistake, SuiteError, check_distinct, is_suite_file, load_suite
from pytest_voicebench.rehearsal import rehearse
from pytest_voicebench.scenario import Suite

_SOUND = (".ogg", ".flac", ".wav", ".mp3")


def run(argv: list[str]) -> int:
    """Print `OK: n scenarios, m recordings` (exit status 0) or every mistake, one a line (1); no suite there: 2.

    Recordings in a folder that no suite of it names are remarked on, on the error stream, and are no mistake.
    """
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench validate", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a suite file, or a folder that holds some")
    paths: list[Path] = parser.parse_args(argv).paths
    files: list[Path] = []
    for path in paths:
        found = list(suite_files(path))
        if not found:
            print(f"{path}: no suite there (a suite's first key is voicebench: 1)", file=sys.stderr)
            return 2
        files += found
    suites, mistakes = _load(list(dict.fromkeys(files)))
    for mistake in dict.fromkeys(mistakes):
        print(mistake)
    if mistakes:
        print(counted(len(set(mistakes)), "mistake"), file=sys.stderr)
        return 1
    for recording in _unnamed(suites, [path for path in paths if path.is_dir()]):
        print(f"note: {recording}: no scenario names this recording", file=sys.stderr)
    print(_summary(suites))
    return 0


def suite_files(path: Path) -> Iterator[Path]:
    """The suite files of a folder and those below it; a file itself, whatever it holds; nothing where nothing is."""
    if path.is_dir():
        yield from (p for p in sorted(path.rglob("*.y*ml")) if p.suffix in (".yaml", ".yml") and is_suite_file(p))
    elif path.exists():
        yield path


def _load(files: list[Path]) -> tuple[list[Suite], list[Mistake]]:
    suites: list[Suite] = []
    mistakes: list[Mistake] = []
    for path in files:
        try:
            suite = load_suite(path)
            suites.append(suite)
            mistakes += rehearse(suite)
        except SuiteError as error:
            mistakes += error.problems
    try:
        check_distinct(suites)
    except SuiteError as error:
        mistakes += error.problems
    return suites, mistakes


def _recordings(suites: list[Suite]) -> set[Path]:
    steps = [step for suite in suites for scenario in suite.scenarios for step in scenario.steps]
    return {step.audio for step in steps if isinstance(step.audio, Path)}


def _unnamed(suites: list[Suite], folders: list[Path]) -> list[Path]:
    """Sound files below the folders, in a suite's folder, that no scenario speaks."""
    named = {path.resolve() for path in _recordings(suites)}
    homes = {suite.info.folder.resolve() for suite in suites}
    found = {p for folder in folders for p in folder.rglob("*") if p.suffix in _SOUND and p.resolve() not in named}
    return sorted(p for p in found if any(home in p.resolve().parents for home in homes))


def _summary(suites: list[Suite]) -> str:
    ids = {(suite.info.path, scenario.id) for suite in suites for scenario in suite.scenarios}
    return f"OK: {counted(len(ids), 'scenario')}, {counted(len(_recordings(suites)), 'recording')}"
