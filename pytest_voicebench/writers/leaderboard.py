"""A ranking as Markdown, for a README or a pull request, and as one HTML page that loads nothing."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_voicebench.counted import counted
from pytest_voicebench.published import ITEMS, SOURCE
from pytest_voicebench.standings import ALPHA, Ranked, Ranking
from pytest_voicebench.stats import wilson_interval
from pytest_voicebench.writers.cells import UNMEASURED, percent_text, rate_cells, seconds_text
from pytest_voicebench.writers.markdown_text import escaped
from pytest_voicebench.writers.plain_text import one_line

LONGEST_CELL = 80
LONGEST_NOTICE = 400

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid #8886; white-space: nowrap; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
caption { text-align: left; font-weight: bold; padding: .3rem 0; }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def markdown(ranking: Ranking) -> str:
    """Tables with notices above them; what others wrote is made harmless for Markdown and HTML."""
    notices = (f"- {escaped(text, LONGEST_NOTICE)}" for text in _notices(ranking))
    lines = [f"# {escaped(_title(ranking))}", "", *notices, ""]
    for table in _tables(ranking):
        lines += [f"## {table.title}", "", _row(table.head), _row(["---"] * len(table.head))]
        lines += [_row([escaped(cell, LONGEST_CELL) for cell in row]) for row in table.rows]
        lines += [""]
    return "\n".join(lines)


def page(ranking: Ranking) -> str:
    """One HTML page: no script, no request, light and dark; text of others is escaped."""
    clean: Callable[[str], str] = lambda text: html.escape(one_line(text, LONGEST_CELL))  # noqa: E731
    notices = "".join(f"<li>{html.escape(one_line(text))}</li>" for text in _notices(ranking))
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{clean(_title(ranking))}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        f"<h1>{clean(_title(ranking))}</h1>\n<ul>{notices}</ul>",
    ]
    for table in _tables(ranking):
        head = "".join(f'<th scope="col">{clean(cell)}</th>' for cell in table.head)
        body = "\n".join("<tr>" + "".join(f"<td>{clean(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
        parts.append(
            f'<div class="wide"><table>\n<caption>{clean(table.title)}</caption>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
        )
    return "\n".join([*parts, "</body>\n</html>\n"])


def _title(ranking: Ranking) -> str:
    return f"Leaderboard: {', '.join(ranking.suites)}, {counted(ranking.items, 'item')}"


def _notices(ranking: Ranking) -> Iterator[str]:
    yield f"stimulus: {ranking.stimulus}"
    yield from ranking.notices
    if len(ranking.rows) > 1:
        yield (
            "agents that share a letter cannot be told apart: an exact paired test over the same items (signs by "
            f"scenario), corrected for {counted(len(ranking.pairings), 'pair')} (Holm), "
            f"finds p of {ALPHA} or more"
        )


def _tables(ranking: Ranking) -> Iterator[_Table]:
    yield _Table(title="Agents by Pass@1", head=_HEAD, rows=tuple(map(_agent, ranking.rows)))
    if ranking.pairings:
        yield _Table(
            title="Pairs",
            head=("agent", "against", "only it passed", "only the other", "p", "p corrected"),
            rows=tuple(
                (p.first, p.second, str(p.won), str(p.lost), _p(p.p), _p(p.p_corrected)) for p in ranking.pairings
            ),
        )
    if ranking.published:
        yield _Table(
            title="By the official rules, beside published rows",
            head=("agent", "from", "Pass@1", "95 % interval", "n", "F1", "arguments", "turn-take", "interruption"),
            rows=(*_official(ranking), *_published(ranking)),
        )


_HEAD = (
    "place", "agent", "told apart", "Pass@1", "95 % interval", "k/n", "F1", "arguments", "turn-take", "interruption",
    "first response", "task completion", "clock", "mode", "run",
)  # fmt: skip


def _agent(row: Ranked) -> tuple[str, ...]:
    scores = row.scores.overall
    value, interval, count = rate_cells(scores.pass_at_1, percent=False)
    return (
        str(row.place),
        row.name,
        row.groups,
        value,
        interval,
        count,
        _fraction(scores.f1.value),
        _fraction(scores.argument_accuracy.value),
        rate_cells(scores.turn_take_rate, percent=True)[0],
        rate_cells(scores.interruption_rate, percent=True)[0],
        _seconds(scores.first_response_latency_s.mean, scores.first_response_latency_s.n),
        _seconds(scores.task_completion_latency_s.mean, scores.task_completion_latency_s.n),
        row.scores.clock,
        row.mode,
        row.run,
    )


def _official(ranking: Ranking) -> Iterator[tuple[str, ...]]:
    for row in ranking.official:
        figures = (row.f1, row.argument_accuracy), (row.turn_take_rate, row.interruption_rate)
        yield _official_row(row.name, "this leaderboard", row.passed, row.items, *figures)


def _published(ranking: Ranking) -> Iterator[tuple[str, ...]]:
    for row in ranking.published:
        figures = (row.f1, row.argument_accuracy), (row.turn_take_rate, row.interruption_rate)
        yield _official_row(row.name, SOURCE, row.passed, ITEMS, *figures)


def _official_row(
    name: str, source: str, passed: int, n: int, fractions: Sequence[float | None], shares: Sequence[float | None]
) -> tuple[str, ...]:
    low, high = wilson_interval(passed, n) or (0.0, 0.0)
    value = f"{passed / n:.3f}" if n else UNMEASURED
    percents = (UNMEASURED if share is None else percent_text(share) for share in shares)
    return (name, source, value, f"{low:.2f}-{high:.2f}", str(n), *map(_fraction, fractions), *percents)


def _fraction(value: float | None) -> str:
    return UNMEASURED if value is None else f"{value:.3f}"


def _seconds(value: float | None, n: int) -> str:
    return UNMEASURED if value is None else f"{seconds_text(value)} s (n={n})"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
