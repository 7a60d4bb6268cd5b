"""How much conflict there is in the standard cases, and whether that hangs on a single choice.

`python -m usecases.tourism.study` prints the tables; `--quick` moves the levels on fewer cases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairagents.case import Case
from fairagents.conflicts import Conflict, conflict
from fairagents.outcome import Linear
from fairagents.seeds import derive
from fairagents.setting import FLAT, Setting
from fairagents.spec import Bools, Floats
from fairagents.usecase import UseCase

TENSION, HARMONY = 0.10, 0.05
"""A tension is at least this in the median, a harmony at most that."""

ALIKE = 0.9
"""Two stakeholders whose worths have a rank correlation above this are one."""

FLOOR = (0.6, 0.95)
"""Where the best floor lies in the median: some conflict, and room for agreement."""

SURE = 0.01
"""A pair differs from unrelated columns when the sign test's p is below this."""


@dataclass(frozen=True)
class Pair:
    """Two stakeholders over many cases.

    Attributes:
        a: the one.
        b: the other.
        declared: "tension", "harmony" or "".
        conflict: median of 1 - the best floor of the two alone, in [0, 1].
        low: its lower quartile.
        high: its upper quartile.
        missed: in how many cases a tension is below `TENSION`, or a harmony above `HARMONY`.
        proved: median of the conflict that the LP bound proves, in [0, 1].
        cases_proved: in how many cases the bound proves a conflict of at least `TENSION`.
        spearman: median rank correlation of the two worths over the catalogue, in [-1, 1].
        extreme: the greatest absolute rank correlation.
    """

    a: str
    b: str
    declared: str
    conflict: float
    low: float
    high: float
    missed: int
    proved: float
    cases_proved: int
    spearman: float
    extreme: float


@dataclass(frozen=True)
class Picture:
    """All pairs and the best floor over many cases; floor and bound are medians, in [0, 1]."""

    cases: int
    pairs: tuple[Pair, ...]
    floor: float
    least_floor: float
    greatest_floor: float
    bound: float

    def pair(self, a: str, b: str) -> Pair:
        """Return the pair of two stakeholders in either order; KeyError if there is none."""
        for one in self.pairs:
            if {one.a, one.b} == {a, b}:
                return one
        raise KeyError(f"no pair {a!r}, {b!r}")

    def failures(self) -> tuple[str, ...]:
        """Return what does not hold of tensions, harmonies, likeness and floor, in words."""
        found = []
        for one in self.pairs:
            name = f"{one.a}-{one.b}"
            if one.declared == "tension" and one.conflict < TENSION:
                found.append(f"tension {name}: {one.conflict:.3f} < {TENSION:.2f}")
            if one.declared == "harmony" and one.conflict > HARMONY:
                found.append(f"harmony {name}: {one.conflict:.3f} > {HARMONY:.2f}")
            if one.extreme > ALIKE:
                found.append(f"alike {name}: |Spearman| {one.extreme:.3f} > {ALIKE:.2f}")
        if not FLOOR[0] <= self.floor <= FLOOR[1]:
            found.append(f"floor: {self.floor:.3f} not in [{FLOOR[0]:.2f}, {FLOOR[1]:.2f}]")
        return tuple(found)


def picture(usecase: UseCase, cases: Sequence[Case]) -> Picture:
    """Measure all pairs, the best floor and all rank correlations over some cases."""
    settings = [usecase.setting(case) for case in cases]
    found = [conflict(setting) for setting in settings]
    alike = np.array([spearman(setting.items) for setting in settings])
    floors = np.array([one.floor for one in found])
    names = [s.id for s in usecase.stakeholders]
    pairs = tuple(
        _pair(usecase, found, names[i], names[j], alike[:, i, j])
        for i in range(len(names))
        for j in range(i + 1, len(names))
    )
    return Picture(
        cases=len(cases),
        pairs=pairs,
        floor=float(np.median(floors)),
        least_floor=float(floors.min()),
        greatest_floor=float(floors.max()),
        bound=float(np.median([one.bound for one in found])),
    )


