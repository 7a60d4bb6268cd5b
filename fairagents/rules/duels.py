"""Duels: how every two alternatives meet on the ballots, exact and fast.

Alternatives that every ballot ties are one *kind*: they meet everybody else alike, so the matrices
here are over kinds, and what a rule counts of alternatives is counted by the kinds' sizes. That is
how 20,000 alternatives of which the ballots list a few hundred fit a small matrix.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairagents.decision import Table
from fairagents.errors import BallotError
from fairagents.profile import Profile
from fairagents.rules.trace import column_table, shown
from fairagents.spec import Bools, Floats, Ints

MOST = 5000
"""More alternatives that differ on some ballot are refused: the matrices would take gigabytes."""

ANONYMOUS = {
    "anonymity": "weights are added up, whoever holds them",
    "homogeneity": "all weights times one number is all margins times it",
}
SYMMETRIC = ANONYMOUS | {
    "neutrality": "no id is read",
    "separability": "a ballot that ties all adds to no duel",
}
MAJORITARIAN = {
    "unanimity": "what is first on all ballots wins every duel",
    "majority": "what is first for more than half wins every duel",
    "condorcet": "what wins every duel is the only winner by definition",
}
"""What holds for all rules over duels, and for those that elect who wins all of them."""

Strength = Literal["margins", "winning_votes"]
"""What makes a won duel strong: the margin, or the weight of those who place the winner above."""


@dataclass(frozen=True)
class Duels:
    """All duels of a profile, by kind: alternatives that every ballot ties are one kind.

    Attributes:
        ids: the m alternatives.
        kinds: the kind of each alternative, shape (m,).
        firsts: the position of the first alternative of each kind, shape (c,).
        above: `above[k, l]` is the weight of the ballots that place kind k above kind l, times
            `scale`; whole numbers of the smallest type that holds all weight, shape (c, c).
        scale: what the weights were multiplied by to be whole.
    """

    ids: tuple[str, ...]
    kinds: Ints
    firsts: Ints
    above: Any
    scale: int

    @classmethod
    def of(cls, profile: Profile) -> Duels:
        """Count the duels of a profile; O(n c^2).

        Raises:
            BallotError: more than `MOST` alternatives differ on some ballot.
        """
        ranks = profile.ranks
        firsts, kinds = kinds_of(ranks)
        _limit(len(firsts))
        weights, scale = profile.whole_weights
        return cls(profile.ids, kinds, firsts, above_of(ranks[:, firsts], weights), scale)

    def __len__(self) -> int:
        """Return the number of kinds."""
        return len(self.firsts)

    @functools.cached_property
    def margin(self) -> Any:
        """The weight for k over l minus that for l over k, times `scale`, shape (c, c)."""
        return self.above - self.above.T

    @functools.cached_property
    def sizes(self) -> Ints:
        """The number of alternatives of each kind, shape (c,)."""
        return np.bincount(self.kinds, minlength=len(self))

    def counts(self, relation: Bools) -> Ints:
        """Return of how many alternatives a relation holds for each alternative, shape (m,)."""
        alone = len(self) == len(self.ids)
        found: Ints = np.count_nonzero(relation, axis=1) if alone else relation @ self.sizes
        return found[self.kinds]

    def table(
        self,
        name: str,
        matrix: Any,
        levels: Ints,
        total: Any = None,
        how: str = "",
        diagonal: float | None = 0.0,
        scale: int | None = None,
    ) -> Table:
        """Return a matrix over kinds as a trace table over the best alternatives.

        Args:
            name: the table's name.
            matrix: shape (c, c).
            levels: tiers of the alternatives, shape (m,): the best rows and columns are kept.
            total: shape (m,), as it is to be shown.
            how: how the total follows; dropped where the table is cut.
            diagonal: what stands where an alternative would meet itself.
            scale: what the matrix was multiplied by; by default the weights' `scale`.
        """
        rows = shown(levels)
        kinds = self.kinds[rows]
        cells = (matrix[np.ix_(kinds, kinds)] / (scale or self.scale)).tolist()
        names = [self.ids[i] for i in rows.tolist()]
        for i, row in enumerate(cells):
            row[i] = diagonal
            row.insert(0, names[i])
        columns = ("alternative", *names)
        if total is not None:
            columns = (*columns, "total")
            for row, value in zip(cells, total[rows].tolist(), strict=True):
                row.append(value)
        cut = len(self.ids) - len(rows)
        return Table(
            name=name,
            columns=columns,
            rows=tuple(map(tuple, cells)),
            cut=cut,
            how="" if cut else how,
        )

    def tally(self, relation: Bools) -> Tally:
        """Return what duels of a relation everybody won, tied and lost.

        Args:
            relation: who beats whom, shape (c, c).
        """
        won, lost = self.counts(relation), self.counts(relation.T)
        return Tally(self.ids, won, len(self.ids) - 1 - won - lost, lost)


@dataclass(frozen=True)
class Tally:
    """How many duels each alternative won, tied and lost, shape (m,) each."""

    ids: tuple[str, ...]
    won: Ints
    tied: Ints
    lost: Ints

    def table(self, totals: Any, levels: Ints, values: tuple[float, float]) -> Table:
        """Return the trace table from which totals follow.

        Args:
            totals: shape (m,).
            levels: tiers, shape (m,).
            values: what a duel won and a duel tied are worth.
        """
        cells = (self.won, self.tied, self.lost, totals)
        columns = ("won", "tied", "lost", "total")
        return column_table("duels", self.ids, columns, cells, levels, "sum", (*values, 0.0))


def margins(profile: Profile) -> tuple[Any, int]:
    """Return the weighted majority margins times a common denominator, and that denominator.

    `margin[a, b]` is the weight of the ballots that place a above b minus that of those that place
    b above a; ties and pairs that are both unranked count for neither. Whole numbers, shape (m, m).

    Raises:
        BallotError: there are more than `MOST` alternatives.

    >>> margins(Profile.from_rankings([["a", "b"], ["b", "a"], ["a", "b"]]))[0].tolist()
    [[0, 1], [-1, 0]]
    """
    return _whole(profile, "margin")


def support(profile: Profile) -> tuple[Any, int]:
    """Return the weight of the ballots that place a above b, times a common denominator.

    Whole numbers, shape (m, m), and that denominator.

    Raises:
        BallotError: there are more than `MOST` alternatives.

    >>> support(Profile.from_rankings([["a", "b"], ["b", "a"], [["a", "b"]]]))[0].tolist()
    [[0, 1], [1, 0]]
    """
    return _whole(profile, "above")


def _whole(profile: Profile, which: str) -> tuple[Any, int]:
    _limit(len(profile.ids))
    duels = Duels.of(profile)
    matrix = getattr(duels, which)[np.ix_(duels.kinds, duels.kinds)]
    return matrix.astype(profile.whole_weights[0].dtype), duels.scale


def _limit(m: int) -> None:
    if m > MOST:
        raise BallotError(
            f"pairwise rules take at most {MOST} alternatives, not {m}: cut the agenda "
            "(those that every ballot ties count as one)"
        )


# -- counting ------------------------------------------------------------------------------------


def kinds_of(ranks: Ints) -> tuple[Ints, Ints]:
    """Return the first position of each kind, ascending, and the kind of each alternative.

    >>> [x.tolist() for x in kinds_of(np.array([[0, 1, 0, 1], [1, 0, 1, 1]]))]
    [[0, 1, 3], [0, 1, 0, 2]]
    """
    n, m = ranks.shape
    # A column's hash; whether equal hashes are equal columns is checked below.
    odd = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    factors = (odd ^ (odd >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) | np.uint64(1)
    hashes = factors @ ranks.astype(np.uint64)
    _, firsts, kinds = np.unique(hashes, return_index=True, return_inverse=True)
    if len(firsts) == m:
        return np.arange(m), np.arange(m)
    if not np.array_equal(ranks, ranks[:, firsts[kinds]]):
        _, firsts, kinds = np.unique(ranks, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return firsts[order], places[kinds.reshape(-1)]


def above_of(ranks: Ints, weights: Any) -> Any:
    """Return the weight that places each column above each other, shape (c, c).

    Ballots of equal weight are counted together in bytes, 255 at a time.
    """
    c = ranks.shape[1]
    matrix = np.zeros((c, c), dtype=_type(int(weights.sum()), weights.dtype))
    small = _small(ranks)
    for weight in dict.fromkeys(weights.tolist()):
        rows = np.flatnonzero(weights == weight)
        for start in range(0, len(rows), 255):
            count = np.zeros((c, c), dtype=np.uint8)
            for row in small[rows[start : start + 255]]:
                count += (row[:, None] < row).view(np.uint8)
            matrix += count.astype(matrix.dtype) * matrix.dtype.type(weight)
    return matrix


def _small(ranks: Ints) -> NDArray[Any]:
    """Return ranks in the smallest type that holds them."""
    low, high = int(ranks.min(initial=0)), int(ranks.max(initial=0))
    if low < 0:
        return ranks
    return ranks.astype(np.uint8 if high < 2**8 else np.uint16 if high < 2**16 else ranks.dtype)


def _type(most: int, widest: Any) -> Any:
    """Return the smallest signed type that holds numbers up to `most`."""
    for bits, kind in ((7, np.int8), (15, np.int16), (31, np.int32)):
        if most < 2**bits:
            return np.dtype(kind)
    return np.dtype(widest)


# -- many profiles at once -----------------------------------------------------------------------


def batches(said: Floats, weights: Ints) -> Iterator[tuple[slice, Any]]:
    """Yield some of many profiles at a time, and the weight that places a above b in each.

    Args:
        said: shape (b, n, m), more is better.
        weights: whole numbers, shape (n,).

    Yields:
        Which profiles; matrices of shape (m, m, profiles): numpy is fast along the last axis.

    Raises:
        BallotError: there are more than `MOST` alternatives.
    """
    b, _, m = said.shape
    _limit(m)
    kind = _type(int(weights.sum()), weights.dtype)
    step = max(64, 2**18 // m**2)
    for start in range(0, b, step):
        part = slice(start, min(b, start + step))
        ballots = np.ascontiguousarray(said[part].transpose(1, 2, 0))
        above = np.zeros((m, m, ballots.shape[-1]), dtype=kind)
        for weight, row in zip(weights.tolist(), ballots, strict=True):
            cells = (row[:, None] > row).view(np.int8)
            above += cells if weight == 1 else cells * kind.type(weight)
        yield part, above
