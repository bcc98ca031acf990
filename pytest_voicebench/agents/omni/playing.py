"""How much of each item has been played, by the clock: some servers want to hear of it while it plays."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Item:
    """Stretches of an item that are not over, as start and length; seconds of those that are, and of all that came.

    It is asked for every block of every conversation: what has been played is not gone through again.
    """

    waiting: deque[tuple[float, float]] = field(default_factory=deque)
    over_s: float = 0.0
    whole_s: float = 0.0
    told_ms: int = 0

    def add(self, start_s: float, seconds: float) -> None:
        self.waiting.append((start_s, seconds))
        self.whole_s += seconds

    def played_ms(self, now_s: float) -> int:
        while self.waiting and sum(self.waiting[0]) <= now_s:
            self.over_s += self.waiting.popleft()[1]
        under_way_s = max(0.0, now_s - self.waiting[0][0]) if self.waiting else 0.0
        return round(1000 * (self.over_s + under_way_s))

    def whole_ms(self) -> int:
        return round(1000 * self.whole_s)


class Playing:
    """One loudspeaker: what comes plays at once, or after what is queued already."""

    def __init__(self, every_ms: int) -> None:
        self._every_ms = every_ms
        self._items: dict[str, _Item] = {}
        self._until_s = 0.0

    def add(self, item_id: str, seconds: float, now_s: float) -> None:
        """A piece of an item arrived."""
        start = max(self._until_s, now_s)
        self._items.setdefault(item_id, _Item()).add(start, seconds)
        self._until_s = start + seconds

    def stop(self, item_id: str, now_s: float) -> None:
        """The rest of an item is not played; nothing more is told of it here."""
        self._items.pop(item_id, None)
        self._until_s = now_s

    def news(self, now_s: float) -> list[tuple[str, int]]:
        """Items with the milliseconds played of each, where that grew by `every_ms`, or to all that has come of it."""
        found = []
        for item_id, item in self._items.items():
            played_ms = item.played_ms(now_s)
            due = played_ms >= item.told_ms + self._every_ms or played_ms == item.whole_ms() > item.told_ms
            if due:
                item.told_ms = played_ms
                found.append((item_id, played_ms))
        return found
