"""Rules that draw who decides: random dictatorship, random serial dictatorship."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.profile import Profile
from fairagents.rules.base import Ties
from fairagents.rules.lottery import OF_LOTTERIES, Chances, LotteryRule, doubled_among
from fairagents.rules.trace import ballot_table
from fairagents.rules.welfare import shares
from fairagents.seeds import derive
from fairagents.spec import Bools, Floats, Ints

FIRST_PLACES = OF_LOTTERIES | {
    "unanimity": "whoever decides puts it first",
    "pareto": "whoever decides puts the other one first",
    "condorcet_loser": "who comes first for sure is first for all who are not indifferent",
    "monotonicity": "whoever decided for it does so when it is raised",
    "clone_independence": "a copy shares with the original, or hides it",
    "reversal": "who comes first for sure is last for somebody then",
    "independence_of_losers": "who never comes first is in nobody's way",
    "later_no_harm": "what stands below does not count where it could be first",
}


class RandomDictatorship(LotteryRule):
    """Random dictatorship: a voter drawn by weight decides; its tied first places share.

    p(a) = sum_v w_v / W [a in top_v] / |top_v|, exact. Each further place is drawn anew, so all
    voters have a say in a slate. O(n m) a place.
    Source: Gibbard 1977 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b"], ["b", "a"]], weights=[3, 1])
    >>> RandomDictatorship()(profile).lottery.probabilities
    (0.75, 0.25)
    """

    formula: ClassVar[str] = "p(a) = sum_v w_v / W [a in top_v] / |top_v|"
    source: ClassVar[str] = "Gibbard 1977 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m) a place"
    holds: ClassVar[Mapping[str, str]] = FIRST_PLACES

    def chances(self, profile: Profile, ties: Ties) -> Chances:
        """Return the shares of first places."""
        return _FirstPlaces(profile)


class _FirstPlaces(Chances):
    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def over(self, rest: Ints) -> Floats:
        weights = self.profile.whole_weights[0]
        tops = self._tops(rest)
        sizes = tops.sum(axis=1)
        common = math.lcm(*set(sizes.tolist()))
        # Whole numbers over one denominator, so that equal shares are equal.
        parts = np.array([common // size for size in sizes.tolist()], dtype=object)
        votes = (weights.astype(object) * parts) @ tops
        found: Floats = (votes / (common * int(weights.sum()))).astype(np.float64)
        return found

    def count(self, rest: Ints) -> Any:
        return self.profile.whole_weights[0] @ doubled_among(self.profile, rest)

    def tables(self, levels: Ints, lottery: Floats) -> Sequence[Table]:
        tops = self._tops(np.arange(len(levels))).astype(np.float64)
        cells = tops / tops.sum(axis=1, keepdims=True)
        return (ballot_table("lottery", self.profile, cells, levels, lottery, "mean"),)

    def _tops(self, rest: Ints) -> Bools:
        ranks = self.profile.ranks[:, rest]
        tops: Bools = ranks == ranks.min(axis=1, keepdims=True)
        return tops


# -- voters in turn ------------------------------------------------------------------------------

MOST_SETS = 5000
"""Random serial dictatorship looks at no more than this many sets of tied alternatives."""

RUNS = 1000
"""So many draws estimate its lottery where there are more."""


class RandomSerialDictatorship(LotteryRule):
    """Random serial dictatorship: voters in a random order narrow the choice down in turn.

    The first voter, drawn by weight, keeps its first tier; the next one, drawn by weight of those
    who are left, keeps of these what it likes best; and so on. What all are indifferent about
    shares. Weights count as clones. p is exact, by a recursion over the sets that can be left, of
    which there may be exponentially many: beyond `MOST_SETS` it is estimated, and a note says so.
    Each further place is drawn anew. Without ties it is the random dictatorship.
    Source: Aziz, Brandt & Brill 2013 (as commonly stated).

    >>> profile = Profile.from_rankings([[["a", "b"], "c"], ["b", "c", "a"]])
    >>> RandomSerialDictatorship()(profile).lottery.expected()
    {'everyone': {'b': 1.0}}
    """

    formula: ClassVar[str] = "p(a) = mean over orders of voters of [a survives] / survivors"
    source: ClassVar[str] = "Aziz, Brandt & Brill 2013 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m) for each set that can be left, exponentially many"
    holds: ClassVar[Mapping[str, str]] = FIRST_PLACES | {
        "separability": "an indifferent voter narrows nothing down"
    }

    def chances(self, profile: Profile, ties: Ties) -> Chances:
        """Return the chances of surviving all voters."""
        return _Survival(profile, ties)


class _Survival(Chances):
    def __init__(self, profile: Profile, ties: Ties) -> None:
        self.profile, self.seed = profile, derive(ties.seed, "serial dictatorship")
        self.weights = profile.whole_weights[0].astype(object)
        self.whole: dict[tuple[int, ...], dict[int, Fraction]] | None = None

    def over(self, rest: Ints) -> Floats:
        known: dict[tuple[int, ...], dict[int, Fraction]] = {}
        try:
            found = self._share(tuple(rest.tolist()), known)
        except _TooManySets:
            self.exact = False
            return self._estimate(rest)
        if self.whole is None and self.exact:
            self.whole = known
        return np.array([float(found.get(a, 0)) for a in rest.tolist()])

    def count(self, rest: Ints) -> Any:
        return self.weights @ doubled_among(self.profile, rest)

    def tables(self, levels: Ints, lottery: Floats) -> Sequence[Table]:
        """Return, for each voter, the chances if it is asked first."""
        if self.whole is None:
            return ()
        every = max(self.whole, key=len)
        cells = np.zeros(self.profile.ranks.shape)
        for v in range(len(cells)):
            for a, share in self.whole[self._narrowed(v, every)].items():
                cells[v, a] = float(share)
        return (ballot_table("lottery", self.profile, cells, levels, lottery, "mean"),)

    def _narrowed(self, voter: int, left: tuple[int, ...]) -> tuple[int, ...]:
        """Return what a voter keeps."""
        ranks = self.profile.ranks[voter, list(left)]
        return tuple(itertools.compress(left, (ranks == ranks.min()).tolist()))

    def _share(
        self, left: tuple[int, ...], known: dict[tuple[int, ...], dict[int, Fraction]]
    ) -> dict[int, Fraction]:
        """Return who survives with which probability.

        Who was asked already is indifferent about what is left, and so does not matter any more:
        what is left is all there is to know.
        """
        if left in known:
            return known[left]
        if len(known) > MOST_SETS:
            raise _TooManySets
        votes: dict[tuple[int, ...], int] = {}
        for v, weight in enumerate(self.weights):
            kept = self._narrowed(v, left)
            if len(kept) < len(left):
                votes[kept] = votes.get(kept, 0) + weight
        found = dict.fromkeys(left, Fraction(1, len(left)))
        if votes:
            found = {}
            for kept, weight in votes.items():
                for a, share in self._share(kept, known).items():
                    found[a] = found.get(a, Fraction(0)) + share * weight
            found = {a: share / sum(votes.values()) for a, share in found.items()}
        known[left] = found
        return found

    def _estimate(self, rest: Ints) -> Floats:
        """Return the mean over random orders of the voters."""
        ranks, rng = self.profile.ranks[:, rest], np.random.default_rng(self.seed)
        voters = sorted(range(len(ranks)), key=lambda v: (ranks[v].tobytes(), self.weights[v]))
        voice = shares(self.profile.whole_weights[0])[voters]
        mean = np.zeros(len(rest))
        for _ in range(RUNS):
            left = np.arange(len(rest))
            # The least of exponential times is drawn by weight, and so is the next one.
            for v in np.argsort(rng.exponential(size=len(voters)) / voice):
                row = ranks[voters[v], left]
                left = left[row == row.min()]
            mean[left] += 1 / (RUNS * len(left))
        return mean


class _TooManySets(Exception):
    pass
