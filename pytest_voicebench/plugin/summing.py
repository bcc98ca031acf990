"""At the end of a run: from the results in its folder to the summary, and to each file that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_voicebench.codec import CodecError
from pytest_voicebench.files import os_error_text
from pytest_voicebench.plugin.gates import summary_of
from pytest_voicebench.plugin.options import rescored_run
from pytest_voicebench.plugin.run_folder import run_folder

if TYPE_CHECKING:
    import pytest

    from pytest_voicebench.result import Result
    from pytest_voicebench.saved_run import SavedRun
    from pytest_voicebench.summary import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """What a run came to; `summary` is None where that cannot be told.

    `compared` says what moved since the run that was rescored; `notes` have a line for what could not be read,
    `unwritten` one for each file that does not hold the summary.
    """

    summary: Summary | None = None
    results: tuple[Result, ...] = ()
    compared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unwritten: tuple[str, ...] = ()


def sum_up(config: pytest.Config, told: Callable[[Result], Result], *, interrupted: bool) -> Summed:
    """Sum the run up and write its files, each whatever becomes of the others. `told` completes a saved result."""
    from pytest_voicebench.plugin.judge import with_judgements
    from pytest_voicebench.plugin.junit import add_run_properties
    from pytest_voicebench.result_files import RunUnreadable
    from pytest_voicebench.saved_run import load_run
    from pytest_voicebench.writers.junit_properties import run_properties

    try:
        run, trouble = with_judgements(config, load_run(run_folder(config).path), interrupted=interrupted)
        run = replace(run, results=tuple(map(told, run.results)))
        summary = summary_of(config, run)
        compared = _compared(config, run)
    except OSError as error:
        return Summed(notes=(f"no summary: {os_error_text(error)}",))
    except (RunUnreadable, CodecError) as error:
        return Summed(notes=(str(error),))
    add_run_properties(config, run_properties(summary))
    return Summed(
        summary=summary,
        results=run.results,
        compared=tuple(compared),
        notes=(*run.notes, *trouble),
        unwritten=tuple(_unwritten(config, run, summary)),
    )


def _unwritten(config: pytest.Config, run: SavedRun, summary: Summary) -> Iterator[str]:
    """Write summary.json, summary.md, manifest.json and report.html; a line for each that could not be."""
    from pytest_voicebench.manifest import MANIFEST_NAME
    from pytest_voicebench.plugin.manifest import finish_manifest
    from pytest_voicebench.plugin.page import page_trouble
    from pytest_voicebench.writers.markdown import MARKDOWN_NAME, write_markdown
    from pytest_voicebench.writers.summary_json import SUMMARY_NAME, write_summary

    writers: dict[str, Callable[[], object]] = {
        SUMMARY_NAME: lambda: write_summary(run.folder, summary),
        MARKDOWN_NAME: lambda: write_markdown(run.folder, summary, run.results),
        MANIFEST_NAME: lambda: finish_manifest(config, run.plan, run.results),
    }
    for name, write in writers.items():
        try:
            write()
        except (OSError, CodecError) as error:
            yield f"cannot write {run.folder / name}: {getattr(error, 'strerror', None) or error}"
    yield from page_trouble(config, run, summary)


def _compared(config: pytest.Config, run: SavedRun) -> list[str]:
    """What moved since the run that was rescored, if one was."""
    recorded = rescored_run(config)
    if recorded is None:
        return []
    from pytest_voicebench.plugin.rescore import compared_lines

    return compared_lines(recorded, run)
