"""Whether a gate holds for an agent: yes, no, or it cannot be told, and in one line why."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence

from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.decisions import BaselineComparison, GateResult, MetricComparison
from pytest_voicebench.gating.figures import COUNTS, OF_AN_AGENT, figure_of, in_trials, of_groups
from pytest_voicebench.gating.grammar import Gate, GateError, MustPass, NoRegression, Threshold
from pytest_voicebench.loading.mistakes import nearest
from pytest_voicebench.result import Result
from pytest_voicebench.some_names import MOST_NAMES, some
from pytest_voicebench.summary import AgentSummary, Scores

COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}


def group_name(text: str, groups: Iterable[str]) -> str:
    """The one group, `disfluency=filler`, that a gate means by `filler` or by its whole name. Raises GateError."""
    known = list(groups)
    found = [name for name in known if text in (name, name.partition("=")[2])]
    if len(found) == 1:
        return found[0]
    if found:
        raise GateError(f"{text} may be {' or '.join(found)}: write one of them", 1)
    short = dict.fromkeys([*known, *(name.partition("=")[2] for name in known)])
    raise GateError(f"there is no group {text}{nearest(text, short)}", 1)


def check_names(gate: Gate, groups: Sequence[str], ids: Iterable[str]) -> None:
    """Raise GateError where a gate names a group or an item that is not among them."""
    asks = gate.asks
    if isinstance(asks, MustPass):
        known = set(ids)
        for name in asks.ids:
            if name not in known:
                raise GateError(f"there is no scenario {name}{nearest(name, known)}", gate.expression.find(name) + 1)
    elif asks.group is not None:
        column = gate.expression.find(asks.group) + 1
        try:
            group_name(asks.group, groups)
        except GateError as error:
            raise GateError(str(error).partition(": ")[2], column) from None
        if isinstance(asks, Threshold) and not of_groups(asks.metric):
            raise GateError(f"{asks.metric} is there for all items only", column)


def scenario_names(name: str) -> set[str]:
    """What an item's id may name, whoever ran it and however often: `travel_19-b` of `gpt-realtime-travel_19-b-2`."""
    words = name.split("-")
    ends = {len(words), len(words) - words[-1].isdigit()}
    return {"-".join(words[begin:end]) for begin in range(len(words)) for end in ends if begin < end}


def check_trials(gate: Gate, trials: int) -> None:
    """Raise GateError where a gate asks for more trials of each item than are held."""
    asks = gate.asks
    if not isinstance(asks, Threshold):
        return
    k = in_trials(asks.metric)
    if k is None or (k <= trials and trials > 1):
        return
    told = f"the run holds {trials} trials of each item" if trials > 1 else "the run holds each item once"
    raise GateError(f"{told}: --voicebench-trials={max(k, 2)}", gate.expression.find(asks.metric) + 1)


def allows_errors(gate: Gate) -> bool:
    """Whether a gate says how many errors of all items there may be at most: then it, and not each of them, decides."""
    asks = gate.asks
    if not isinstance(asks, Threshold) or (asks.metric, asks.group) != ("errors", None):
        return False
    return asks.operator in ("<=", "<", "==")


def held(
    gate: Gate, agent: AgentSummary, results: Sequence[Result], comparison: BaselineComparison | None
) -> GateResult:
    """How the gate came out for one agent; `results` are its items."""
    asks = gate.asks
    if isinstance(asks, MustPass):
        return _must_pass(gate, asks, agent, results)
    if isinstance(asks, NoRegression):
        return _no_regression(gate, asks, agent, comparison)
    return _threshold(gate, asks, agent, results)


def _result(gate: Gate, agent: AgentSummary, holds: bool | None, found: str, why: str | None = None) -> GateResult:
    return GateResult(
        expression=gate.expression,
        agent=agent.name,
        holds=holds,
        found=found,
        source=gate.source,
        why=why,
        limits_errors=allows_errors(gate),
    )


def _threshold(gate: Gate, asks: Threshold, agent: AgentSummary, results: Sequence[Result]) -> GateResult:
    scores, problem = _scores(agent, asks)
    if scores is None:
        return _result(gate, agent, None, "n/a", problem)
    figure = figure_of(agent, scores, asks.metric)
    if figure.value is None:
        return _result(gate, agent, _of_nothing(asks, agent, scores, results), figure.text, "nothing was measured")
    holds = COMPARE[asks.operator](figure.value, asks.number)
    open_ = _unsettled(asks, agent, scores, holds=holds)
    if open_ is not None:
        return _result(gate, agent, None, figure.text, open_)
    return _result(gate, agent, holds, figure.text, None if holds else _far(figure.value, asks))


def _of_nothing(asks: Threshold, agent: AgentSummary, scores: Scores, results: Sequence[Result]) -> bool | None:
    """A figure that a run to its end never measured has not held, or its gate would pass for ever. It cannot be told of
    a group, which may be no part of what was selected, and where nothing was there to be measured."""
    base = asks.metric.partition(".")[0]
    idle = base in OF_AN_AGENT and not agent.commits.calls
    if base == "premature_commit_rate":
        idle = not any(row.facts.has_retraction for row in results)
    if base == "usd":  # without a session there is no price
        idle = not agent.cost.unknown
    return None if idle or asks.group is not None or scores.counts.not_run else False


