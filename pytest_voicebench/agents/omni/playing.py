"""How much of each item has been played, by the clock: some servers want to hear of it while it plays."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class _Item:
    """Stretches of an item, as start and length, and how much of them was told."""

    stretches: list[tuple[float, float]] = field(default_factory=list)
    told_ms: int = 0

    def played_ms(self, now_s: float) -> int:
        return round(1000 * sum(max(0.0, min(length, now_s - start)) for start, length in self.stretches))

    def whole_ms(self) -> int:
        return round(1000 * sum(length for _, length in self.stretches))


class Playing:
    """One loudspeaker: what comes plays at once, or after what is queued already."""

    def __init__(self, every_ms: int) -> None:
        self._every_ms = every_ms
        self._items: dict[str, _Item] = {}
        self._until_s = 0.0

    def add(self, item_id: str, seconds: float, now_s: float) -> None:
        """A piece of an item arrived."""
        start = max(self._until_s, now_s)
        self._items.setdefault(item_id, _Item()).stretches.append((start, seconds))
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
