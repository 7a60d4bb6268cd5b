"""Rules that look for the ranking nearest to the ballots: Kemeny's, and the footrule."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fairagents.decision import Table
from fairagents.errors import BallotError
from fairagents.profile import Profile, doubled_borda
from fairagents.rules.base import Basis, Needs, Order, OrderRule, Ties, levels_of
from fairagents.rules.duels import ANONYMOUS, MAJORITARIAN, Duels
from fairagents.rules.linear import best_order, open_between, tiers_of
from fairagents.rules.trace import ballot_table
from fairagents.spec import Ints

SEVERAL = "other rankings are as good; this one was chosen by the tie-break's order"


class Kemeny(OrderRule):
    """Kemeny's rule (Kemeny-Young): the ranking with the least weighted sum of swap distances.

    minimise sum_v w_v d_v(r), where d_v counts the pairs that r puts one way and v strictly the
    other way. A pair that v ties costs nothing; if it cost half a swap every ranking would cost the
    same more. Neighbours whose duels are all tied share a tier, for any order of them is as good;
    otherwise one optimal ranking is returned, and a note says so where others are known.
    The strongly connected components of the majority graph (which refine Smith tiers) are solved
    one by one: up to 12 kinds by dynamic programming over subsets, larger ones by a linear
    programme with lazy triangles, whole numbers where it is fractional. After `time_limit` seconds,
    or above 250 in a cycle, the best of an insertion local search stands with `optimal=False` and
    the gap to what is proved. Source: Kemeny 1959; Young & Levenglick 1978 (as commonly stated).

    >>> profile = Profile.from_rankings([list("abc"), list("bca"), list("cab")], weights=[4, 3, 2])
    >>> decision = Kemeny()(profile)
    >>> decision.outcome.ids, decision.table("objective").rows
    (('a', 'b', 'c'), (('weighted swaps', 10.0, 10.0, 0.0),))
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "argmin_r sum_v w_v |{(a, b) : r puts a above b, v b above a}|"
    source: ClassVar[str] = "Kemeny 1959; Young & Levenglick 1978 (as commonly stated)"
    complexity: ClassVar[str] = "NP-hard; O(n m^2) without cycles, O(2^c c) for a cycle of c <= 12"
    holds: ClassVar[Mapping[str, str]] = (
        ANONYMOUS
        | MAJORITARIAN
        | {
            "pareto": "to swap the two would be nearer to every ballot",
            "condorcet_loser": "it is last",
            "smith": "members of the Smith set stand before outsiders: Truchon 1998",
            "monotonicity": "rankings with it first come nearer by as much as any others",
            "separability": "a ballot that ties all is as far from every ranking",
        }
    )

    time_limit: float = Field(default=5.0, gt=0)

    def order(self, profile: Profile) -> Order:
        """Order with the seeded tie-break of seed 0."""
        return self.order_with(profile, Ties(profile, self.tie_break, 0))

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Find the nearest ranking."""
        deadline = time.monotonic() + self.time_limit
        duels = Duels.of(profile)
        places = np.full(len(duels), len(profile.ids))
        np.minimum.at(places, duels.kinds, ties.places)
        rows = np.argsort(places)
        above = _weighted(duels, profile)[np.ix_(rows, rows)]
        margin = above - above.T
        best = best_order(margin, deadline)
        tiers = tiers_of(margin, best.order)
        levels = np.empty_like(tiers)
        levels[rows] = tiers
        levels = levels[duels.kinds]
        several = best.several or open_between(margin, best.order, tiers)
        sequence = ties.sequence(levels)
        whole = int(np.triu(above + above.T, 1).sum())
        value, bound = ((whole - one) / (2 * duels.scale) for one in (best.value, best.bound))
        return Order(
            levels,
            None,
            (
                distance_table(profile, sequence),
                objective_table("weighted swaps", value, bound),
                duels.table("margins", duels.margin, places_of(sequence)),
            ),
            (SEVERAL,) if several else (),
            best.optimal,
            None if best.optimal else value - bound,
        )


def _weighted(duels: Duels, profile: Profile) -> Any:
    """Return who is placed above whom, times the numbers of alternatives of both kinds."""
    wide = duels.above.astype(profile.whole_weights[0].dtype)
    if int(wide.sum()) * int(duels.sizes.max()) ** 2 * 4 > 2**62:
        wide = wide.astype(object)
    return wide * duels.sizes[:, None] * duels.sizes


def places_of(sequence: Ints) -> Ints:
    """Return the place of each alternative in a sequence of all."""
    places = np.empty_like(sequence)
    places[sequence] = np.arange(len(sequence))
    return places


# -- traces of distances -------------------------------------------------------------------------


def swaps(ranks: Ints, sequence: Ints, tile: int = 512) -> Ints:
    """Return the pairs that a ranking puts one way and each ballot strictly the other, shape (n,).

    >>> swaps(np.array([[0, 1, 2], [2, 1, 0], [0, 0, 0]]), np.array([0, 1, 2])).tolist()
    [0, 3, 0]
    """
    found = []
    for row in ranks[:, sequence]:
        small = row.astype(np.uint16) if len(row) < 2**16 and row.min() >= 0 else row
        total = 0
        for start in range(0, len(small), tile):
            part, rest = small[start : start + tile], small[start + tile :]
            total += int(np.count_nonzero(np.triu(part[:, None] > part)))
            total += int(np.count_nonzero(part[:, None] > rest))
        found.append(total)
    return np.array(found, dtype=np.int64)


def distance_table(profile: Profile, sequence: Ints, squared: bool = False) -> Table:
    """Return each ballot's distance from the ranking, and the weighted sums."""
    weights = [float(w) for w in profile.weights]
    distances = swaps(profile.ranks, sequence)
    rows: list[Sequence[Any]] = [("weight", *weights, None)]
    shown = {"distance": distances, "squared distance": distances**2}
    for name, values in list(shown.items())[: 2 if squared else 1]:
        total = sum(w * d for w, d in zip(profile.weights, values.tolist(), strict=True))
        rows.append((name, *values.tolist(), float(total)))
    return Table(
        name="distances",
        columns=("ranking", *profile.voters, "total"),
        rows=tuple(map(tuple, rows)),
        how="sum",
    )


