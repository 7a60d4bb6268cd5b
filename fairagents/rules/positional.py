"""Positional rules: a place on a ballot is worth points."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fairagents.profile import Profile, doubled_borda
from fairagents.rules.base import Basis, Needs, Order, OrderRule, levels_of
from fairagents.rules.trace import ballot_table
from fairagents.spec import Floats, Ints


class Borda(OrderRule):
    """Borda's rule: a ballot gives an alternative one point for each one it places lower.

    total(a) = sum_v w_v (|{b : a above b}| + |{b != a : a tied with b}| / 2); tied places share
    their points evenly, unranked alternatives are tied last. Exact arithmetic; O(n m log m).
    Source: Borda 1781; ties as in Cullinan, Hsiao & Polett 2014 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> Borda()(Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"]])).totals
    (('b', 3.0), ('a', 2.0), ('c', 1.0))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"

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
        totals: Ints = np.einsum("n,bnm->bm", weights, _doubled(said))
        return totals


def _doubled(ratings: Floats) -> Ints:
    """Return twice the Borda points that ratings give, shape (..., m).

    In ascending order an alternative whose equals stand at places first to last has `first` of
    them below it and `last - first` beside it, so twice its points is first + last.
    """
    m = ratings.shape[-1]
    order = np.argsort(ratings, axis=-1)
    ordered = np.take_along_axis(ratings, order, axis=-1)
    rises = ordered[..., 1:] != ordered[..., :-1]
    places = np.arange(m, dtype=np.int32)
    first = np.zeros(ratings.shape, dtype=np.int32)
    np.maximum.accumulate(rises * places[1:], axis=-1, out=first[..., 1:])
    last = np.full(ratings.shape, m - 1, dtype=np.int32)
    falls = np.where(rises, places[:-1], places[-1])
    np.minimum.accumulate(falls[..., ::-1], axis=-1, out=last[..., -2::-1])
    doubled: Ints = np.empty_like(first)
    np.put_along_axis(doubled, order, first + last, axis=-1)
    return doubled
