"""How many conversations at once this machine holds: so many that every block still leaves on time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pytest_voicebench.agents.openai_realtime import GptRealtime
from pytest_voicebench.checking.scenes import scenes
from pytest_voicebench.conversation import Conversation
from pytest_voicebench.runner import Runner
from pytest_voicebench.scenario import Scenario, Step
from pytest_voicebench.speech import detect_speech
from pytest_voicebench.validity import LATE_P99_S

LENGTH_S = 8.0
SPEAKS_AFTER_S = 2.0
SPEAKS_S = 4.0
MOST = 512
"""No search goes beyond this: providers grant fewer sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Some conversations at once. `late_p99_s` is the 99th percentile of a block's lateness, the worst conversation's;
    `read_late_p99_s` that of how long what the server sent waited to be read. `broken` says what kept one from being
    held."""

    at_once: int
    late_p99_s: float | None
    late_max_s: float | None
    read_late_p99_s: float | None = None
    broken: str | None = None

    @property
    def holds(self) -> bool:
        """Whether latencies would count in every one of them."""
        return self.broken is None and self.late_p99_s is not None and self.late_p99_s <= LATE_P99_S


def largest(measure: Callable[[int], Pace], tell: Callable[[Pace], None], most: int = MOST) -> int:
    """The largest number that holds, to within an eighth; 0 where not even one does.

    Doubles the number until it does not hold, then halves the gap. What holds is measured twice: a machine that holds
    by luck does not hold.
    """

    def holds(number: int) -> bool:
        for _ in range(2):
            pace = measure(number)
            tell(pace)
            if not pace.holds:
                return False
        return True

    good, bad = 0, 1
    while bad <= most and holds(bad):
        good, bad = bad, min(2 * bad, most) if bad < most else most + 1
    while good and bad <= most and bad - good > max(1, good // 8):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good


@contextmanager
def pacing() -> Iterator[Callable[[int], Pace]]:
    """What measures a number of conversations at once, against a server in a process of its own."""
    command = [sys.executable, "-m", "pytest_voicebench.agents.loopback_server", str(SPEAKS_AFTER_S), str(SPEAKS_S)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        agent = GptRealtime(url=f"ws://127.0.0.1:{int(server.stdout.readline())}/v1/realtime")
        scenario = _scenario()
        try:
            yield lambda number: _measure(number, scenario, agent)
        finally:
            server.stdin.close()


def _scenario() -> Scenario:
    """A user who is silent in a room, and hangs up: blocks cost what blocks of speech cost."""
    quiet = (Step(kind="wait", seconds=LENGTH_S), Step(kind="end"))
    return replace(scenes()[0].scenario, steps=quiet)


def _measure(number: int, scenario: Scenario, agent: GptRealtime) -> Pace:
    runner = Runner()
    try:
        held = [runner.submit(scenario, agent) for _ in range(number)]
        return _pace(number, _conversations(held))
    finally:
        runner.close()


def _conversations(held: list[Future[Conversation]]) -> list[Conversation]:
    """All of them; speech is detected in the first that is over while others go on, as in a run."""
    done, _ = wait(held, return_when="FIRST_COMPLETED")
    detect_speech(next(iter(done)).result())
    return [future.result() for future in held]


def _pace(number: int, held: list[Conversation]) -> Pace:
    broken = next((problem.message for conversation in held for problem in conversation.problems), None)
    p99 = [c.delivery.late_p99_s for c in held if c.delivery.late_p99_s is not None]
    read = [c.delivery.read_late_p99_s for c in held if c.delivery.read_late_p99_s is not None]
    longest = [c.delivery.late_max_s for c in held if c.delivery.late_max_s is not None]
    return Pace(
        at_once=number,
        late_p99_s=max(p99, default=None),
        late_max_s=max(longest, default=None),
        read_late_p99_s=max(read, default=None),
        broken=broken,
    )
