"""A summary as text for a terminal: the header, the benchmark's tables 2 to 6 for this run, then what lies beneath."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pytest_voicebench.summary import AgentSummary, Mean, Scores, Summary
from pytest_voicebench.writers.cells import (
    difference_text,
    rate_cells,
    score_cells,
    seconds_text,
    share_cells,
    value_text,
)
from pytest_voicebench.writers.grid import Grid, Paint, ansi, grid_lines, plain
from pytest_voicebench.writers.terminal_header import header_lines, short_header_lines, with_distinct_names

TWO_AGENTS_WIDTH = 96  # what two agents side by side take, with intervals and counts
MOST_SURPLUS_ROWS = 8
MOST_SURPLUS_ROWS_IN_SHORT = 5
MOST_WARNINGS = 8
FEW_SCORED = 5  # below these a breakdown has groups of one or two
NOTHING_SCORED = "nothing was scored"

OVERALL = (
    ("Pass@1", "pass_at_1"),
    ("  all tools right", "tools_ok"),
    ("  all arguments right", "args_ok"),
    ("F1, tool names", "f1"),
    ("F1, names + arguments", "f1_match"),
    ("F1, names + strict arguments", "f1_strict"),
    ("argument accuracy", "argument_accuracy"),
    ("argument accuracy, strict", "argument_accuracy_strict"),
    ("turn-take / items", "turn_take_rate"),
    ("task completion latency, mean", "task_completion_latency_s"),
    ("interruption / turns taken", "interruption_rate"),
    ("filler / clean turns", "filler_rate"),
    ("pre-emptive / items with a call", "preemptive_rate"),
)
OTHER_DENOMINATORS = (
    ("Pass@1 / turns taken", "pass_at_1_turn_taken"),
    ("F1, tool names / turns taken", "f1_turn_taken"),
    ("argument accuracy / turns taken", "argument_accuracy_turn_taken"),
    ("interruption / all items", "interruption_rate_all"),
    ("filler / all items", "filler_rate_all"),
    ("pre-emptive / all items", "preemptive_rate_all"),
)
PER_SCENARIO = (
    ("Pass@1 / scenarios", "pass_at_1"),
    ("F1, tool names / scenarios", "f1"),
    ("argument accuracy / scenarios", "argument_accuracy"),
)
BREAKDOWNS = (
    ("difficulty", "Table 3. By difficulty"),
    ("disfluency", "Table 4. By disfluency: an item counts in each that it carries"),
    ("domain", "Table 5. By domain"),
)
FURTHER_BREAKDOWNS = (("expected_calls", "By number of expected calls"), ("speaker", "By speaker"))
LATENCIES = (
    ("first response", "first_response_latency_s"),
    ("tool call, signed", "tool_call_latency_s"),
    ("tool call, not before the end", "tool_call_latency_non_negative_s"),
    ("task completion", "task_completion_latency_s"),
    ("interruption, before the end", "interruption_depth_s"),
)
CAUSES = (
    ("stale: said, then taken back", "stale"),
    ("misheard: not in the agent's own transcript", "misheard"),
    ("invented: neither said nor returned", "invented"),
    ("other", "other"),
)


def render(summary: Summary, *, width: int = 100, color: bool) -> str:
    """The tables of a run, each line at most `width` columns (100 show everything), ended by a line end.

    Rates carry their 95 % Wilson interval and k/n; what was not measured is `n/a (n=0)`, never 0. Agents stand side by
    side, and two of them with their difference. All text but names is ASCII; names are made safe.
    """
    paint = ansi if color else plain
    summary = with_distinct_names(summary)
    lines = header_lines(summary, width=width, paint=paint)
    return _page(lines, summary, _grids(summary.agents, width), width, paint)


def render_short(summary: Summary, *, width: int = 100, color: bool) -> str:
    """What a test run ends with: a head of at most six lines and the tables 2 to 6, then only what was not in order.

    Silence, causes of wrong arguments and surplus calls are printed where there are any. Runs of fewer than five scored
    items have no groups to compare: tables 2 and 6 only.
    """
    paint = ansi if color else plain
    summary = with_distinct_names(summary)
    grids = _few_grids if summary.counts.valid < FEW_SCORED else _short_grids
    lines = short_header_lines(summary, width=width, paint=paint)
    return _page(lines, summary, grids(summary.agents, width), width, paint)


def _page(lines: list[str], summary: Summary, grids: Iterator[Grid], width: int, paint: Paint) -> str:
    """The head and the tables below it; where no item was scored, a line that says so stands for all tables."""
    if not summary.counts.valid:
        return "\n".join([*lines, "", NOTHING_SCORED]) + "\n"
    for grid in grids:
        lines += ["", *grid_lines(grid, width=width, paint=paint)]
    return "\n".join(lines) + "\n"


def _grids(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """Every table."""
    blocks = _blocks(agents, width)
    yield from _benchmark_tables(agents, width)
    yield from (_silence(agent, _suffix(agent, agents)) for agent in agents)
    yield from (_behaviour(block) for block in blocks)
    yield from [_wrong_arguments(agents)] * bool(agents)
    yield from _surplus_tables(agents, MOST_SURPLUS_ROWS)
    yield from (_other_denominators(block) for block in blocks)
    for key, title in FURTHER_BREAKDOWNS:
        yield from _breakdown(key, title, blocks)
    yield from _warning_tables(agents)


def _short_grids(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """The benchmark's tables, and what has something to tell."""
    yield from _benchmark_tables(agents, width)
    yield from (_silence(agent, _suffix(agent, agents)) for agent in agents if agent.silence.overall.silent)
    if any(number for agent in agents for number in agent.wrong_arguments.values()):
        yield _wrong_arguments(agents)
    yield from _surplus_tables(agents, MOST_SURPLUS_ROWS_IN_SHORT)
    yield from _warning_tables(agents)


