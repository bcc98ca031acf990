"""Files written whole or not at all, and what identifies a file's content."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import uuid
from contextlib import suppress
from pathlib import Path


def read_file(path: Path) -> bytes:
    """The file's bytes. Raises OSError, also for what is no ordinary file: a pipe would wait for ever, a device never
    end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not an ordinary file", str(path))
    return path.read_bytes()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a run killed at any moment, sees the old content or the new, never a part.

    Its folder is made. Raises OSError, which names the file also where the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno is not None:
            error.filename, error.filename2 = str(path), None
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def file_sha256(path: Path) -> str:
    """SHA-256 of the file's bytes, 64 hex digits. Raises OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def link_or_copy(source: Path, target: Path) -> None:
    """The file under another name too: a hard link where the disk allows it, else a copy. Raises OSError.

    A file that is there already is replaced. A symbolic link is copied, so that the new name holds the content.
    """
    target.unlink(missing_ok=True)
    try:
        if source.is_symlink():
            raise OSError
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
