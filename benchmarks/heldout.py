"""Twenty requests that no rule was made for: `python benchmarks/heldout.py [--agent AGENT] [-n 2]`, local by default.

They are a small copy of suites/fdb3 in mix, manner, tools and voices, with other sentences, people and values: what an
agent passes here tells how far its result there carries. Whoever reads them to improve an agent uses them up. Other
words are passed on to pytest; the run folder stays in reports/. The exit code is pytest's.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FROM_THE_SUITE = ("tools.yaml", "mock_api.py", "speakers.yaml", "instructions.md")


def main() -> int:
    """Put the suite together in a temporary folder and run it there; pytest prints the tables."""
    parser = argparse.ArgumentParser(description="Run the held-out requests. Other words are passed on to pytest.")
    parser.add_argument("--agent", default="local", help="as for pytest (default: local)")
    wanted, words = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        suite = put_together(folder / "suites" / "heldout")
        plain = ["--no-header", "--tb=no", "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=session"]
        where = [str(suite / "heldout.yaml"), f"--rootdir={folder}", f"--voicebench-reports={ROOT / 'reports'}"]
        command = [sys.executable, "-m", "pytest", *where, f"--agent={wanted.agent}", *plain, *words]
        return subprocess.run(command, cwd=folder, check=False).returncode


def put_together(suite: Path) -> Path:
    """The held-out scenarios and recordings, and beside them the files that they share with fdb3."""
    shutil.copytree(ROOT / "benchmarks" / "heldout", suite)
    for file in FROM_THE_SUITE:
        shutil.copy(ROOT / "suites" / "fdb3" / file, suite)
    return suite


if __name__ == "__main__":
    sys.exit(main())
