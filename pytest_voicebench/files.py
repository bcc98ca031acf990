"""Files written whole or not at all, and what identifies a file's content."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
    with written_whole(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A file's name beside `path`, for a writer that opens its file itself; what it wrote becomes `path` at the end.

    Where the block raises, `path` is as it was. Raises as `write_atomically`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno is not None:
            error.filename, error.filename2 = str(path), None
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def os_error_text(error: OSError) -> str:
    """`FILE: No space left on device`: which file and what is the case, on one line, without a number."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


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


def copy_files(source: Path, target: Path, copy: Callable[[Path, Path], object]) -> None:
    """Each file below a folder to the same place below another, by `copy`, in the order of names.

    Raises OSError for the first that cannot be copied, and for a link to a folder: such links may go in a circle.
    """
    for name, folders, files in os.walk(source, onerror=_raise):
        folder = Path(name)
        for link in (folder / one for one in folders if (folder / one).is_symlink()):
            raise OSError(errno.EINVAL, "a link to a folder, which is not followed", str(link))
        folders.sort()
        (target / folder.relative_to(source)).mkdir(parents=True, exist_ok=True)
        for file in sorted(files):
            copy(folder / file, target / folder.relative_to(source) / file)


def _raise(error: OSError) -> None:
    raise error
