"""The official scores of a run as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_voicebench.official_summary import (
    OfficialAgent,
    OfficialMean,
    OfficialMeans,
    OfficialRate,
    OfficialSummary,
    OfficialTimes,
)
from pytest_voicebench.summary import Summary
from pytest_voicebench.writers.cells import UNMEASURED
from pytest_voicebench.writers.grid import Grid, ansi, grid_lines, plain
from pytest_voicebench.writers.terminal_header import official_header_lines, with_distinct_names, with_given_settings

NOT_COMPUTED = "no official scores: this summary was made before there were any"

LABEL_WIDTH, AGENT_WIDTH = 42, 19  # so that three agents stand side by side in 100 columns
GROUPS = (
    ("domain", "By domain", "by_domain"),
    ("difficulty", "By difficulty", "by_difficulty"),
)
FURTHER_PASS_RATES = (
    ("num_tools", "number of tools"),
    ("disfluency_feature", "disfluency feature"),
    ("state_rollback", "state rollback"),
)
FAILURES = (("wrong_tools", "wrong tools"), ("wrong_arguments", "right tools, wrong arguments"))

Cells = tuple[str, str]


def render_official(summary: Summary, *, width: int = 100, color: bool) -> str:
    """The official tables, each line at most `width` columns; one line where the run has no official scores.

    Figures have 3 decimals, as in the official reports, and beside each stands how many items it rests on; what exact
    mode does not measure is `n/a`. Agents stand side by side.
    """
    paint = ansi if color else plain
    summary = with_distinct_names(with_given_settings(summary))
    lines = official_header_lines(summary, width=width, paint=paint)
    official = summary.official
    if official is None or not official.agents:
        return "\n".join([*lines, "", NOT_COMPUTED if official is None else " ".join(official.notes)]) + "\n"
    names = [agent.name for agent in summary.agents]
    for grid in _grids(official, names, width):
        lines += ["", *grid_lines(grid, width=width, paint=paint)]
    return "\n".join(lines) + "\n"


def official_headlines(official: OfficialSummary | None) -> list[str]:
    """One line an agent: pass rate, F1, argument accuracy over the turns taken, and response latency."""
    if official is None or not official.agents:
        return [NOT_COMPUTED if official is None else " ".join(official.notes)]
    several = len(official.agents) > 1
    return [f"official{f' ({a.name})' if several else ''}: {_headline(a)}" for a in official.agents]


def _headline(agent: OfficialAgent) -> str:
    figures = (
        ("Pass", *rate_cells(agent.pass_rate)),
        ("F1", *mean_cells(agent.by_metric.tool_selection_f1)),
        ("argument accuracy", *mean_cells(agent.by_metric.argument_accuracy)),
        ("response latency s", *time_cells(agent.response_latency_s)),
    )
    return ", ".join(f"{label} {value} {of}" for label, value, of in figures)


def _grids(official: OfficialSummary, names: Sequence[str], width: int) -> Iterator[Grid]:
    size = max(1, (width - LABEL_WIDTH) // AGENT_WIDTH)
    blocks = [(official.agents[n : n + size], names[n : n + size]) for n in range(0, len(names), size)]
    yield from (_overall(official, *block) for block in blocks)
    for key, title, field in GROUPS:
        for agent, name in zip(official.agents, names, strict=True):
            yield _group(agent, key, title + (f": {name}" if len(names) > 1 else ""), field)
    yield from (_pass_rates(*block) for block in blocks)


def _overall(official: OfficialSummary, agents: Sequence[OfficialAgent], names: Sequence[str]) -> Grid:
    rows = [(label, *cells) for label, cells in _overall_rows(agents)]
    notes = [*official.notes, "turns taken: items whose agent speech has a transcript or recognised words"]
    notes += [f"{name}: {why}" for name, why in official.judged_only.items()]
    return _side_by_side("Official scores", names, rows, notes)


def _overall_rows(agents: Sequence[OfficialAgent]) -> Iterator[tuple[str, list[str]]]:
    def row(label: str, *cells: Cells) -> tuple[str, list[str]]:
        return label, [text for pair in cells for text in pair]

    yield row("pass rate", *(rate_cells(a.pass_rate) for a in agents))
    yield row("tool selection F1 / turns taken", *(mean_cells(a.by_metric.tool_selection_f1) for a in agents))
    yield row("argument accuracy / turns taken", *(mean_cells(a.by_metric.argument_accuracy) for a in agents))
    yield row("response quality / turns taken", *((UNMEASURED, "") for _ in agents))
    yield row("tool selection F1 / all", *(mean_cells(a.by_metric_all.tool_selection_f1) for a in agents))
    yield row("argument accuracy / all", *(mean_cells(a.by_metric_all.argument_accuracy) for a in agents))
    yield row("turn-take rate", *(rate_cells(a.turn_take_rate) for a in agents))
    yield row("interruption rate", *(rate_cells(a.interruption_rate) for a in agents))
    yield row("response latency, mean s", *(time_cells(a.response_latency_s, "mean") for a in agents))
    yield row("response latency, std s", *(time_cells(a.response_latency_s, "std") for a in agents))
    yield row("response latency, min s", *(time_cells(a.response_latency_s, "min") for a in agents))
    yield row("response latency, max s", *(time_cells(a.response_latency_s, "max") for a in agents))
    yield row("latency script: first response, mean s", *(time_cells(a.first_response_latency_s) for a in agents))
    yield row("latency script: first tool call, mean s", *(time_cells(a.tool_call_latency_s) for a in agents))
    yield row("latency script: task completion, mean s", *((UNMEASURED, "") for _ in agents))


def _side_by_side(title: str, names: Sequence[str], rows: Sequence[tuple[str, ...]], notes: Sequence[str] = ()) -> Grid:
    head = ("", *("value", "n") * len(names))
    return Grid(title=title, groups=[(name, 2) for name in names], head=head, rows=rows, notes=notes)


def _group(agent: OfficialAgent, key: str, title: str, field: str) -> Grid:
    everything: dict[str, OfficialMeans] = dict(getattr(agent, field))
    taken: dict[str, OfficialMeans] = dict(getattr(agent, f"{field}_turn_taken"))
    nothing = OfficialMean(value=None, n=0)
    none = OfficialMeans(tool_selection_f1=nothing, argument_accuracy=nothing)
    rows = []
    for group, means in everything.items():
        rate = rate_cells(agent.pass_by[key][group])
        rows.append((group, *rate, *_means_cells(means), *_means_cells(taken.get(group, none))))
    head = (key, "pass", "k/n", "F1", "args", "n", "F1 taken", "args taken", "n")
    return Grid(title=title, head=head, rows=rows)


def _means_cells(means: OfficialMeans) -> tuple[str, str, str]:
    f1, n = mean_cells(means.tool_selection_f1)
    return f1, mean_cells(means.argument_accuracy)[0], n


def _pass_rates(agents: Sequence[OfficialAgent], names: Sequence[str]) -> Grid:
    rows: list[tuple[str, ...]] = []
    for key, label in FURTHER_PASS_RATES:
        for group in dict.fromkeys(group for a in agents for group in a.pass_by[key]):
            empty = OfficialRate(value=None, k=0, n=0)
            cells = [rate_cells(a.pass_by[key].get(group, empty)) for a in agents]
            rows.append((f"{label}: {group}", *(text for pair in cells for text in pair)))
    for key, label in FAILURES:
        counts = [(str(a.failure_breakdown[key]), f"/{a.pass_rate.n - a.pass_rate.k}") for a in agents]
        rows.append((f"failed for: {label}", *(text for pair in counts for text in pair)))
    return _side_by_side("Pass rates, and what failed", names, rows)


def rate_cells(rate: OfficialRate) -> Cells:
    """`0.520`, `26/50`."""
    return (f"{rate.value:.3f}", f"{rate.k}/{rate.n}") if rate.value is not None else (UNMEASURED, "(n=0)")


def mean_cells(mean: OfficialMean) -> Cells:
    """`0.853`, `(n=50)`."""
    return UNMEASURED if mean.value is None else f"{mean.value:.3f}", f"(n={mean.n})"


def time_cells(times: OfficialTimes, figure: str = "mean") -> Cells:
    """`11.563`, `(n=46)`."""
    value: float | None = getattr(times, figure)
    return UNMEASURED if value is None else f"{value:.3f}", f"(n={times.n})"
