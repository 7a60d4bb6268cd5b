"""Stable voting: winners that stay winners without some other, for few alternatives."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.errors import BallotError
from fairagents.profile import Profile
from fairagents.rules.base import Basis, Needs, Order, OrderRule
from fairagents.rules.duels import MAJORITARIAN, SYMMETRIC, Duels
from fairagents.rules.majority import coded, ones, strongest_paths

MOST_STABLE = 12
"""Stable voting is refused above: it may need every subset of the alternatives."""


class StableVoting(OrderRule):
    """Stable voting: a wins if it wins without b, for the pair (a, b) of the greatest margin.

    A single alternative wins. Otherwise among the pairs (a, b) with a undefeated by split cycle,
    taken by falling margin(a, b), a wins if it wins in the election without b; of pairs of equal
    margin all such a win. The rest is put in order by the same rule among them. Exact; exponential
    in m, so at most 12 alternatives. Source: Holliday & Pacuit 2023, Constitutional Political
    Economy 34 (as commonly stated); the order below the winners is ours.

    >>> profile = Profile.from_rankings([list("abc"), list("bca"), list("cab")], weights=[4, 3, 2])
    >>> StableVoting()(profile).tiers
    (('a',), ('b',), ('c',))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "a wins if it wins without b, for (a, b) of the greatest margin"
    source: ClassVar[str] = "Holliday & Pacuit 2023 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2 + 2^m m^3), m at most 12"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "pareto": "its winners are undefeated by split cycle",
            "condorcet_loser": "its winners are undefeated by split cycle",
            "smith": "its winners are undefeated by split cycle",
        }
    )

    def order(self, profile: Profile) -> Order:
        """Order by stable voting, then by stable voting among the rest.

        Raises:
            BallotError: more than `MOST_STABLE` alternatives.
        """
        m = len(profile.ids)
        if m > MOST_STABLE:
            raise BallotError(
                f"stable voting takes at most {MOST_STABLE} alternatives, not {m}: cut the agenda, "
                "or use split_cycle"
            )
        duels = Duels.of(profile)
        levels = np.zeros(m, dtype=np.int64)
        rest, level = (1 << m) - 1, 0
        elections = _Stable(duels.margin[np.ix_(duels.kinds, duels.kinds)])
        for level in itertools.count():
            won = elections.winners(rest)
            levels[ones(won)] = level
            rest &= ~won
            if not rest:
                break
        tally = duels.tally(duels.margin > 0)
        tables = (
            duels.table("margins", duels.margin, levels),
            elections.trail(profile.ids, int(np.argmin(levels)), duels.scale),
            tally.table(tally.won + tally.tied / 2, levels, (1.0, 0.5)),
        )
        return Order(levels, None, tables)


class _Stable:
    """Stable voting's winners in all subsets that it takes, as bits."""

    def __init__(self, margin: Any) -> None:
        m = len(margin)
        self.margin = margin
        self.codes = coded(np.where(margin > 0, margin, 0))[0]
        self.beats = [sum(1 << j for j in range(m) if margin[i, j] > 0) for i in range(m)]
        pairs = sorted(itertools.permutations(range(m), 2), key=lambda p: -margin[p])
        self.steps = [list(g) for _, g in itertools.groupby(pairs, key=lambda p: margin[p])]
        self.known: dict[int, int] = {}
        self.without: dict[tuple[int, int], int] = {}

    def winners(self, among: int) -> int:
        """Return the winners of the election among some alternatives."""
        if among not in self.known:
            self.known[among] = self._winners(among)
        return self.known[among]

    def _winners(self, among: int) -> int:
        members = ones(among)
        for a in members:
            if self.beats[a] & among == among ^ 1 << a:
                return 1 << a
        undefeated = self._undefeated(members)
        if not undefeated & (undefeated - 1):
            return undefeated
        for step in self.steps:
            won = 0
            for a, b in step:
                possible = undefeated >> a & among >> b & ~won >> a & 1
                if possible and self.winners(among ^ 1 << b) >> a & 1:
                    won |= 1 << a
                    self.without[among, a] = b
            if won:
                return won
        # Defeats are acyclic, so some b defeats nobody; who wins without that b is undefeated.
        raise AssertionError("some undefeated alternative wins without some other")

    def trail(self, ids: Sequence[str], winner: int, scale: int) -> Table:
        """Return without whom a winner wins, until it is the only one undefeated."""
        among, rows = (1 << len(ids)) - 1, []
        while (among, winner) in self.without:
            b = self.without[among, winner]
            rows.append((ids[winner], ids[b], self.margin[winner, b] / scale))
            among ^= 1 << b
        rest = ", ".join(ids[i] for i in ones(among))
        return Table(
            name="steps",
            columns=("winner", "without", "margin"),
            rows=(*rows, (ids[winner], f"alone undefeated among {rest}", None)),
        )

    def _undefeated(self, members: list[int]) -> int:
        codes = self.codes[np.ix_(members, members)]
        free = ~(codes > strongest_paths(codes).T).any(axis=0)
        return sum(1 << members[i] for i in np.flatnonzero(free).tolist())
