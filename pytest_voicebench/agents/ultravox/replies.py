"""Which sound and which text make up one reply: sound has no name here, and texts are numbered."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Replies:
    """Names the agent's replies. One lasts until the agent stops speaking or is cut, or another text begins.

    Sound and text may come in either order: what comes second joins a reply that still lacks it, unless it was cut.
    """

    number: int = 0
    is_open: bool = False
    _has_sound: bool = True
    _has_text: bool = True
    _by_ordinal: dict[int, str] = field(default_factory=dict)

    def sound(self) -> str:
        """The reply to which sound belongs."""
        if not self.is_open and self._has_sound:
            self._open()
        self.is_open = self._has_sound = True
        return self._name()

    def words(self, ordinal: int | None) -> str:
        """The reply to which a piece of the text of that number belongs."""
        if ordinal is not None and ordinal in self._by_ordinal:
            return self._by_ordinal[ordinal]
        goes_on = ordinal is None and self.is_open
        if self._has_text and not goes_on:
            self._open()
        self._has_text = True
        if ordinal is not None:
            self._by_ordinal[ordinal] = self._name()
        return self._name()

    def stop(self) -> None:
        """The agent speaks no more."""
        self.is_open = False

    def cut(self) -> None:
        """The reply ends here; sound that follows is another one's."""
        self.is_open, self._has_sound = False, True

    def _open(self) -> None:
        self.number += 1
        self.is_open, self._has_sound, self._has_text = True, False, False

    def _name(self) -> str:
        return f"reply_{self.number}"
