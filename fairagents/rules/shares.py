"""The method of equal shares: every voter gets an equal share of the seats to spend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from fairagents.decision import Table
from fairagents.rules._walk import NEAR, Field, Sequential, State, Walk, rate_table
from fairagents.rules.approval import ONE_SEAT
from fairagents.rules.phragmen import as_floats, change, new_load, new_loads
from fairagents.spec import Floats

BLOCK = 2**18
"""So many numbers are worked on at once."""


class EqualShares(Sequential):
    """The method of equal shares (MES, Rule X) for approvals.

    Each unit of voice has k / V to spend, V being the voice of those who approve something, and a
    member costs 1. Next comes the one with the least rho at which
    sum_v w_v [a in A_v] min(b_v, rho) = 1, and each of its voters pays min(b_v, rho) per unit.
    When nobody can be paid for, `completion` says what follows: "phragmen": budgets go on as
    Phragmén's loads, x_v = -b_v (as abcvoting does); "utilitarian": most approvals first; "none":
    the slate stays short of its size. Exact; O(k n m log n).
    Source: Peters & Skowron 2020 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> from fairagents.task import Slate
    >>> profile = Profile.from_approvals([["a", "b", "c"], ["d", "e"], ["f"]], weights=[6, 3, 1])
    >>> len(EqualShares(completion="none")(profile, Slate(size=3)).outcome.ids)
    1
    >>> chosen = EqualShares()(profile, Slate(size=3)).outcome.ids
    >>> len(set(chosen) & set("abc")), len(set(chosen) & set("de"))
    (2, 1)
    """

    name: ClassVar[str] = "mes"
    formula: ClassVar[str] = (
        "next: argmin_a rho, sum_v w_v [a in A_v] min(b_v, rho) = 1, b_v = k / V at first"
    )
    source: ClassVar[str] = "Peters & Skowron 2020 (as commonly stated)"
    complexity: ClassVar[str] = "O(k n m log n) for k seats"
    holds: ClassVar[Mapping[str, str]] = {
        **ONE_SEAT,
        "jr": "it follows from ejr",
        "pjr": "it follows from ejr",
        "ejr": "Peters & Skowron 2020",
    }

    completion: Literal["phragmen", "utilitarian", "none"] = "phragmen"

    def fills(self) -> bool:
        """Tell whether the slate is filled."""
        return self.completion != "none"

    def start(self, field: Field) -> State:
        """Return everybody's budget per unit of voice."""
        each = Fraction(field.task.size, field.voice)
        return (each.denominator, *(each.numerator for _ in field.weights))

    def rates(self, field: Field, states: Sequence[State]) -> Floats:
        """Return -rho in units of an even share where it can be paid, lower rates elsewhere."""
        budgets = as_floats(states)
        rates = -_prices(field, budgets, states) * field.voice
        rest: Any = -math.inf
        if self.completion == "phragmen":
            rest = -new_loads(field, -budgets) * field.voice
        elif self.completion == "utilitarian":
            rest = field.share @ field.approved - 1
        merged: Floats = np.where(np.isfinite(rates), rates, rest - (field.task.size + 1))
        return merged

    def exact(self, field: Field, state: State, kinds: Sequence[int]) -> Sequence[Any]:
        """Return whether a kind can be paid, and -rho or how the completion orders it."""
        prices = [_price(field, state, kind) for kind in kinds]
        return [
            (0, self._rest(field, state, kind)) if price is None else (1, -price)
            for kind, price in zip(kinds, prices, strict=True)
        ]

    def _rest(self, field: Field, state: State, kind: int) -> Fraction:
        if self.completion == "phragmen":
            return -new_load(field, _negative(state), kind)
        return Fraction(sum(field.weights[v] for v in field.support[kind]))

    def after(self, field: Field, state: State, kind: int) -> State:
        """Return the budgets when a kind is paid, or taken by the completion."""
        price, voters = _price(field, state, kind), field.support[kind]
        if price is None:
            if self.completion == "phragmen" and voters:
                load = new_load(field, _negative(state), kind)
                return change(state, dict.fromkeys(voters, -load))
            return state
        common, *budgets = state
        part, whole = price.numerator * common, price.denominator
        left = [b * whole for b in budgets]
        for v in voters:
            left[v] = max(0, left[v] - part)
        shared = math.gcd(common * whole, *left)
        return (common * whole // shared, *(b // shared for b in left))

    def tables(self, field: Field, walk: Walk) -> tuple[Table, ...]:
        """Return the prices by round, and what the completion compared."""
        size, unit = field.task.size, field.scale / field.voice
        paid = [row >= -(size + 0.5) for row in walk.rates]
        prices = [np.where(p, -row * unit, np.nan) for p, row in zip(paid, walk.rates, strict=True)]
        tables = [rate_table("prices", field, walk, prices)]
        start = next((r for r, kind in enumerate(walk.taken) if not paid[r][kind]), None)
        if start is not None:
            rest = []
            for number, row in enumerate(walk.rates):
                value = -(row + size + 1) * unit
                if self.completion == "utilitarian":
                    value = (row + size + 2) / unit
                rest.append(np.where(paid[number] | (number < start), np.nan, value))
            tables.append(rate_table("completion", field, walk, rest))
        return tuple(tables)

    def notes(self, field: Field, chosen: Sequence[int]) -> tuple[str, ...]:
        """Return the conventions that were applied."""
        told = super().notes(field, chosen)
        if len(chosen) < field.task.size:
            told = (*told, f"{len(chosen)} of {field.task.size} could be paid for; no completion")
        return told


def _negative(state: State) -> State:
    return (state[0], *(-x for x in state[1:]))


def _prices(field: Field, budgets: Floats, states: Sequence[State]) -> Floats:
    """Return rho of each kind, shape (states, c), infinite where its voters cannot pay."""
    voices = np.array(field.weights, dtype=np.float64)
    money = (budgets * voices) @ field.approved
    found = np.full(money.shape, np.inf)
    step = max(1, BLOCK // max(1, field.approved.size))
    for at in range(0, len(budgets) if field.weights else 0, step):
        found[at : at + step] = _split(field.approved, voices, budgets[at : at + step])
    found[money < 1 - NEAR] = np.inf
    for row, kind in zip(*np.nonzero(abs(money - 1) <= NEAR), strict=True):
        if _price(field, states[int(row)], int(kind)) is None:
            found[row, kind] = np.inf
    return found


def _split(approved: Floats, voices: Floats, budgets: Floats) -> Floats:
    """Return the least payment with which each kind is paid for, shape (states, c)."""
    order = np.argsort(budgets, axis=1, kind="stable")
    voters = approved[order]
    b, w = np.take_along_axis(budgets, order, axis=1)[:, :, None], voices[order][:, :, None]
    # Those before a place spend all they have, those from it on pay alike.
    own = w * b * voters
    before = np.cumsum(own, axis=1) - own
    rest = np.cumsum((w * voters)[:, ::-1], axis=1)[:, ::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        price = (1 - before) / rest
    price[(voters == 0) | (price > b * (1 + NEAR))] = np.inf
    # The first place that can pay is the least: later ones let fewer pay the rest.
    first = np.isfinite(price).argmax(axis=1)[:, None]
    least: Floats = np.maximum(np.take_along_axis(price, first, axis=1)[:, 0], 0)
    return least


def _price(field: Field, state: State, kind: int) -> Fraction | None:
    """Return rho of a kind, or None where its voters cannot pay."""
    common, weights = state[0], field.weights
    voters = sorted(field.support[kind], key=lambda v: (state[1 + v], v))
    rest = sum(weights[v] for v in voters)
    missing = common
    for v in voters:
        if missing <= state[1 + v] * rest:
            return Fraction(missing, common * rest)
        missing -= weights[v] * state[1 + v]
        rest -= weights[v]
    return None
