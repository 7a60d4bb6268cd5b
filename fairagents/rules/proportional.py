"""A proportional ranking from rankings: Borda one place at a time, voters who got much count less.

Lederer (arXiv 2508.16177, 2025) designs rules by which the number of pairs on which an input
ranking and the output agree is in proportion to the input's weight, the Proportional Sequential
Borda rule among them. Only its abstract could be read here, so this is a rule of our own with that
aim, under a name of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.feasible import Feasible
from fairagents.profile import Profile, doubled_borda
from fairagents.rules._walk import Field, Sequential, State, Walk
from fairagents.rules.base import Basis, Needs, Ties
from fairagents.rules.trace import plain
from fairagents.spec import Floats, Ints

MOST_NUMBERS = 2**25
"""So many points are kept for the ways that a tie-break might take."""


class Agreements(Field):
    """Who is above whom on the ballots, among those not yet placed."""

    def __init__(self, profile: Profile, task: Feasible, ties: Ties) -> None:
        self.profile, self.task, self.places = profile, task, ties.places
        self.backwards = False
        whole, self.scale = profile.whole_weights
        self.weights = whole.tolist()
        self.voice = sum(self.weights)
        self.share = np.array([w / self.voice for w in self.weights])
        open_ = np.flatnonzero(task.allowed)
        self.kinds = np.full(len(profile.ids), -1)
        self.kinds[open_] = np.arange(len(open_))
        self.ranks = profile.ranks[:, open_]
        self.members = [[one] for one in open_.tolist()]
        self.sizes = np.ones(len(open_), dtype=np.int64)
        self.approved = np.ones((1, len(open_)))
        self.support = [[0] for _ in open_]
        self._points: dict[tuple[int, ...], Ints] = {}
        self._most = max(2, MOST_NUMBERS // self.ranks.size)

    def points(self, placed: tuple[int, ...]) -> Ints:
        """Return twice each voter's Borda points among those not placed, shape (n, m)."""
        if placed not in self._points:
            points = doubled_borda(self.ranks)
            for kind in placed:
                points = points - self._less(kind)
            self._keep(placed, points)
        return self._points[placed]

    def place(self, placed: tuple[int, ...], kind: int) -> tuple[int, ...]:
        """Return what is placed when one more is, sorted."""
        longer = tuple(sorted((*placed, kind)))
        if longer not in self._points:
            self._keep(longer, self.points(placed) - self._less(kind))
        return longer

    def _less(self, kind: int) -> Ints:
        """Return twice what everybody loses when one is gone."""
        own = self.ranks[:, [kind]]
        less: Ints = 2 * (self.ranks < own) + (self.ranks == own)
        return less

    def _keep(self, placed: tuple[int, ...], points: Ints) -> None:
        while len(self._points) >= self._most:
            del self._points[next(iter(self._points))]
        self._points[placed] = points


class SequentialProportionalBorda(Sequential):
    """Sequential proportional Borda: a rule of our own for proportional rankings.

    Next comes argmax_a sum_v w_v s_v(a) / (1 + g_v): s_v(a) is the number of the others not yet
    placed that v ranks below a, plus half of those it ties with a; g_v is the sum of v's s over
    those placed so far, that is the number of pairs on which ballot and result agree by now. The
    first is Borda's winner. Exact; O(n m) a place. Source: our own; the aim is that of Lederer 2025
    (arXiv 2508.16177, of which only the abstract was read), the divisor D'Hondt's.

    >>> from fairagents.profile import Profile
    >>> two = Profile.from_rankings(["abcdef", "fedcba"], weights=[2, 1])
    >>> "".join(SequentialProportionalBorda()(two).outcome.ids)
    'afbced'
    """

    name: ClassVar[str] = "seq_prop_borda"
    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = (
        "next: argmax_a sum_v w_v s_v(a) / (1 + g_v), s_v(a) = |{b left below a}| + half the ties, "
        "g_v = sum of s_v over those placed"
    )
    source: ClassVar[str] = "our own, after the abstract of Lederer 2025 (arXiv 2508.16177)"
    complexity: ClassVar[str] = "O(n m) a place"
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "a sum over ballots",
        "neutrality": "all ways of breaking ties are followed",
        "homogeneity": "rates are proportional to the weights",
        "unanimity": "the first is Borda's winner",
        "pareto": "the first is Borda's winner",
        "condorcet_loser": "the first is Borda's winner",
        "monotonicity": "the first is Borda's winner",
        "reinforcement": "the first is Borda's winner",
        "reversal": "the first is Borda's winner",
        "separability": "a ballot that ties all gives all the same",
        "committee_monotonicity": "members are taken one by one",
    }

    def field(self, profile: Profile, task: Feasible, ties: Ties) -> Field:
        """Return the ballots' orders."""
        return Agreements(profile, task, ties)

    def start(self, field: Field) -> State:
        """Return that nothing is placed and nobody has got anything: (placed, twice g)."""
        return ((), (0,) * len(field.weights))

    def rates(self, field: Field, states: Sequence[State]) -> Floats:
        """Return what everybody gets from placing each next, divided by the number of all."""
        assert isinstance(field, Agreements)
        rows = []
        for placed, got in states:
            voices = field.share / (2 + np.array(got, dtype=np.float64))
            rows.append(voices @ field.points(placed) / field.ranks.shape[1])
        return np.array(rows)

    def exact(self, field: Field, state: State, kinds: Sequence[int]) -> Sequence[Any]:
        """Return the same times a common denominator."""
        assert isinstance(field, Agreements)
        placed, got = state
        unit = math.lcm(*(2 + g for g in got))
        voices = [w * (unit // (2 + g)) for w, g in zip(field.weights, got, strict=True)]
        columns = field.points(placed)[:, list(kinds)].T.tolist()
        return [sum(w * s for w, s in zip(voices, c, strict=True)) for c in columns]

    def after(self, field: Field, state: State, kind: int) -> State:
        """Return what is placed, and twice what everybody has got."""
        assert isinstance(field, Agreements)
        placed, got = state
        gains = field.points(placed)[:, kind].tolist()
        more = tuple(g + s for g, s in zip(got, gains, strict=True))
        return (field.place(placed, kind), more)

    def told(self, field: Field, rates: Floats) -> Floats:
        """Return what everybody gets, in the voices as given."""
        voices: Floats = rates * (len(field.kinds[field.kinds >= 0]) * field.voice / field.scale)
        return voices

    def notes(self, field: Field, chosen: Sequence[int]) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def tables(self, field: Field, walk: Walk) -> tuple[Table, ...]:
        """Return the rates by round, and how many pairs each ballot and the result agree on."""
        names = tuple(field.profile.ids[i] for i in walk.positions[:60])
        states = walk.states[: len(names) + 1]
        rows = []
        for v, voter in enumerate(field.profile.voters[:60]):
            got = [state[1][v] for state in states]
            gains = [plain((b - a) / 2) for a, b in itertools.pairwise(got)]
            rows.append((voter, *gains, plain(got[-1] / 2)))
        agreed = Table(
            name="agreements",
            columns=("voter", *names, "total"),
            rows=tuple(rows),
            cut=len(field.weights) - len(rows),
            how="sum",
        )
        return (*super().tables(field, walk), agreed)
