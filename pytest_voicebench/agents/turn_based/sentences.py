"""Text that comes in pieces, cut into what can be spoken on its own."""

from __future__ import annotations

import re

SHORTEST = 12
"""Characters: a shorter sentence ("Dr.", "No.") is spoken together with the next one."""

LONGEST = 1000
"""Characters: a text without an end is cut at a space; services of speech take 4096."""

_END = re.compile(r"[.!?…][\"')\]]*\s+|\n+")


class SentenceSplitter:
    """Gives sentences as soon as the text after them begins."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, text: str) -> list[str]:
        """Take a piece; the sentences that are complete now, without space around them."""
        self._text += text
        found: list[str] = []
        while (end := self._end()) is not None:
            found.append(self._text[:end].strip())
            self._text = self._text[end:]
        return [sentence for sentence in found if sentence]

    def rest(self) -> list[str]:
        """What is left when no more text comes: one sentence, or none."""
        left, self._text = self._text.strip(), ""
        return [left] if left else []

    def _end(self) -> int | None:
        for end in _END.finditer(self._text):
            if len(self._text[: end.end()].strip()) >= SHORTEST:
                return end.end()
        if len(self._text) <= LONGEST:
            return None
        space = self._text.rfind(" ", 1, LONGEST)
        return space if space > 0 else LONGEST
