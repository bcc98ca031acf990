"""100 conversations at once: are their blocks on time, and is what is measured true? `python -m benchmarks.pacing`.

pytest runs in this process, the agents are behind sockets in another one (`pacing_server.py`), on the same machine.
First a bare websockets client paces as many sessions, so that one sees what the machine can do at all. Then a suite of
100 runs at `--voicebench-concurrency 100`, and one of 200, in which conversations are scored while 100 are under way.
Options: the number (100), `--bare` for the client alone, `--once` without the second suite, `--switch=0.1` for another
switch interval of threads in ms. Close other programs: what they take is measured too.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import stage  # noqa: E402
from suites_for_pytest import _with_words, scenario_yaml, write_suite  # noqa: E402

from pytest_voicebench import duplex, runner  # noqa: E402
from pytest_voicebench.audio import BLOCK_S, RATE_HZ  # noqa: E402
from pytest_voicebench.timing_file import timing_path, write_timing  # noqa: E402

KNOWN_ANSWER_S = 0.5
LONGEST_ANSWER_S = 10.0
BARE_S = 10.0


def main() -> None:
    """Print the tables."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdecimal()]
    n = numbers[0] if numbers else 100
    for word in sys.argv[1:]:
        if word.startswith("--switch="):
            runner.SWITCH_INTERVAL_S = float(word.partition("=")[2]) / 1000
    with tempfile.TemporaryDirectory() as folder:
        suites = {items: _write_suite(Path(folder, str(items)), items) for items in (n, 2 * n)}
        with _server(_user_end_s(suites[n])) as port:
            print(f"{n} at once; figures in ms unless they say otherwise; loop {_loop_ns():.0f} ns")
            _print_lateness("bare websockets client", asyncio.run(_bare(n, port)), None)
            if "--bare" in sys.argv:
                return
            for items, suite in list(suites.items())[: 1 if "--once" in sys.argv else 2]:
                _print_run(_run(suite, n, port), items, n)


def _write_suite(folder: Path, items: int) -> Path:
    """A suite of one request of seven seconds, with a room."""
    (folder / "audio").mkdir(parents=True)
    path, timing = stage.recording(folder / "audio/turn.a.flac", ("reply", 0.6, "filler", 0.5, "reply"))
    write_timing(timing_path(path), _with_words(timing), "synthesized")
    suite = write_suite(folder, *(scenario_yaml(f"item_{i:03}") for i in range(items)))
    suite.write_text(suite.read_text().replace("settle_s: 1.0", "settle_s: 10.0"))
    (folder / "speakers.yaml").write_text("a: {tone: {seed: 100, level_dbfs: -60}}\n")
    return suite


def _user_end_s(suite: Path) -> float:
    timing = json.loads((suite.parent / "audio/turn.a.json").read_text())
    return float(timing["speech"][-1][1])


