"""Welfare rules between the utilitarian and the maximin rule: means that favour the worse off.

Power means bend the ratings, rank-weighted means count the worse-off voters more.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from fairagents.decision import Table
from fairagents.profile import Profile
from fairagents.record import Many
from fairagents.rules.trace import ballot_table, column_table
from fairagents.rules.welfare import (
    EQUALITY,
    PER_ALTERNATIVE,
    SUMS,
    Welfare,
    shares,
    weighted,
)
from fairagents.spec import Floats, Ints


class _PowerMean(Welfare):
    """A rule of power means; a subclass says with which exponent."""

    how: ClassVar[str] = "power"

    @property
    @abc.abstractmethod
    def exponent(self) -> float:
        """The exponent."""

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return weighted power means."""
        return power_mean(ratings, voice, self.exponent)

    def tables(
        self, profile: Profile, ratings: Floats, levels: Ints, totals: Floats
    ) -> Sequence[Table]:
        """Return the ratings, with the exponent as the last column before the total."""
        columns = (*profile.voters, "exponent", "total")
        cells = (*ratings, np.full(len(totals), self.exponent), totals)
        weights: list[Any] = [*map(float, profile.weights), None]
        table = column_table("ratings", profile.ids, columns, cells, levels, self.how, weights)
        return (table,)


class PMean(_PowerMean):
    """The power-mean rule: the greatest weighted power mean of ratings with exponent p.

    total(a) = (sum_v w_v r_v(a)^p / W)^(1/p), the geometric mean at p = 0, in [0, 1]. p = 1 is
    utilitarian, lower p favours the worse off; at p <= 0 one rating of 0 makes the total 0.
    Ties within 1e-9. O(n m). Source: Moulin 2003, Cousins 2021 (as commonly stated).

    >>> PMean(p=-1)(Profile.from_scores([[0.5, 1.0], [0.5, 0.25]], ["a", "b"])).totals
    (('a', 0.5), ('b', 0.4))
    """

    name = "p_mean"
    formula: ClassVar[str] = "(sum_v w_v r_v(a)^p / sum_v w_v)^(1/p)"
    source: ClassVar[str] = "Moulin 2003, Cousins 2021 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE | SUMS | EQUALITY

    p: float = Field(default=0.25, ge=-100, le=100)

    @property
    def exponent(self) -> float:
        """The exponent p."""
        return self.p


class Atkinson(_PowerMean):
    """The Atkinson rule: the greatest equally distributed equivalent of the ratings.

    total(a) = (sum_v w_v r_v(a)^(1 - epsilon) / W)^(1 / (1 - epsilon)), the rating that would be
    as good if all had it; the geometric mean at epsilon = 1. It is the power mean with
    p = 1 - epsilon, and the mean times 1 - Atkinson's index of inequality. Ties within 1e-9.
    O(n m). Source: Atkinson 1970 (as commonly stated).

    >>> Atkinson(epsilon=2)(Profile.from_scores([[0.5, 1.0], [0.5, 0.25]], ["a", "b"])).totals
    (('a', 0.5), ('b', 0.4))
    """

    formula: ClassVar[str] = "(sum_v w_v r_v(a)^(1-e) / sum_v w_v)^(1/(1-e))"
    source: ClassVar[str] = "Atkinson 1970 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE | SUMS | EQUALITY

    epsilon: float = Field(default=0.5, ge=0, le=100)

    @property
    def exponent(self) -> float:
        """The exponent 1 - epsilon."""
        return 1 - self.epsilon


class Prioritarian(Welfare):
    """The prioritarian rule: a gain counts more the worse off who has it.

    total(a) = sum_v w_v g(r_v(a)) / W with g(r) = (1 - e^(-gamma r)) / (1 - e^(-gamma)), which
    rises from 0 to 1 ever more slowly: the first gain weighs e^gamma times as much as the last.
    It does not matter when all are better off by the same amount. (With g(r) = r^p it would order
    as `PMean`.) Ties within 1e-9. O(n m).
    Source: Parfit 1991; g: Kolm 1976, Pollak 1971 (as commonly stated).

    >>> Prioritarian()(Profile.from_scores([[0.5, 1.0], [0.5, 0.0]], ["a", "b"])).tiers
    (('a',), ('b',))
    """

    formula: ClassVar[str] = "sum_v w_v (1 - e^(-gamma r_v(a))) / (1 - e^(-gamma)) / sum_v w_v"
    source: ClassVar[str] = "Parfit 1991; Kolm 1976, Pollak 1971 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE | SUMS | EQUALITY

    gamma: float = Field(default=2.0, gt=0, le=100)

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return weighted means of what ratings are worth."""
        return weighted(voice, self._worth(ratings))

    def tables(
        self, profile: Profile, ratings: Floats, levels: Ints, totals: Floats
    ) -> Sequence[Table]:
        """Return the ratings, and what they are worth."""
        worth = self._worth(ratings)
        return (
            rating_table(profile, ratings, levels),
            ballot_table("priorities", profile, worth, levels, totals, "mean"),
        )

    def _worth(self, ratings: Floats) -> Floats:
        worth: Floats = np.expm1(-self.gamma * ratings) / math.expm1(-self.gamma)
        return worth


class _RankWeighted(Welfare):
    """A rule of rank-weighted means; a subclass says how much the worst-off share of all counts."""

    complexity: ClassVar[str] = "O(n m log n)"
    how: ClassVar[str] = "sum"

    @abc.abstractmethod
    def cumulative(self, share: Floats) -> Floats:
        """Return the weight of the worst-off share of the voice, in [0, 1], of any shape."""

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return rank-weighted means."""
        means: Floats = (ratings * self._weights(ratings, voice)).sum(axis=-2)
        return means

    def tables(
        self, profile: Profile, ratings: Floats, levels: Ints, totals: Floats
    ) -> Sequence[Table]:
        """Return the ratings, and each one's rating times its weight by rank."""
        parts = ratings * self._weights(ratings, shares(profile.whole_weights[0]))
        columns = (*profile.voters, "total")
        return (
            rating_table(profile, ratings, levels),
            column_table("by rank", profile.ids, columns, (*parts, totals), levels, self.how),
        )

    def _weights(self, ratings: Floats, voice: Floats) -> Floats:
        """Return each voter's weight by its rank, worst off first, shape (..., n, m)."""
        order = np.argsort(ratings, axis=-2, kind="stable")
        ends = np.cumsum(voice[order], axis=-2)
        below = self.cumulative(np.minimum(ends, 1.0))
        weights = np.empty_like(below)
        np.put_along_axis(weights, order, np.diff(below, axis=-2, prepend=0.0), axis=-2)
        return weights


