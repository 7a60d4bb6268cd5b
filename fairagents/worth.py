"""Worth: what an outcome gives each stakeholder by its declared objectives, computed.

Rules never see this module's numbers: `rules` and `worth` may not import each other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from pydantic import Field

from fairagents.ballot import Agenda
from fairagents.case import Case, Pool
from fairagents.catalogue import Catalogue
from fairagents.errors import InfeasibleError, SpecError
from fairagents.feasible import Feasible
from fairagents.outcome import Linear, Outcome
from fairagents.record import Record
from fairagents.seeds import derive
from fairagents.spec import Bools, Floats, Ints, Objective, Stakeholder
from fairagents.task import Include, Slate

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Worth:
    """One stakeholder's worth over one pool.

    Attributes:
        stakeholder: its id.
        items: worth of each alternative on its own, shape (m,), in [0, 1].
        linear: worth of a whole slate as the solver and `of` read it.
        flagged: alternatives that a hard constraint refuses, shape (m,); their `items` are 0.
        notes: values that were unknown and how they were counted, in words.
    """

    stakeholder: str
    items: Floats
    linear: Linear
    flagged: Bools
    notes: tuple[str, ...] = ()


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
        if zero == one:
            u = np.ones(len(values))
        else:
            u = np.minimum(np.maximum((values - zero) / (one - zero), 0.0), 1.0)
        if count:
            u[unknown] = float(u[~unknown].mean()) if objective.missing == "mean" else 0.0
        u.setflags(write=False)
        return u, count

    return _once(pool, objective, not objective.indicator.reads_case(pool), compute)


def _once(pool: Pool, spec: T, fixed: bool, compute: Callable[[], R], *more: object) -> R:
    """Return what `compute` gives, once per spec and pool, or once per catalogue if `fixed`.

    What reads only the catalogue is the same in every case over the whole of it. Specs are told
    apart by identity, since hashing them costs more than computing; keeping each beside its value
    keeps its identity from being used again.
    """
    home: Pool | Catalogue = pool.catalogue if fixed and pool.rows is None else pool
    found: tuple[T, R] = home.once((id(spec), *more), lambda: (spec, compute()))
    return found[1]


def worth(stakeholder: Stakeholder, pool: Pool, size: int) -> Worth:
    """Return a stakeholder's worth over a pool, for slates of `size`; see `Worth`.

    Computed once per pool, or once per catalogue where nothing in it depends on the case.
    """
    fixed = not stakeholder.constraints and all(
        objective.reads == "variety" or not objective.indicator.reads_case(pool)
        for objective in stakeholder.objectives
    )
    return _once(pool, stakeholder, fixed, lambda: _worth(stakeholder, pool, size), size)


def _worth(stakeholder: Stakeholder, pool: Pool, size: int) -> Worth:
    """Return a stakeholder's worth over a pool, for slates of `size`.

    With normalised values u_o(i), weights w_o that sum to 1 and a slate L of k alternatives:
    U(L) = sum of w_o mean_{i in L} u_o(i) over objectives that read "mean", plus
    w_o min_{i in L} u_o(i) over those that read "worst", plus w_o clip((v - a0) / (a1 - a0), 0, 1)
    with v the number of different values in L over those that read "variety".
    A soft constraint lowers the mean part of an alternative by its cost, not below 0.
    """
    total = sum(objective.weight for objective in stakeholder.objectives)
    flagged, cost, notes = _constraints(stakeholder, pool)
    refuses, costs = bool(flagged.any()), bool(cost.any())
    mean, items = np.zeros(len(pool)), np.zeros(len(pool))
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
        if refuses:
            u = np.where(flagged, 0.0, u)
        items += weight * u
        item_weight += weight
        if objective.reads == "worst":
            least.append((weight, u))
        else:
            mean += weight * u
    if costs:
        mean = np.maximum(mean - cost, 0.0)
        items = np.maximum(items - cost, 0.0)
    linear = Linear(values=mean / size, least=tuple(least), variety=tuple(variety))
    if item_weight:
        items = np.minimum(items / item_weight, 1.0)
    return Worth(stakeholder.id, items, linear, flagged, notes)


def worth_of_many(
    stakeholder: Stakeholder, pools: Sequence[Pool], size: int
) -> tuple[Floats, Floats] | None:
    """Return `items` and `linear.values` of `worth` over many pools of equal size at once.

    Returns:
        Two arrays of shape (pools, m), equal to the last bit to what `worth` gives; None where
        the stakeholder has constraints or whole-slate objectives, or a value is unknown.
    """
    objectives = stakeholder.objectives
    if stakeholder.constraints or any(objective.reads != "mean" for objective in objectives):
        return None
    total, weights = sum(objective.weight for objective in objectives), 0.0
    mean = np.zeros((len(pools), len(pools[0])))
    for objective in objectives:
        values = np.array([pool.values(objective.indicator) for pool in pools])
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
            u = np.minimum(np.maximum((values - zero) / (one - zero), 0.0), 1.0)
        mean += objective.weight / total * np.where(zero == one, 1.0, u)
        weights += objective.weight / total
    return np.minimum(mean / weights, 1.0), mean / size


def _constraints(stakeholder: Stakeholder, pool: Pool) -> tuple[Bools, Floats, tuple[str, ...]]:
    """Return what hard constraints refuse, what soft ones cost, and what was unknown, in words."""
    flagged, cost = np.zeros(len(pool), dtype=bool), np.zeros(len(pool))
    notes: tuple[str, ...] = ()
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


class Cut(Record):
    """How an agenda is cut: everything up to `whole`, else each one's `top` and `sample` more."""

    whole: int = Field(default=60, ge=0)
    top: int = Field(default=12, ge=1)
    sample: int = Field(default=10, ge=0)


