"""Bucklin's rule: the first level at which an alternative has a majority."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.profile import Profile
from fairagents.rules._rounds import TRACE_ROUNDS
from fairagents.rules.base import Basis, Needs, Order, OrderRule
from fairagents.rules.elimination import SAFE
from fairagents.rules.trace import TRACE_ROWS
from fairagents.spec import Ints


class Bucklin(OrderRule):
    """Bucklin's rule: votes for the first l places are added up until there is a majority.

    An alternative's level is the least l at which the ballots with it among their first l places
    weigh more than half of all; a tier of t that takes the places p to p + t - 1 gives each of its
    members min(1, (l - p + 1) / t) of its vote from place p on. Lower levels come first, and at one
    level more votes. Exact; O(n m log m). Source: Bucklin 1909; with ties shared evenly (as
    commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]],
    ...                                 weights=[4, 3, 2])
    >>> Bucklin()(profile).tiers
    (('b',), ('a',), ('c',))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = (
        "first by least l with votes(a, l) > W / 2, then by votes(a, l); votes(a, l) = "
        "sum_v w_v (share of a's places on v that are among the first l)"
    )
    source: ClassVar[str] = "Bucklin 1909 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m log m)"
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "a sum over ballots",
        "neutrality": "places alone count",
        "homogeneity": "the majority is a share of all weight",
        "unanimity": "it has all votes at level 1",
        "pareto": "who is below another everywhere has fewer votes at each level below the last",
        "majority": "it alone has more than half at level 1",
        "monotonicity": "votes at each level do not fall, and those of others do not rise",
    }

    def order(self, profile: Profile) -> Order:
        """Order by level, then by votes."""
        places = _Places(profile)
        low, high = np.ones((2, len(profile.ids)), dtype=np.int64)
        high *= len(profile.ids)
        while (open_ := low < high).any():
            middle = np.where(open_, (low + high) // 2, high)
            enough = 2 * places.votes(middle) > places.majority
            high = np.where(open_ & enough, middle, high)
            low = np.where(open_ & ~enough, middle + 1, low)
        votes = places.votes(high)
        rank = np.lexsort((-votes, high)) if votes.dtype != object else _sorted(votes, high)
        ahead = (high[rank][1:] != high[rank][:-1]) | (votes[rank][1:] != votes[rank][:-1])
        levels = np.empty(len(rank), dtype=np.int64)
        levels[rank] = np.concatenate([[0], np.cumsum(ahead)])
        return Order(levels, tables=(places.table(high, levels),))


def _sorted(votes: Any, high: Ints) -> Ints:
    """Return positions by level and then by votes, which are Python's whole numbers."""
    keys = list(zip(high.tolist(), (-votes).tolist(), strict=True))
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


class _Places:
    """How many votes everybody has at each level."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        ranks, (weights, self._scale) = profile.ranks, profile.whole_weights
        n, m = ranks.shape
        tier = ranks + np.arange(0, n * (m + 1), m + 1)[:, None]
        counts = np.bincount(tier.ravel(), minlength=n * (m + 1)).reshape(n, m + 1)
        self._size = counts.ravel()[tier]
        self._above = counts.cumsum(axis=1).ravel()[tier] - self._size
        self._unit = math.lcm(*set(self._size.ravel().tolist()))
        if weights.dtype != object and int(weights.sum()) * self._unit * 2 >= SAFE:
            weights = weights.astype(object)
        self._worth = weights[:, None] * (self._unit // self._size.astype(weights.dtype))
        self.majority = int(weights.sum()) * self._unit

    def votes(self, level: Ints | int, who: Ints | slice = slice(None)) -> Any:
        """Return the votes of some at a level each, times a common denominator, shape (m,)."""
        got = np.clip(level - self._above[:, who], 0, self._size[:, who])
        return (self._worth[:, who] * got).sum(axis=0)

    def table(self, reached: Ints, levels: Ints) -> Table:
        """Return everybody's votes at each level up to the one that gives it a majority.

        The total counts the levels that are shown.
        """
        rows = np.argsort(levels, kind="stable")[:TRACE_ROWS]
        needed = reached[rows].tolist()
        shown = min(max(needed), TRACE_ROUNDS)
        cells: list[list[Any]] = [[self._profile.ids[i]] for i in rows.tolist()]
        for at in range(1, shown + 1):
            votes = (self.votes(at, rows) / (self._unit * self._scale)).tolist()
            for row, value, last in zip(cells, votes, needed, strict=True):
                row.append(value if at <= last else None)
        body = [(*row, min(last, shown)) for row, last in zip(cells, needed, strict=True)]
        return Table(
            name="levels",
            columns=("alternative", *(f"level {i}" for i in range(1, shown + 1)), "total"),
            rows=tuple(body),
            cut=len(reached) - len(rows),
            how="count",
        )
