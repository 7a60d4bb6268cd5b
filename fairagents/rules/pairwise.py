"""Pairwise rules: every two alternatives meet in a duel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fairagents.errors import BallotError
from fairagents.profile import Profile
from fairagents.rules.base import Basis, Needs, Order, OrderRule, levels_of
from fairagents.rules.trace import column_table, matrix_table

MOST = 5000
"""A pairwise matrix of more alternatives is refused: it would take over 200 MB."""


def margins(profile: Profile) -> tuple[Any, int]:
    """Return the weighted majority margins times a common denominator, and that denominator.

    `margin[a, b]` is the weight of the ballots that place a above b minus that of those that place
    b above a; ties and pairs that are both unranked count for neither. Whole numbers, shape (m, m).

    >>> margins(Profile.from_rankings([["a", "b"], ["b", "a"], ["a", "b"]]))[0].tolist()
    [[0, 1], [-1, 0]]
    """
    m = len(profile.ids)
    if m > MOST:
        raise BallotError(
            f"pairwise rules take at most {MOST} alternatives, not {m}: cut the agenda"
        )
    weights, scale = profile.whole_weights
    matrix = np.zeros((m, m), dtype=weights.dtype)
    for weight, ranks in zip(weights, profile.ranks, strict=True):
        small = ranks.astype(np.int16)
        above = small[:, None] < small[None, :]
        signs = above.astype(np.int8) - above.T.astype(np.int8)
        matrix += weight * signs.astype(matrix.dtype)
    return matrix, scale


class Copeland(OrderRule):
    """Copeland's rule: an alternative scores a point for each duel won and `alpha` for each tied.

    total(a) = |{b : margin(a, b) > 0}| + alpha |{b != a : margin(a, b) = 0}|, from exact
    margins; totals within 1e-12 tie;
    O(n m^2). Source: Copeland 1951; alpha as in Faliszewski et al. 2009 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    >>> Copeland()(profile).tiers
    (('a',), ('b',), ('c',))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"

    alpha: float = Field(default=0.5, ge=0, le=1)

    def order(self, profile: Profile) -> Order:
        """Order by duels won."""
        matrix, scale = margins(profile)
        wins, losses = (matrix > 0).sum(axis=1), (matrix < 0).sum(axis=1)
        tied = len(profile.ids) - 1 - wins - losses
        totals = wins + self.alpha * tied
        levels = levels_of(totals, 1e-12)
        columns = ("won", "tied", "lost", "total")
        cells, values = (wins, tied, losses, totals), (1.0, self.alpha, 0.0)
        duels = column_table("duels", profile.ids, columns, cells, levels, "sum", values)
        margin = matrix_table("margins", profile.ids, matrix / scale, levels)
        return Order(levels, totals, (margin, duels))
