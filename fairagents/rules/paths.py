"""Rules that settle majority cycles by paths and strengths: Schulze, ranked pairs, split cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.profile import Profile
from fairagents.rules.base import Basis, Needs, Order, OrderRule, Ties, levels_of
from fairagents.rules.duels import (
    ANONYMOUS,
    MAJORITARIAN,
    SYMMETRIC,
    Duels,
    Strength,
    batches,
)
from fairagents.rules.majority import (
    coded,
    layers,
    ones,
    parts_of,
    paths_by_tier,
    smith_tiers,
    strengths,
    strongest_paths,
)
from fairagents.rules.trace import TRACE_ROWS
from fairagents.spec import Bools, Floats, Ints


def _strength_table(duels: Duels, by: Strength, levels: Ints) -> Table:
    """Return the matrix that strengths are read from."""
    if by == "margins":
        return duels.table("margins", duels.margin, levels)
    return duels.table("support", duels.above, levels)


# -- Schulze -------------------------------------------------------------------------------------


class Schulze(OrderRule):
    """Schulze's rule: a is ahead of b if the strongest path from a to b beats the way back.

    A path is a chain of won duels and as strong as its weakest; p(a, b) is the strength of the
    strongest. "a ahead of b if p(a, b) > p(b, a)" is transitive (Schulze 2011), but two that are
    level need not be level with the same others; so the tiers go by the number of others that are
    not ahead, which never contradicts the relation:
    total(a) = |{b != a : p(a, b) >= p(b, a)}|, and the winners, with m - 1, are those with nobody
    ahead. `strength` of a won duel: its margin, or the weight of the ballots with the winner above
    ("winning_votes"); they differ on ballots with ties. Exact.
    Floyd & Warshall with bytes within Smith tiers: O(n m^2 + m^3).
    Source: Schulze 2011, Social Choice and Welfare 36 (as commonly stated).

    >>> profile = Profile.from_rankings([list("abc"), list("bca"), list("cab")], weights=[4, 3, 2])
    >>> Schulze()(profile).totals
    (('a', 2.0), ('b', 1.0), ('c', 0.0))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "total(a) = |{b != a : p(a, b) >= p(b, a)}|, p the strongest paths"
    source: ClassVar[str] = "Schulze 2011 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2 + m^3)"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "pareto": "a unanimous duel is a path of all weight, and none that strong leads back",
            "condorcet_loser": "paths lead to it and none away",
            "smith": "paths lead out of the Smith set and none back",
            "monotonicity": "Schulze 2011, 4.5",
            "clone_independence": "Schulze 2011, 4.6",
            "reversal": "Schulze 2011, 4.4: all paths are reversed",
        }
    )

    strength: Strength = "margins"

    def order(self, profile: Profile) -> Order:
        """Order by the number of others that are not ahead."""
        duels = Duels.of(profile)
        codes, values = coded(strengths(duels, self.strength))
        paths = paths_by_tier(codes, smith_tiers(duels.margin), TRACE_ROWS)
        tally = duels.tally(paths > paths.T)
        totals = (tally.won + tally.tied).astype(np.float64)
        levels = levels_of(totals)
        tables = (
            _strength_table(duels, self.strength, levels),
            duels.table("paths", values[paths], levels, tally.won, "wins"),
            tally.table(totals, levels, (1.0, 1.0)),
        )
        return Order(levels, totals, tables)

    def batch(self, said: Floats, weights: Ints) -> Floats | Ints | None:
        """Return the totals of many profiles, shape (b, m)."""
        if weights.dtype == object:
            return None
        m = said.shape[2]
        totals = np.empty((len(said), m), dtype=np.int64)
        for part, above in batches(said, weights):
            below = above.transpose(1, 0, 2)
            won = above - below if self.strength == "margins" else above
            paths = strongest_paths(np.where(above > below, won, 0))
            ahead = paths > paths.transpose(1, 0, 2)
            totals[part] = m - 1 - ahead.view(np.uint8).sum(axis=0, dtype=np.int16).T
        return totals


# -- ranked pairs --------------------------------------------------------------------------------


class RankedPairs(OrderRule):
    """Ranked pairs (Tideman): lock won duels, the strongest first, unless they close a cycle.

    The order is what the locked duels imply; those that they leave open tie by the number of
    others that are ahead. Duels of equal strength are taken in one order, not in all: the winner
    that the tie-break puts first, then the loser that it puts first; a note says when another
    order could have locked others. `strength` as for Schulze. Exact. O(n m^2 + m^3) at worst, with
    sets of alternatives as bits. Source: Tideman 1987; Zavist & Tideman 1989 (as commonly stated).

    >>> profile = Profile.from_rankings([list("abc"), list("bca"), list("cab")], weights=[4, 3, 2])
    >>> RankedPairs()(profile).tiers
    (('a',), ('b',), ('c',))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "lock a > b by falling strength unless locked pairs lead from b to a"
    source: ClassVar[str] = "Tideman 1987; Zavist & Tideman 1989 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2 + m^3)"
    holds: ClassVar[Mapping[str, str]] = (
        ANONYMOUS
        | MAJORITARIAN
        | {
            "pareto": "unanimous duels are the strongest and close no cycle, so all are locked",
            "condorcet_loser": "all duels against it are locked",
            "smith": "no duel leads into the Smith set, so all that lead out are locked",
            "monotonicity": "Tideman 1987; ties between duels fall by a fixed order",
            "separability": "a ballot that ties all adds to no duel",
        }
    )

    strength: Strength = "margins"

    def order(self, profile: Profile) -> Order:
        """Order with the seeded tie-break of seed 0."""
        return self.order_with(profile, Ties(profile, self.tie_break, 0))

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Lock pairs within each Smith tier; between tiers all are locked, for none is beaten."""
        duels = Duels.of(profile)
        codes, values = coded(strengths(duels, self.strength))
        tiers = smith_tiers(duels.margin)
        places = _places(duels, ties)
        ahead = tiers[:, None] < tiers
        left = _Left()
        for part in parts_of(tiers):
            if len(part) > 1:
                ordered = part[np.argsort(places[part])]
                cells = np.ix_(ordered, ordered)
                ahead[cells] = _lock(codes[cells], left, ordered.tolist())
        tally = duels.tally(ahead)
        totals = (tally.won + tally.tied).astype(np.float64)
        levels = levels_of(totals)
        tables = (
            _strength_table(duels, self.strength, levels),
            left.table(duels, values),
            duels.table("locked", ahead, levels, tally.won, "wins", scale=1),
            tally.table(totals, levels, (1.0, 1.0)),
        )
        return Order(levels, totals, tables, left.notes(self.tie_break))


