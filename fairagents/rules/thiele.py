"""Thiele's rules as wholes: PAV and Chamberlin-Courant on approvals, exact, with all ties."""

from __future__ import annotations

import abc
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.rules._exact import Best, Search, by_programmes
from fairagents.rules._walk import Field
from fairagents.rules._whole import Whole, programme_of
from fairagents.rules.approval import ONE_SEAT
from fairagents.rules.base import MOST_WINNERS
from fairagents.rules.sequential import SequentialCc, SequentialPav, Thiele
from fairagents.rules.trace import plain
from fairagents.spec import Floats


class WholeThiele(Whole):
    """The base of Thiele's rules as wholes; `sequential` says what a member is worth."""

    complexity: ClassVar[str] = (
        "NP-hard: branch and bound from the linear relaxation, then an integer programme"
    )

    @property
    @abc.abstractmethod
    def sequential(self) -> Thiele:
        """The rule that takes one after another by the same worths."""

    def score(self, field: Field, committee: Sequence[int]) -> Fraction:
        """Return what the slate is worth, as a share of all voice."""
        return Score(field, self.sequential).of(committee)

    def solve(self, field: Field, start: tuple[int, ...]) -> Best:
        """Search by branch and bound, or by integer programmes where that gives up."""
        score = Score(field, self.sequential)
        if field.task.plain:
            search = Search(
                field.approved, field.sizes, field.share, score.worths, score.exact, MOST_WINNERS
            )
            if search.run(field.kinds[list(start)].tolist()):
                committees = [_members(field, kinds) for kinds in search.found]
                return Best(committees, search.score, search.more)
        ceiling = float(score.worths.sum())
        programme = score.programme()
        return by_programmes(field.task, *programme, score.of, start, ceiling, self.time_limit)

    def tables(self, field: Field, order: Sequence[int], best: Best) -> tuple[Table, ...]:
        """Return what each member adds for each voter, the score, and its bound."""
        return Score(field, self.sequential).tables(order, best)


def _members(field: Field, kinds: Sequence[int]) -> tuple[int, ...]:
    """Return some alternatives of the given kinds, as positions."""
    counts = Counter(kinds)
    return tuple(sorted(i for kind, c in counts.items() for i in field.members[kind][:c]))


