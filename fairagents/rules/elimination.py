"""Rules that eliminate who has the fewest first or most last votes: instant runoff and Coombs.

Who is eliminated later is better. One way is followed: where several tie for elimination, the last
of them by the tie-break goes, and notes and trace say so. Alternatives share a tier only where
every way ends alike for them: the last two with equal tallies, those who have no vote that could
move, and all who are left when every ballot is exhausted. Equals at the counted end of a ballot
share its vote evenly. A ballot that ties all who remain is exhausted; giving each of them an equal
share of it would not change the order.
"""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fairagents.profile import Profile
from fairagents.rules._rounds import Ledger, Rounds
from fairagents.rules.base import Basis, Needs, Order, OrderRule, Ties, levels_of
from fairagents.rules.duels import kinds_of
from fairagents.spec import Bools, Floats, Ints

SAFE = 2**62
"""Whole numbers below this are counted in 64 bits, greater ones as Python's own."""


class Elimination(OrderRule):
    """The base of rules that eliminate; a subclass gives `order_with`."""

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"

    def order(self, profile: Profile) -> Order:
        """Put the alternatives in order, ties by the tie-break with seed 0."""
        return self.order_with(profile, Ties(profile, self.tie_break, 0))

    @abc.abstractmethod
    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Eliminate until all who are left tie."""


def order_of(
    profile: Profile, log: Rounds, ledger: Ledger | None = None, notes: Sequence[str] = ()
) -> Order:
    """Return the order of those who stayed longest."""
    levels = levels_of(log.survived)
    table = log.table(profile.ids, levels)
    if ledger is None:
        return Order(levels, tables=(table,), notes=tuple(notes))
    return Order(levels, tables=(table, *ledger.tables), notes=(*notes, *ledger.notes))


# -- votes at one end of the ballots -------------------------------------------------------------


class _Votes:
    """Where the votes of ballots lie, among those who remain: at one end of each.

    Args:
        ends: the tier of everybody who remains, the counted end being the least, shape (n, r).
        weights: whole-number voices, shape (n,).
    """

    def __init__(self, ends: Ints, weights: Any) -> None:
        self.ends = ends
        self.end = ends == ends.min(axis=1, keepdims=True)
        self.sizes = sizes = np.count_nonzero(self.end, axis=1)
        # Who remains alone has all votes; a ballot that ties several is exhausted.
        self.active: Bools = sizes < max(ends.shape[1], 2)
        self.unit = math.lcm(*set(sizes[self.active].tolist()))
        if weights.dtype != object and int(weights.sum()) * self.unit >= SAFE:
            weights = weights.astype(object)
        shares = np.where(self.active, weights, 0) * (self.unit // sizes.astype(weights.dtype))
        self.tally: Any = shares @ self.end.astype(weights.dtype)

    def less(self, kept: Bools) -> _Votes | None:
        """Return the votes among those who are kept, where that is just as it was for them."""
        if self.tally[~kept].any() or self.sizes.max() >= np.count_nonzero(kept):
            return None
        found = copy.copy(self)
        found.ends, found.end = self.ends[:, kept], self.end[:, kept]
        found.tally = self.tally[kept]
        return found


class InstantRunoff(Elimination):
    """Instant runoff (IRV, alternative vote): who has the fewest first votes is eliminated.

    tally(a) = sum_v w_v [a in top_v] / |top_v| over those who remain, each round anew; exact. In
    all O(n m) a round; those without votes go in one round. Source: Ware 1871 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "b", "a"]],
    ...                                 weights=[4, 3, 2])
    >>> InstantRunoff()(profile).tiers
    (('b',), ('a',), ('c',))
    """

    name: ClassVar[str] = "irv"
    formula: ClassVar[str] = "eliminate argmin_a sum_v w_v [a in top_v] / |top_v|, round by round"
    source: ClassVar[str] = "Ware 1871 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m) a round, at most m rounds"
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "a sum over ballots",
        "homogeneity": "tallies are proportional to the weights",
        "unanimity": "it has all votes in every round",
        "pareto": "who is below another everywhere has no vote while that one remains",
        "majority": "it has more than half of the votes in every round",
        "separability": "a ballot that ties all is exhausted from the start",
        "condorcet_loser": "the last two meet in a duel, which it loses",
        "later_no_harm": "who is ranked lower counts only when all above are gone",
    }

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Eliminate who has the fewest first votes."""
        weights, scale = profile.whole_weights
        log, ledger = Rounds(len(profile.ids)), Ledger(ties, "elimination")
        left, ranks = np.arange(len(profile.ids)), profile.ranks
        while True:
            votes = _Votes(ranks, weights)
            log.add(_spread(votes.tally / (votes.unit * scale), left, profile))
            worst = np.flatnonzero(votes.tally == votes.tally.min())
            if not _alike(worst, votes):
                worst = _fall(worst, left, ties, ledger, log)
            log.out(left[worst])
            if len(worst) == len(left):
                return order_of(profile, log, ledger)
            kept = _without(len(left), worst)
            left, ranks = left[kept], ranks[:, kept]


