"""Whether a run is going on: a lock on a file in its folder, held by the process that reports, ended with it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

LOCK_NAME = ".running.lock"

_lock = pytest.StashKey[tuple[Any, Path]]()


def hold(config: pytest.Config, folder: Path) -> bool:
    """Hold the run of that folder until `let_go`; False where another process does. Where a disk has no locks nobody is
    kept out."""
    if _lock in config.stash:
        return True
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK_NAME)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    except OSError:
        return True
    config.stash[_lock] = lock, folder / LOCK_NAME
    return True


def let_go(config: pytest.Config) -> None:
    """The session is over, whether it came to a run or not."""
    if _lock not in config.stash:
        return
    lock, path = config.stash[_lock]
    del config.stash[_lock]
    with suppress(OSError):  # some systems keep a file that is open
        path.unlink(missing_ok=True)
    with suppress(OSError):
        lock.release()
