"""Rules that draw: a lottery over who comes first, and an order drawn place by place.

`Order.lottery` holds the probabilities of coming first. The order itself is drawn with the
decision's seed: the first by the lottery, the second by the same rule's lottery over the others,
and so on for `depth` places. Behind them the others follow undrawn, by their probability in the
lottery over what is left, equals by a count that the rule names. A draw goes through the
alternatives in the tie-break's order, so it depends on the seed and not on the order of ids or
voters. The axioms a rule `holds` are those of the set of alternatives that may come first.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairagents.decision import Table
from fairagents.profile import Profile, doubled_borda
from fairagents.rules._levels import by_keys
from fairagents.rules._maximal import maximal_lottery
from fairagents.rules.base import TOLERANCE, Basis, Needs, Order, OrderRule, Ties, levels_of
from fairagents.rules.pairwise import margins
from fairagents.rules.trace import TRACE_ROWS, ballot_table, column_table, matrix_table
from fairagents.spec import Floats, Ints

OF_LOTTERIES = {
    "anonymity": "the lottery is a symmetric function of the ballots",
    "neutrality": "the lottery does not depend on names",
    "homogeneity": "the lottery depends on shares of the voice",
}
"""What holds for all rules here."""


class Chances(abc.ABC):
    """A rule's lotteries over parts of one agenda."""

    exact: bool = True

    @abc.abstractmethod
    def over(self, rest: Ints) -> Floats:
        """Return the probability of each of some alternatives to come first among these."""

    @abc.abstractmethod
    def count(self, rest: Ints) -> Any:
        """Return what orders alternatives of equal probability behind the drawn places."""

    @abc.abstractmethod
    def tables(self, levels: Ints, lottery: Floats) -> Sequence[Table]:
        """Return the trace of the lottery over the whole agenda."""


