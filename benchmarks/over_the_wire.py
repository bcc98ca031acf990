"""Whole runs over the wire: `python -m benchmarks.over_the_wire [--first N] [--at-once N] [AGENT ...]`.

Each hosted agent's double has the `local` agent behind it, in a process of its own. The same scenarios are held over
the wire, and with the same agent in this process. Printed for each agent: how many items have the same scores of tools,
what was heard in those that have others, and by how much first responses differ, with what explains every item whose
response came over 70 ms (one block and 50 ms) later or earlier: the end of the response that a result had to wait
for; else the item is held once more, alone, which tells load from the wire. Ends with 1 where a score of tools differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.doubles import DOUBLES, double_process
from benchmarks.held_items import Held, read_held
from benchmarks.processes import ROOT, measure_pytest
from pytest_voicebench.agents.naming import parse_agents
from pytest_voicebench.loading import load_suite

SUITE = ROOT / "suites" / "fdb3"
CLOSE_S = 0.070

Runs = Mapping[str, Held]


def main() -> int:
    """Print the tables; 1 where more scores differ than `--alike` allows."""
    asked = _arguments()
    items = _items(asked.first)
    least = len(items) if asked.alike is None else asked.alike
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        expected: dict[str, Runs] = {}
        groups = [asked.agents] if asked.together else [[name] for name in asked.agents]
        alike = []
        for names in groups:
            agents = {name: stack.enter_context(double_process(name, SUITE / "travel.yaml")) for name in names}
            held = _hold(items, list(agents.values()), asked.pytest, Path(folder, names[0]))
            for name in names:
                hz = next(iter(held[name].values())).input_hz
                reference = DOUBLES[name].reference.format(hz=hz)
                if reference not in expected:
                    expected[reference] = _reference(items, reference, Path(folder, f"reference_{len(expected)}"))
                alone = None if asked.together else Path(folder, f"{name}_alone")
                alike.append(_compared(name, items, expected[reference], held[name], alone))
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


def _reference(items: Sequence[str], agent: str, folder: Path) -> Runs:
    (found,) = _hold(items, [agent], [], folder).values()
    print(f"\n{len(items)} items; {agent} passes {sum(held.passed for held in found.values())}")
    return found


def _compared(name: str, items: Sequence[str], expected: Runs, held: Runs, alone_in: Path | None) -> int:
    """Print what differs; how many items have the same scores of tools. Late ones are held again alone, where told."""
    ids = [_id(node) for node in items]
    other = [item_id for item_id in ids if expected[item_id].tools != held[item_id].tools]
    print(f"\n{name}: {len(ids) - len(other)} of {len(ids)} items with the same scores of tools")
    for item_id in other:
        before, after = expected[item_id], held[item_id]
        print(f"  {item_id}: {before.tools} became {after.tools}")
        same = before.heard == after.heard
        print(f"    heard the same: {after.heard}" if same else f"    heard {before.heard}\n    then  {after.heard}")
    _print_lateness(name, items, expected, held, alone_in)
    return len(ids) - len(other)


def _print_lateness(name: str, items: Sequence[str], expected: Runs, held: Runs, alone_in: Path | None) -> None:
    """By how much first responses differ, and each that is over 70 ms away, with what it waited for."""
    later = {_id(node): held[_id(node)].later_s(expected[_id(node)]) for node in items}
    measured = [seconds for seconds in later.values() if seconds is not None]
    if not measured:
        return
    print(f"  first response later by {_ms(median(measured))} in the middle, {_ms(max(measured))} at most")
    far = [node for node in items if abs(later[_id(node)] or 0.0) > CLOSE_S]
    left = [node for node in far if abs(_rest_s(held[_id(node)], expected[_id(node)]) or 0.0) > CLOSE_S]
    print(f"  {len(far)} of {len(measured)} over {_ms(CLOSE_S)}, {len(left)} of them not for what they waited for")
    alone = _alone(name, left, alone_in) if left and alone_in else {}
    for node in far:
        again = f"; alone {_split(alone[_id(node)], expected[_id(node)])}" if _id(node) in alone else ""
        print(f"    {_id(node)}: {_split(held[_id(node)], expected[_id(node)])}{again}")


def _alone(name: str, items: Sequence[str], reports: Path) -> Runs:
    """Items held one after the other, with a double that has heard nothing before."""
    with double_process(name, SUITE / "travel.yaml") as agent:
        (found,) = _hold(items, [agent], [], reports).values()
    return found


def _rest_s(held: Held, expected: Held) -> float | None:
    """By how much a response came later than what it waited for explains."""
    later = held.later_s(expected)
    return None if later is None else later - sum(held.waited_s(expected).values())


def _split(held: Held, expected: Held) -> str:
    later, rest = held.later_s(expected), _rest_s(held, expected)
    if later is None or rest is None:
        return "unmeasured"
    waits = [f"{_ms(seconds)} {what}" for what, seconds in held.waited_s(expected).items() if round(seconds, 3)]
    return f"{_ms(later)} = {', '.join(waits)}, {_ms(rest)} else" if waits else _ms(later)


def _hold(items: Sequence[str], agents: Sequence[str], how: Sequence[str], reports: Path) -> dict[str, Runs]:
    """The results by agent and item. The name of the agent joins the ids of a run that has several."""
    asked = [f"--agent={agent}" for agent in agents]
    chosen = ["suites/fdb3", "-k", " or ".join(map(_id, items))] if agents[1:] else items
    measure_pytest(ROOT, *chosen, *asked, f"--voicebench-reports={reports}", *(how or ["-n", "0"]))
    run = reports / (reports / "latest").read_text(encoding="utf-8").strip()
    found = read_held(run)
    specs = parse_agents(agents)
    if not agents[1:]:
        return {specs[0].name: found}
    return {spec.name: {_id(node): found[f"{spec.label}-{_id(node)}"] for node in items} for spec in specs}


def _id(node: str) -> str:
    return node.rpartition("[")[2].rstrip("]")


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    sys.exit(main())
