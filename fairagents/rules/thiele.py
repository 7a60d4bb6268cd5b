"""Thiele's rules as wholes: PAV and Chamberlin-Courant on approvals, exact, with all ties."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter

from fairagents.decision import Table
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules._exact import Best, Search, by_programmes, of_few
from fairagents.rules._walk import Field, Walk, listed
from fairagents.rules.approval import ONE_SEAT, silent
from fairagents.rules.base import MOST_WINNERS, Basis, CommitteeRule, Elected, Needs, Ties
from fairagents.rules.sequential import SequentialCc, SequentialPav, Thiele
from fairagents.rules.trace import plain
from fairagents.spec import Floats


class Whole(CommitteeRule):
    """The base of Thiele's rules as wholes; a subclass names the `sequential` rule of its worths.

    The order of a slate is that in which the sequential rule would take its members.
    """

    needs: ClassVar[Needs] = "approvals"
    basis: ClassVar[Basis] = "cardinal"
    complexity: ClassVar[str] = (
        "NP-hard: branch and bound from the linear relaxation, then an integer programme"
    )

    time_limit: float = Parameter(default=10.0, gt=0)

    @property
    @abc.abstractmethod
    def sequential(self) -> Thiele:
        """The rule that takes one after another by the same worths."""

    def elect(self, profile: Profile, task: Feasible, ties: Ties) -> Elected:
        """Choose the best slate."""
        task.require()
        field = Field(profile, task, ties)
        score = Score(field, self.sequential)
        best = self._best(field, score)
        chosen = best.chosen(ties)
        within = Field(profile, task, ties, only=chosen)
        rule = self.sequential
        order = rule.walk(within, Walk(rule.start(within)), task.size, free=True).positions
        notes = silent(profile)
        if best.more:
            notes = (*notes, "not all slates as good were looked for; the tie-break chose of these")
        return Elected(
            order,
            winners=sorted(best.committees),
            more=best.more,
            tables=score.tables(order, best),
            notes=notes,
            optimal=best.bound is None,
            gap=None if best.bound is None else best.gap,
        )

    def _best(self, field: Field, score: Score) -> Best:
        if int(field.sizes.sum()) == field.task.size:
            everybody = tuple(sorted(i for members in field.members for i in members))
            return Best([everybody], score.of(everybody))
        if field.task.plain:
            if not field.weights:
                own = [0] * field.task.size
                committees, more = listed(field, [tuple(own)], field.members[0][: len(own)])
                return Best(committees, Fraction(0), more)
            best = self._search(field, score)
            if best is not None:
                return best
        few = of_few(field.task, score.of)
        return few or by_programmes(field.task, *score.programme(), score.of, self.time_limit)

    def _search(self, field: Field, score: Score) -> Best | None:
        """Return the best by branch and bound, or None if it gave up."""
        search = Search(
            field.approved,
            field.sizes,
            field.share,
            score.worths,
            score.exact,
            MOST_WINNERS,
        )
        rule = self.sequential
        if not search.run(rule.walk(field, Walk(rule.start(field)), field.task.size).taken):
            return None
        own = search.found[0]
        first = [i for k in dict.fromkeys(own) for i in field.members[k][: own.count(k)]]
        committees, beyond = listed(field, search.found, first)
        return Best(committees, search.score, search.more or beyond)


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
        programme = field.task.programme()
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


class Pav(Whole):
    """Proportional approval voting (PAV): a voter's j-th approved member is worth 1 / j to it.

    max over slates S of sum_v w_v (1 + 1/2 + ... + 1/|A_v & S|). Exact.
    Source: Thiele 1895; Lackner & Skowron 2023 (as commonly stated).

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


class ChamberlinCourant(Whole):
    """Chamberlin-Courant on approvals: as many voters as possible approve some member.

    max over slates S of sum_v w_v [A_v & S not empty]. Exact.
    Source: Thiele 1895; Chamberlin & Courant 1983 (as commonly stated).

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
