"""The best committees by a score, exactly: branch and bound, or integer programmes one by one."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fairagents._programme import Programme, proven
from fairagents.feasible import Feasible
from fairagents.rules._walk import NEAR
from fairagents.spec import Floats, Ints

MOST_SOLVED = 10
"""So many programmes are solved at most to find committees that tie."""


@dataclass(frozen=True)
class Best:
    """What was found.

    Attributes:
        committees: the best committees as sorted positions.
        score: their exact score.
        more: whether there may be others as good.
        optimal: whether the score is proved to be the best.
        bound: a proven bound of the score from above where it is not.
    """

    committees: list[tuple[int, ...]]
    score: Any
    more: bool = False
    optimal: bool = True
    bound: float | None = None

    @property
    def gap(self) -> float | None:
        """How far the score is from the bound, relative to scores above 1."""
        if self.bound is None:
            return None
        value = float(self.score)
        return max(0.0, self.bound - value) / max(1.0, abs(value))


def by_programmes(
    task: Feasible,
    programme: Programme,
    goal: tuple[Ints, Floats],
    score: Callable[[tuple[int, ...]], Any],
    start: tuple[int, ...],
    ceiling: float,
    time_limit: float,
) -> Best:
    """Return the committees of the greatest score, found one after another.

    Each programme excludes the committees found before; floats only tell which may be the best.

    Args:
        task: the limits.
        programme: over the amounts, with what else the score needs.
        goal: variables and weights whose sum is the score, about 1 in size.
        score: the exact score of a committee, in the same scale.
        start: a committee known beforehand.
        ceiling: no score is greater.
        time_limit: seconds for the first programme; the others have as much together.
    """
    places, weights = goal
    first, reached = start, score(start)
    if float(reached) < ceiling:
        found = programme.solve(places, -weights, time_limit=time_limit)
        if found.x is not None:
            first = committee_of(task, task.amounts(found))
        if found.status != 0:
            first = max(first, start, key=score)
            bound = max(min(ceiling, -proven(found)), float(score(first)))
            return Best([first], score(first), more=True, optimal=False, bound=bound)
        reached = score(first)
    committees = [first]
    end = time.perf_counter() + time_limit
    for _ in range(MOST_SOLVED):
        programme.rows(programme.cells[list(first)][None], 1.0, high=task.size - 1)
        found = programme.solve(places, -weights, time_limit=max(0.05, end - time.perf_counter()))
        if found.x is None:
            return Best(committees, reached, more=found.status != 2)
        first = committee_of(task, task.amounts(found))
        value = score(first)
        if value > reached:
            committees, reached = [], value
        if value == reached:
            committees.append(first)
        elif float(reached) - float(value) > LOOSE * max(1.0, abs(float(reached))):
            return Best(committees, reached, more=found.status != 0)
    return Best(committees, reached, more=True)


def of_few(task: Feasible, score: Callable[[tuple[int, ...]], Any]) -> Best | None:
    """Return the committees of the greatest score where there are few, else None."""
    open_ = np.flatnonzero(task.allowed).tolist()
    if math.comb(len(open_), task.size) > FEW:
        return None
    committees = itertools.combinations(open_, task.size)
    scores = {one: score(one) for one in committees if task.plain or task.completable(one)}
    most = max(scores.values())
    return Best([one for one, value in scores.items() if value == most], most)


def committee_of(task: Feasible, x: Floats) -> tuple[int, ...]:
    """Return the positions of a slate's members."""
    return tuple(np.flatnonzero(x[: len(task.ids)] > 0.5).tolist())


LOOSE = 1e-6
"""What a programme says is best may be worse than another by this much."""

MOST_WORK = 1_500_000
"""Branch and bound gives up after so many nodes times (voters + 20)."""

LITTLE_WORK = 150_000
"""The same where a committee is proved to be best and only others that tie are looked for."""

FEW = 2_000
"""So many committees are simply all looked at, where there is no better way."""


