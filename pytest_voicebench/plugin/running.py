"""Whether a run is going on: a lock on a file in its folder, held by the process that reports, ended with it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

LOCK_NAME = ".running.lock"


def is_running(folder: Path) -> bool:
    """Whether some process is holding the run of that folder now."""
    if not (folder / LOCK_NAME).exists():
        return False
    lock = hold(folder)
    if lock is not None:
        lock.release()
    return lock is None


def hold(folder: Path) -> Any:
    """The lock of a run, to be released; None where another process has it. Without locks on this disk nobody has."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK_NAME)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    except OSError:
        return lock
    return lock


def let_go(lock: Any, folder: Path) -> None:
    """The run is over."""
    if lock is None:
        return
    with suppress(OSError):  # some systems keep a file that is open
        (folder / LOCK_NAME).unlink(missing_ok=True)
    with suppress(OSError):
        lock.release()
