"""Squared Kemeny: the ranking with the least weighted sum of squared swap distances."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairagents.errors import BallotError
from fairagents.profile import Profile, doubled_borda
from fairagents.rules.base import Basis, Needs, Order, OrderRule, Ties
from fairagents.rules.duels import ANONYMOUS, MOST, above_of
from fairagents.rules.kemeny import SEVERAL, distance_table, objective_table, places_of, swaps
from fairagents.rules.linear import SLACK, move, violated_triangles
from fairagents.rules.trace import column_table
from fairagents.spec import Floats, Ints

MOST_LISTED = 7
"""Up to so many alternatives all rankings are compared."""

MOST_PROVED = 100
"""Above, local search alone: the programme would find no better bound in time."""


class SquaredKemeny(OrderRule):
    """Squared Kemeny (Lederer, Peters & Was): swap distances count squared, so nobody is far off.

    minimise sum_v w_v d_v(r)^2, where d_v counts the pairs that r puts one way and v strictly the
    other way. A pair that v ties costs nothing (`tied="free"`, the default) or half a swap
    ("half"); unlike for Kemeny's rule that matters, for with "half" a ballot with many ties starts
    far off and weighs more. Neighbours share a tier where any order of them is as good; otherwise
    one optimal ranking is returned, and a note says so where others are known. Alternatives that
    all ballots tie may stand apart: to have one of them above and one below can be the compromise.
    Up to 7 alternatives all rankings are compared. Above, whole numbers for pairs with lazy
    triangles, and d^2 as the greatest of its tangents (2k + 1) d - k (k + 1), added lazily; after
    `time_limit` seconds, or above 100 alternatives, the best of insertion local searches from
    Borda's order and from each ballot stands with `optimal=False` and the gap to what is proved.
    Proved up to the solver's tolerance, 1e-6 swaps squared in the weighted mean.
    Source: Lederer, Peters & Was 2024, arXiv 2404.08474 (strict ballots; as commonly stated).

    >>> profile = Profile.from_rankings([list("abcdef"), list("fedcba")], weights=[0.51, 0.49])
    >>> SquaredKemeny()(profile).table("distances").rows[1]
    ('distance', 7, 8, 7.49)
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "argmin_r sum_v w_v swaps(r, v)^2"
    source: ClassVar[str] = "Lederer, Peters & Was 2024, arXiv 2404.08474 (as commonly stated)"
    complexity: ClassVar[str] = "NP-hard; local search O(n m^2) a round"
    holds: ClassVar[Mapping[str, str]] = ANONYMOUS | {
        "unanimity": "what is first on all ballots is above each other one on all",
        "pareto": "to swap the two would be nearer to every ballot",
        "separability": "a ballot that ties all is as far from every ranking",
    }

    time_limit: float = Field(default=5.0, gt=0)
    tied: Literal["free", "half"] = "free"

    def order(self, profile: Profile) -> Order:
        """Order with the seeded tie-break of seed 0."""
        return self.order_with(profile, Ties(profile, self.tie_break, 0))

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Find the ranking with the least sum of squares.

        Raises:
            BallotError: more than 5,000 alternatives.
        """
        deadline = time.monotonic() + self.time_limit
        m = len(profile.ids)
        if m > MOST:
            raise BallotError(
                f"{self.name} takes at most {MOST} alternatives, not {m}: cut the agenda"
            )
        rows = np.argsort(ties.places)
        ballots, unit = _Ballots.of(profile, rows, self.tied)
        best = _listed(ballots) if m <= MOST_LISTED else _searched(ballots, deadline)
        optimal = best.value <= best.bound
        tiers = ballots.tiers(best.order)
        several = optimal and (best.several or ballots.open(best.order, tiers))
        levels = np.empty(m, dtype=np.int64)
        levels[rows] = tiers
        sequence = ties.sequence(levels)
        places = places_of(sequence)
        # Doubled distances squared are four times the squares.
        scale = 4 * profile.whole_weights[1] / unit
        value, bound = best.value / scale, best.bound / scale
        return Order(
            levels,
            None,
            (
                distance_table(profile, sequence, squared=True),
                objective_table("weighted squared swaps", value, bound),
                column_table("ranking", profile.ids, ("place",), (places + 1,), places),
            ),
            (SEVERAL,) if several else (),
            optimal,
            None if optimal else value - bound,
        )


@dataclass(frozen=True)
class _Best:
    order: Ints
    value: int
    bound: int
    several: bool = False


@dataclass(frozen=True)
class _Ballots:
    """Different ballots with columns in the tie-break's order, and their whole weights.

    Attributes:
        ranks: shape (n, m).
        weights: shape (n,), without a common divisor.
        base: what a ballot's doubled distance holds for its own ties, shape (n,).
    """

    ranks: Ints
    weights: Any
    base: Any

    @classmethod
    def of(cls, profile: Profile, rows: Ints, tied: str) -> tuple[_Ballots, int]:
        """Return the ballots and the common divisor that was taken from the weights."""
        whole, _ = profile.whole_weights
        dense = np.array([np.unique(row, return_inverse=True)[1] for row in profile.ranks[:, rows]])
        ranks, which = np.unique(dense.reshape(len(profile), -1), axis=0, return_inverse=True)
        m = len(rows)
        wide = whole.dtype == object or int(whole.sum()) * m**4 > 2**60
        weights = np.zeros(len(ranks), dtype=object if wide else np.int64)
        np.add.at(weights, which.reshape(-1), whole.astype(weights.dtype))
        unit = int(np.gcd.reduce(weights))
        same = [sum(k * (k - 1) // 2 for k in np.bincount(row).tolist()) for row in ranks]
        base = np.array(same if tied == "half" else [0] * len(ranks), dtype=weights.dtype)
        return cls(ranks, weights // unit, base), unit

    def doubled(self, order: Ints) -> Any:
        """Return each ballot's doubled distance from an order, shape (n,)."""
        return 2 * swaps(self.ranks, order).astype(self.base.dtype) + self.base

    def values(self, doubled: Any) -> Any:
        """Return the weighted sums of squares of doubled distances, shape (n, orders)."""
        return self.weights @ doubled**2

    def signs(self, a: Any, b: Any) -> Any:
        """Return 1 where a ballot places a above b, -1 where below, 0 where it ties them."""
        return np.sign(self.ranks[:, b] - self.ranks[:, a])

    def moves(self, order: Ints, row: int, doubled: Any) -> tuple[int, Any]:
        """Return where a row stands, and the doubled distances with it in front of each place."""
        at = int(np.flatnonzero(order == row)[0])
        sums = np.zeros((len(self.ranks), len(order) + 1), dtype=self.base.dtype)
        np.cumsum(self.signs(np.full(len(order), row), order), axis=1, out=sums[:, 1:])
        return at, doubled[:, None] - 2 * (sums[:, [at]] - sums)

    def improved(self, order: Ints, deadline: float) -> tuple[Ints, int]:
        """Return an order that no move of one row to another place improves, and its value."""
        order = order.copy()
        doubled = self.doubled(order)
        moved = True
        while moved and time.monotonic() < deadline:
            moved = False
            for row in range(len(order)):
                if time.monotonic() > deadline:
                    break
                at, found = self.moves(order, row, doubled)
                values = self.values(found)
                to = int(np.argmin(values))
                if values[to] < values[at]:
                    move(order, at, to)
                    doubled = found[:, to]
                    moved = True
        return order, int(self.values(doubled))

    def tiers(self, order: Ints) -> Ints:
        """Return the tier of each alternative, shape (m,).

        Neighbours share a tier where turning any pairs within tiers changes nothing: the value is
        quadratic in the turned pairs, so each must be neutral alone and with each other one.
        """
        doubled = self.doubled(order)
        levels = np.zeros(len(order), dtype=np.int64)
        start, turns = 0, np.zeros((len(self.ranks), 0), dtype=self.base.dtype)
        for i in range(1, len(order)):
            new = 2 * self.signs(order[start:i], np.full(i - start, order[i]))
            new = new[:, new.any(axis=0)].astype(self.base.dtype)
            every = np.column_stack([turns, new])
            alone = self.weights @ (new * (2 * doubled[:, None] + new))
            cross = (new * self.weights[:, None]).T @ every
            np.fill_diagonal(cross[:, turns.shape[1] :], 0)
            if (alone != 0).any() or (cross != 0).any():
                start = i
            else:
                turns = every
            levels[order[i]] = levels[order[i - 1]] + (start == i)
        return levels

    def open(self, order: Ints, tiers: Ints) -> bool:
        """Tell whether moving one row out of its tier gives an order that is as good."""
        doubled, levels = self.doubled(order), tiers[order]
        for row in order.tolist():
            at, found = self.moves(order, row, doubled)
            values = self.values(found)
            same = np.flatnonzero(levels == levels[at])
            outside = np.r_[values[: same[0]], values[same[-1] + 2 :]]
            if (outside == values[at]).any():
                return True
        return False


