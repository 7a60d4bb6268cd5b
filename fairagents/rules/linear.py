"""The linear ordering problem behind Kemeny's rule: the order that agrees most with margins.

value(order) = sum of margin(a, b) over all a that stand before b, to be maximised. Rows of the
matrices here come in the order in which equally good orders are told apart.
"""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairagents.rules.majority import component_layers
from fairagents.spec import Floats, Ints

MOST_SUBSETS = 12
"""Cycles of up to so many are solved by dynamic programming over subsets."""

MOST_PROVED = 250
"""Larger cycles are not put to the linear programme: it would find no bound in time."""

MOST_CUTS = 20_000
"""Violated triangles added at a time."""

SLACK = 1e-6
"""Tolerance of the solver, as a share of the greatest margin."""


@dataclass(frozen=True)
class Best:
    """An order, and what is proved of it.

    Attributes:
        order: rows from first to last.
        value: the sum of margins that the order agrees with.
        bound: no order is worth more.
        several: whether other orders are known to be as good, ties between neighbours aside.
    """

    order: Ints
    value: Any
    bound: Any
    several: bool = False

    @property
    def optimal(self) -> bool:
        """Whether no order is better."""
        return bool(self.value >= self.bound)


def best_order(margin: Any, deadline: float) -> Best:
    """Return the best order, or the best found before a deadline.

    The strongly connected components of "beats" stand in an order of their own, since no duel
    between two of them goes against it; each is solved by itself.

    Args:
        margin: antisymmetric whole numbers, shape (c, c); int64 or Python integers.
        deadline: on the clock of `time.monotonic`.
    """
    labels, layer = component_layers(margin > 0)
    rows = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[rows])) + 1
    parts, lost, several = [], 0, False
    for part in np.split(rows, ends):
        if len(part) > 1:
            best = _cycle(margin[np.ix_(part, part)], deadline)
            part = part[best.order]
            lost += best.bound - best.value
            several |= best.several
        parts.append(part)
    parts.sort(key=lambda part: (layer[part[0]], part[0]))
    order = np.concatenate(parts)
    value = value_of(margin, order)
    return Best(order, value, value + lost, several)


def value_of(margin: Any, order: Ints) -> Any:
    """Return the sum of margins that an order agrees with, a Python integer."""
    return int(np.triu(margin[np.ix_(order, order)]).sum())


def tiers_of(margin: Any, order: Ints) -> Ints:
    """Return the tier of each row, shape (c,): neighbours share one where any order is as good.

    That is where all duels among them are tied.
    """
    levels = np.zeros(len(order), dtype=np.int64)
    start = 0
    for i in range(1, len(order)):
        if (margin[order[i], order[start:i]] != 0).any():
            start = i
        levels[order[i]] = levels[order[i - 1]] + (start == i)
    return levels


def open_between(margin: Any, order: Ints, levels: Ints) -> bool:
    """Tell whether neighbouring tiers hold two who tie: then some other order is as good.

    Only a sign, where the two belong to one cycle.
    """
    ordered = levels[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1)).tolist()
    ends = [*starts[1:], len(order)]
    labels = component_layers(margin > 0)[0]
    for start, middle, end in zip(starts, ends, ends[1:], strict=False):
        upper, lower = order[start:middle], order[middle:end]
        tied = margin[np.ix_(upper, lower)] == 0
        if (tied & (labels[upper][:, None] != labels[lower])).any():
            return True
    return False


