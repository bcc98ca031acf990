"""Runs pytest in a process of its own and measures it: wall and CPU time, peak memory. Shared by the benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one process took. `peak_mb` is its largest resident size, in millions of bytes."""

    wall_s: float
    cpu_s: float
    peak_mb: float


def measure_pytest(folder: Path, *arguments: str) -> Measured:
    """Run `python -m pytest` in a folder. Its output is dropped; it must end well, else RuntimeError with its output.

    Byte code is written and read as on any machine, whatever this environment says: without it, every run compiles all
    modules again. The plugins of hypothesis and of the cache, which are no part of what is measured, are left out.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *arguments]
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: some tests failed, which an agent may make them do
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{output}")
    return Measured(
        wall_s=wall_s, cpu_s=usage.ru_utime + usage.ru_stime, peak_mb=usage.ru_maxrss * _rss_unit() / 1_000_000
    )


def _environment() -> Mapping[str, str]:
    unwanted = ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def _rss_unit() -> int:
    return 1 if sys.platform == "darwin" else 1024