class Coombs(Elimination):
    """Coombs' rule: who has the most last votes is eliminated.

    tally(a) = sum_v w_v [a in last_v] / |last_v| over those who remain, each round anew; exact.
    With `majority_stop` who has more than half of the first votes of ballots that are not exhausted
    comes first, and the rounds go on for the order of the others. Alternatives that all ballots tie
    go in one round where that changes nothing. O(n m) a round.
    Source: Coombs 1964; without the stop as in Grofman & Feld 2004 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "b", "a"]],
    ...                                 weights=[4, 3, 2])
    >>> Coombs()(profile).tiers
    (('b',), ('c',), ('a',))
    """

    formula: ClassVar[str] = "eliminate argmax_a sum_v w_v [a in last_v] / |last_v|, round by round"
    source: ClassVar[str] = "Coombs 1964; Grofman & Feld 2004 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m) a round, at most m rounds"
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "a sum over ballots",
        "homogeneity": "tallies are proportional to the weights",
        "unanimity": "it has more than half of the first votes",
        "pareto": "who is above another everywhere has no last vote while that one remains",
        "separability": "a ballot that ties all is exhausted from the start",
        "majority": "it has more than half of the first votes, and that stops the count",
        "condorcet_loser": "the last two meet in a duel, and a majority winner beats all",
    }

    majority_stop: bool = True

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Eliminate who has the most last votes."""
        weights, scale = profile.whole_weights
        log, ledger = Rounds(len(profile.ids)), Ledger(ties, "elimination")
        left, ranks, first = np.arange(len(profile.ids)), profile.ranks, -1
        _, kinds = kinds_of(ranks)
        notes: list[str] = []
        tops: _Votes | None = None
        while True:
            votes = _Votes(-ranks, weights)
            log.add(_spread(votes.tally / (votes.unit * scale), left, profile))
            if self.majority_stop and first < 0:
                tops = tops or _Votes(ranks, weights)
                first = _majority(tops, weights, left)
                if first >= 0:
                    who = profile.ids[first]
                    notes.append(f"{who} has a majority of first votes in round {log.count}")
            open_ = np.flatnonzero(left != first)
            if not len(open_):
                log.out(left)
                return order_of(profile, log, ledger, notes)
            lasts = votes.tally[open_]
            worst = open_[lasts == lasts.max()]
            if not _alike(worst, votes):
                worst = _fall(worst, left, ties, ledger, log)
                if tops is None or first >= 0 or not tops.tally[worst[0]]:
                    same = (kinds[left] == kinds[left[worst[0]]]) & (left != first)
                    worst = np.flatnonzero(same)
            log.out(left[worst])
            if len(worst) == len(left):
                return order_of(profile, log, ledger, notes)
            kept = _without(len(left), worst)
            left, ranks = left[kept], ranks[:, kept]
            tops = None if tops is None else tops.less(kept)


def _majority(tops: _Votes, weights: Any, left: Ints) -> int:
    """Return who has more than half of the first votes that are left, or -1."""
    voice = weights[tops.active].sum() * tops.unit
    most = int(np.argmax(tops.tally))
    return int(left[most]) if 2 * tops.tally[most] > voice else -1


def _alike(worst: Ints, votes: _Votes) -> bool:
    """Tell whether those who tie for elimination can go together, whatever the tie-break."""
    return len(worst) == 1 or len(votes.tally) == len(worst) == 2 or not votes.tally[worst[0]]


def _fall(worst: Ints, left: Ints, ties: Ties, ledger: Ledger, log: Rounds) -> Ints:
    """Return the last of several by the tie-break, and log it."""
    one = worst[[int(np.argmax(ties.places[left[worst]]))]]
    ledger.add(log.count, left[worst].tolist(), left[one].tolist())
    return one


def _without(count: int, out: Ints) -> Bools:
    kept = np.ones(count, dtype=bool)
    kept[out] = False
    return kept


def _spread(values: Any, left: Ints, profile: Profile) -> Floats:
    cells = np.zeros(len(profile.ids))
    cells[left] = values
    return cells
