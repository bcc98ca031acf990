"""summary.md: a run for the people who read a pull request; the verdict first, then what moved and the worst items."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from pytest_voicebench.counted import counted, noun_for
from pytest_voicebench.decisions import (
    AgentComparison,
    BaselineComparison,
    GateResult,
    MetricComparison,
)
from pytest_voicebench.files import write_atomically
from pytest_voicebench.outcome import outcome
from pytest_voicebench.result import Result
from pytest_voicebench.some_names import some
from pytest_voicebench.summary import AgentSummary, Summary
from pytest_voicebench.trial_summary import TrialSummary
from pytest_voicebench.writers.cells import score_cells, seconds_text, value_text
from pytest_voicebench.writers.markdown_text import escaped, name, table, within_limits
from pytest_voicebench.writers.reasons import severity, why
from pytest_voicebench.writers.terminal_header import (
    notices_of,
    outcomes_text,
    with_distinct_names,
    with_given_settings,
)
from pytest_voicebench.writers.terminal_trials import estimate_cells

MARKDOWN_NAME = "summary.md"

MOST_AGENTS = 8
MOST_GATES = 20
MOST_METRICS = 20
MOST_ITEMS = 10
MOST_KS = 8

HEADLINE = ("pass_at_1", "f1", "argument_accuracy", "turn_take_rate", "interruption_rate")
HEADLINE_WORDS = ("F1", "arguments", "turn-take", "interruption")
WORDS = {"no_regression": "no regression", "regressed": "**regressed**", "inconclusive": "inconclusive"}


def write_markdown(run_folder: Path, summary: Summary, results: Sequence[Result]) -> Path:
    """Write summary.md into a run's folder, whole or not at all; gives its path. Raises OSError."""
    path = run_folder / MARKDOWN_NAME
    write_atomically(path, markdown(summary, results).encode("utf-8", "backslashreplace"))
    return path


def markdown(summary: Summary, results: Sequence[Result]) -> str:
    """The text, at most 200 lines and 60 kB: verdict, what it must not be taken for, gates, what moved since the
    baseline, the figures with their intervals, flaky items, the worst items. `results` are the run's."""
    summary = with_distinct_names(with_given_settings(summary))
    lines = [f"## voicebench: {verdict(summary)}", ""]
    lines += [f"> {escaped(notice, 300)}  " for notice in notices_of(summary)]
    for block in (
        _gates(summary.gates),
        _moved(summary.baseline),
        _figures(summary),
        *(_trials(agent, summary) for agent in summary.agents),
        _worst(results, summary),
        _footer(summary),
    ):
        lines += ["", *block] if block else []
    return within_limits(lines, f"(cut: `python -m pytest_voicebench report {_run(summary)}` tells all)")


def verdict(summary: Summary) -> str:
    """The run in one line: by its gates where there are any, else by the baseline, else what passed."""
    passed = ", ".join(f"{_pass_text(agent)}{_of(agent, summary)}" for agent in summary.agents[:MOST_AGENTS])
    said = outcome(summary)
    return f"{f'{said.text} - ' if said is not None else ''}{passed or 'nothing was scored'}"


def _pass_text(agent: AgentSummary) -> str:
    value, interval, count = score_cells(agent.overall, "pass_at_1")
    return f"Pass@1 {value} ({f'{interval}, ' if interval else ''}{count.strip('()')})"


def _of(agent: AgentSummary, summary: Summary) -> str:
    return f" {escaped(agent.name, 60)}" if len(summary.agents) > 1 else ""


def _gates(gates: Sequence[GateResult]) -> list[str]:
    """All gates, those that fail first."""
    ordered = sorted(gates, key=lambda gate: (gate.holds is not False, gate.holds is not None))
    rows = [
        (
            {True: "holds", False: "**fails**", None: "cannot be told"}[gate.holds],
            escaped(gate.expression),
            escaped(gate.agent, 60),
            escaped(gate.found),
            escaped("; ".join(part for part in (gate.why, some(gate.items, MOST_ITEMS)) if part)),
        )
        for gate in ordered[:MOST_GATES]
    ]
    head = ("verdict", "gate", "agent", "found", "why")
    return [*table(head, rows), *_left(len(gates) - MOST_GATES, "gate")]


def _moved(baseline: BaselineComparison | None) -> list[str]:
    if baseline is None:
        return []
    lines = [f"### Compared with {escaped(baseline.run)}", ""]
    if baseline.refused is not None:
        return [*lines, f"Not compared: {escaped(baseline.refused, 300)}"]
    for agent in baseline.agents:
        lines += [*_metrics(agent, len(baseline.agents) > 1), "", *_changed(agent)]
    lines += [
        f"{counted(baseline.compared, 'item')} compared.",
        *(f"- {escaped(c, 300)}" for c in baseline.cautions[:5]),
    ]
    for what, items in (
        ("only before", baseline.only_before),
        ("only now", baseline.only_after),
        ("changed, not compared", baseline.changed),
    ):
        lines += [f"- {what}: {some([*map(escaped, items)], MOST_ITEMS)}"] if items else []
    return lines