@contextmanager
def _server(user_end_s: float) -> Iterator[int]:
    """The port of a server process."""
    words = [str(user_end_s), str(KNOWN_ANSWER_S), str(LONGEST_ANSWER_S)]
    command = [sys.executable, "-m", "benchmarks.pacing_server", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        assert server.stdin is not None
        server.stdin.close()


@dataclass
class Lateness:
    """How late blocks were, in ms, and the CPU time of the thread that sent them."""

    ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


async def _bare(n: int, port: int) -> Lateness:
    """What nothing but websockets does: the same blocks on the same schedule."""
    from websockets.asyncio.client import connect

    late, loop = Lateness(), asyncio.get_running_loop()
    pcm = base64.b64encode(bytes(round(BLOCK_S * RATE_HZ) * 2)).decode()
    text = json.dumps({"type": "input_audio_buffer.append", "audio": pcm})

    async def session(number: int) -> None:
        async with connect(f"ws://127.0.0.1:{port}/raw", compression=None, ping_interval=None) as socket:
            zero_s = begin_s + number * BLOCK_S / n
            for block in range(round(BARE_S / BLOCK_S)):
                due_s = zero_s + block * BLOCK_S
                await asyncio.sleep(due_s - loop.time())
                late.ms.append(max(0.0, loop.time() - due_s) * 1000)
                await socket.send(text)

    begin_s = loop.time() + 3.0
    sessions = [asyncio.create_task(session(number)) for number in range(n)]
    await asyncio.sleep(2.9)
    before_s = time.thread_time()
    await asyncio.gather(*sessions)
    late.cpu_s = time.thread_time() - before_s
    return late


@dataclass
class Run:
    """What a run of pytest left. Memory in bytes, what conversations took beyond what was there before."""

    results: list[dict[str, Any]]
    lateness: Lateness
    loop_s: float
    memory: int
    collections_ms: list[float]


class Watch:
    """A plugin that measures the run from its first item to its last."""

    def __init__(self) -> None:
        self.lateness = Lateness()
        self.loop_s = 0.0
        self.memory = 0
        self.collections_ms: list[float] = []
        self._collection_s = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        Path("/proc/self/clear_refs").write_text("5")  # the peak from now on
        before, begin_s = _resident("VmRSS"), time.perf_counter()
        result = yield
        self.loop_s = time.perf_counter() - begin_s
        self.memory = _resident("VmHWM") - before
        return result

    def watch(self) -> None:
        """Note how late every block was, and how long garbage collections take while conversations are held."""
        usual = duplex._Duplex._hang_up

        async def noted(held: Any, context: Any) -> None:
            self.lateness.ms += [max(0, ticks) * 1000 / RATE_HZ for ticks in held.lateness_ticks]
            self.lateness.cpu_s = time.thread_time()
            await usual(held, context)

        duplex._Duplex._hang_up = noted  # type: ignore[method-assign]
        gc.callbacks.append(self._collected)

    def _collected(self, phase: str, _: object) -> None:
        """To count what is frozen would take longer than a collection, in the middle of what is measured."""
        if phase == "start":
            self._collection_s = time.thread_time()
        elif gc.get_threshold()[2] == runner.FULL_COLLECTION_AFTER:  # conversations are held
            self.collections_ms.append((time.thread_time() - self._collection_s) * 1000)


def _run(suite: Path, n: int, port: int) -> Run:
    watch, hang_up = Watch(), duplex._Duplex._hang_up
    watch.watch()
    agent = f"--agent=gpt-realtime,url=ws://127.0.0.1:{port}/v1/realtime"
    plain = [
        "-q",
        "-q",
        "--no-summary",
        "-o",
        "asyncio_default_fixture_loop_scope=session",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
    ]
    reports = suite.parent / "reports"
    words = [str(suite), agent, *plain, f"--voicebench-concurrency={n}", f"--voicebench-reports={reports}"]
    pytest.main([*words, f"--rootdir={suite.parent}"], plugins=[watch])
    duplex._Duplex._hang_up = hang_up  # type: ignore[method-assign]
    gc.callbacks.clear()
    run = reports / (reports / "latest").read_text().strip()
    results = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    return Run(results, watch.lateness, watch.loop_s, watch.memory, watch.collections_ms)


def _resident(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(name)).split()[1]) * 1024


def _print_run(run: Run, items: int, n: int) -> None:
    longest_s = max(result["duration_s"] for result in run.results)
    audio_s = sum(result["duration_s"] for result in run.results)
    outcomes = sorted({result["outcome"] for result in run.results})
    print(f"\n{items} conversations, {audio_s:.0f} s, {n} at once: {', '.join(outcomes)}")
    _print_lateness("blocks", run.lateness, (5.0, 20.0))
    wrong = [
        abs(_latency_s(result) - KNOWN_ANSWER_S) * 1000 for result in run.results if _latency_s(result) is not None
    ]
    if wrong:
        _print("first response: off by, p99", float(np.percentile(wrong, 99)), 20.0)
    _print("first response: unmeasured, of all", float(len(run.results) - len(wrong)), 0.0)
    if items == n:
        _print("suite / longest conversation", run.loop_s / longest_s, 1.25)
    _print("memory of a conversation, MB", run.memory / n / 1e6, 8.0)
    slowest = sorted(run.collections_ms)[-3:]
    print(f"  garbage collections: {len(run.collections_ms)}, longest {', '.join(f'{ms:.1f}' for ms in slowest)}")


def _latency_s(result: dict[str, Any]) -> Any:
    """As measured; None where blocks were too late for that."""
    return ((result["scorecard"] or {}).get("times") or {}).get("first_response_latency_s")


def _print_lateness(name: str, late: Lateness, targets: tuple[float, float] | None) -> None:
    p50, p99, p999, worst = np.percentile(late.ms, [50, 99, 99.9, 100])
    cpu_us = late.cpu_s / len(late.ms) * 1e6
    print(f"  {name}: {len(late.ms)} blocks, {cpu_us:.0f} us of CPU each; lateness p50 {p50:.2f}, worst {worst:.1f}")
    _print(f"{name}: lateness p99", p99, targets[0] if targets else None)
    _print(f"{name}: lateness p99.9", p999, targets[1] if targets else None)


def _print(name: str, value: float, most: float | None) -> None:
    verdict = "" if most is None else f"  (at most {most:g}: {'met' if value <= most else 'MISSED'})"
    print(f"  {name:42} {value:8.2f}{verdict}")


def _loop_ns() -> float:
    """What a step of an empty loop takes: tells a busy machine from an idle one."""
    begin = time.perf_counter()
    for _ in range(1_000_000):
        pass
    return (time.perf_counter() - begin) * 1000


if __name__ == "__main__":
    main()
