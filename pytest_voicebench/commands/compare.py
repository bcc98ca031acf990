"""`compare A B`: which items and which scores moved between two runs."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from pytest_voicebench.codec import CodecError, dump_json
from pytest_voicebench.commands.report import print_bytes
from pytest_voicebench.comparing import agents_of, compare_runs, of_agent
from pytest_voicebench.regression.baseline import RUN_OR_FILE, load_given
from pytest_voicebench.result import score_sets
from pytest_voicebench.result_files import RunUnreadable
from pytest_voicebench.saved_run import SavedRun
from pytest_voicebench.writers.comparison import comparison_text
from pytest_voicebench.writers.plain_text import encodable, one_line

DESCRIPTION = """
Which items and which scores moved from run A to run B, and what else differs: scenarios, expectations, agents, clocks,
versions, rules. Items that ask something else under the same name are listed and not compared. Exit status 0: the same
items with the same outcomes and scores; 1: something moved, nothing can be compared, or a run could not be read whole;
2: refused, because a run cannot be read, has no such agent, or was scored by other rules (unless it is the other run,
rescored). Differences around the scores are named and leave the status alone.
"""


def run(argv: list[str]) -> int:
    """Print the comparison; exit status as `DESCRIPTION` says."""
    parser = argparse.ArgumentParser(prog="python -m pytest_voicebench compare", description=DESCRIPTION)
    for name, text in (("a", "the run before"), ("b", "the run after")):
        parser.add_argument(name, metavar=name.upper(), help=f"{text}: {RUN_OR_FILE}")
    parser.add_argument(
        "--agent",
        metavar="NAME",
        help="of a run of several agents, compare this one; a run of one agent is compared whatever its name",
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON, every value that moved")
    parser.add_argument("--reports", type=Path, default=Path("reports"), help="where runs are (default: reports)")
    options = parser.parse_args(argv)
    try:
        before, after = (load_given(name, options.reports) for name in (options.a, options.b))
        if options.agent is not None:
            before, after = _of_agent(before, after, options.agent)
        _check_rules(before, after)
        found = compare_runs(before, after)
        data = dump_json(found, indent=2) + b"\n"
    except (RunUnreadable, CodecError, _NoSuchAgent, _OtherRules) as error:
        print(one_line(f"compare: {error}"), file=sys.stderr)
        return 2
    for note in (*before.notes, *after.notes):
        print(one_line(f"note: {note}"), file=sys.stderr)
    if options.json:
        print_bytes(data)
    else:
        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
        print(encodable(comparison_text(found, width=max(width, 60)), sys.stdout.encoding), end="")
    return 0 if found.same else 1


class _NoSuchAgent(Exception):  # noqa: N818 - says what is the case, for a person
    """`--agent` names nobody; one line."""


class _OtherRules(Exception):  # noqa: N818 - says what is the case, for a person
    """Scores that do not mean the same; one line."""


def _check_rules(before: SavedRun, after: SavedRun) -> None:
    """Raise _OtherRules where the scores were made by other rules, as a leaderboard does.

    A run beside itself as it was rescored is let through: what other rules move is the question there.
    """
    sets = [score_sets(run.results) for run in (before, after)]
    names = [{run.name, run.header.get("rescored_from", run.name)} for run in (before, after)]
    if all(sets) and sets[0] != sets[1] and not names[0] & names[1]:
        told = "; ".join(f"{run.name}: {' and '.join(found)}" for run, found in zip((before, after), sets, strict=True))
        raise _OtherRules(f"scores by different rules cannot be compared ({told}): --voicebench-rescore the older run")


def _of_agent(before: SavedRun, after: SavedRun, name: str) -> tuple[SavedRun, SavedRun]:
    """Both runs with the chosen agent's items. Raises _NoSuchAgent."""
    names = dict.fromkeys([*agents_of(before), *agents_of(after)])
    if name not in names:
        raise _NoSuchAgent(f"no run has an agent {name!r}; there are {', '.join(names) or 'none'}")
    try:
        return of_agent(before, name), of_agent(after, name)
    except ValueError as error:
        raise _NoSuchAgent(str(error)) from None
