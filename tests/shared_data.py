"""Where the data lies that tests may measure and the project never holds: `../shared`, or VOICEBENCH_SHARED."""

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("VOICEBENCH_SHARED", Path(__file__).resolve().parents[2] / "shared"))
RECORDINGS = SHARED / "fdb3" / "recordings"

needs_recordings = pytest.mark.skipif(not RECORDINGS.is_dir(), reason=f"no real recordings in {RECORDINGS}")
