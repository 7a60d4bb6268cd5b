"""Welfare rules: they read said ratings and weigh gains against losses.

Each alternative is judged on its own and the slate is the best k of that order. (The slate that is
optimal as a whole is another rule.) Voters who did not rate count by the convention of
`Profile.rated`, and the decision's notes name them. Weights count as clones.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairagents.decision import Table
from fairagents.profile import Profile
from fairagents.rules._levels import by_keys, levels_within, lexicographic, runs
from fairagents.rules.base import TOLERANCE, Basis, Needs, Order, OrderRule
from fairagents.rules.positional import doubled_points
from fairagents.rules.trace import ballot_table, column_table
from fairagents.spec import Floats, Ints

Normalisation = Literal["none", "range", "unit_sum", "rank"]
"""What is done to each voter's ratings first: nothing; least to 0 and greatest to 1; divided by
their sum; or the share of the others that are lower, equals counting half (normalised Borda)."""

PER_ALTERNATIVE = {
    "anonymity": "a symmetric function of the ratings",
    "neutrality": "each alternative is judged by its own ratings",
    "homogeneity": "only shares of the voice count",
    "iia": "each alternative is judged by its own ratings",
    "independence_of_losers": "each alternative is judged by its own ratings",
    "clone_independence": "a copy is rated the same and judged the same",
    "monotonicity": "the total does not fall with a rating",
    "unanimity": "the total rises when all ratings rise",
    "pareto": "the total rises when all ratings rise",
}
"""What holds where an alternative is judged by its own ratings as they were said."""

SUMS = {
    "reinforcement": "totals of two electorates add up",
    "separability": "an indifferent voter adds the same to all",
}
"""What holds for weighted sums over voters of a function of the rating."""

EQUALITY = {"pigou_dalton": "the total does not fall with a transfer to somebody worse off"}
"""What holds for concave welfare functions."""


class Welfare(OrderRule):
    """A rule that judges alternatives by a welfare function. A subclass gives `welfare`.

    `normalisation` says what is done to each voter's ratings first, see `Normalisation`; a voter
    to whom all are equal has 1 everywhere under "range". Totals within `tolerance` tie.
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"
    complexity: ClassVar[str] = "O(n m)"
    how: ClassVar[str] = "mean"

    normalisation: Normalisation = "none"
    tolerance: float = Field(default=TOLERANCE, ge=0)

    @abc.abstractmethod
    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return the welfare of alternatives, more is better.

        Args:
            ratings: normalised, shape (..., n, m).
            voice: shares of the voice, shape (n,), summing to 1.

        Returns:
            Totals, shape (..., m).
        """

    def levels(self, ratings: Floats, weights: Any, totals: Floats) -> Ints:
        """Return the tier of each alternative, shape (..., m); weights are whole numbers."""
        return levels_within(totals, self.tolerance)

    def stated(self, totals: Floats, weight: float) -> Floats:
        """Return totals as they are stated, given the weight of all voters."""
        return totals

    def tables(
        self, profile: Profile, ratings: Floats, levels: Ints, totals: Floats
    ) -> Sequence[Table]:
        """Return the trace."""
        return (ballot_table("ratings", profile, ratings, levels, totals, self.how),)

    def order(self, profile: Profile) -> Order:
        """Order by welfare."""
        said, notes = said_ratings(profile)
        ratings = normalised(said, self.normalisation)
        if self.normalisation != "none":
            notes = (*notes, f"each voter's ratings were normalised: {self.normalisation}")
        weights = profile.whole_weights[0]
        totals = self.welfare(ratings, shares(weights))
        levels = self.levels(ratings, weights, totals)
        totals = self.stated(totals, float(sum(profile.weights)))
        return Order(levels, totals, self.tables(profile, ratings, levels, totals), notes)

    def batch(self, said: Floats, weights: Ints) -> Floats | Ints | None:
        """Return the tiers of many profiles, counted from below, shape (b, m)."""
        ratings = normalised(said, self.normalisation)
        totals = self.welfare(ratings, shares(weights))
        return -self.levels(ratings, weights, totals)


class Utilitarian(Welfare):
    """The utilitarian rule: the greatest weighted mean of ratings.

    total(a) = sum_v w_v r_v(a) / sum_v w_v, in [0, 1]; ties within 1e-9. O(n m).
    Source: Bentham, Harsanyi 1955 (as commonly stated).

    >>> Utilitarian()(Profile.from_scores([[0.5, 1.0], [0.25, 0.0]], ["a", "b"])).totals
    (('b', 0.5), ('a', 0.375))
    """

    formula: ClassVar[str] = "sum_v w_v r_v(a) / sum_v w_v"
    source: ClassVar[str] = "Bentham, Harsanyi 1955 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = {
        **PER_ALTERNATIVE,
        **SUMS,
        "reversal": "reversed totals are 1 minus the totals",
        "shift_invariance": "all totals are shifted by the same number",
        "pigou_dalton": "a transfer leaves the sum as it is",
    }

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return weighted means."""
        return weighted(voice, ratings)


