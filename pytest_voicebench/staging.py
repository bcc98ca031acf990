"""A folder written whole or not at all: made under another name beside its place, then renamed."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """An empty folder of the same name that stands in the place of `out` at the end, where nothing may be by then.

    Where the block raises nothing is left of it, and parents that were made for it are gone too. A process that is
    killed leaves a hidden `.NAME.*.partial` beside the place, and nothing there. Raises OSError where it cannot be
    written.
    """
    made = [parent for parent in out.parents if not parent.exists()]
    hidden = out.parent / f".{out.name}.{uuid.uuid4().hex[:8]}.partial"
    stage = hidden / out.name  # of the final name, which a run's files hold
    try:
        stage.mkdir(parents=True)
        yield stage
        stage.rename(out)
    finally:
        with suppress(OSError):
            shutil.rmtree(hidden)
        with suppress(OSError):  # stops at the first that holds something
            for parent in made:
                parent.rmdir()
