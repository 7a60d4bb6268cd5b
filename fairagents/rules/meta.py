"""Rules made of voters' priority or of other rules: lexicographic priority, veto, blends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from fairagents.profile import Profile, doubled_borda
from fairagents.record import Many
from fairagents.rules._levels import lexicographic
from fairagents.rules.base import (
    Basis,
    Needs,
    Order,
    OrderRule,
    Rule,
    RuleRef,
    Ties,
    levels_of,
)
from fairagents.rules.positional import Borda
from fairagents.rules.trace import ballot_table, column_table
from fairagents.rules.welfare import Maximin, Utilitarian, said_ratings, shares
from fairagents.spec import Bools, Ints


class LexicographicPriority(OrderRule):
    """Lexicographic priority: the first voter's order, its ties by the second voter's, ...

    Voters take precedence by weight, those of equal weight in the declared order; with
    `by="declared"` in the declared order alone. Weights do not count as clones: here they are
    ranks. O(n m log m). Source: lexicographic (serial) dictatorship, as commonly stated.

    >>> profile = Profile.from_rankings([["c", "a", "b"], [["a", "b"], "c"]], weights=[1, 2])
    >>> LexicographicPriority()(profile).tiers
    (('a',), ('b',), ('c',))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "lexicographic comparison of (rank_1(a), rank_2(a), ...)"
    source: ClassVar[str] = "as commonly stated"
    complexity: ClassVar[str] = "O(n m log m)"
    holds: ClassVar[Mapping[str, str]] = {
        "neutrality": "places alone decide",
        "homogeneity": "precedence stays",
        "unanimity": "the first voter puts it first",
        "pareto": "the first voter puts the other one higher",
        "monotonicity": "who is best for each voter in turn still is when raised",
        "reinforcement": "who is best for each voter in turn is so for both groups in turn",
        "clone_independence": "a copy stands beside the original or ties with it",
        "reversal": "the first voter who is not indifferent puts it last then",
        "independence_of_losers": "voters compare two at a time",
        "iia": "voters compare two at a time",
        "later_no_harm": "what stands below does not count where it could be first",
        "separability": "an indifferent voter tells none apart",
    }

    by: Literal["weight", "declared"] = "weight"

    def order(self, profile: Profile) -> Order:
        """Order by the first voter who tells two apart."""
        voters = list(range(len(profile)))
        if self.by == "weight":
            voters.sort(key=lambda v: -profile.weights[v])
        ranks = profile.ranks[voters]
        levels = lexicographic(-ranks.T)
        names = [profile.voters[v] for v in voters]
        table = column_table("tiers", profile.ids, names, [row + 1 for row in ranks], levels)
        return Order(levels, None, (table,), (f"precedence: {', '.join(names)}",))


class VetoThen(OrderRule):
    """Veto, then another rule: what too much voice rejects goes behind all others.

    A voter rejects what is in its last tier, unless all are tied there, or, with `below` given,
    what it rates lower than that. An alternative that voters with more than `share` of the voice
    reject is vetoed. `rule` orders what is not vetoed, as if nothing else were up for decision,
    and behind it what is vetoed, likewise. O(n m) and twice the rule.
    Source: as commonly stated.

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["b", "c", "a"]])
    >>> VetoThen(share=0.3)(profile).table("vetoes").rows[1]
    ('a', 0, 0, 1, 0.3333333333333333)
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "not rejected by more than share of the voice, then the rule"
    source: ClassVar[str] = "as commonly stated"
    complexity: ClassVar[str] = "O(n m) and twice the rule"
    # With the default rule, Borda.
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "vetoes and points are sums over ballots",
        "neutrality": "places alone decide",
        "homogeneity": "shares of the voice decide",
        "unanimity": "nobody rejects it, and it has all points",
        "pareto": "nobody rejects the other one, which has more points",
    }

    rule: RuleRef = Borda()
    share: float = Field(default=0.5, ge=0, lt=1)
    below: float | None = Field(default=None, ge=0, le=1)

    @field_validator("rule")
    @classmethod
    def _orders(cls, rule: Rule) -> Rule:
        return _ordering(rule)

    def order(self, profile: Profile) -> Order:
        """Order with the seed 0, which matters to rules that draw."""
        return self.order_with(profile, Ties(profile, self.tie_break, 0))

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Order what is not vetoed, and behind it what is."""
        rejects, notes = self._rejects(profile)
        weights = profile.whole_weights[0]
        against = (weights @ rejects.astype(np.int64)).astype(object)
        vetoed = against > Fraction(repr(self.share)) * int(weights.sum())
        levels = np.zeros(len(vetoed), dtype=np.int64)
        orders: list[tuple[Ints, Order]] = []
        for rows in (np.flatnonzero(~vetoed), np.flatnonzero(vetoed)):
            if len(rows):
                part = profile.take(rows)
                found = _order(self.rule, part, Ties(part, self.tie_break, ties.seed))
                levels[rows] = found.levels + (1 + levels.max() if orders else 0)
                orders.append((rows, found))
        share = shares(weights) @ rejects
        vetoes = ballot_table("vetoes", profile, rejects.astype(int), levels, share, "mean")
        rows, first = orders[0]
        lottery = None
        if first.lottery is not None:
            lottery = np.zeros(len(vetoed))
            lottery[rows] = first.lottery
        return Order(
            levels,
            None,
            (vetoes, *(table for _, order in orders for table in order.tables)),
            tuple(dict.fromkeys((*notes, *(note for _, order in orders for note in order.notes)))),
            all(order.optimal for _, order in orders),
            first.gap,
            lottery,
        )

    def _rejects(self, profile: Profile) -> tuple[Bools, tuple[str, ...]]:
        """Return what each voter rejects, shape (n, m)."""
        if self.below is not None:
            ratings, notes = said_ratings(profile)
            return ratings < self.below, notes
        ranks = profile.ranks
        rejects: Bools = ranks == ranks.max(axis=1, keepdims=True)
        return rejects & ~rejects.all(axis=1, keepdims=True), ()


