"""Probabilistic serial: everybody eats its best at the same speed; then one outcome is drawn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.errors import DecisionError
from fairagents.feasible import Feasible
from fairagents.outcome import Lottery
from fairagents.rules.assignment import AssignmentRule, Market
from fairagents.rules.trace import plain
from fairagents.spec import Floats

Shares = list[list[Fraction]]
"""What each recipient gets of each alternative, in expectation."""


class ProbabilisticSerial(AssignmentRule):
    """All recipients eat their best alternative that is left, at the speed of their voice.

    Each eats until its load is filled or nothing acceptable is left, at most one unit of an
    alternative (Kojima 2009 for loads above one). The shares, exact fractions, are the
    probabilities of getting an alternative; they are decomposed into assignments (Birkhoff 1946,
    Budish et al. 2013), one of which is drawn by the seed. Ordinally efficient and, with equal
    voices, envy-free in expectation; not strategy-proof.
    Source: Bogomolnaia & Moulin 2001 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> from fairagents.task import Assign
    >>> task = Assign(seats={"x": 1, "y": 1}, load={"p": 1, "q": 1})
    >>> profile = Profile.from_rankings([["x", "y"], ["x", "y"]], voters=["p", "q"])
    >>> ProbabilisticSerial()(profile, task).table("shares").rows
    (('p', 0.5, 0.5), ('q', 0.5, 0.5))
    """

    formula: ClassVar[str] = "everybody eats its best that is left, at equal speed"
    source: ClassVar[str] = "Bogomolnaia & Moulin 2001 (as commonly stated)"
    complexity: ClassVar[str] = "O(R m) steps; at most R m + R + m assignments in the lottery"
    limited: ClassVar[bool] = False

    def assign(self, market: Market) -> dict[str, Any]:
        """Eat, decompose, draw."""
        shares = eaten(market)
        lottery = decomposed(market.task, shares)
        rows = tuple(
            (who, *map(plain, row)) for who, row in zip(market.recipients, shares, strict=True)
        )
        table = Table(name="shares", columns=("recipient", *market.ids), rows=rows)
        outcome = lottery.draw(market.ties.seed % 2**63)
        return {"outcome": outcome, "lottery": lottery, "tables": (table,)}


def eaten(market: Market) -> Shares:
    """Return what everybody eats, exactly."""
    left = [Fraction(s) for s in market.seats]
    room = [Fraction(load) for load in market.load]
    shares = [[Fraction(0)] * len(market.ids) for _ in market.recipients]
    while True:
        eats = {
            r: next((a for a in wish if left[a] > 0 and shares[r][a] < 1), None)
            for r, wish in enumerate(market.wishes)
            if room[r] > 0
        }
        eats = {r: a for r, a in eats.items() if a is not None}
        if not eats:
            return shares
        speeds: dict[int, Fraction] = {}
        for r, a in eats.items():
            assert a is not None
            speeds[a] = speeds.get(a, Fraction(0)) + market.weights[r]
        steps = [left[a] / speed for a, speed in speeds.items()]
        steps += [min(room[r], 1 - shares[r][a]) / market.weights[r] for r, a in eats.items()]  # type: ignore[index]
        step = min(steps)
        for r, a in eats.items():
            assert a is not None
            amount = step * market.weights[r]
            shares[r][a] += amount
            room[r] -= amount
            left[a] -= amount


def decomposed(task: Feasible, shares: Shares) -> Lottery:
    """Return a lottery over assignments whose expectation the shares are.

    Step by step an assignment is taken out that holds what must be held: every sum of a recipient
    or an alternative that is a whole number of what is left must be met, others rounded up or
    down; it gets the greatest probability that keeps the rest decomposable.
    """
    m = len(task.ids)
    left = [share for row in shares for share in row]
    mass = Fraction(1)
    groups = [[r * m + a for a in range(m)] for r in range(len(shares))]
    groups += [[r * m + a for r in range(len(shares))] for a in range(m)]
    outcomes, chances = [], []
    for _ in range(len(left) + len(groups) + 1):
        if not mass:
            break
        x = _rounded(task, [share / mass for share in left], groups)
        step = mass
        for i, share in enumerate(left):
            step = min(step, share if x[i] else mass - share)
        for group in groups:
            total, got = sum((left[i] for i in group), Fraction(0)), int(sum(x[i] for i in group))
            low = total // mass
            # The rest must keep its sum between the whole numbers around it.
            if got > low and total > low * mass:
                step = min(step, total - low * mass)
            elif total > low * mass:
                step = min(step, (low + 1) * mass - total)
        outcomes.append(task.outcome(x.astype(np.float64)))
        chances.append(step)
        left = [share - step * int(taken) for share, taken in zip(left, x, strict=True)]
        mass -= step
    if mass:
        raise DecisionError(f"probability {float(mass)} of the shares could not be decomposed")
    probabilities = tuple(float(chance) for chance in chances)
    return Lottery(outcomes=tuple(outcomes), probabilities=probabilities)


def _rounded(task: Feasible, shares: list[Fraction], groups: list[list[int]]) -> Floats:
    """Return a 0/1 matrix that rounds every share and every sum up or down."""
    programme = task.programme()
    for cells, total in [
        *(([i], share) for i, share in enumerate(shares)),
        *((group, sum((shares[i] for i in group), Fraction(0))) for group in groups),
    ]:
        low = total // 1
        high = low if total == low else low + 1
        programme.rows(np.array([cells]), 1.0, low=float(low), high=float(high))
    found = programme.any()
    return task.amounts(found)