def objective_table(name: str, value: float, bound: float) -> Table:
    """Return what was minimised, the least that it can be as far as is proved, and the gap."""
    return Table(
        name="objective",
        columns=("objective", "value", "bound", "gap"),
        rows=((name, value, bound, value - bound),),
    )


# -- footrule ------------------------------------------------------------------------------------

MOST_CHECKED = 300
"""Up to so many, costs that floating-point numbers round are checked in exact ones."""

MOST_PLACED = 2000
"""More alternatives are refused: to assign them to places would take minutes."""


class Footrule(OrderRule):
    """Spearman's footrule: the ranking whose places are nearest to those on the ballots.

    minimise sum_v w_v sum_a |place of a - middle place of a on v|; tied alternatives share the
    middle of their places, unranked ones are tied last. An assignment problem, solved exactly. Of
    several optimal rankings the one nearest to Borda's order, then the tie-break's; neighbours
    share a tier where any order of them is as good by both. (With squares for absolute values the
    nearest ranking is Borda's order itself, so that rule is `borda`.)
    O(n m^2 + m^3). Exact where weights times m^4 stay below 2^50 and up to 300 alternatives
    beyond; otherwise costs are rounded, and the ranking is not called optimal.
    Source: Diaconis & Graham 1977; Dwork, Kumar, Naor & Sivakumar 2001 (as commonly stated).

    >>> profile = Profile.from_rankings([list("abc"), list("abc"), list("cab")])
    >>> Footrule()(profile).outcome.ids
    ('a', 'b', 'c')
    """

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = "argmin_r sum_v w_v sum_a |r(a) - middle place of a on v|"
    source: ClassVar[str] = "Diaconis & Graham 1977; Dwork et al. 2001 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2 + m^3)"
    holds: ClassVar[Mapping[str, str]] = ANONYMOUS | {
        "unanimity": "what is first on all ballots is above each other one on all",
        "pareto": "to swap the two is no farther from any ballot, and nearer to Borda's order",
    }

    def order(self, profile: Profile) -> Order:
        """Order with the seeded tie-break of seed 0."""
        return self.order_with(profile, Ties(profile, self.tie_break, 0))

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Assign the alternatives to places.

        Raises:
            BallotError: more than `MOST_PLACED` alternatives.
        """
        m = len(profile.ids)
        if m > MOST_PLACED:
            raise BallotError(
                f"footrule takes at most {MOST_PLACED} alternatives, not {m}: cut the agenda"
            )
        rows = np.argsort(ties.places)
        weights, scale = profile.whole_weights
        points = doubled_borda(profile.ranks[:, rows])
        middle = 2 * (m - 1) - points
        cost = _costs(middle, weights)
        both = _with_borda(cost, weights @ points)
        order, exact = _assigned(both)
        tiers = _additive_tiers(both, order)
        levels = np.empty(m, dtype=np.int64)
        levels[rows] = tiers
        sequence = ties.sequence(levels)
        places = places_of(sequence)
        cells = abs(2 * places - (2 * (m - 1) - doubled_borda(profile.ranks)))
        totals = weights @ cells
        value = float(int(totals.sum()) / (2 * scale))
        table = ballot_table(
            "displacements", profile, cells / 2, places, totals / (2 * scale), "sum"
        )
        note = "other rankings are as near; this one is nearest to Borda's order"
        return Order(
            levels,
            None,
            (objective_table("weighted displacement", value, value), table),
            (note,) if _swappable(cost, order, tiers) else (),
            exact,
        )


def _costs(middle: Ints, weights: Any) -> Any:
    """Return the weighted doubled displacement of each alternative at each place, shape (m, m)."""
    places = 2 * np.arange(middle.shape[1])
    total = np.zeros((len(places), len(places)), dtype=weights.dtype)
    for weight, row in zip(weights, middle, strict=True):
        total += abs(places - row[:, None]).astype(weights.dtype) * weight
    return total


def _with_borda(cost: Any, points: Any) -> Any:
    """Return costs with the distance from Borda's order as the second thing that counts."""
    m = len(cost)
    behind = m - levels_of(points)[:, None]
    wide = cost.astype(object) if int(cost.max()) * m**3 > 2**61 else cost
    # The second part sums to less than m^3, and the first is whole.
    return wide * m**3 + np.arange(m) * behind


