"""Is there a conflict at all: ceilings, the best floor, and each pair of stakeholders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairagents.outcome import Linear
from fairagents.setting import FLAT, Setting


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
        solver: how the floor of all was found: "optimal", "time limit" or "local".
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
    time, so `bound`, `status` and `solver` are part of the result. Where a ceiling is itself only
    a bound, the bound is 1 and the status never "conflict".

    Non-degeneracy in the sense of arXiv 2604.13705, with range-normalised regret as our choice.
    """
    scaled: dict[str, Linear] = {}
    flat: list[str] = []
    ceilings = []
    exact = True
    for w, (low, high, known) in zip(setting.worths, setting.extremes, strict=True):
        ceilings.append((w.stakeholder, low, high))
        exact = exact and known
        if high - low <= FLAT:
            flat.append(w.stakeholder)
        else:
            scaled[w.stakeholder] = w.linear.rescaled(low, high)
    feasible = setting.feasible

    def best(names: Sequence[str]) -> tuple[float, float, tuple[str, ...], str]:
        if not names:
            rng = np.random.default_rng(seed)
            return 1.0, 1.0, feasible.random(rng).ids, "nobody has a stake"
        found = feasible.floor(
            [scaled[n] for n in names], mode=mode, gap=gap, time_limit=time_limit, seed=seed
        )
        # Against a ceiling that is only a bound itself, nothing is proved from above.
        bound = min(1.0, found.bound) if exact else 1.0
        return min(1.0, found.value), bound, found.outcome.ids, found.status

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