class Blend(OrderRule):
    """A weighted blend of rules: the mean of the places that they give.

    total(a) = sum_i q_i (number that rule i puts below a + half the number it ties with a) /
    (m - 1) / sum_i q_i: Borda's rule, normalised to [0, 1], with the rules as voters and `weights`
    q as their weights, equal by default. Exact. O(m log m) a rule, and the rules themselves.
    Source: Borda fusion, Aslam & Montague 2001 (as commonly stated).

    >>> profile = Profile.from_scores([[0.5, 1.0, 0.2], [0.5, 0.25, 0.2]], ["a", "b", "c"])
    >>> Blend(weights=(1, 3))(profile).totals
    (('a', 0.875), ('b', 0.625), ('c', 0.0))
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "sum_i q_i normalised Borda points in the order of rule i / sum_i q_i"
    source: ClassVar[str] = "Borda fusion, Aslam & Montague 2001 (as commonly stated)"
    complexity: ClassVar[str] = "O(m log m) a rule, and the rules themselves"
    # With the default rules, utilitarian and maximin.
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "both rules are symmetric in the voters",
        "neutrality": "both rules judge by ratings alone",
        "homogeneity": "both rules depend on shares of the voice at most",
        "unanimity": "both rules put it first",
        "pareto": "both rules put the other one higher",
        "monotonicity": "it does not fall in either order, and no other rises",
        "pigou_dalton": "its sum stays, and its least rating does not fall",
    }

    rules: Many[RuleRef] = (Utilitarian(), Maximin())
    weights: Many[float] = ()

    @field_validator("rules")
    @classmethod
    def _order(cls, rules: Sequence[Rule]) -> Sequence[Rule]:
        if not rules:
            raise ValueError("a blend needs at least one rule")
        return tuple(map(_ordering, rules))

    @model_validator(mode="after")
    def _weighted(self) -> Blend:
        if self.weights and len(self.weights) != len(self.rules):
            raise ValueError(f"{len(self.rules)} rules but {len(self.weights)} weights")
        if any(weight <= 0 for weight in self.weights):
            raise ValueError(f"weights must be > 0, not {min(self.weights)}")
        return self

    def order(self, profile: Profile) -> Order:
        """Order with the seed 0, which matters to rules that draw."""
        return self.order_with(profile, Ties(profile, self.tie_break, 0))

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Order by the weighted mean of normalised places."""
        m = len(profile.ids)
        orders = [_order(rule, profile, ties) for rule in self.rules]
        doubled = doubled_borda(np.array([order.levels for order in orders]))
        weights = [Fraction(repr(weight)) for weight in self.weights or (1,) * len(orders)]
        scale = math.lcm(*(weight.denominator for weight in weights))
        whole = np.array([int(weight * scale) for weight in weights], dtype=object)
        exact = whole @ doubled
        most = max(2 * (m - 1), 1)
        totals = (exact / (int(whole.sum()) * most)).astype(np.float64)
        levels = levels_of(exact)
        columns = (*(rule.label for rule in self.rules), "total")
        cells, told = (*(doubled / most), totals), [float(weight) for weight in weights]
        table = column_table("blend", profile.ids, columns, cells, levels, "mean", told)
        notes = dict.fromkeys(note for order in orders for note in order.notes)
        optimal = all(order.optimal for order in orders)
        return Order(levels, totals, (table,), tuple(notes), optimal)


def _ordering(rule: Rule) -> Rule:
    """Return a rule that puts the alternatives in order, or raise."""
    if not isinstance(rule, OrderRule):
        raise ValueError(f"{rule.label} chooses slates as wholes: name a rule that gives an order")
    return rule


def _order(rule: Rule, profile: Profile, ties: Ties) -> Order:
    assert isinstance(rule, OrderRule)  # the fields are checked
    return rule.order_with(profile, ties)
