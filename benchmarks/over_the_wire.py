"""Whole runs over the wire: `python -m benchmarks.over_the_wire [--first N] [--at-once N] [AGENT ...]`.

Each hosted agent's double has the `local` agent behind it, in a process of its own. The same scenarios are held over
the wire, and with `local` in this process, which is sent the user's speech at the rate that the wire takes. Printed
for each agent: how many items have the same scores of tools, and by how much first responses differ; items whose
response came over 70 ms (one block and 50 ms) later or earlier are held once more, alone, which tells load from the
wire. Ends with 1 where a score of tools differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.doubles import DOUBLES, double_process
from benchmarks.processes import ROOT, measure_pytest
from pytest_voicebench.agents.naming import parse_agents
from pytest_voicebench.loading import load_suite
from pytest_voicebench.result import Result
from pytest_voicebench.result_files import read_results

SUITE = ROOT / "suites" / "fdb3"
CLOSE_S = 0.070

Runs = dict[str, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What the wire must not change: the calls as they were scored."""

    passed: bool
    tools_ok: bool
    args_ok: bool
    f1_strict: float
    argument_accuracy: float | None


def main() -> int:
    """Print the tables; 1 where more scores differ than `--alike` allows."""
    asked = _arguments()
    items = _items(asked.first)
    least = len(items) if asked.alike is None else asked.alike
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        expected: dict[int, Runs] = {}
        groups = [asked.agents] if asked.together else [[name] for name in asked.agents]
        alike = []
        for names in groups:
            agents = {name: stack.enter_context(double_process(name, SUITE / "travel.yaml")) for name in names}
            held = _hold(items, list(agents.values()), asked.pytest, Path(folder, names[0]))
            for name, agent in agents.items():
                hz = next(iter(held[name].values())).agent.input_hz
                if hz not in expected:
                    expected[hz] = _local(items, hz, Path(folder))
                alone = None if asked.together else Path(folder, f"{name}_alone")
                alike.append(_compared(name, agent, items, expected[hz], held[name], alone))
    return 0 if min(alike) >= least else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"of {', '.join(DOUBLES)} (default: all)")
    parser.add_argument("--first", type=int, default=None, help="hold this many scenarios, spread over the suite")
    parser.add_argument("--together", action="store_true", help="all agents in one run")
    parser.add_argument("--alike", type=int, default=None, help="items that must be the same (default: all)")
    parser.add_argument("--at-once", type=int, default=4, help="conversations at once (default: 4)")
    asked = parser.parse_args()
    asked.agents = asked.agents or list(DOUBLES)
    if unknown := [name for name in asked.agents if name not in DOUBLES]:
        parser.error(f"no double of {unknown[0]}")
    asked.pytest = ["-p", "no:xdist", f"--voicebench-concurrency={asked.at_once}"]
    return asked


def _items(first: int | None) -> list[str]:
    """Node ids, as many as asked for, evenly spread over the files of the suite."""
    found = [
        f"{path.relative_to(ROOT)}::scenario[{scenario.item_id}]"
        for path in sorted(SUITE.glob("*.yaml"))
        if path.read_text(encoding="utf-8").startswith("voicebench:")
        for scenario in load_suite(path).scenarios
    ]
    step = 1 if first is None else max(1, len(found) // first)
    return found[::step][:first]


def _local(items: Sequence[str], hz: int, folder: Path) -> Runs:
    found = _hold(items, [f"local,input_hz={hz}"], [], folder / f"local_{hz}")["local"]
    passed = sum(result.outcome == "passed" for result in found.values())
    print(f"\n{len(items)} items; local itself, sent {hz} Hz, passes {passed}")
    return found


def _compared(name: str, agent: str, items: Sequence[str], expected: Runs, held: Runs, alone_in: Path | None) -> int:
    """Print what differs; how many items have the same scores of tools. Late ones are held again alone, where told."""
    other = [node for node in items if _tools(expected[_id(node)]) != _tools(held.get(_id(node)))]
    later = [s for s in (_later(expected, held, node) for node in items) if s is not None]
    print(f"\n{name}: {len(items) - len(other)} of {len(items)} items with the same scores of tools")
    if later:
        print(f"  first response later by {1000 * median(later):.0f} ms in the middle, {1000 * max(later):.0f} at most")
    for node in other:
        print(f"  {_id(node)}: {_tools(expected[_id(node)])} became {_tools(held.get(_id(node)))}")
    late = [node for node in items if abs(_later(expected, held, node) or 0.0) > CLOSE_S]
    if late and alone_in is not None:
        alone = _hold(late, [agent], [], alone_in)[name]
        for node in late:
            again = _later(expected, alone, node)
            print(f"  {_id(node)}: {_ms(_later(expected, held, node))} later; alone {_ms(again)}")
    return len(items) - len(other)


def _hold(items: Sequence[str], agents: Sequence[str], how: Sequence[str], reports: Path) -> dict[str, Runs]:
    """The results by agent and item. The name of the agent joins the ids of a run that has several."""
    asked = [f"--agent={agent}" for agent in agents]
    chosen = ["suites/fdb3", "-k", " or ".join(map(_id, items))] if agents[1:] else items
    measure_pytest(ROOT, *chosen, *asked, f"--voicebench-reports={reports}", *(how or ["-n", "0"]))
    run = reports / (reports / "latest").read_text(encoding="utf-8").strip()
    names = {spec.label: spec.name for spec in parse_agents(agents)}
    found: dict[str, Runs] = {name: {} for name in names.values()}
    for result in read_results(run).results:
        label, _, item_id = result.item_id.partition("-") if agents[1:] else (next(iter(names)), "", result.item_id)
        found[names[label]][item_id] = result
    return found


def _id(node: str) -> str:
    return node.rpartition("[")[2].rstrip("]")


def _tools(result: Result | None) -> Tools | str:
    if result is None or result.scorecard is None:
        return "nothing" if result is None else f"{result.outcome} ({result.error_kind}: {result.cause})"
    card = result.scorecard
    return Tools(
        passed=card.passed,
        tools_ok=card.tools_ok,
        args_ok=card.args_ok,
        f1_strict=card.f1_strict,
        argument_accuracy=card.argument_accuracy,
    )


def _later(expected: dict[str, Result], held: dict[str, Result], node: str) -> float | None:
    """Seconds by which the first response came later over the wire; None where either has none."""
    cards = [runs[_id(node)].scorecard if _id(node) in runs else None for runs in (expected, held)]
    before, after = (card.times.first_response_latency_s if card else None for card in cards)
    return None if before is None or after is None else after - before


def _ms(seconds: float | None) -> str:
    return "unmeasured" if seconds is None else f"{1000 * seconds:+.0f} ms"


if __name__ == "__main__":
    sys.exit(main())
