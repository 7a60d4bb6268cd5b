"""What a rule is, and the kinds of rules: orders, committees and lotteries over slates.

A rule reads ballots and the task's public facts, never worth. One that puts the alternatives in
order subclasses `OrderRule` and gives `order`; one that chooses slates as wholes subclasses
`CommitteeRule` and gives `elect`.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np

from fairagents.ballot import Tiers
from fairagents.decision import Decision, Table
from fairagents.errors import BallotError
from fairagents.feasible import Feasible
from fairagents.outcome import Lottery, Outcome
from fairagents.plugins import Plugin, Plugins
from fairagents.profile import Profile, doubled_borda
from fairagents.rules.names import BUILTIN
from fairagents.seeds import Words, id_words, tie_keys
from fairagents.spec import Floats, Ints
from fairagents.task import Slate

TOLERANCE = 1e-9
"""Totals of welfare rules that differ by no more than this are tied."""

MOST_WINNERS = 100
"""Tied winning committees are listed up to this number; `Decision.more` says there are others."""

Needs = Literal["ranks", "ratings", "approvals", "plans", "values"]
Basis = Literal["ordinal", "cardinal", "cardinal-comparable"]
TieBreak = Literal["seeded", "borda", "priority", "lexicographic"]


class Ties:
    """How ties fall in one decision: an order of all alternatives, and the seed behind it.

    Args:
        profile: the ballots.
        kind: how alternatives that tie are put in order.
        seed: for the seeded order and for what else a rule draws.
    """

    def __init__(self, profile: Profile, kind: TieBreak, seed: int) -> None:
        self.profile, self.kind, self.seed = profile, kind, seed

    @functools.cached_property
    def keys(self) -> tuple[Ints | Words, ...]:
        """Sort keys, the last one first in weight, as numpy's lexsort takes them."""
        profile = self.profile
        seeded = tie_keys(self.seed, id_words(profile.ids))
        if self.kind == "borda":
            points = (profile.whole_weights[0][:, None] * doubled_borda(profile.ranks)).sum(axis=0)
            return (seeded, -points)
        if self.kind == "priority":
            return (seeded, *profile.ranks[::-1])
        if self.kind == "lexicographic":
            return (seeded, np.argsort(np.argsort(np.array(profile.ids))))
        return (seeded,)

    @functools.cached_property
    def places(self) -> Ints:
        """The place of each alternative in the tie-break's order, shape (m,); 0 goes first."""
        places = np.empty(len(self.profile.ids), dtype=np.int64)
        places[np.lexsort(self.keys)] = np.arange(len(places))
        return places

    def sequence(self, levels: Ints) -> Ints:
        """Return the positions of all alternatives by level, equals by the tie-break."""
        return np.lexsort((*self.keys, levels))

    def rng(self) -> np.random.Generator:
        """Return a generator that gives the same draws for the same seed."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Order:
    """What an order rule makes of a profile.

    Attributes:
        levels: tier of each alternative, shape (m,), 0 is best.
        totals: the rule's total of each alternative, shape (m,), None where it has none.
        tables: the trace tables, of the best alternatives.
        notes: conventions applied to these ballots.
        optimal: False when the order is the best found but not proved to be the best.
        gap: how far from a proved bound its objective is; None where there is none.
        lottery: probability of each alternative to come first, shape (m,), for rules that draw.
    """

    levels: Ints
    totals: Floats | Ints | None = None
    tables: Sequence[Table] = field(default=())
    notes: tuple[str, ...] = ()
    optimal: bool = True
    gap: float | None = None
    lottery: Floats | None = None


@dataclass(frozen=True)
class Elected:
    """What a committee rule chooses.

    Attributes:
        chosen: positions of the winning committee's members, in the order they are shown.
        winners: all tied winning committees as sorted positions, at most `MOST_WINNERS`; empty
            where they were not enumerated.
        more: whether there are tied winning committees beyond those listed.
        totals: what the rule counts of each alternative, shape (m,), where it counts that.
    """

    chosen: Sequence[int]
    winners: Sequence[tuple[int, ...]] = ()
    more: bool = False
    totals: Floats | Ints | None = None
    tables: Sequence[Table] = ()
    notes: tuple[str, ...] = ()
    optimal: bool = True
    gap: float | None = None


class Rule(Plugin, abc.ABC):
    """A social-choice rule: from ballots to a decision.

    `tie_break` says how tied alternatives fall: "seeded" (a keyed hash of the id), "borda" (more
    Borda points first), "priority" (as the first voter ranks them, then the second, ...), or
    "lexicographic"; what is still tied then falls by the seeded hash.

    Class attributes say what the rule is:
        decides: "slate", "division" or "assignment".
        needs: the form of ballot it reads; others are derived, and a note says so.
        basis: what of the ballots it uses: their order, their numbers within one voter, or
            their numbers across voters.
        formula, source, complexity: in one line each.
        holds: axiom -> why or by whom it is shown; an axiom that applies and is not named here
            fails, and a kept profile shows it.
    """

    decides: ClassVar[Literal["slate", "division", "assignment"]] = "slate"
    needs: ClassVar[Needs]
    basis: ClassVar[Basis]
    formula: ClassVar[str] = ""
    source: ClassVar[str] = ""
    complexity: ClassVar[str] = ""
    holds: ClassVar[Mapping[str, str]] = {}

    tie_break: TieBreak = "seeded"

    def __call__(
        self, profile: Profile, task: Slate | Feasible | None = None, *, seed: int = 0
    ) -> Decision:
        """Decide.

        Args:
            profile: the ballots.
            task: how many to take within which limits; None puts everything in order.
            seed: for the seeded tie-break and for what the rule draws.

        Raises:
            BallotError: the profile has no voters, or the task is over other alternatives.
            InfeasibleError: no slate meets the limits.
        """
        if not len(profile):
            raise BallotError(f"{self.label} needs at least one ballot")
        if task is None:
            task = Slate(size=len(profile.ids))
        if isinstance(task, Slate):
            task = Feasible.of(task, ids=profile.ids)
        if task.ids != profile.ids:
            raise BallotError(
                f"{self.label}: the task is over {task.ids[:5]}... ({len(task.ids)} alternatives) "
                f"and the ballots over {profile.ids[:5]}... ({len(profile.ids)}), in that order"
            )
        return self.decide(profile, task, Ties(profile, self.tie_break, seed))

    @abc.abstractmethod
    def decide(self, profile: Profile, task: Feasible, ties: Ties) -> Decision:
        """Decide on at least one ballot about a task over the same alternatives."""

    def batch(self, said: Floats, weights: Ints) -> Floats | Ints | None:
        """Return what orders the alternatives in many profiles at once, or None where it can't.

        Args:
            said: what everybody said of every alternative, more is better, shape (b, n, m),
                without NaN; ordinal rules read only the order within each row.
            weights: whole-number voices, shape (n,).

        Returns:
            Totals, shape (b, m): more is better, and equal totals are ties.
        """
        return None

    def warnings(self, profile: Profile) -> tuple[str, ...]:
        """Return what a reader of any decision on these ballots must know."""
        if "majority" not in self.holds or len(profile) < 2:
            return ()
        heaviest = max(profile.weights)
        if 2 * heaviest <= sum(profile.weights):
            return ()
        who = profile.voters[profile.weights.index(heaviest)]
        return (
            f"{who} holds more than half of all voice: by {self.name}, which follows majorities, "
            "its first choice wins whatever the others say",
        )


class OrderRule(Rule):
    """A rule that puts the alternatives in order; a slate is the best feasible of that order."""

    @abc.abstractmethod
    def order(self, profile: Profile) -> Order:
        """Put the alternatives of a profile in order."""

    def order_with(self, profile: Profile, ties: Ties) -> Order:
        """Do the same with a tie-break at hand, for rules that need one on their way."""
        return self.order(profile)

    def decide(self, profile: Profile, task: Feasible, ties: Ties) -> Decision:
        """Take the best feasible slate of the order."""
        order = self.order_with(profile, ties)
        sequence = ties.sequence(order.levels)
        chosen = [profile.ids[i] for i in task.fill(sequence)]
        ordered = [profile.ids[i] for i in sequence.tolist()]
        tiers = _tiers(ordered, order.levels[sequence])
        return Decision(
            rule=self.label,
            outcome=Outcome.slate(chosen),
            tiers=tiers,
            totals=_totals(ordered, order.totals, sequence),
            ties=_decisive(tiers, set(chosen)),
            tie_break=self.tie_break,
            optimal=order.optimal,
            gap=order.gap,
            lottery=None if order.lottery is None else _lottery(profile.ids, order.lottery),
            notes=order.notes,
            warnings=self.warnings(profile),
            trace=tuple(order.tables),
        )


class CommitteeRule(Rule):
    """A rule that chooses slates as wholes.

    Called without a task it chooses everything, in the order in which it takes the alternatives.
    """

    @abc.abstractmethod
    def elect(self, profile: Profile, task: Feasible, ties: Ties) -> Elected:
        """Choose a feasible slate.

        Raises:
            InfeasibleError: no slate meets the limits.
        """

    def decide(self, profile: Profile, task: Feasible, ties: Ties) -> Decision:
        """Elect, and say which other committees won as well."""
        elected = self.elect(profile, task, ties)
        chosen = list(elected.chosen)
        rest = np.setdiff1d(np.arange(len(profile.ids)), chosen)
        sequence = np.array([*chosen, *rest[np.argsort(ties.places[rest])]], dtype=np.int64)
        ordered = [profile.ids[i] for i in sequence.tolist()]
        slate, others = ordered[: len(chosen)], ordered[len(chosen) :]
        tied = [frozenset(one) for one in elected.winners]
        everywhere = frozenset.intersection(*tied) if tied else frozenset()
        open_ = sorted(frozenset().union(*tied) - everywhere)
        return Decision(
            rule=self.label,
            outcome=Outcome.slate(slate),
            tiers=(*((one,) for one in slate), *((tuple(others),) if others else ())),
            totals=_totals(ordered, elected.totals, sequence),
            ties=(tuple(profile.ids[i] for i in open_),) if open_ else (),
            tie_break=self.tie_break,
            optimal=elected.optimal,
            gap=elected.gap,
            winners=tuple(tuple(profile.ids[i] for i in one) for one in elected.winners),
            more=elected.more,
            notes=elected.notes,
            warnings=self.warnings(profile),
            trace=tuple(elected.tables),
        )


RULES = Plugins[Rule]("rule", BUILTIN, base=Rule)

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


def _totals(
    ordered: Sequence[str], totals: Floats | Ints | None, sequence: Ints
) -> tuple[tuple[str, float], ...]:
    if totals is None:
        return ()
    return tuple(zip(ordered, totals[sequence].tolist(), strict=True))


def _lottery(ids: Sequence[str], probabilities: Floats) -> Lottery:
    """Return the lottery over who comes first."""
    drawn = np.flatnonzero(probabilities > 0).tolist()
    return Lottery(
        outcomes=tuple(Outcome.slate([ids[i]]) for i in drawn),
        probabilities=tuple(probabilities[drawn].tolist()),
    )


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
