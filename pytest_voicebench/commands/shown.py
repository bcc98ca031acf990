"""What a command says on stderr: everything passes here, so that no message shows a key that was typed by mistake."""

from __future__ import annotations

import io
from typing import TextIO


class Shown(io.TextIOBase):
    """A stream that hides keys in what is written to `stream`, a message at a time."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text as it may be shown; gives its length as it came."""
        if text.strip():
            from pytest_voicebench.agents.credentials import without_keys

            self._stream.write(without_keys(text))
        else:
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The stream's."""
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The stream's."""
        return self._stream.encoding