def _pair(usecase: UseCase, found: Sequence[Conflict], a: str, b: str, rho: Floats) -> Pair:
    values = np.array([one.pair(a, b) for one in found])
    least = np.array([_proved(one, a, b) for one in found])
    kinds = [r.kind for r in usecase.relations if set(r.between) == {a, b}]
    declared = kinds[0] if kinds else ""
    missed = {"tension": values < TENSION, "harmony": values > HARMONY}
    return Pair(
        a=a,
        b=b,
        declared=declared,
        conflict=float(np.median(values)),
        low=float(np.quantile(values, 0.25)),
        high=float(np.quantile(values, 0.75)),
        missed=int(missed[declared].sum()) if declared else 0,
        proved=float(np.median(least)),
        cases_proved=int((least >= TENSION).sum()),
        spearman=float(np.median(rho)),
        extreme=float(np.abs(rho).max()),
    )


def _proved(found: Conflict, a: str, b: str) -> float:
    """Return the conflict of two stakeholders that the bound proves; 0 when one is flat."""
    return next((p for x, y, _, p in found.pairs if {x, y} == {a, b}), 0.0)


@dataclass(frozen=True)
class Unrelated:
    """Two stakeholders against themselves with the second one's worth shuffled over the places.

    Attributes:
        a: the one, as it is.
        b: the other, shuffled.
        conflict: median conflict with the shuffled one, in [0, 1].
        difference: median over the cases of measured - shuffled.
        above: in how many cases that is above 0.
        below: in how many cases it is below 0.
        p: two-sided sign test of above against below, as if the cases were independent.
    """

    a: str
    b: str
    conflict: float
    difference: float
    above: int
    below: int
    p: float

    @property
    def word(self) -> str:
        """Whether the pair lies above or below unrelated columns, or is like them."""
        if self.p >= SURE:
            return "like"
        return "above" if self.above > self.below else "below"


def unrelated(usecase: UseCase, cases: Sequence[Case], seed: int = 0) -> tuple[Unrelated, ...]:
    """Measure all pairs as they are and with the second one shuffled, in the pairs' order."""
    from scipy.stats import binomtest

    settings = [usecase.setting(case) for case in cases]
    names = [s.id for s in usecase.stakeholders]
    found = []
    for i in range(len(names)):
        for j in range(i + 1, len(names)):
            both = np.array([_beside(setting, i, j, seed) for setting in settings])
            gained = both[:, 0] - both[:, 1]
            above, below = int((gained > 0).sum()), int((gained < 0).sum())
            found.append(
                Unrelated(
                    a=names[i],
                    b=names[j],
                    conflict=float(np.median(both[:, 1])),
                    difference=float(np.median(gained)),
                    above=above,
                    below=below,
                    p=float(binomtest(above, above + below).pvalue) if above + below else 1.0,
                )
            )
    return tuple(found)


def _beside(setting: Setting, i: int, j: int, seed: int) -> tuple[float, float]:
    """Return the conflict of two stakeholders as they are and with the second one shuffled."""
    spans = [setting.extremes[at][1] - setting.extremes[at][0] for at in (i, j)]
    if min(spans) <= FLAT:
        return 0.0, 0.0
    one, other = (setting.worths[at].linear.rescaled(*setting.extremes[at][:2]) for at in (i, j))
    names = setting.worths[i].stakeholder, setting.worths[j].stakeholder
    mixed = shuffled(other, setting.feasible.allowed, derive(seed, setting.case.id, *names))
    as_is, apart = (
        1 - min(1.0, setting.feasible.floor([one, two], mode="local", seed=0).value)
        for two in (other, mixed)
    )
    return as_is, apart


def shuffled(linear: Linear, allowed: Bools, seed: int) -> Linear:
    """Return a worth whose places have changed hands, among those that are allowed only.

    All that belongs to a place moves with it, so that a task without limits but size and
    exclusions keeps its least and its greatest worth.
    """
    rows = np.arange(len(allowed))
    free = np.flatnonzero(allowed)
    rows[free] = np.random.default_rng(seed).permutation(free)
    return linear.take(rows)


def spearman(items: Floats) -> Floats:
    """Return the rank correlations of worths (n, m) over m alternatives, shape (n, n).

    NaN where a stakeholder's worth is the same everywhere.
    """
    from scipy.stats import rankdata

    ranks = rankdata(items, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.corrcoef(ranks), dtype=np.float64)


def best_floor(setting: Setting) -> float:
    """Return the best floor found for all stakeholders of a setting, in [0, 1], without pairs."""
    scaled = [
        w.linear.rescaled(low, high)
        for w, (low, high, _) in zip(setting.worths, setting.extremes, strict=True)
        if high - low > FLAT
    ]
    if not scaled:
        return 1.0
    return min(1.0, setting.feasible.floor(scaled, mode="local", seed=0).value)


