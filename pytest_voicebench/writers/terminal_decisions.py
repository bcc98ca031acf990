"""What a run decides as text: how it stands against a baseline, and its gates, which stand last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_voicebench.counted import counted
from pytest_voicebench.decisions import (
    AgentComparison,
    BaselineComparison,
    GateResult,
    MetricComparison,
)
from pytest_voicebench.outcome import outcome
from pytest_voicebench.some_names import some
from pytest_voicebench.summary import Summary
from pytest_voicebench.writers.cells import UNMEASURED
from pytest_voicebench.writers.grid import Grid, Paint, grid_lines
from pytest_voicebench.writers.plain_text import columns, one_line, pad, wrapped

MOST_ITEMS = 8
WORDS = {True: "holds", False: "FAILS", None: "cannot be told"}
STYLES = {True: "green", False: "red", None: "yellow"}
LONGEST_GATE = 60


def decision_lines(summary: Summary, *, width: int, paint: Paint) -> list[str]:
    """The comparison with a baseline and the gates, each after an empty line; nothing where there is neither."""
    lines: list[str] = []
    if summary.baseline is not None:
        lines += ["", *_baseline_lines(summary.baseline, width, paint)]
    if summary.gates:
        lines += ["", *_gate_lines(summary.gates, width, paint)]
    return lines


def gates_sentence(gates: Sequence[GateResult]) -> str:
    """`2 hold, 1 fails, 1 cannot be told`."""
    counts = Counter(gate.holds for gate in gates)
    parts = [counted(counts[True], "holds", "hold")] * bool(counts[True])
    parts += [counted(counts[False], "fails", "fail")] * bool(counts[False])
    return ", ".join(parts + [f"{counts[None]} cannot be told"] * bool(counts[None]))


def decision_headlines(summary: Summary) -> list[str]:
    """How the run came out, and a line for each gate that does not hold; nothing without gates and a baseline."""
    said = outcome(summary)
    others = [_gate_text(gate, with_agent=len(summary.agents) > 1) for gate in summary.gates if not gate.holds]
    return [*([said.text] if said is not None else []), *(f"gate {text}" for text in others)]


def _gate_text(gate: GateResult, *, with_agent: bool) -> str:
    """`FAILS: pass_at_1 >= 0.55: 0.520 (52/100)`."""
    agent = f" [{gate.agent}]" if with_agent else ""
    told = "; ".join(part for part in (gate.found, gate.why) if part)
    return f"{WORDS[gate.holds]}: {gate.expression}{agent}: {told}"


def _gate_lines(gates: Sequence[GateResult], width: int, paint: Paint) -> Iterator[str]:
    """A line for each gate: how it came out, what was asked, what was found; why, below it."""
    yield paint(one_line(f"Gates: {gates_sentence(gates)}", width), "bold")
    several = len({gate.agent for gate in gates}) > 1
    names = [f"{gate.expression} [{gate.agent}]" if several else gate.expression for gate in gates]
    first = max(len(WORDS[gate.holds]) for gate in gates)
    second = min(LONGEST_GATE, max(columns(one_line(name)) for name in names))
    for gate, name in zip(gates, names, strict=True):
        word = paint(f"{WORDS[gate.holds]:<{first}}", STYLES[gate.holds])
        if columns(one_line(name)) <= second and 6 + first + second + columns(gate.found) <= width:
            yield f"  {word}  {pad(name, second)}  {one_line(gate.found)}"
        else:
            yield f"  {word}  {one_line(name, width - first - 4)}"
            yield from _indented(gate.found, first + 4, width)
        yield from _indented(gate.why or "", first + 4, width)


def _indented(text: str, indent: int, width: int) -> Iterator[str]:
    yield from (" " * indent + line for line in wrapped(text, width - indent) if line)


def _baseline_lines(found: BaselineComparison, width: int, paint: Paint) -> Iterator[str]:
    if found.refused is not None:
        yield paint(one_line(f"Against baseline {found.run}: not compared", width), "bold")
        yield from _indented(found.refused, 2, width)
        return
    for agent in found.agents:
        grid = _grid(found, agent, several=len(found.agents) > 1)
        yield from grid_lines(grid, width=width, paint=paint)
        for text in _notes(agent):
            yield from _indented(text, 2, width)
    if not found.agents:
        yield paint(one_line(f"Against baseline {found.run}: no agent is in both", width), "bold")
    for text in (*_left_out(found), *found.cautions):
        yield from _indented(text, 2, width)


def _grid(found: BaselineComparison, agent: AgentComparison, *, several: bool) -> Grid:
    name = f": {agent.name}" if several or agent.name != agent.before else ""
    before = f" ({agent.before} there)" if agent.name != agent.before else ""
    head = ("metric", "verdict", "before", "after", "change", "95 % int.", "p", "detect.")
    rows = [_row(row) for row in agent.metrics]
    return Grid(title=f"Against baseline {found.run}{name}{before}", head=head, rows=rows)


def _row(row: MetricComparison) -> tuple[str, ...]:
    seconds = "_s." in row.metric
    interval = UNMEASURED if row.low is None or row.high is None else f"{row.low:+.2f}, {row.high:+.2f}"
    values = [UNMEASURED if v is None else f"{v:.2f}" if seconds else f"{v:.3f}" for v in (row.before, row.after)]
    change = UNMEASURED if row.effect is None else f"{row.effect:+.2f}" if seconds else f"{row.effect:+.3f}"
    seen = UNMEASURED if row.detectable is None else f"{row.detectable:.2f}"
    return (metric_name(row), row.verdict.replace("_", " "), *values, change, interval, _p(row.p_corrected), seen)


def metric_name(row: MetricComparison) -> str:
    """The metric, with its group where it has one: `self_correction.pass_at_1`."""
    return row.metric if row.group is None else f"{row.group.partition('=')[2]}.{row.metric}"


def _p(p: float | None) -> str:
    return UNMEASURED if p is None else "<.001" if p < 0.001 else f"{p:.3f}"


def _notes(agent: AgentComparison) -> Iterator[str]:
    """On how much the figures rest, what they mean, which items changed sides."""
    pairs: dict[tuple[int, int], list[str]] = {}
    for row in agent.metrics:
        pairs.setdefault((row.pairs, row.clusters), []).append(metric_name(row))
    most = max(pairs, default=(0, 0))
    others = [f"{number} in {', '.join(names)}" for (number, _), names in pairs.items() if number != most[0]]
    yield "; ".join([f"{counted(most[0], 'pair')} of {counted(most[1], 'scenario')}", *others])
    yield "change: after minus before; p: one-sided, corrected (Holm); detect.: a loss seen with probability 0.8"
    told = dict.fromkeys(f"{metric_name(row)}: {row.why}" for row in agent.metrics if row.why and row.pairs)
    yield from told
    if agent.newly_failed:
        yield f"newly failed ({len(agent.newly_failed)}): {some(agent.newly_failed, MOST_ITEMS)}"
    if agent.newly_passed:
        yield f"newly passed ({len(agent.newly_passed)}): {some(agent.newly_passed, MOST_ITEMS)}"


def _left_out(found: BaselineComparison) -> Iterator[str]:
    """Items that are no pairs, each kind on its line."""
    kinds: tuple[tuple[str, Iterable[str]], ...] = (
        ("not measured in both", found.unmeasured),
        ("not compared, changed since", found.changed),
        (f"only in {found.run}", found.only_before),
        ("only in this run", found.only_after),
    )
    yield from (
        f"{label} ({len(names)}): {some(names, MOST_ITEMS)}"
        for label, names in ((k, list(v)) for k, v in kinds)
        if names
    )
