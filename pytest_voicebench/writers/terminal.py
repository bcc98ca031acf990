"""A summary as text for a terminal, whole or short: which tables stand below the header, and in which order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from pytest_voicebench.summary import AgentSummary, Summary
from pytest_voicebench.writers import terminal_tables as tables
from pytest_voicebench.writers.grid import Grid, Paint, ansi, grid_lines, plain
from pytest_voicebench.writers.terminal_decisions import decision_lines
from pytest_voicebench.writers.terminal_header import (
    header_lines,
    short_header_lines,
    with_distinct_names,
    with_given_settings,
)
from pytest_voicebench.writers.terminal_judge import judge_tables
from pytest_voicebench.writers.terminal_trials import flaky_items, passes_in_k

TWO_AGENTS_WIDTH = 96  # what two agents side by side take, with intervals and counts
MOST_SURPLUS_ROWS = 8
MOST_SURPLUS_ROWS_IN_SHORT = 5
MOST_FLAKY_ROWS_IN_SHORT = 10
FEW_SCORED = 5  # below these a breakdown has groups of one or two
NOTHING_SCORED = "nothing was scored"
BREAKDOWNS = (
    ("difficulty", "Table 3. By difficulty"),
    ("disfluency", "Table 4. By disfluency: an item counts in each that it carries"),
    ("domain", "Table 5. By domain"),
)
KNOWN_ISSUES = (
    "known_issue",
    "Known issues, apart: items whose labels look wrong (left out by --voicebench-skip-known-issues)",
)
FURTHER_BREAKDOWNS = (KNOWN_ISSUES, ("expected_calls", "By number of expected calls"))


def render(summary: Summary, *, width: int = 100, color: bool) -> str:
    """The tables of a run, each line at most `width` columns (100 show everything), ended by a line end.

    Rates carry their 95 % Wilson interval and k/n; what was not measured is `n/a (n=0)`, never 0. Agents stand side by
    side, and two of them with their difference. All text but names is ASCII; names are made safe.
    """
    paint = ansi if color else plain
    summary = with_distinct_names(with_given_settings(summary))
    lines = header_lines(summary, width=width, paint=paint)
    return _page(lines, summary, chain(_grids(summary.agents, width), judge_tables(summary)), width, paint)


def render_short(summary: Summary, *, width: int = 100, color: bool) -> str:
    """What a test run ends with: a head of at most six lines and the tables 2 to 6, then only what was not in order.

    Silence, causes of wrong arguments, calls with values taken back and surplus calls are printed where there are any.
    Runs of fewer than five scored items have no groups to compare: tables 2 and 6 only.
    """
    paint = ansi if color else plain
    summary = with_distinct_names(with_given_settings(summary))
    grids = _few_grids if summary.counts.valid < FEW_SCORED else _short_grids
    lines = short_header_lines(summary, width=width, paint=paint)
    return _page(lines, summary, chain(grids(summary.agents, width), judge_tables(summary)), width, paint)


def _page(lines: list[str], summary: Summary, grids: Iterator[Grid], width: int, paint: Paint) -> str:
    """The head, the tables (where no item was scored, a line that says so), and last what the run decides."""
    if summary.counts.valid:
        for grid in grids:
            lines += ["", *grid_lines(grid, width=width, paint=paint)]
    else:
        lines += ["", NOTHING_SCORED]
    return "\n".join([*lines, *decision_lines(summary, width=width, paint=paint)]) + "\n"


def _grids(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """Every table."""
    blocks = _blocks(agents, width)
    yield from _benchmark_tables(agents, width)
    yield from _trial_tables(agents, None)
    yield from (tables.silence(agent, _suffix(agent, agents)) for agent in agents)
    yield from (tables.behaviour(block) for block in blocks)
    yield from (tables.rollback(block) for block in blocks if any(map(tables.has_retractions, block)))
    yield from [tables.wrong_arguments(agents)] * bool(agents)
    yield from _surplus_tables(agents, MOST_SURPLUS_ROWS)
    yield from (tables.other_denominators(block) for block in blocks)
    for key, title in FURTHER_BREAKDOWNS:
        yield from tables.breakdown(key, title, blocks)
    yield from tables.by_speaker("By speaker", blocks)
    yield from _warning_tables(agents)


def _short_grids(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """The benchmark's tables, and what has something to tell."""
    yield from _benchmark_tables(agents, width)
    yield from _trial_tables(agents, MOST_FLAKY_ROWS_IN_SHORT)
    yield from (tables.silence(agent, _suffix(agent, agents)) for agent in agents if agent.silence.overall.silent)
    yield from tables.breakdown(*KNOWN_ISSUES, _blocks(agents, width))
    if any(number for agent in agents for number in agent.wrong_arguments.values()):
        yield tables.wrong_arguments(agents)
    if any(agent.commits.premature_commit_rate.k for agent in agents):
        yield from (tables.rollback(b) for b in _blocks(agents, width) if any(map(tables.has_retractions, b)))
    yield from _surplus_tables(agents, MOST_SURPLUS_ROWS_IN_SHORT)
    yield from _warning_tables(agents)


def _few_grids(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """Tables 2 and 6, and items with a known issue."""
    yield from _overall_tables(agents, width)
    yield from _latency_tables(agents)
    yield from _trial_tables(agents, MOST_FLAKY_ROWS_IN_SHORT)
    yield from tables.breakdown(*KNOWN_ISSUES, _blocks(agents, width))


def _benchmark_tables(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """Tables 2 to 6."""
    yield from _overall_tables(agents, width)
    for key, title in BREAKDOWNS:
        yield from tables.breakdown(key, title, _blocks(agents, width))
    yield from _latency_tables(agents)


def _overall_tables(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """Table 2; the first of them says where the numbers come from."""
    for number, block in enumerate(_blocks(agents, width)):
        grid = tables.overall(block)
        yield grid if number else replace(grid, title=f"{grid.title}; numbered as in the benchmark's paper")


def _latency_tables(agents: Sequence[AgentSummary]) -> Iterator[Grid]:
    yield from (tables.latencies(agent, _suffix(agent, agents)) for agent in agents)


def _trial_tables(agents: Sequence[AgentSummary], most: int | None) -> Iterator[Grid]:
    """Of a run with trials; at most `most` flaky items, None for all."""
    for agent in agents:
        if agent.trials is not None:
            yield passes_in_k(agent.trials, _suffix(agent, agents))
            if agent.trials.flaky:
                yield flaky_items(agent.trials, _suffix(agent, agents), most)


def _surplus_tables(agents: Sequence[AgentSummary], most: int) -> Iterator[Grid]:
    yield from (tables.surplus(agent, _suffix(agent, agents), most) for agent in agents if agent.surplus_calls)


def _warning_tables(agents: Sequence[AgentSummary]) -> Iterator[Grid]:
    yield from (tables.warnings(agent, _suffix(agent, agents)) for agent in agents if agent.warnings)


def _blocks(agents: Sequence[AgentSummary], width: int) -> list[Sequence[AgentSummary]]:
    """The agents that stand side by side."""
    size = 2 if width >= TWO_AGENTS_WIDTH else 1
    return [agents[i : i + size] for i in range(0, len(agents), size)]


def _suffix(agent: AgentSummary, agents: Sequence[AgentSummary]) -> str:
    return f": {agent.name}" if len(agents) > 1 else ""
