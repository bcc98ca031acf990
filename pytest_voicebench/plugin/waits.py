"""With workers: what they wait for, in small files for the process that reports: no event says that nothing happens."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pytest_voicebench.counted import counted

WAITS_PREFIX = ".waits_"
TOLD_EVERY_S = 1.0
STALE_S = 5.0
"""What a worker has not told again for so long, it does not wait for any more: it died."""


class WaitsOfWorker:
    """Tells what this worker waits for: a file that is there as long as it waits. No trouble where it cannot be."""

    def __init__(self, folder: Path, worker: str) -> None:
        self._path = folder / f"{WAITS_PREFIX}{worker}"
        self._told = ""
        self._told_at_s = 0.0

    def tell(self, text: str) -> None:
        """To be called again and again while it waits; nothing ends it."""
        now_s = time.monotonic()
        if text == self._told and (not text or now_s - self._told_at_s < TOLD_EVERY_S):
            return
        self._told, self._told_at_s = text, now_s
        with suppress(OSError):
            if text:
                self._path.write_text(text, "utf-8")
            else:
                self._path.unlink(missing_ok=True)


def waits_text(folder: Path) -> str:
    """What most of the waiting workers wait for, and how many wait: `waiting for a place: grok 8 of 8 (3 workers)`."""
    texts = []
    for path in folder.glob(f"{WAITS_PREFIX}*"):
        with suppress(OSError, ValueError):
            if time.time() - path.stat().st_mtime < STALE_S and (text := path.read_text("utf-8")):
                texts.append(text)
    if not texts:
        return ""
    (text, _), *_ = Counter(texts).most_common(1)
    return f"{text} ({counted(len(texts), 'worker')})"


class WaitsWatch:
    """Shows once a second what workers wait for, until it is closed."""

    def __init__(self, folder: Path, show: Callable[[str], None]) -> None:
        self._folder = folder
        self._show = show
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="voicebench-waits", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it, and remove what workers that died left behind."""
        self._over.set()
        self._thread.join()
        with suppress(OSError):
            for path in self._folder.glob(f"{WAITS_PREFIX}*"):
                path.unlink(missing_ok=True)

    def _watch(self) -> None:
        while not self._over.wait(TOLD_EVERY_S):
            self._show(waits_text(self._folder))