class Score:
    """What a slate is worth to the voters by one of Thiele's rules, exactly.

    Attributes:
        worths: what the first, second, ... member is worth, shape (k,).
    """

    def __init__(self, field: Field, rule: Thiele) -> None:
        self._field = field
        exact = [Fraction(rule.worth(count)) for count in range(field.task.size)]
        self.worths: Floats = np.array([float(one) for one in exact])
        self._unit = math.lcm(*(one.denominator for one in exact))
        self._heights = [0]
        for one in exact:
            step = one.numerator * (self._unit // one.denominator)
            self._heights.append(self._heights[-1] + step)

    def exact(self, counts: Sequence[int]) -> Fraction:
        """Return the score of so many members per voter, as a share of all voice."""
        heights = self._heights
        total = sum(w * heights[c] for w, c in zip(self._field.weights, counts, strict=True))
        return Fraction(total, self._unit * self._field.voice)

    def counts(self, committee: Sequence[int]) -> list[int]:
        """Return how many members each voter approves."""
        kinds = self._field.kinds[list(committee)]
        counts: list[int] = self._field.approved[:, kinds].sum(axis=1).astype(int).tolist()
        return counts

    def of(self, committee: Sequence[int]) -> Fraction:
        """Return the score of a committee."""
        return self.exact(self.counts(committee))

    def programme(self) -> tuple[Any, tuple[Any, Floats]]:
        """Return an integer programme, and what is to be maximised."""
        field = self._field
        programme = programme_of(field)
        places, by = [], []
        for v, share in enumerate(field.share.tolist()):
            approved = np.flatnonzero((field.kinds >= 0) & (field.approved[v][field.kinds] > 0))
            z = programme.add(min(len(approved), int(np.count_nonzero(self.worths))))
            row = np.concatenate([z, programme.cells[approved]])
            signs = np.concatenate([np.ones(len(z)), -np.ones(len(approved))])
            programme.rows(row[None], signs, high=0.0)
            places.append(z)
            by.append(share * self.worths[: len(z)])
        if not places:
            return programme, (programme.cells[:0], np.zeros(0))
        return programme, (np.concatenate(places), np.concatenate(by))

    def tables(self, order: Sequence[int], best: Best) -> tuple[Table, ...]:
        """Return what each member adds for each voter, the score, and its bound."""
        field, profile = self._field, self._field.profile
        heard = np.flatnonzero(profile.approvals.any(axis=1)).tolist()
        shown = list(order)[:60]
        rows: list[tuple[Any, ...]] = []
        totals: list[float] = []
        for v, voter in enumerate(heard):
            count = 0
            cells: list[float] = []
            for i in order:
                approves = bool(field.approved[v, field.kinds[i]])
                cells.append(float(self.worths[count]) if approves else 0.0)
                count += approves
            totals.append(self._heights[count] / self._unit)
            rows.append((profile.voters[voter], *cells[: len(shown)], totals[-1]))
        cut = len(order) > len(shown)
        voters = Table(
            name="worth of the slate",
            columns=("voter", *(profile.ids[i] for i in shown), "total"),
            rows=tuple(rows[:60]),
            cut=max(0, len(rows) - 60),
            how="" if cut else "sum",
        )
        factor = field.voice / field.scale
        weights = [plain(profile.weights[v]) for v in heard]
        score = Table(
            name="score",
            columns=("slate", *(profile.voters[v] for v in heard), "total"),
            rows=(
                ("weight", *weights, None),
                ("chosen", *totals, float(best.score) * factor),
            ),
            how="sum",
        )
        bound = best.score if best.bound is None else best.bound
        objective = Table(
            name="objective",
            columns=("score", "proven bound"),
            rows=((float(best.score) * factor, float(bound) * factor),),
        )
        return (voters, objective) if len(heard) > 60 else (voters, score, objective)


class Pav(WholeThiele):
    """Proportional approval voting (PAV): a voter's j-th approved member is worth 1 / j to it.

    max over slates S of sum_v w_v (1 + 1/2 + ... + 1/|A_v & S|). Exact.
    Source: Thiele 1895; Lackner & Skowron 2023 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> from fairagents.task import Slate
    >>> profile = Profile.from_approvals([["a", "b", "c"], ["d", "e"], ["f"]], weights=[6, 3, 1])
    >>> decision = Pav()(profile, Slate(size=3))
    >>> len(decision.winners), sorted(len(set(w) & set("abc")) for w in decision.winners)
    (6, [2, 2, 2, 2, 2, 2])
    """

    formula: ClassVar[str] = "max_S sum_v w_v (1 + 1/2 + ... + 1/|A_v & S|)"
    source: ClassVar[str] = "Thiele 1895; Lackner & Skowron 2023 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = {
        **ONE_SEAT,
        "jr": "it follows from ejr",
        "pjr": "it follows from ejr",
        "ejr": "Aziz et al. 2017",
    }

    @property
    def sequential(self) -> Thiele:
        """SeqPAV."""
        return SequentialPav()


class ChamberlinCourant(WholeThiele):
    """Chamberlin-Courant on approvals: as many voters as possible approve some member.

    max over slates S of sum_v w_v [A_v & S not empty]. Exact.
    Source: Thiele 1895; Chamberlin & Courant 1983 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> from fairagents.task import Slate
    >>> profile = Profile.from_approvals([["a", "b", "c"], ["d", "e"], ["f"]], weights=[6, 3, 1])
    >>> len(ChamberlinCourant()(profile, Slate(size=3)).winners)
    6
    """

    formula: ClassVar[str] = "max_S sum_v w_v [A_v & S not empty]"
    source: ClassVar[str] = "Thiele 1895; Chamberlin & Courant 1983 (as commonly stated)"
    holds: ClassVar[Mapping[str, str]] = {
        **ONE_SEAT,
        "jr": "Aziz et al. 2017",
    }

    @property
    def sequential(self) -> Thiele:
        """Sequential Chamberlin-Courant."""
        return SequentialCc()