class RelativeUtilitarian(Utilitarian):
    """Relative utilitarianism: the utilitarian rule on ratings from 0 (worst) to 1 (best).

    total(a) = sum_v w_v (r_v(a) - min r_v) / (max r_v - min r_v) / sum_v w_v, over the
    alternatives that are up for decision. O(n m). Source: Dhillon & Mertens 1999 (as commonly
    stated).

    >>> profile = Profile.from_scores([[0.5, 0.6, 0.4], [0.25, 0.0, 1.0]], ["a", "b", "c"])
    >>> RelativeUtilitarian()(profile).totals
    (('b', 0.5), ('c', 0.5), ('a', 0.375))
    """

    basis: ClassVar[Basis] = "cardinal"
    formula: ClassVar[str] = "sum_v w_v (r_v(a) - min r_v) / (max r_v - min r_v) / sum_v w_v"
    source: ClassVar[str] = "Dhillon & Mertens 1999 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = {
        **SUMS,
        "anonymity": "a symmetric function of the ratings",
        "neutrality": "each voter's ratings are treated alike",
        "homogeneity": "only shares of the voice count",
        "unanimity": "it has 1 from all, and nothing else has",
        "pareto": "the total rises when all ratings rise",
        "monotonicity": "its share of no range falls, and that of no other rises",
        "clone_independence": "a copy is rated the same and leaves least and greatest as they are",
        "reversal": "reversed totals are a constant minus the totals",
        "scale_invariance": "ratings are divided by their range",
        "shift_invariance": "the least rating is taken off",
    }

    normalisation: Normalisation = "range"


