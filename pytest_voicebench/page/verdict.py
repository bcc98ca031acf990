"""The top of the page: each agent's figure, whether the gates hold, how the run stands against its baseline."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_voicebench.counted import counted
from pytest_voicebench.decisions import (
    AgentComparison,
    BaselineComparison,
    GateResult,
    MetricComparison,
)
from pytest_voicebench.outcome import metrics_outcome, outcome
from pytest_voicebench.page.markup import Html, el, join
from pytest_voicebench.page.tables import grid_html
from pytest_voicebench.some_names import some
from pytest_voicebench.summary import AgentSummary, Counts, Summary
from pytest_voicebench.writers.cells import rate_cells, value_text
from pytest_voicebench.writers.grid import Grid

MOST_NAMED = 30
MOST_IN_SENTENCE = 3
SIGNS = {"good": "✓", "bad": "✗", "open": "?"}
VERDICTS = {"no_regression": ("no regression", "good"), "regressed": ("regressed", "bad")}
UNDECIDED = ("inconclusive", "open")

Sentence = tuple[str, str, Html | None]
"""How it is judged, what is said, and what it is about."""


def verdict_section(summary: Summary) -> Html:
    """Sentences first, then figures, gates and comparison; what was not asked for is said in a line."""
    gates, baseline = summary.gates, summary.baseline
    sentences = [*_nothing_measured(summary.counts), *_outcome(summary), *_against_baseline(baseline)]
    said = [el("p", badge(kind, text), " ", named, class_="sentence") for kind, text, named in sentences]
    whole = " of the whole run" if baseline and baseline.agents else ""  # beside figures of pairs alone
    figures = [_figure(agent, len(summary.agents) > 1, whole) for agent in summary.agents]
    absent = " ".join([*["No gate was set."] * (not gates), *["No baseline was given."] * (baseline is None)])
    return join(
        [
            said,
            el("div", figures, class_="cards"),
            _gates(gates, several=len(summary.agents) > 1) if gates else None,
            _baseline(baseline) if baseline else None,
            el("p", absent, class_="note") if absent else None,
        ]
    )


def badge(kind: str, text: str) -> Html:
    """A judgement as a sign and words, so that nothing depends on its colour. `kind`: good, bad or open."""
    return el("b", text, class_=kind)  # the sign is drawn by the style


def _nothing_measured(counts: Counts) -> list[Sentence]:
    return [] if counts.valid else [("open", f"none of {counted(counts.planned, 'item')} could be measured", None)]


def _outcome(summary: Summary) -> list[Sentence]:
    """With gates: how the run came out, and which of them made it so."""
    said = outcome(summary)
    if said is None or not summary.gates:
        return []
    failed, untold = ([gate for gate in summary.gates if gate.holds is held] for held in (False, None))
    return [(said.kind, said.text, _expressions(failed or untold))]


def _expressions(gates: Sequence[GateResult]) -> Html:
    """Which gates, the first of them by name."""
    names = list(dict.fromkeys(gate.expression for gate in gates))
    more = f" and {len(names) - MOST_IN_SENTENCE} more" if len(names) > MOST_IN_SENTENCE else None
    return join([[el("code", name), " "] for name in names[:MOST_IN_SENTENCE]] + [[more]])


def _against_baseline(baseline: BaselineComparison | None) -> list[Sentence]:
    """How each agent stands by what was asked, and the metrics that made it so."""
    if baseline is None:
        return []
    if baseline.refused:
        return [("open", f"not compared with {baseline.run}: {baseline.refused}", None)]
    found: list[Sentence] = []
    for agent in baseline.agents:
        own = metrics_outcome(agent.metrics)
        name = f"{agent.name}: " if len(baseline.agents) > 1 else ""
        found.append((own.kind, f"{name}{own.text} against {baseline.run}", _moved(agent)))
    return found


def _moved(agent: AgentComparison) -> Html:
    """The metrics that got worse and were asked for, the first of them with both figures and their pairs."""
    worse = [metric for metric in agent.metrics if metric.asked and metric.verdict == "regressed"]
    more = f" and {len(worse) - MOST_IN_SENTENCE} more" if len(worse) > MOST_IN_SENTENCE else None
    told = ", ".join(map(_change, worse[:MOST_IN_SENTENCE]))
    return el("span", told, more)


def _change(metric: MetricComparison) -> str:
    """`pass_at_1 0.700 → 0.600 in 95 pairs`."""
    name, _, before, now, *_ = _metric_row(metric)
    return f"{name} {before} → {now} in {metric.pairs} {'pair' if metric.pairs == 1 else 'pairs'}"


def _figure(agent: AgentSummary, several: bool, whole: str) -> Html:
    value, interval, of = rate_cells(agent.overall.pass_at_1, percent=False)
    return el(
        "div",
        el("p", f"Pass@1, {agent.name}" if several else "Pass@1", class_="label"),
        el("p", value, class_="value"),
        el("p", f"{of}{whole}, 95 % interval {interval}" if interval else of, class_="note"),
        el("p", _outcomes(agent.overall.counts), class_="note"),
        class_="card",
    )


def _outcomes(counts: Counts) -> str:
    named = ("passed", "failed", "error", "skipped", "not_run")
    told = [(getattr(counts, name), name.replace("_", " ")) for name in named]
    return ", ".join(f"{number} {name}" for number, name in told if number or name in ("passed", "failed"))


def _gates(gates: Sequence[GateResult], *, several: bool) -> Html:
    rows = []
    for gate in sorted(gates, key=lambda gate: {False: 0, None: 1, True: 2}[gate.holds]):
        kind, word = {True: ("good", "holds"), False: ("bad", "fails"), None: ("open", "cannot tell")}[gate.holds]
        why = [gate.why or "", item_links(gate.items)]
        cells = [el("td", badge(kind, word)), el("th", el("code", gate.expression), scope="row")]
        cells += [el("td", gate.agent)] * several
        rows.append(el("tr", cells, el("td", gate.found), el("td", why), el("td", gate.source, class_="quiet")))
    head = ["outcome", "gate", *["agent"] * several, "found", "why", "from"]
    return _table("Gates: those that fail first", head, rows)


def item_links(items: Sequence[str]) -> Html:
    """Links that open items on this page, the first thirty of them."""
    from urllib.parse import quote

    links: list[str] = []
    for name in items[:MOST_NAMED]:
        links += [" ", el("a", name, href=f"#item={quote(name)}")]
    left = len(items) - MOST_NAMED
    return join([*links, f" and {left} more" if left > 0 else None])


def _table(title: str, head: Sequence[str], rows: Sequence[Html]) -> Html:
    table = el(
        "table",
        el("thead", el("tr", [el("th", name, scope="col") for name in head])),
        el("tbody", rows),
        class_="words gates",
        aria_label=title,
    )
    scroll = el("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)
    return el("div", el("p", title, class_="caption"), scroll, class_="table")


def _baseline(baseline: BaselineComparison) -> Html:
    tables = [grid_html(_comparison(agent, baseline)) for agent in baseline.agents]
    moved = [
        el("p", f"{agent.name}: {label}:", item_links(names))
        for agent in baseline.agents
        for label, names in (("newly failed", agent.newly_failed), ("newly passed", agent.newly_passed))
        if names
    ]
    notes = [f"{counted(baseline.compared, 'item')} compared"]
    for label, names in (
        ("not measured in both runs", baseline.unmeasured),
        ("only in the baseline", baseline.only_before),
        ("only in this run", baseline.only_after),
        ("not compared, because they ask something else now", baseline.changed),
    ):
        notes += [f"{label}: {len(names)} ({some(names, 8)})"] * bool(names)
    return join([tables, moved, [el("p", note, class_="note") for note in (*notes, *baseline.cautions)]])


def _comparison(agent: AgentComparison, baseline: BaselineComparison) -> Grid:
    head = ("metric", "verdict", "before", "now", "effect", "95 % int.", "p", "p, Holm", "detectable", "n")
    rows = [_metric_row(metric) for metric in agent.metrics]
    why = [f"{metric.metric}: {metric.why}" for metric in agent.metrics if metric.why]
    methods = ", ".join(dict.fromkeys(metric.method for metric in agent.metrics))
    notes = ["detectable: a change for the worse of this size would have been seen with probability 0.8"]
    notes += [f"method: {methods}; n: pairs of items, which alone before and now are of"] * bool(methods)
    return Grid(
        title=f"{agent.name} against {agent.before} of {baseline.run}", head=head, rows=rows, notes=[*notes, *why]
    )


def _metric_row(metric: MetricComparison) -> tuple[str, ...]:
    name = metric.metric.partition(".")[0]  # the unit is that of the score, whichever of its figures it is
    interval = "" if metric.low is None or metric.high is None else f"{metric.low:+.3f} to {metric.high:+.3f}"
    word, kind = VERDICTS.get(metric.verdict, UNDECIDED)
    return (
        f"{metric.metric} ({metric.group})" if metric.group else metric.metric,
        f"{SIGNS[kind]} {word}",
        value_text(name, metric.before),
        value_text(name, metric.after),
        "n/a" if metric.effect is None else f"{metric.effect:+.3f}",
        interval,
        _p_text(metric.p),
        _p_text(metric.p_corrected),
        "n/a" if metric.detectable is None else f"{metric.detectable:.3f}",
        str(metric.pairs),
    )


def _p_text(p: float | None) -> str:
    return "n/a" if p is None else ("<0.001" if p < 0.001 else f"{p:.3f}")
