"""What a rule is: it puts the alternatives of a profile in order and takes the best feasible."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np

from fairagents.ballot import Tiers
from fairagents.decision import Decision, Table
from fairagents.errors import BallotError
from fairagents.feasible import Feasible
from fairagents.outcome import Outcome
from fairagents.plugins import Plugin, Plugins
from fairagents.profile import Profile, doubled_borda
from fairagents.seeds import Words, id_words, tie_keys
from fairagents.spec import Floats, Ints
from fairagents.task import Slate

TRACE_ROWS = 60
"""A trace table holds at most this many alternatives, the best; `Table.cut` counts the rest."""

TOLERANCE = 1e-9
"""Totals of welfare rules that differ by no more than this are tied."""


@dataclass(frozen=True)
class Order:
    """What a rule makes of a profile.

    Attributes:
        levels: tier of each alternative, shape (m,), 0 is best.
        totals: the rule's total of each alternative, shape (m,), None where it has none.
        tables: the trace tables, of the best alternatives.
        notes: conventions applied to these ballots.
    """

    levels: Ints
    totals: Floats | Ints | None = None
    tables: Sequence[Table] = field(default=())
    notes: tuple[str, ...] = ()


class Rule(Plugin, abc.ABC):
    """A social-choice rule. A subclass declares what it needs and gives `order`.

    `tie_break` says how tied alternatives fall: "seeded" (a keyed hash of the id), "borda" (more
    Borda points first), "priority" (as the first voter ranks them, then the second, ...), or
    "lexicographic"; what is still tied then falls by the seeded hash.
    """

    needs: ClassVar[Literal["ranks", "ratings", "approvals"]]
    basis: ClassVar[Literal["ordinal", "cardinal", "cardinal-comparable"]]
    source: ClassVar[str] = ""

    tie_break: Literal["seeded", "borda", "priority", "lexicographic"] = "seeded"

    @abc.abstractmethod
    def order(self, profile: Profile) -> Order:
        """Put the alternatives of a profile in order."""

    def batch(self, ratings: Floats, weights: Ints) -> Floats | Ints | None:
        """Return the totals of many profiles at once, or None where the rule can't.

        Args:
            ratings: what everybody said of every alternative, shape (b, n, m), without NaN.
            weights: whole-number voices, shape (n,).

        Returns:
            Totals, shape (b, m): more is better, and equal totals are ties.
        """
        return None

    def __call__(
        self, profile: Profile, task: Slate | Feasible | None = None, *, seed: int = 0
    ) -> Decision:
        """Decide.

        Args:
            profile: the ballots.
            task: how many to take within which limits; None puts everything in order.
            seed: for the seeded tie-break.

        Raises:
            BallotError: the profile has no voters, or the task is over other alternatives.
            InfeasibleError: no slate meets the limits.
        """
        if not len(profile):
            raise BallotError(f"{self.label} needs at least one ballot")
        order = self.order(profile)
        sequence = np.lexsort(self._keys(profile, order.levels, seed))
        if task is None:
            task = Slate(size=len(profile.ids))
        if isinstance(task, Slate):
            task = Feasible.of(task, ids=profile.ids)
        if task.ids != profile.ids:
            raise BallotError(
                f"{self.label}: the task is over {task.ids[:5]}... ({len(task.ids)} alternatives) "
                f"and the ballots over {profile.ids[:5]}... ({len(profile.ids)}), in that order"
            )
        chosen = [profile.ids[i] for i in task.fill(sequence)]
        ordered = [profile.ids[i] for i in sequence.tolist()]
        tiers = _tiers(ordered, order.levels[sequence])
        totals: tuple[tuple[str, float], ...] = ()
        if order.totals is not None:
            totals = tuple(zip(ordered, order.totals[sequence].tolist(), strict=True))
        return Decision(
            rule=self.label,
            outcome=Outcome.slate(chosen),
            tiers=tiers,
            totals=totals,
            ties=_decisive(tiers, set(chosen)),
            tie_break=self.tie_break,
            notes=order.notes,
            trace=tuple(order.tables),
        )

    def _keys(self, profile: Profile, levels: Ints, seed: int) -> tuple[Ints | Words, ...]:
        """Return sort keys, the last one first in weight, as numpy's lexsort takes them."""
        seeded = tie_keys(seed, id_words(profile.ids))
        if self.tie_break == "borda":
            points = (profile.whole_weights[0][:, None] * doubled_borda(profile.ranks)).sum(axis=0)
            return (seeded, -points, levels)
        if self.tie_break == "priority":
            return (seeded, *profile.ranks[::-1], levels)
        if self.tie_break == "lexicographic":
            place = np.argsort(np.argsort(np.array(profile.ids)))
            return (seeded, place, levels)
        return (seeded, levels)


RULES = Plugins[Rule](
    "rule",
    {
        "borda": "fairagents.rules.positional:Borda",
        "copeland": "fairagents.rules.pairwise:Copeland",
        "utilitarian": "fairagents.rules.welfare:Utilitarian",
        "nash": "fairagents.rules.welfare:Nash",
        "leximin": "fairagents.rules.welfare:Leximin",
    },
    base=Rule,
)

RuleRef = Annotated[Rule, RULES]


def levels_of(totals: Floats | Ints, tolerance: float = 0.0) -> Ints:
    """Return tiers by descending total, shape (m,); totals within `tolerance` of a neighbour tie.

    >>> levels_of(np.array([1, 3, 3, 2])).tolist()
    [2, 0, 0, 1]
    """
    order = np.argsort(-totals, kind="stable")
    ordered = totals[order]
    steps = np.zeros(len(ordered), dtype=np.int64)
    np.cumsum(ordered[:-1] - ordered[1:] > tolerance, out=steps[1:])
    levels = np.empty_like(steps)
    levels[order] = steps
    return levels


def ballot_table(name: str, profile: Profile, cells: Floats, levels: Ints, total: Floats) -> Table:
    """Return a trace table: one row per alternative, one column per voter, and the total.

    The first row holds the weights, so that anyone can recompute total = sum of weight x cell.

    Args:
        name: the table's name.
        profile: names the rows and columns.
        cells: shape (n, m).
        levels: tiers, shape (m,): the best rows are kept.
        total: shape (m,).
    """
    shown = np.argsort(levels, kind="stable")[:TRACE_ROWS]
    names = [profile.ids[i] for i in shown.tolist()]
    rows = zip(names, *cells[:, shown].tolist(), total[shown].tolist(), strict=True)
    weights = ("weight", *(_number(w) for w in profile.weights), None)
    return Table(
        name=name,
        columns=("alternative", *profile.voters, "total"),
        rows=(weights, *rows),
        cut=len(profile.ids) - len(shown),
    )


def _number(weight: Fraction) -> int | float:
    return weight.numerator if weight.denominator == 1 else float(weight)


def _tiers(ids: Sequence[str], levels: Ints) -> Tiers:
    """Return ordered ids as tiers; their levels are ascending."""
    ends = [*(np.flatnonzero(levels[1:] != levels[:-1]) + 1).tolist(), len(ids)]
    if len(ends) == len(ids):
        return tuple(zip(ids))
    return tuple(tuple(ids[a:b]) for a, b in zip([0, *ends], ends, strict=False))


def _decisive(tiers: Tiers, chosen: set[str]) -> Tiers:
    """Return the tiers of which the tie-break took some and left others."""
    several = [tier for tier in tiers if len(tier) > 1]
    return tuple(tier for tier in several if 0 < sum(one in chosen for one in tier) < len(tier))