def _unsettled(asks: Threshold, agent: AgentSummary, scores: Scores, *, holds: bool) -> str | None:
    """Why what was measured says nothing of what was asked yet; None where it does."""
    counts, most = scores.counts, asks.operator in ("<=", "<")
    if counts.not_run and not (not holds and asks.metric in COUNTS and most):  # what is too many already is settled
        return f"{counts.not_run} of {counted(counts.planned, 'item')} never ran"
    if holds and asks.metric not in ("errors", "skipped") and 2 * counts.valid < counts.planned:
        return (
            f"only {counts.valid} of {counted(counts.planned, 'item')} {noun_for(counts.valid, 'was', 'were')} measured"
        )
    unknown = sum(agent.cost.unknown.values()) if asks.metric == "usd" else 0
    if unknown and holds == most:  # only a bound that is passed already is settled
        return f"the cost of {counted(unknown, 'item')} is unknown"
    return None


def _far(value: float, asks: Threshold) -> str | None:
    """Shown where the printed figure would seem to hold."""
    near = asks.metric not in COUNTS and round(value, 3) == round(asks.number, 3)
    return f"to all digits {value!r}" if near and asks.operator in (">=", "<=") else None


def _scores(agent: AgentSummary, asks: Threshold) -> tuple[Scores | None, str | None]:
    """The scores of the group that is asked for, or why there are none."""
    if asks.group is None:
        return agent.overall, None
    try:
        kind, _, group = group_name(asks.group, groups_of(agent)).partition("=")
    except GateError as error:
        return None, f"not in this run: {str(error).partition(': ')[2]}"
    return agent.by[kind][group], None


def groups_of(agent: AgentSummary) -> list[str]:
    """The names of the agent's groups, `difficulty=hard`."""
    return [f"{kind}={group}" for kind, groups in agent.by.items() for group in groups]


def asked_of(gate: Gate, results: Mapping[str, Sequence[Result]]) -> Sequence[str]:
    """The agents of whom a gate is asked: one about items by id of those who have such an item, or of all."""
    if not isinstance(gate.asks, MustPass):
        return tuple(results)
    ids = set(gate.asks.ids)
    owners = [name for name, rows in results.items() if any(ids & {r.facts.scenario_id, r.item_id} for r in rows)]
    return owners or tuple(results)


def _must_pass(gate: Gate, asks: MustPass, agent: AgentSummary, results: Sequence[Result]) -> GateResult:
    """All speakers and trials of a scenario must pass; one that failed decides, whatever became of the others."""
    named = {name: [r for r in results if name in (r.facts.scenario_id, r.item_id)] for name in asks.ids}
    rows = list({id(row): row for found in named.values() for row in found}.values())
    absent = [name for name, found in named.items() if not found]
    failed = [row for row in rows if row.outcome == "failed"]
    other = [row for row in rows if row.outcome not in ("passed", "failed")]
    told = f"{len(rows) - len(failed) - len(other)} of {len(rows)} passed"
    items = tuple(row.item_id for row in failed or other)
    why = f"{some(items)} failed" if failed else None
    if not failed and other:
        why = "; ".join(f"{row.item_id}: {row.outcome.replace('_', ' ')}" for row in other[:MOST_NAMES])
    if not failed and absent:
        why = f"{'not' if rows else 'nothing of it was'} in this run: {some(absent)}"
    holds = False if failed else None if other or absent else True
    return GateResult(
        expression=gate.expression,
        agent=agent.name,
        holds=holds,
        found=told if rows else "n/a",
        source=gate.source,
        why=why,
        items=items,
    )


def _no_regression(
    gate: Gate, asks: NoRegression, agent: AgentSummary, comparison: BaselineComparison | None
) -> GateResult:
    if comparison is None:
        return _result(gate, agent, None, "n/a", "no baseline: give one with --voicebench-baseline")
    if comparison.refused is not None:
        return _result(gate, agent, None, "n/a", comparison.refused)
    mine = next((one for one in comparison.agents if one.name == agent.name), None)
    if mine is None:
        return _result(gate, agent, None, "n/a", f"{comparison.run} has no agent {agent.name}")
    try:
        group = group_name(asks.group, groups_of(agent)) if asks.group is not None else None
    except GateError as error:
        return _result(gate, agent, None, "n/a", f"not in this run: {str(error).partition(': ')[2]}")
    key = (asks.metric, group, asks.min_effect)
    row = next(row for row in mine.metrics if (row.metric, row.group, row.min_effect) == key)
    holds = {"no_regression": True, "regressed": False, "inconclusive": None}[row.verdict]
    missing = agent.overall.counts.not_run
    if holds and missing:
        return _result(
            gate, agent, None, _change(row), f"{missing} of {counted(agent.overall.counts.planned, 'item')} never ran"
        )
    items = mine.newly_failed if asks.metric == "pass_at_1" and group is None and holds is False else ()
    return GateResult(
        expression=gate.expression,
        agent=agent.name,
        holds=holds,
        found=_change(row),
        source=gate.source,
        why=row.why,
        items=items,
    )


def _change(row: MetricComparison) -> str:
    """`regressed: -0.170 [-0.25, -0.10], p 0.0002, 100 pairs`."""
    if row.effect is None:
        return row.verdict.replace("_", " ")
    interval = "" if row.low is None or row.high is None else f" [{row.low:+.2f}, {row.high:+.2f}]"
    p = "" if row.p_corrected is None else f", p {p_text(row.p_corrected)}"
    return f"{row.verdict.replace('_', ' ')}: {row.effect:+.3f}{interval}{p}, {counted(row.pairs, 'pair')}"


def p_text(p: float) -> str:
    """`0.031`, or `<0.001`."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"
