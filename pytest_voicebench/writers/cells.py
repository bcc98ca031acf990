"""Figures of a summary as table cells: value, 95 % interval, and how many items stand behind it."""

from __future__ import annotations

from pytest_voicebench.summary import Distribution, Mean, Rate, Scores

UNMEASURED = "n/a"

Cells = tuple[str, str, str]


def score_cells(scores: Scores, name: str) -> Cells:
    """Value, interval and count of one score by its name; `n/a`, nothing and `(n=0)` where nothing was measured.

    Rates with `_rate` in their name are percentages, latencies seconds (the mean), all else fractions.
    """
    figure: Rate | Mean | Distribution = getattr(scores, name)
    if isinstance(figure, Distribution):
        return value_text(name, figure.mean), "", f"(n={figure.n})"
    if isinstance(figure, Mean):
        return value_text(name, figure.value), "", f"(n={figure.n})"
    return rate_cells(figure, percent="_rate" in name)


def rate_cells(rate: Rate, *, percent: bool) -> Cells:
    """`0.600`, `0.23-0.88`, `3/5`; as percentages `60.0 %`, `23.1-88.2`, `3/5`."""
    if rate.value is None or rate.low is None or rate.high is None:
        return UNMEASURED, "", "(n=0)"
    interval = f"{rate.low:.1%}-{rate.high:.1%}".replace("%", "") if percent else f"{rate.low:.2f}-{rate.high:.2f}"
    return (percent_text(rate.value) if percent else f"{rate.value:.3f}"), interval, f"{rate.k}/{rate.n}"


def value_text(name: str, value: float | None) -> str:
    """One value in the unit that its score's name says."""
    if value is None:
        return UNMEASURED
    if name.endswith("_s"):
        return f"{value:.2f} s"
    return percent_text(value) if "_rate" in name else f"{value:.3f}"


def percent_text(value: float) -> str:
    """`13.5 %`."""
    return f"{100 * value:.1f} %"


def seconds_text(value: float | None) -> str:
    """`6.36`, or `n/a`."""
    return UNMEASURED if value is None else f"{value:.2f}"


def share_cells(k: int, n: int) -> Cells:
    """A share without interval: `12.5 %`, nothing, `1/8`."""
    return (percent_text(k / n), "", f"{k}/{n}") if n else (UNMEASURED, "", "(n=0)")


def difference_text(name: str, before: Scores, after: Scores) -> str:
    """The second agent's value minus the first's, signed, percentages in points; empty where one is unmeasured."""
    values = []
    for scores in (before, after):
        figure: Rate | Mean | Distribution = getattr(scores, name)
        values.append(figure.mean if isinstance(figure, Distribution) else figure.value)
    if values[0] is None or values[1] is None:
        return ""
    difference = values[1] - values[0]
    return f"{100 * difference:+.1f}" if "_rate" in name else f"{difference:+.2f}"
