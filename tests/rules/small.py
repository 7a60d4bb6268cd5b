"""Small profiles for tests of rules: all of them, and random ones by Hypothesis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings, strategies as st

from fairagents.decision import Decision
from fairagents.profile import Profile
from fairagents.rules.base import OrderRule
from fairagents.spec import Ints

FIXED = settings(
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
"""The same examples on every run."""

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


def weak_orders(m: int) -> list[tuple[int, ...]]:
    """Return all rankings with ties of m alternatives, as the tier of each."""
    found = itertools.product(range(m), repeat=m)
    return [one for one in found if set(one) == set(range(max(one) + 1))]


def every_ranked(n: int, m: int) -> Iterator[Profile]:
    """Yield all profiles of n unordered voters with tied rankings of m alternatives."""
    for rows in itertools.combinations_with_replacement(weak_orders(m), n):
        yield ranked(np.array(rows))


def every_rated(n: int, m: int, grid: tuple[float, ...] = (0.0, 0.5, 1.0)) -> Iterator[Profile]:
    """Yield all profiles of n unordered voters with ratings from a grid."""
    rows = list(itertools.product(grid, repeat=m))
    for some in itertools.combinations_with_replacement(rows, n):
        yield Profile.from_scores(np.array(some), ids_of(m))


def ranked(ranks: Ints, weights: Any = None) -> Profile:
    """Return rankings given as tiers, shape (n, m)."""
    n, m = ranks.shape
    ballots = [[[f"a{i}" for i in np.flatnonzero(row == t)] for t in range(m)] for row in ranks]
    return Profile.from_rankings(ballots, ids_of(m), weights or [1] * n)


def ids_of(m: int) -> list[str]:
    return [f"a{i}" for i in range(m)]


@st.composite
def ranked_profiles(draw: st.DrawFn, most: int = 6) -> Profile:
    """Weighted rankings with ties, truncated."""
    m, n = draw(st.integers(1, most)), draw(st.integers(1, 5))
    ids, weights = ids_of(m), draw(weighted(n))
    ballots = []
    for _ in range(n):
        order = draw(st.permutations(ids))
        kept = order[: draw(st.integers(0, m))]
        width = draw(st.integers(1, 3))
        ballots.append([kept[i : i + width] for i in range(0, len(kept), width)])
    return Profile.from_rankings(ballots, ids, weights)


@st.composite
def rated_profiles(draw: st.DrawFn, most: int = 6, gaps: bool = False) -> Profile:
    """Weighted ratings on a grid; with `gaps` some are missing."""
    m, n = draw(st.integers(1, most)), draw(st.integers(1, 5))
    values = [*GRID, np.nan] if gaps else list(GRID)
    row = st.lists(st.sampled_from(values), min_size=m, max_size=m)
    scores = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    return Profile.from_scores(scores, ids_of(m), draw(weighted(n)))


def weighted(n: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from([1, 2, 3, 0.5, 0.3, 0.2]), min_size=n, max_size=n)


def clones(profile: Profile) -> list[int]:
    """Return how many equal whole voters each voter stands for."""
    scale = math.lcm(*(w.denominator for w in profile.weights))
    return [int(w * scale) for w in profile.weights]


def columns(profile: Profile) -> list[list[float]]:
    """Return the ratings of each alternative, one for each whole voter."""
    ratings, _ = profile.rated()
    return [
        [float(r) for r, k in zip(column, clones(profile), strict=True) for _ in range(k)]
        for column in ratings.T
    ]


def by_score(scores: list[Any]) -> list[set[str]]:
    """Return tiers by descending score; scores are anything that sorts."""
    best_first = sorted(set(scores), reverse=True)
    return [{f"a{i}" for i, s in enumerate(scores) if s == level} for level in best_first]


def tiers(rule: OrderRule, profile: Profile) -> list[set[str]]:
    """Return the tiers of a rule's order."""
    levels = rule.order(profile).levels
    return [
        {profile.ids[i] for i in np.flatnonzero(levels == level)} for level in np.unique(levels)
    ]


def sets(decision: Decision) -> list[set[str]]:
    return [set(tier) for tier in decision.tiers]
