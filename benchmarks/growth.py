"""Cost per item and peak memory of runs of 50, 100 and 200 conversations: `python benchmarks/growth.py [ROUNDS]`.

The suite is fdb3 with the simulated agent: every second item; all items; all items with two agents that behave alike.
What a run costs before its first item is measured by itself (the same run, collected only) and taken off. The lowest of
some rounds counts, because the machine may be busy with other work.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

from processes import ROOT, measure_pytest

SUITE = "suites/fdb3"
ONE = ("--agent=simulated",)
TWO = (*ONE, "--agent=simulated,delay_s=0.0")  # another label, the same behaviour


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    items = _items()
    cases = {len(items) // 2: (*items[::2], *ONE), len(items): (SUITE, *ONE), 2 * len(items): (SUITE, *TWO)}
    runs = {count: [_measured(arguments) for _ in range(rounds)] for count, arguments in cases.items()}
    print("items   CPU s   ms each   peak MB")
    each: list[float] = []
    for count, found in runs.items():
        cpu_s = min(run for run, _, _ in found) - min(collected for _, collected, _ in found)
        each.append(1000 * cpu_s / count)
        print(f"{count:5} {cpu_s:7.2f} {each[-1]:9.1f} {max(peak for _, _, peak in found):9.0f}")
    print(f"dearest / cheapest item: {max(each) / min(each):.2f}")


def _items() -> list[str]:
    """Node ids of the suite, in order."""
    command = [sys.executable, "-m", "pytest", SUITE, "--collect-only", "-q", "-p", "no:cacheprovider"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [line for line in output.splitlines() if "::" in line]


def _measured(arguments: tuple[str, ...]) -> tuple[float, float, float]:
    """CPU seconds of a run, of collecting it, and the run's peak memory."""
    with tempfile.TemporaryDirectory() as reports:
        words = (*arguments, "-p", "no:xdist", f"--voicebench-reports={reports}")
        run = measure_pytest(ROOT, *words)
        collected = measure_pytest(ROOT, *words, "--collect-only")
    return run.cpu_s, collected.cpu_s, run.peak_mb


if __name__ == "__main__":
    main()
