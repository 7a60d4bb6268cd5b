"""Rules for `Divide`: from plans or values to one division, exact or within a stated tolerance."""

from __future__ import annotations

import abc
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from fairagents.claims import Claims
from fairagents.decision import Decision, Table
from fairagents.errors import BallotError
from fairagents.feasible import Feasible
from fairagents.optima import Optimum, alpha_fair, concave, leximin
from fairagents.outcome import Linear, Outcome, Solution
from fairagents.rules.base import Basis, Needs, Rule, Ties
from fairagents.rules.trace import plain
from fairagents.spec import Floats
from fairagents.task import Divide

Normalisation = Literal["none", "ceiling"]


class DivisionRule(Rule):
    """The base of rules that divide; they take `Claims`, which hold the task already."""

    decides: ClassVar[Literal["slate", "division", "assignment"]] = "division"
    needs: ClassVar[Needs] = "values"
    complexity: ClassVar[str] = "a linear programme of R x m variables"

    def __call__(  # type: ignore[override]
        self, claims: Claims, task: Divide | Feasible | None = None, *, seed: int = 0
    ) -> Decision:
        """Divide.

        Args:
            claims: plans or values, with the task they are about.
            task: the same task again, or None.
            seed: unused; divisions draw nothing.

        Raises:
            BallotError: nobody said anything, or only plans where values are needed.
            InfeasibleError: no division meets the limits; it names those that clash.
        """
        if not len(claims):
            raise BallotError(f"{self.label} needs at least one claim")
        if getattr(task, "task", task) not in (None, claims.task.task):
            raise BallotError(f"{self.label}: the claims are about another task")
        return self.divide(claims)

    def decide(self, profile: object, task: Feasible, ties: Ties) -> Decision:
        """Refuse ballots: a division takes claims."""
        raise BallotError(f"{self.label} takes Claims, not {type(profile).__name__}")

    @abc.abstractmethod
    def divide(self, claims: Claims) -> Decision:
        """Divide on at least one claim."""

    def _decision(
        self, outcome: Outcome, tables: tuple[Table, ...], notes: tuple[str, ...] = (),
        found: Solution | Optimum | None = None,
    ) -> Decision:  # fmt: skip
        return Decision(
            rule=self.label,
            outcome=outcome,
            optimal=found is None or found.optimal,
            gap=None if found is None else found.gap,
            notes=notes,
            trace=tables,
        )


class MeanPlan(DivisionRule):
    """The weighted mean of the plans.

    x = sum_v w_v x_v / sum_v w_v; the limits are linear, so a mean of feasible plans is feasible.
    A voter who said values only counts by the division that is best for it, and a note names it.
    Split-the-difference for claims; source: Intriligator 1973 (as commonly stated).

    >>> task = Divide(capacity={"icu": 3}, need={"p": {"icu": 3}, "q": {"icu": 3}})
    >>> plans = [Outcome.of([("p", "icu", 3)]), Outcome.of([("q", "icu", 3)])]
    >>> MeanPlan()(Claims.from_plans(plans, task, weights=[2, 1])).outcome.columns()
    {'icu': 3.0}
    """

    needs: ClassVar[Needs] = "plans"
    basis: ClassVar[Basis] = "cardinal"
    formula: ClassVar[str] = "x = sum_v w_v x_v / sum_v w_v"
    source: ClassVar[str] = "Intriligator 1973 (as commonly stated)"
    complexity: ClassVar[str] = "O(n R m)"

    def divide(self, claims: Claims) -> Decision:
        """Take the mean."""
        plans, notes = claims.plans, tuple[str, ...]()
        if plans is None:
            assert claims.values is not None  # claims hold one of the two
            own = [claims.task.best(value).x for value in claims.values]
            plans = np.array(own).reshape(len(claims), len(claims.task.recipients), -1)
            notes = (f"plans derived from values, each one's best: {', '.join(claims.voters)}",)
        weights = np.array([float(w) for w in claims.weights])
        mean = np.tensordot(weights / weights.sum(), plans, axes=1)
        table = _plans(claims, plans, mean)
        return self._decision(claims.task.outcome(mean.ravel()), (table,), notes)


