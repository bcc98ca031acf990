"""A whole run of fdb3 with the simulated agent, and where its time goes: `python benchmarks/simulated_suite.py`.

Every block goes through send() and the loudspeaker; sound and JSON are written, into a folder that is removed again.
More words are passed on to pytest: `--agent=simulated,behaviour=slow`, `-k travel`.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

STAGES = {
    "conversation": [("pytest_voicebench.runner", "Runner._on_virtual_clock")],
    "detection": [("pytest_voicebench.speech", "detect_speech")],
    "FLAC": [("pytest_voicebench.audio_files", "write_flac")],
    "JSON": [("pytest_voicebench.conversation_files", "dump_json"), ("pytest_voicebench.result_files", "save_result")],
    "scoring": [("pytest_voicebench.scoring", "score")],
    "summary": [("pytest_voicebench.plugin.report", "sum_up")],
}
"""Functions that do the work of a stage; none calls another of them."""

_spent: dict[str, float] = dict.fromkeys(STAGES, 0.0)


class Phases:
    """A plugin that has the stages watched, and notes the CPU time at which the first item begins."""

    loop_s = 0.0

    def pytest_sessionstart(self) -> None:
        """Now, because pytest wants to be the first to import plugins."""
        for stage, functions in STAGES.items():
            for module, name in functions:
                _watch(stage, module, name)

    def pytest_runtestloop(self) -> None:
        """Collection is over."""
        self.loop_s = time.process_time()


def main() -> int:
    """Run, and print the tables. The exit code is pytest's."""
    import pytest

    os.chdir(ROOT)
    phases = Phases()
    agent = [] if any(word.startswith("--agent") for word in sys.argv[1:]) else ["--agent=simulated"]
    plain = ["-q", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    with tempfile.TemporaryDirectory() as reports:
        words = ["suites/fdb3", *agent, *plain, f"--voicebench-reports={reports}", *sys.argv[1:]]
        begin = time.perf_counter()
        code = int(pytest.main(words, plugins=[phases]))
        wall_s = time.perf_counter() - begin
        _print(Path(reports), wall_s, time.process_time(), phases.loop_s)
    return code


def _watch(stage: str, module: str, name: str) -> None:
    """Put a function in the place of another that adds the CPU time of its thread to the stage."""
    owner: Any = importlib.import_module(module)
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    setattr(owner, last, _timed(stage, getattr(owner, last)))


def _timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        begin = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            _spent[stage] += time.thread_time() - begin

    return timed


def _print(reports: Path, wall_s: float, cpu_s: float, loop_s: float) -> None:
    run = reports / (reports / "latest").read_text(encoding="utf-8").strip()
    results = [json.loads(line) for line in (run / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    audio_s = sum(result["duration_s"] or 0.0 for result in results)
    written = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"{len(results)} conversations, {audio_s:.0f} s of them; {written / 1e6:.0f} MB written")
    print(f"{wall_s:.1f} s wall, {cpu_s:.1f} s CPU, {audio_s / cpu_s:.0f} s of conversation per CPU second")
    print(f"peak memory {peak / 1e6:.0f} MB")
    rows = {"start, collection": loop_s, **_spent}
    rows["pytest and the rest"] = cpu_s - sum(rows.values())
    for name, seconds in rows.items():
        print(f"{name:20} {seconds:6.2f} s CPU {seconds / cpu_s:5.0%} {1000 * seconds / len(results):7.1f} ms each")


if __name__ == "__main__":
    sys.exit(main())
