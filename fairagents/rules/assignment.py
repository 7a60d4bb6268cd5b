"""Rules for `Assign`: each recipient says what it prefers, and seats are given many to one.

The voters of the profile are the task's recipients. A recipient takes only what it finds
acceptable (the task says what), at most its load; ties on a ballot fall by the tie-break. Rules
that go step by step keep what side limits ask completable; those that can't refuse them.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from fairagents.decision import Decision, Table
from fairagents.errors import BallotError, SpecError, did_you_mean
from fairagents.feasible import Feasible
from fairagents.optima import leximin
from fairagents.outcome import Linear, Outcome
from fairagents.profile import Profile
from fairagents.record import Many
from fairagents.rules.base import Basis, Needs, Rule, Ties
from fairagents.rules.trace import plain
from fairagents.spec import Floats, Ints
from fairagents.task import Assign


class Market:
    """One assignment on its way: who still has room, what still has seats.

    Args:
        profile: the recipients' ballots.
        task: the compiled task.
        ties: how ties fall.
    """

    def __init__(self, profile: Profile, task: Feasible, ties: Ties) -> None:
        assert isinstance(task.task, Assign)
        self.profile, self.task, self.ties = profile, task, ties
        self.recipients, self.ids = task.recipients, task.ids
        self.seats = [task.task.seats[one] for one in task.ids]
        self.load = [task.task.load[who] for who in task.recipients]
        self.given: list[tuple[int, int]] = []
        rows = [profile.voters.index(who) for who in task.recipients]
        self.ranks: Ints = profile.ranks[rows]
        self.weights = [profile.weights[row] for row in rows]

    @functools.cached_property
    def wishes(self) -> list[list[int]]:
        """What each recipient accepts, best first."""
        assert isinstance(self.task.task, Assign)
        acceptable = self.task.task.acceptable
        orders = []
        for who, ranks in zip(self.recipients, self.ranks, strict=True):
            order = np.lexsort((self.ties.places, ranks)).tolist()
            kept = acceptable.get(who)
            orders.append([a for a in order if kept is None or self.ids[a] in kept])
        return orders

    def give(self, r: int, a: int) -> bool:
        """Give a seat if there is one and the rest stays completable; tell whether it was given."""
        if self.seats[a] <= 0 or self.load[r] <= 0 or (r, a) in self.given:
            return False
        if self.task.task.limits and not self.task.extendable([*self.given, (r, a)]):
            return False
        self.seats[a] -= 1
        self.load[r] -= 1
        self.given.append((r, a))
        return True

    def outcome(self) -> Outcome:
        """Return what was given, in the order it was given."""
        return Outcome.of((self.recipients[r], self.ids[a], 1.0) for r, a in self.given)


class AssignmentRule(Rule):
    """The base of rules that assign; a subclass gives `assign`."""

    decides: ClassVar[Literal["slate", "division", "assignment"]] = "assignment"
    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    limited: ClassVar[bool] = True

    def __call__(  # type: ignore[override]
        self, profile: Profile, task: Assign | Feasible, *, seed: int = 0
    ) -> Decision:
        """Assign.

        Args:
            profile: one ballot per recipient, over the task's alternatives.
            task: seats, loads and limits.
            seed: for ties and for what the rule draws.

        Raises:
            BallotError: the voters are not the recipients, or the alternatives not the task's.
            SpecError: the rule can't keep the task's side limits.
            InfeasibleError: no assignment meets the limits.
        """
        feasible = task if isinstance(task, Feasible) else Feasible.of(task)
        if not isinstance(feasible.task, Assign):
            raise BallotError(f"{self.label} assigns; the task is a {feasible.task.kind}")
        if set(profile.voters) != set(feasible.recipients):
            raise BallotError(
                f"{self.label}: the voters {sorted(profile.voters)} must be the task's recipients "
                f"{sorted(feasible.recipients)}"
            )
        if profile.ids != feasible.ids:
            raise BallotError(
                f"{self.label}: the ballots must be over {feasible.ids}, in that order"
            )
        if feasible.task.limits and not self.limited:
            raise SpecError(f"{self.label} keeps seats and loads, no side limits; leave them out")
        feasible.require()
        return self.decide(profile, feasible, Ties(profile, self.tie_break, seed))

    def decide(self, profile: Profile, task: Feasible, ties: Ties) -> Decision:
        """Assign, and trace who got what at which place of its own ballot."""
        market = Market(profile, task, ties)
        found = self.assign(market)
        return Decision(
            rule=self.label,
            outcome=found["outcome"],
            tie_break=self.tie_break,
            optimal=found.get("optimal", True),
            gap=found.get("gap"),
            lottery=found.get("lottery"),
            notes=tuple(found.get("notes", ())),
            trace=(*found.get("tables", ()), _places(market, found["outcome"])),
        )

    @abc.abstractmethod
    def assign(self, market: Market) -> dict[str, Any]:
        """Return the `outcome` and whatever else of a decision there is to say."""


class SerialDictatorship(AssignmentRule):
    """Each recipient in turn takes the best that is left, up to its load.

    `order` says whose turn it is: "seeded" draws it (random serial dictatorship), "declared"
    follows the task. Efficient and strategy-proof; who comes first has it all. O(R m log m).
    Source: Svensson 1999; Abdulkadiroglu & Sonmez 1998 (as commonly stated).

    >>> task = Assign(seats={"x": 1, "y": 1}, load={"p": 1, "q": 1})
    >>> profile = Profile.from_rankings([["x", "y"], ["x", "y"]], voters=["p", "q"])
    >>> SerialDictatorship(order="declared")(profile, task).outcome.rows()
    {'p': {'x': 1.0}, 'q': {'y': 1.0}}
    """

    formula: ClassVar[str] = "recipient after recipient takes its best free alternatives"
    source: ClassVar[str] = "Svensson 1999 (as commonly stated)"
    complexity: ClassVar[str] = "O(R m log m)"

    order: Literal["seeded", "declared"] = "seeded"

    def assign(self, market: Market) -> dict[str, Any]:
        """Let one after the other choose."""
        turns = _turns(self.order, market)
        for r in turns:
            for a in market.wishes[r]:
                market.give(r, a)
        return {"outcome": market.outcome(), "tables": (_turn_table(market, turns),)}


class RoundRobin(AssignmentRule):
    """In rounds, each recipient takes one alternative: the best that is left.

    Envy-free up to one item for additive values where all take the same number. O(R m log m).
    Source: Caragiannis et al. 2019 (as commonly stated).

    >>> task = Assign(seats={"x": 1, "y": 1, "z": 1}, load={"p": 2, "q": 1})
    >>> ballots = [["x", "y", "z"], ["x", "y", "z"]]
    >>> profile = Profile.from_rankings(ballots, voters=["p", "q"])
    >>> RoundRobin(order="declared")(profile, task).outcome.rows()
    {'p': {'x': 1.0, 'z': 1.0}, 'q': {'y': 1.0}}
    """

    formula: ClassVar[str] = "in rounds each recipient takes its best free alternative"
    source: ClassVar[str] = "Caragiannis et al. 2019 (as commonly stated)"
    complexity: ClassVar[str] = "O(R m log m)"

    order: Literal["seeded", "declared"] = "seeded"

    def assign(self, market: Market) -> dict[str, Any]:
        """Go round until nobody takes anything more."""
        turns = _turns(self.order, market)
        taken = True
        while taken:
            taken = False
            for r in turns:
                taken |= any(market.give(r, a) for a in market.wishes[r])
        return {"outcome": market.outcome(), "tables": (_turn_table(market, turns),)}


class RankMaximal(AssignmentRule):
    """As many first choices as possible, then as many second choices, and so on.

    The vector of the numbers (voices) of recipients' first, second, ... choices given is
    lexicographically greatest; tied places count as the better one. Exact by one integer
    programme per place. Source: Irving et al. 2006 (as commonly stated).

    >>> task = Assign(seats={"x": 1, "y": 1}, load={"p": 1, "q": 1})
    >>> profile = Profile.from_rankings([["x", "y"], ["x"]], ["x", "y"], voters=["p", "q"])
    >>> RankMaximal()(profile, task).table("choices").rows
    ((1, 1.0), (2, 1.0))
    """

    formula: ClassVar[str] = "lexicographically most first, second, ... choices"
    source: ClassVar[str] = "Irving et al. 2006 (as commonly stated)"
    complexity: ClassVar[str] = "one integer programme per place"

    time_limit: float = Field(default=10.0, gt=0)

    def assign(self, market: Market) -> dict[str, Any]:
        """Fix one place after the other."""
        task, m = market.task, len(market.ids)
        place = np.array([[1 + int((row < rank).sum()) for rank in row] for row in market.ranks])
        weights = np.array([float(w) for w in market.weights])
        programme = task.programme()
        counts, found = [], None
        for k in range(1, m + 1):
            cells = np.flatnonzero((place == k).ravel())
            if not len(cells):
                continue
            by = weights[cells // m]
            found = programme.solve(programme.cells[cells], -by, time_limit=self.time_limit)
            x = task.amounts(found)
            reached = float(by @ x[cells])
            programme.rows(programme.cells[cells][None], by, low=reached - 1e-6)
            counts.append((k, plain(round(reached, 9))))
        assert found is not None
        choices = Table(name="choices", columns=("place", "voice served"), rows=tuple(counts))
        notes = ("one of the rank-maximal assignments; others may be as good",)
        optimal = found.status == 0
        outcome = task.outcome(task.amounts(found))
        return {"outcome": outcome, "tables": (choices,), "notes": notes, "optimal": optimal}


class LeximinAssignment(AssignmentRule):
    """The assignment whose recipients' worths, sorted upwards, are lexicographically greatest.

    A recipient's worth is the sum of its ratings of what it gets, over the most its load could
    give it; voices count as clones. Exact by one integer programme per stage, within 1e-6.
    Source: Sen 1970; Ogryczak & Sliwinski 2006 (as commonly stated).

    >>> task = Assign(seats={"x": 1, "y": 1}, load={"p": 1, "q": 1})
    >>> profile = Profile.from_scores([[1.0, 0.6], [1.0, 0.1]], ["x", "y"], voters=["p", "q"])
    >>> LeximinAssignment()(profile, task).outcome.rows()
    {'p': {'y': 1.0}, 'q': {'x': 1.0}}
    """

    needs: ClassVar[Needs] = "ratings"
    basis: ClassVar[Basis] = "cardinal-comparable"
    formula: ClassVar[str] = "leximax sort_r sum_{a given to r} rating_r(a) / its best"
    source: ClassVar[str] = "Sen 1970; Ogryczak & Sliwinski 2006 (as commonly stated)"
    complexity: ClassVar[str] = "one integer programme per stage; NP-hard in general"

    time_limit: float = Field(default=10.0, gt=0)

    def assign(self, market: Market) -> dict[str, Any]:
        """Maximise the sorted worths."""
        ratings, derived = market.profile.rated()
        notes = (f"ratings derived from the order: {', '.join(derived)}",) if derived else ()
        rows = [market.profile.voters.index(who) for who in market.recipients]
        worths = []
        for r, row in enumerate(rows):
            best = float(np.sort(ratings[row])[::-1][: max(1, market.load[r])].sum()) or 1.0
            own: Floats = np.zeros((len(rows), len(market.ids)))
            own[r] = ratings[row] / best
            worths.append(Linear(own))
        scale = int(np.lcm.reduce([w.denominator for w in market.weights]))
        whole = [int(w * scale) for w in market.weights]
        shared = int(np.gcd.reduce(whole))
        clones = [w // shared for w in whole]
        found = leximin(market.task, worths, clones, time_limit=self.time_limit)
        return {
            "outcome": market.task.outcome(found.x),
            "optimal": found.optimal,
            "gap": found.gap,
            "notes": (*notes, "one of the best assignments; others may be as good"),
        }


class DeferredAcceptance(AssignmentRule):
    """Recipients propose, alternatives keep the best by priority and turn the others away.

    The outcome is stable (no recipient and alternative would both rather have each other) and the
    best stable one for the recipients. `priorities` names for an alternative the recipients, best
    first; those not named come after, by one seeded lottery over all. O(R m) proposals.
    Source: Gale & Shapley 1962; Abdulkadiroglu & Sonmez 2003 (as commonly stated).

    >>> task = Assign(seats={"x": 1, "y": 1}, load={"p": 1, "q": 1})
    >>> profile = Profile.from_rankings([["x", "y"], ["x", "y"]], voters=["p", "q"])
    >>> DeferredAcceptance(priorities={"x": ("q",)})(profile, task).outcome.rows()
    {'q': {'x': 1.0}, 'p': {'y': 1.0}}
    """

    formula: ClassVar[str] = "propose, keep the best by priority, until nobody is turned away"
    source: ClassVar[str] = "Gale & Shapley 1962 (as commonly stated)"
    complexity: ClassVar[str] = "O(R m) proposals"
    limited: ClassVar[bool] = False

    priorities: Mapping[str, Many[str]] = Field(default_factory=dict)

    def assign(self, market: Market) -> dict[str, Any]:
        """Propose until nobody is turned away."""
        first = self._priorities(market)
        held: list[list[int]] = [[] for _ in market.ids]
        asked = [0] * len(market.recipients)
        room = list(market.load)
        waiting = list(range(len(market.recipients)))[::-1]
        while waiting:
            r = waiting.pop()
            while room[r] and asked[r] < len(market.wishes[r]):
                a = market.wishes[r][asked[r]]
                asked[r] += 1
                held[a].append(r)
                room[r] -= 1
                held[a].sort(key=lambda one, a=a: first[a][one])  # type: ignore[misc]
                for out in held[a][market.seats[a] :]:
                    room[out] += 1
                    waiting.append(out)
                del held[a][market.seats[a] :]
        pairs = sorted((a, r) for a, kept in enumerate(held) for r in kept)
        outcome = Outcome.of((market.recipients[r], market.ids[a], 1.0) for a, r in pairs)
        rows = tuple(
            (one, *(market.recipients[r] for r in np.argsort(first[a]).tolist()))
            for a, one in enumerate(market.ids)
        )
        columns = ("alternative", *(str(i + 1) for i in range(len(market.recipients))))
        return {
            "outcome": outcome,
            "tables": (Table(name="priorities", columns=columns, rows=rows),),
        }

    def _priorities(self, market: Market) -> list[list[int]]:
        """Return each alternative's priority of each recipient; the smaller goes first."""
        lottery = market.ties.rng().permutation(len(market.recipients)).tolist()
        index = {who: r for r, who in enumerate(market.recipients)}
        for one, named in self.priorities.items():
            if one not in market.ids:
                raise SpecError(f"priorities of {one!r}: {did_you_mean(one, market.ids)}")
            for who in named:
                if who not in index:
                    raise SpecError(f"priorities of {one!r} name {did_you_mean(who, index)}")
        orders = []
        for one in market.ids:
            ahead = [index[who] for who in self.priorities.get(one, ())]
            rest = sorted((r for r in index.values() if r not in ahead), key=lottery.__getitem__)
            order = [*ahead, *rest]
            orders.append([order.index(r) for r in range(len(order))])
        return orders


def _turns(order: str, market: Market) -> list[int]:
    count = len(market.recipients)
    turns = range(count) if order == "declared" else market.ties.rng().permutation(count).tolist()
    return list(turns)


def _turn_table(market: Market, turns: Sequence[int]) -> Table:
    rows = tuple((i + 1, market.recipients[r]) for i, r in enumerate(turns))
    return Table(name="turns", columns=("turn", "recipient"), rows=rows)


def _places(market: Market, outcome: Outcome) -> Table:
    """Return who got what, at which place of its own ballot."""
    rows = []
    for share in outcome.shares:
        ranks = market.ranks[market.recipients.index(share.to)]
        place = 1 + int((ranks < ranks[market.ids.index(share.what)]).sum())
        rows.append((share.to, share.what, place))
    return Table(name="given", columns=("recipient", "alternative", "place"), rows=tuple(rows))
