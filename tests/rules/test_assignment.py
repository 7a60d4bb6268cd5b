"""Rules that assign, against enumeration of all assignments and the properties they promise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.errors import BallotError, SpecError
from fairagents.feasible import Feasible
from fairagents.outcome import Outcome
from fairagents.profile import Profile
from fairagents.rules.assignment import (
    AssignmentRule,
    DeferredAcceptance,
    LeximinAssignment,
    Market,
    RankMaximal,
    RoundRobin,
    SerialDictatorship,
)
from fairagents.rules.base import RULES, Ties
from fairagents.rules.serial import ProbabilisticSerial, decomposed, eaten
from fairagents.task import Assign, Clash, Slate

EVERY: list[AssignmentRule] = [
    SerialDictatorship(), RoundRobin(), RankMaximal(), LeximinAssignment(), DeferredAcceptance(),
    ProbabilisticSerial(),
]  # fmt: skip
Pairs = frozenset[tuple[int, int]]


@st.composite
def markets(draw: st.DrawFn) -> tuple[Profile, Assign]:
    """Two or three recipients, two or three alternatives; loads, seats, ties, exclusions."""
    n, m = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    people, ids = list("pqr")[:n], list("xyz")[:m]
    grid = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    said = [draw(st.lists(grid, min_size=m, max_size=m)) for _ in range(n)]
    seats = {a: draw(st.integers(0, 2)) for a in ids}
    load = {r: draw(st.integers(0, 2)) for r in people}
    accept = {r: tuple(a for a in ids if draw(st.integers(0, 4))) for r in people}
    weights = draw(st.lists(st.integers(1, 2), min_size=n, max_size=n))
    profile = Profile.from_scores(np.array(said), ids, weights, people)
    return profile, Assign(seats=seats, load=load, acceptable=accept)


def pairs(profile: Profile, outcome: Outcome) -> Pairs:
    return frozenset(
        (profile.voters.index(s.to), profile.ids.index(s.what)) for s in outcome.shares
    )


def every(profile: Profile, task: Assign) -> Iterator[Pairs]:
    """All feasible assignments."""
    feasible = Feasible.of(task)
    cells = list(itertools.product(range(len(profile)), range(len(profile.ids))))
    for taken in itertools.product([0, 1], repeat=len(cells)):
        given_ = [cell for cell, t in zip(cells, taken, strict=True) if t]
        shares = [(profile.voters[r], profile.ids[a], 1.0) for r, a in given_]
        if not feasible.violations(Outcome.of(shares)):
            yield frozenset(given_)


def place(profile: Profile, r: int, a: int) -> int:
    return 1 + int((profile.ranks[r] < profile.ranks[r, a]).sum())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(market=markets())
def test_all_give_what_is_feasible_and_waste_no_wished_seat(market: tuple[Profile, Assign]) -> None:
    profile, task = market
    for rule in EVERY:
        decision = rule(profile, task, seed=3)
        assert not Feasible.of(task).violations(decision.outcome)
        found = pairs(profile, decision.outcome)
        if not isinstance(rule, LeximinAssignment):  # who rates something 0 need not get it
            assert not any(found < other for other in every(profile, task))
        given_ = decision.table("given")
        assert {(row[0], row[1]) for row in given_.rows} == {
            (s.to, s.what) for s in decision.outcome.shares
        }
        assert rule(profile, task, seed=3) == decision


@settings(max_examples=40, deadline=None, derandomize=True)
@given(market=markets())
def test_rank_maximal_and_leximin_are_the_greatest_of_all(market: tuple[Profile, Assign]) -> None:
    profile, task = market
    weights = [int(w) for w in profile.weights]
    m = len(profile.ids)

    def signature(one: Pairs) -> list[int]:
        return [sum(weights[r] for r, a in one if place(profile, r, a) == k + 1) for k in range(m)]

    def worths(one: Pairs) -> list[float]:
        found = []
        for r, who in enumerate(profile.voters):
            best = sorted(profile.ratings[r], reverse=True)[: max(1, task.load[who])]
            total = sum(profile.ratings[r, a] for q, a in one if q == r)
            found += [round(float(total / (sum(best) or 1.0)), 5)] * weights[r]
        return sorted(found)

    assignments = list(every(profile, task))
    ranked = pairs(profile, RankMaximal()(profile, task).outcome)
    assert signature(ranked) == max(signature(one) for one in assignments)
    even = pairs(profile, LeximinAssignment()(profile, task).outcome)
    assert worths(even) == pytest.approx(max(worths(one) for one in assignments), abs=1e-4)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(market=markets())
def test_deferred_acceptance_is_stable_and_best_for_the_recipients(
    market: tuple[Profile, Assign],
) -> None:
    profile, task = market
    priorities = {a: tuple(profile.voters[:: 1 - 2 * (i % 2)]) for i, a in enumerate(profile.ids)}
    decision = DeferredAcceptance(priorities=priorities, tie_break="lexicographic")(profile, task)
    found = pairs(profile, decision.outcome)
    assert stable(profile, task, priorities, found)
    for other in every(profile, task):
        if stable(profile, task, priorities, other):
            for r in range(len(profile)):
                mine, theirs = served(profile, r, found), served(profile, r, other)
                assert all(x <= y for x, y in zip(mine, theirs, strict=True))


def order(profile: Profile, r: int) -> list[int]:
    """A ballot with its ties put in the alphabet's order."""
    return sorted(range(len(profile.ids)), key=lambda a: (profile.ranks[r, a], profile.ids[a]))


def served(profile: Profile, r: int, one: Pairs) -> list[int]:
    return sorted(order(profile, r).index(a) for q, a in one if q == r)