# -- few alternatives ----------------------------------------------------------------------------


def _listed(ballots: _Ballots) -> _Best:
    """Return the first of the best rankings of a few alternatives."""
    orders, before = _rankings(ballots.ranks.shape[1])
    a, b = np.triu_indices(ballots.ranks.shape[1], 1)
    above = ballots.signs(a, b)
    against = (above > 0).sum(axis=1)[:, None] - above @ before.T
    values = ballots.values(2 * against.astype(ballots.base.dtype) + ballots.base[:, None])
    first = int(np.argmin(values))
    value = int(values[first])
    sizes = np.bincount(ballots.tiers(orders[first])).tolist()
    several = int((values == value).sum()) > math.prod(map(math.factorial, sizes))
    return _Best(orders[first], value, value, several)


@functools.cache
def _rankings(m: int) -> tuple[Ints, Ints]:
    """Return all rankings, and for each whether a stands before b for all a < b, as 0 or 1."""
    orders = np.array(list(itertools.permutations(range(m)))).reshape(-1, m)
    places = np.argsort(orders, axis=1)
    a, b = np.triu_indices(m, 1)
    return orders, (places[:, a] < places[:, b]).astype(np.int64)


# -- local search and programme --------------------------------------------------------------------


def _searched(ballots: _Ballots, deadline: float) -> _Best:
    points = ballots.weights @ doubled_borda(ballots.ranks).astype(ballots.weights.dtype)
    order, value = ballots.improved(np.argsort(-points, kind="stable"), deadline)
    for start in np.argsort(ballots.ranks, axis=1, kind="stable"):
        if time.monotonic() > deadline:
            break
        other, other_value = ballots.improved(start, deadline)
        if other_value < value:
            order, value = other, other_value
    bound = _by_means(ballots)
    if ballots.ranks.shape[1] > MOST_PROVED:
        return _Best(order, value, bound)
    programme = _Programme(ballots, bound)
    programme.touch(ballots.doubled(order))
    while value > programme.bound and time.monotonic() < deadline:
        found = programme.solve(deadline)
        if found is None or value <= programme.bound:
            break
        start = np.argsort(-programme.matrix(found).sum(axis=1), kind="stable")
        other, other_value = ballots.improved(start, deadline)
        if other_value < value:
            order, value = other, other_value
        if value <= programme.bound or not (programme.cut(found) or programme.whole()):
            break
    # What the solver cannot tell apart counts as proved.
    close = value - programme.bound <= 8 * SLACK * programme.whole_weight
    return _Best(order, value, value if close else programme.bound)


