"""CPU time of one piece of work in this process. Shared by the benchmarks of sound."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def fastest_cpu_s(work: Callable[[], object], *, rounds: int, forgetting: Sequence[Callable[[], object]] = ()) -> float:
    """The fastest of some rounds; before each, what `forgetting` names is done, untimed: caches are emptied."""
    times = []
    for _ in range(rounds):
        for forget in forgetting:
            forget()
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)