class WelfareDivision(DivisionRule):
    """The base of rules that maximise a welfare of the voters' worths.

    With `normalisation="ceiling"` a voter's worth is divided by the most it can get, so that what
    it could get at best counts 1 for everybody; with "none" values are compared as they were said.
    """

    normalisation: Normalisation = "none"
    time_limit: float = Field(default=10.0, gt=0)

    @abc.abstractmethod
    def solve(self, task: Feasible, worths: list[Linear], claims: Claims) -> Solution | Optimum:
        """Return the best division by these worths."""

    def divide(self, claims: Claims) -> Decision:
        """Maximise, and trace each voter's worth to what was given."""
        worths = claims.linears()
        shape = (len(claims.task.recipients), len(claims.task.ids))
        ceilings = [claims.task.best(w.values.reshape(shape)).value for w in worths]
        notes: tuple[str, ...] = ()
        if self.normalisation == "ceiling":
            idle = [v for v, c in zip(claims.voters, ceilings, strict=True) if c <= 0]
            notes = (f"nothing on offer is worth anything to {', '.join(idle)}",) if idle else ()
            scales = np.array([c if c > 0 else 1.0 for c in ceilings])
        else:
            scales = np.full(len(worths), max(ceilings) or 1.0)
        scaled = [Linear(w.values / s) for w, s in zip(worths, scales, strict=True)]
        found = self.solve(claims.task, scaled, claims)
        unit = scales if self.normalisation == "ceiling" else np.ones(len(worths))
        return self._decision(
            claims.task.outcome(found.x), (_worths(claims, found.x, unit),), notes, found
        )


class UtilitarianDivision(WelfareDivision):
    """The division with the greatest weighted sum of worths.

    max_x sum_v w_v U_v(x), exact by linear programming. Source: Harsanyi 1955 (as commonly
    stated).

    >>> task = Divide(capacity={"icu": 3}, need={"p": {"icu": 2}, "q": {"icu": 2}})
    >>> UtilitarianDivision()(Claims.from_values([[[2], [0]], [[0], [1]]], task)).outcome.rows()
    {'p': {'icu': 2.0}, 'q': {'icu': 1.0}}
    """

    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "max_x sum_v w_v U_v(x)"
    source: ClassVar[str] = "Harsanyi 1955 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], claims: Claims) -> Solution:
        """Maximise the sum."""
        weights = [float(w) for w in claims.weights]
        total: Floats = np.sum([w * one.values for w, one in zip(weights, worths, strict=True)], 0)
        shape = (len(task.recipients), len(task.ids))
        return task.best(total.reshape(shape), time_limit=self.time_limit)


class MaximinDivision(WelfareDivision):
    """The division whose worst-off voter is best off; voices do not count.

    max_x min_v U_v(x), exact by linear programming. Source: Rawls 1971 (as commonly stated).

    >>> task = Divide(capacity={"icu": 3}, need={"p": {"icu": 3}, "q": {"icu": 3}})
    >>> MaximinDivision()(Claims.from_values([[[2], [0]], [[0], [1]]], task)).outcome.rows()
    {'p': {'icu': 1.0}, 'q': {'icu': 2.0}}
    """

    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "max_x min_v U_v(x)"
    source: ClassVar[str] = "Rawls 1971 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], claims: Claims) -> Solution:
        """Maximise the least worth."""
        return task.floor(worths, time_limit=self.time_limit)


