"""Slates that are optimal as wholes, by said ratings: exact, or with the gap that is left.

A voter's worth of a slate is the mean of its ratings over the slate. (The welfare rules of
`fairagents.rules.welfare` judge each alternative on its own and take the best; for maximin,
leximin and Nash that is another slate: two alternatives that each please one voter can be better
together than two that please nobody much.) Side limits of the task bind; where none can be met
the error names those that clash.
"""

from __future__ import annotations

import abc
from typing import ClassVar

import numpy as np
from pydantic import Field

from fairagents.decision import Table
from fairagents.feasible import Feasible
from fairagents.optima import Optimum, alpha_fair, concave, leximin
from fairagents.outcome import Linear, Solution
from fairagents.profile import Profile
from fairagents.rules.base import Basis, CommitteeRule, Elected, Needs, Ties
from fairagents.rules.trace import plain
from fairagents.rules.welfare import said_ratings, shares
from fairagents.spec import Floats, Ints


class Found:
    """A slate as amounts, shape (m,), with its value, a proven bound and what lies between."""

    def __init__(self, found: Solution | Optimum) -> None:
        self.x, self.optimal, self.gap = found.x, found.optimal, found.gap
        self.value, self.bound = found.value, found.bound


class SlateRule(CommitteeRule):
    """The base of rules that maximise a welfare of whole slates; a subclass gives `solve`."""

    needs: ClassVar[Needs] = "ratings"
    complexity: ClassVar[str] = "a mixed-integer programme; NP-hard in general"

    time_limit: float = Field(default=10.0, gt=0)

    @abc.abstractmethod
    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Found:
        """Return amounts, value and bound."""

    def elect(self, profile: Profile, task: Feasible, ties: Ties) -> Elected:
        """Choose the best slate; its members are shown by falling mean rating."""
        ratings, notes = said_ratings(profile)
        weights = shares(profile.whole_weights[0])
        worths = [Linear(row / task.size) for row in ratings]
        found = self.solve(task, worths, profile)
        chosen = np.flatnonzero(found.x > 0.5)
        means = weights @ ratings
        chosen = chosen[np.lexsort((ties.places[chosen], -means[chosen]))]
        return Elected(
            chosen.tolist(),
            totals=means,
            tables=_tables(profile, ratings[:, chosen], chosen, found),
            notes=(*notes, "one of the best slates; others may be as good"),
            optimal=found.optimal,
            gap=found.gap,
        )


def _tables(profile: Profile, cells: Floats, chosen: Ints, found: Found) -> tuple[Table, Table]:
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
        rows=((plain(found.value), plain(found.bound), plain(found.gap)),),
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

    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "max_S sum_v w_v mean_{a in S} r_v(a)"
    source: ClassVar[str] = "Harsanyi 1955 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Found:
        """Maximise the sum: greedy where the limits form a matroid, else an integer programme."""
        parts = zip(shares(profile.whole_weights[0]), worths, strict=True)
        total = sum(share * one.values for share, one in parts)
        return Found(task.best(np.asarray(total), time_limit=self.time_limit))


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

    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "max_S min_v mean_{a in S} r_v(a)"
    source: ClassVar[str] = "Rawls 1971 (as commonly stated)"

    gap: float = Field(default=1e-3, ge=0)

    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Found:
        """Maximise the least worth."""
        return Found(task.floor(worths, gap=self.gap, time_limit=self.time_limit))


class LeximinSlate(SlateRule):
    """The slate whose worths, sorted upwards, are lexicographically greatest.

    Voices count as clones. Stage by stage the sum of the k least worths is made as great as the
    stages before allow, within 1e-6. Source: Sen 1970; Ogryczak & Sliwinski 2006.

    >>> from fairagents.task import Slate
    >>> profile = Profile.from_scores([[1.0, 1.0, 0.0], [0.5, 0.0, 0.5]], ["a", "b", "c"])
    >>> LeximinSlate()(profile, Slate(size=1)).outcome.ids
    ('a',)
    """

    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "leximax_S sort_v mean_{a in S} r_v(a)"
    source: ClassVar[str] = "Sen 1970; Ogryczak & Sliwinski 2006 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Found:
        """Maximise the sorted worths."""
        whole, _ = profile.whole_weights
        shared = int(np.gcd.reduce(whole))
        clones = [int(w) // shared for w in whole]
        return Found(leximin(task, worths, clones, time_limit=self.time_limit))


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

    basis: ClassVar[Basis] = "cardinal"
    formula: ClassVar[str] = "max_S prod_v (mean_{a in S} r_v(a))^w_v"
    source: ClassVar[str] = "Nash 1950; Kaneko & Nakamura 1979 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], profile: Profile) -> Found:
        """Maximise the weighted mean of logarithms."""
        weights = shares(profile.whole_weights[0])
        return Found(concave(task, worths, weights, alpha_fair(1), time_limit=self.time_limit))
