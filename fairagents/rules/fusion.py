"""Rules of data fusion, from retrieval: several result lists become one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from fairagents.decision import Table
from fairagents.profile import Profile
from fairagents.rules.positional import SYMMETRY, Positional
from fairagents.rules.trace import ballot_table, column_table
from fairagents.rules.welfare import PER_ALTERNATIVE, Utilitarian, Welfare, shares, weighted
from fairagents.spec import Bools, Floats, Ints


class ReciprocalRankFusion(Positional):
    """Reciprocal rank fusion (RRF): place i of a list is worth 1 / (k + i).

    total(a) = sum_v w_v / (k + place_v(a)), tied places sharing; exact fractions. `unlisted` says
    what a list gives to what it does not list: "nothing", as retrieval has it, or "last", the
    points of the places behind it, shared, as other rules of points do. Not listed is what a
    voter did not rate or approve, and of a ranking the last tier if it holds several
    alternatives: one alone at the end is listed by implication.
    O(n m) sums of fractions. Source: Cormack, Clarke & Buettcher 2009 (as commonly stated).

    >>> profile = Profile.from_rankings([["a", "b"], ["b"]], ids=["a", "b", "c", "d"])
    >>> [(one, round(total, 6)) for one, total in ReciprocalRankFusion()(profile).totals[:2]]
    [('b', 0.032522), ('a', 0.016393)]
    """

    formula: ClassVar[str] = "sum_v w_v / (k + place_v(a))"
    source: ClassVar[str] = "Cormack, Clarke & Buettcher 2009 (as commonly stated)"
    # Not monotonicity: who is alone at the end and rises into a tie there is not listed any more.
    holds: ClassVar[Mapping[str, str]] = {
        axiom: why for axiom, why in SYMMETRY.items() if axiom != "monotonicity"
    } | {
        "unanimity": "it has all points there are",
        "pareto": "who is below another everywhere has fewer points",
    }

    k: int = Field(default=60, ge=0)
    unlisted: Literal["nothing", "last"] = "nothing"

    def points(self, m: int) -> Iterable[int | Fraction]:
        """Return 1 / (k + 1), 1 / (k + 2), ..."""
        return (Fraction(1, self.k + i) for i in range(1, m + 1))

    def left_out(self, profile: Profile) -> Bools | None:
        """Return what each ballot does not list, where that gets nothing."""
        if self.unlisted == "last":
            return None
        ranks, forms = profile.ranks, np.array(profile.forms)[:, None]
        last = ranks == ranks.max(axis=1, keepdims=True)
        last &= last.sum(axis=1, keepdims=True) > 1
        left_out: Bools = np.select(
            [forms == "ratings", forms == "approvals"],
            [np.isnan(profile.ratings), ~profile.approvals],
            last,
        )
        return left_out


class CombSum(Welfare):
    """CombSUM: the greatest weighted sum of ratings; what a voter did not rate gets 0 from it.

    total(a) = sum_v w_v r_v(a). It orders as the utilitarian rule does; in retrieval the scores of
    each list are often normalised by range first. Mean ratings within 1e-9 tie. O(n m).
    Source: Fox & Shaw 1994 (as commonly stated).

    >>> CombSum()(Profile.from_scores([[0.5, 1.0], [0.25, 0.0]], ["a", "b"])).totals
    (('b', 1.0), ('a', 0.75))
    """

    how: ClassVar[str] = "sum"
    formula: ClassVar[str] = "sum_v w_v r_v(a)"
    source: ClassVar[str] = "Fox & Shaw 1994 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = Utilitarian.holds

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return weighted means."""
        return weighted(voice, ratings)

    def stated(self, totals: Floats, weight: float) -> Floats:
        """Return sums in place of means."""
        return totals * weight


class CombMnz(Welfare):
    """CombMNZ: the weighted sum of ratings times the weight of the voters who rate it above 0.

    total(a) = (sum_v w_v r_v(a)) (sum of w_v over r_v(a) > 0): weights count as clones, and what
    a voter did not rate gets 0 from it. Totals over W^2 within 1e-9 tie. O(n m).
    Source: Fox & Shaw 1994 (as commonly stated).

    >>> CombMnz()(Profile.from_scores([[0.5, 1.0], [0.25, 0.0]], ["a", "b"])).totals
    (('a', 1.5), ('b', 1.0))
    """

    formula: ClassVar[str] = "(sum_v w_v r_v(a)) (sum of w_v over r_v(a) > 0)"
    source: ClassVar[str] = "Fox & Shaw 1994 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = PER_ALTERNATIVE | {
        "pigou_dalton": "the sum stays, and nobody who rates above 0 falls to 0",
    }

    def welfare(self, ratings: Floats, voice: Floats) -> Floats:
        """Return weighted means times the share of the voice that rates above 0."""
        return weighted(voice, ratings) * self._hits(ratings, voice)

    def stated(self, totals: Floats, weight: float) -> Floats:
        """Return sums in place of means and shares."""
        return totals * weight**2

    def tables(
        self, profile: Profile, ratings: Floats, levels: Ints, totals: Floats
    ) -> Sequence[Table]:
        """Return the ratings as they count: times the weight of those who rate above 0."""
        hits = self._hits(ratings, shares(profile.whole_weights[0])) * float(sum(profile.weights))
        return (
            column_table("hits", profile.ids, ("weight of voters above 0",), (hits,), levels),
            ballot_table("ratings times hits", profile, ratings * hits, levels, totals, "sum"),
        )

    def _hits(self, ratings: Floats, voice: Floats) -> Floats:
        return weighted(voice, (ratings > 0).astype(np.float64))
