"""What `report` and `merge` take as pytest does: a baseline, gates, and whether one that cannot be told fails."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pytest_voicebench.codec import CodecError
from pytest_voicebench.files import os_error_text
from pytest_voicebench.gating import (
    Asked,
    Gate,
    GateError,
    as_read,
    check_names,
    check_trials,
    decided,
    decided_status,
    needs_baseline,
    parse_gate,
)
from pytest_voicebench.outcome import STRICT
from pytest_voicebench.plan import INI_ASKED
from pytest_voicebench.regression.baseline import NoFinishedRun, load_baseline
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RunUnreadable
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.summarizing.groups import groups_of_items
from pytest_voicebench.summary import Summary
from pytest_voicebench.writers.junit import JUNIT_NAME, JunitUnreadable, append_gates, finish_junit, write_junit
from pytest_voicebench.writers.markdown import write_markdown
from pytest_voicebench.writers.summary_json import SummaryUnreadable, load_summary, write_summary


def add_gate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--baseline`, `--gate` and `--strict`."""
    parser.add_argument(
        "--baseline", metavar="FILE|RUN", help="compare with this run: a results.jsonl, a run's folder or name, latest"
    )
    parser.add_argument(
        "--gate", action="append", default=[], metavar="EXPR", help="what must hold for exit status 0; may be repeated"
    )
    parser.add_argument("--strict", action="store_true", help="a gate that cannot be told fails")


def asked_for(options: argparse.Namespace, *runs: SavedRun) -> Asked:
    """What a run is held against. Raises RunUnreadable, one line, also for a gate that cannot be read."""
    gates = _gates(options, runs, has_baseline=options.baseline is not None)
    baseline = _baseline(options.baseline, options, runs) if options.baseline is not None else None
    return Asked(gates=gates, baseline=baseline, strict=options.strict)


def asked_of_shards(options: argparse.Namespace, shards: Sequence[SavedRun]) -> Asked:
    """What the run that shards make is held against: the gates of the ini file that they were run with, which pytest
    read and their plans hold, then those of the command; its baseline where the command gives none.

    Raises as `asked_for`.
    """
    ini = shards[0].plan.header.get(INI_ASKED) or {}
    written = tuple(parse_gate(gate["expression"], gate["source"]) for gate in ini.get("gates", ()))
    of_ini = ini.get("baseline") if options.baseline is None else None
    if of_ini is None:
        asked = asked_for(options, *shards)
        return replace(asked, gates=(*written, *asked.gates))
    gates = (*written, *_gates(options, shards, has_baseline=True))
    return Asked(gates=gates, baseline=_baseline_of_ini(of_ini, options, shards), strict=options.strict)


def _gates(options: argparse.Namespace, runs: Sequence[SavedRun], *, has_baseline: bool) -> tuple[Gate, ...]:
    rows = [row for run in runs for row in run.results]
    gates = tuple(_parsed(text, rows) for text in options.gate)
    for gate in gates:
        if not has_baseline and needs_baseline(gate):
            raise RunUnreadable(f"--gate {gate.expression!r}: needs --baseline FILE|RUN")
    return gates


def _baseline(given: str, options: argparse.Namespace, runs: Sequence[SavedRun]) -> SavedRun:
    return load_baseline(given, options.reports, here=Path(), besides=[run.folder for run in runs])


def _baseline_of_ini(given: str, options: argparse.Namespace, shards: Sequence[SavedRun]) -> SavedRun | None:
    """None for `latest` where there is none yet, as in pytest."""
    try:
        return _baseline(given, options, shards)
    except NoFinishedRun:
        return None
    except RunUnreadable as error:
        told = "voicebench_baseline of the ini file: merge where that file is, or give --baseline"
        raise RunUnreadable(f"{error} ({told})") from None


def _parsed(text: str, rows: Sequence[Result]) -> Gate:
    facts = [row.facts for row in rows]
    ids = [*(one.scenario_id for one in facts), *(row.item_id for row in rows)]
    try:
        gate = parse_gate(text, "--gate")
        check_names(gate, groups_of_items(facts), ids)
        check_trials(gate, max((row.trial or 1 for row in rows), default=1))
    except GateError as error:
        raise RunUnreadable(f"--gate {text!r}: {error}") from None
    return gate


def with_earlier_gates(run: SavedRun, asked: Asked) -> Asked:
    """What is asked; where that is a baseline alone, the run's own gates too, which are then asked anew."""
    if asked.gates or asked.baseline is None:
        return asked
    with suppress(SummaryUnreadable):
        earlier = load_summary(run.folder)
        gates: list[Gate] = []
        for expression, source in dict.fromkeys((gate.expression, gate.source) for gate in earlier.gates):
            with suppress(GateError):
                gates.append(parse_gate(expression, source))
        return replace(asked, gates=tuple(gates), strict=asked.strict or bool(earlier.header.get(STRICT)))
    return asked


def decided_or_kept(run: SavedRun, asked: Asked) -> Summary:
    """The run's summary with what is decided now; where nothing is asked, with what was decided of the same counts.

    Raises RunUnreadable.
    """
    if not asked.nothing:
        return decided(run, asked)
    summary = run.summary()
    with suppress(SummaryUnreadable):
        earlier = load_summary(run.folder)
        if earlier.counts == summary.counts:
            strict = {STRICT: earlier.header[STRICT]} if STRICT in earlier.header else {}
            header = {**summary.header, **strict}
            gates = tuple(as_read(gate, run) for gate in earlier.gates)
            baseline = earlier.baseline if run.damage is None else None
            return replace(summary, gates=gates, baseline=baseline, header=header)
    return summary


def write_decisions(run: SavedRun, asked: Asked) -> Summary:
    """The summary with what was decided; into summary.json, summary.md and junit.xml where anything was asked.

    Raises RunUnreadable, JunitUnreadable, CodecError, OSError.
    """
    summary = decided(run, asked)
    for write in () if asked.nothing else _writers(run, summary, strict=asked.strict):
        write()
    return summary


def keep_decisions(run: SavedRun, summary: Summary, *, strict: bool) -> list[str]:
    """Write what was decided into summary.json, summary.md and junit.xml, each as far as it can be; a junit.xml that is
    not there is made of the results.

    Gives a line for each that does not hold it now, which says why.
    """
    lost = []
    for write in _writers(run, summary, strict=strict):
        try:
            write()
        except OSError as error:
            lost.append(f"cannot write {os_error_text(error)}")
        except (JunitUnreadable, CodecError) as error:
            lost.append(f"what was decided is not in {error}")
    return lost


def _writers(run: SavedRun, summary: Summary, *, strict: bool) -> Iterator[Callable[[], object]]:
    """Of each file that says what was decided; they raise JunitUnreadable, CodecError, OSError."""
    yield lambda: write_summary(run.folder, summary)
    yield lambda: write_markdown(run.folder, summary, run.results)
    yield lambda: _write_junit(run, summary, strict=strict)


def _write_junit(run: SavedRun, summary: Summary, *, strict: bool) -> None:
    path = run.folder / JUNIT_NAME
    if not os.path.lexists(path):
        write_junit(path, run.results, summary)
    append_gates(path, summary.gates, strict=strict)
    finish_junit(path, summary)


def status(summary: Summary, asked: Asked) -> int:
    """Exit status: what was asked now decides, as `decided_status` says; 0 where nothing was."""
    return 0 if asked.nothing else decided_status(summary, asked)