class Setting:
    """A case made ready for decision: its pool, its limits, every stakeholder's worth.

    Everything is computed when first read. Arrays are aligned with `stakeholders` and `pool.ids`.

    Args:
        case: the case.
        catalogue: what it chooses from.
        stakeholders: whose worth to compute, in the declared order.
    """

    def __init__(
        self, case: Case, catalogue: Catalogue, stakeholders: Sequence[Stakeholder]
    ) -> None:
        if not isinstance(case.task, Slate):
            raise SpecError(
                f"case {case.id!r}: worth is defined for slates so far, not {case.task.kind!r}"
            )
        self.case, self.catalogue, self.stakeholders = case, catalogue, tuple(stakeholders)
        self.size = case.task.size
        self.pool = case.pool(catalogue)

    @functools.cached_property
    def feasible(self) -> Feasible:
        """The limits of the task over the whole pool."""
        task = self.case.task
        if task.limits or self.pool.rows is not None:
            return Feasible.of(task, self.pool)
        return self.catalogue.once(("feasible", task), lambda: Feasible.of(task, self.pool))

    @functools.cached_property
    def worths(self) -> tuple[Worth, ...]:
        """Each stakeholder's worth, in the declared order."""
        return tuple(worth(s, self.pool, self.size) for s in self.stakeholders)

    @functools.cached_property
    def items(self) -> Floats:
        """Worth of each alternative on its own, shape (n, m), in [0, 1]."""
        return np.array([w.items for w in self.worths])

    @functools.cached_property
    def extremes(self) -> tuple[tuple[float, float, bool], ...]:
        """Per stakeholder: lowest and highest worth of a feasible outcome, and if exact."""
        linears = [w.linear for w in self.worths]
        free = self.feasible.allowed
        if self.feasible.plain and all(f.additive for f in linears) and free.sum() >= self.size:
            low, high = slate_ends(np.array([f.values for f in linears])[:, free], self.size)
            return tuple((a, b, True) for a, b in zip(low.tolist(), high.tolist(), strict=True))
        return tuple(self.feasible.extremes(f) for f in linears)

    def of(self, outcome: Outcome) -> Floats:
        """Return each stakeholder's worth of an outcome, shape (n,)."""
        chosen = np.array([[self.pool.index[one] for one in outcome.ids]])
        return np.array([w.linear.of(chosen)[0] for w in self.worths])

    def regret(self, worths: Floats) -> Floats:
        """Return range-normalised regret, shape (n,), in [0, 1]; NaN where a range is empty."""
        low, high = (np.array([e[i] for e in self.extremes]) for i in (0, 1))
        return regret_of(worths, low, high)

    def notes(self) -> tuple[str, ...]:
        """Return what was unknown and how it was counted, over all stakeholders."""
        return tuple(note for w in self.worths for note in w.notes)

    def agenda(self, cut: Cut, seed: int) -> Agenda:
        """Return what is voted on: everything, or each stakeholder's best plus a seeded sample.

        Alternatives that the task excludes are never on it; what the task includes always is.
        A cut that leaves no feasible slate is widened to everything.
        """
        allowed = np.flatnonzero(self.feasible.allowed)
        if not len(allowed):
            raise InfeasibleError(
                f"case {self.case.id!r}: every candidate is excluded", self.feasible.clash()
            )
        if len(allowed) <= cut.whole:
            if len(allowed) == len(self.catalogue):
                return self.catalogue.once("agenda", lambda: Agenda(ids=self.catalogue.ids))
            return Agenda(ids=tuple(self.pool.ids[i] for i in allowed))
        top = max(cut.top, self.size)
        nominated = []
        included = [
            one for lim in self.case.task.limits if isinstance(lim, Include) for one in lim.ids
        ]
        keep = {self.pool.index[one] for one in included}
        for w in self.worths:
            best = allowed[np.argsort(-w.items[allowed], kind="stable")[:top]]
            nominated.append((w.stakeholder, tuple(self.pool.ids[i] for i in best)))
            keep.update(int(i) for i in best)
        rest = [int(i) for i in allowed if int(i) not in keep]
        rng = np.random.default_rng(derive(seed, self.case.id, "agenda"))
        sampled = sorted(rng.permutation(rest)[: cut.sample].tolist())
        rows = np.array(sorted(keep | set(sampled)), dtype=np.int64)
        narrow = Feasible.of(self.case.task, self.pool, ids=[self.pool.ids[i] for i in rows])
        if not self.feasible.plain and narrow.clash():
            return Agenda(ids=tuple(self.pool.ids[i] for i in allowed))
        lost = []
        for w, (_, high, _) in zip(self.worths, self.extremes, strict=True):
            inner = narrow.extremes(_taken(w.linear, rows))[1]
            lost.append((w.stakeholder, max(0.0, round(high - inner, 9))))
        return Agenda(
            ids=tuple(self.pool.ids[i] for i in rows),
            whole=False,
            nominated=tuple(nominated),
            sampled=tuple(self.pool.ids[i] for i in sampled),
            lost=tuple(lost),
        )


