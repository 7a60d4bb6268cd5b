"""Phragmén's sequential rule: loads shared evenly among those who approve a member."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fairagents.rules._walk import Field, Sequential, State
from fairagents.rules.approval import ONE_SEAT
from fairagents.spec import Floats


class SequentialPhragmen(Sequential):
    """Phragmén's sequential rule (seqPhragmén): each member is a load of 1, carried by its voters.

    Next comes argmin_a (1 + sum_v w_v [a in A_v] x_v) / sum_v w_v [a in A_v], and that is the new
    load x_v of each unit of voice that approves it. Who is approved by nobody comes last. Exact;
    O(k n m). Source: Phragmén 1894; Janson 2016; Brill et al. 2017 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> from fairagents.task import Slate
    >>> profile = Profile.from_approvals([["a", "b", "c"], ["d", "e"], ["f"]], weights=[6, 3, 1])
    >>> chosen = SequentialPhragmen()(profile, Slate(size=3)).outcome.ids
    >>> len(set(chosen) & set("abc")), len(set(chosen) & set("de"))
    (2, 1)
    """

    name: ClassVar[str] = "seq_phragmen"
    formula: ClassVar[str] = (
        "next: argmin_a (1 + sum_v w_v [a in A_v] x_v) / sum_v w_v [a in A_v], the new x_v of "
        "those who approve a"
    )
    source: ClassVar[str] = "Phragmén 1894; Janson 2016; Brill et al. 2017 (as commonly stated)"
    complexity: ClassVar[str] = "O(k n m) for k seats"
    holds: ClassVar[Mapping[str, str]] = {
        **ONE_SEAT,
        "committee_monotonicity": "members are taken one by one",
        "jr": "it follows from pjr",
        "pjr": "Brill et al. 2017",
    }

    def start(self, field: Field) -> State:
        """Return that nobody carries anything."""
        return (1, *(0 for _ in field.weights))

    def rates(self, field: Field, states: Sequence[State]) -> Floats:
        """Return new loads, negated, in units of an even share."""
        rates: Floats = -new_loads(field, as_floats(states)) * field.voice
        return rates

    def exact(self, field: Field, state: State, kinds: Sequence[int]) -> Sequence[Any]:
        """Return new loads, negated."""
        return [-new_load(field, state, kind) for kind in kinds]

    def after(self, field: Field, state: State, kind: int) -> State:
        """Return that those who approve a kind carry its new load."""
        if not field.support[kind]:
            return state
        load = new_load(field, state, kind)
        return change(state, {v: load for v in field.support[kind]})

    def told(self, field: Field, rates: Floats) -> Floats:
        """Return new loads per unit of voice."""
        loads: Floats = -rates * (field.scale / field.voice)
        return loads


# -- what each voter has, as whole numbers over a common denominator, which comes first ----------


def as_floats(states: Sequence[State]) -> Floats:
    """Return what each voter has, shape (states, n)."""
    return np.array([[x / state[0] for x in state[1:]] for state in states])


def new_loads(field: Field, loads: Floats) -> Floats:
    """Return the load that each kind would bring, shape (states, c); infinite without voters."""
    voices = np.array(field.weights, dtype=np.float64)
    total = voices @ field.approved
    with np.errstate(divide="ignore"):
        found: Floats = (1 + (loads * voices) @ field.approved) / total
    return found


def new_load(field: Field, state: State, kind: int) -> Fraction:
    """Return the load that a kind brings to each unit of voice that approves it."""
    common, *loads = state
    voters = field.support[kind]
    if not voters:
        return Fraction(0)  # compared with its like only
    weights = field.weights
    carried = sum(weights[v] * loads[v] for v in voters)
    return Fraction(common + carried, common * sum(weights[v] for v in voters))


def change(state: State, new: Mapping[int, Fraction]) -> State:
    """Return a state in which some voters have something else."""
    common, *old = state
    unit = math.lcm(common, *{x.denominator for x in new.values()})
    whole = [x * (unit // common) for x in old]
    for v, x in new.items():
        whole[v] = x.numerator * (unit // x.denominator)
    shared = math.gcd(unit, *whole)
    return (unit // shared, *(x // shared for x in whole))
