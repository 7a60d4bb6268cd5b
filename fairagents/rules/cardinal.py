"""Voting rules on ratings: range voting, STAR, majority judgment, the median."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairagents.profile import Profile
from fairagents.rules._levels import by_keys, levels_within, lexicographic
from fairagents.rules.base import TOLERANCE, Basis, Needs, Order, OrderRule
from fairagents.rules.trace import TRACE_ROWS, ballot_table, column_table, matrix_table
from fairagents.rules.welfare import PER_ALTERNATIVE, SUMS, said_ratings, shares, weighted
from fairagents.spec import Floats, Ints


class RangeVoting(OrderRule):
    """Range (score) voting: the greatest weighted mean of the ratings that were given.

    total(a) = sum w_v r_v(a) / sum w_v, both over the voters who rated a. That is how it differs
    from the utilitarian rule, where an alternative has 0 from those who did not rate it. An
    alternative rated by less than the share `quorum` of the voice, or by nobody, goes behind all
    others. Voters who only ranked count as having rated all. Means within 1e-9 tie. O(n m).
    Where something is left unrated, unanimity, Pareto efficiency and monotonicity can fail: what
    stands below another on every ballot wins if those who think little of it say nothing.
    Source: Smith 2000, with blanks as no opinion (as commonly stated).

    >>> import numpy as np
    >>> profile = Profile.from_scores([[0.5, 0.75], [0.5, np.nan]], ["a", "b"])
    >>> RangeVoting()(profile).totals
    (('b', 0.75), ('a', 0.5))
    >>> low = Profile.from_scores([[0.8, 0.9], [np.nan, 0.1]], ["a", "b"])
    >>> RangeVoting()(low).totals
    (('a', 0.8), ('b', 0.5))
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "sum w_v r_v(a) / sum w_v over the voters who rated a"
    source: ClassVar[str] = "Smith 2000 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m)"
    holds: ClassVar[Mapping[str, str]] = {
        **PER_ALTERNATIVE,
        **SUMS,
        "reversal": "reversed means are 1 minus the means",
        "shift_invariance": "all means are shifted by the same number",
        "pigou_dalton": "a transfer leaves the sum as it is",
    }

    quorum: float = Field(default=0.0, ge=0, le=1)

    def order(self, profile: Profile) -> Order:
        """Order by whether the quorum is met, then by the mean rating."""
        ratings, notes = said_ratings(profile)
        given = np.array(profile.forms)[:, None] != "ratings"
        given = given | ~np.isnan(profile.ratings)
        voice = shares(profile.whole_weights[0])
        rated = weighted(voice, given.astype(np.float64))
        some = rated > 0
        means = np.where(some, weighted(voice, ratings) / np.where(some, rated, 1.0), 0.0)
        met = some & (rated >= self.quorum - TOLERANCE)
        levels = by_keys(met.astype(np.float64), means, tolerance=TOLERANCE)
        cells: Any = ratings.astype(object)
        cells[~given & some] = None
        columns = ("share of voice that rated it", "quorum met")
        keys = column_table("rated", profile.ids, columns, (rated, met), levels)
        table = ballot_table("ratings", profile, cells, levels, means, "mean")
        return Order(levels, means, (keys, table), notes)