def _assigned(cost: Any) -> tuple[Ints, bool]:
    """Return the alternative at each place, and whether that is exactly the best."""
    from scipy.optimize import linear_sum_assignment

    rows, places = linear_sum_assignment(cost.astype(np.float64))
    order = np.empty_like(rows)
    order[places] = rows
    if int(cost.max(initial=0)) < 2**50:
        return order, True
    if len(cost) > MOST_CHECKED:
        return order, False
    while (cycle := _cheaper(cost.astype(object), order)) is not None:
        order[np.roll(cycle, -1)] = order[cycle]
    return order, True


def _cheaper(cost: Any, order: Ints) -> Ints | None:
    """Return places whose alternatives move each to the next one's at a gain, or None.

    Bellman & Ford's search for a negative cycle among the changes of cost, in exact numbers.
    """
    change = cost[order] - cost[order, range(len(order))][:, None]
    m = len(order)
    least, before = np.zeros(m, dtype=object), np.full(m, -1)
    for _ in range(m + 1):
        sums = least[:, None] + change
        better = sums.min(axis=0)
        gains = better < least
        if not gains.any():
            return None
        before[gains] = np.array([row.argmin() for row in sums.T[gains]])
        least = np.where(gains, better, least)
    at = int(np.flatnonzero(gains)[0])
    for _ in range(m):
        at = before[at]
    cycle = [at]
    while before[cycle[-1]] != at:
        cycle.append(before[cycle[-1]])
    return np.array(cycle[::-1])


def _additive_tiers(cost: Any, order: Ints) -> Ints:
    """Return the tier of each row: neighbours share one where any order of them costs the same.

    That is where the rows differ by the same number at all of their places.
    """
    levels = np.zeros(len(order), dtype=np.int64)
    start = 0
    for i in range(1, len(order)):
        rows, places = order[start : i + 1], np.arange(start, i + 1)
        last = cost[rows[-1], places] - cost[rows[0], places]
        new = cost[rows, i] - cost[rows[0], i] - (cost[rows, start] - cost[rows[0], start])
        if (last != last[0]).any() or (new != 0).any():
            start = i
        levels[order[i]] = levels[order[i - 1]] + (start == i)
    return levels


def _swappable(cost: Any, order: Ints, levels: Ints) -> bool:
    """Tell whether two of different tiers could change places at no cost."""
    at = cost[order]
    own = at.diagonal()
    change = at + at.T - own - own[:, None]
    tiers = levels[order]
    return bool(((change == 0) & (tiers[:, None] != tiers)).any())
