"""Ballots changed in one way: an alternative raised, or joined by clones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from fairagents.spec import Floats


def raised(row: Floats, a: int) -> Iterator[Floats]:
    """Yield a ballot with one alternative at each higher place, the others as they are."""
    above = np.unique(row[row > row[a]])
    between = [(x + y) / 2 for x, y in itertools.pairwise([row[a], *above])]
    for value in sorted({*above.tolist(), *between, (1 + float(row.max())) / 2, 1.0}):
        if value > row[a]:
            better = row.copy()
            better[a] = value
            yield better


def cloned(said: Floats, a: int, pattern: Sequence[int], needs: str) -> Floats:
    """Return ballots with a clone of one alternative: beside it where its equals or numbers count.

    On orders the clone stands directly below (0) or above (1), unless others tie with it.
    """
    clone = said[:, a].copy()
    if needs == "ranks":
        for v, row in enumerate(said):
            if (row == row[a]).sum() == 1:
                other = row[row > row[a]] if pattern[v] else row[row < row[a]]
                end = row.max() + 1 if pattern[v] else row.min() - 1
                near = (other.min() if pattern[v] else other.max()) if len(other) else end
                clone[v] = (row[a] + near) / 2
    return np.column_stack([said, clone])


def circled(said: Floats, a: int, needs: str) -> Floats:
    """Return ballots with two clones that, with the original, beat each other in a circle."""
    n, m = said.shape
    one = cloned(said, a, [int(v % 3 == 1) for v in range(n)], needs)
    # Voters say in turn a > b > c, b > c > a and c > a > b: c stands below b, or above a.
    above = cloned(one, a, [1] * n, needs)[:, -1]
    below = cloned(one, m, [0] * n, needs)[:, -1]
    last = np.where(np.arange(n) % 3 == 2, above, below)
    return np.column_stack([one, last])
