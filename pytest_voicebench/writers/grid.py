"""Aligned plain-text tables, with colour where the terminal has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_voicebench.writers.plain_text import columns, one_line

GAP = "  "

Paint = Callable[[str, str], str]
"""Takes a text and a style of `STYLES`, gives the text to print."""

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def ansi(text: str, style: str) -> str:
    """The text in a style, by ANSI escape sequences."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if text else text


def plain(text: str, style: str) -> str:
    """The text as it is."""
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table: the first column is left-aligned, the others right-aligned.

    `groups` are headings above the columns after the first: a label and how many columns it spans; a single one is not
    printed. `notes` are lines below the table.
    """

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    groups: Sequence[tuple[str, int]] = ()
    notes: Sequence[str] = ()


def grid_lines(grid: Grid, *, width: int, paint: Paint) -> list[str]:
    """The table's lines, title first, none longer than `width`; cells are made safe.

    Columns on the right that do not fit are left out, and a note says how many.
    """
    table = [tuple(one_line(cell) for cell in row) for row in (grid.head, *grid.rows)]
    widths = [max(columns(row[i]) for row in table) for i in range(len(grid.head))]
    kept = _fitting(widths, width)
    lines = [paint(one_line(grid.title, width), "bold")]
    if len(grid.groups) > 1:
        lines.append(paint(one_line(_group_line(grid, widths), width), "bold"))
    head, *body = [one_line(_line(row[:kept], widths[:kept]), width) for row in table]
    lines += [paint(head, "dim")] * bool(head.strip()) + body
    left_out = [f"{len(widths) - kept} columns do not fit into {width}"] if kept < len(widths) else []
    return lines + [paint(one_line("  " + note, width), "dim") for note in (*grid.notes, *left_out)]


def _fitting(widths: list[int], width: int) -> int:
    """How many columns fit; the first is always kept."""
    kept = len(widths)
    while kept > 1 and 2 + sum(widths[:kept]) + len(GAP) * (kept - 1) > width:
        kept -= 1
    return kept


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    first = row[0] + " " * (widths[0] - columns(row[0]))
    rest = [" " * (w - columns(cell)) + cell for cell, w in zip(row[1:], widths[1:], strict=True)]
    return ("  " + GAP.join([first, *rest])).rstrip()


def _group_line(grid: Grid, widths: list[int]) -> str:
    """Each label stands over the left edge of its columns, cut to their width."""
    line = "  " + " " * widths[0]
    at = 1
    for label, span in grid.groups:
        room = sum(widths[at : at + span]) + len(GAP) * (span - 1)
        shown = one_line(label, room)
        line += GAP + shown + " " * (room - columns(shown))
        at += span
    return line.rstrip()
