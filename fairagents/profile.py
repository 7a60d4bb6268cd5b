"""All ballots on one agenda as arrays: what rules read."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairagents.ballot import Approvals, Ranking, Ratings
from fairagents.errors import BallotError, did_you_mean
from fairagents.spec import (
    LEAST_WEIGHT,
    MOST_WEIGHT,
    OF_WEIGHT,
    Bools,
    Floats,
    Ints,
    require_unique,
)

Weight = int | float | Fraction


class Profile:
    """All ballots on one agenda as arrays; what rules read.

    Attributes:
        ids: the m alternatives.
        voters: the n voters.
        weights: exact voices, one `Fraction` each; a float counts as the decimal it prints.
        ranks: tier of each alternative, shape (n, m), 0 is best, unranked ones share the last.
        ratings: shape (n, m), in [0, 1], NaN where nothing was rated.
        approvals: shape (n, m); True where approved.
        forms: what each voter said: "ranking", "ratings" or "approvals".
    """

    def __init__(
        self,
        ids: Sequence[str],
        voters: Sequence[str],
        weights: Sequence[Weight],
        ranks: Ints,
        ratings: Floats,
        approvals: Bools,
        forms: Sequence[str],
    ) -> None:
        self.ids, self.voters, self.forms = tuple(ids), tuple(voters), tuple(forms)
        self.weights = all_exact(weights)
        self.ranks, self.ratings, self.approvals = ranks, ratings, approvals
        shape = (len(self.voters), len(self.ids))
        if not self.ids:
            raise BallotError("a profile needs at least one alternative")
        if not (ranks.shape == ratings.shape == approvals.shape == shape):
            raise BallotError(f"ranks, ratings and approvals must have shape {shape}")
        if len(self.weights) != shape[0]:
            raise BallotError(f"{shape[0]} voters but {len(self.weights)} weights")
        require_unique(self.ids, "alternative")
        require_unique(self.voters, "voter")

    def __len__(self) -> int:
        """Return the number of voters."""
        return len(self.voters)

    def __repr__(self) -> str:
        return f"Profile({len(self)} voters, {len(self.ids)} alternatives)"

    @functools.cached_property
    def whole_weights(self) -> tuple[Any, int]:
        """Weights as whole numbers, shape (n,), and the number they were multiplied by.

        Sums over them are exact: int64 where that is enough, Python integers otherwise.
        """
        scale = math.lcm(*[w.denominator for w in self.weights])
        whole = [w.numerator * (scale // w.denominator) for w in self.weights]
        small = sum(whole) * 4 * len(self.ids) < 2**62
        return np.array(whole, dtype=np.int64 if small else object), scale

    @classmethod
    def from_rankings(
        cls,
        ballots: Sequence[Sequence[str | Collection[str]]],
        ids: Sequence[str] | None = None,
        weights: Sequence[Weight] | None = None,
        voters: Sequence[str] | None = None,
    ) -> Profile:
        """Build a profile from rankings: lists of ids or of lists of tied ids, best first.

        Args:
            ballots: one per voter; missing ids are tied last.
            ids: the alternatives; by default those that are listed, in order of appearance.
            weights: voices, > 0; by default 1 each.
            voters: names; by default "1", "2", ...

        >>> Profile.from_rankings([["a", "b", "c"], ["b", ["a", "c"]]]).ranks.tolist()
        [[0, 1, 2], [1, 0, 1]]
        """
        votes = [Ranking.of(ballot) for ballot in ballots]
        return cls.from_said(votes, ids, weights, voters)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        ids: Sequence[str],
        weights: Sequence[Weight] | None = None,
        voters: Sequence[str] | None = None,
        top: float = 1.0,
    ) -> Profile:
        """Build a profile from an array of scores, shape (n, m), in [0, top]; NaN is unrated.

        >>> Profile.from_scores([[5, 3]], ["a", "b"], top=5).ratings.tolist()
        [[1.0, 0.6]]
        """
        ratings = np.asarray(scores, dtype=np.float64) / top
        if ratings.ndim != 2:
            raise BallotError(f"scores must have shape (voters, ids), not {ratings.shape}")
        if ((ratings < 0) | (ratings > 1)).any():
            raise BallotError(f"scores must lie in [0, {top:g}]; NaN means unrated")
        return cls._of_ratings(ratings, ids, weights, voters)

    @classmethod
    def _of_ratings(
        cls,
        ratings: Floats,
        ids: Sequence[str],
        weights: Sequence[Weight] | None,
        voters: Sequence[str] | None,
    ) -> Profile:
        n = len(ratings)
        return cls(
            ids,
            _numbers(n) if voters is None else voters,
            [1] * n if weights is None else weights,
            ranks_of_ratings(ratings),
            ratings,
            ratings > 0.5,
            ["ratings"] * n,
        )

    @classmethod
    def from_approvals(
        cls,
        ballots: Sequence[Iterable[str]],
        ids: Sequence[str] | None = None,
        weights: Sequence[Weight] | None = None,
        voters: Sequence[str] | None = None,
    ) -> Profile:
        """Build a profile from sets of approved ids, one per voter."""
        votes = [Approvals(ids=tuple(sorted(ballot))) for ballot in ballots]
        return cls.from_said(votes, ids, weights, voters)

    @classmethod
    def from_said(
        cls,
        said: Sequence[Ranking | Ratings | Approvals],
        ids: Sequence[str] | None = None,
        weights: Sequence[Weight] | None = None,
        voters: Sequence[str] | None = None,
    ) -> Profile:
        """Build a profile from ballots of any form; what a form does not say stays unknown.

        Ratings give ranks (equal ratings tie, unrated ones are tied last) and approve what is
        above one half; a ranking gives no ratings; an approval ballot ranks the approved first.

        Raises:
            BallotError: a ballot names an id that is not among `ids`, or a weight is not > 0.
        """
        if ids is None:
            ids = tuple(dict.fromkeys(one for ballot in said for one in ballot.ids))
        if said and all(isinstance(b, Ratings) and b.ids == tuple(ids) for b in said):
            ratings = np.array([b.values for b in said if isinstance(b, Ratings)])
            return cls._of_ratings(ratings, ids, weights, voters)
        index = {one: i for i, one in enumerate(ids)}
        shape = (len(said), len(ids))
        ranks = np.zeros(shape, dtype=np.int64)
        ratings = np.full(shape, np.nan)
        approvals = np.zeros(shape, dtype=bool)
        for v, ballot in enumerate(said):
            where = [_position(one, index, v) for one in ballot.ids]
            if isinstance(ballot, Ratings):
                ratings[v, where] = ballot.values
                ranks[v] = ranks_of_ratings(ratings[v : v + 1])[0]
                approvals[v] = ratings[v] > 0.5
            elif isinstance(ballot, Approvals):
                approvals[v, where] = True
                ranks[v] = ~approvals[v]
            else:
                sizes = ballot.sizes or (1,) * len(where)
                ranks[v] = len(sizes)
                ranks[v, where] = np.repeat(np.arange(len(sizes)), sizes)
        forms = [ballot.kind for ballot in said]
        voters = _numbers(len(said)) if voters is None else voters
        weights = [1] * len(said) if weights is None else weights
        return cls(ids, voters, weights, ranks, ratings, approvals, forms)

    def take(self, rows: Ints) -> Profile:
        """Return the same ballots on some of the alternatives, by position; ranks close up."""
        ranks = np.array([np.unique(row, return_inverse=True)[1] for row in self.ranks[:, rows]])
        return Profile(
            [self.ids[i] for i in rows],
            self.voters,
            self.weights,
            ranks.reshape(len(self), len(rows)),
            self.ratings[:, rows],
            self.approvals[:, rows],
            self.forms,
        )

    def place(self, voter: int, id: str) -> int:
        """Return an alternative's place on a ballot: 1 + the number of those ranked above it."""
        ranks = self.ranks[voter]
        return 1 + int((ranks < ranks[self.ids.index(id)]).sum())

    def rated(self) -> tuple[Floats, tuple[str, ...]]:
        """Return ratings for rules that need them, and the voters whose ratings were derived.

        A voter who only ranked or approved counts by the normalised Borda score of its order,
        (alternatives below + half of those tied) / (m - 1); an alternative that a rating voter
        left out counts 0. Both are conventions, so a decision names the voters concerned.
        """
        derived = tuple(
            voter for voter, form in zip(self.voters, self.forms, strict=True) if form != "ratings"
        )
        ratings = np.nan_to_num(self.ratings)
        if derived and len(self.ids) > 1:
            rows = [i for i, form in enumerate(self.forms) if form != "ratings"]
            doubled = doubled_borda(self.ranks[rows])
            ratings = ratings.copy()
            ratings[rows] = doubled / (2 * (len(self.ids) - 1))
        return ratings, derived