def _metrics(agent: AgentComparison, several: bool) -> list[str]:
    """What regressed first."""
    order = ("regressed", "inconclusive", "no_regression")
    metrics = sorted(agent.metrics, key=lambda metric: order.index(metric.verdict))
    title = [f"**{escaped(agent.name)}** (before: {escaped(agent.before)})", ""] if several else []
    rows = [_metric_row(metric) for metric in metrics[:MOST_METRICS]]
    head = ("metric", "verdict", "before", "now", "change", "95 % int.", "p", "would have been seen")
    return [*title, *table(head, rows), *_left(len(metrics) - MOST_METRICS, "metric")]


def _metric_row(metric: MetricComparison) -> tuple[str, ...]:
    label = name(metric.metric) + (f" {escaped(metric.group)}" if metric.group else "")
    interval = "" if metric.low is None or metric.high is None else f"{metric.low:+.3f} to {metric.high:+.3f}"
    p = metric.p if metric.p_corrected is None else metric.p_corrected
    detectable = "n/a" if metric.detectable is None else f"a change of {abs(metric.detectable):.3f}"
    said = WORDS[metric.verdict] + (f": {escaped(metric.why)}" if metric.why else "")
    values = (value_text("", metric.before), value_text("", metric.after))
    effect = "n/a" if metric.effect is None else f"{metric.effect:+.3f}"
    return (label, said, *values, effect, interval, "n/a" if p is None else f"{p:.3f}", detectable)


def _changed(agent: AgentComparison) -> list[str]:
    lines = []
    for what, items in (("Newly failed", agent.newly_failed), ("Newly passed", agent.newly_passed)):
        if items:
            lines.append(f"{what} ({len(items)}): {some([*map(name, items)], MOST_ITEMS)}  ")
    return [*lines, ""] if lines else []


def _left(number: int, what: str) -> list[str]:
    return ["", f"and {number} more {noun_for(number, what)}"] if number > 0 else []


def _figures(summary: Summary) -> list[str]:
    """One row an agent."""
    rows = []
    for agent in summary.agents[:MOST_AGENTS]:
        (value, interval, count), *others = (score_cells(agent.overall, score) for score in HEADLINE)
        latency = agent.overall.first_response_latency_s
        times = f"{seconds_text(latency.p50)} / {seconds_text(latency.p95)} (n={latency.n})"
        cells = [f"{shown}{f' ({between})' if between else ''}" for shown, between, _ in others]
        rows.append((escaped(agent.name, 60), f"**{value}**", interval, count, *cells, times))
    head = ("agent", "Pass@1", "95 % int.", "k/n", *HEADLINE_WORDS, "first response p50 / p95, s")
    notes = ["", f"{outcomes_text(summary.counts, with_kinds=True)}."]
    return [*table(head, rows), *_left(len(summary.agents) - MOST_AGENTS, "agent"), *notes]


def _trials(agent: AgentSummary, summary: Summary) -> list[str]:
    trials = agent.trials
    if trials is None:
        return []
    rows = []
    for figures in trials.passes[:MOST_KS]:
        hat, at = estimate_cells(figures.pass_hat), estimate_cells(figures.pass_at)
        rows.append(
            (str(figures.k), *(f"{value} ({interval})" if interval else value for value, interval in (hat, at)))
        )
    head = ("k", "pass^k: all of k trials", "pass@k: one of k")
    title = f"### Trials{_of(agent, summary)}: {counted(len(trials.flaky), 'flaky item')} of {trials.items}"
    return [title, "", *table(head, rows), *_flaky(trials)]


def _flaky(trials: TrialSummary) -> list[str]:
    rows = [
        (name(row.item), f"{row.passed} of {row.passed + row.failed}", str(row.unmeasured))
        for row in trials.flaky[:MOST_ITEMS]
    ]
    left = _left(len(trials.flaky) - MOST_ITEMS, "flaky item")
    return ["", *table(("flaky item", "passed", "not measured"), rows), *left] if rows else []


def _worst(results: Sequence[Result], summary: Summary) -> list[str]:
    """Those that the baseline passed first, then the items that failed by most, then errors."""
    missed = [result for result in results if result.outcome in ("failed", "error")]
    compared = summary.baseline.agents if summary.baseline is not None else ()
    newly = {item for agent in compared for item in agent.newly_failed}
    ordered = sorted(missed, key=lambda result: (result.item_id not in newly, severity(result)))
    several = len(summary.agents) > 1
    rows = [
        (name(r.item_id), *([escaped(r.agent.name, 60)] if several else []), _outcome(r, newly), escaped(why(r)))
        for r in ordered[:MOST_ITEMS]
    ]
    head = ("item", *(["agent"] if several else []), "outcome", "why")
    title = [f"### Worst items ({len(rows)} of {len(missed)} that did not pass)", ""] if rows else []
    return [*title, *table(head, rows)]


def _outcome(result: Result, newly: Collection[str]) -> str:
    return f"**newly** {result.outcome}" if result.item_id in newly else result.outcome


def _footer(summary: Summary) -> list[str]:
    said = [f"run {name(_run(summary))}", f"score set {summary.score_set} {summary.score_version}"]
    said.append(f"judge: {escaped(str(summary.header.get('judge') or 'none'))}")
    said += [escaped(str(summary.header[key]), 200) for key in ("shard", "shards", "merged") if summary.header.get(key)]
    return [f"<sub>{', '.join(said)}</sub>"]


def _run(summary: Summary) -> str:
    return str(summary.header.get("run") or "latest")
