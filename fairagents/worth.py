"""Worth: what an outcome gives each stakeholder by its declared objectives, computed.

Rules never see this module's numbers: `rules` and `worth` may not import each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fairagents.case import Pool
from fairagents.catalogue import Catalogue
from fairagents.errors import SpecError
from fairagents.outcome import Linear
from fairagents.record import Record
from fairagents.spec import Bools, Floats, Indicator, Objective, Stakeholder

R = TypeVar("R")


@dataclass(frozen=True)
class Worth:
    """One stakeholder's worth over one pool.

    Attributes:
        stakeholder: its id.
        items: worth of each alternative on its own, shape (m,), in [0, 1]: the weighted mean of
            its normalised values over objectives that read "mean" or "worst", less what soft
            constraints cost.
        mean: what each alternative adds to the worth of a slate of the given size, shape (m,).
        least: terms of whole slates by their worst alternative, as `Linear` takes them.
        variety: terms of whole slates by how much they vary, as `Linear` takes them.
        flagged: alternatives that a hard constraint refuses, shape (m,); their `items` are 0.
        notes: values that were unknown and how they were counted, in words.
    """

    stakeholder: str
    items: Floats
    mean: Floats
    flagged: Bools
    least: tuple[tuple[float, Floats], ...] = ()
    variety: tuple[tuple[float, Bools, float, float], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def additive(self) -> bool:
        """Whether a slate is worth the sum of `mean` over it."""
        return not (self.least or self.variety)

    @functools.cached_property
    def linear(self) -> Linear:
        """Worth of a whole slate as the solver reads it."""
        return Linear(values=self.mean, least=self.least, variety=self.variety)


def normalised(objective: Objective, pool: Pool) -> tuple[Floats, int]:
    """Return an objective's value of each alternative, shape (m,), in [0, 1], and how many unknown.

    The value v counts `clip((v - a0) / (a1 - a0), 0, 1)` with the objective's anchors. With
    anchors "case" they are the least and greatest known value among the pool; where all are equal
    everything counts 1.

    Raises:
        SpecError: nothing is known, or the objective refuses unknown values and there is one.
    """

    def compute() -> tuple[Floats, int]:
        values = pool.values(objective.indicator)
        unknown = np.isnan(values)
        count = int(np.count_nonzero(unknown))
        place = f"objective {objective.id!r} ({objective.indicator.label})"
        if count == len(values):
            raise SpecError(f"{place}: unknown for every candidate; leave the objective out")
        if count and objective.missing == "error":
            first = pool.ids[int(np.flatnonzero(unknown)[0])]
            raise SpecError(f"{place}: unknown for {first!r} and {count - 1} more candidates")
        anchors = objective.anchors
        if anchors == "case":
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
            anchors = (low, high) if objective.direction == "max" else (high, low)
        zero, one = anchors
        u = np.ones(len(values)) if zero == one else _scaled(values, zero, one)
        if count:
            u[unknown] = float(u[~unknown].mean()) if objective.missing == "mean" else 0.0
        u.setflags(write=False)
        return u, count

    return _once(pool, objective, not objective.indicator.reads_case(pool), compute)


def _scaled(values: Floats, zero: float | Floats, one: float | Floats) -> Floats:
    """Return clip((v - zero) / (one - zero), 0, 1)."""
    u: Floats = np.minimum(np.maximum((values - zero) / (one - zero), 0.0), 1.0)
    return u


def _once(pool: Pool, spec: Record, fixed: bool, compute: Callable[[], R], *more: object) -> R:
    """Return what `compute` gives, once per spec and pool, or once per catalogue if `fixed`.

    What reads only the catalogue is the same in every case over the whole of it.
    """
    home: Pool | Catalogue = pool.catalogue if fixed and pool.rows is None else pool
    first = pool.catalogue.first(spec)
    found: tuple[Record, R] = home.once((id(first), *more), lambda: (first, compute()))
    return found[1]


def worth(stakeholder: Stakeholder, pool: Pool, size: int) -> Worth:
    """Return a stakeholder's worth over a pool, for slates of `size`; see `Worth`.

    Computed once per pool, or once per catalogue where nothing in it depends on the case.
    """

    def compute() -> Worth:
        fixed = not stakeholder.constraints and all(
            objective.reads == "variety" or not objective.indicator.reads_case(pool)
            for objective in stakeholder.objectives
        )
        return _once(pool, stakeholder, fixed, lambda: _worth(stakeholder, pool, size), size)

    _, found = pool.once(("worth", id(stakeholder), size), lambda: (stakeholder, compute()))
    return found


def _worth(stakeholder: Stakeholder, pool: Pool, size: int) -> Worth:
    """Return a stakeholder's worth over a pool, for slates of `size`.

    With normalised values u_o(i), weights w_o that sum to 1 and a slate L of k alternatives:
    U(L) = sum of w_o mean_{i in L} u_o(i) over objectives that read "mean", plus
    w_o min_{i in L} u_o(i) over those that read "worst", plus w_o clip((v - a0) / (a1 - a0), 0, 1)
    with v the number of different values in L over those that read "variety".
    A soft constraint lowers the mean part of an alternative by its cost, not below 0.
    """
    total = sum([objective.weight for objective in stakeholder.objectives])
    flagged, cost, notes = _constraints(stakeholder, pool)
    mean = worst = np.zeros(len(pool))
    least: list[tuple[float, Floats]] = []
    variety: list[tuple[float, Bools, float, float]] = []
    item_weight = 0.0
    for objective in stakeholder.objectives:
        weight = objective.weight / total
        if objective.reads == "variety":
            variety.append((weight, *_groups(objective, pool)))
            continue
        u, unknown = normalised(objective, pool)
        if unknown:
            notes += (
                f"{stakeholder.id}/{objective.id}: {unknown} of {len(pool)} candidates unknown, "
                f"counted as {objective.missing}",
            )
        if stakeholder.constraints:
            u = np.where(flagged, 0.0, u)
        item_weight += weight
        if objective.reads == "worst":
            least.append((weight, u))
            worst = worst + weight * u
        else:
            mean = mean + weight * u
    items = mean + worst if least else mean
    if item_weight:
        items = np.minimum(items / item_weight, 1.0)
    if stakeholder.constraints:
        mean = np.maximum(mean - cost, 0.0)
        items = np.maximum(items - cost, 0.0)
    return Worth(stakeholder.id, items, mean / size, flagged, tuple(least), tuple(variety), notes)


def worth_of_many(
    stakeholder: Stakeholder,
    pools: Sequence[Pool],
    size: int,
    read: dict[int, Floats] | None = None,
) -> tuple[Floats, Floats] | None:
    """Return `items` and `mean` of `worth` over many pools of equal size at once.

    Args:
        stakeholder: whose worth.
        pools: b pools of m alternatives each.
        size: the slate's size.
        read: what was read for other stakeholders already, which is filled in.

    Returns:
        Two arrays of shape (b, m), equal to the last bit to what `worth` gives; None where
        the stakeholder has constraints or whole-slate objectives, or a value is unknown.
    """
    read = {} if read is None else read
    objectives = stakeholder.objectives
    if stakeholder.constraints or any(objective.reads != "mean" for objective in objectives):
        return None
    total, weights = sum(objective.weight for objective in objectives), 0.0
    mean = np.zeros((len(pools), len(pools[0])))
    for objective in objectives:
        values = _read_many(objective.indicator, pools, read)
        if np.isnan(values).any():
            return None
        zero: float | Floats
        one: float | Floats
        if objective.anchors == "case":
            low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
            zero, one = (low, high) if objective.direction == "max" else (high, low)
        else:
            zero, one = objective.anchors
        with np.errstate(invalid="ignore", divide="ignore"):
            u = _scaled(values, zero, one)
        if objective.anchors == "case":
            u = np.where(zero == one, 1.0, u)
        mean += objective.weight / total * u
        weights += objective.weight / total
    return np.minimum(mean / weights, 1.0), mean / size


def _read_many(indicator: Indicator, pools: Sequence[Pool], read: dict[int, Floats]) -> Floats:
    """Return an indicator's values over many pools, shape (b, m), or (1, m) where all agree."""
    key = id(pools[0].catalogue.first(indicator))
    if key not in read:
        alike = all(pool.rows is None for pool in pools) and not indicator.reads_case(pools[0])
        read[key] = np.array([p.values(indicator) for p in (pools[:1] if alike else pools)])
    return read[key]


