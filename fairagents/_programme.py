"""Linear and mixed-integer programmes over a task's limits; the one door to scipy's HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fairagents._limits import Limits
from fairagents.outcome import Linear
from fairagents.spec import Bools, Floats, Ints

Sense = Literal["max", "min"]
_Part = tuple[Ints, Floats]
_INFEASIBLE = 2
"""The status of `scipy.optimize.milp` for a proof that there is no solution."""


class Programme:
    """A programme put together block by block; its first variables are the amounts.

    Args:
        limits: the limits on the amounts.
        size: the size of a slate, 0 for other tasks.
        keep: which limits hold, shape (n,); all by default.
    """

    def __init__(self, limits: Limits, size: int = 0, keep: Bools | None = None) -> None:
        self._limits, self._size = limits, size
        self._keep = np.ones(len(limits.labels), dtype=bool) if keep is None else keep
        self._count = 0
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []
        self._whole: list[Bools] = []
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self._low: list[Floats] = []
        self._high: list[Floats] = []
        self._rows = 0
        most = 1.0 if limits.integral else np.inf
        self.cells = self.add(limits.cells, high=most, whole=limits.integral)
        self._entries.append((limits.row, limits.cell, np.ones(len(limits.row))))
        self._bound_rows(
            len(limits.labels),
            np.where(self._keep, limits.low, -np.inf),
            np.where(self._keep, limits.high, np.inf),
        )

    def add(self, count: int, *, low: float = 0.0, high: float = 1.0, whole: bool = False) -> Ints:
        """Add variables and return their positions, shape (count,)."""
        self._lower.append(np.full(count, low))
        self._upper.append(np.full(count, high))
        self._whole.append(np.full(count, whole))
        self._count += count
        return np.arange(self._count - count, self._count)

    def rows(
        self,
        positions: Ints,
        weights: Floats | list[float] | float,
        low: float | Floats = -np.inf,
        high: float | Floats = np.inf,
    ) -> None:
        """Add rows `low <= sum of weights * variables <= high`.

        Args:
            positions: the variables of each row, shape (rows, w).
            weights: what broadcasts to that shape.
            low: what broadcasts to (rows,).
            high: likewise.
        """
        count, width = positions.shape
        rows = np.repeat(np.arange(self._rows, self._rows + count), width)
        flat = np.broadcast_to(np.asarray(weights, dtype=np.float64), positions.shape).ravel()
        self._entries.append((rows, positions.ravel(), flat))
        self._bound_rows(count, low, high)

    def _bound_rows(self, count: int, low: float | Floats, high: float | Floats) -> None:
        self._low.append(np.broadcast_to(low, count))
        self._high.append(np.broadcast_to(high, count))
        self._rows += count

    # -- worth ------------------------------------------------------------------------------

    def worth(self, worth: Linear, sense: Sense) -> _Part:
        """Return positions and weights whose sum stands for a worth, but for its constant.

        The sum is never below the true worth when it is maximised nor above it when minimised,
        and equals it at 0/1 amounts once the helper variables are whole where they must be.
        """
        most = sense == "max"
        parts = [(self.cells, worth.values)]
        for weight, u in worth.least:
            places, by = self._least_above(u) if most else self._least_below(u)
            parts.append((places, weight * by))
        for weight, groups, zero, one in worth.variety:
            build = self._variety_above if most else self._variety_below
            parts.append((build(groups, zero, one), np.array([weight])))
        return np.concatenate([p for p, _ in parts]), np.concatenate([w for _, w in parts])

    def _least_above(self, u: Floats) -> _Part:
        """One variable is at most the u of each chosen alternative."""
        z = self.add(1)
        pairs = np.column_stack([np.broadcast_to(z, len(u)), self.cells])
        self.rows(pairs, 1.0, high=1 + u)
        # The least is at most the mean: valid, and it tightens the relaxation.
        self.rows(np.append(self.cells, z)[None], np.append(-u / self._size, 1.0), high=0.0)
        return z, np.ones(1)

    def _least_below(self, u: Floats) -> _Part:
        """One chosen alternative is picked; the least u is that of the cheapest pick."""
        pick = self.add(len(u))
        self.rows(np.column_stack([pick, self.cells]), [1.0, -1.0], high=0.0)
        self.rows(pick[None], 1.0, low=1.0, high=1.0)
        return pick, u

    def _variety_above(self, groups: Bools, zero: float, one: float) -> Ints:
        """`v <= (n - zero) / (one - zero)`, concave where n >= zero; below, a binary makes v 0."""
        seen, v = self.add(len(groups)), self.add(1)
        for y, group in zip(seen, groups, strict=True):
            members = self.cells[group]
            self.rows(np.append(members, y)[None], np.append(-np.ones(len(members)), 1), high=0.0)
        places, weights = np.append(seen, v), np.append(-np.ones(len(seen)), one - zero)
        fewest = float(groups.any(axis=0).all())
        if zero > fewest:
            under = self.add(1, whole=True)
            self.rows(np.concatenate([v, under])[None], 1.0, high=1.0)
            places, weights = np.append(places, under), np.append(weights, fewest - zero)
        self.rows(places[None], weights, high=-zero)
        return v

    def _variety_below(self, groups: Bools, zero: float, one: float) -> Ints:
        """`v >= (n - zero) / (one - zero)`, convex where n <= one; above, a binary makes v 1."""
        seen, v = self.add(len(groups)), self.add(1)
        for y, group in zip(seen, groups, strict=True):
            members = self.cells[group]
            pairs = np.column_stack([np.broadcast_to(y, len(members)), members])
            self.rows(pairs, [1.0, -1.0], low=0.0)
        places, weights = np.append(seen, v), np.append(-np.ones(len(seen)), one - zero)
        most = min(len(groups), self._size * int(groups.sum(axis=0).max(initial=0)))
        if most > one:
            over = self.add(1, whole=True)
            self.rows(np.concatenate([v, over])[None], [1.0, -1.0], low=0.0)
            places, weights = np.append(places, over), np.append(weights, most - one)
        self.rows(places[None], weights, low=-zero)
        return v

    # -- solving ----------------------------------------------------------------------------

    def solve(
        self,
        places: Ints,
        weights: Floats,
        *,
        relaxed: bool = False,
        time_limit: float = 60.0,
        gap: float = 0.0,
        fixed: Floats | None = None,
    ) -> Any:
        """Minimise a weighted sum of variables.

        Args:
            places: the variables in the sum.
            weights: their weights.
            relaxed: whether whole variables may be fractional.
            time_limit: seconds.
            gap: the relative gap at which HiGHS may stop.
            fixed: amounts that are given, NaN where free, shape (cells,).

        Returns:
            What `scipy.optimize.milp` returns.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows, columns, data = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        matrix = csr_array((data, (rows, columns)), shape=(self._rows, self._count))
        cost = np.zeros(self._count)
        np.add.at(cost, places, weights)
        lower, upper = np.concatenate(self._lower), np.concatenate(self._upper)
        if fixed is not None:
            given = np.flatnonzero(~np.isnan(fixed))
            lower[given] = upper[given] = fixed[given]
        whole = np.zeros(self._count) if relaxed else np.concatenate(self._whole)
        return milp(
            cost,
            integrality=whole.astype(np.uint8),
            bounds=Bounds(lower, upper),
            constraints=LinearConstraint(
                matrix, np.concatenate(self._low), np.concatenate(self._high)
            ),
            options={"time_limit": time_limit, "mip_rel_gap": gap},
        )

    def maximin(
        self,
        worths: Sequence[Linear],
        *,
        relaxed: bool,
        time_limit: float = 60.0,
        gap: float = 0.0,
    ) -> Any:
        """Maximise the least of several worths."""
        level = self.add(1, low=-np.inf, high=np.inf)
        for worth in worths:
            places, weights = self.worth(worth, "max")
            row = np.append(places, level)[None]
            self.rows(row, np.append(-weights, 1.0), high=worth.constant)
        return self.solve(level, -np.ones(1), relaxed=relaxed, time_limit=time_limit, gap=gap)

    def any(self, fixed: Floats | None = None) -> Any:
        """Look for any amounts that meet the limits."""
        return self.solve(self.cells[:0], np.zeros(0), fixed=fixed)


def proven(found: Any) -> float:
    """Return what is proven of the minimum of a programme; -inf when nothing is."""
    bound = getattr(found, "mip_dual_bound", None)
    if found.status == 0 and found.fun is not None:
        return float(found.fun if bound is None else min(bound, found.fun))
    return -np.inf if bound is None else float(bound)


def possible(limits: Limits, keep: Bools | None = None) -> bool:
    """Tell whether limits can hold together, for all that can be proven in a minute."""
    return bool(Programme(limits, keep=keep).any().status != _INFEASIBLE)


def clash(limits: Limits) -> tuple[str, ...]:
    """Return the labels of a minimal set of limits that cannot hold together, if there is one.

    A deletion filter: each limit in turn is left out for good if the others still clash.
    """
    if possible(limits):
        return ()
    keep = np.ones(len(limits.labels), dtype=bool)
    for i in range(len(keep)):
        keep[i] = False
        keep[i] = possible(limits, keep)
    return tuple(label for label, kept in zip(limits.labels, keep, strict=True) if kept)