class Star(OrderRule):
    """STAR: score, then automatic runoff.

    The two alternatives with the greatest weighted mean rating meet; the one that more voice rates
    higher is first, all others follow by their means. Where means tie for the runoff, every pair
    that could meet does, and who wins or ties one of these duels is first; a tied duel has two
    winners. Unrated counts 0; means within 1e-9 tie. O(n m).
    Source: Equal Vote Coalition 2014 (as commonly stated).

    >>> profile = Profile.from_scores([[1, 0.5, 0], [0.5, 0.75, 0], [0.5, 0.75, 1]], list("abc"))
    >>> Star()(profile).tiers
    (('b',), ('a',), ('c',))
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "the top two by sum_v w_v r_v(a), then the majority between them"
    source: ClassVar[str] = "Equal Vote Coalition 2014 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m)"
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "means and margins are symmetric in the voters",
        "neutrality": "means and margins decide, and ties go on as ties",
        "homogeneity": "only shares of the voice count",
        "unanimity": "it has the greatest mean, and wins its duels",
        "pareto": "who beats it everywhere has a greater mean and would meet it",
        "condorcet_loser": "who wins the runoff does not lose all duels",
        "monotonicity": "its mean and its margins do not fall, the others' duels stay",
        "separability": "an indifferent voter adds the same to all means, and nothing to margins",
        "shift_invariance": "all means are shifted by the same number",
    }

    def order(self, profile: Profile) -> Order:
        """Order the winner of the runoff first, then by mean rating."""
        ratings, notes = said_ratings(profile)
        means = weighted(shares(profile.whole_weights[0]), ratings)
        scored = levels_within(means, TOLERANCE)
        leaders = np.flatnonzero(scored == 0)
        seconds = np.flatnonzero(scored == 1)
        weights, scale = profile.whole_weights
        won = _runoff(ratings, weights, leaders, seconds)
        first = np.zeros(len(means), dtype=np.int64)
        first[won] = 1
        levels = by_keys(first, np.where(first == 1, 0, -scored))
        finalists = np.union1d(leaders, seconds) if len(leaders) == 1 else leaders
        tables = [ballot_table("ratings", profile, ratings, levels, means, "mean")]
        if len(finalists) <= TRACE_ROWS:
            names = [profile.ids[i] for i in finalists.tolist()]
            support = _support(ratings[:, finalists], weights) / scale
            tables.insert(0, matrix_table("runoff", names, support, levels[finalists]))
        return Order(levels, means, tables, notes)


def _runoff(ratings: Floats, weights: Any, leaders: Ints, seconds: Ints) -> Ints:
    """Return who wins or ties the runoff, or one of those that tied means leave open."""

    def margins(a: int, others: Ints) -> Any:
        return weights @ np.sign(ratings[:, [a]] - ratings[:, others]).astype(np.int64)

    if len(leaders) == 1:
        if not len(seconds):
            return leaders
        margin = margins(int(leaders[0]), seconds)
        return np.append(seconds[margin <= 0], leaders if (margin >= 0).any() else leaders[:0])
    # All meet all, so all win or tie one but who loses to all others: that is who is left of a
    # queue in which a winner makes way for the next one.
    last = int(leaders[0])
    for b in leaders[1:].tolist():
        if margins(last, np.array([b]))[0] >= 0:
            last = b
    others = leaders[leaders != last]
    return leaders if (margins(last, others) >= 0).any() else others


def _support(ratings: Floats, weights: Any) -> Any:
    """Return the whole-number weight that rates a above b, shape (t, t)."""
    matrix = np.zeros((ratings.shape[1],) * 2, dtype=weights.dtype)
    for weight, row in zip(weights, ratings, strict=True):
        matrix += weight * (row[:, None] > row).astype(matrix.dtype)
    return matrix


class Median(OrderRule):
    """The median rule: the greatest weighted median rating.

    total(a) = the rating that half of the voice is at or below. Where the voice splits evenly
    between two ratings, `even` says which counts: the lower, the upper, or the middle of both.
    Unrated counts 0; medians within 1e-9 tie. O(n m log n).
    Source: Galton 1907, Bassett & Persky 1999 (as commonly stated).

    >>> Median()(Profile.from_scores([[0.5, 1.0], [0.5, 0.0], [0.5, 0.25]], ["a", "b"])).totals
    (('a', 0.5), ('b', 0.25))
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "weighted median of r_v(a)"
    source: ClassVar[str] = "Galton 1907, Bassett & Persky 1999 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m log n)"
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE

    even: Literal["lower", "middle", "upper"] = "lower"

    def order(self, profile: Profile) -> Order:
        """Order by the median rating."""
        ratings, notes = said_ratings(profile)
        lower, upper = medians(ratings, profile.whole_weights[0])
        medians_ = {"lower": lower, "middle": (lower + upper) / 2, "upper": upper}[self.even]
        levels = levels_within(medians_, TOLERANCE)
        how = f"{self.even} median"
        table = ballot_table("ratings", profile, ratings, levels, medians_, how)
        return Order(levels, medians_, (table,), notes)


