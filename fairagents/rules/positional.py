"""Positional rules: a place on a ballot is worth points.

Tied alternatives share the places they take: each gets the mean of their points. Unranked ones are
tied last, so they share the last places. Points, weights and totals are exact.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from fairagents.profile import Profile, doubled_borda
from fairagents.record import Many
from fairagents.rules.base import Basis, Needs, Order, OrderRule, levels_of
from fairagents.rules.trace import ballot_table
from fairagents.spec import Bools, Floats, Ints

SAFE = 2**62
"""Whole numbers below this are counted in 64 bits, greater ones as Python's own."""

BLOCK = 2**15
"""So many numbers are sorted at once in a batch: what fits into the processor's cache."""

SYMMETRY = {
    "anonymity": "a sum over ballots",
    "neutrality": "points depend on places alone",
    "homogeneity": "totals are proportional to the weights",
    "reinforcement": "totals of two electorates add up (Smith 1973, Young 1975)",
    "monotonicity": "points do not fall with the place, and others move down if at all",
    "separability": "a ballot on which all are tied gives all the same",
}
"""What holds for every rule of points that do not rise from place to place."""


class Positional(OrderRule):
    """A rule of points per place. A subclass gives `points`.

    total(a) = sum_v w_v mean of s_i over the places i that a's tier takes on ballot v.
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    complexity: ClassVar[str] = "O(n m)"

    @abc.abstractmethod
    def points(self, m: int) -> Iterable[int | Fraction]:
        """Return what the places 1 to m are worth."""

    def left_out(self, profile: Profile) -> Bools | None:
        """Return which alternatives get nothing from a ballot, shape (n, m), whatever their place.

        None where all get the points of their places.
        """
        return None

    def order(self, profile: Profile) -> Order:
        """Order by total points."""
        weights, scale = profile.whole_weights
        values, unit, tier = _tier_points(profile.ranks, self, weights, self.left_out(profile))
        kinds, inverse = tier, np.arange(tier.shape[1])
        if values.dtype == object:
            # Long numbers are summed once per kind of alternative, say of those nobody lists.
            kinds, inverse = np.unique(tier, axis=1, return_inverse=True)
        exact = weights @ values[kinds]
        totals = (exact / (unit * scale)).astype(np.float64)[inverse]
        levels = levels_of(exact)[inverse]
        cells = (values / unit).astype(np.float64)[tier]
        table = ballot_table("points", profile, cells, levels, totals, "sum")
        return Order(levels, totals, (table,))

    def batch(self, said: Floats, weights: Ints) -> Floats | Ints | None:
        """Return what orders the alternatives of many profiles, shape (b, m).

        Exact multiples of the totals, or tiers from below where those do not fit into 64 bits.
        """
        voice = int(weights.sum())

        def totals(block: Floats) -> Ints:
            m = block.shape[-1]
            order, below, sizes = _groups(block)
            sums, _ = _prefix(self.points(m))
            common = math.lcm(*np.flatnonzero(np.bincount(sizes)).tolist())
            table: Any = np.array(sums, dtype=np.int64 if sums[-1] < SAFE else object)
            if sums[-1] * common * voice >= SAFE:
                table = table.astype(object)
            ends = m - below
            points = (table[ends] - table[ends - sizes]) * (common // sizes.astype(table.dtype))
            cells = _spread(points, sizes, order, block.shape)
            if cells.dtype != object:
                exact: Ints = np.einsum("n,bnm->bm", weights, cells)
                return exact
            sums_ = (weights.astype(object)[:, None] * cells).sum(axis=1)
            return -np.array([levels_of(row) for row in sums_])

        return _blockwise(said, totals)


class Plurality(Positional):
    """Plurality: a ballot gives one point to its first alternative.

    total(a) = sum_v w_v [a in top_v] / |top_v|: tied first places share the point.
    O(n m). Source: as commonly stated.

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"]], weights=[2, 1])
    >>> Plurality()(profile).totals
    (('a', 2.0), ('b', 1.0), ('c', 0.0))
    """

    formula: ClassVar[str] = "sum_v w_v [a in top_v] / |top_v|"
    source: ClassVar[str] = "as commonly stated"
    holds: ClassVar[Mapping[str, str]] = SYMMETRY | {
        "unanimity": "it has all points",
        "pareto": "who is below another everywhere has no point, and somebody has one",
        "majority": "it has more than half of all points",
        "later_no_harm": "points depend on the first place alone",
    }

    def points(self, m: int) -> Iterable[int | Fraction]:
        """Return 1, 0, 0, ..."""
        return (int(i == 0) for i in range(m))


class Veto(Positional):
    """Veto, or anti-plurality: a ballot gives one point to all but its last alternative.

    total(a) = sum_v w_v (1 - [a in last_v] / |last_v|): of t alternatives that are tied or
    unranked last each gets (t - 1) / t. O(n m). Source: as commonly stated.

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"]], weights=[2, 1])
    >>> Veto()(profile).totals
    (('b', 3.0), ('a', 2.0), ('c', 1.0))
    """

    formula: ClassVar[str] = "sum_v w_v (1 - [a in last_v] / |last_v|)"
    source: ClassVar[str] = "as commonly stated"
    holds: ClassVar[Mapping[str, str]] = SYMMETRY

    def points(self, m: int) -> Iterable[int | Fraction]:
        """Return 1, ..., 1, 0."""
        return (int(i < m - 1) for i in range(m))


class KApproval(Positional):
    """k-approval: a ballot gives one point to each of its first k alternatives.

    total(a) = sum_v w_v (share of a's tier that fits into the first k places). `k` is cut to the
    number of alternatives. O(n m). Source: as commonly stated.

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", ["a", "c"]]])
    >>> KApproval(k=2)(profile).totals
    (('b', 2.0), ('a', 1.5), ('c', 0.5))
    """

    name = "k_approval"
    formula: ClassVar[str] = "sum_v w_v |tier_v(a) within places 1..k| / |tier_v(a)|"
    source: ClassVar[str] = "as commonly stated"
    holds: ClassVar[Mapping[str, str]] = SYMMETRY

    k: int = Field(default=3, ge=1)

    def points(self, m: int) -> Iterable[int | Fraction]:
        """Return 1 up to place k, then 0."""
        return (int(i < self.k) for i in range(m))


class Borda(Positional):
    """Borda's rule: a ballot gives an alternative one point for each one it places lower.

    total(a) = sum_v w_v (|{b : a above b}| + |{b != a : a tied with b}| / 2); tied places share
    their points evenly, unranked alternatives are tied last. Exact arithmetic; O(n m log m).
    Source: Borda 1781; ties as in Cullinan, Hsiao & Polett 2014 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> Borda()(Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"]])).totals
    (('b', 3.0), ('a', 2.0), ('c', 1.0))
    """

    formula: ClassVar[str] = "sum_v w_v (number below a + half the number tied with a)"
    source: ClassVar[str] = "Borda 1781; ties: Cullinan, Hsiao & Polett 2014 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = SYMMETRY | {
        "unanimity": "it has all points there are",
        "pareto": "who is below another everywhere has fewer points",
        "condorcet_loser": "it has less than the mean total: its margins sum to less than 0",
        "reversal": "reversed totals are a constant minus the totals",
    }

    def points(self, m: int) -> Iterable[int | Fraction]:
        """Return m - 1, m - 2, ..., 0."""
        return range(m - 1, -1, -1)

    def order(self, profile: Profile) -> Order:
        """Order by total points."""
        weights, scale = profile.whole_weights
        doubled = doubled_borda(profile.ranks)
        exact = weights @ doubled
        levels = levels_of(exact)
        totals = exact.astype(np.float64) / (2 * scale)
        table = ballot_table("points", profile, doubled / 2, levels, totals, "sum")
        return Order(levels, totals, (table,))

    def batch(self, said: Floats, weights: Ints) -> Floats | Ints | None:
        """Return twice the weighted points of many profiles, shape (b, m)."""
        return _blockwise(
            said, lambda block: np.einsum("n,bnm->bm", weights, doubled_points(block))
        )


class Dowdall(Positional):
    """Dowdall's rule, used in Nauru: place i is worth 1 / i.

    total(a) = sum_v w_v 1 / place_v(a), tied places sharing; exact fractions.
    O(n m) sums of fractions. Source: Fraenkel & Grofman 2014 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", ["a", "c"]]])
    >>> [(one, round(total, 6)) for one, total in Dowdall()(profile).totals]
    [('b', 1.5), ('a', 1.416667), ('c', 0.75)]
    """

    formula: ClassVar[str] = "sum_v w_v / place_v(a)"
    source: ClassVar[str] = "Fraenkel & Grofman 2014 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = SYMMETRY | {
        "unanimity": "it has all points there are",
        "pareto": "who is below another everywhere has fewer points",
    }

    def points(self, m: int) -> Iterable[int | Fraction]:
        """Return 1, 1/2, 1/3, ..."""
        return (Fraction(1, i) for i in range(1, m + 1))


class Scoring(Positional):
    """A rule of any points per place: `scores`, which must not rise; places beyond them get 0.

    total(a) = sum_v w_v s(place_v(a)), tied places sharing. A number counts as the decimal it
    prints; scores of places beyond the last alternative are left out. By default the points of
    Formula One since 2010. O(n m). Source: Young 1975 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", ["a", "c"]]])
    >>> Scoring(scores=(3, 1))(profile).totals
    (('b', 4.0), ('a', 3.5), ('c', 0.5))
    """

    formula: ClassVar[str] = "sum_v w_v s(place_v(a))"
    source: ClassVar[str] = "Young 1975 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = SYMMETRY | {
        "unanimity": "the first place is worth more than any other",
        "pareto": "who is below another everywhere has fewer points, or none at all",
    }

    scores: Many[float] = (25, 18, 15, 12, 10, 8, 6, 4, 2, 1)

    @field_validator("scores")
    @classmethod
    def _fall(cls, scores: Sequence[float]) -> Sequence[float]:
        rises = [(a, b) for a, b in itertools.pairwise(scores) if a < b]
        if rises:
            raise ValueError(f"scores must not rise from place to place, as {rises[0]} do")
        if not scores or scores[0] <= 0 or scores[-1] < 0:
            raise ValueError("scores must be >= 0, and the first one > 0")
        return scores

    def points(self, m: int) -> Iterable[int | Fraction]:
        """Return the scores, then 0."""
        given = (Fraction(repr(score)) for score in self.scores)
        return itertools.islice(itertools.chain(given, itertools.repeat(0)), m)


# -- points of tiers -----------------------------------------------------------------------------


def _prefix(points: Iterable[int | Fraction]) -> tuple[list[int], int]:
    """Return the sums of the first 0, 1, 2, ... points times a common denominator, and that."""
    given = list(points)
    unit = math.lcm(*{p.denominator for p in given})
    whole = (p.numerator * (unit // p.denominator) for p in given)
    return list(itertools.accumulate(whole, initial=0)), unit


def _tier_points(
    ranks: Ints, rule: Positional, weights: Any, nothing: Bools | None
) -> tuple[Any, int, Ints]:
    """Return the points of each tier times a common denominator, and that denominator.

    Returns:
        Points of all tiers of all ballots, shape (n (m + 1),); the denominator; and the position
        of each alternative's tier among them, shape (n, m).
    """
    n, m = ranks.shape
    tier = ranks + np.arange(0, n * (m + 1), m + 1)[:, None]
    sizes = np.bincount(tier.ravel(), minlength=n * (m + 1))
    ends = sizes.reshape(n, m + 1).cumsum(axis=1).ravel()
    if nothing is not None:
        # Tier m is always empty, hence worth nothing.
        sizes[tier[nothing]] = 0
        tier[nothing] = m
    counted = np.flatnonzero(sizes)
    size, end = sizes[counted], ends[counted]
    sums, unit = _prefix(itertools.islice(rule.points(m), int(end.max(initial=0))))
    common = math.lcm(*set(size.tolist()))
    safe = weights.dtype != object and sums[-1] * common * int(weights.sum()) < SAFE
    kind = np.int64 if safe else object
    table, values = np.array(sums, dtype=kind), np.zeros(n * (m + 1), dtype=kind)
    values[counted] = (table[end] - table[end - size]) * (common // size.astype(kind))
    return values, unit * common, tier


# -- many profiles at once -----------------------------------------------------------------------


def _blockwise(said: Floats, totals: Callable[[Floats], Ints]) -> Ints:
    """Return the totals of many profiles, worked out so many at a time as the cache holds."""
    b, n, m = said.shape
    step = max(1, BLOCK // (n * m))
    found: Ints = np.empty((b, m), dtype=np.int64)
    for start in range(0, b, step):
        found[start : start + step] = totals(said[start : start + step])
    return found


GRID = 10**6
"""Ratings that are whole multiples of 1 / GRID, as scripted ballots are, are sorted faster."""


def _ascending(rows: Floats) -> tuple[Ints, Any]:
    """Return the flat positions that sort each row upwards, and what tells its values apart.

    Values on the grid are packed with their positions into 32 bits: sorting these is several
    times as fast as sorting floats by reference.
    """
    m = rows.shape[1]
    starts = np.arange(0, rows.size, m)[:, None]
    bits = (m - 1).bit_length()
    codes = np.rint(rows * GRID)
    on_grid = bits <= 11 and codes.min() >= 0 and codes.max() <= GRID
    if not (on_grid and np.array_equal(codes / GRID, rows)):
        order = rows.argsort(axis=1) + starts
        return order.ravel(), rows.ravel()[order.ravel()]
    keys = codes.astype(np.int32) << bits
    keys |= np.arange(m, dtype=np.int32)
    keys.sort(axis=1)
    order = (keys & ((1 << bits) - 1)) + starts
    return order.ravel(), (keys >> bits).ravel()


def _groups(ratings: Floats) -> tuple[Ints, Ints, Ints]:
    """Return the flat positions that sort each ballot upwards, and its groups of equals.

    Returns:
        Positions, shape (size,); for each group in that order the number of alternatives below it
        on its ballot, and its size.
    """
    m = ratings.shape[-1]
    order, ordered = _ascending(ratings.reshape(-1, m))
    new = np.empty(ratings.size, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    new[::m] = True
    starts = np.flatnonzero(new)
    sizes = np.diff(starts, append=ratings.size)
    ballots = np.repeat(np.arange(0, ratings.size, m), new.reshape(-1, m).sum(axis=1))
    return order, starts - ballots, sizes


def _spread(values: Any, sizes: Ints, order: Ints, shape: tuple[int, ...]) -> Any:
    """Return the values of groups as those of their members, in their own places."""
    cells = np.empty(order.shape, dtype=values.dtype)
    cells[order] = np.repeat(values, sizes)
    return cells.reshape(shape)


def doubled_points(ratings: Floats) -> Ints:
    """Return twice the Borda points that ratings give, shape (..., m).

    A group of t equals with b below it is worth b + (t - 1) / 2.
    """
    order, below, sizes = _groups(ratings)
    doubled: Ints = _spread(2 * below + sizes - 1, sizes, order, ratings.shape)
    return doubled
