"""The time of whoever reads: while a message is read, when it arrived; at any other moment, the loop's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Present:
    """A clock for a state that takes messages, which may have waited to be read, and does other things meanwhile."""

    def __init__(self, loop_s: Callable[[], float]) -> None:
        self._loop_s = loop_s
        self._arrived_s: float | None = None

    def now_s(self) -> float:
        """Seconds of the loop's clock."""
        return self._loop_s() if self._arrived_s is None else self._arrived_s

    @contextmanager
    def of(self, arrived_s: float | None) -> Iterator[None]:
        """Read something that arrived then; None where nobody knows, and it is as if it came now."""
        self._arrived_s = arrived_s
        try:
            yield
        finally:
            self._arrived_s = None
