"""The progress line: which item is being held, and how far, at the end of pytest's own line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from pytest_voicebench.plugin.run_folder import run_folder
from pytest_voicebench.plugin.waits import WaitsOfWorker, WaitsWatch

_line = pytest.StashKey["ProgressLine"]()

SAVE, RESTORE, ERASE = "\x1b7", "\x1b8", "\x1b[K"


@dataclass(slots=True, kw_only=True)
class ItemProgress:
    """How far one conversation is. `tell` may be called from any thread; `show` belongs to the main one."""

    name: str
    line: ProgressLine
    seconds: float | None = None
    waits: str = ""
    in_progress: int | None = None
    """How many conversations are held now, where several are."""

    def tell(self, seconds: float) -> None:
        """Take note of the seconds of conversation so far."""
        self.seconds = seconds

    def tell_waiting(self, reason: str) -> None:
        """Take note of what the conversation waits for before it begins; of nothing any more where that is empty."""
        self.waits = reason

    def show(self) -> None:
        """Bring the line up to date; a worker has none, and says what it waits for to the process that has."""
        if self.line.worker is not None:
            self.line.worker.tell(self.waits)
        far = f", {self.seconds:.0f} s" if self.seconds is not None else ""
        far = f", {self.waits}" if self.waits else far
        beside = f" ({self.in_progress} in progress)" if self.in_progress is not None else ""
        self.line.write(f" {self.line.done + 1}/{self.line.planned} {self.name}{far}{beside}")


@dataclass(slots=True, kw_only=True)
class ProgressLine:
    """Text behind the cursor of pytest's line, overwritten by whatever pytest writes next. Silent where not `shown`."""

    config: pytest.Config
    shown: bool
    planned: int = 0
    done: int = 0
    waits: str = ""
    worker: WaitsOfWorker | None = None
    _written: str = field(default="", repr=False)

    @contextmanager
    def item(self, name: str) -> Iterator[ItemProgress]:
        """While one item is held."""
        at = ItemProgress(name=name, line=self)
        at.show()
        try:
            yield at
        finally:
            self.write("")
            if self.worker is not None:
                self.worker.tell("")
            self.done += 1

    def count(self) -> None:
        """An item was finished in another process."""
        self.done += 1
        self._show_others()

    def tell_waits(self, text: str) -> None:
        """What other processes wait for; nothing where they go on."""
        self.waits = text
        self._show_others()

    def _show_others(self) -> None:
        waits = f", {self.waits}" if self.waits else ""
        self.write(f" {self.done}/{self.planned}{waits}" if self.done < self.planned else "")

    def write(self, text: str) -> None:
        """Replace what stands behind the cursor; it never wraps."""
        if not self.shown or text == self._written:
            return
        self._written = text
        writer = self.config.get_terminal_writer()
        room = writer.fullwidth - writer.width_of_current_line - 1
        capture = self.config.pluginmanager.getplugin("capturemanager")
        sequence = f"{SAVE}{text[: max(0, room)]}{ERASE}{RESTORE}"
        if capture is None:
            _put(writer, sequence)
            return
        with capture.global_and_fixture_disabled():
            _put(writer, sequence)


def _put(writer: object, sequence: str) -> None:
    file = writer._file  # type: ignore[attr-defined]  # its write() counts escape sequences as columns
    file.write(sequence)
    file.flush()


def progress_line(config: pytest.Config) -> ProgressLine:
    """The run's progress line; shown on a terminal that is not asked to be quiet, never in a worker."""
    line = config.stash.get(_line, None)
    if line is None:
        terminal = config.pluginmanager.hasplugin("terminalreporter") and not hasattr(config, "workerinput")
        quiet = config.get_verbosity() < 0 or config.getoption("capture") == "no"
        shown = terminal and not quiet and config.get_terminal_writer().hasmarkup
        line = config.stash[_line] = ProgressLine(config=config, shown=shown, worker=_worker(config))
    return line


def _worker(config: pytest.Config) -> WaitsOfWorker | None:
    worker = getattr(config, "workerinput", None)
    return WaitsOfWorker(run_folder(config).path, worker["workerid"]) if worker else None


def waits_watch(config: pytest.Config) -> WaitsWatch | None:
    """Shows why nothing moves where all workers wait; None where there is no line to show it on."""
    line = progress_line(config)
    return WaitsWatch(run_folder(config).path, line.tell_waits) if line.shown else None
