"""`prove SUITE...`: proof that a suite can fail; the oracle must pass, and every mutant of it must not."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from pytest_voicebench.commands.validate import suite_files
from pytest_voicebench.counted import counted
from pytest_voicebench.loading import SuiteError, check_distinct, load_suite
from pytest_voicebench.proving.mutant import KINDS
from pytest_voicebench.proving.proof import ItemProof
from pytest_voicebench.proving.run import Proof, Survivor, prove
from pytest_voicebench.scenario import Suite
from pytest_voicebench.whole_numbers import whole_number
from pytest_voicebench.writers.plain_text import encodable, one_line

FORMAT = 1


def run(argv: list[str]) -> int:
    """Print the proof. Exit status 0 where every mutant failed and every oracle passed, else 1; 2: not readable."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench prove", description=__doc__)
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="SUITE", help="a suite file, or a folder that holds some"
    )
    parser.add_argument("--json", action="store_true", help="print the proof as JSON")
    parser.add_argument(
        "-n", dest="workers", type=_workers, default=1, metavar="WORKERS", help="processes (default: 1)"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name every mutant, also those that failed")
    options = parser.parse_args(argv)
    suites = _load(options.paths)
    if suites is None:
        return 2
    try:
        proof = prove(suites, workers=options.workers)
    except BrokenProcessPool:
        print("prove: a worker process died; run it without -n to see what ends it", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(as_json(proof), indent=2))
    else:
        for line in as_lines(proof, len(suites), verbose=options.verbose):
            print(encodable(one_line(line), sys.stdout.encoding))
    return 0 if proof.holds else 1


def _workers(text: str) -> int:
    try:
        return whole_number(text, 64)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _load(paths: list[Path]) -> list[Suite] | None:
    """The suites, or None after every mistake in them was printed."""
    suites: list[Suite] = []
    mistakes: list[str] = []
    for path in paths:
        found = list(suite_files(path))
        if not found:
            print(f"{path}: no suite there (a suite's first key is voicebench: 1)", file=sys.stderr)
            return None
        for file in found:
            try:
                suites.append(load_suite(file))
            except SuiteError as error:
                mistakes += map(str, error.problems)
    try:
        check_distinct(suites)
    except SuiteError as error:
        mistakes += map(str, error.problems)
    for mistake in dict.fromkeys(mistakes):
        print(mistake, file=sys.stderr)
    return None if mistakes else suites


def as_lines(proof: Proof, suites: int, *, verbose: bool) -> Iterator[str]:
    """The proof as text: what was tried, what was not made and why, every fault, and the score in the last line."""
    scenarios = len({(item.path, item.scenario_id) for item in proof.items})
    items = f", {counted(len(proof.items), 'item')}" if len(proof.items) != scenarios else ""
    yield f"{counted(suites, 'suite')}, {counted(scenarios, 'scenario')}{items}, in virtual time"
    if verbose:
        yield from _every_mutant(proof)
    yield ""
    yield from _table(proof)
    yield from _headed("not made, as they would be no fault or cannot be made:", _exclusions(proof))
    yield from _headed("items in which nothing was tried:", (f"{n:5}  {why}" for why, n in proof.skipped()))
    yield from _headed("mock tools that broke on a wrong call (a run would show an error):", _broken(proof))
    yield from _headed("the oracle fails:", map(_oracle_fault, proof.oracle_faults))
    yield from _headed("survivors:", map(_survivor, proof.survivors()))
    yield ""
    yield _score(proof)


def _headed(head: str, lines: Iterator[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", head, *(f"  {line}" for line in found))


def _every_mutant(proof: Proof) -> Iterator[str]:
    for item in proof.items:
        for mutant in item.tried:
            yield f"{'killed  ' if mutant.killed else 'SURVIVED'}  {item.item_id}: {mutant.what}"
        for not_made in item.excluded:
            yield f"not made  {item.item_id}: {not_made.what}: {not_made.reason}"


def _table(proof: Proof) -> Iterator[str]:
    width = max(map(len, KINDS.values()))
    yield f"{'mutants':<{width}}  {'made':>6}  {'killed':>6}  {'survived':>8}  {'not made':>8}"
    for kind, (made, killed, not_made) in proof.by_kind().items():
        yield f"{KINDS[kind]:<{width}}  {made:>6}  {killed:>6}  {made - killed:>8}  {not_made:>8}"


def _exclusions(proof: Proof) -> Iterator[str]:
    return (f"{n:5}  {KINDS[kind]}: {reason}" for kind, reason, n in proof.exclusions())


def _broken(proof: Proof) -> Iterator[str]:
    lines = [f"{_place(i)}: {i.scenario_id}: {m.what}: {m.broke}" for i in proof.items for m in i.tried if m.broke]
    return iter(dict.fromkeys(lines))


def _place(item: ItemProof) -> str:
    return f"{item.path}:{item.line}"


def _oracle_fault(item: ItemProof) -> str:
    return f"{_place(item)}: {item.item_id}: an agent that does everything right fails: {item.oracle_fault}"


def _survivor(survivor: Survivor) -> str:
    who = survivor.item.scenario_id
    return f"{_place(survivor.item)}: {who}: {survivor.mutant.what} still passes: {survivor.mutant.why}"


def _score(proof: Proof) -> str:
    score = f" ({percent(proof.killed, proof.made):.1f} %)" if proof.made else ": nothing was proved"
    failing = len(proof.oracle_faults)
    oracle = f"; the oracle fails in {counted(failing, 'item')}" if failing else ""
    return f"killed {proof.killed} of {proof.made}{score}{oracle}"


def percent(killed: int, made: int) -> float:
    """Percent with one decimal, never rounded up: 100.0 only where all were killed."""
    return killed * 1000 // made / 10


def as_json(proof: Proof) -> dict[str, Any]:
    """The proof as data, format 1. `mutation_score_percent` is None where nothing was tried."""
    return {
        "format": FORMAT,
        "holds": proof.holds,
        "items": len(proof.items),
        "made": proof.made,
        "killed": proof.killed,
        "mutation_score_percent": percent(proof.killed, proof.made) if proof.made else None,
        "kinds": {
            kind: {"made": made, "killed": killed, "not_made": not_made}
            for kind, (made, killed, not_made) in proof.by_kind().items()
        },
        "not_made": [{"kind": kind, "reason": reason, "count": n} for kind, reason, n in proof.exclusions()],
        "skipped": [{"item": i.item_id, "reason": i.skipped} for i in proof.items if i.skipped is not None],
        "oracle_faults": [
            {"item": i.item_id, "path": i.path, "line": i.line, "fault": i.oracle_fault} for i in proof.oracle_faults
        ],
        "survivors": [
            {
                "scenario": s.item.scenario_id,
                "items": list(s.item_ids),
                "path": s.item.path,
                "line": s.item.line,
                "kind": s.mutant.kind,
                "what": s.mutant.what,
                "why": s.mutant.why,
            }
            for s in proof.survivors()
        ],
        "broken_mocks": [
            {"item": i.item_id, "what": m.what, "error": m.broke} for i in proof.items for m in i.tried if m.broke
        ],
    }
