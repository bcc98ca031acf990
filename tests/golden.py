"""Golden files: what an output looked like when somebody last read it and found it right.

To write them anew after a wanted change: `VOICEBENCH_UPDATE_GOLDEN=1 python -m pytest tests`, then read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "golden"


def check_golden(path: Path, found: bytes) -> None:
    """Fails where the file differs from `found`; with VOICEBENCH_UPDATE_GOLDEN=1 it writes the file instead."""
    if os.environ.get("VOICEBENCH_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(found)
    assert path.is_file(), f"{path.name} is not there: run with VOICEBENCH_UPDATE_GOLDEN=1"
    assert found.decode() == path.read_bytes().decode()
