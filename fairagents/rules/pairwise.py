"""Rules that read who beats whom, and by how much: Condorcet, Smith, Copeland, minimax, Black."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairagents.profile import Profile, doubled_borda
from fairagents.rules.base import Basis, Needs, Order, OrderRule, levels_of
from fairagents.rules.duels import (
    MAJORITARIAN,
    SYMMETRIC,
    Duels,
    batches,
    margins,
    support,
)
from fairagents.rules.majority import schwartz_set, schwartz_tiers, smith_set, smith_tiers
from fairagents.rules.trace import ballot_table
from fairagents.spec import Floats, Ints

__all__ = [
    "Black",
    "Condorcet",
    "Copeland",
    "Minimax",
    "Schwartz",
    "Smith",
    "margins",
    "schwartz_set",
    "smith_set",
    "support",
]


# -- Condorcet winners ---------------------------------------------------------------------------


def condorcet_winner(duels: Duels) -> int:
    """Return the position of the alternative that beats every other one, or -1."""
    won = np.count_nonzero(duels.margin > 0, axis=1)
    first = np.flatnonzero((won == len(duels) - 1) & (duels.sizes == 1))
    return int(duels.firsts[first[0]]) if len(first) else -1


class Condorcet(OrderRule):
    """Condorcet's criterion as a rule: who beats every other one comes first, the rest tie.

    Without a Condorcet winner all tie. O(n m^2). Source: Condorcet 1785 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    >>> Condorcet()(profile).tiers[0]
    ('a',)
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "first: a with margin(a, b) > 0 for all b != a; all others tied"
    source: ClassVar[str] = "Condorcet 1785 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "condorcet_loser": "only a Condorcet winner wins alone",
            "monotonicity": "a raised one loses no duel that it won, nobody else wins more",
            "independence_of_losers": "who wins all duels wins them without a loser",
        }
    )

    def order(self, profile: Profile) -> Order:
        """Put the Condorcet winner first."""
        duels = Duels.of(profile)
        winner = condorcet_winner(duels)
        levels = np.full(len(profile.ids), int(winner >= 0))
        if winner >= 0:
            levels[winner] = 0
        return _by_duels(duels, levels)


class Smith(OrderRule):
    """Iterated Smith sets: the smallest set that beats everybody else, then that of the rest, ...

    Each member of a tier beats everybody in the tiers below. O(n m^2). Source: Good 1971; Smith
    1973 (as commonly stated).

    >>> cycle = [["a", "b", "c", "d"], ["b", "c", "a", "d"], ["c", "a", "b", "d"]]
    >>> [sorted(tier) for tier in Smith()(Profile.from_rankings(cycle)).tiers]
    [['a', 'b', 'c'], ['d']]
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "tier 1: the smallest S with margin(a, b) > 0 for a in S, b outside"
    source: ClassVar[str] = "Good 1971; Smith 1973 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "condorcet_loser": "the others are a dominant set",
            "smith": "by definition",
            "monotonicity": "no set without a raised member becomes dominant",
            "clone_independence": "a clone is dominated by the same others; Tideman 1987",
            "reversal": "a sole winner loses every duel of the reversed ballots",
            "independence_of_losers": "dominant sets within it do not depend on outsiders",
        }
    )

    def order(self, profile: Profile) -> Order:
        """Order by iterated Smith sets."""
        duels = Duels.of(profile)
        return _by_duels(duels, smith_tiers(duels.margin)[duels.kinds])


class Schwartz(OrderRule):
    """Iterated Schwartz sets: what nobody outside beats, smallest sets first, then the rest, ...

    The Schwartz set is the union of the minimal sets that nobody outside beats; it lies within the
    Smith set, and is smaller where duels are tied. O(n m^2). Source: Schwartz 1972 (as commonly
    stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["c", "a", "b"]])
    >>> [sorted(tier) for tier in Schwartz()(profile).tiers]
    [['a', 'c'], ['b']]
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "tier 1: the union of the minimal S that no b outside beats"
    source: ClassVar[str] = "Schwartz 1972 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "condorcet_loser": "it is beaten and beats nobody",
            "smith": "the Schwartz set lies within the Smith set",
            "monotonicity": "who reaches the raised one did so before and is still reached",
            "clone_independence": "a clone beats and is beaten by the same others; Tideman 1987",
            "reversal": "a sole winner reaches all others, so reversed all reach it",
        }
    )

    def order(self, profile: Profile) -> Order:
        """Order by iterated Schwartz sets."""
        duels = Duels.of(profile)
        return _by_duels(duels, schwartz_tiers(duels.margin)[duels.kinds])


def _by_duels(duels: Duels, levels: Ints) -> Order:
    """Return an order with the tables of margins and duels, whose total is Copeland's."""
    tally = duels.tally(duels.margin > 0)
    table = tally.table(tally.won + tally.tied / 2, levels, (1.0, 0.5))
    return Order(levels, None, (duels.table("margins", duels.margin, levels), table))


