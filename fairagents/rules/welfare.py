"""Welfare rules: they read said ratings and weigh gains against losses.

Each alternative is judged on its own and the slate is the best k of that order. (The slate that is
optimal as a whole is another rule.) Voters who did not rate count by the convention of
`Profile.rated`, and the decision's notes name them.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from fairagents.profile import Profile
from fairagents.rules.base import TOLERANCE, Basis, Needs, Order, OrderRule, levels_of
from fairagents.rules.trace import ballot_table, column_table
from fairagents.spec import Floats, Ints


def _rated(profile: Profile) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Return ratings (n, m), weights that sum to 1, and the note on derived ratings."""
    ratings, derived = profile.rated()
    weights = np.array([float(w) for w in profile.weights])
    note = (
        (f"ratings derived from the order (normalised Borda): {', '.join(derived)}",)
        if derived
        else ()
    )
    return ratings, weights / weights.sum(), note


class Utilitarian(OrderRule):
    """The utilitarian rule: the greatest weighted mean of ratings.

    total(a) = sum_v w_v r_v(a) / sum_v w_v, in [0, 1]; ties within 1e-9. O(n m).
    Source: Bentham, Harsanyi 1955 (as commonly stated).

    >>> Utilitarian()(Profile.from_scores([[0.5, 1.0], [0.25, 0.0]], ["a", "b"])).totals
    (('b', 0.5), ('a', 0.375))
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"

    def order(self, profile: Profile) -> Order:
        """Order by the weighted mean."""
        ratings, weights, notes = _rated(profile)
        totals = weights @ ratings
        levels = levels_of(totals, TOLERANCE)
        table = ballot_table("ratings", profile, ratings, levels, totals, "mean")
        return Order(levels, totals, (table,), notes)


class Nash(OrderRule):
    """The Nash rule: the greatest weighted geometric mean of gains over the disagreement point.

    total(a) = prod_v g_v(a)^(w_v / W) with gain g_v(a) = max(0, r_v(a) - d) over voters with a
    positive gain, W their weight. Where gains of 0 occur, an alternative that gives more voice a
    positive gain goes first and the product decides among equals (the convention of Caragiannis
    et al. 2019 for Nash welfare); with no zeros this is the classic Nash product.
    In [0, 1]; ties within 1e-9. O(n m). Source: Nash 1950; Kaneko & Nakamura 1979.

    >>> Nash()(Profile.from_scores([[0.5, 1.0], [0.5, 0.0]], ["a", "b"])).tiers
    (('a',), ('b',))
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal"

    disagreement: float = Field(default=0.0, ge=0, lt=1)

    def order(self, profile: Profile) -> Order:
        """Order by the weight with a positive gain, then by the geometric mean."""
        ratings, weights, notes = _rated(profile)
        gains = np.clip(ratings - self.disagreement, 0.0, None)
        positive = gains > TOLERANCE
        reached = weights @ positive
        logs = weights @ np.log(np.where(positive, gains, 1.0))
        means = np.where(reached > 0, np.exp(logs / np.where(reached > 0, reached, 1.0)), 0.0)
        first = levels_of(reached, TOLERANCE)
        # Both keys are compared with a tolerance, so they are made whole numbers first.
        levels = levels_of(-(first * len(means) + levels_of(means, TOLERANCE)))
        table = ballot_table("gains", profile, gains, levels, means, "geometric")
        columns = ("share of voice with a gain", "geometric mean of gains")
        keys = column_table("keys", profile.ids, columns, (reached, means), levels)
        return Order(levels, means, (table, keys), notes)


class Leximin(OrderRule):
    """The leximin rule: the worst-off voter first, then the next, ...

    Ratings of an alternative are sorted upwards and compared place by place; weights count as
    clones. Ratings within 1e-9 are equal. O(n m log m). Source: Sen 1970 (as commonly stated).

    >>> Leximin()(Profile.from_scores([[0.5, 1.0], [0.5, 0.0]], ["a", "b"])).tiers
    (('a',), ('b',))
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"

    def order(self, profile: Profile) -> Order:
        """Order by the sorted ratings, lexicographically."""
        ratings, _, notes = _rated(profile)
        vectors = _sorted_clones(ratings, profile.whole_weights[0])
        _, inverse = np.unique(np.round(vectors, 9), axis=0, return_inverse=True)
        levels: Ints = inverse.max() - inverse.reshape(-1)
        table = ballot_table("ratings", profile, ratings, levels, ratings.min(axis=0), "min")
        return Order(levels, None, (table,), notes)


def _sorted_clones(ratings: Floats, weights: Ints) -> Floats:
    """Return each alternative's sorted ratings with voters cloned by weight, shape (m, steps).

    Only the places where some alternative's sorted vector may step are kept, so a weight of a
    million costs nothing.
    """
    n, m = ratings.shape
    order = np.argsort(ratings, axis=0, kind="stable")
    values = np.take_along_axis(ratings, order, axis=0)
    ends = np.cumsum(weights[order], axis=0)
    steps = np.unique(ends)
    vectors = np.empty((m, len(steps)))
    for a in range(m):
        vectors[a] = values[np.minimum(np.searchsorted(ends[:, a], steps), n - 1), a]
    return vectors