def _constraints(stakeholder: Stakeholder, pool: Pool) -> tuple[Bools, Floats, tuple[str, ...]]:
    """Return what hard constraints refuse, what soft ones cost, and what was unknown, in words."""
    flagged, notes = np.zeros(len(pool), dtype=bool), tuple[str, ...]()
    if not stakeholder.constraints:
        return flagged, np.zeros(1), notes
    cost = np.zeros(len(pool))
    for constraint in stakeholder.constraints:
        if constraint.when is not None and pool.holds(constraint.when)[0] != 1:
            continue
        answers = pool.holds(constraint.accepts)
        fails = (answers == 0) | ((answers == -1) & (constraint.unknown == "no"))
        if unknown := int((answers == -1).sum()):
            notes += (
                f"{stakeholder.id}/{constraint.id}: {unknown} of {len(pool)} candidates unknown, "
                f"counted as {constraint.unknown}",
            )
        if constraint.kind == "hard":
            flagged |= fails
        else:
            cost += constraint.cost * fails
    return flagged, cost, notes


def _groups(objective: Objective, pool: Pool) -> tuple[Bools, float, float]:
    """Return a variety objective's groups, shape (g, m), and its anchors."""
    labels, codes = pool.category(objective.indicator.requires()[0])
    present = np.unique(codes[codes >= 0])
    groups = codes[None, :] == present[:, None]
    if not len(labels) or not len(present):
        raise SpecError(f"objective {objective.id!r}: the column is unknown for every candidate")
    assert objective.anchors != "case"  # refused by Objective
    return groups, *objective.anchors