def _taken(linear: Linear, rows: Ints) -> Linear:
    """Return a worth function over some of its alternatives only."""
    return replace(
        linear,
        values=linear.values[rows],
        least=tuple((weight, u[rows]) for weight, u in linear.least),
        variety=tuple((w, groups[:, rows], zero, one) for w, groups, zero, one in linear.variety),
    )


FLAT = 1e-9
"""A worth range up to this is flat: nothing the council decides matters to that stakeholder."""


def slate_ends(values: Floats, size: int) -> tuple[Floats, Floats]:
    """Return the least and the greatest sum of `size` of the last axis's values, shape (...)."""
    ordered = np.sort(values, axis=-1)
    return ordered[..., :size].sum(axis=-1), ordered[..., -size:].sum(axis=-1)


def regret_of(worths: Floats, low: Floats, high: Floats) -> Floats:
    """Return (high - worths) / (high - low), in [0, 1]; NaN where the range is flat.

    Rounding is clipped, for sums of the same numbers in another order may differ in the last bit.
    """
    span = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((high - worths) / span, 0.0, 1.0)
    regret: Floats = np.where(span > FLAT, share, np.nan)
    return regret


@dataclass(frozen=True)
class Conflict:
    """Whether a case holds a conflict at all, on range-normalised regret.

    Attributes:
        case: the case's id.
        ceilings: (stakeholder, lowest, highest) worth over feasible outcomes.
        floor: the best found value of min_s (1 - regret_s), in [0, 1].
        bound: a proved upper bound of that floor.
        slate: the outcome that has it.
        status: "conflict" (proved: bound < 1 - tolerance), "none" (shown: floor >= 1 - tolerance),
            or "open" (neither was shown within the limits).
        pairs: (a, b, conflict, least): 1 - the best found floor of the two alone, and the least
            that the bound proves.
        flat: stakeholders to whom no decision matters; in conflict with nobody.
        solver: how the floors were found, and the gap that remains.
    """

    case: str
    ceilings: tuple[tuple[str, float, float], ...]
    floor: float
    bound: float
    slate: tuple[str, ...]
    status: str
    pairs: tuple[tuple[str, str, float, float], ...]
    flat: tuple[str, ...]
    tolerance: float
    solver: str

    @property
    def gap(self) -> float:
        """What is unproved of the best floor: bound - floor."""
        return self.bound - self.floor

    def pair(self, a: str, b: str) -> float:
        """Return the conflict of two stakeholders, 0 when one of them is flat."""
        for one, other, value, _ in self.pairs:
            if {one, other} == {a, b}:
                return value
        if a in self.flat or b in self.flat:
            return 0.0
        raise KeyError(f"no pair {a!r}, {b!r}")


