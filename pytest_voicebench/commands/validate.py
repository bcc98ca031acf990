"""`validate PATH...`: every mistake in suite files; the expected calls are played on the mock tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from pytest_voicebench.loading import Mistake, SuiteError, check_distinct, is_suite_file, load_suite
from pytest_voicebench.rehearsal import rehearse
from pytest_voicebench.scenario import Suite


def run(argv: list[str]) -> int:
    """Print `OK: n scenarios, m recordings` (exit status 0) or every mistake, one a line (1); no suite there: 2."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench validate", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a suite file, or a folder that holds some")
    files: list[Path] = []
    for path in parser.parse_args(argv).paths:
        found = list(_suite_files(path))
        if not found:
            print(f"{path}: no suite there (a suite's first key is voicebench: 1)", file=sys.stderr)
            return 2
        files += found
    suites, mistakes = _load(list(dict.fromkeys(files)))
    for mistake in dict.fromkeys(mistakes):
        print(mistake)
    if mistakes:
        print(f"{len(set(mistakes))} mistakes in {len(files)} files", file=sys.stderr)
        return 1
    print(_summary(suites))
    return 0


def _suite_files(path: Path) -> Iterator[Path]:
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


def _summary(suites: list[Suite]) -> str:
    scenarios = [scenario for suite in suites for scenario in suite.scenarios]
    ids = {(s.suite.path, s.id) for s in scenarios}
    recordings = {step.audio for s in scenarios for step in s.steps if step.audio}
    return f"OK: {len(ids)} scenarios, {len(recordings)} recordings"