def _few_grids(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """Tables 2 and 6."""
    yield from _overall_tables(agents, width)
    yield from _latency_tables(agents)


def _benchmark_tables(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """Tables 2 to 6."""
    yield from _overall_tables(agents, width)
    for key, title in BREAKDOWNS:
        yield from _breakdown(key, title, _blocks(agents, width))
    yield from _latency_tables(agents)


def _overall_tables(agents: Sequence[AgentSummary], width: int) -> Iterator[Grid]:
    """Table 2; the first of them says where the numbers come from."""
    for number, block in enumerate(_blocks(agents, width)):
        grid = _overall(block)
        yield grid if number else replace(grid, title=f"{grid.title}; numbered as in the benchmark's paper")


def _latency_tables(agents: Sequence[AgentSummary]) -> Iterator[Grid]:
    yield from (_latencies(agent, _suffix(agent, agents)) for agent in agents)


def _surplus_tables(agents: Sequence[AgentSummary], most: int) -> Iterator[Grid]:
    yield from (_surplus(agent, _suffix(agent, agents), most) for agent in agents if agent.surplus_calls)


def _warning_tables(agents: Sequence[AgentSummary]) -> Iterator[Grid]:
    yield from (_warnings(agent, _suffix(agent, agents)) for agent in agents if agent.warnings)


def _blocks(agents: Sequence[AgentSummary], width: int) -> list[Sequence[AgentSummary]]:
    """The agents that stand side by side."""
    size = 2 if width >= TWO_AGENTS_WIDTH else 1
    return [agents[i : i + size] for i in range(0, len(agents), size)]


def _suffix(agent: AgentSummary, agents: Sequence[AgentSummary]) -> str:
    return f": {agent.name}" if len(agents) > 1 else ""


def _overall(agents: Sequence[AgentSummary]) -> Grid:
    rows = [_score_row(label, name, agents) for label, name in OVERALL]
    clocks = " and ".join(dict.fromkeys(f"{agent.clock} clock" for agent in agents))
    notes = ["diff.: second minus first; of percentages, in points"] if len(agents) == 2 else []
    if not _same_clock(agents):
        notes.append("latencies of a virtual and of a wall clock are not compared")
    return _side_by_side(f"Table 2. Overall ({clocks})", "", agents, rows, notes)


def _same_clock(agents: Sequence[AgentSummary]) -> bool:
    return len({agent.clock for agent in agents}) == 1


def _score_row(label: str, name: str, agents: Sequence[AgentSummary]) -> tuple[str, ...]:
    cells = [cell for agent in agents for cell in score_cells(agent.overall, name)]
    if len(agents) == 2:
        comparable = _same_clock(agents) or not name.endswith("_s")
        cells.append(difference_text(name, agents[0].overall, agents[1].overall) if comparable else "")
    return (label, *cells)


def _side_by_side(
    title: str, first: str, agents: Sequence[AgentSummary], rows: Sequence[tuple[str, ...]], notes: Sequence[str] = ()
) -> Grid:
    """Three columns an agent, and one for the difference where the rows have it."""
    head = (first, *("Pass@1" if first else "value", "95 % int.", "k/n") * len(agents), "diff.")
    groups = [(agent.name, 3) for agent in agents]
    return Grid(title=title, groups=groups, head=head[: len(rows[0])], rows=rows, notes=notes)


def _other_denominators(agents: Sequence[AgentSummary]) -> Grid:
    rows = [_score_row(label, name, agents) for label, name in OTHER_DENOMINATORS]
    for label, name in PER_SCENARIO:
        means: list[Mean] = [getattr(agent.per_scenario, name) for agent in agents]
        cells = [cell for mean in means for cell in (value_text(name, mean.value), "", f"(n={mean.n})")]
        rows.append((label, *cells, *("",) * (len(agents) == 2)))
    notes = ["per scenario: mean over scenarios of the mean of their speakers"]
    return _side_by_side("The same over other denominators", "", agents, rows, notes)


def _breakdown(key: str, title: str, blocks: Sequence[Sequence[AgentSummary]]) -> Iterator[Grid]:
    """Pass@1 by group: one agent with its other scores, several side by side."""
    for agents in blocks:
        groups = list(dict.fromkeys(group for agent in agents for group in agent.by.get(key, {})))
        if groups and len(blocks) == len(agents) == 1:
            yield _one_agent_breakdown(key, title, agents[0])
        elif groups:
            rows = [(group, *_pass_cells(key, group, agents)) for group in groups]
            yield _side_by_side(title, _words(key), agents, rows)


def _words(key: str) -> str:
    return key.replace("_", " ")


def _pass_cells(key: str, group: str, agents: Sequence[AgentSummary]) -> list[str]:
    scores = [agent.by.get(key, {}).get(group) for agent in agents]
    cells = [cell for s in scores for cell in (score_cells(s, "pass_at_1") if s else ("n/a", "", "(n=0)"))]
    if len(scores) == 2:
        cells.append(difference_text("pass_at_1", scores[0], scores[1]) if scores[0] and scores[1] else "")
    return cells


def _one_agent_breakdown(key: str, title: str, agent: AgentSummary) -> Grid:
    return Grid(
        title=title,
        head=(_words(key), "Pass@1", "95 % int.", "k/n", "F1", "args", "turn-take", "k/n", "interruption", "k/n"),
        rows=[(group, *_group_cells(scores)) for group, scores in agent.by[key].items()],
    )


def _group_cells(scores: Scores) -> tuple[str, ...]:
    taken, _, taken_of = score_cells(scores, "turn_take_rate")
    interrupted, _, interrupted_of = score_cells(scores, "interruption_rate")
    means = (value_text("f1", scores.f1.value), value_text("argument_accuracy", scores.argument_accuracy.value))
    return (*score_cells(scores, "pass_at_1"), *means, taken, taken_of, interrupted, interrupted_of)


def _latencies(agent: AgentSummary, suffix: str) -> Grid:
    rows = []
    for label, name in LATENCIES:
        d = getattr(agent.overall, name)
        rows.append((label, *(seconds_text(v) for v in (d.mean, d.p50, d.p95, d.stdev)), f"(n={d.n})"))
    causes_of = agent.overall.latency_causes
    causes = ", ".join(f"{number} {_words(cause)}" for cause, number in sorted(causes_of.items()) if number)
    return Grid(
        title=f"Table 6. Seconds after the end of the user's speech ({agent.clock} clock){suffix}",
        head=("", "mean", "p50", "p95", "stdev", "n"),
        rows=rows,
        notes=[f"items without a first response latency: {causes}"] if causes else [],
    )


def _silence(agent: AgentSummary, suffix: str) -> Grid:
    rows = []
    for label, row in (("all", agent.silence.overall), *agent.silence.by_difficulty.items()):
        share, _, of = share_cells(row.silent, row.items)
        rows.append((label, share, of, str(row.with_calls), str(row.without_calls), str(row.with_perfect_calls)))
    head = ("difficulty", "silent", "k/n", "with calls", "without calls", "with perfect calls")
    return Grid(title=f"Silence: items whose turn was not taken{suffix}", head=head, rows=rows)


def _behaviour(agents: Sequence[AgentSummary]) -> Grid:
    counted = (
        ("pre-emptive and interrupting", "preemptive_interrupted"),
        ("pre-emptive only", "preemptive_only"),
        ("interrupting only", "interrupted_only"),
        ("neither", "neither"),
    )
    rows = []
    for label, name in counted:
        cells = [share_cells(getattr(a.behaviour, name), _items_with_call(a)) for a in agents]
        rows.append((label, *(cell for triple in cells for cell in triple)))
    for label, rates in (
        ("spoke before the first call", [a.behaviour.spoke_before_first_call for a in agents]),
        ("used a value taken back", [a.commits.premature_commit_rate for a in agents]),
    ):
        rows.append((label, *(cell for rate in rates for cell in rate_cells(rate, percent=True))))
    return _side_by_side("Behaviour: of items with a call, the last row of items with a retraction", "", agents, rows)


def _items_with_call(agent: AgentSummary) -> int:
    b = agent.behaviour
    return b.preemptive_interrupted + b.preemptive_only + b.interrupted_only + b.neither


def _wrong_arguments(agents: Sequence[AgentSummary]) -> Grid:
    rows = [(label, *(str(agent.wrong_arguments.get(cause, 0)) for agent in agents)) for label, cause in CAUSES]
    head = ("", *(agent.name for agent in agents))
    return Grid(title="Causes of wrong arguments (arguments, not items)", head=head, rows=rows)


def _surplus(agent: AgentSummary, suffix: str, most: int) -> Grid:
    shown = sorted(agent.surplus_calls, key=lambda s: (-s.calls, s.tool, s.domain or ""))
    rows = [(s.tool, s.domain or "-", s.tool_domain or "-", str(s.calls)) for s in shown[:most]]
    left = sum(s.calls for s in shown[most:])
    return Grid(
        title=f"Calls that nobody asked for{suffix}",
        head=("tool", "called in domain", "belongs to", "calls"),
        rows=rows,
        notes=[f"and {left} more"] if left else [],
    )


def _warnings(agent: AgentSummary, suffix: str) -> Grid:
    left = len(agent.warnings) - MOST_WARNINGS
    notes = [f"and {left} more"] if left > 0 else []
    rows = [(warning,) for warning in agent.warnings[:MOST_WARNINGS]]
    return Grid(title=f"Warnings{suffix}", head=("",), rows=rows, notes=notes)