class MajorityJudgment(OrderRule):
    """Majority judgment: the greatest median grade, ties by taking median grades away.

    A rating counts as the nearest of `grades` grades spread evenly over [0, 1]. Alternatives are
    compared by their (lower) median grade; of those that tie one voter with the median grade is
    taken away from each, and so on until they differ. Weights count as clones, exactly; unrated
    is the lowest grade. Totals are median grades in [0, 1]. O(n m log n).
    Source: Balinski & Laraki 2007, 2011 (as commonly stated).

    >>> profile = Profile.from_scores([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]], ["a", "b"])
    >>> MajorityJudgment(grades=3)(profile).tiers
    (('b',), ('a',))
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "lexicographic comparison of the medians as medians are taken away"
    source: ClassVar[str] = "Balinski & Laraki 2007, 2011 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m log n)"
    # Not unanimity and Pareto: ratings that differ can be one grade.
    holds: ClassVar[Mapping[str, str]] = {
        axiom: why for axiom, why in PER_ALTERNATIVE.items() if axiom not in ("unanimity", "pareto")
    }

    grades: int = Field(default=5, ge=2, le=1001)

    def order(self, profile: Profile) -> Order:
        """Order by majority judgment."""
        ratings, notes = said_ratings(profile)
        steps = self.grades - 1
        grades = np.floor(ratings * steps + 0.5 + TOLERANCE)
        weights = profile.whole_weights[0]
        levels = lexicographic(_away_from_the_middle(grades.T, weights))
        medians_ = medians(grades, weights)[0] / steps
        table = ballot_table("grades", profile, grades / steps, levels, medians_, "lower median")
        return Order(levels, medians_, (table,), notes)


def medians(ratings: Floats, weights: Any) -> tuple[Floats, Floats]:
    """Return the lower and the upper weighted medians of each alternative, shape (m,) each."""
    order = np.argsort(ratings, axis=0, kind="stable")
    doubled = 2 * np.cumsum(weights[order], axis=0)
    ordered = np.take_along_axis(ratings, order, axis=0)
    half = weights.sum()
    columns = np.arange(ratings.shape[1])
    # argmax finds the first voter with whom half of the voice is reached, or exceeded.
    lower = ordered[(doubled >= half).argmax(axis=0), columns]
    upper = ordered[(doubled > half).argmax(axis=0), columns]
    return lower, upper


def _away_from_the_middle(grades: Floats, weights: Any) -> Any:
    """Return what happens as medians are taken away, as keys for `lexicographic`.

    Taking (lower) medians away goes down and up from the middle of the sorted grades in turn. An
    alternative starts with its two middle grades. At distance t from the middle the grade below
    may fall or the grade above rise. A fall is worse than no change, the earlier the worse; a rise
    is better, the earlier the better; and at one distance the fall comes first.

    Args:
        grades: shape (m, n).
        weights: whole numbers, shape (n,).

    Returns:
        Keys, shape (m, 2 n): the two middle grades, then (when, grade) of each change.
    """
    m, n = grades.shape
    order = np.argsort(grades, axis=1, kind="stable")
    ordered = np.take_along_axis(grades, order, axis=1)
    whole = weights.sum()
    # Doubled distances of the ends of runs of equal grades from the middle: below 0 they fall.
    at = 2 * np.cumsum(weights[order], axis=1)[:, :-1] - whole
    change = (ordered[:, 1:] != ordered[:, :-1]) & (at != 0)
    fall = at < 0
    when = np.where(fall, -at - 2 * whole, 2 * whole - at)
    grade = np.where(fall, ordered[:, :-1], ordered[:, 1:])
    lower, upper = medians(grades.T, weights)
    keys = np.zeros((m, 2 * n), dtype=weights.dtype)
    keys[:, 0], keys[:, 1] = lower.astype(np.int64), upper.astype(np.int64)
    # By distance, a fall before a rise, what is no change last.
    turn = np.argsort(np.where(change, 2 * abs(at) + ~fall, 4 * whole), axis=1, kind="stable")
    times = np.take_along_axis(np.where(change, when, 0), turn, axis=1)
    keys[:, 2::2] = times
    keys[:, 3::2] = np.where(times == 0, 0, np.take_along_axis(grade, turn, axis=1))
    return keys
