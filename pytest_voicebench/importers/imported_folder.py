"""The folder that an import writes, whole or not at all, over what an earlier import wrote there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_voicebench.importers.release import ImportRefused
from pytest_voicebench.staging import staged


@contextmanager
def replaced(out: Path) -> Iterator[Path]:
    """An empty folder that takes the place of `out` at the end; whatever `out` was is then gone.

    Where the block raises, `out` is as it was. Raises ImportRefused where it cannot be written.
    """
    try:
        with staged(out) as stage:
            yield stage
            if out.exists():
                shutil.rmtree(out)
    except OSError as error:
        raise ImportRefused(f"{error.filename or out}: cannot be written: {error.strerror or error}") from None