def conflict(
    setting: Setting,
    *,
    mode: Literal["local", "milp"] = "local",
    gap: float = 1e-3,
    time_limit: float = 5.0,
    tolerance: float = 0.05,
    seed: int = 0,
) -> Conflict:
    """Tell whether a case holds a conflict, globally and for each pair of stakeholders.

    The best floor is max over feasible outcomes of min_s (1 - r_s) with range-normalised regret
    r_s = (ceiling_s - U_s) / (ceiling_s - lowest_s). An LP relaxation bounds it from above, which
    proves a conflict; swap local search (`mode="local"`) or a MILP (`mode="milp"`, with `gap` and
    `time_limit` in seconds) finds it from below. Zero-sum worths are never closed in reasonable
    time, so `bound`, `status` and `solver` are part of the result.

    Non-degeneracy in the sense of arXiv 2604.13705, with range-normalised regret as our choice.
    """
    scaled: dict[str, Linear] = {}
    flat: list[str] = []
    ceilings = []
    for w, (low, high, _) in zip(setting.worths, setting.extremes, strict=True):
        ceilings.append((w.stakeholder, low, high))
        if high - low <= FLAT:
            flat.append(w.stakeholder)
        else:
            scaled[w.stakeholder] = rescale(w.linear, low, high)
    feasible = setting.feasible

    def best(names: Sequence[str]) -> tuple[float, float, tuple[str, ...], str]:
        if not names:
            rng = np.random.default_rng(seed)
            return 1.0, 1.0, feasible.random(rng).ids, "nobody has a stake"
        found = feasible.floor(
            [scaled[n] for n in names], mode=mode, gap=gap, time_limit=time_limit, seed=seed
        )
        return min(1.0, found.value), min(1.0, found.bound), found.outcome.ids, found.status

    names = list(scaled)
    floor, bound, slate, solver = best(names)
    pairs = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            value, proved, _, _ = best([a, b])
            pairs.append((a, b, 1 - value, 1 - proved))
    status = "conflict" if bound < 1 - tolerance else "none" if floor >= 1 - tolerance else "open"
    return Conflict(
        setting.case.id,
        tuple(ceilings),
        floor,
        bound,
        slate,
        status,
        tuple(pairs),
        tuple(flat),
        tolerance,
        solver,
    )


def rescale(linear: Linear, low: float, high: float) -> Linear:
    """Return a worth rescaled so that `low` counts 0 and `high` counts 1."""
    span = high - low
    return replace(
        linear,
        values=linear.values / span,
        constant=(linear.constant - low) / span,
        least=tuple((weight / span, u) for weight, u in linear.least),
        variety=tuple((w / span, groups, zero, one) for w, groups, zero, one in linear.variety),
    )
