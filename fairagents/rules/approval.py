"""Approval voting and satisfaction approval voting; and how rules hear approvals.

An approval ballot approves what it names, ratings approve what is above one half, a ranking
approves nothing. Who approves nothing abstains: it counts for nobody, and where a rule shares
something among the voters it is no voter.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fairagents.profile import Profile
from fairagents.rules.base import Basis, Needs, Order, OrderRule, levels_of
from fairagents.rules.trace import ballot_table
from fairagents.spec import Bools, Floats, Ints

SAFE = 2**62
"""Whole numbers below this are counted in 64 bits, greater ones as Python's own."""


def silent(profile: Profile) -> tuple[str, ...]:
    """Return a note on ballots that approve nothing, and one on what ratings approve.

    >>> silent(Profile.from_rankings([["a", "b"]], voters=["ann"]))
    ('ann approves nothing and abstains (a ranking approves nothing)',)
    """
    notes = []
    rated = [v for v, form in zip(profile.voters, profile.forms, strict=True) if form == "ratings"]
    if rated:
        notes.append(f"ratings approve what is above 1/2: {_join(rated)}")
    nothing = np.flatnonzero(~profile.approvals.any(axis=1)).tolist()
    if nothing:
        ranked = any(profile.forms[v] == "ranking" for v in nothing)
        notes.append(
            f"{_join([profile.voters[v] for v in nothing])} "
            f"{'approves' if len(nothing) == 1 else 'approve'} nothing and "
            f"{'abstains' if len(nothing) == 1 else 'abstain'}"
            + (" (a ranking approves nothing)" if ranked else "")
        )
    return tuple(notes)


def _join(names: Sequence[str]) -> str:
    if len(names) > 10:
        return f"{', '.join(names[:10])} and {len(names) - 10} more"
    return ", ".join(names)


class Approved(OrderRule):
    """A rule that adds up what an approval on each ballot is worth; a subclass gives `shares`."""

    needs: ClassVar[Needs] = "approvals"
    basis: ClassVar[Basis] = "cardinal"
    complexity: ClassVar[str] = "O(n m)"

    @abc.abstractmethod
    def shares(self, sizes: Ints) -> tuple[Any, int]:
        """Return what an approval is worth on ballots that approve so many, and the unit.

        Args:
            sizes: shape (n,), at least 1.
        """

    def order(self, profile: Profile) -> Order:
        """Order by what approvals are worth."""
        weights, scale = profile.whole_weights
        approved = profile.approvals
        parts, unit = self.shares(np.maximum(approved.sum(axis=1), 1))
        worth = _times(weights, parts, unit)
        exact = worth @ approved.astype(worth.dtype)
        levels = levels_of(exact)
        totals = (exact / (unit * scale)).astype(np.float64)
        cells = np.where(approved, (parts / unit).astype(np.float64)[:, None], 0.0)
        table = ballot_table("approvals", profile, cells, levels, totals, "sum")
        return Order(levels, totals, (table,), silent(profile))

    def batch(self, said: Floats, weights: Ints) -> Floats | Ints | None:
        """Return multiples of the totals of many profiles, shape (b, m), or None where too long."""
        approved: Bools = said > 0.5
        parts, unit = self.shares(np.maximum(approved.sum(axis=2), 1))
        worth = _times(weights, parts, unit)
        if worth.dtype == object:
            return None
        totals: Ints = np.einsum("bn,bnm->bm", np.broadcast_to(worth, said.shape[:2]), approved)
        return totals


def _times(weights: Any, parts: Any, unit: int) -> Any:
    """Return weights times parts, as Python's whole numbers where they might be long."""
    if weights.dtype == object or int(weights.sum()) * unit >= SAFE:
        return weights.astype(object) * parts
    return weights * parts.astype(np.int64)


SYMMETRY: Mapping[str, str] = {
    "anonymity": "a sum over ballots",
    "neutrality": "approvals alone count",
    "homogeneity": "totals are proportional to the weights",
    "separability": "a ballot that approves nothing adds nothing",
}

SHARED: Mapping[str, str] = {
    **SYMMETRY,
    "unanimity": "it alone has all approvals",
    "pareto": "who is approved by nobody does not win where another is approved by all",
    "majority": "who is approved alone by more than half has more than the rest can give",
    "monotonicity": "its total rises, and nobody else's does",
    "reinforcement": "totals of two electorates add up",
}

AV: Mapping[str, str] = {
    **SHARED,
    "condorcet": "on approvals margins are differences of totals",
    "condorcet_loser": "on approvals margins are differences of totals",
    "smith": "on approvals margins are differences of totals",
    "clone_independence": "a copy has the same total, and the others keep theirs",
    "reversal": "who has most approvals has least of the others",
    "independence_of_losers": "totals do not depend on the other alternatives",
}

ONE_SEAT: Mapping[str, str] = {
    axiom: f"with one seat it is approval voting: {why}" for axiom, why in AV.items()
}
"""What holds for rules that elect by approval voting when there is one seat."""


class ApprovalVoting(Approved):
    """Approval voting (AV): an approval is worth one point.

    total(a) = sum_v w_v [a in A_v]. O(n m), exact. Source: Brams & Fishburn 1978 (as commonly
    stated).

    >>> profile = Profile.from_approvals([["a", "b"], ["b"]], weights=[2, 1])
    >>> ApprovalVoting()(profile).totals
    (('b', 3.0), ('a', 2.0))
    """

    formula: ClassVar[str] = "sum_v w_v [a in A_v]"
    source: ClassVar[str] = "Brams & Fishburn 1978 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = {
        **AV,
        "iia": "totals do not depend on the other alternatives",
    }

    def shares(self, sizes: Ints) -> tuple[Any, int]:
        """Return 1 for each ballot."""
        return np.ones_like(sizes), 1


class SatisfactionApproval(Approved):
    """Satisfaction approval voting (SAV): a ballot shares one point among what it approves.

    total(a) = sum_v w_v [a in A_v] / |A_v|. O(n m), exact. Source: Brams & Kilgour 2014 (as
    commonly stated).

    >>> profile = Profile.from_approvals([["a", "b"], ["b"]], weights=[2, 1])
    >>> SatisfactionApproval()(profile).totals
    (('b', 2.0), ('a', 1.0))
    """

    formula: ClassVar[str] = "sum_v w_v [a in A_v] / |A_v|"
    source: ClassVar[str] = "Brams & Kilgour 2014 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = SHARED

    def shares(self, sizes: Ints) -> tuple[Any, int]:
        """Return one over the number of approvals."""
        unit = math.lcm(*np.unique(sizes).tolist())
        kind = np.int64 if unit < SAFE else object
        return unit // sizes.astype(kind), unit
