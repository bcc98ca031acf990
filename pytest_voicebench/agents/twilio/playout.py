"""When what an agent sent has been heard: the end of the queue on the loop's clock, and the marks that wait in it."""

from __future__ import annotations

import math
from collections import deque


class Playout:
    """The far end's loudspeaker as arithmetic. Seconds are those of one clock that never goes back."""

    def __init__(self) -> None:
        self._ends_s = -math.inf
        self._marks: deque[tuple[float, str]] = deque()

    def silent_for_s(self, now_s: float) -> float:
        """How long ago the last of what came was heard; negative while something is still to be heard."""
        return now_s - self._ends_s

    def queue(self, duration_s: float, now_s: float) -> None:
        """Sound that has just arrived: it is heard after what came before it."""
        self._ends_s = max(now_s, self._ends_s) + duration_s

    def mark(self, name: str, now_s: float) -> None:
        """A mark that has just arrived: it is due when the sound before it has been heard."""
        self._marks.append((max(now_s, self._ends_s), name))

    def clear(self, now_s: float) -> None:
        """What has not been heard is dropped, so every mark that waits is due."""
        self._ends_s = min(self._ends_s, now_s)
        self._marks = deque((now_s, name) for _, name in self._marks)

    def due(self, now_s: float) -> list[str]:
        """Names of the marks whose time has come, in the order in which they came; each is given once."""
        names = []
        while self._marks and self._marks[0][0] <= now_s:
            names.append(self._marks.popleft()[1])
        return names