def _places(duels: Duels, ties: Ties) -> Ints:
    """Return the best tie-break place within each kind, shape (c,)."""
    places = np.full(len(duels), len(duels.ids))
    np.minimum.at(places, duels.kinds, ties.places)
    return places


@dataclass
class _Left:
    """Pairs that were left out since stronger ones lead the other way: (winner, loser, code)."""

    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    by_tie: bool = False

    def table(self, duels: Duels, values: Any) -> Table:
        names = [duels.ids[i] for i in duels.firsts.tolist()]
        first = self.pairs[:TRACE_ROWS]
        return Table(
            name="left out",
            columns=("winner", "loser", "strength"),
            rows=tuple((names[a], names[b], float(values[s]) / duels.scale) for a, b, s in first),
            cut=len(self.pairs) - len(first),
        )

    def notes(self, tie_break: str) -> tuple[str, ...]:
        if not self.by_tie:
            return ()
        return (
            f"pairs of equal strength were locked in the order of the {tie_break} tie-break; "
            "in another order others would have been locked",
        )


def _lock(codes: Any, left: _Left, names: list[int]) -> Bools:
    """Return what the locked pairs imply, shape (c, c).

    `below[a]` and `above[b]` hold as bits whom a is ahead of and who is ahead of b.

    Args:
        codes: strengths of won duels, in the tie-break's order.
        left: gets the pairs that are left out.
        names: the kind that each row stands for.
    """
    c = len(codes)
    winners, losers = np.nonzero(codes)
    strength = codes[winners, losers]
    order = np.argsort(-strength.astype(np.int64), kind="stable")
    pairs = (part[order].tolist() for part in (winners, losers, strength))
    bits = [1 << i for i in range(c)]
    below, above = [0] * c, [0] * c
    before, last = below, -1
    for a, b, s in zip(*pairs, strict=True):
        if s != last:
            before, last = below.copy(), s
        if below[a] & bits[b]:
            continue
        if below[b] & bits[a]:
            left.pairs.append((names[a], names[b], s))
            left.by_tie |= not before[b] & bits[a]
            continue
        lower, upper = below[b] | bits[b], above[a] | bits[a]
        gains, losses = ones(upper & ~above[b]), ones(lower & ~below[a])
        for i in gains:
            below[i] |= lower
        for i in losses:
            above[i] |= upper
    width = (c + 7) // 8
    packed = np.frombuffer(b"".join(row.to_bytes(width, "little") for row in below), np.uint8)
    ahead = np.unpackbits(packed.reshape(c, width), axis=1, count=c, bitorder="little")
    return ahead.astype(bool)


# -- split cycle ---------------------------------------------------------------------------------


class SplitCycle(OrderRule):
    """Split cycle: in each majority cycle the weakest duels are no defeats.

    a defeats b if margin(a, b) > 0 and no cycle of won duels, each at least as strong, holds it:
    margin(a, b) > p(b, a), the strongest path back. Winners are undefeated. Defeats are acyclic,
    and the others stand as deep as the longest chain of defeats above them. Exact.
    O(n m^2 + m^3). Source: Holliday & Pacuit 2023, Public Choice 197 (as commonly stated); the
    order below the winners is ours.

    >>> profile = Profile.from_rankings([list("abc"), list("bca"), list("cab")], weights=[4, 3, 2])
    >>> SplitCycle()(profile).tiers
    (('a',), ('b',), ('c',))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "a defeats b if margin(a, b) > p(b, a), the strongest path back"
    source: ClassVar[str] = "Holliday & Pacuit 2023 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2 + m^3)"
    holds: ClassVar[Mapping[str, str]] = (
        SYMMETRIC
        | MAJORITARIAN
        | {
            "pareto": "a unanimous duel is in no cycle of duels as strong",
            "condorcet_loser": "duels against it are in no cycle",
            "smith": "duels that lead out of the Smith set are in no cycle",
            "monotonicity": "Holliday & Pacuit 2023",
            "clone_independence": "Holliday & Pacuit 2023",
            "reversal": "Holliday & Pacuit 2023: all defeats are reversed",
        }
    )

    def order(self, profile: Profile) -> Order:
        """Order by the longest chain of defeats."""
        duels = Duels.of(profile)
        codes, values = coded(strengths(duels, "margins"))
        paths = paths_by_tier(codes, smith_tiers(duels.margin), TRACE_ROWS)
        defeats = codes > paths.T
        levels = layers(defeats)[duels.kinds]
        tally = duels.tally(defeats)
        tables = (
            duels.table("margins", duels.margin, levels),
            duels.table("paths", values[paths], levels),
            duels.table("defeats", defeats, levels, tally.lost, "losses", scale=1),
        )
        return Order(levels, None, tables)