def all_exact(weights: Sequence[Weight]) -> tuple[Fraction, ...]:
    """Return all weights exactly; as `exact`, which repeated weights don't ask again."""
    try:
        return _exact(tuple(weights), tuple(map(type, weights)))
    except TypeError:  # what can't be hashed is no number either
        return tuple(exact(w) for w in weights)


@functools.lru_cache(maxsize=256)
def _exact(weights: tuple[Weight, ...], types: tuple[type, ...]) -> tuple[Fraction, ...]:
    """Return all weights exactly; the types tell 0.1 from the fraction that equals it."""
    return tuple(exact(w) for w in weights)


def exact(weight: Weight) -> Fraction:
    """Return a weight as an exact fraction; a float counts as the decimal it prints.

    >>> exact(0.1) + exact(0.2) == exact(0.3)
    True
    """
    try:
        plain = weight.item() if hasattr(weight, "item") else weight
        fraction = Fraction(repr(plain)) if isinstance(plain, float) else Fraction(plain)
    except (TypeError, ValueError, OverflowError):
        raise BallotError(f"{OF_WEIGHT}, not {weight!r}") from None
    if not LEAST_WEIGHT <= fraction <= MOST_WEIGHT:
        raise BallotError(f"{OF_WEIGHT}, not {weight!r}")
    return fraction


