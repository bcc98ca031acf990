"""Ctrl-C in the middle of 100 conversations: `python -m benchmarks.interrupted [--at-once N] [--after N]`.

The suite fdb3 against a double in another process, all at once. When so many results are there, the run gets SIGINT;
then `--voicebench-resume` holds the rest. Printed: seconds from the signal to the end of the process, results kept, and
what the resumed run did. Ends with 1 where the end took longer than 5 s, a result was lost, or an item is missing.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import ROOT
from pytest_voicebench.plan import completed, read_plan
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import read_results

AIM_S = 5.0
SPEECH_ENDS_S, DELAY_S, LONGEST_S = 4.0, 0.5, 4.0
INTERRUPTED = 2


def main() -> int:
    """Print what came of it; 1 where an aim is missed."""
    asked = _arguments()
    with tempfile.TemporaryDirectory() as folder, _double() as url:
        command = [sys.executable, "-m", "pytest", str(ROOT / "suites" / "fdb3"), "-q", "-p", "no:cacheprovider"]
        command += ["-p", "no:xdist", f"--agent=gpt-realtime,url={url}", f"--voicebench-reports={folder}"]
        command += [f"--voicebench-concurrency={asked.at_once}"]
        status, took_s = _interrupted(command, Path(folder), asked.after)
        run = _newest(Path(folder))
        kept, before = read_results(run).results, _outcomes(run)
        resumed = subprocess.run([*command, f"--voicebench-resume={run}"], capture_output=True, text=True, check=False)
        after = _outcomes(run)
    lost = [name for name, outcome in before.items() if outcome != "not_run" and after.get(name) != outcome]
    left = [name for name, outcome in after.items() if outcome == "not_run"]
    print(f"status {status}, {took_s:.1f} s after SIGINT (aim: {AIM_S:g} s); {len(kept)} of {len(before)} results kept")
    print(f"resumed: status {resumed.returncode}, {len(lost)} results lost, {len(left)} items not run")
    return int(status != INTERRUPTED or took_s > AIM_S or bool(lost) or bool(left))


def _interrupted(command: list[str], folder: Path, after: int) -> tuple[int, float]:
    """Its status, and seconds from the signal to its end."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    while process.poll() is None and _lines(folder) < after:
        time.sleep(0.1)
    begin_s = time.perf_counter()
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=600), time.perf_counter() - begin_s


def _lines(folder: Path) -> int:
    logs = list(folder.glob("*/results.jsonl"))
    return len(logs[0].read_bytes().splitlines()) if logs else 0


def _newest(folder: Path) -> Path:
    return folder / (folder / "latest").read_text().strip()


def _outcomes(run: Path) -> dict[str, str]:
    plan = read_plan(run)
    assert plan is not None
    rows: tuple[Result, ...] = completed(plan, read_results(run).results)
    return {row.item_id: row.outcome for row in rows}


@contextmanager
def _double() -> Iterator[str]:
    """The address of the double."""
    server = [sys.executable, str(Path(__file__).with_name("pacing_server.py"))]
    command = [*server, *map(str, (SPEECH_ENDS_S, DELAY_S, LONGEST_S))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"ws://127.0.0.1:{int(process.stdout.readline())}/v1/realtime"
        finally:
            process.stdin.close()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interrupted", description=__doc__)
    parser.add_argument("--at-once", type=int, default=100, metavar="N", help="conversations at once (100)")
    parser.add_argument("--after", type=int, default=5, metavar="N", help="results before the signal (5)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
