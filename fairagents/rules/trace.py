"""Trace tables: what a rule counted, as plain cells from which anyone recomputes the totals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairagents.decision import Cell, Table
from fairagents.profile import Profile
from fairagents.spec import Floats, Ints

TRACE_ROWS = 60
"""A trace table holds at most this many alternatives, the best; `Table.cut` counts the rest."""


def shown(levels: Ints) -> Ints:
    """Return the positions that a trace shows: the best `TRACE_ROWS` by level."""
    return np.argsort(levels, kind="stable")[:TRACE_ROWS]


def ballot_table(
    name: str, profile: Profile, cells: Floats, levels: Ints, total: Floats, how: str
) -> Table:
    """Return a table with one row per alternative, one column per voter, and the total.

    The first row holds the weights, so that anyone can recompute the total from row and weights.

    Args:
        name: the table's name.
        profile: names the rows and columns.
        cells: shape (n, m).
        levels: tiers, shape (m,): the best rows are kept.
        total: shape (m,).
        how: how the total follows, a key of `RECOUNTS`.
    """
    rows = shown(levels)
    names = [profile.ids[i] for i in rows.tolist()]
    body = zip(names, *cells[:, rows].tolist(), total[rows].tolist(), strict=True)
    return Table(
        name=name,
        columns=("alternative", *profile.voters, "total"),
        rows=(("weight", *map(_number, profile.weights), None), *body),
        cut=len(profile.ids) - len(rows),
        how=how,
    )


def column_table(
    name: str,
    ids: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Any],
    levels: Ints,
    how: str = "",
    weights: Sequence[float] | None = None,
) -> Table:
    """Return a table with one row per alternative and columns of one's own.

    Args:
        name: the table's name.
        ids: the m alternatives.
        columns: the columns' names; the last one is the total where `how` is given.
        cells: one sequence of m cells per column; plain values or numpy scalars.
        levels: tiers, shape (m,): the best rows are kept.
        how: how the total follows, a key of `RECOUNTS`.
        weights: of the columns but the total, where they count unequally.
    """
    rows = shown(levels).tolist()
    body = [(ids[i], *(plain(column[i]) for column in cells)) for i in rows]
    head: list[tuple[Cell, ...]] = [("weight", *weights, None)] if weights is not None else []
    return Table(
        name=name,
        columns=("alternative", *columns),
        rows=(*head, *body),
        cut=len(ids) - len(rows),
        how=how,
    )


def matrix_table(
    name: str, ids: Sequence[str], matrix: Any, levels: Ints, total: Any = None, how: str = ""
) -> Table:
    """Return an alternatives x alternatives table, with the totals as its last column if given.

    Args:
        name: the table's name.
        ids: the m alternatives.
        matrix: shape (m, m): numbers, or exact fractions.
        levels: tiers, shape (m,): the best rows and columns are kept.
        total: shape (m,).
        how: how the total follows, a key of `RECOUNTS`; only where the table is whole.
    """
    rows = shown(levels).tolist()
    body = [(ids[i], *(plain(matrix[i][j]) for j in rows)) for i in rows]
    columns = ("alternative", *(ids[j] for j in rows))
    if total is not None:
        columns = (*columns, "total")
        body = [(*row, plain(total[i])) for i, row in zip(rows, body, strict=True)]
    cut = len(ids) - len(rows)
    return Table(name=name, columns=columns, rows=tuple(body), cut=cut, how="" if cut else how)


def plain(value: Any) -> Cell:
    """Return a cell: whole numbers as int, other numbers as float, texts and None as they are."""
    if value is None or isinstance(value, str | bool):
        return value
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, Fraction):
        return _number(number)
    return number  # type: ignore[no-any-return]


def _number(weight: Fraction) -> int | float:
    return weight.numerator if weight.denominator == 1 else float(weight)


# -- recounting ----------------------------------------------------------------------------------

Pairs = list[tuple[float, float]]
"""(weight, cell) of each voter or column, cells of None left out."""


def _geometric(pairs: Pairs) -> float:
    gains = [(w, c) for w, c in pairs if c > 0]
    whole = sum(w for w, _ in gains)
    return math.prod(c ** (w / whole) for w, c in gains) if gains else 0.0


def _power(pairs: Pairs) -> float:
    *cells, (_, p) = pairs
    scale = (max if p > 0 else min)(c for _, c in cells)
    if scale == 0:
        return 0.0
    whole = sum(w for w, _ in cells)
    if p == 0:
        return float(math.prod(c ** (w / whole) for w, c in cells))
    return float(scale * (sum(w * (c / scale) ** p for w, c in cells) / whole) ** (1 / p))


def _median(pairs: Pairs, of: str) -> float:
    ordered = sorted(pairs, key=lambda pair: pair[1])
    half = sum(w for w, _ in pairs) / 2
    ends = list(itertools.accumulate(w for w, _ in ordered))
    lower = next(c for e, (_, c) in zip(ends, ordered, strict=True) if e > half * (1 - 1e-12))
    upper = next(c for e, (_, c) in zip(ends, ordered, strict=True) if e > half * (1 + 1e-12))
    return {"lower": lower, "middle": (lower + upper) / 2, "upper": upper}[of]


RECOUNTS: dict[str, Callable[[Pairs], float]] = {
    "sum": lambda pairs: sum(w * c for w, c in pairs),
    "mean": lambda pairs: sum(w * c for w, c in pairs) / sum(w for w, _ in pairs),
    "geometric": _geometric,
    "min": lambda pairs: min(c for _, c in pairs),
    "max": lambda pairs: max(c for _, c in pairs),
    "count": lambda pairs: len(pairs),
    "last": lambda pairs: pairs[-1][1],
    "power": _power,
    "lower median": lambda pairs: _median(pairs, "lower"),
    "middle median": lambda pairs: _median(pairs, "middle"),
    "upper median": lambda pairs: _median(pairs, "upper"),
}
"""How a total follows from the cells of its row: a weighted sum, a weighted mean, a weighted
geometric mean of what is positive, an extreme, the number of cells that are not empty, the last
of them, a weighted power mean of all but the last, which is the exponent, or a weighted median
(of an even split the lower one, the upper one, or their mean). "wins" and "losses" compare row
with column: see `recount`."""


def recount(table: Table) -> dict[str, float]:
    """Recompute the totals of a trace table from its cells alone.

    By `table.how`: a key of `RECOUNTS`; or "wins" and "losses" of an alternatives x alternatives
    table: the number of others b whose cell (a, b) is greater, or smaller, than the cell (b, a).

    Returns:
        alternative -> total; empty for a table whose `how` is "".

    >>> table = Table(name="points", columns=("alternative", "ann", "bob", "total"),
    ...               rows=(("weight", 2, 1, None), ("a", 3, 0, 6)), how="sum")
    >>> recount(table)
    {'a': 6.0}
    """
    if not table.how:
        return {}
    weights: Sequence[Any] = [1.0] * len(table.columns)
    rows = list(table.rows)
    if rows and rows[0][0] == "weight":
        weights = rows.pop(0)[1:-1]
    cells: dict[str, Sequence[Any]] = {str(row[0]): row[1:-1] for row in rows}
    totals = {}
    for i, (one, row) in enumerate(cells.items()):
        if table.how in ("wins", "losses"):
            sign = 1 if table.how == "wins" else -1
            others = zip(row, (other[i] for other in cells.values()), strict=True)
            totals[one] = float(sum(sign * a > sign * b for a, b in others))
        else:
            pairs = [(w, c) for w, c in zip(weights, row, strict=False) if c is not None]
            totals[one] = float(RECOUNTS[table.how](pairs))
    return totals
