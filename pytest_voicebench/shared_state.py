"""A small JSON file that several processes change in turn: a killed one never leaves it half written or locked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_voicebench.files import read_file, write_atomically

Json = Any

LOCK_TIMEOUT_S = 30.0
"""Nobody keeps the file for longer than a few milliseconds; who waits this long waits for a broken disk."""


@contextmanager
def shared_state(path: Path) -> Iterator[dict[str, Json]]:
    """The object in the file, for this process alone while the block lasts, and written when it ends well.

    A file that is missing or damaged is an empty object. The lock is the operating system's, on a file beside it: it
    ends with the process that holds it. Raises OSError, TimeoutError included.
    """
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f"{path.name}.lock"), timeout=LOCK_TIMEOUT_S):
        state = peek(path)
        yield state
        write_atomically(path, json.dumps(state).encode())


def peek(path: Path) -> dict[str, Json]:
    """What the file holds at this moment, without waiting for anybody; empty where there is none, or a damaged one.

    Raises OSError for one that is there and cannot be read now: whoever took it for empty would write that.
    """
    try:
        state = json.loads(read_file(path))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
