"""Rules that eliminate by Borda's count, again and again: Baldwin and Nanson.

Who is eliminated later is better. Baldwin's rule takes one at a time: where several tie for
elimination, the last of them by the tie-break goes, and notes and trace say so; alternatives share
its top tier only where all who are left would tie in every round to come. Nanson's needs no
tie-break.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fairagents.profile import Profile
from fairagents.rules._rounds import Ledger, Rounds
from fairagents.rules.base import Order, Ties
from fairagents.rules.duels import Duels
from fairagents.rules.elimination import Elimination, order_of
from fairagents.spec import Floats


class _Borda:
    """Borda's count of those who remain, by kind, from margins.

    The sum of a's margins over the r who remain is twice its Borda points less (r - 1) times all
    weight, so its mean is 0.
    """

    def __init__(self, profile: Profile) -> None:
        self.duels = duels = Duels.of(profile)
        whole, self.scale = profile.whole_weights
        self.voice = int(whole.sum())
        self.margin = duels.margin.astype(whole.dtype)
        self.sizes = duels.sizes.astype(whole.dtype)
        self.sums: Any = self.margin @ self.sizes
        self.left = len(profile.ids)

    def points(self) -> Floats:
        """Return the Borda points of each alternative, shape (m,)."""
        doubled = self.sums + (self.left - 1) * self.voice
        points: Floats = (doubled / (2 * self.scale)).astype(np.float64)[self.duels.kinds]
        return points


class Baldwin(Elimination):
    """Baldwin's rule: who has the fewest Borda points among those who remain is eliminated.

    Points as by `Borda`, counted anew each round; exact, from margins; O(n m^2).
    Source: Baldwin 1926 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]],
    ...                                 weights=[4, 3, 2])
    >>> Baldwin()(profile).tiers
    (('a',), ('b',), ('c',))
    """

    formula: ClassVar[str] = "eliminate argmin_a Borda(a) among those who remain, round by round"
    source: ClassVar[str] = "Baldwin 1926 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "a sum over ballots",
        "homogeneity": "points are proportional to the weights",
        "separability": "a ballot that ties all adds the same to all",
        "unanimity": "it is the Condorcet winner",
        "pareto": "who is below another everywhere has fewer points while that one remains",
        "majority": "it is the Condorcet winner",
        "condorcet": "the Condorcet winner has more points than the mean in every round",
        "condorcet_loser": "the last two meet in a duel, which it loses",
        "smith": "the last of the Smith set has more points than the mean in every round",
    }

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Eliminate who has the fewest points."""
        borda = _Borda(profile)
        log, ledger = Rounds(len(profile.ids)), Ledger(ties, "elimination")
        kinds, gone = borda.duels.kinds, 4 * len(profile.ids) * max(borda.voice, 1)
        # The members of each kind, the first by the tie-break in front.
        places, order = ties.places.tolist(), np.argsort(ties.places)
        members: list[list[int]] = [[] for _ in range(len(borda.duels))]
        for one, kind in zip(order.tolist(), kinds[order].tolist(), strict=True):
            members[kind].append(one)
        while True:
            log.add(borda.points())
            worst = np.flatnonzero(borda.sums == borda.sums.min()).tolist()
            count = sum(len(members[kind]) for kind in worst)
            if count == borda.left and _level(borda.margin, worst, count):
                log.out([one for kind in worst for one in members[kind]])
                return order_of(profile, log, ledger)
            one = max((members[kind][-1] for kind in worst), key=places.__getitem__)
            if count > 1:
                some = [i for kind in worst for i in members[kind][-11:]]
                ledger.add(log.count, some, [one], count)
            log.out([one])
            kind = int(kinds[one])
            members[kind].pop()
            borda.sums -= borda.margin[:, kind]
            borda.left -= 1
            if not members[kind]:
                borda.sums[kind] = gone


def _level(margin: Any, kinds: list[int], count: int) -> bool:
    """Tell whether all who remain would tie in every round to come."""
    return count <= 2 or not margin[np.ix_(kinds, kinds)].any()


class Nanson(Elimination):
    """Nanson's rule: all with fewer Borda points than the mean of those who remain are eliminated.

    With `weak` also those with just the mean, unless all have it. Who goes in one round ties, and
    so do those who are left when all have the mean: no tie-break is needed. Exact, from margins;
    O(n m^2). Source: Nanson 1882; both readings as in Niou 1987 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]],
    ...                                 weights=[4, 3, 2])
    >>> Nanson()(profile).tiers
    (('a',), ('b',), ('c',))
    """

    formula: ClassVar[str] = "eliminate {a : Borda(a) < mean} among those who remain, repeat"
    source: ClassVar[str] = "Nanson 1882; Niou 1987 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "a sum over ballots",
        "neutrality": "no tie-break is used",
        "homogeneity": "points are proportional to the weights",
        "separability": "a ballot that ties all adds the same to all",
        "unanimity": "it is the Condorcet winner",
        "pareto": "who is below another everywhere has fewer points and goes first or with it",
        "majority": "it is the Condorcet winner",
        "condorcet": "the Condorcet winner has more points than the mean in every round",
        "condorcet_loser": "it has fewer points than the mean while another remains",
        "smith": "the last of the Smith set has more points than the mean in every round",
    }

    weak: bool = False

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Eliminate who has fewer points than the mean."""
        borda = _Borda(profile)
        log = Rounds(len(profile.ids))
        left = np.ones(len(borda.duels), dtype=bool)
        while True:
            log.add(borda.points())
            sums = borda.sums
            out = left & ((sums <= 0) if self.weak else (sums < 0))
            if not (sums[left] != 0).any():
                log.out(np.flatnonzero(left[borda.duels.kinds]))
                return order_of(profile, log)
            log.out(np.flatnonzero(out[borda.duels.kinds]))
            borda.sums = sums - borda.margin[:, out] @ borda.sizes[out]
            borda.left -= int(borda.sizes[out].sum())
            left &= ~out
