"""Scripted policies: pure functions of the brief, for twins, baselines and offline studies."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from fairagents.agents.base import Brief, Policy
from fairagents.ballot import Ranking, Ratings, Vote
from fairagents.profile import ranks_of_ratings


class Utility(Policy):
    """Says what the outcome is worth to its stakeholder: the sincere twin of every other agent.

    Ratings are the own worth rounded to `digits`, so that equal worth is an exact tie. With
    `form="ranking"` only the order is said, with ties where ratings tie.
    """

    form: Literal["ratings", "ranking"] = "ratings"
    digits: int = Field(default=6, ge=1, le=12)

    def propose(self, brief: Brief) -> Vote:
        """Return the sincere ballot."""
        values = np.round(brief.worth, self.digits)
        ids = brief.agenda.ids
        if self.form == "ratings":
            return brief.vote(Ratings(ids=ids, values=tuple(values.tolist())), self)
        ranks = ranks_of_ratings(values)
        order = np.argsort(ranks, kind="stable")
        sizes = np.bincount(ranks).tolist()
        said = Ranking(
            ids=tuple(ids[i] for i in order), sizes=() if max(sizes) == 1 else tuple(sizes)
        )
        return brief.vote(said, self)


class Random(Policy):
    """Ranks the agenda in a seeded random order: the null that alignment is measured against."""

    def propose(self, brief: Brief) -> Vote:
        """Return the random ballot."""
        order = np.random.default_rng(brief.seed).permutation(len(brief.agenda.ids))
        return brief.vote(Ranking(ids=tuple(brief.agenda.ids[i] for i in order)), self)
