"""What was found out about a piece of content, kept in memory: asking again costs only its hash."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_MOST_KEPT = 4096


class Kept(Generic[T]):
    """Answers by content, `most` of them; made one at a time, because models have a state.

    What was not asked for the longest is forgotten first.
    """

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._answers: OrderedDict[bytes, T] = OrderedDict()
        self._one_at_a_time = threading.Lock()

    def get(self, content: bytes, make: Callable[[], T]) -> T:
        """The answer about this content, made now where it is new."""
        key = hashlib.blake2b(content, digest_size=16).digest()
        with self._one_at_a_time:
            if key not in self._answers:
                self._answers[key] = make()
                if len(self._answers) > self._most:
                    self._answers.popitem(last=False)
            self._answers.move_to_end(key)
            return self._answers[key]

    def clear(self) -> None:
        """Forget all, for measurements."""
        self._answers.clear()
