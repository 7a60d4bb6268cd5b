"""Thiele's rules one member at a time: seqPAV, sequential Chamberlin-Courant, and seqPAV backwards.

The order of a slate is the order of election: with no task at hand that is a proportional ranking.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules._rounds import TRACE_ROUNDS, last_table
from fairagents.rules._walk import Field, Sequential, State, Walk, listed
from fairagents.rules.approval import ONE_SEAT, SYMMETRY
from fairagents.rules.base import Elected, Ties
from fairagents.rules.trace import TRACE_ROWS
from fairagents.spec import Floats, Ints


class Thiele(Sequential):
    """The base of sequential rules by which a voter's j-th member is worth so much to it."""

    complexity: ClassVar[str] = "O(k n m) for the slate, k seats"

    @abc.abstractmethod
    def worth(self, count: int) -> Fraction | int:
        """Return what one member more is worth to a voter who has `count`; it does not rise."""

    @abc.abstractmethod
    def worths(self, counts: Ints) -> Floats:
        """Return the same for many counts, as floats."""

    def start(self, field: Field) -> State:
        """Return that nobody has a member."""
        return (0,) * len(field.weights)

    def rates(self, field: Field, states: Sequence[State]) -> Floats:
        """Return the gains of all voters, as a share of all voice."""
        counts = np.array(states, dtype=np.int64)
        gains: Floats = (self.worths(counts) * field.share) @ field.approved
        return gains

    def exact(self, field: Field, state: State, kinds: Sequence[int]) -> Sequence[Any]:
        """Return the gains of all voters, times a common denominator."""
        worth = {count: Fraction(self.worth(count)) for count in set(state)}
        unit = math.lcm(*(one.denominator for one in worth.values()))
        whole = {c: one.numerator * (unit // one.denominator) for c, one in worth.items()}
        gains = [w * whole[c] for w, c in zip(field.weights, state, strict=True)]
        return [sum(gains[v] for v in field.support[kind]) for kind in kinds]

    def after(self, field: Field, state: State, kind: int) -> State:
        """Return that those who approve a kind have one more."""
        counts = list(state)
        for v in field.support[kind]:
            counts[v] += 1
        return tuple(counts)


class SequentialPav(Thiele):
    """Sequential proportional approval voting (seqPAV, Thiele's addition method).

    Next comes argmax_a sum_v w_v [a in A_v] / (1 + |A_v & S|). Exact; O(k n m).
    Source: Thiele 1895; Janson 2016 (as commonly stated).

    >>> profile = Profile.from_approvals([["a", "b", "c"], ["d", "e"], ["f"]], weights=[6, 3, 1])
    >>> SequentialPav()(profile).outcome.ids[0] in "abc"
    True
    """

    name: ClassVar[str] = "seq_pav"
    formula: ClassVar[str] = "next: argmax_a sum_v w_v [a in A_v] / (1 + |A_v & S|)"
    source: ClassVar[str] = "Thiele 1895; Janson 2016 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = {
        **ONE_SEAT,
        "committee_monotonicity": "members are taken one by one",
    }

    def worth(self, count: int) -> Fraction | int:
        """Return 1 / (1 + count)."""
        return Fraction(1, 1 + count)

    def worths(self, counts: Ints) -> Floats:
        """Return 1 / (1 + count) each."""
        worths: Floats = 1.0 / (1 + counts)
        return worths


class SequentialCc(Thiele):
    """Sequential Chamberlin-Courant on approvals: next who serves most of those not yet served.

    Next comes argmax_a sum_v w_v [a in A_v, A_v & S empty]; when all who approve somebody are
    served, the rest is taken by the tie-break. Exact; O(k n m). Source: Chamberlin & Courant 1983;
    greedily as in Lu & Boutilier 2011 (as commonly stated).

    >>> profile = Profile.from_approvals([["a", "b"], ["b", "c"], ["c"], ["d"]])
    >>> set(SequentialCc()(profile).outcome.ids[:3]) >= {"d"}
    True
    """

    name: ClassVar[str] = "seq_cc"
    formula: ClassVar[str] = "next: argmax_a sum_v w_v [a in A_v, A_v & S empty]"
    source: ClassVar[str] = "Chamberlin & Courant 1983; Lu & Boutilier 2011 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = {
        **ONE_SEAT,
        "committee_monotonicity": "members are taken one by one",
        "jr": "Aziz et al. 2017, GreedyCC",
    }

    def worth(self, count: int) -> Fraction | int:
        """Return 1 for the first, 0 for others."""
        return int(count == 0)

    def worths(self, counts: Ints) -> Floats:
        """Return 1 for the first, 0 for others, each."""
        return np.where(counts == 0, 1.0, 0.0)