class Nash(Welfare):
    """The Nash rule: the greatest weighted geometric mean of gains over the disagreement point.

    total(a) = prod_v g_v(a)^(w_v / W) with gain g_v(a) = max(0, r_v(a) - d) over voters with a
    positive gain, W their weight. Where gains of 0 occur, an alternative that gives more voice a
    positive gain goes first and the product decides among equals (the convention of Caragiannis
    et al. 2019 for Nash welfare); with no zeros this is the classic Nash product.
    In [0, 1]; ties within 1e-9. O(n m). Source: Nash 1950; Kaneko & Nakamura 1979.

    >>> Nash()(Profile.from_scores([[0.5, 1.0], [0.5, 0.0]], ["a", "b"])).tiers
    (('a',), ('b',))
    """

    basis: ClassVar[Basis] = "cardinal"
    formula: ClassVar[str] = "prod_v max(0, r_v(a) - d)^(w_v / W), most voice with a gain first"
    source: ClassVar[str] = "Nash 1950; Kaneko & Nakamura 1979 (as commonly stated)"
    # Not scale invariance: where gains of 0 occur, means over different voters are compared.
    holds: ClassVar[Mapping[str, str]] = {
        **PER_ALTERNATIVE,
        **SUMS,
        **EQUALITY,
        "reinforcement": "voices with a gain and logarithms of gains add up",
    }

    disagreement: float = Field(default=0.0, ge=0, lt=1)

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return weighted geometric means of the positive gains."""
        gains = self._gains(ratings)
        reached = self._reached(gains, voice)
        logs = weighted(voice, np.log(np.where(gains > TOLERANCE, gains, 1.0)))
        some = reached > 0
        means: Floats = np.where(some, np.exp(logs / np.where(some, reached, 1.0)), 0.0)
        return means

    def levels(self, ratings: Floats, weights: Any, totals: Floats) -> Ints:
        """Return tiers by the voice with a positive gain, then by the geometric mean."""
        reached = self._reached(self._gains(ratings), shares(weights))
        return by_keys(reached, totals, tolerance=self.tolerance)

    def tables(
        self, profile: Profile, ratings: Floats, levels: Ints, totals: Floats
    ) -> Sequence[Table]:
        """Return the gains and the two keys of the order."""
        gains = self._gains(ratings)
        reached = self._reached(gains, shares(profile.whole_weights[0]))
        columns = ("share of voice with a gain", "geometric mean of gains")
        return (
            ballot_table("gains", profile, gains, levels, totals, "geometric"),
            column_table("keys", profile.ids, columns, (reached, totals), levels),
        )

    def _gains(self, ratings: Floats) -> Floats:
        return np.clip(ratings - self.disagreement, 0.0, None)

    def _reached(self, gains: Floats, voice: Floats) -> Floats:
        return weighted(voice, (gains > TOLERANCE).astype(np.float64))


class Maximin(Welfare):
    """The maximin rule: the greatest rating of the worst-off voter; also called egalitarian.

    total(a) = min_v r_v(a); weights do not matter. Ties within 1e-9. O(n m).
    Source: Rawls 1971, Sen 1970 (as commonly stated).

    >>> Maximin()(Profile.from_scores([[0.5, 1.0], [0.5, 0.0]], ["a", "b"])).totals
    (('a', 0.5), ('b', 0.0))
    """

    how: ClassVar[str] = "min"
    formula: ClassVar[str] = "min_v r_v(a)"
    source: ClassVar[str] = "Rawls 1971, Sen 1970 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE | EQUALITY

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return the least ratings."""
        least: Floats = ratings.min(axis=-2)
        return least


