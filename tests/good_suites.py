"""The good suites under `data`, and copies of them to be changed."""

from __future__ import annotations

import shutil
from pathlib import Path

GOOD = Path(__file__).parent / "data" / "good"


def copy_of_good(folder: Path) -> Path:
    """A copy, in a folder that is not there yet."""
    return Path(shutil.copytree(GOOD, folder))


def changed(path: Path, before: str, after: str) -> Path:
    """The file with one text replaced."""
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    return path
