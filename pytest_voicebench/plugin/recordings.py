"""Folders of recordings, which pytest need not walk: a suite of 1,000 scenarios has 2,000 files in one."""

from __future__ import annotations

import os
from pathlib import Path

_SOUND = frozenset({".ogg", ".oga", ".opus", ".wav", ".flac", ".mp3"})


def holds_only_recordings(folder: Path) -> bool:
    """Whether a folder holds sound files, at most with the JSON files beside them, and nothing else at all."""
    found = False
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                ending = os.path.splitext(entry.name)[1].lower()
                if ending in _SOUND:
                    found = True
                elif ending != ".json":
                    return False
    except OSError:  # not a folder, or not ours to read
        return False
    return found