class Leximin(Welfare):
    """The leximin rule: the worst-off voter first, then the next, ...

    Ratings of an alternative are sorted upwards and compared place by place; weights count as
    clones. Ratings are compared as multiples of `tolerance`. O(n m log(n m)).
    Source: Sen 1970 (as commonly stated).

    >>> Leximin()(Profile.from_scores([[0.5, 1.0], [0.5, 0.0]], ["a", "b"])).tiers
    (('a',), ('b',))
    """

    how: ClassVar[str] = "min"
    formula: ClassVar[str] = "lexicographic comparison of (r_(1)(a) <= r_(2)(a) <= ...)"
    source: ClassVar[str] = "Sen 1970 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m log(n m))"
    holds: ClassVar[Mapping[str, str]] = {
        **PER_ALTERNATIVE,
        **EQUALITY,
        "reinforcement": "who is better off at the lowest difference in both is so in all",
        "separability": "the same rating is added to all (Deschamps & Gevers 1978)",
    }

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return the least ratings."""
        least: Floats = ratings.min(axis=-2)
        return least

    def levels(self, ratings: Floats, weights: Any, totals: Floats) -> Ints:
        """Return tiers by the sorted ratings."""
        rows = np.swapaxes(ratings, -1, -2)
        values = np.rint(rows / self.tolerance) if self.tolerance else rows
        return lexicographic(runs(values, weights))

    def order(self, profile: Profile) -> Order:
        """Order by the sorted ratings; there is no total."""
        order = super().order(profile)
        return Order(order.levels, None, order.tables, order.notes)


class ThresholdSum(Welfare):
    """Threshold, then sum: what everybody rates at least `threshold` goes before all else.

    Within both groups the weighted mean decides. With `first="share"` the share of the voice that
    rates it at least `threshold` decides first, in place of whether that is all of it.
    O(n m). Source: sufficientarian welfare with a utilitarian second step (as commonly stated).

    >>> profile = Profile.from_scores([[0.5, 1.0, 0.6], [0.5, 0.4, 0.3]], ["a", "b", "c"])
    >>> ThresholdSum(threshold=0.5)(profile).tiers
    (('a',), ('b',), ('c',))
    """

    formula: ClassVar[str] = "([r_v(a) >= t for all v], sum_v w_v r_v(a) / sum_v w_v)"
    source: ClassVar[str] = "sufficientarian, then utilitarian (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE | {
        "pigou_dalton": "the sum stays, and a transfer takes nobody below who was worse off",
    }

    threshold: float = Field(default=0.6, ge=0, le=1)
    first: Literal["all", "share"] = "all"

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return weighted means."""
        return weighted(voice, ratings)

    def levels(self, ratings: Floats, weights: Any, totals: Floats) -> Ints:
        """Return tiers by who reaches the threshold, then by the mean."""
        return by_keys(self._first(ratings, weights), totals, tolerance=self.tolerance)

    def tables(
        self, profile: Profile, ratings: Floats, levels: Ints, totals: Floats
    ) -> Sequence[Table]:
        """Return what reaches the threshold, and the ratings."""
        reached = self._first(ratings, profile.whole_weights[0])
        columns = (f"{self.first} at least {self.threshold:g}", "mean rating")
        return (
            column_table("keys", profile.ids, columns, (reached, totals), levels),
            ballot_table("ratings", profile, ratings, levels, totals, "mean"),
        )

    def _first(self, ratings: Floats, weights: Any) -> Floats:
        reached = ratings >= self.threshold - self.tolerance
        if self.first == "all":
            reached = reached.all(axis=-2, keepdims=True) & reached
        return weighted(shares(weights), reached.astype(np.float64))


# -- ratings ------------------------------------------------------------------------------------


def said_ratings(profile: Profile) -> tuple[Floats, tuple[str, ...]]:
    """Return ratings (n, m), and the note on those that were derived."""
    ratings, derived = profile.rated()
    note = f"ratings derived from the order (normalised Borda): {', '.join(derived)}"
    return ratings, (note,) if derived else ()


def shares(weights: Any) -> Floats:
    """Return whole-number weights as shares of the voice, shape (n,)."""
    found: Floats = (weights / weights.sum()).astype(np.float64)
    return found


def weighted(voice: Floats, ratings: Floats) -> Floats:
    """Return weighted means over the voters: (n,), (..., n, m) -> (..., m)."""
    means: Floats = np.einsum("n,...nm->...m", voice, ratings)
    return means


def normalised(ratings: Floats, how: Normalisation) -> Floats:
    """Return ratings, shape (..., n, m), with each voter's normalised as `Normalisation` says."""
    if how == "none":
        return ratings
    if how == "rank":
        ranked: Floats = doubled_points(ratings) / max(2 * (ratings.shape[-1] - 1), 1)
        return ranked
    least, blank = np.zeros(1), 0.0
    size = ratings.sum(axis=-1, keepdims=True)
    if how == "range":
        least, blank = ratings.min(axis=-1, keepdims=True), 1.0
        size = ratings.max(axis=-1, keepdims=True) - least
    scaled = (ratings - least) / np.where(size > 0, size, 1.0)
    found: Floats = np.where(size > 0, scaled, blank)
    return found