def left_out(usecase: UseCase, cases: Sequence[Case]) -> dict[str, float]:
    """Return the median best floor with each stakeholder left out, by its id.

    The figures of a pair don't read the others, so that they stay as they are.
    """
    floors = {}
    for stakeholder in usecase.stakeholders:
        rest = usecase.without(stakeholder.id)
        values = [best_floor(rest.setting(case)) for case in cases]
        floors[stakeholder.id] = float(np.median(values))
    return floors


def moved(usecase: UseCase, column: str, step: int) -> UseCase:
    """Return the use case with all levels of a judged column moved, kept within its scale."""
    low, high = usecase.judged[column]
    levels = np.clip(usecase.catalogue.numeric(column) + step, low, high)
    return usecase.with_catalogue(usecase.catalogue.replace(column, levels))


def levels_moved(usecase: UseCase, cases: Sequence[Case]) -> dict[tuple[str, int], Picture]:
    """Return the picture with every judged column one level down and one level up.

    The cases stay as they are, except that the origin's rail level moves with the column.
    """
    found = {}
    for column in usecase.judged:
        for step in (-1, 1):
            other = moved(usecase, column, step)
            found[column, step] = picture(other, [anew(one, other) for one in cases])
    return found


def anew(case: Case, usecase: UseCase) -> Case:
    """Return a case with its origin's rail level as in the use case's catalogue."""
    origin = str(case.request["origin"])
    if origin not in usecase.catalogue.index:
        return case
    rail = usecase.catalogue.cell(origin, "rail")
    return case.model_copy(update={"request": {**case.request, "origin_rail": rail}})


def some(cases: Sequence[Case], step: int = 7) -> list[Case]:
    """Return every `step`-th case; 7 meets all origins, months, budgets and interests."""
    return list(cases)[::step]


def report(usecase: UseCase, *, quick: bool = False) -> Iterator[str]:
    """Yield the lines of the tables: the pairs, the floor, left out, levels moved."""
    cases = usecase.cases()
    base = picture(usecase, cases)
    yield from _table(base, unrelated(usecase, cases))
    yield (
        f"best floor: median {base.floor:.3f} ({base.least_floor:.3f} to "
        f"{base.greatest_floor:.3f}), proved at most {base.bound:.3f}"
    )
    for name, floor in left_out(usecase, cases).items():
        yield f"  without {name}: {floor:.3f}"
    fewer = some(cases) if quick else cases
    yield f"levels moved, {len(fewer)} cases: declared pairs and floor"
    problems = list(base.failures())
    for (column, step), other in levels_moved(usecase, fewer).items():
        figures = "  ".join(
            f"{p.a[:4]}-{p.b[:4]} {p.conflict:.3f}" for p in other.pairs if p.declared
        )
        widest = max(p.extreme for p in other.pairs)
        yield f"  {column + f' {step:+d}':12}{figures}  floor {other.floor:.3f} rho {widest:.2f}"
        problems += [f"{column} {step:+d}: {line}" for line in other.failures()]
    yield "holds everywhere" if not problems else "does not hold: " + "; ".join(problems)


def _table(base: Picture, apart: Sequence[Unrelated]) -> Iterator[str]:
    """Yield a line per pair, measured and beside unrelated columns."""
    yield (
        f"{base.cases} cases, median of each pair; shuffled: the second one's worth permuted over "
        "the places; diff: measured - shuffled, paired; p: sign test"
    )
    yield (
        f"{'pair':26}{'declared':10}{'conflict':>9}{'quartiles':>16}{'missed':>7}"
        f"{'proved':>8}{'cases':>6}{'rho':>7}{'max':>6}"
        f"{'shuffled':>10}{'diff':>8}{'above':>6}{'p':>8}"
    )
    for one, other in zip(base.pairs, apart, strict=True):
        yield (
            f"{one.a + ' - ' + one.b:26}{one.declared or '-':10}{one.conflict:9.3f}"
            f"{f'{one.low:.3f} to {one.high:.3f}':>16}{one.missed if one.declared else '-':>7}"
            f"{one.proved:8.3f}{one.cases_proved:6d}{one.spearman:+7.2f}{one.extreme:6.2f}"
            f"{other.conflict:10.3f}{other.difference:+8.3f}{other.above:6d}{_small(other.p):>8}"
            f" {other.word}"
        )


def _small(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.2f}"


def main() -> None:
    """Print the tables."""
    from usecases.tourism import tourism

    for line in report(tourism, quick="--quick" in sys.argv[1:]):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