def ranks_of_ratings(ratings: Floats) -> Ints:
    """Return each row's tiers by descending rating, shape (..., m); NaN comes last, tied."""
    m = ratings.shape[-1]
    falling = np.where(np.isnan(ratings), 1.0, -ratings).reshape(-1, m)
    # Positions in the flat array: numpy's take_along_axis costs more than all the rest.
    order = falling.argsort(axis=1) + np.arange(0, falling.size, m)[:, None]
    ordered = falling.ravel()[order]
    steps = np.zeros(ordered.shape, dtype=np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=steps[:, 1:])
    ranks = np.empty(falling.size, dtype=np.int64)
    ranks[order] = steps
    return ranks.reshape(ratings.shape)


def doubled_borda(ranks: Ints) -> Ints:
    """Return twice the Borda points of each alternative, shape (n, m); tied ones share evenly.

    Points are the number of alternatives ranked below plus half of those tied with it, so twice
    that is a whole number.
    """
    n, m = ranks.shape
    tier = ranks + np.arange(0, n * (m + 1), m + 1)[:, None]
    counts = np.bincount(tier.ravel(), minlength=n * (m + 1)).reshape(n, m + 1)
    # With c alternatives in a tier and s in it and above: 2 (m - s) below, c - 1 beside.
    points = counts - 2 * counts.cumsum(axis=1) + (2 * m - 1)
    doubled: Ints = points.ravel()[tier]
    return doubled


def _numbers(n: int) -> list[str]:
    return [str(i + 1) for i in range(n)]


def _position(one: str, index: Mapping[str, int], voter: int) -> int:
    if one not in index:
        raise BallotError(
            f"ballot {voter + 1} names {one!r}, which is not up for decision; "
            f"{did_you_mean(one, index)}"
        )
    return index[one]
