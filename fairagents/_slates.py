"""Slates under limits: completing, filling, swapping; with numpy alone where that is exact."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from fairagents._limits import Limits
from fairagents._programme import Programme
from fairagents.outcome import Linear
from fairagents.spec import Bools, Floats, Ints

_STARTS = 6


class Slates:
    """The feasible slates of `size` of m alternatives, as positions.

    Args:
        limits: all limits, the size among them.
        size: how many are chosen.
        simple: whether there are no limits but size, exclusions and inclusions.
    """

    def __init__(self, limits: Limits, size: int, simple: bool) -> None:
        self._limits, self._size, self._allowed = limits, size, limits.allowed
        self._m = len(limits.ids)
        width = np.bincount(limits.row, minlength=len(limits.labels))
        self._must = np.zeros(self._m, dtype=bool)
        self._must[limits.cell[((width == 1) & (limits.low == 1))[limits.row]]] = True
        self._simple = simple and bool((limits.low <= width).all())

    @functools.cached_property
    def matroid(self) -> bool:
        """Whether the slates are the bases of a matroid, so that greedy is exact."""
        return self._simple or self._limits.laminar

    @functools.cached_property
    def some(self) -> Ints | None:
        """Some feasible slate, or None."""
        if self._simple:
            order = np.argsort(~self._must, kind="stable")
            chosen = order[self._allowed[order]][: self._size]
            fine = len(chosen) == self._size and self._must.sum() == self._must[chosen].sum()
            return chosen if fine else None
        return self._finish([], frozenset())

    def _finish(self, prefix: list[int], banned: Collection[int]) -> Ints | None:
        """Return a feasible slate that holds the prefix and nothing banned, or None."""
        limits, x = self._limits, np.zeros(self._m)
        x[prefix] = 1
        # What helps to reach a lower limit comes first.
        missing = limits.low - limits.held(x) > 0
        needed = np.bincount(limits.cell, weights=missing[limits.row], minlength=self._m)
        order = [i for i in np.argsort(-needed, kind="stable").tolist() if i not in banned]
        full = limits.greedy(order, x)
        if limits.met(full):
            return np.flatnonzero(full)
        fixed = np.full(self._m, np.nan)
        fixed[list(banned)] = 0.0
        fixed[prefix] = 1.0
        found = Programme(limits).any(fixed)
        return None if found.x is None else np.flatnonzero(found.x > 0.5)

    def _extend(self, prefix: list[int], new: int, full: Ints) -> Ints | None:
        """Return a feasible slate with the prefix and one more, given one with the prefix."""
        if new in full:
            return full
        if not self._allowed[new]:
            return None
        limits, held = self._limits, [*prefix, new]
        sums = limits.member[:, held].sum(axis=1)
        left = self._size - len(held)
        if (sums > limits.high).any() or (limits.low - sums > left).any():
            return None
        fits = limits.swap_in(full, new) & ~np.isin(full, prefix)
        if fits.any():
            full = full.copy()
            full[int(fits.argmax())] = new
            return full
        return None if self.matroid else self._finish(held, frozenset())

    def completable(self, prefix: list[int], banned: frozenset[int]) -> bool:
        """Tell whether a partial slate can be completed within all limits."""
        if len(set(prefix)) < len(prefix) or not banned.isdisjoint(prefix):
            return False
        if self._simple:
            taken = np.zeros(self._m, dtype=bool)
            taken[prefix] = True
            free = self._allowed & ~taken
            free[list(banned)] = False
            left, missing = self._size - len(prefix), self._must & ~taken
            return bool(
                self._allowed[prefix].all()
                and free[missing].all()
                and missing.sum() <= left <= free.sum()
            )
        if banned:
            return self._finish(prefix, banned) is not None
        full = self.some
        for at, new in enumerate(prefix):
            if full is None:
                break
            full = self._extend(prefix[:at], new, full)
        return full is not None

    def fill(self, order: Sequence[int]) -> tuple[int, ...]:
        """Go through an order and take what keeps the slate completable.

        The other positions follow by position. `some` must not be None.
        """
        positions = itertools.chain(order, range(self._m))
        if self._simple:
            return self._fill_simple(positions)
        chosen: list[int] = []
        full = self.some
        for i in positions:
            if len(chosen) == self._size or full is None:
                break
            if i not in chosen and (longer := self._extend(chosen, i, full)) is not None:
                full = longer
                chosen.append(i)
        return tuple(chosen)

    def _fill_simple(self, positions: Iterable[int]) -> tuple[int, ...]:
        """Take what must be in and, while there is room beside it, what else is allowed."""
        chosen: list[int] = []
        allowed, must = self._allowed.tolist(), self._must.tolist()
        free = self._size - sum(must)
        for i in positions:
            if must[i] or (free and allowed[i]):
                free -= not must[i]
                allowed[i] = must[i] = False
                chosen.append(i)
            if len(chosen) == self._size:
                break
        return tuple(chosen)

    def search(self, worths: Sequence[Linear], hint: Floats, seed: int) -> Ints:
        """Return the best slate by least worth that swap local search reaches.

        It starts from a rounded hint (say, a relaxed optimum, shape (m,)), from what is best for
        each worth alone, and from random slates.
        """
        rng = np.random.default_rng(seed)
        total = np.asarray(sum(worth.values for worth in worths))
        orders = [np.lexsort((-total, -hint.round(9)))]
        orders += [np.argsort(-worth.values, kind="stable") for worth in worths]
        orders += [rng.permutation(self._m) for _ in range(_STARTS)]
        starts = {frozenset(s): s for s in (self.fill(order.tolist()) for order in orders)}
        ends = np.array([climb(worths, np.array(s), self._blocked) for s in starts.values()])
        least = np.min([worth.of(ends) for worth in worths], axis=0)
        return np.asarray(ends[int(least.argmax())])

    def _blocked(self, chosen: Ints) -> Bools:
        if not self._simple:
            return self._limits.blocked(chosen)
        shut = ~self._allowed
        shut[chosen] = True
        return shut | self._must[chosen, None]


def slate_extremes(worth: Linear, free: Ints, size: int) -> tuple[float, float]:
    """Return the lowest and the highest worth of any `size` of the alternatives `free`, exactly.

    Lowest: a slate's least u is that of one of its members, so
    `min_S U = min_j (w * u_j + values_j + the size - 1 smallest other values)`.
    Highest: for each threshold t, the best alternatives among those with u >= t, plus `w * t`;
    the true minimum of such a slate is at least t, and equals t for some threshold.

    Args:
        worth: additive but for at most one `least` term.
        free: positions that may be chosen, at least `size` of them.
        size: the number chosen, >= 1.
    """
    values = worth.values[free]
    bonus = np.zeros(len(free))
    for weight, u in worth.least:
        bonus = weight * u[free]
    ordered = np.sort(values)
    with_j = np.maximum(ordered[: size - 1].sum() + values, ordered[:size].sum())
    lowest = float((with_j + bonus).min())
    order = np.argsort(-bonus, kind="stable")
    top: list[float] = sorted(values[order[:size]].tolist())
    total = math.fsum(top)
    highest = total + float(bonus[order[size - 1]])
    rest = order[size:]
    for value, extra in zip(values[rest].tolist(), bonus[rest].tolist(), strict=True):
        total += value - heapq.heappushpop(top, value)
        highest = max(highest, total + extra)
    return worth.constant + lowest, worth.constant + highest


def climb(worths: Sequence[Linear], chosen: Ints, blocked: Callable[[Ints], Bools]) -> Ints:
    """Swap one alternative at a time, steepest first, as long as the least worth rises.

    Args:
        worths: the worth functions, of which the least one counts; ties go to the mean.
        chosen: a feasible slate, shape (k,).
        blocked: tells which swaps (k, m) are not allowed.

    Returns:
        A slate that no single swap improves.
    """
    chosen = chosen.copy()
    score = float(_goal(np.array([worth.of(chosen[None])[0] for worth in worths])))
    while True:
        goal = _goal(np.array([worth.swapped(chosen) for worth in worths]))
        goal[blocked(chosen)] = -math.inf
        best = int(goal.argmax())
        if goal.flat[best] <= score + 1e-12:
            return chosen
        score = goal.flat[best]
        chosen[best // goal.shape[1]] = best % goal.shape[1]


def _goal(worths: Floats) -> Floats:
    """Return the least of worths, shape (S, ...), and a little of their mean.

    The mean leads across the plateaus of a minimum.
    """
    return np.asarray(worths.min(axis=0) + 1e-6 * worths.mean(axis=0))
