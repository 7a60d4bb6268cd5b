"""Committee rules that choose the best slate as a whole: what they share."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter

from fairagents._programme import Programme
from fairagents.decision import Table
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules._exact import Best, of_few
from fairagents.rules._walk import Field, Sequential, Walk, listed
from fairagents.rules.approval import silent
from fairagents.rules.base import Basis, CommitteeRule, Elected, Needs, Ties
from fairagents.task import Slate


class Whole(CommitteeRule):
    """The base of rules that choose the best slate as a whole.

    Where limits do not tell them apart no more alternatives of one kind are looked at than there
    are seats; their likes are listed afterwards. The order of a slate is that in which `sequential`
    would take its members.
    """

    needs: ClassVar[Needs] = "approvals"
    basis: ClassVar[Basis] = "cardinal"

    time_limit: float = Parameter(default=10.0, gt=0)

    # -- what a subclass says ----------------------------------------------------------------

    @property
    @abc.abstractmethod
    def sequential(self) -> Sequential:
        """The rule that takes one after another to much the same end."""

    @abc.abstractmethod
    def score(self, field: Field, committee: Sequence[int]) -> Any:
        """Return the exact score of a committee, more is better."""

    @abc.abstractmethod
    def solve(self, field: Field, start: tuple[int, ...]) -> Best:
        """Return the best committees, given one known beforehand."""

    @abc.abstractmethod
    def tables(self, field: Field, order: Sequence[int], best: Best) -> tuple[Table, ...]:
        """Return the trace."""

    def notes(self) -> tuple[str, ...]:
        """Return conventions of the rule."""
        return ()

    # -- electing ----------------------------------------------------------------------------

    def elect(self, profile: Profile, task: Feasible, ties: Ties) -> Elected:
        """Choose the best slate.

        Raises:
            InfeasibleError: no slate meets the limits.
        """
        task.require()
        field = Field(profile, task, ties)
        best = self._best(field, ties)
        chosen = min(best.committees, key=lambda one: sorted(field.places[list(one)].tolist()))
        within = Field(profile, task, ties, only=chosen)
        order = self._walk(within, free=True)
        notes = (*silent(profile), *self.notes())
        if best.more:
            notes = (*notes, "others may be as good; the tie-break chose among those listed")
        return Elected(
            order,
            winners=sorted(best.committees),
            more=best.more,
            tables=self.tables(field, order, best),
            notes=notes,
            optimal=best.optimal,
            gap=best.gap,
        )

    def _best(self, field: Field, ties: Ties) -> Best:
        """Return the best committees among all alternatives."""
        small, kept = _small(field, ties)
        start = tuple(sorted(self._walk(small)))
        if int(small.sizes.sum()) == small.task.size:
            best = Best([start], self.score(small, start))
        else:
            few = of_few(small.task, lambda one: self.score(small, one))
            best = few or self.solve(small, start)
        committees = [tuple(sorted(kept[list(one)].tolist())) for one in best.committees]
        more = best.more
        if field.task.plain:
            sets = [tuple(sorted(field.kinds[list(one)].tolist())) for one in committees]
            committees, beyond = listed(field, list(dict.fromkeys(sets)), committees[0])
            more = more or beyond
        return Best(committees, best.score, more, best.optimal, best.bound)

    def _walk(self, field: Field, *, free: bool = False) -> list[int]:
        """Return a committee as the sequential rule takes it."""
        rule = self.sequential
        walk = rule.walk(field, Walk(rule.start(field)), field.task.size, free=free)
        return walk.positions


def _small(field: Field, ties: Ties) -> tuple[Field, Any]:
    """Return a field with no more of one kind than there are seats, and whom it holds."""
    everybody = np.arange(len(field.places))
    size = field.task.size
    if not field.task.plain or len(field.members) == len(everybody):
        return field, everybody
    kept = np.array(sorted(i for members in field.members for i in members[:size]))
    profile = field.profile.take(kept)
    within = Ties(profile, ties.kind, ties.seed)
    within.places = np.argsort(np.argsort(field.places[kept]))
    task = Feasible.of(Slate(size=size), ids=profile.ids)
    return Field(profile, task, within), kept


def programme_of(field: Field) -> Programme:
    """Return a programme over a field's limits in which likes are taken in order."""
    programme = field.task.programme()
    if field.task.plain:
        for members in field.members:
            cells = programme.cells[members]
            if len(cells) > 1:
                programme.rows(np.column_stack([cells[:-1], cells[1:]]), [1.0, -1.0], low=0.0)
    return programme
