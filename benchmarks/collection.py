"""Collecting 1,000 scenarios against 1,000 parametrized functions: `python benchmarks/collection.py [ROUNDS]`.

Against collecting the functions, and against running them, as `pytest` with such a file does.

The scenarios are those of loading.py: each with two retractions, a recording and a timing file. Whole processes of the
same pytest, the plugin installed in both, one after the other in turn, because the machine may be busy with other work.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from loading import write_suite
from processes import Measured, measure_pytest

COUNT = 1_000
FUNCTIONS = f"""\
import pytest


@pytest.mark.parametrize("number", range({COUNT}), ids=[f"item_{{n}}" for n in range({COUNT})])
def test_item(number):
    pass
"""
ONE_TEST = "def test_one():\n    pass\n"
INI = "[pytest]\nasyncio_default_fixture_loop_scope = session\n"


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        cases = _cases(Path(folder))
        runs: dict[str, list[Measured]] = {name: [] for name in cases}
        for round_number in range(rounds + 1):
            for name, (place, arguments) in cases.items():
                measured = measure_pytest(place, *arguments)
                if round_number:  # the first compiles and fills the disk's cache
                    runs[name].append(measured)
    print(f"{'medians of ' + str(rounds) + ' processes':42}  wall s   CPU s   peak MB")
    for name, found in runs.items():
        wall_s, cpu_s, peak_mb = (median(getattr(m, f) for m in found) for f in ("wall_s", "cpu_s", "peak_mb"))
        print(f"{name:42} {wall_s:7.2f} {cpu_s:7.2f} {peak_mb:9.0f}")
    ratios = (("scenarios", "functions collected"), ("scenarios", "functions run"), ("one test", "without"))
    for over, under in ratios:
        for what in ("wall_s", "cpu_s"):
            print(f"{over} / {under}, {what[:-2]:4}: {_ratio(runs, over, under, what):.2f}")


def _cases(folder: Path) -> dict[str, tuple[Path, tuple[str, ...]]]:
    """Name, folder and arguments of each process to measure."""
    for name, text in (("functions", FUNCTIONS), ("one", ONE_TEST)):
        (folder / name).mkdir()
        (folder / name / f"test_{name}.py").write_text(text, encoding="utf-8")
        (folder / name / "pytest.ini").write_text(INI, encoding="utf-8")
    (folder / "scenarios").mkdir()
    write_suite(folder / "scenarios", COUNT)
    (folder / "scenarios" / "pytest.ini").write_text(INI, encoding="utf-8")
    return {
        f"scenarios: {COUNT} of a suite file": (folder / "scenarios", ("--collect-only", "suite.yaml")),
        f"functions collected: {COUNT} parametrized": (folder / "functions", ("--collect-only",)),
        f"functions run: {COUNT} parametrized": (folder / "functions", ()),
        "one test and no suite": (folder / "one", ("--collect-only",)),
        "without the plugin: one test": (folder / "one", ("--collect-only", "-p", "no:voicebench")),
    }


def _ratio(runs: dict[str, list[Measured]], over: str, under: str, what: str) -> float:
    """Median of the ratios of neighbouring runs: what the machine does beside them hits both."""
    above, below = (next(found for name, found in runs.items() if name.startswith(n)) for n in (over, under))
    return median(getattr(a, what) / getattr(b, what) for a, b in zip(above, below, strict=True))


if __name__ == "__main__":
    main()
