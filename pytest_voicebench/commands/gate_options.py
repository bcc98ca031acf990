"""What `report` and `merge` take as pytest does: a baseline, gates, and whether one that cannot be told fails."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pytest_voicebench.gating import (
    Asked,
    Gate,
    GateError,
    check_names,
    decided,
    decided_status,
    needs_baseline,
    parse_gate,
)
from pytest_voicebench.regression.baseline import load_baseline
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import RunUnreadable
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.summarizing.groups import groups_of_items
from pytest_voicebench.summary import Summary
from pytest_voicebench.writers.junit import JUNIT_NAME, append_gates
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
    """What a run, or the one that shards make, is held against. Raises RunUnreadable, one line, also for a gate that
    cannot be read."""
    rows = [row for run in runs for row in run.results]
    gates = tuple(_parsed(text, rows) for text in options.gate)
    for gate in gates:
        if options.baseline is None and needs_baseline(gate):
            raise RunUnreadable(f"--gate {gate.expression!r}: needs --baseline FILE|RUN")
    baseline = None
    if options.baseline is not None:
        folders = [run.folder for run in runs]
        baseline = load_baseline(options.baseline, options.reports, here=Path(), besides=folders)
    return Asked(gates=gates, baseline=baseline, strict=options.strict)


def _parsed(text: str, rows: Sequence[Result]) -> Gate:
    facts = [row.facts for row in rows]
    ids = [*(one.scenario_id for one in facts), *(row.item_id for row in rows)]
    try:
        gate = parse_gate(text, "--gate")
        check_names(gate, groups_of_items(facts), ids)
    except GateError as error:
        raise RunUnreadable(f"--gate {text!r}: {error}") from None
    return gate


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
            return replace(summary, gates=earlier.gates, baseline=earlier.baseline)
    return summary


def write_decisions(run: SavedRun, asked: Asked) -> Summary:
    """The summary with what was decided; into summary.json, summary.md and junit.xml where anything was asked.

    Raises RunUnreadable, JunitUnreadable, CodecError, OSError.
    """
    summary = decided(run, asked)
    if not asked.nothing:
        write_summary(run.folder, summary)
        write_markdown(run.folder, summary, run.results)
        append_gates(run.folder / JUNIT_NAME, summary.gates, strict=asked.strict)
    return summary


def status(summary: Summary, asked: Asked) -> int:
    """Exit status: with gates, 1 where one fails, or items were not measured that no gate allows; else 0."""
    return decided_status(summary, asked) if asked.gates else 0