def _by_means(ballots: _Ballots) -> int:
    """Return a bound from the mean distance: a mean of squares is no less than its square."""
    above = above_of(ballots.ranks, ballots.weights)
    # Each pair is counted from both sides, and distances are doubled.
    least = int(np.minimum(above, above.T).sum(dtype=ballots.weights.dtype))
    least += int((ballots.weights * ballots.base).sum())
    return -(-(least**2) // int(ballots.weights.sum()))


class _Programme:
    """Pairs x(a, b), a < b, and for each ballot a number q that is at least its distance squared.

    A ballot's distance without its ties is e = against + signs x; doubled, with its ties, 2 e + t,
    squared 4 (e^2 + t e) + t^2; and e^2 >= (2k + 1) e - k (k + 1) for all whole k.
    """

    def __init__(self, ballots: _Ballots, bound: int) -> None:
        self.ballots, self.bound = ballots, bound
        n, self.size = ballots.ranks.shape
        self.upper = np.triu_indices(self.size, 1)
        self.pairs = len(self.upper[0])
        self.place = np.zeros((self.size, self.size), dtype=np.int64)
        self.place[self.upper] = np.arange(self.pairs)
        above = ballots.signs(*self.upper)
        self.against = (above > 0).sum(axis=1)
        self.signs = -above
        whole = int(ballots.weights.sum())
        self.share = (ballots.weights / whole).astype(np.float64)
        self.whole_weight = whole
        self.base = ballots.base.astype(np.float64)
        self.fixed = int((ballots.weights * ballots.base**2).sum())
        # What all agree on stands so in every best ranking; of those that all tie the first is
        # first, for they could change places.
        self.low = (above >= 0).all(axis=0).astype(np.float64)
        self.high = 1.0 - ((above <= 0).all(axis=0) & (above < 0).any(axis=0))
        self.triangles = np.zeros((0, 3), dtype=np.int64)
        self.tangents: set[tuple[int, int]] = {(v, 0) for v in range(n)}
        self.integral = False

    def touch(self, doubled: Any) -> None:
        """Add the tangents next to given doubled distances."""
        for v, d in enumerate(((doubled - self.ballots.base) // 2).tolist()):
            self.tangents |= {(v, k) for k in (d - 1, d, d + 1) if k >= 0}

    def solve(self, deadline: float) -> Floats | None:
        """Return the optimal variables, or None when time is out; `bound` is what is proved."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        n = len(self.share)
        cost = np.concatenate([(self.share * self.base) @ self.signs, self.share])
        v, k = np.array(sorted(self.tangents)).T
        slopes = np.hstack([-(2 * k + 1)[:, None] * self.signs[v], np.eye(n)[v]])
        low = -k * (k + 1) + (2 * k + 1) * self.against[v]
        a, b, c = self.triangles.T
        columns = np.column_stack([self.place[a, b], self.place[b, c], self.place[a, c]]).ravel()
        rows = np.repeat(np.arange(len(self.triangles)), 3)
        signs = np.tile([1.0, 1.0, -1.0], len(self.triangles))
        shape = (len(self.triangles), self.pairs + n)
        found = milp(
            cost,
            integrality=np.repeat([int(self.integral), 0], [self.pairs, n]),
            bounds=Bounds(
                np.append(self.low, np.zeros(n)), np.append(self.high, np.full(n, np.inf))
            ),
            constraints=[
                LinearConstraint(csr_array(slopes.astype(np.float64)), low, np.inf),
                LinearConstraint(csr_array((signs, (rows, columns)), shape=shape), 0, 1),
            ],
            options={"time_limit": max(deadline - time.monotonic(), 0.01), "mip_rel_gap": 1e-9},
        )
        dual = found.mip_dual_bound if self.integral else found.fun if found.status == 0 else None
        if dual is not None and np.isfinite(dual):
            dual += (self.share * self.base) @ self.against
            proved = 4 * (dual - SLACK) * self.whole_weight + self.fixed
            self.bound = max(self.bound, int(np.ceil(proved)))
        return found.x if found.status == 0 else None

    def matrix(self, x: Floats) -> Floats:
        """Return the pairs as a matrix, shape (m, m)."""
        matrix = np.zeros((self.size, self.size))
        matrix[self.upper] = x[: self.pairs]
        matrix[self.upper[::-1]] = 1 - x[: self.pairs]
        return matrix

    def cut(self, x: Floats) -> bool:
        """Add the triangles and tangents that a solution violates; False when there are none."""
        violated, _ = violated_triangles(self.matrix(x))
        self.triangles = np.vstack([self.triangles, violated])
        before = len(self.tangents)
        e, q = self.against + self.signs @ x[: self.pairs], x[self.pairs :]
        for v, k in enumerate(np.floor(e + SLACK).astype(int).tolist()):
            if q[v] < (2 * k + 1) * e[v] - k * (k + 1) - SLACK:
                near = (k - 1, k, k + 1) if self.integral else (k,)
                self.tangents |= {(v, i) for i in near if i >= 0}
        return len(violated) > 0 or len(self.tangents) > before

    def whole(self) -> bool:
        """Make pairs whole; False when they are already."""
        before, self.integral = self.integral, True
        return not before