def _cycle(margin: Any, deadline: float) -> Best:
    if len(margin) <= MOST_SUBSETS:
        return by_subsets(margin)
    unit = int(np.gcd.reduce(margin, axis=None))
    best = by_programme(margin if unit == 1 else margin // unit, deadline)
    return Best(best.order, best.value * unit, best.bound * unit, best.several)


# -- subsets -------------------------------------------------------------------------------------


def by_subsets(margin: Any) -> Best:
    """Return the best order by dynamic programming over the sets that are still to be placed.

    best(S) = max over a in S of best(S - a) + sum of margin(a, b) over b in S - a. Of several best
    orders the one whose rows come first. O(2^c c) with vector steps.

    >>> by_subsets(np.array([[0, 3, -1], [-3, 0, 5], [1, -5, 0]])).order
    array([0, 1, 2])
    """
    c = len(margin)
    worth = np.zeros((c, 1 << c), dtype=margin.dtype)
    for b in range(c):
        bit = 1 << b
        worth[:, bit : 2 * bit] = worth[:, :bit] + margin[:, b, None]
    best = np.zeros(1 << c, dtype=margin.dtype)
    count = np.zeros(1 << c, dtype=np.int64)
    count[0] = 1
    for sets, members in _by_size(c):
        rest = sets[:, None] ^ (1 << members)
        gains = worth[members, rest] + best[rest]
        best[sets] = gains.max(axis=1)
        count[sets] = (count[rest] * (gains == best[sets][:, None])).sum(axis=1)
    order, rest_set = [], (1 << c) - 1
    while rest_set:
        a = next(
            a
            for a in range(c)
            if rest_set >> a & 1
            and worth[a, rest_set ^ 1 << a] + best[rest_set ^ 1 << a] == best[rest_set]
        )
        order.append(a)
        rest_set ^= 1 << a
    found = np.array(order)
    value = int(best[-1])
    ties = math.prod(math.factorial(k) for k in np.bincount(tiers_of(margin, found)).tolist())
    return Best(found, value, value, int(count[-1]) > ties)


@functools.cache
def _by_size(c: int) -> list[tuple[Ints, Ints]]:
    """Return for each size the sets of that size as bits, and their members, shape (sets, size)."""
    sets = np.arange(1 << c)
    inside = sets[:, None] >> np.arange(c) & 1
    sizes = inside.sum(axis=1)
    found = []
    for size in range(1, c + 1):
        some = np.flatnonzero(sizes == size)
        found.append((some, np.nonzero(inside[some])[1].reshape(len(some), size)))
    return found


# -- linear programme ----------------------------------------------------------------------------


def by_programme(margin: Any, deadline: float) -> Best:
    """Return the best order by a linear programme over pairs, with triangles as they are violated.

    x(a, b) says whether a stands before b; 0 <= x(a, b) + x(b, c) - x(a, c) <= 1 for a < b < c.
    While the optimum is fractional, pairs become whole. Local search gives the orders that bounds
    are compared with. Proved up to the solver's tolerance, 1e-6 of the greatest margin.
    Source: Groetschel, Juenger & Reinelt 1984 (as commonly stated).

    Args:
        margin: whole numbers, shape (c, c).
        deadline: on the clock of `time.monotonic`.
    """
    start = np.argsort(-margin.sum(axis=1), kind="stable")
    order = improved(margin, start, deadline)
    value = value_of(margin, order)
    upper = np.triu_indices(len(margin), 1)
    bound = int(abs(margin[upper]).sum())
    if len(margin) > MOST_PROVED:
        return Best(order, value, bound)
    programme = _Programme(margin)
    while time.monotonic() < deadline:
        x = programme.solve(deadline)
        bound = min(bound, max(value, programme.bound))
        if x is None or value >= bound:
            break
        rounded = improved(margin, np.argsort(-x.sum(axis=1), kind="stable"), deadline)
        if value_of(margin, rounded) > value:
            order, value = rounded, value_of(margin, rounded)
        if value >= bound or not (programme.cut(x) or programme.whole()):
            break
    # What the solver cannot tell apart counts as proved.
    if bound - value <= 2 * SLACK * programme.most:
        return Best(order, value, value, _open(margin, order))
    return Best(order, value, bound)


class _Programme:
    """The linear programme of an ordering problem and the triangles it has so far."""

    def __init__(self, margin: Any) -> None:
        self.size = len(margin)
        self.upper = np.triu_indices(self.size, 1)
        self.place = np.zeros((self.size, self.size), dtype=np.int64)
        self.place[self.upper] = np.arange(len(self.upper[0]))
        whole = margin[self.upper]
        self.most = max(int(abs(whole).max()), 1)
        self.total = int(whole.sum())
        self.cost = -(whole / self.most).astype(np.float64)
        self.triangles = np.zeros((0, 3), dtype=np.int64)
        self.integral = False
        self.bound = int(abs(whole).sum())
        self.x = self.cost < 0

    def solve(self, deadline: float) -> Floats | None:
        """Return the optimum as a matrix, None when time is out; `bound` is what is proved."""
        if not len(self.triangles):
            return self._matrix(self.x.astype(np.float64))
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows = np.repeat(np.arange(len(self.triangles)), 3)
        a, b, c = self.triangles.T
        columns = np.column_stack([self.place[a, b], self.place[b, c], self.place[a, c]]).ravel()
        signs = np.tile([1.0, 1.0, -1.0], len(self.triangles))
        shape = (len(self.triangles), len(self.cost))
        found = milp(
            self.cost,
            integrality=np.full(len(self.cost), int(self.integral)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(csr_array((signs, (rows, columns)), shape=shape), 0, 1),
            options={"time_limit": max(deadline - time.monotonic(), 0.01), "mip_rel_gap": 0.0},
        )
        dual = found.mip_dual_bound if self.integral else found.fun if found.status == 0 else None
        if dual is not None:
            # value = sum of margins (2 x - 1) over the pairs, a whole number.
            proved = -2 * dual * self.most - self.total
            self.bound = math.floor(proved + SLACK * self.most)
        return self._matrix(found.x) if found.status == 0 else None

    def _matrix(self, x: Floats) -> Floats:
        matrix = np.zeros((self.size, self.size))
        matrix[self.upper] = x
        matrix[self.upper[::-1]] = 1 - x
        return matrix

    def cut(self, x: Floats) -> bool:
        """Add the triangles that a solution violates, the worst first; False when there is none."""
        violated, by = violated_triangles(x)
        if len(violated) > MOST_CUTS:
            violated = violated[np.argsort(-by, kind="stable")[:MOST_CUTS]]
        self.triangles = np.vstack([self.triangles, violated])
        return len(violated) > 0

    def whole(self) -> bool:
        """Make pairs whole; False when they are already."""
        before, self.integral = self.integral, True
        return not before


def violated_triangles(x: Floats) -> tuple[Ints, Floats]:
    """Return violated triangles a < b < c of a matrix over pairs, shape (t, 3), and by how much."""
    rows, by = [], []
    for a in range(len(x) - 2):
        after = x[a, a + 1 :]
        # x(a, b) + x(b, c) - x(a, c), for all b and c after a.
        sums = np.triu(after[:, None] + x[a + 1 :, a + 1 :] - after, 1)
        far = np.maximum(sums - 1, -sums)
        b, c = np.nonzero(far > SLACK)
        rows.append(np.column_stack([np.full(len(b), a), b + a + 1, c + a + 1]))
        by.append(far[b, c])
    return (np.concatenate(rows), np.concatenate(by)) if rows else (np.zeros((0, 3), int), x[0, :0])


# -- local search --------------------------------------------------------------------------------


def improved(margin: Any, order: Ints, deadline: float) -> Ints:
    """Return an order that no move of one row to another place improves.

    Each row in turn moves to its best place, until none gains. O(c^2) for a round over all rows.
    """
    order = order.copy()
    moved = True
    while moved and time.monotonic() < deadline:
        moved = False
        for row in range(len(order)):
            if time.monotonic() > deadline:
                break
            at, sums = _moves(margin, order, row)
            to = int(np.argmin(sums))
            if sums[to] < sums[at]:
                move(order, at, to)
                moved = True
    return order


def move(order: Ints, at: int, to: int) -> None:
    """Put what stands at one place in front of what stands at another, in place."""
    row = order[at]
    if to <= at:
        order[to + 1 : at + 1] = order[to:at].copy()
        order[to] = row
    else:
        order[at : to - 1] = order[at + 1 : to].copy()
        order[to - 1] = row


def _moves(margin: Any, order: Ints, row: int) -> tuple[int, Any]:
    """Return where a row stands, and the sums of its margins over those before each place.

    A move from place p to place q gains twice the sum at p minus that at q.
    """
    at = int(np.flatnonzero(order == row)[0])
    sums = np.zeros(len(order) + 1, dtype=margin.dtype)
    np.cumsum(margin[row, order], out=sums[1:])
    return at, sums


def _open(margin: Any, order: Ints) -> bool:
    """Tell whether moving one row out of its tier gives an order that is as good."""
    levels = tiers_of(margin, order)[order]
    for row in order.tolist():
        at, sums = _moves(margin, order, row)
        same = np.flatnonzero(levels == levels[at])
        outside = np.r_[sums[: same[0]], sums[same[-1] + 2 :]]
        if (outside == sums[at]).any():
            return True
    return False
