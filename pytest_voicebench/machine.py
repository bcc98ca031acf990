"""The machine a run was made on, as far as it matters to figures, and nothing that names it or its owner."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

GIT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """`cores` are those this process may use; `memory_bytes` is None where the system does not say."""

    cores: int
    memory_bytes: int | None
    system: str
    release: str
    architecture: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Load averages of the last 1, 5 and 15 minutes, before the run and after it; None where there is no such thing,
    `after` also while the run goes on."""

    before: tuple[float, ...] | None
    after: tuple[float, ...] | None = None


def this_machine() -> Machine:
    """The machine that this runs on."""
    affinity = getattr(os, "sched_getaffinity", None)
    return Machine(
        cores=len(affinity(0)) if affinity else os.cpu_count() or 1,
        memory_bytes=_memory_bytes(),
        system=platform.system(),
        release=platform.release(),
        architecture=platform.machine(),
    )


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def load_now() -> tuple[float, ...] | None:
    """Load averages of the last 1, 5 and 15 minutes, None where the system has none."""
    try:
        return tuple(round(value, 2) for value in os.getloadavg())
    except (AttributeError, OSError):
        return None


def git_commit(folder: Path) -> str | None:
    """The commit checked out in the repository that holds a folder, `+changes` behind it where files of the folder
    differ; None without git, a repository or a commit, and where git takes longer than 2 s."""
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return None
    changes = _git(folder, "status", "--porcelain", "--", ".")
    return f"{commit}+changes" if changes else commit


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=GIT_S)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def without_home(text: str) -> str:
    """The text with this user's home folder written as `~`, by whichever of its names: it may be a link."""
    home = Path.home()
    for name in sorted({str(home), os.path.realpath(home)}, key=len, reverse=True):
        text = text.replace(name, "~") if len(name) > 1 else text
    return text
