"""The run's tables as HTML: the same grids that a terminal prints, all agents side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_voicebench.page.markup import Html, el, join
from pytest_voicebench.summary import AgentSummary, Summary
from pytest_voicebench.writers import terminal_tables as tables
from pytest_voicebench.writers.grid import COUNTS, Grid
from pytest_voicebench.writers.terminal import BREAKDOWNS, FURTHER_BREAKDOWNS
from pytest_voicebench.writers.terminal_judge import judge_tables
from pytest_voicebench.writers.terminal_trials import flaky_items, passes_in_k

MOST_SURPLUS_ROWS = 20
_INTERVAL = re.compile(r"int\.$")


def benchmark_section(summary: Summary) -> Html:
    """Tables 2 to 6, trials where there are some, then silence, behaviour, self-correction and whatever judges said;
    the others folded away."""
    if not summary.counts.valid:
        return el("p", "Nothing was scored, so there are no tables.", class_="none")
    agents = summary.agents
    first = [grid_html(grid) for grid in _benchmark(agents)]
    trials = [grid_html(grid) for grid in _trials(agents)]
    manners = [grid_html(grid) for grid in (*_manners(agents), *judge_tables(summary))]
    others = [grid_html(grid) for grid in _others(agents)]
    return join(
        [
            el("div", first, class_="tables"),
            [el("h3", "Trials", id="trials"), el("div", trials, class_="tables")] if trials else None,
            el("h3", "Silence and behaviour", id="behaviour"),
            el("div", manners, class_="tables"),
            el("details", el("summary", "More tables"), el("div", others, class_="tables")),
        ]
    )


def grid_html(grid: Grid) -> Html:
    """A table: its title stands above, its first column heads the rows, its notes stand below."""
    body = [_row(grid, row) for row in grid.rows]
    groups = _groups(grid) if len(grid.groups) > 1 else None
    head = el("tr", [_head_cell(text, n) for n, text in enumerate(grid.head)]) if any(grid.head) else None
    table = el(
        "table",
        el("thead", groups, head) if groups or head else None,
        el("tbody", body),
        class_="figures",
        aria_label=grid.title,
    )
    notes = [el("p", note, class_="note") for note in grid.notes]
    scroll = el("div", table, class_="scroll", tabindex="0", role="region", aria_label=grid.title)
    return el("div", el("p", grid.title, class_="caption"), scroll, notes, class_="table")


def _groups(grid: Grid) -> Html:
    cells = [el("td")]
    cells += [el("th", label, scope="colgroup", colspan=span) for label, span in grid.groups]
    left = len(grid.head) - 1 - sum(span for _, span in grid.groups)
    return el("tr", cells, [el("td")] * left, class_="groups")


def _head_cell(text: str, column: int) -> Html:
    if not text:
        return el("td")
    return el("th", text, scope="col", class_="first" if column == 0 else _kind(text))


def _row(grid: Grid, row: tuple[str, ...]) -> Html:
    label, *cells = row
    indent = "sub" if label.startswith("  ") else None
    figures = [
        el("td", cell, class_=_kind(name) if cell != "n/a" else "quiet")
        for name, cell in zip(grid.head[1:], cells, strict=True)
    ]
    return el("tr", el("th", label.strip(), scope="row", class_=indent), figures)


def _kind(head: str) -> str | None:
    """Intervals and counts stand back behind the figures they belong to."""
    return "quiet" if head in COUNTS or _INTERVAL.search(head) else None


def _benchmark(agents: Sequence[AgentSummary]) -> Iterator[Grid]:
    yield tables.overall(agents)
    for key, title in BREAKDOWNS:
        yield from tables.breakdown(key, title, [agents])
    yield from (tables.latencies(agent, _suffix(agent, agents)) for agent in agents)


def _trials(agents: Sequence[AgentSummary]) -> Iterator[Grid]:
    for agent in agents:
        if agent.trials is not None:
            yield passes_in_k(agent.trials, _suffix(agent, agents))
            if agent.trials.flaky:
                yield flaky_items(agent.trials, _suffix(agent, agents), None)


def _manners(agents: Sequence[AgentSummary]) -> Iterator[Grid]:
    yield from (tables.silence(agent, _suffix(agent, agents)) for agent in agents)
    yield tables.behaviour(agents)
    if any(map(tables.has_retractions, agents)):
        yield tables.rollback(agents)
    yield tables.wrong_arguments(agents)


def _others(agents: Sequence[AgentSummary]) -> Iterator[Grid]:
    yield from (tables.surplus(a, _suffix(a, agents), MOST_SURPLUS_ROWS) for a in agents if a.surplus_calls)
    yield tables.other_denominators(agents)
    for key, title in FURTHER_BREAKDOWNS:
        yield from tables.breakdown(key, title, [agents])
    yield from tables.by_speaker("By speaker", [agents])
    yield from (tables.warnings(agent, _suffix(agent, agents)) for agent in agents if agent.warnings)


def _suffix(agent: AgentSummary, agents: Sequence[AgentSummary]) -> str:
    return f": {agent.name}" if len(agents) > 1 else ""
