"""`self-test`: how many conversations at once this machine holds without making blocks late."""

from __future__ import annotations

import argparse

from pytest_voicebench.checking.pace import MOST, Pace, largest, pacing
from pytest_voicebench.validity import LATE_P99_S
from pytest_voicebench.whole_numbers import whole_number

DESCRIPTION = f"""
Hold more and more conversations at once with a server on this machine, until blocks of sound leave late: above
{1000 * LATE_P99_S:.0f} ms at the 99th percentile a run gives no latencies. The largest number that holds is the most
to give --voicebench-concurrency here. Beside it, how long messages waited to be read, at the 99th percentile: so late
may tool results leave. Takes one to four minutes; close what else is running. Exit status 1 where not even one
conversation is on time.
"""


def run(argv: list[str]) -> int:
    """Print the table and the number; exit status as `DESCRIPTION` says."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench self-test", description=DESCRIPTION)
    parser.add_argument("--most", type=_number, default=MOST, help=f"look no further than this (default: {MOST})")
    most: int = parser.parse_args(argv).most
    print("at once  late p99, ms  worst, ms  read p99, ms")
    with pacing() as measure:
        found = largest(measure, lambda pace: print(_line(pace), flush=True), most)
    if not found:
        print("this machine does not hold one conversation on time: is something else running?")
        return 1
    print(f"this machine holds {found} at once: --voicebench-concurrency={found}")
    return 0


def _line(pace: Pace) -> str:
    if pace.broken is not None or pace.late_p99_s is None or pace.late_max_s is None:
        return f"{pace.at_once:7}  broken: {pace.broken}"
    late = "" if pace.holds else "  late"
    read = "n/a" if pace.read_late_p99_s is None else f"{1000 * pace.read_late_p99_s:.1f}"
    return f"{pace.at_once:7}  {1000 * pace.late_p99_s:12.1f}  {1000 * pace.late_max_s:9.1f}  {read:>12}{late}"


def _number(text: str) -> int:
    try:
        return whole_number(text, 10_000)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
