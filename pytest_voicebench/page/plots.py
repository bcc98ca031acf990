"""The run's plots as inline SVG: latencies by agent, pass rates with intervals, quality against latency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_voicebench.decisions import BaselineComparison
from pytest_voicebench.page.data import Item
from pytest_voicebench.page.markup import Html, el, join
from pytest_voicebench.stats import quantile
from pytest_voicebench.summary import AgentSummary, Rate, Summary
from pytest_voicebench.writers.plain_text import one_line

WIDTH = 420
LEFT = 112
RIGHT = 14
ROW = 26
BINS = 48
AGENT_COLOURS = 8
GROUPS = (("difficulty", "Pass@1 by difficulty"), ("disfluency", "Pass@1 by disfluency"))
LATENCIES = (
    ("first_response", "First response"),
    ("tool_call", "First tool call"),
    ("completion", "Task completion"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A linear axis from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where the value lies, to a tenth of a pixel."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Round values along the axis, up to seven of them."""
        least = (self.high - self.low) / 6
        power = 10 ** math.floor(math.log10(least))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [round(n * step, 6) for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def plots_section(summary: Summary, items: Sequence[Item]) -> Html | None:
    """All plots that have something to show; None where nothing was scored."""
    if not summary.counts.valid:
        return None
    plots = [*(_latency_plot(summary.agents, items, name, title) for name, title in LATENCIES)]
    plots += [_pass_plot(summary.agents, key, title) for key, title in GROUPS]
    plots.append(_quality_plot(summary.agents, summary.baseline))
    return join([_legend(summary.agents), el("div", [plot for plot in plots if plot], class_="plots")])


def _legend(agents: Sequence[AgentSummary]) -> Html | None:
    if len(agents) < 2:
        return None
    entries = [el("li", el("span", class_=f"key a{n % AGENT_COLOURS}"), agent.name) for n, agent in enumerate(agents)]
    return el("ul", entries, class_="legend")


def _figure(title: str, told: str, height: float, *drawn: Html) -> Html:
    svg = el(
        "svg",
        *drawn,
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
        aria_label=f"{title}. {told}",
        preserveAspectRatio="xMinYMin meet",
    )
    return el("figure", el("figcaption", title), svg)


def _text(x: float, y: float, text: str, *, anchor: str = "start", class_: str | None = None) -> Html:
    return el("text", text, x=x, y=y, text_anchor=anchor, class_=class_)


def _axis(scale: Scale, top: float, bottom: float, unit: str) -> Html:
    """Vertical grid lines with their values below."""
    lines = []
    for tick in scale.ticks():
        x = scale(tick)
        lines.append(el("path", d=f"M{x} {top}V{bottom}", class_="zero" if tick == 0 else "grid"))
        lines.append(_text(x, bottom + 15, f"{tick:g}", anchor="middle", class_="tick"))
    return join([*lines, _text(WIDTH - RIGHT, bottom + 30, unit, anchor="end", class_="tick")])


def _latency_plot(agents: Sequence[AgentSummary], items: Sequence[Item], name: str, title: str) -> Html | None:
    """A histogram for each agent on one axis, with its median and 95th percentile."""
    values: list[list[float]] = [[] for _ in agents]
    for item in items:
        value = getattr(item.line, name)
        if value is not None:
            values[item.agent].append(value)
    known = [value for some in values for value in some]
    if not known:
        return None
    low, high = min(0.0, *known), max(*known, 1.0)
    scale = Scale(low=low, high=high + (high - low) / BINS, start=4, end=WIDTH - RIGHT)
    row = 62
    rows = [
        _histogram(n, agent, some, scale, n * row) for n, (agent, some) in enumerate(zip(agents, values, strict=True))
    ]
    bottom = len(agents) * row + 4
    told = "; ".join(f"{agent.name}: {_percentiles(some)}" for agent, some in zip(agents, values, strict=True))
    clocks = "/".join(dict.fromkeys(agent.clock for agent in agents))
    axis = _axis(scale, 4, bottom, f"seconds after the user's end ({clocks} clock)")
    return _figure(title, told, bottom + 36, axis, *rows)


def _percentiles(values: Sequence[float]) -> str:
    middle, most = quantile(values, 0.5), quantile(values, 0.95)
    return "n=0" if middle is None or most is None else f"p50 {middle:.2f} s, p95 {most:.2f} s, n={len(values)}"


def _histogram(n: int, agent: AgentSummary, values: Sequence[float], scale: Scale, top: float) -> Html:
    label = _text(0, top + 14, one_line(agent.name, 26), class_="name")
    told = _text(WIDTH, top + 14, _percentiles(values), anchor="end", class_="tick")
    middle, most = quantile(values, 0.5), quantile(values, 0.95)
    if middle is None or most is None:
        return join([label, told])
    base, width = top + 54, (scale.high - scale.low) / BINS
    counts = [0] * BINS
    for value in values:
        counts[min(int((value - scale.low) / width), BINS - 1)] += 1
    step, tallest = (scale.end - scale.start) / BINS, max(counts)
    bars = "".join(
        f"M{scale.start + place * step:.1f} {base:g}v{-30 * count / tallest:.1f}h{step - 1:.1f}V{base:g}z"
        for place, count in enumerate(counts)
        if count
    )
    marks = [
        el("path", d=f"M{scale(value)} {base - 34:g}V{base:g}", class_=class_)
        for value, class_ in ((middle, "middle"), (most, "most"))
    ]
    return join([label, told, el("path", d=bars, class_=f"bars a{n % AGENT_COLOURS}"), *marks])


def _pass_plot(agents: Sequence[AgentSummary], key: str, title: str) -> Html | None:
    """A dot with its Wilson interval for each group and agent."""
    groups = list(dict.fromkeys(group for agent in agents for group in agent.by.get(key, {})))
    if not groups:
        return None
    scale = Scale(low=0.0, high=1.0, start=LEFT, end=WIDTH - RIGHT - 36)
    drawn, told, y = [], [], 6.0
    for group in groups:
        drawn.append(_text(0, y + 17, one_line(group.replace("_", " "), 17), class_="name"))
        for n, agent in enumerate(agents):
            scores = agent.by.get(key, {}).get(group)
            if scores is not None:
                drawn.append(_interval(scale, y + 13, scores.pass_at_1, f"a{n % AGENT_COLOURS}"))
                told.append(f"{agent.name}, {group}: {_rate_text(scores.pass_at_1)}")
            y += 18 if len(agents) > 1 else ROW
        y += 8 if len(agents) > 1 else 0
    axis = _axis(scale, 4, y, "Pass@1, 95 % Wilson interval")
    return _figure(title, "; ".join(told), y + 36, axis, *drawn)


def _rate_text(rate: Rate) -> str:
    return f"{rate.k}/{rate.n}"


def _interval(scale: Scale, y: float, rate: Rate, colour: str) -> Html:
    count = _text(WIDTH, y + 4, _rate_text(rate), anchor="end", class_="tick")
    if rate.value is None or rate.low is None or rate.high is None:
        return count
    line = el("path", d=f"M{scale(rate.low)} {y}H{scale(rate.high)}", class_=f"whisker {colour}")
    return join([line, el("circle", cx=scale(rate.value), cy=y, r=4.5, class_=f"dot {colour}"), count])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    name: str
    latency: float
    quality: float
    low: float
    high: float
    colour: str
    clock: str


def _quality_plot(agents: Sequence[AgentSummary], baseline: BaselineComparison | None) -> Html | None:
    """Pass@1 over the median first response; agents that no other beats in both are joined by a line."""
    points = [point for n, agent in enumerate(agents) if (point := _point(n, agent)) is not None]
    points += _before(baseline)
    if not points:
        return None
    most = max(point.latency for point in points)
    least = min(0.0, *(point.latency for point in points))
    across = Scale(low=least, high=max(most * 1.15, 1.0), start=36, end=WIDTH - RIGHT)
    up = Scale(low=0.0, high=1.0, start=260, end=14)
    grid = [el("path", d=f"M36 {up(t)}H{WIDTH - RIGHT}", class_="grid") for t in up.ticks()]
    grid += [_text(30, up(t) + 4, f"{t:g}", anchor="end", class_="tick") for t in up.ticks()]
    measured = [point for point in points if point.clock]
    front = _front(measured) if len({point.clock for point in measured}) == 1 else []  # clocks are never compared
    line = " ".join(f"{'L' if n else 'M'}{across(p.latency)} {up(p.quality)}" for n, p in enumerate(front))
    drawn = [*grid, el("path", d=line, class_="front")] if len(front) > 1 else grid
    drawn += [_dot(point, across, up) for point in points]
    told = "; ".join(f"{p.name}: Pass@1 {p.quality:.2f} at {p.latency:.2f} s ({p.clock} clock)" for p in points)
    axis = _axis(across, 14, 260, "seconds to the first response")
    title = "Quality against latency: Pass@1 over first response, p50 (up and left is better)"
    return _figure(title, told, 296, axis, *drawn)


def _point(n: int, agent: AgentSummary) -> _Point | None:
    rate, latency = agent.overall.pass_at_1, agent.overall.first_response_latency_s.p50
    if rate.value is None or rate.low is None or rate.high is None or latency is None:
        return None
    colour = f"a{n % AGENT_COLOURS}"
    return _Point(
        name=agent.name,
        latency=latency,
        quality=rate.value,
        low=rate.low,
        high=rate.high,
        colour=colour,
        clock=agent.clock,
    )


def _before(baseline: BaselineComparison | None) -> list[_Point]:
    """Each agent as the baseline has it, where both figures were compared."""
    found = []
    for agent in baseline.agents if baseline else ():
        of = {metric.metric: metric.before for metric in agent.metrics if metric.group is None}
        latencies = [of.get(f"first_response_latency_s.{name}") for name in ("p50", "mean")]
        latency, quality = next((value for value in latencies if value is not None), None), of.get("pass_at_1")
        if latency is not None and quality is not None:
            found.append(
                _Point(
                    name=f"{agent.before} (before)",
                    latency=latency,
                    quality=quality,
                    low=quality,
                    high=quality,
                    colour="before",
                    clock="",
                )
            )
    return found


def _front(points: Sequence[_Point]) -> list[_Point]:
    """Those that no other point equals or beats in quality and latency at once, by latency."""
    front: list[_Point] = []
    for point in sorted(points, key=lambda p: (p.latency, -p.quality)):
        if not front or point.quality > front[-1].quality:
            front.append(point)
    return front


def _dot(point: _Point, across: Scale, up: Scale) -> Html:
    x, y = across(point.latency), up(point.quality)
    near_end = x > WIDTH / 2
    return join(
        [
            el("path", d=f"M{x} {up(point.low)}V{up(point.high)}", class_=f"whisker {point.colour}"),
            el("circle", cx=x, cy=y, r=5.5, class_=f"dot {point.colour}"),
            _text(
                x + (-10 if near_end else 10),
                y + 4,
                one_line(point.name, 30),
                anchor="end" if near_end else "start",
                class_="name",
            ),
        ]
    )