class LeximinDivision(WelfareDivision):
    """The division whose worths, sorted upwards, are lexicographically greatest.

    Voices count as clones; exact by a linear programme per stage, each within 1e-6.
    Source: Ogryczak & Sliwinski 2006 (as commonly stated).

    >>> task = Divide(capacity={"icu": 3}, need={"p": {"icu": 1}, "q": {"icu": 3}})
    >>> LeximinDivision()(Claims.from_values([[[1], [0]], [[0], [1]]], task)).outcome.rows()
    {'p': {'icu': 1.0}, 'q': {'icu': 2.0}}
    """

    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "leximax_x sort_v U_v(x)"
    source: ClassVar[str] = "Ogryczak & Sliwinski 2006 (as commonly stated)"

    def solve(self, task: Feasible, worths: list[Linear], claims: Claims) -> Optimum:
        """Maximise the sorted worths."""
        scale = np.lcm.reduce([w.denominator for w in claims.weights])
        whole = [int(w * int(scale)) for w in claims.weights]
        shared = int(np.gcd.reduce(whole))
        return leximin(task, worths, [w // shared for w in whole], time_limit=self.time_limit)


class NashDivision(WelfareDivision):
    """The division with the greatest weighted product of worths.

    max_x prod_v U_v(x)^w_v, the disagreement point being nothing for anybody. The mean logarithm
    is within 1e-6 of its bound; it is flat at the top, so amounts are good to about a thousandth of
    what a voter can get. First as much voice as possible gets a positive worth. Independent of each
    voter's scale. For divisible goods and additive values it is the competitive equilibrium from
    equal incomes (Eisenberg & Gale 1959), so nobody prefers another's share.
    Source: Nash 1950; Kaneko & Nakamura 1979 (as commonly stated).

    >>> task = Divide(capacity={"icu": 3}, need={"p": {"icu": 3}, "q": {"icu": 3}})
    >>> decision = NashDivision()(Claims.from_values([[[5], [0]], [[0], [1]]], task))
    >>> {one: round(row["icu"], 2) for one, row in decision.outcome.rows().items()}
    {'p': 1.5, 'q': 1.5}
    """

    basis: ClassVar[Basis] = "cardinal"
    formula: ClassVar[str] = "max_x prod_v U_v(x)^w_v"
    source: ClassVar[str] = "Nash 1950; Kaneko & Nakamura 1979 (as commonly stated)"
    complexity: ClassVar[str] = "some ten linear programmes of R x m variables"

    normalisation: Normalisation = "ceiling"

    def solve(self, task: Feasible, worths: list[Linear], claims: Claims) -> Optimum:
        """Maximise the sum of logarithms."""
        return _concave(self, task, worths, claims, 1.0)


class AlphaFairDivision(WelfareDivision):
    """The prioritarian division: the greatest weighted sum of a concave power of worths.

    max_x sum_v w_v U_v(x)^(1 - alpha) / (1 - alpha); alpha = 0 is utilitarian, 1 is Nash, and
    maximin is approached as alpha grows. Within 1e-6 of the bound, relative above 1.
    Source: Atkinson 1970; Mo & Walrand 2000 (as commonly stated).

    >>> task = Divide(capacity={"icu": 3}, need={"p": {"icu": 3}, "q": {"icu": 3}})
    >>> claims = Claims.from_values([[[2], [0]], [[0], [1]]], task)
    >>> rows = AlphaFairDivision(alpha=2)(claims).outcome.rows()
    >>> round(rows["p"]["icu"] / rows["q"]["icu"], 2)
    0.71
    """

    name: ClassVar[str] = "alpha_fair_division"
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "max_x sum_v w_v U_v(x)^(1 - alpha) / (1 - alpha)"
    source: ClassVar[str] = "Atkinson 1970; Mo & Walrand 2000 (as commonly stated)"
    complexity: ClassVar[str] = "some ten linear programmes of R x m variables"

    alpha: float = Field(default=2.0, ge=0, le=8)

    def solve(self, task: Feasible, worths: list[Linear], claims: Claims) -> Optimum:
        """Maximise the sum of powers."""
        return _concave(self, task, worths, claims, self.alpha)


def _concave(
    rule: WelfareDivision, task: Feasible, worths: list[Linear], claims: Claims, alpha: float
) -> Optimum:
    weights = np.array([float(w) for w in claims.weights])
    share = weights / weights.sum()
    return concave(task, worths, share, alpha_fair(alpha), time_limit=rule.time_limit)


def _plans(claims: Claims, plans: Floats, mean: Floats) -> Table:
    """Return who proposed how much for whom, with the weighted mean."""
    rows = []
    for r, recipient in enumerate(claims.task.recipients):
        for a, one in enumerate(claims.task.ids):
            if plans[:, r, a].any():
                cells = map(plain, plans[:, r, a])
                rows.append((f"{recipient}: {one}", *cells, plain(mean[r, a])))
    weights = ("weight", *(plain(w) for w in claims.weights), None)
    return Table(
        name="plans",
        columns=("recipient: alternative", *claims.voters, "total"),
        rows=(weights, *rows),
        how="mean",
    )


def _worths(claims: Claims, x: Floats, scales: Floats) -> Table:
    """Return what each share given adds to each voter's worth, with the sum."""
    values = claims.values
    assert values is not None
    shares = np.flatnonzero(x > 1e-9)
    m = len(claims.task.ids)
    names = [f"{claims.task.recipients[c // m]}: {claims.task.ids[c % m]}" for c in shares]
    rows = []
    for voter, value, scale in zip(claims.voters, values, scales, strict=True):
        cells = value.ravel()[shares] * x[shares] / scale
        rows.append((voter, *map(plain, cells), plain(cells.sum())))
    return Table(
        name="worth of the division",
        columns=("voter", *names, "total"),
        rows=tuple(rows),
        how="sum",
    )
