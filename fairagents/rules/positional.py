"""Positional rules: a place on a ballot is worth points."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from fairagents.ballot import Profile, doubled_borda
from fairagents.rules.base import Order, Rule, ballot_table, levels_of
from fairagents.spec import Floats, Ints


class Borda(Rule):
    """Borda's rule: a ballot gives an alternative one point for each one it places lower.

    total(a) = sum_v w_v (|{b : a above b}| + |{b != a : a tied with b}| / 2); tied places share
    their points evenly, unranked alternatives are tied last. Exact arithmetic; O(n m log m).
    Source: Borda 1781; ties as in Cullinan, Hsiao & Polett 2014 (as commonly stated).

    >>> from fairagents.ballot import Profile
    >>> Borda()(Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"]])).totals
    (('b', 3.0), ('a', 2.0), ('c', 1.0))
    """

    needs: ClassVar[Literal["ranks", "ratings", "approvals"]] = "ranks"
    basis: ClassVar[Literal["ordinal", "cardinal", "cardinal-comparable"]] = "ordinal"

    def order(self, profile: Profile) -> Order:
        """Order by total points."""
        weights, scale = profile.whole_weights
        doubled = doubled_borda(profile.ranks)
        exact = (weights[:, None] * doubled).sum(axis=0)
        levels = levels_of(exact)
        totals = exact.astype(np.float64) / (2 * scale)
        table = ballot_table("points", profile, doubled / 2, levels, totals)
        return Order(levels, totals, (table,))

    def batch(self, profiles: Floats | Ints, weights: Ints) -> Floats | Ints | None:
        """Return twice the weighted points of many profiles of ranks, shape (b, m)."""
        b, n, m = profiles.shape
        doubled = doubled_borda(profiles.reshape(b * n, m).astype(np.int64, copy=False))
        totals: Ints = (weights[None, :, None] * doubled.reshape(b, n, m)).sum(axis=1)
        return totals