class ReverseSequentialPav(SequentialPav):
    """Reverse sequential PAV (Thiele's elimination method): who is missed least goes.

    All are in; out goes argmin_a sum_v w_v [a in A_v] / |A_v & S| until the slate has its size. Its
    order is that in which its members would go, the last one first. Exact; O(n m^2).
    Source: Thiele 1895; Janson 2016 (as commonly stated).

    >>> profile = Profile.from_approvals([["a", "b"], ["c"]], weights=[3, 1])
    >>> ReverseSequentialPav()(profile).outcome.ids[-1]
    'c'
    """

    name: ClassVar[str] = "rev_seq_pav"
    formula: ClassVar[str] = "out: argmin_a sum_v w_v [a in A_v] / |A_v & S|"
    complexity: ClassVar[str] = "O(n m^2)"
    holds: ClassVar[Mapping[str, str]] = {
        **SYMMETRY,
        "unanimity": "who is approved alone by all is missed most at every step",
        "pareto": "who is approved by nobody goes before who is approved by all",
        "majority": "who is approved alone by more than half is missed most at every step",
        "condorcet_loser": "of the last two the one with fewer approvals goes",
        "committee_monotonicity": "members are taken out one by one",
    }

    def start(self, field: Field) -> State:
        """Return that everybody has all it approves."""
        totals = field.approved @ field.sizes
        return tuple(int(t) for t in totals.tolist())

    def worth(self, count: int) -> Fraction | int:
        """Return what the last of `count` members is worth, as a loss."""
        return Fraction(-1, max(count, 1))

    def worths(self, counts: Ints) -> Floats:
        """Return the same for many counts."""
        worths: Floats = -1.0 / np.maximum(counts, 1)
        return worths

    def after(self, field: Field, state: State, kind: int) -> State:
        """Return that those who approve a kind have one less."""
        counts = list(state)
        for v in field.support[kind]:
            counts[v] -= 1
        return tuple(counts)

    def elect(self, profile: Profile, task: Feasible, ties: Ties) -> Elected:
        """Take out one after another."""
        task.require()
        field = Field(profile, task, ties, backwards=True)
        count = int(field.sizes.sum())
        walk = self.walk(field, Walk(self.start(field)), count - task.size)
        sets, more = self.reached(field, walk, count - task.size, MOST_BACKWARDS)
        whole = {i for members in field.members for i in members}
        gone, beyond = listed(field, sets, walk.positions)
        winners = [tuple(sorted(whole.difference(one))) for one in gone]
        self.walk(field, walk, task.size, free=True)
        chosen = walk.positions[::-1][: task.size]
        return Elected(
            chosen,
            winners=winners,
            more=more or beyond,
            tables=self.tables(field, walk),
            notes=self.notes(field, chosen),
        )

    def tables(self, field: Field, walk: Walk) -> tuple[Table, ...]:
        """Return what each would be missed by in the last rounds."""
        first = max(0, len(walk.rates) - TRACE_ROUNDS)
        order = walk.positions[::-1][:TRACE_ROWS]
        until = [*range(len(walk.positions), 0, -1)][:TRACE_ROWS]
        kinds = field.kinds[order]
        cells = []
        for number, row in enumerate(walk.rates[first:], first + 1):
            losses = (-self.told(field, row))[kinds].tolist()
            cells.append([x if number <= u else None for x, u in zip(losses, until, strict=True)])
        names = [field.profile.ids[i] for i in order]
        table = last_table("losses", names, cells, range(first + 1, len(walk.rates) + 1))
        return (table.model_copy(update={"cut": len(field.places) - len(table.rows)}),)


MOST_BACKWARDS = 20
"""So many ways of taking out are followed at a time to find slates that tie."""
