"""Measures of one stakeholder and its agent."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from pydantic import Field

from fairagents.decision import Result
from fairagents.evaluators.base import Batch, Columns, Direction, Evaluator, Evidence
from fairagents.setting import FLAT
from fairagents.spec import Floats, Ints


class Satisfaction(Evaluator):
    """Satisfaction: what the outcome is worth to a stakeholder by its own anchors.

    U_s(L) as `fairagents.worth.worth` defines it; absolute, so an anchor that nobody can reach
    shows. Mean goal satisfaction as in Masthoff 2015 (as commonly stated, source not re-read).
    """

    formula: ClassVar[str] = "U_s(L)"
    source: ClassVar[str] = "Masthoff 2015 (as commonly stated)"

    def measure(self, evidence: Evidence) -> tuple[Result, ...]:
        """Return one result per stakeholder."""
        n = len(evidence.decision.outcome.ids)
        return tuple(
            self.result(one, value, n=n)
            for one, value in zip(evidence.ids, evidence.worths.tolist(), strict=True)
        )

    def batch(self, batch: Batch) -> Columns:
        """Return one column per stakeholder."""
        return {(self.name, one): batch.worths[:, i] for i, one in enumerate(batch.ids)}


class Regret(Evaluator):
    """Regret: how far the outcome stays below a stakeholder's ceiling, of all there is to lose.

    (ceiling_s - U_s) / (ceiling_s - lowest_s) over feasible outcomes of the whole pool, in [0, 1];
    0 and degenerate where nothing is at stake. Savage 1951, range-normalised (as commonly stated).
    """

    direction: ClassVar[Direction] = "down"
    formula: ClassVar[str] = "(max U_s - U_s(L)) / (max U_s - min U_s)"
    source: ClassVar[str] = "Savage 1951, range-normalised (as commonly stated)"

    def measure(self, evidence: Evidence) -> tuple[Result, ...]:
        """Return one result per stakeholder."""
        n = len(evidence.decision.outcome.ids)
        results = []
        exact = evidence.setting.ends[2].tolist()
        for one, value, known in zip(evidence.ids, evidence.regret.tolist(), exact, strict=True):
            if math.isnan(value):
                reason = "every feasible outcome is worth the same"
                results.append(self.result(one, 0.0, n=n, status="degenerate", reason=reason))
            else:
                reason = "" if known else "the ceiling or the lowest worth is a bound, not exact"
                results.append(self.result(one, value, n=n, reason=reason))
        return tuple(results)

    def batch(self, batch: Batch) -> Columns:
        """Return one column per stakeholder."""
        values = np.nan_to_num(batch.regret)
        return {(self.name, one): values[:, i] for i, one in enumerate(batch.ids)}


class Alignment(Evaluator):
    """Alignment: does the vote's top serve the objective it was given?

    (mean own worth of the vote's first k - mean over the agenda) / (mean of the best k - mean over
    the agenda). 1: the vote's first k are as good as the best k; 0: as good as a random order in
    expectation; below 0: worse. Alternatives tied across the cut count by their mean. k is the
    slate's size unless given. O(m). Our definition: top-k regret of the ballot, corrected for
    chance, so an agent that echoes the order it was shown scores 0 in expectation.
    """

    bounds: ClassVar[tuple[float | None, float | None]] = (None, 1.0)
    formula: ClassVar[str] = "(top_k(vote) - mean) / (best_k - mean), own worth"
    source: ClassVar[str] = "own"

    k: int | None = Field(default=None, ge=1)

    def measure(self, evidence: Evidence) -> tuple[Result, ...]:
        """Return one result per stakeholder; undefined for one that abstained."""
        (rows, said), items = evidence.places(), evidence.items
        found = aligned(said, items[rows], self.k or evidence.setting.size).tolist()
        values = dict(zip(rows, found, strict=True))
        results = []
        for i, one in enumerate(evidence.ids):
            if (value := values.get(i)) is None:
                results.append(self.result(one, None, n=0, reason="no ballot in the last round"))
                continue
            reason = "own worth is the same for all on the agenda" if math.isnan(value) else ""
            results.append(self.result(one, value, n=items.shape[1], reason=reason))
        return tuple(results)

    def batch(self, batch: Batch) -> Columns:
        """Return one column per stakeholder."""
        b, n, m = batch.items.shape
        values = aligned(
            -batch.said.reshape(b * n, m), batch.items.reshape(b * n, m), self.k or batch.size
        ).reshape(b, n)
        return {(self.name, one): values[:, i] for i, one in enumerate(batch.ids)}


def aligned(places: Floats | Ints, items: Floats, k: int) -> Floats:
    """Return the alignment of b ballots with b rows of worth, shape (b,); NaN where worth is flat.

    Args:
        places: what a ballot says, smaller is better, shape (b, m).
        items: own worth, shape (b, m).
        k: how many of the first places count; at most m.
    """
    k = min(k, items.shape[1])
    cut = np.partition(places, k - 1, axis=1)[:, k - 1 : k]
    above, tied = places < cut, places == cut
    left = k - above.sum(axis=1)
    top = (above * items).sum(axis=1) + left * (tied * items).sum(axis=1) / tied.sum(axis=1)
    best = np.partition(items, -k, axis=1)[:, -k:].sum(axis=1)
    mean = items.sum(axis=1) / items.shape[1]
    span = best / k - mean
    value: Floats = (top / k - mean) / np.where(span > FLAT, span, np.nan)
    return value
