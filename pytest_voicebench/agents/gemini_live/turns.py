"""Which turn a sound or a text belongs to: the server names no items, and its transcripts keep no order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LATE_PAUSE_S = 1.0
"""A text of the user that came after the reply is over when nothing more of it came for so long."""


@dataclass(slots=True)
class AgentTurns:
    """Names the agent's replies: one lasts until the turn is complete, is cut, or stops for a call that blocks.

    Text belongs to the open reply. Without one it belongs to the reply before if that has no text yet, or was cut and
    its turn is not complete; else it opens the next one, whose sound follows.
    """

    number: int = 0
    is_open: bool = False
    _has_text: bool = True  # of the reply of that number
    _was_cut: bool = False

    def sound(self) -> str:
        """The reply to which sound belongs."""
        if not self.is_open:
            self._open()
        return self._name()

    def words(self) -> str:
        """The reply to which text belongs."""
        if not self.is_open and self._has_text and not self._was_cut:
            self._open()
        self._has_text = True
        return self._name()

    def cut(self) -> None:
        """The user interrupted."""
        self._was_cut = self.is_open or self._was_cut
        self.is_open = False

    def stop(self) -> None:
        """The reply is over: the turn is complete, or waits for a tool."""
        self.is_open = self._was_cut = False

    def _open(self) -> None:
        self.number += 1
        self.is_open, self._has_text, self._was_cut = True, False, False

    def _name(self) -> str:
        return f"reply_{self.number}"


@dataclass(slots=True)
class UserTurns:
    """Names what the user said. A text goes on until a reply is complete or cut, or the server says it is finished.

    What comes after the reply to it is late: it is a text of its own, and ends with a pause.
    """

    now_s: Callable[[], float]
    number: int = 0
    _is_open: bool = False
    _in_turn: bool = False  # words of this turn came, or its reply began
    _is_late: bool = False
    _last_s: float = 0.0
    _written: bool = True  # whether the turn that has its reply has its words

    def words(self) -> str:
        """The text to which words belong."""
        now_s = self.now_s()
        if self._is_open and self._is_late and now_s - self._last_s > LATE_PAUSE_S:
            self.end()
        if not self._is_open:
            self.number += 1
            self._is_open, self._is_late = True, not (self._in_turn or self._written)
        self._in_turn, self._written = self._in_turn or not self._is_late, True
        self._last_s = now_s
        return f"user_{self.number}"

    def reply_began(self) -> None:
        """The agent answers: a turn without text so far has a late one."""
        if not self._in_turn:
            self._written = False
        self._in_turn = True

    def end(self) -> None:
        """This text is finished."""
        self._is_open = self._is_late = False

    def turn_over(self) -> None:
        """The reply is complete or cut: what follows is another turn."""
        self.end()
        self._in_turn = False