class Search:
    """Branch and bound over committees by kind, for scores sum_v share_v H(members v approves).

    With multipliers lambda_v >= 0 no committee S is worth more than the sum over its members of
    sum_v [v approves] lambda_v, plus sum_v max_t (share_v H(t) - lambda_v t). The multipliers are
    those of the linear relaxation; floats bound, what comes close is compared exactly.

    Args:
        approved: shape (n, c), 0.0 and 1.0.
        sizes: how many there are of each kind.
        share: shape (n,), positive.
        worth: what the first, second, ... member is worth to a voter, falling, shape (k,).
        exact: exact score of counts per voter, in the scale of `share`.
        most: so many best committees are listed.
    """

    def __init__(
        self,
        approved: Floats,
        sizes: Ints,
        share: Floats,
        worth: Floats,
        exact: Callable[[Sequence[int]], Fraction],
        most: int,
    ) -> None:
        self.k, self._exact, self._most = len(worth), exact, most
        self._nodes = MOST_WORK // (len(share) + 20)
        sizes = np.minimum(sizes, self.k)
        multipliers = _multipliers(approved, sizes, share, worth)
        prices: Floats = multipliers @ approved
        order = np.argsort(-prices, kind="stable")
        self._slots = np.repeat(order, sizes[order]).tolist()
        self._ends = np.repeat(np.cumsum(sizes[order]), sizes[order]).tolist()
        self._prices: list[float] = prices.tolist()
        self._sums = np.concatenate([[0.0], np.cumsum(prices[self._slots])]).tolist()
        heights = share[:, None] * np.concatenate([[0.0], np.cumsum(worth)])
        surplus = heights - multipliers[:, None] * np.arange(self.k + 1)
        self._surplus = _ahead(surplus)
        self._voters = [np.flatnonzero(column).tolist() for column in approved.T]
        self._counts = [0] * len(share)
        self._path: list[int] = []
        self.score: Fraction = Fraction(-1)
        self.found: list[tuple[int, ...]] = []
        self.more = False
        self._least = -1.0

    @property
    def bound(self) -> float:
        """The bound of all committees."""
        return float(self._sums[self.k] + sum(row[0] for row in self._surplus[self.k]))

    def run(self, kinds: Sequence[int]) -> bool:
        """Search from a committee known beforehand; False if no best committee is proved."""
        counts = [0] * len(self._counts)
        for kind in kinds:
            for v in self._voters[kind]:
                counts[v] += 1
        self.score, self.found = self._exact(counts), [tuple(sorted(kinds))]
        self._least = float(self.score) - NEAR
        proved = self.bound < self._least + 2 * NEAR
        if proved:  # only those that tie are looked for
            self._nodes = LITTLE_WORK // (len(counts) + 20)
        done = self._extend(0, 0.0)
        self.more = self.more or not done
        return done or proved

    def _extend(self, start: int, paid: float) -> bool:
        """Add to the committee from a slot on; what is taken costs `paid`."""
        left = self.k - len(self._path)
        if not left:
            self._leaf()
            return True
        counts, ahead = self._counts, self._surplus[left]
        surplus = sum(row[count] for row, count in zip(ahead, counts, strict=True))
        slots, sums, at = self._slots, self._sums, start
        while at + left <= len(slots):
            if paid + sums[at + left] - sums[at] + surplus < self._least:
                return True
            self._nodes -= 1
            if self._nodes < 0:
                return False
            kind = slots[at]
            for v in self._voters[kind]:
                counts[v] += 1
            self._path.append(kind)
            done = self._extend(at + 1, paid + self._prices[kind])
            self._path.pop()
            for v in self._voters[kind]:
                counts[v] -= 1
            if not done:
                return False
            at = self._ends[at]
        return True

    def _leaf(self) -> None:
        score = self._exact(self._counts)
        if score > self.score:
            self.score, self.found, self.more = score, [], False
            self._least = float(score) - NEAR
        one = tuple(sorted(self._path))
        if score == self.score and one not in self.found[:1]:
            if len(self.found) < self._most:
                self.found.append(one)
            else:
                # Enough are listed: from here on only better ones are looked for.
                self.more = True
                self._least = float(score) + NEAR


def _ahead(surplus: Floats) -> list[list[list[float]]]:
    """Return what is left over for a voter who has c with so many seats left.

    That is the most over c <= t <= c + left, by left, voter and c.
    """
    tables = [surplus]
    for left in range(1, surplus.shape[1]):
        longer = surplus.copy()
        longer[:, :-1] = np.maximum(surplus[:, :-1], tables[left - 1][:, 1:])
        tables.append(longer)
    return [table.tolist() for table in tables]


def _multipliers(approved: Floats, sizes: Ints, share: Floats, worth: Floats) -> Floats:
    """Return what one more member would be worth to each voter in the linear relaxation."""
    from scipy.optimize import linprog as solve
    from scipy.sparse import csr_array, hstack, kron, vstack

    n, k = len(share), len(worth)
    steps = int(np.count_nonzero(worth))
    cost = np.concatenate([np.zeros(len(sizes)), -(share[:, None] * worth[:steps]).ravel()])
    counts = kron(csr_array(np.eye(n)), np.ones((1, steps)))
    most = np.concatenate([sizes, np.ones(n * steps)])
    total = csr_array(np.concatenate([np.ones(len(sizes)), np.zeros(n * steps)])[None])
    linprog: Any = solve  # its stubs know no sparse matrices
    found = linprog(
        cost,
        A_ub=vstack([hstack([csr_array(-approved), counts])]),
        b_ub=np.zeros(n),
        A_eq=total,
        b_eq=[k],
        bounds=np.column_stack([np.zeros(len(most)), most]),
        method="highs",
    )
    if found.ineqlin is None:
        return np.zeros(n)
    multipliers: Floats = np.maximum(-found.ineqlin.marginals, 0.0)
    return multipliers