# -- scores --------------------------------------------------------------------------------------


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
    formula: ClassVar[str] = (
        "total(a) = |{b : margin(a, b) > 0}| + alpha |{b != a : margin(a, b) = 0}|"
    )
    source: ClassVar[str] = "Copeland 1951; alpha: Faliszewski et al. 2009 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "pareto": "who is above on all ballots wins every duel that the other wins, and theirs",
            "condorcet_loser": "it has 0 points and the others more",
            "smith": "members of a dominant set have more points than outsiders, for alpha = 0.5",
            "monotonicity": "a raised alternative gains points, the others lose some or none",
            "reversal": "points become m - 1 less points, for alpha = 0.5",
        }
    )

    alpha: float = Field(default=0.5, ge=0, le=1)

    def order(self, profile: Profile) -> Order:
        """Order by duels won."""
        duels = Duels.of(profile)
        tally = duels.tally(duels.margin > 0)
        totals = self._totals(tally.won, tally.lost)
        levels = levels_of(totals)
        table = tally.table(totals, levels, (1.0, self.alpha))
        return Order(levels, totals, (duels.table("margins", duels.margin, levels), table))

    def _totals(self, won: Any, lost: Any) -> Floats:
        """Return rounded totals: 1/3 + 1/3 + 1/3 is 1 to within 1e-12."""
        tied = len(won) - 1 - won - lost
        totals: Floats = np.round(won + self.alpha * tied, 12)
        return totals

    def batch(self, said: Floats, weights: Ints) -> Floats | Ints | None:
        """Return the totals of many profiles, shape (b, m)."""
        if weights.dtype == object:
            return None
        totals = np.empty((len(said), said.shape[2]))
        for part, above in batches(said, weights):
            beats = above > above.transpose(1, 0, 2)
            won, lost = (beats.view(np.uint8).sum(axis=i, dtype=np.int16) for i in (1, 0))
            totals[part] = self._totals(won, lost).T
        return totals


class Minimax(OrderRule):
    """Minimax (Simpson & Kramer): the one whose worst duel is the least bad.

    total(a) = -max_b d(b, a) over the others, by `strength`: "margins" d(b, a) = margin(b, a);
    "winning_votes" d(b, a) = the weight of the ballots with b above a where b beats a, else 0;
    "opposition" d(b, a) = the weight of the ballots with b above a, whoever wins. The three agree
    where no ballot ties anything. An alternative with no opponent has 0. O(n m^2), exact.
    Source: Simpson 1969; Kramer 1977 (as commonly stated).

    >>> cycle = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    >>> Minimax()(Profile.from_rankings(cycle, weights=[4, 3, 2])).totals
    (('a', -1.0), ('b', -3.0), ('c', -5.0))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "total(a) = -max_{b != a} strength of b against a"
    source: ClassVar[str] = "Simpson 1969; Kramer 1977 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "pareto": "not everybody is below some other one on all ballots",
            "monotonicity": "a raised alternative has no worse duel, the others no better one",
        }
    )

    strength: Literal["margins", "winning_votes", "opposition"] = "margins"

    def order(self, profile: Profile) -> Order:
        """Order by the worst duel."""
        duels = Duels.of(profile)
        cells = self._duels(duels.above)
        exact = _least(cells)
        # Alternatives of one kind tie with each other, in a duel that is worth 0 by any strength.
        exact = np.where(duels.sizes > 1, np.minimum(exact, 0), exact)[duels.kinds]
        levels = levels_of(exact)
        totals = (exact / duels.scale).astype(np.float64)
        own = None if len(profile.ids) > 1 else 0.0
        table = duels.table(self.strength, cells, levels, totals, "min", diagonal=own)
        return Order(levels, totals, (table,))

    def _duels(self, above: Any) -> Any:
        """Return what each duel is worth to the row, shape as given."""
        below = np.swapaxes(above, 0, 1)
        if self.strength == "margins":
            return above - below
        return np.where((self.strength == "opposition") | (above < below), -below, 0)

    def batch(self, said: Floats, weights: Ints) -> Floats | Ints | None:
        """Return the totals of many profiles, shape (b, m)."""
        if weights.dtype == object:
            return None
        totals = np.empty((len(said), said.shape[2]), dtype=np.int64)
        for part, above in batches(said, weights):
            totals[part] = _least(self._duels(above)).T
        return totals


def _least(cells: Any) -> Any:
    """Return the least cell of each row but the one on the diagonal; 0 where there is no other."""
    m = len(cells)
    if m == 1:
        return np.zeros_like(cells[0])
    others = cells.copy()
    others[range(m), range(m)] = cells.max()
    return others.min(axis=1)


class Black(OrderRule):
    """Black's rule: the Condorcet winner if there is one, else Borda's rule.

    With a Condorcet winner it comes first and the others follow by Borda. Exact; O(n m^2).
    Source: Black 1958 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"]], weights=[3, 2])
    >>> Black()(profile).tiers, dict(Black()(profile).totals)["b"]
    ((('a',), ('b',), ('c',)), 7.0)
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "the Condorcet winner first, the others by Borda points"
    source: ClassVar[str] = "Black 1958 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "pareto": "Condorcet winners and Borda winners are below nobody on all ballots",
            "condorcet_loser": "it has a negative sum of margins, Borda's winner has not",
            "monotonicity": "a raised one gains points; it alone can come to win all duels",
            "reversal": "points are reversed, and a Condorcet winner becomes a Condorcet loser",
        }
    )

    def order(self, profile: Profile) -> Order:
        """Put the Condorcet winner first, the others by Borda."""
        duels = Duels.of(profile)
        winner = condorcet_winner(duels)
        weights, scale = profile.whole_weights
        doubled = doubled_borda(profile.ranks)
        exact = weights @ doubled
        levels = levels_of(exact)
        if winner >= 0:
            levels = levels + 1
            levels[winner] = 0
            levels = levels_of(-levels)
        totals = exact.astype(np.float64) / (2 * scale)
        note = f"{profile.ids[winner]} beats every other one" if winner >= 0 else "nobody beats all"
        return Order(
            levels,
            totals,
            (
                duels.table("margins", duels.margin, levels),
                ballot_table("points", profile, doubled / 2, levels, totals, "sum"),
            ),
            (f"{note}: {'it comes first' if winner >= 0 else 'Borda decides'}",),
        )