def stable(
    profile: Profile, task: Assign, priorities: dict[str, tuple[str, ...]], one: Pairs
) -> bool:
    """No recipient and alternative would both rather have each other."""
    for r, who in enumerate(profile.voters):
        mine = [a for q, a in one if q == r]
        for a, what in enumerate(profile.ids):
            if a in mine or what not in task.acceptable[who]:
                continue
            wish = order(profile, r)
            wants = len(mine) < task.load[who] or (
                mine and wish.index(a) < max(wish.index(b) for b in mine)
            )
            held = [profile.voters[q] for q, b in one if b == a]
            rank = priorities[what].index
            takes = len(held) < task.seats[what] or any(rank(who) < rank(h) for h in held)
            if wants and takes and task.load[who] and task.seats[what]:
                return False
    return True


@settings(max_examples=60, deadline=None, derandomize=True)
@given(market=markets(), seed=st.integers(0, 50))
def test_the_lottery_of_probabilistic_serial_has_the_shares_as_its_expectation(
    market: tuple[Profile, Assign], seed: int
) -> None:
    profile, task = market
    decision = ProbabilisticSerial()(profile, task, seed=seed)
    assert decision.lottery is not None
    assert decision.outcome in decision.lottery.outcomes
    expected = decision.lottery.expected()
    for who, *cells in decision.table("shares").rows:
        for what, cell in zip(profile.ids, cells, strict=True):
            assert expected.get(str(who), {}).get(what, 0.0) == pytest.approx(float(cell or 0.0))
    for outcome in decision.lottery.outcomes:
        assert not Feasible.of(task).violations(outcome)


def test_the_example_of_bogomolnaia_and_moulin() -> None:
    """Two agents a > b > c > d, two agents b > a > d > c: half of the first, half of the third."""
    ballots = [list("abcd")] * 2 + [list("badc")] * 2
    people = ["1", "2", "3", "4"]
    task = Assign(seats=dict.fromkeys("abcd", 1), load=dict.fromkeys(people, 1))
    profile = Profile.from_rankings(ballots, list("abcd"))
    market = Market(profile, Feasible.of(task), Ties(profile, "seeded", 0))
    half, none = Fraction(1, 2), Fraction(0)
    assert eaten(market) == [[half, none, half, none]] * 2 + [[none, half, none, half]] * 2
    assert sum(decomposed(Feasible.of(task), eaten(market)).probabilities) == pytest.approx(1)


def test_who_comes_first_takes_all_it_may_and_rounds_go_one_by_one() -> None:
    task = Assign(seats=dict.fromkeys("wxyz", 1), load={"p": 2, "q": 2})
    profile = Profile.from_rankings([list("wxyz")] * 2, voters=["p", "q"])
    rows = SerialDictatorship(order="declared")(profile, task).outcome.rows()
    assert {who: "".join(row) for who, row in rows.items()} == {"p": "wx", "q": "yz"}
    rows = RoundRobin(order="declared")(profile, task).outcome.rows()
    assert {who: "".join(row) for who, row in rows.items()} == {"p": "wy", "q": "xz"}
    firsts = {SerialDictatorship()(profile, task, seed=s).outcome.to[0] for s in range(20)}
    assert firsts == {"p", "q"}


def test_side_limits_are_kept_step_by_step_or_refused() -> None:
    task = Assign(seats={"x": 1, "y": 1}, load={"p": 2, "q": 2}, limits=(Clash(ids=("x", "y")),))
    profile = Profile.from_rankings([["x", "y"]] * 2, voters=["p", "q"])
    rows = SerialDictatorship(order="declared")(profile, task).outcome.rows()
    assert rows == {"p": {"x": 1.0}, "q": {"y": 1.0}}
    for rule in (DeferredAcceptance(), ProbabilisticSerial()):
        with pytest.raises(SpecError, match="keeps seats and loads, no side limits"):
            rule(profile, task)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.name)
def test_degenerate_markets_and_mistakes(rule: AssignmentRule) -> None:
    assert RULES.build(rule.name) == rule
    one: Any = Profile.from_scores([[0.5]], ["x"], voters=["p"])
    alone = Assign(seats={"x": 1}, load={"p": 1})
    assert rule(one, alone).outcome.rows() == {"p": {"x": 1.0}}
    assert rule(one, Assign(seats={"x": 0}, load={"p": 1})).outcome.shares == ()
    tied = Profile.from_scores([[0.5, 0.5]] * 2, ["x", "y"], voters=["p", "q"])
    both = Assign(seats={"x": 1, "y": 1}, load={"p": 1, "q": 1})
    assert len(rule(tied, both).outcome.shares) == 2
    with pytest.raises(BallotError, match="must be the task's recipients"):
        rule(one, both)
    with pytest.raises(BallotError, match="the task is a slate"):
        rule(one, Feasible.of(Slate(size=1), ids=("x",)))
    with pytest.raises(BallotError, match="the ballots must be over"):
        rule(Profile.from_scores([[0.5, 0.1]], ["x", "y"], voters=["p"]), alone)


def test_unknown_names_in_priorities_are_named() -> None:
    profile = Profile.from_rankings([["x"]], voters=["p"])
    task = Assign(seats={"x": 1}, load={"p": 1})
    with pytest.raises(SpecError, match="priorities of 'xx'"):
        DeferredAcceptance(priorities={"xx": ("p",)})(profile, task)
    with pytest.raises(SpecError, match="priorities of 'x' name"):
        DeferredAcceptance(priorities={"x": ("pp",)})(profile, task)
