"""A loop whose clock counts waiting alone: a busy machine makes whole conversations slower, and nothing in them later.

Both ends of a conversation belong on one such loop. Then pauses, limits and playback keep their order and their lengths
on a machine of any speed, while sockets and bytes are real.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

SHORTEST_S = 0.001
"""A shorter wait takes as long on most machines, and so is not waited for."""

SHORT_S, LOOK_S = 0.05, 0.05
"""Where waits are skipped: those that are longer than the first are begun, for as long as the second."""


class _Waiting(selectors.DefaultSelector):
    """Counts the waits that ended without anything to do, at the length that was asked for, however late they ended.

    What is ready came from this loop itself, so it came at once; and while a thread works for us nothing is counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.waited_s = 0.0
        self.jobs = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        short = timeout is not None and timeout < SHORTEST_S and not self.jobs
        ready = super().select(0.0 if short else timeout)
        if timeout is not None and not ready and not self.jobs:
            self.waited_s += max(0.0, timeout)
        return ready


class _Skipping(_Waiting):
    """Waits that nothing can end but a clock are not waited for: what was sent over the loopback interface is there.

    Before a longer one it is looked twice, since on a busy machine the system may take its time.
    """

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or self.jobs:
            return super().select(timeout)
        ready = super().select(0.0)
        if not ready and timeout > SHORT_S:
            ready = selectors.DefaultSelector.select(self, LOOK_S)
        if not ready:
            self.waited_s += max(0.0, timeout)
        return ready


class PatientLoop(asyncio.SelectorEventLoop):
    """Its clock stands still while the process computes, waits for a processor, or waits for a thread of its own."""

    def __init__(self, waiting: _Waiting | None = None) -> None:
        self._waiting = waiting or _Waiting()
        super().__init__(self._waiting)

    def time(self) -> float:
        """Seconds that were waited on purpose."""
        return self._waiting.waited_s

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """As ever; the clock goes on when it is done."""
        job = super().run_in_executor(executor, func, *args)
        self._waiting.jobs += 1
        job.add_done_callback(self._job_is_done)
        return job

    def _job_is_done(self, _job: asyncio.Future[Any]) -> None:
        self._waiting.jobs -= 1


class SkippingLoop(PatientLoop):
    """The same without waiting: its clock jumps when nothing is ready. For conversations whose both ends are here."""

    def __init__(self) -> None:
        super().__init__(_Skipping())


def skipping(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine gives, run on such a loop."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(work)


def patiently(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine gives, run on such a loop."""
    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        return runner.run(work)
