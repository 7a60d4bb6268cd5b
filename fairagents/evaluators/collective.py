"""Measures of the collective: how satisfaction is spread over the stakeholders."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from fairagents.decision import Result
from fairagents.evaluators.base import Batch, Columns, Direction, Evaluator, Evidence
from fairagents.spec import Floats

Scale = Literal["attainment", "worth"]


def _scores(scale: Scale, found: Evidence | Batch) -> Floats:
    """Return what is compared across stakeholders, shape (..., n)."""
    return found.worths if scale == "worth" else found.attainment


class WorstOff(Evaluator):
    """Worst-off: the score of the stakeholder whom the outcome serves least.

    min_s a_s, with attainment a_s = 1 - range-normalised regret (comparable by "how much of what
    was attainable"), or with worth by declared anchors. Stakeholders with nothing at stake are
    left out and n says how many count. Rawls 1971 (as commonly stated).
    """

    formula: ClassVar[str] = "min_s a_s"
    source: ClassVar[str] = "Rawls 1971 (as commonly stated)"

    scale: Scale = "attainment"

    def measure(self, evidence: Evidence) -> tuple[Result, ...]:
        """Return the collective result; its reason names who is worst off."""
        scores = _scores(self.scale, evidence).tolist()
        counted = [(v, i) for v, i in zip(scores, evidence.ids, strict=True) if not math.isnan(v)]
        if not counted:
            return (self.result("collective", None, n=0, reason="nobody has anything at stake"),)
        value = min(v for v, _ in counted)
        who = ", ".join(one for v, one in counted if v - value <= 1e-9)
        return (self.result("collective", value, n=len(counted), reason=who),)

    def batch(self, batch: Batch) -> Columns:
        """Return the collective column."""
        scores = _scores(self.scale, batch)
        low = np.where(np.isnan(scores), np.inf, scores).min(axis=1)
        return {(self.name, "collective"): np.where(np.isinf(low), np.nan, low)}


class Gini(Evaluator):
    """Gini: inequality of the stakeholders' scores.

    sum_i (2i - n - 1) x_(i) / (n sum x), x ascending; in [0, (n - 1) / n], 0 is equality. The
    population form, without the n / (n - 1) correction. Undefined when all scores are 0.
    Gini 1912 (as commonly stated).
    """

    direction: ClassVar[Direction] = "down"
    formula: ClassVar[str] = "sum_i (2i - n - 1) x_(i) / (n sum x)"
    source: ClassVar[str] = "Gini 1912 (as commonly stated)"

    scale: Scale = "attainment"

    def measure(self, evidence: Evidence) -> tuple[Result, ...]:
        """Return the collective result."""
        scores = _scores(self.scale, evidence)
        return (self.of(scores[~np.isnan(scores)]),)

    def of(self, scores: Floats) -> Result:
        """Return the Gini of numbers >= 0, shape (n,), as a result."""
        n = len(scores)
        if n == 0:
            return self.result("collective", None, n=0, reason="no scores")
        if scores.min() < 0:
            return self.result("collective", None, n=n, reason="a score is negative")
        if not scores.any():
            return self.result("collective", None, n=n, reason="all scores are 0")
        value = float(_gini(scores))
        if n == 1:
            return self.result("collective", value, n=1, status="degenerate", reason="one score")
        return self.result("collective", value, n=n)

    def batch(self, batch: Batch) -> Columns:
        """Return the collective column."""
        scores = _scores(self.scale, batch)
        if np.isnan(scores).any():
            values = [self.of(row[~np.isnan(row)]).value for row in scores]
            return {(self.name, "collective"): np.array(values, dtype=np.float64)}
        with np.errstate(invalid="ignore", divide="ignore"):
            return {(self.name, "collective"): _gini(scores)}


def _gini(x: Floats) -> Floats:
    """Return the Gini over the last axis, shape (...)."""
    n = x.shape[-1]
    value: Floats = np.sort(x, axis=-1) @ np.arange(1 - n, n, 2) / (n * x.sum(axis=-1))
    return value


def gini(x: object) -> Result:
    """Return the Gini of numbers >= 0 as a result; see `Gini`.

    >>> gini([1, 2, 3, 4]).value
    0.25
    >>> gini([0, 0]).status
    'undefined'
    """
    return Gini().of(np.asarray(x, dtype=np.float64))
