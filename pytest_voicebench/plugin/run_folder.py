"""Where a run's files go: a folder with a name of its own, made when the first scenario is about to run."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_voicebench.plugin.options import reports_folder

_folder = pytest.StashKey["RunFolder"]()

STOP_NAME = ".stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """The folder of this run. `shown` is how people are told about it, `started_at` the run's start, UTC, ISO 8601."""

    path: Path
    shown: str
    started_at: str

    @property
    def stop_file(self) -> Path:
        """While this file is there, workers end what they are doing."""
        return self.path / STOP_NAME

    def create(self) -> None:
        """Make the folder, and note it as the newest run."""
        from pytest_voicebench.result_files import mark_latest

        self.path.mkdir(parents=True, exist_ok=True)
        mark_latest(self.path)


def run_folder(config: pytest.Config) -> RunFolder:
    """The run's folder; workers of xdist are told theirs by the controller. Nothing is created."""
    folder = config.stash.get(_folder, None)
    if folder is None:
        worker: dict[str, Any] = getattr(config, "workerinput", {})
        path = Path(worker.get("voicebench_run") or _begun_folder(config) or reports_folder(config) / _new_name())
        started_at = worker.get("voicebench_started") or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        folder = config.stash[_folder] = RunFolder(path=path, shown=_shown(path, config), started_at=started_at)
    return folder


def _begun_folder(config: pytest.Config) -> Path | None:
    if config.getoption("voicebench_resume") is None:
        return None
    from pytest_voicebench.plugin.resume import begun

    run = begun(config)
    return run.saved.folder if run is not None else None


def _new_name() -> str:
    return f"{time.strftime('%Y-%m-%d_%H-%M-%S')}_{secrets.token_hex(3)}"


def _shown(path: Path, config: pytest.Config) -> str:
    here = config.invocation_params.dir
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
