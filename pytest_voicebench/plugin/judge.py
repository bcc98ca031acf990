"""The judge of a run: asked once all conversations are over, by the one process that reports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_voicebench.counted import counted
from pytest_voicebench.plugin.keeping import kept
from pytest_voicebench.plugin.options import judge_asked, rescored_run
from pytest_voicebench.plugin.progress import progress_line

if TYPE_CHECKING:
    from pytest_voicebench.saved_run import SavedRun


def with_judgements(config: pytest.Config, run: SavedRun, *, interrupted: bool) -> tuple[SavedRun, list[str]]:
    """The run with what the judge says about it, where one was asked for, and lines on what went wrong.

    Nothing that happens here ends the session or changes an outcome. Ctrl-C ends the judging alone.
    """
    asked = judge_asked(config)
    if asked is None:
        return _carried(config, run)
    from pytest_voicebench.judging.cache import CACHE_NAME, VerdictCache
    from pytest_voicebench.judging.settings import JudgeSettingsError
    from pytest_voicebench.judging.stage import judge_run

    settings, endpoint = asked
    line = progress_line(config)
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None and config.get_verbosity() >= 0 and not interrupted:
        terminal.ensure_newline()
        terminal.write_line(f"voicebench: asking the judge {settings.model} at {endpoint.host}")
    try:
        judgements = judge_run(
            run.folder,
            run.results,
            settings,
            endpoint,
            cache=VerdictCache(folder=run.folder.parent / CACHE_NAME),
            interrupted=interrupted,
            progress=lambda done, total: line.write(f" judged {done}/{total}" if done < total else ""),
        )
    except JudgeSettingsError as error:
        return run, [f"no judgement: {error}"]
    except OSError as error:
        return run, [f"no judgement: cannot write {error.filename or run.folder}: {error.strerror or error}"]
    except Exception as error:  # noqa: BLE001 - whatever it is, the run's own results stand without a judge
        return run, [f"no judgement: {type(error).__name__}"]
    finally:
        line.write("")
    stopped = sum(j.unjudged == "interrupted" for j in judgements)
    again = f"python -m pytest_voicebench judge {run.name} --judge={settings.model}"
    if not judgements:
        return run, ["nothing to ask the judge: no item spoke, no argument was in doubt"]
    notes = (
        [f"{counted(stopped, 'question was', 'questions were')} not judged, for Ctrl-C; to ask again: {again}"]
        if stopped
        else []
    )
    return replace(run, judgements=judgements), notes


def _carried(config: pytest.Config, run: SavedRun) -> tuple[SavedRun, list[str]]:
    """Of a run that is rescored, what judges said about its conversations, which are the same; else nothing."""
    recorded = rescored_run(config)
    own = {result.item_id for result in run.results}
    judgements = recorded.saved.judgements if recorded is not None else ()
    carried = tuple(kept(config).data(one) for one in judgements if one.item_id in own)
    if not carried:
        return run, []
    from pytest_voicebench.judgement_files import write_judgements

    try:
        write_judgements(run.folder, carried)
    except OSError as error:
        return run, [f"judgements not carried over: cannot write {error.filename or run.folder}: {error.strerror}"]
    return replace(run, judgements=carried), []