class GiniWelfare(_RankWeighted):
    """The Gini welfare rule: the greatest mean rating times 1 - Gini's index of inequality.

    total(a) = mean(a) (1 - Gini(a)) = sum_i r_(i)(a) (2 (N - i) + 1) / N^2 over N equal voters
    from worst off to best off, weights counting as clones: the worst-off share s of the voice
    weighs 1 - (1 - s)^2. Ties within 1e-9. O(n m log n).
    Source: Sen 1973, Yitzhaki 1979 (as commonly stated).

    >>> GiniWelfare()(Profile.from_scores([[0.5, 1.0], [0.5, 0.0]], ["a", "b"])).totals
    (('a', 0.5), ('b', 0.25))
    """

    formula: ClassVar[str] = "mean(a) (1 - Gini(a))"
    source: ClassVar[str] = "Sen 1973, Yitzhaki 1979 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE | EQUALITY

    def cumulative(self, share: Floats) -> Floats:
        """Return 1 - (1 - s)^2."""
        weight: Floats = 1 - (1 - share) ** 2
        return weight


class Owa(_RankWeighted):
    """The rule of ordered weighted averages (OWA): weights by rank, worst off first.

    total(a) = sum_i q_i r_(i)(a) / sum_i q_i for as many equal voters as `weights` q has. Else
    they divide the voice: the worst-off 1/k of it weighs q_1, the next q_2, ... By default the
    worse-off half counts twice as much. Falling weights favour the worse off, rising ones the
    better off; ties within 1e-9. O(n m log n). Source: Yager 1988 (who sorts best first; as
    commonly stated).

    >>> profile = Profile.from_scores([[0.5, 1.0], [0.5, 0.25]], ["a", "b"])
    >>> Owa(weights=(3, 1))(profile).totals
    (('a', 0.5), ('b', 0.4375))
    """

    formula: ClassVar[str] = "sum_i q_i r_(i)(a) / sum_i q_i, worst off first"
    source: ClassVar[str] = "Yager 1988 (as commonly stated)"
    # With the default weights, which fall.
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE | EQUALITY

    weights: Many[float] = (2.0, 1.0)

    @field_validator("weights")
    @classmethod
    def _some(cls, weights: Sequence[float]) -> Sequence[float]:
        if min(weights, default=-1) < 0 or not sum(weights):
            raise ValueError("weights must be >= 0 and not all 0")
        return weights

    def cumulative(self, share: Floats) -> Floats:
        """Return the weights of the first parts, linear within each."""
        sums = np.array(list(itertools.accumulate(self.weights, initial=0.0)))
        found: Floats = np.interp(share, np.linspace(0, 1, len(sums)), sums / sums[-1])
        return found


def power_mean(ratings: Floats, voice: Floats, p: float) -> Floats:
    """Return weighted power means over the voters: (..., n, m), (n,) -> (..., m).

    >>> power_mean(np.array([[1.0], [0.25]]), np.array([0.5, 0.5]), 0.5).tolist()
    [0.5625]
    """
    # Ratings are divided by the greatest (or, for p < 0, the least) so that no power overflows.
    scale = (ratings.max if p > 0 else ratings.min)(axis=-2, keepdims=True)
    some = scale > 0
    parts = np.where(some, ratings, 1.0) / np.where(some, scale, 1.0)
    if p == 0:
        mean = np.exp(weighted(voice, np.log(parts)))
    else:
        mean = weighted(voice, parts**p) ** (1 / p)
    found: Floats = mean * scale[..., 0, :]
    return found


def rating_table(profile: Profile, ratings: Floats, levels: Ints) -> Table:
    """Return the ratings with their weighted means."""
    means = weighted(shares(profile.whole_weights[0]), ratings)
    return ballot_table("ratings", profile, ratings, levels, means, "mean")
