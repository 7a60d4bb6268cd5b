"""Small electorates as arrays, and who wins in them under any rule.

An electorate is a matrix of what was said, shape (n, m), more is better, and the voters' weights.
A rule that reads ranks sees its order, one that reads ratings its numbers (in [0, 1]), one that
reads approvals what is above one half. The winners are the rule's first tier, the support of its
lottery, or the members of its tied winning committees of size 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairagents.feasible import Feasible
from fairagents.profile import Profile, Weight, ranks_of_ratings
from fairagents.rules.base import CommitteeRule, OrderRule, Rule, Ties
from fairagents.spec import Floats, Ints
from fairagents.task import Slate

Winners = frozenset[int]


@dataclass(frozen=True)
class Electorate:
    """What n voters said of m alternatives.

    Attributes:
        said: shape (n, m), in [0, 1], more is better.
        weights: the n voices.
        size: how many are elected where an axiom speaks of committees.
    """

    said: Floats
    weights: tuple[Weight, ...]
    size: int = 2

    def take(self, voters: Sequence[int]) -> Electorate:
        """Return some of the voters."""
        return Electorate(self.said[list(voters)], tuple(self.weights[v] for v in voters))

    def saying(self, said: Floats) -> Electorate:
        """Return the same voters saying something else."""
        return Electorate(said, self.weights, self.size)

    def margins(self) -> Floats:
        """Return the weighted majority margins, shape (m, m), as exact fractions."""
        signs = np.sign(self.said[:, :, None] - self.said[:, None, :]).astype(int)
        exact = np.array([Fraction(str(w)) for w in self.weights], dtype=object)
        margins: Floats = (exact[:, None, None] * signs).sum(axis=0)
        return margins


def profile_of(rule: Rule, electorate: Electorate) -> Profile:
    """Return an electorate as the profile that a rule reads."""
    said, (n, m) = electorate.said, electorate.said.shape
    ids = [letter(i) for i in range(m)]
    form = {"ranks": "ranking"}.get(rule.needs, rule.needs)
    approved = said > 0.5 if rule.needs == "approvals" else np.zeros((n, m), dtype=bool)
    ranks = (~approved).astype(np.int64) if rule.needs == "approvals" else ranks_of_ratings(said)
    ratings = said if rule.needs == "ratings" else np.full((n, m), np.nan)
    voters = [str(v + 1) for v in range(n)]
    return Profile(ids, voters, electorate.weights, ranks, ratings, approved, [form] * n)


def winners(rule: Rule, electorate: Electorate) -> Winners:
    """Return the positions of all tied winners."""
    profile = profile_of(rule, electorate)
    ties = Ties(profile, rule.tie_break, 0)
    if isinstance(rule, OrderRule):
        order = rule.order_with(profile, ties)
        first = order.levels == 0 if order.lottery is None else order.lottery > 1e-9
        return frozenset(np.flatnonzero(first).tolist())
    return frozenset(one for committee in committees(rule, electorate, 1) for one in committee)


def committees(rule: Rule, electorate: Electorate, size: int) -> list[tuple[int, ...]]:
    """Return the tied winning committees as sorted positions; of an order rule the one it takes."""
    profile = profile_of(rule, electorate)
    task = Feasible.of(Slate(size=size), ids=profile.ids)
    ties = Ties(profile, rule.tie_break, 0)
    if isinstance(rule, CommitteeRule):
        elected = rule.elect(profile, task, ties)
        return list(elected.winners) or [tuple(sorted(elected.chosen))]
    chosen = rule.decide(profile, task, ties).outcome.ids
    return [tuple(sorted(profile.ids.index(one) for one in chosen))]


def levels(rule: OrderRule, e: Electorate) -> Ints:
    """Return the tier of each alternative, shape (m,)."""
    profile = profile_of(rule, e)
    return rule.order_with(profile, Ties(profile, rule.tie_break, 0)).levels


def letter(i: int) -> str:
    """Return the id of the alternative at a position."""
    return chr(ord("a") + i) if i < 26 else f"a{i}"