class LotteryRule(OrderRule):
    """A rule that draws. A subclass gives `chances`; `counts` words what orders the undrawn."""

    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    counts: ClassVar[str] = "Borda points"

    depth: int = Field(default=10, ge=1)

    @abc.abstractmethod
    def chances(self, profile: Profile, ties: Ties) -> Chances:
        """Return the lotteries over parts of the agenda."""

    def order(self, profile: Profile) -> Order:
        """Draw with the seed 0."""
        return self.order_with(profile, Ties(profile, self.tie_break, 0))

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Draw the first places, and order the others by probability."""
        chances, rng = self.chances(profile, ties), ties.rng()
        rest = np.argsort(ties.places)
        levels = np.zeros(len(rest), dtype=np.int64)
        lottery = np.zeros(len(rest))
        lottery[rest] = found = chances.over(rest)
        drawn = min(self.depth, len(rest))
        for place in range(drawn):
            pick = _draw(found, rng.random())
            levels[rest[pick]] = place
            rest = np.delete(rest, pick)
            if len(rest):
                found = chances.over(rest)
        notes: tuple[str, ...] = ()
        if not chances.exact:
            notes = ("the lottery is estimated from draws, not exact",)
        if len(rest):
            levels[rest] = drawn + by_keys(-levels_of(found, TOLERANCE), chances.count(rest))
            notes += (
                f"places 1 to {drawn} are drawn, each by the lottery over what is left; the others "
                f"follow by their probability in the lottery over them, equals by {self.counts}",
            )
        tables = chances.tables(levels, lottery)
        totals = lottery if tables and tables[-1].name == "lottery" else None
        return Order(levels, totals, tables, notes, lottery=lottery)


def _draw(lottery: Floats, at: float) -> int:
    """Return the position at which the summed probabilities pass `at`, in [0, 1)."""
    some = np.flatnonzero(lottery > 0)
    ends = np.cumsum(lottery[some])
    return int(some[min(np.searchsorted(ends, at * ends[-1], side="right"), len(some) - 1)])


def doubled_among(profile: Profile, rest: Ints) -> Any:
    """Return the doubled Borda points that ballots give some alternatives, shape (n, r)."""
    return doubled_borda(profile.take(rest).ranks)


# -- by points -----------------------------------------------------------------------------------


class ProportionalBorda(LotteryRule):
    """The proportional Borda lottery: probabilities in proportion to Borda points.

    p(a) = points(a) / sum_b points(b), exact, tied places sharing points as in `Borda`. Each
    further place is drawn by the points among what is left. O(n m log m) a place.
    Source: Barbera 1979, Heckelman 2003 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "a", "c"]])
    >>> ProportionalBorda()(profile).lottery.probabilities
    (0.5, 0.5)
    """

    formula: ClassVar[str] = "p(a) = Borda points of a / all Borda points"
    source: ClassVar[str] = "Barbera 1979, Heckelman 2003 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m log m) a place"
    holds: ClassVar[Mapping[str, str]] = {
        **OF_LOTTERIES,
        "condorcet_loser": "who is last everywhere has no points",
        "monotonicity": "who has points has more when raised",
        "reversal": "who has all points has none when all ballots are reversed",
        "later_no_harm": "who is listed has points",
    }

    def chances(self, profile: Profile, ties: Ties) -> Chances:
        """Return shares of Borda points."""
        return _BordaPoints(profile)


class _BordaPoints(Chances):
    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def over(self, rest: Ints) -> Floats:
        points = self.count(rest)
        if len(rest) == 1:
            return np.ones(1)
        found: Floats = (points / points.sum()).astype(np.float64)
        return found

    def count(self, rest: Ints) -> Any:
        return self.profile.whole_weights[0] @ doubled_among(self.profile, rest)

    def tables(self, levels: Ints, lottery: Floats) -> Sequence[Table]:
        m = len(levels)
        doubled = doubled_borda(self.profile.ranks).astype(np.float64)
        cells = doubled / (m * (m - 1)) if m > 1 else np.ones(doubled.shape)
        return (ballot_table("lottery", self.profile, cells, levels, lottery, "mean"),)


# -- by margins ----------------------------------------------------------------------------------


class MaximalLottery(LotteryRule):
    """Maximal lotteries: no alternative is preferred to the lottery by a majority in expectation.

    p >= 0, sum p = 1 and p' M >= 0 with M the majority margins (`kind="C2"`) or their signs
    (`kind="C1"`). Of several such lotteries the one of the greatest entropy: it is the only one of
    its kind, gives equals equal chances, and a chance to all that any of them gives one (the
    essential set). Within the Smith set, from the best by Copeland on, by linear programming
    (HiGHS) and Newton's method; p' M >= -1e-9 where the greatest margin over each alternative is
    1, probabilities to 12 decimals. What is not drawn is ordered by Copeland's rule. At most 5,000
    alternatives. O(n m^2), and linear programmes over few alternatives a place.
    Source: Kreweras 1965, Fishburn 1984, Brandl, Brandt & Seedig 2016 (as commonly stated).

    >>> cycle = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]
    >>> profile = Profile.from_rankings(cycle, weights=[4, 3, 2])
    >>> [round(p, 3) for p in MaximalLottery()(profile).lottery.probabilities]
    [0.556, 0.111, 0.333]
    """

    counts: ClassVar[str] = "Copeland's rule"
    formula: ClassVar[str] = "p >= 0, sum p = 1, p' M >= 0, the greatest entropy"
    source: ClassVar[str] = "Fishburn 1984, Brandl, Brandt & Seedig 2016 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m^2), and small linear programmes a place"
    holds: ClassVar[Mapping[str, str]] = {
        **OF_LOTTERIES,
        "unanimity": "it is a Condorcet winner",
        "pareto": "the lottery would be better off with the other one in its place",
        "majority": "it is a Condorcet winner",
        "condorcet": "its margins make it the only maximal lottery",
        "condorcet_loser": "only a Condorcet winner comes first for sure",
        "smith": "who loses to all of the Smith set has no part in a maximal lottery",
        "reversal": "only a Condorcet winner comes first for sure",
        "monotonicity": "of the essential set: Dutta & Laslier 1999",
        "clone_independence": "of the essential set: Dutta & Laslier 1999",
        "independence_of_losers": "of the essential set: Dutta & Laslier 1999",
        "separability": "an indifferent voter adds nothing to the margins",
    }

    kind: Literal["C2", "C1"] = "C2"

    def chances(self, profile: Profile, ties: Ties) -> Chances:
        """Return maximal lotteries."""
        return _Duels(profile, self.kind)


class _Duels(Chances):
    def __init__(self, profile: Profile, kind: str) -> None:
        self.profile, self.kind = profile, kind
        self.matrix, self.scale = margins(profile)
        self.scores = _balance(self.matrix)

    def over(self, rest: Ints) -> Floats:
        def game(some: Ints, others: Ints) -> Any:
            part = self.matrix[np.ix_(rest[some], rest[others])]
            return part if self.kind == "C2" else np.sign(part)

        return maximal_lottery(game, self.count(rest))

    def count(self, rest: Ints) -> Any:
        """Return duels won minus duels lost among some alternatives."""
        gone = np.setdiff1d(np.arange(len(self.scores)), rest)
        return (self.scores - _balance(self.matrix[:, gone]))[rest]

    def tables(self, levels: Ints, lottery: Floats) -> Sequence[Table]:
        """Return the margins, the lottery, and the margin of the lottery over each alternative."""
        ids, found = self.profile.ids, []
        if len(ids) <= TRACE_ROWS:
            margin = self.matrix / self.scale
            found.append(matrix_table("margins", ids, margin, levels))
        found.append(column_table("probabilities", ids, ("probability",), (lottery,), levels))
        support = np.flatnonzero(lottery)
        if len(support) <= TRACE_ROWS:
            rows = self.matrix[support]
            cells = rows / self.scale if self.kind == "C2" else np.sign(rows)
            columns = (*(ids[a] for a in support.tolist()), "total")
            total = lottery[support] @ cells.astype(np.float64)
            found.append(
                column_table(
                    "margins of the lottery", ids, columns, (*cells, total), levels, "sum",
                    lottery[support].tolist(),
                )
            )  # fmt: skip
        return tuple(found)


def _balance(matrix: Any) -> Ints:
    """Return the number of positive minus that of negative numbers in each row."""
    balance: Ints = np.count_nonzero(matrix > 0, axis=1) - np.count_nonzero(matrix < 0, axis=1)
    return balance
