"""The best one-to-one assignment of rows to columns, with ties broken by order: Kuhn's Hungarian method."""

from __future__ import annotations

from collections.abc import Sequence


def assign(weights: Sequence[Sequence[int]]) -> tuple[int | None, ...]:
    """For each row the column assigned to it, so that the sum of weights is the largest; None where columns run out.

    `weights` are whole numbers of at least 1. As many rows as possible get a column. Of several best assignments it is
    the first in dictionary order: row 0 takes the lowest column it can, then row 1. Takes rows^2 x columns steps.
    Source: Kuhn 1955, in the shortest-path form with potentials (Jonker and Volgenant 1987).
    """
    rows = len(weights)
    columns = len(weights[0]) if rows else 0
    if rows == 1 and columns:
        return (max(range(columns), key=lambda j: (weights[0][j], -j)),)
    width = max(rows, columns)
    base = width + 1
    scale = base**rows  # more than all tie-breaking penalties together
    costs = [
        [(j * base ** (rows - 1 - i)) - (weights[i][j] * scale if j < columns else 0) for j in range(width)]
        for i in range(rows)
    ]
    return tuple(j if j < columns else None for j in _cheapest(costs, width))


def _cheapest(costs: Sequence[Sequence[int]], width: int) -> list[int]:
    """Column of each row in the cheapest assignment; rows <= width. Column and row 0 are sentinels inside."""
    row_price = [0] * (len(costs) + 1)
    column_price = [0] * (width + 1)
    row_of = [0] * (width + 1)
    for row in range(1, len(costs) + 1):
        row_of[0] = row
        _augment(costs, row_price, column_price, row_of)
    column_of = [0] * len(costs)
    for column in range(1, width + 1):
        if row_of[column]:
            column_of[row_of[column] - 1] = column - 1
    return column_of


def _augment(costs: Sequence[Sequence[int]], row_price: list[int], column_price: list[int], row_of: list[int]) -> None:
    """Give the row at sentinel column 0 a column along the cheapest alternating path."""
    width = len(column_price) - 1
    slack: list[int | None] = [None] * (width + 1)
    came_from = [0] * (width + 1)
    used = [False] * (width + 1)
    here = 0
    while row_of[here]:
        used[here] = True
        row = row_of[here]
        step, nearest = None, 0
        for j in range(1, width + 1):
            if used[j]:
                continue
            reduced = costs[row - 1][j - 1] - row_price[row] - column_price[j]
            known = slack[j]
            if known is None or reduced < known:
                slack[j] = known = reduced
                came_from[j] = here
            if step is None or known < step:
                step, nearest = known, j
        assert step is not None  # rows <= width: a free column is left
        for j in range(width + 1):
            if used[j]:
                row_price[row_of[j]] += step
                column_price[j] -= step
            elif (known := slack[j]) is not None:
                slack[j] = known - step
        here = nearest
    while here:
        before = came_from[here]
        row_of[here] = row_of[before]
        here = before
