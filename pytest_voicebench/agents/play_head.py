"""What plays at a client's loudspeaker, by the clock of whoever reads the server's messages."""

from __future__ import annotations

from pytest_voicebench.agents.protocol import PlaybackClear


class PlayHead:
    """Sound plays when it comes, or after what is queued already (the play head of protocols that send ahead)."""

    def __init__(self) -> None:
        self.until_s = 0.0
        """When all that came has been heard."""

    def add(self, seconds: float, now_s: float) -> None:
        """Sound came."""
        self.until_s = max(self.until_s, now_s) + seconds

    def clear(self, now_s: float) -> list[PlaybackClear]:
        """A clear where something plays; else nothing, so that no reply counts as cut that was heard whole."""
        if now_s >= self.until_s:
            return []
        self.until_s = now_s
        return [PlaybackClear()]
