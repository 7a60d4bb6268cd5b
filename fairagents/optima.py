"""Welfare optima over a task's limits: leximin and concave sums, exact or with a stated gap.

All take worth functions over the outcomes of a `Feasible`, each additive. Rules use them on said
ratings, the conflict check and the baselines on worth.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairagents._programme import proven
from fairagents.errors import SpecError
from fairagents.feasible import Feasible
from fairagents.outcome import Linear
from fairagents.spec import Floats

GAIN = 1e-6
"""A worth above this counts as positive where zeros are treated apart."""

MOST_LEVELS = 64
"""Leximin over voices takes at most this many stages."""


@dataclass(frozen=True)
class Optimum:
    """What was found.

    Attributes:
        x: amounts, shape (recipients * alternatives,).
        worths: each voter's worth of it, shape (n,).
        value: the objective, recomputed from `worths`.
        bound: a proven bound from above.
        optimal: whether the bound is met within the gap asked for.
        rounds: how often a programme was solved.
    """

    x: Floats
    worths: Floats
    value: float
    bound: float
    optimal: bool
    rounds: int

    @property
    def gap(self) -> float:
        """What is unproved: bound - value, not below 0."""
        return max(0.0, self.bound - self.value)


def leximin(
    feasible: Feasible,
    worths: Sequence[Linear],
    clones: Sequence[int],
    *,
    tolerance: float = 1e-6,
    time_limit: float = 10.0,
) -> Optimum:
    """Return the outcome whose worths, sorted upwards, are lexicographically greatest.

    Voter v counts as `clones[v]` equal voters. For k = 1, 2, ... the sum of the k least worths,
    max_r k r - sum_v clones_v max(0, r - U_v), is made as great as the stages before allow
    (Ogryczak & Sliwinski 2006); only k that are sums of some voters' clones can matter.

    Args:
        feasible: the outcomes.
        worths: one additive worth function per voter.
        clones: positive whole numbers, one per voter.
        tolerance: how much a later stage may take back from an earlier one.
        time_limit: seconds for all stages; what is left undone makes `optimal` False.

    Raises:
        InfeasibleError: no outcome meets the limits.
        SpecError: there are more than `MOST_LEVELS` stages.
    """
    stages = sorted({sum(part) for part in _parts(clones)})
    if len(stages) > MOST_LEVELS:
        raise SpecError(
            f"leximin over these voices takes {len(stages)} stages, at most {MOST_LEVELS}: "
            "use rounder voices"
        )
    _require_additive(worths)
    end = time.perf_counter() + time_limit
    programme = feasible.programme()
    x: Floats | None = None
    optimal, value, bound = True, 0.0, 0.0
    for stage, k in enumerate(stages):
        level = programme.add(1, low=-np.inf, high=np.inf)
        short = programme.add(len(worths), low=0.0, high=np.inf)
        for worth, one in zip(worths, short, strict=True):
            row = np.concatenate([programme.cells, [one], level])[None]
            programme.rows(row, [*worth.values, 1.0, -1.0], low=-worth.constant)
        places, by = np.append(level, short), np.append(float(k), -np.array(clones, dtype=float))
        left = end - time.perf_counter()
        found = programme.solve(places, -by, time_limit=max(left, 0.05), gap=_gap(feasible))
        if found.x is None:
            if x is None:
                raise feasible.infeasible()
            optimal = False
            break
        x = feasible.amounts(found)
        reached, claim = float(found.x[places] @ by), -proven(found)
        if stage == 0:
            value, bound = reached / k, max(claim, reached) / k
        optimal = optimal and claim - reached <= tolerance * max(1.0, abs(reached))
        programme.rows(places[None], by, low=reached - tolerance)
    assert x is not None
    return Optimum(x, _worths(worths, x), value, bound, optimal, len(stages))


@dataclass(frozen=True)
class Curve:
    """A concave increasing function of worth in [0, 1], with its slope.

    Attributes:
        of: its values.
        slope: its derivative, for worths > 0.
        zeros: whether a worth of 0 is minus infinity, so that zeros are treated apart.
        least: no tangent is taken at a lower worth: it would be too steep for the solver.
    """

    of: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    zeros: bool
    least: float


def alpha_fair(alpha: float) -> Curve:
    """Return u^(1 - alpha) / (1 - alpha), and log u for alpha = 1 (Mo & Walrand 2000).

    >>> round(float(alpha_fair(0.5).of(np.array([0.25]))[0]), 6)
    1.0
    """
    if alpha == 1:
        return Curve(np.log, lambda u: 1 / u, True, GAIN)
    least = max(GAIN, 10 ** (-6 / alpha)) if alpha else GAIN
    return Curve(lambda u: u ** (1 - alpha) / (1 - alpha), lambda u: u**-alpha, alpha > 1, least)


def concave(
    feasible: Feasible,
    worths: Sequence[Linear],
    weights: Floats,
    curve: Curve,
    *,
    gap: float = 1e-6,
    time_limit: float = 10.0,
) -> Optimum:
    """Return the outcome with the greatest weighted sum of a concave curve of worths.

    Outer approximation (Kelley 1960): each voter's curve is bounded from above by tangents, which
    are added where the last solution was, until solution and bound meet within `gap`. Where 0 is
    minus infinity, first as much weight as possible gets a positive worth (above 1e-6), and the
    sum is over those voters.

    Args:
        feasible: the outcomes.
        worths: one additive worth function per voter, in [0, 1].
        weights: positive, shape (n,).
        curve: what is summed.
        gap: when to be content: (bound - value) / max(1, |value|).
        time_limit: seconds; when they are over, `optimal` is False and `bound` says how good an
            outcome might be.

    Raises:
        InfeasibleError: no outcome meets the limits.
    """
    _require_additive(worths)
    end = time.perf_counter() + time_limit
    build = _Outer(feasible, worths, weights, curve)
    reach = build.reach(time_limit) if curve.zeros else float(weights.sum())
    best, best_value, bound, rounds = None, -math.inf, math.inf, 0
    while True:
        rounds += 1
        found = build.solve(max(end - time.perf_counter(), 0.05))
        if found.x is None:
            if best is None:
                raise feasible.infeasible()
            break
        bound = min(bound, -proven(found))
        x = feasible.amounts(found)
        u = _worths(worths, x)
        value = build.value(u, reach)
        if value > best_value:
            best, best_value = x, value
        close = bound - best_value <= gap * max(1.0, abs(best_value))
        if close or time.perf_counter() > end or not build.cut(u):
            break
    assert best is not None
    close = bound - best_value <= gap * max(1.0, abs(best_value))
    return Optimum(best, _worths(worths, best), best_value, bound, close, rounds)


class _Outer:
    """The programme of `concave`: tangents above each voter's curve, added as they are needed."""

    def __init__(
        self, feasible: Feasible, worths: Sequence[Linear], weights: Floats, curve: Curve
    ) -> None:
        self._weights, self._curve = weights, curve
        self._gap = _gap(feasible)
        self._programme = programme = feasible.programme()
        n = len(worths)
        self._u = programme.add(n, low=-np.inf, high=np.inf)
        self._t = programme.add(n, low=-np.inf, high=np.inf)
        self._z = programme.add(n, whole=True) if curve.zeros else None
        for worth, u in zip(worths, self._u, strict=True):
            row = np.append(programme.cells, u)[None]
            programme.rows(row, [*-worth.values, 1.0], low=worth.constant, high=worth.constant)
        if self._z is not None:
            programme.rows(np.column_stack([self._u, self._z]), [1.0, -2 * GAIN], low=0.0)
            # Without a gain a voter adds nothing, with one at most what a worth of 1 gives.
            top = float(curve.of(np.array([1.0]))[0])
            programme.rows(np.column_stack([self._t, self._z]), [1.0, -top], high=0.0)
        self._cuts: set[tuple[int, float]] = set()
        for start in np.geomspace(max(1e-3, curve.least), 1.0, 12):
            self.cut(np.full(n, start))

    def reach(self, time_limit: float) -> float:
        """Find how much weight can get a positive worth at once, and make that binding."""
        assert self._z is not None
        found = self._programme.solve(self._z, -self._weights, time_limit=time_limit, gap=self._gap)
        reach = 0.0 if found.x is None else float(found.x[self._z].round() @ self._weights)
        self._programme.rows(self._z[None], self._weights, low=reach - 1e-9)
        return reach

    def cut(self, u: Floats) -> bool:
        """Add the tangent at each voter's worth; False if all are there already."""
        new = False
        for v, at in enumerate(np.maximum(u, self._curve.least).tolist()):
            key = (v, round(at, 10))
            if key in self._cuts:
                continue
            new = True
            self._cuts.add(key)
            point = np.array([at])
            height, slope = float(self._curve.of(point)[0]), float(self._curve.slope(point)[0])
            # t <= height + slope (u - at); a voter without gain (z = 0) is let off.
            row, by = [self._t[v], self._u[v]], [1.0, -slope]
            high = height - slope * at
            if self._z is not None:
                row, by = [*row, self._z[v]], [*by, -min(0.0, high)]
                high -= min(0.0, high)
            self._programme.rows(np.array([row]), by, high=high)
        return new

    def solve(self, time_limit: float) -> Any:
        """Maximise the bounded sum."""
        return self._programme.solve(self._t, -self._weights, time_limit=time_limit, gap=self._gap)

    def value(self, u: Floats, reach: float) -> float:
        """Return the objective of worths; minus infinity where less weight gains than can."""
        if self._z is None:
            return float(self._weights @ self._curve.of(np.maximum(u, 0.0)))
        gains = u > GAIN
        if float(self._weights[gains].sum()) < reach - 1e-9:
            return -math.inf
        return float(self._weights[gains] @ self._curve.of(u[gains]))


def _gap(feasible: Feasible) -> float:
    return 1e-7 if feasible.integral else 0.0


def _parts(clones: Sequence[int]) -> list[tuple[int, ...]]:
    sizes = range(1, len(clones) + 1)
    if len(set(clones)) == 1:
        return [tuple(clones[:size]) for size in sizes]
    if len(clones) > 12:
        raise SpecError(f"leximin over different voices takes at most 12 voters, not {len(clones)}")
    return [part for size in sizes for part in itertools.combinations(clones, size)]


def _require_additive(worths: Sequence[Linear]) -> None:
    if not all(worth.additive for worth in worths):
        raise SpecError("leximin and concave sums take additive worth functions only")


def _worths(worths: Sequence[Linear], x: Floats) -> Floats:
    return np.array([worth.constant + worth.values @ x for worth in worths])
