"""A folder written whole or not at all: made under another name beside its place, then renamed."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_voicebench.importers.release import ImportRefused


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """An empty folder that takes the place of `out` at the end; whatever `out` was is then gone.

    Where the block raises, `out` is as it was, and parents that were made for it are gone too. Raises ImportRefused
    where it cannot be written.
    """
    made = [parent for parent in out.parents if not parent.exists()]
    stage = out.parent / f".{out.name}.{uuid.uuid4().hex[:8]}.partial"
    try:
        stage.mkdir(parents=True)
        yield stage
        if out.exists():
            shutil.rmtree(out)
        stage.rename(out)
    except OSError as error:
        raise ImportRefused(f"{error.filename or out}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            shutil.rmtree(stage)
        with suppress(OSError):  # stops at the first that holds something
            for parent in made:
                parent.rmdir()
