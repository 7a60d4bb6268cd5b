"""Slates that are optimal as wholes, by said ratings: exact, or with the gap that is left.

A voter's worth of a slate is the mean of its ratings over the slate. (The welfare rules of
`fairagents.rules.welfare` judge each alternative on its own and take the best; for maximin,
leximin and Nash that is another slate: two alternatives that each please one voter can be better
together than two that please nobody much.) Side limits of the task bind; where none can be met
the error names those that clash.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fairagents.decision import Table
from fairagents.feasible import Feasible
from fairagents.optima import GAIN, Optimum, alpha_fair, concave, leximin
from fairagents.outcome import Linear, Solution
from fairagents.profile import Profile
from fairagents.rules._exact import FEW, Best, committee_of
from fairagents.rules.base import MOST_WINNERS, Basis, CommitteeRule, Elected, Needs, Ties
from fairagents.rules.trace import plain
from fairagents.rules.welfare import (
    Leximin,
    Maximin,
    Nash,
    Utilitarian,
    Welfare,
    said_ratings,
    shares,
)
from fairagents.spec import Floats, Ints


class SlateRule(CommitteeRule):
    """The base of rules that maximise a welfare of whole slates.

    Few slates are all looked at, each as one alternative of the rule `single`, and all that tie
    are listed. Of many, the subclass's `solve` finds one of the best.
    """

    needs: ClassVar[Needs] = "ratings"
    complexity: ClassVar[str] = "up to 2,000 slates: all; else an integer programme, NP-hard"
    single: ClassVar[Welfare]

    time_limit: float = Field(default=10.0, gt=0)

    @abc.abstractmethod
    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Best:
        """Return one of the best slates, its welfare and a bound."""

    def elect(self, profile: Profile, task: Feasible, ties: Ties) -> Elected:
        """Choose the best slate; its members are shown by falling mean rating."""
        ratings, notes = said_ratings(profile)
        weights = profile.whole_weights[0]
        slates = slates_of(task)
        if slates is None:
            best = self.solve(task, [Linear(row / task.size) for row in ratings], profile)
        else:
            best = self._best(slates, ratings, weights)
        if best.more:
            notes = (*notes, "others may be as good; the tie-break chose among those listed")
        first = min(best.committees, key=lambda one: sorted(ties.places[list(one)].tolist()))
        means, chosen = shares(weights) @ ratings, np.array(first)
        chosen = chosen[np.lexsort((ties.places[chosen], -means[chosen]))]
        return Elected(
            chosen.tolist(),
            winners=best.committees[:MOST_WINNERS],
            more=best.more,
            totals=means,
            tables=_tables(profile, ratings[:, chosen], chosen, best),
            notes=notes,
            optimal=best.optimal,
            gap=best.gap,
        )

    def _best(self, slates: Ints, ratings: Floats, weights: Any) -> Best:
        """Return the best of all slates, shape (s, k)."""
        worths = ratings[:, slates].mean(axis=2)
        totals = self.single.welfare(worths, shares(weights))
        tied = np.flatnonzero(self.single.levels(worths, weights, totals) == 0)
        value = float(totals[tied[0]])
        committees = list(map(tuple, slates[tied].tolist()))
        return Best(committees, value, more=len(tied) > MOST_WINNERS, bound=value)


def slates_of(task: Feasible) -> Ints | None:
    """Return all feasible slates as sorted positions, shape (s, k), or None if that is a lot.

    Raises:
        InfeasibleError: there is none.
    """
    open_ = np.flatnonzero(task.allowed).tolist()
    if math.comb(len(open_), task.size) > FEW:
        return None
    task.require()
    slates = itertools.combinations(open_, task.size)
    return np.array([one for one in slates if task.plain or task.completable(one)])


def best_of(task: Feasible, found: Solution | Optimum) -> Best:
    """Return what a solver found; others may be as good."""
    slate = committee_of(task, found.x)
    return Best([slate], found.value, more=True, optimal=found.optimal, bound=found.bound)


def _tables(profile: Profile, cells: Floats, chosen: Ints, best: Best) -> tuple[Table, Table]:
    names = tuple(profile.ids[i] for i in chosen.tolist())
    rows = [
        (voter, *map(plain, row), plain(row.mean()))
        for voter, row in zip(profile.voters, cells, strict=True)
    ]
    voters = Table(
        name="worth of the slate",
        columns=("voter", *names, "total"),
        rows=tuple(rows),
        how="mean",
    )
    objective = Table(
        name="objective",
        columns=("value", "proven bound", "gap"),
        rows=((plain(best.score), best.bound, best.gap),),
    )
    return voters, objective


class UtilitarianSlate(SlateRule):
    """The slate with the greatest weighted mean of ratings.

    max over slates S of sum_v w_v mean_{a in S} r_v(a). Without side limits the best k of the
    utilitarian order. Source: Harsanyi 1955 (as commonly stated).

    >>> from fairagents.task import Slate
    >>> profile = Profile.from_scores([[1.0, 0.9, 0.0], [0.0, 0.2, 0.8]], ["a", "b", "c"])
    >>> UtilitarianSlate()(profile, Slate(size=1)).outcome.ids
    ('b',)
    """

    single: ClassVar[Welfare] = Utilitarian()
    holds: ClassVar[Mapping[str, str]] = {
        **Utilitarian.holds,
        "committee_monotonicity": "without side limits it takes the best of one order",
    }
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "max_S sum_v w_v mean_{a in S} r_v(a)"
    source: ClassVar[str] = "Harsanyi 1955 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Best:
        """Maximise the sum: greedy where the limits form a matroid, else an integer programme."""
        parts = zip(shares(profile.whole_weights[0]), worths, strict=True)
        total = sum(share * one.values for share, one in parts)
        return best_of(task, task.best(np.asarray(total), time_limit=self.time_limit))


class MaximinSlate(SlateRule):
    """The slate whose worst-off voter is best off.

    max over slates S of min_v mean_{a in S} r_v(a); voices do not count. A linear relaxation
    bounds it, swap local search finds it, an integer programme closes what is left within `gap`.
    Source: Rawls 1971 (as commonly stated).

    >>> from fairagents.task import Slate
    >>> profile = Profile.from_scores([[1.0, 0.4, 0.0], [0.0, 0.4, 1.0]], ["a", "b", "c"])
    >>> sorted(MaximinSlate()(profile, Slate(size=2)).outcome.ids)
    ['a', 'c']
    """

    single: ClassVar[Welfare] = Maximin()
    holds: ClassVar[Mapping[str, str]] = Maximin.holds
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "max_S min_v mean_{a in S} r_v(a)"
    source: ClassVar[str] = "Rawls 1971 (as commonly stated)"

    gap: float = Field(default=1e-3, ge=0)

    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Best:
        """Maximise the least worth."""
        return best_of(task, task.floor(worths, gap=self.gap, time_limit=self.time_limit))


class LeximinSlate(SlateRule):
    """The slate whose worths, sorted upwards, are lexicographically greatest.

    Voices count as clones. Stage by stage the sum of the k least worths is made as great as the
    stages before allow, within 1e-6. Source: Sen 1970; Ogryczak & Sliwinski 2006.

    >>> from fairagents.task import Slate
    >>> profile = Profile.from_scores([[1.0, 1.0, 0.0], [0.5, 0.0, 0.5]], ["a", "b", "c"])
    >>> LeximinSlate()(profile, Slate(size=1)).outcome.ids
    ('a',)
    """

    single: ClassVar[Welfare] = Leximin()
    holds: ClassVar[Mapping[str, str]] = Leximin.holds
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "leximax_S sort_v mean_{a in S} r_v(a)"
    source: ClassVar[str] = "Sen 1970; Ogryczak & Sliwinski 2006 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Best:
        """Maximise the sorted worths."""
        whole, _ = profile.whole_weights
        shared = int(np.gcd.reduce(whole))
        clones = [int(w) // shared for w in whole]
        return best_of(task, leximin(task, worths, clones, time_limit=self.time_limit))


class NashSlate(SlateRule):
    """The slate with the greatest weighted product of worths.

    max over slates S of prod_v (mean_{a in S} r_v(a))^(w_v), the disagreement point being 0. First
    as much voice as possible gets a positive worth, then the product over those is maximised (as
    Caragiannis et al. 2019 do for zeros). Outer approximation within 1e-6 of the mean logarithm.
    Source: Nash 1950; Kaneko & Nakamura 1979 (as commonly stated).

    >>> from fairagents.task import Slate
    >>> profile = Profile.from_scores([[1.0, 0.4, 0.0], [0.0, 0.4, 1.0]], ["a", "b", "c"])
    >>> NashSlate()(profile, Slate(size=1)).outcome.ids
    ('b',)
    """

    single: ClassVar[Welfare] = Nash()
    holds: ClassVar[Mapping[str, str]] = Nash.holds
    basis: ClassVar[Basis] = "cardinal"
    formula: ClassVar[str] = "max_S prod_v (mean_{a in S} r_v(a))^w_v"
    source: ClassVar[str] = "Nash 1950; Kaneko & Nakamura 1979 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Best:
        """Maximise the weighted mean of logarithms."""
        weights = shares(profile.whole_weights[0])
        found = concave(task, worths, weights, alpha_fair(1), time_limit=self.time_limit)
        gains = found.worths > GAIN
        reached = float(weights[gains].sum()) or 1.0
        # The sum of logarithms becomes the geometric mean of those who gain.
        ends = (found.value, found.bound) if gains.any() else (-math.inf, -math.inf)
        value, bound = (math.exp(one / reached) for one in ends)
        slate = committee_of(task, found.x)
        return Best([slate], value, more=True, optimal=found.optimal, bound=bound)
