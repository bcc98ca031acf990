"""Paths written in a suite: relative, inside the suite's folder, and there."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_voicebench.loading.mistakes import Report, nearest, quoted


class Folder:
    """The folder that holds a suite's files, or its recordings. Nothing outside is read, not through a link either."""

    def __init__(self, path: Path, name: str = "the suite's folder") -> None:
        self.path = path
        self.name = name
        self._real = os.path.realpath(path) + os.sep
        self._real_folders: dict[str, str] = {}

    def file(self, written: str, line: int, where: str, report: Report) -> Path | None:
        """The file that a path means, or None and a mistake."""
        if "\x00" in written or "\\" in written or os.path.isabs(written) or written[1:2] == ":":
            report.add(line, where, f"{quoted(written)}: write a path inside {self.name}, with /")
            return None
        path = self.path / written
        if not self._real_path(str(path)).startswith(self._real):
            report.add(line, where, f"{quoted(written)} lies outside {self.name}, where nothing is read")
            return None
        if not os.path.isfile(path):
            kind = "is not a file" if os.path.exists(path) else f"does not exist{self._near(path)}"
            report.add(line, where, f"{quoted(written)} {kind}")
            return None
        return path

    def text(self, written: str, line: int, where: str, report: Report) -> str | None:
        """The text of the file that a path means, line ends as \\n, or None and a mistake."""
        path = self.file(written, line, where, report)
        if path is None:
            return None
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            report.add(line, where, f"{quoted(written)} is not UTF-8 text")
        except OSError as error:
            report.add(line, where, f"{quoted(written)} cannot be read: {error.strerror}")
        return None

    def _real_path(self, path: str) -> str:
        """The path with links resolved; a folder's only once, since a suite has hundreds of files in one."""
        folder, name = os.path.split(path)
        if name in ("", "..") or os.path.islink(path):
            return os.path.realpath(path)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        return os.path.join(self._real_folders[folder], name)

    def _near(self, path: Path) -> str:
        try:
            names = sorted(p.name for p in path.parent.iterdir() if p.suffix == path.suffix)
        except OSError:
            return f": there is no folder {quoted(path.parent.name)}"
        return nearest(path.name, names)
