"""A case made ready for decision: its pool, its limits, its agenda, everybody's worth."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from pydantic import Field

from fairagents.ballot import Agenda
from fairagents.case import Case
from fairagents.catalogue import Catalogue
from fairagents.errors import InfeasibleError, SpecError
from fairagents.feasible import Feasible
from fairagents.outcome import Outcome
from fairagents.record import Record
from fairagents.seeds import derive, id_words, tie_keys
from fairagents.spec import Bools, Floats, Stakeholder
from fairagents.task import Include, Slate
from fairagents.worth import Worth, worth


class Cut(Record):
    """How an agenda is cut: everything up to `whole`, else each one's `top` and `sample` more.

    Each stakeholder nominates at least as many as the slate has places.
    """

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
    def means(self) -> Floats | None:
        """What each alternative adds to a slate's worth, shape (n, m); None where more counts."""
        if not all(w.additive for w in self.worths):
            return None
        return np.array([w.mean for w in self.worths])

    @functools.cached_property
    def ends(self) -> tuple[Floats, Floats, Bools]:
        """Lowest and highest worth of a feasible outcome, and whether exact; each shape (n,)."""
        if self.feasible.plain and self.means is not None:
            free = self.means[:, self.feasible.allowed]
            if free.shape[1] >= self.size:
                return *slate_ends(free, self.size), np.ones(len(free), dtype=bool)
        found = [self.feasible.extremes(w.linear) for w in self.worths]
        low, high, exact = zip(*found, strict=True)
        return np.array(low), np.array(high), np.array(exact)

    @property
    def extremes(self) -> tuple[tuple[float, float, bool], ...]:
        """Per stakeholder: lowest and highest worth of a feasible outcome, and if exact."""
        return tuple(zip(*(end.tolist() for end in self.ends), strict=True))

    def of(self, outcome: Outcome) -> Floats:
        """Return each stakeholder's worth of an outcome, shape (n,)."""
        chosen = [self.pool.index[one] for one in outcome.ids]
        if self.means is not None:
            total: Floats = self.means[:, chosen].sum(axis=1)
            return total
        return np.array([w.linear.of([chosen])[0] for w in self.worths])

    def regret(self, worths: Floats) -> Floats:
        """Return range-normalised regret, shape (n,), in [0, 1]; NaN where a range is empty."""
        return regret_of(worths, *self.ends[:2])

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
            if self.pool.rows is None and len(allowed) == len(self.catalogue):
                return self.catalogue.once("agenda", lambda: Agenda(ids=self.catalogue.ids))
            return Agenda(ids=tuple(self.pool.ids[i] for i in allowed))
        top = max(cut.top, self.size)
        nominated = []
        included = [
            one for lim in self.case.task.limits if isinstance(lim, Include) for one in lim.ids
        ]
        keep = {self.pool.index[one] for one in included}
        # Among equals the seed chooses: the order of rows is often the alphabet.
        words = id_words(self.pool.ids[i] for i in allowed)
        keys = tie_keys(derive(seed, self.case.id, "nominations"), words)
        for w in self.worths:
            best = allowed[np.lexsort((keys, -w.items[allowed]))[:top]]
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
            inner = narrow.extremes(w.linear.take(rows))[1]
            lost.append((w.stakeholder, max(0.0, round(high - inner, 9))))
        return Agenda(
            ids=tuple(self.pool.ids[i] for i in rows),
            whole=False,
            nominated=tuple(nominated),
            sampled=tuple(self.pool.ids[i] for i in sampled),
            lost=tuple(lost),
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
    at_stake = np.where(span > FLAT, span, np.nan)
    regret: Floats = np.minimum(np.maximum((high - worths) / at_stake, 0.0), 1.0)
    return regret
