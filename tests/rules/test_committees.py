"""Approval and committee rules against their definitions, all ties by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules import _exact
from fairagents.rules.approval import ApprovalVoting, SatisfactionApproval
from fairagents.rules.base import RULES, CommitteeRule, Rule
from fairagents.rules.leximax import LeximaxPhragmen
from fairagents.rules.monroe import Monroe
from fairagents.rules.phragmen import SequentialPhragmen
from fairagents.rules.sequential import ReverseSequentialPav, SequentialCc, SequentialPav
from fairagents.rules.shares import EqualShares
from fairagents.rules.thiele import ChamberlinCourant, Pav
from fairagents.rules.trace import recount
from fairagents.task import Slate
from tests.rules.small import FIXED, ids_of

Committee = frozenset[int]
Voters = list[tuple[Committee, Fraction]]
"""What each voter who approves something approves, and its voice."""


@st.composite
def approvals(draw: st.DrawFn, most: int = 6) -> tuple[Profile, int]:
    """Weighted approval ballots, empty ones among them, and a number of seats."""
    m, n = draw(st.integers(1, most)), draw(st.integers(1, 5))
    ids = ids_of(m)
    ballots = [draw(st.sets(st.sampled_from(ids))) for _ in range(n)]
    weights = draw(st.lists(st.sampled_from([1, 2, 3, 0.5, 0.3, 0.2]), min_size=n, max_size=n))
    return Profile.from_approvals(ballots, ids, weights), draw(st.integers(1, m))


def voters_of(profile: Profile) -> Voters:
    rows = [frozenset(np.flatnonzero(row).tolist()) for row in profile.approvals]
    return [(row, w) for row, w in zip(rows, profile.weights, strict=True) if row]


def found(rule: Rule, profile: Profile, task: Slate | Feasible) -> set[Committee]:
    decision = rule(profile, task)
    assert not decision.more
    assert decision.optimal
    place = {one: i for i, one in enumerate(profile.ids)}
    winners = {frozenset(place[one] for one in committee) for committee in decision.winners}
    assert len(winners) == len(decision.winners)
    assert frozenset(place[one] for one in decision.outcome.ids) in winners
    return winners


def slates(profile: Profile, k: int) -> Iterator[Committee]:
    return map(frozenset, itertools.combinations(range(len(profile.ids)), k))


def best(profile: Profile, k: int, score: Callable[[Committee], Any]) -> set[Committee]:
    scores = {one: score(one) for one in slates(profile, k)}
    return {one for one, value in scores.items() if value == max(scores.values())}


# -- orders ----------------------------------------------------------------------------------------


@FIXED
@given(case=approvals())
def test_approval_and_satisfaction_add_up(case: tuple[Profile, int]) -> None:
    profile, _ = case
    cases: list[tuple[Rule, Callable[[Committee], Fraction]]] = [
        (ApprovalVoting(), lambda row: Fraction(1)),
        (SatisfactionApproval(), lambda row: Fraction(1, len(row))),
    ]
    for rule, worth in cases:
        exact = [
            sum((w * worth(row) for row, w in voters_of(profile) if i in row), Fraction(0))
            for i in range(len(profile.ids))
        ]
        decision = rule(profile)
        wanted = [
            {profile.ids[i] for i, t in enumerate(exact) if t == value}
            for value in sorted(set(exact), reverse=True)
        ]
        assert [set(tier) for tier in decision.tiers] == wanted
        assert recount(decision.trace[0]) == pytest.approx(dict(decision.totals))


def test_who_ranks_approves_nothing_and_that_is_told() -> None:
    profile = Profile.from_rankings([["a", "b"]], voters=["ann"])
    for name in ("approval_voting", "pav", "mes", "seq_phragmen", "monroe"):
        decision = RULES.build(name)(profile, Slate(size=1))
        assert "ann approves nothing and abstains (a ranking approves nothing)" in decision.notes
    rated = Profile.from_scores([[0.9, 0.5]], ["a", "b"])
    assert "above 1/2" in ApprovalVoting()(rated).notes[0]
    assert dict(ApprovalVoting()(rated).totals) == {"a": 1.0, "b": 0.0}


# -- one after another -----------------------------------------------------------------------------


def reached(
    profile: Profile,
    k: int,
    start: Any,
    tied: Callable[[Any, Committee], list[int]],
    after: Callable[[Any, int], Any],
) -> set[Committee]:
    """All slates that any way of breaking ties takes one after another."""

    def go(state: Any, taken: Committee) -> set[Committee]:
        nexts = tied(state, taken) if len(taken) < k else []
        if not nexts:
            return {taken}
        return set().union(*(go(after(state, i), taken | {i}) for i in nexts))

    return go(start, frozenset())


def argmax(values: dict[int, Any]) -> list[int]:
    return [i for i, value in values.items() if value == max(values.values())]


def rest(profile: Profile, taken: Committee) -> list[int]:
    return [i for i in range(len(profile.ids)) if i not in taken]


def thiele(worth: Callable[[int], Fraction]) -> Callable[[Profile, int], set[Committee]]:
    def find(profile: Profile, k: int) -> set[Committee]:
        def tied(state: None, taken: Committee) -> list[int]:
            return argmax(
                {
                    i: sum(w * worth(len(row & taken)) for row, w in voters_of(profile) if i in row)
                    for i in rest(profile, taken)
                }
            )

        return reached(profile, k, None, tied, lambda state, i: None)

    return find


def backwards(profile: Profile, k: int) -> set[Committee]:
    m = len(profile.ids)

    def tied(state: None, gone: Committee) -> list[int]:
        left = frozenset(rest(profile, gone))
        return argmax(
            {
                i: -sum(w / len(row & left) for row, w in voters_of(profile) if i in row)
                for i in left
            }
        )

    gone = reached(profile, m - k, None, tied, lambda state, i: None)
    return {frozenset(rest(profile, one)) for one in gone}


Loads = tuple[Fraction, ...]


def new_load(voters: Voters, loads: Loads, i: int) -> Fraction | None:
    own = [(w, x) for (row, w), x in zip(voters, loads, strict=True) if i in row]
    carry = sum((w * x for w, x in own), Fraction(1))
    return carry / sum((w for w, _ in own), Fraction(0)) if own else None


def carried(voters: Voters, loads: Loads, i: int) -> Loads:
    load = new_load(voters, loads, i)
    return tuple(
        load if i in row and load is not None else x
        for (row, _), x in zip(voters, loads, strict=True)
    )


def lightest(profile: Profile, voters: Voters, loads: Loads, taken: Committee) -> list[int]:
    news = {i: new_load(voters, loads, i) for i in rest(profile, taken)}
    some = {i: -x for i, x in news.items() if x is not None}
    return argmax(some) if some else list(news)


def phragmen(profile: Profile, k: int) -> set[Committee]:
    voters = voters_of(profile)
    return reached(
        profile,
        k,
        (Fraction(0),) * len(voters),
        lambda loads, taken: lightest(profile, voters, loads, taken),
        lambda loads, i: carried(voters, loads, i),
    )


def shares(completion: str) -> Callable[[Profile, int], set[Committee]]:
    """Equal shares with clones: every unit of voice k / V to spend."""

    def find(profile: Profile, k: int) -> set[Committee]:
        voters = voters_of(profile)
        voice = sum((w for _, w in voters), Fraction(0))

        def price(budgets: Loads, i: int) -> Fraction | None:
            own = [(w, b) for (row, w), b in zip(voters, budgets, strict=True) if i in row]
            for poor in sorted({b for _, b in own} | {Fraction(0)}):
                # Those with no more than `poor` pay all they have, the others alike.
                rich = sum(w for w, b in own if b > poor)
                missing = 1 - sum(w * b for w, b in own if b <= poor)
                if (
                    rich
                    and missing / rich >= poor
                    and sum(w * min(b, missing / rich) for w, b in own) == 1
                ):
                    return Fraction(missing / rich)
            return max(b for _, b in own) if sum(w * b for w, b in own) == 1 else None

        def tied(budgets: Loads, taken: Committee) -> list[int]:
            prices = {i: price(budgets, i) for i in rest(profile, taken)}
            some = {i: -p for i, p in prices.items() if p is not None}
            if some:
                return argmax(some)
            if completion == "none":
                return []
            if completion == "utilitarian":
                return argmax(
                    {i: sum(w for row, w in voters if i in row) for i in rest(profile, taken)}
                )
            return lightest(profile, voters, tuple(-b for b in budgets), taken)

        def after(budgets: Loads, i: int) -> Loads:
            rho = price(budgets, i)
            if rho is None:
                if completion == "utilitarian":
                    return budgets
                return tuple(-x for x in carried(voters, tuple(-b for b in budgets), i))
            return tuple(
                b - min(b, rho) if i in row else b
                for (row, _), b in zip(voters, budgets, strict=True)
            )

        each = Fraction(k) / voice if voters else Fraction(0)
        return reached(profile, k, (each,) * len(voters), tied, after)

    return find


SEQUENTIAL: list[tuple[CommitteeRule, Callable[[Profile, int], set[Committee]]]] = [
    (SequentialPav(), thiele(lambda c: Fraction(1, c + 1))),
    (SequentialCc(), thiele(lambda c: Fraction(c == 0))),
    (ReverseSequentialPav(), backwards),
    (SequentialPhragmen(), phragmen),
    (EqualShares(), shares("phragmen")),
    (EqualShares(completion="utilitarian"), shares("utilitarian")),
    (EqualShares(completion="none"), shares("none")),
]


@pytest.mark.parametrize(("rule", "definition"), SEQUENTIAL, ids=[r.label for r, _ in SEQUENTIAL])
@FIXED
@given(case=approvals(5))
def test_all_slates_are_found_that_some_tie_break_takes(
    rule: CommitteeRule, definition: Callable[[Profile, int], set[Committee]],
    case: tuple[Profile, int],
) -> None:  # fmt: skip
    profile, k = case
    wanted = definition(profile, k)
    assert found(rule, profile, Slate(size=k)) == wanted
    for seed in range(5):
        ids = rule(profile, Slate(size=k), seed=seed).outcome.ids
        assert frozenset(profile.ids.index(one) for one in ids) in wanted


@pytest.mark.parametrize(("rule", "definition"), SEQUENTIAL, ids=[r.label for r, _ in SEQUENTIAL])
def test_larger_random_ballots_too(
    rule: CommitteeRule, definition: Callable[[Profile, int], set[Committee]]
) -> None:
    rng = np.random.default_rng(8)
    ids = ids_of(7)
    for _ in range(60):
        said = rng.random((8, 7)) < rng.choice([0.2, 0.4, 0.6])
        ballots = [[ids[i] for i in np.flatnonzero(row)] for row in said]
        profile = Profile.from_approvals(ballots, ids, rng.integers(1, 4, 8).tolist())
        k = int(rng.integers(2, 6))
        assert found(rule, profile, Slate(size=k)) == definition(profile, k)


@pytest.mark.parametrize("rule", [r for r, _ in SEQUENTIAL[:4]], ids=lambda rule: rule.name)
@FIXED
@given(case=approvals())
def test_a_bare_call_ranks_as_slates_are_taken(
    rule: CommitteeRule, case: tuple[Profile, int]
) -> None:
    profile, k = case
    ranking = rule(profile, seed=3).outcome.ids
    assert len(ranking) == len(profile.ids)
    assert rule(profile, Slate(size=k), seed=3).outcome.ids == ranking[:k]


# -- as wholes -------------------------------------------------------------------------------------


def pav_score(profile: Profile, committee: Committee) -> Fraction:
    return sum(
        (
            w * sum((Fraction(1, j) for j in range(1, len(row & committee) + 1)), Fraction(0))
            for row, w in voters_of(profile)
        ),
        Fraction(0),
    )


def cc_score(profile: Profile, committee: Committee) -> Fraction:
    return sum((w for row, w in voters_of(profile) if row & committee), Fraction(0))


def monroe_score(profile: Profile, committee: Committee) -> int:
    voters, k = voters_of(profile), len(committee)
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(["s", "t"])
    for v, (row, w) in enumerate(voters):
        graph.add_edge("s", v, capacity=int(w * k * 10))
        graph.add_edges_from((v, f"a{i}") for i in row & committee)
    for i in committee:
        graph.add_edge(f"a{i}", "t", capacity=int(sum(w for _, w in voters) * 10))
    return int(nx.maximum_flow_value(graph, "s", "t"))


def leximax_score(profile: Profile, committee: Committee) -> tuple[Any, ...]:
    """How many are approved by anybody, and the loads downwards by unit of voice, negated.

    The greatest load is that of the part with the most members per voice that approves any.
    """
    voters = voters_of(profile)
    some = frozenset(i for i in committee if any(i in row for row, _ in voters))
    loads: list[Fraction] = []
    left, free = some, voters
    while left:
        dense: dict[Committee, Fraction] = {}
        for size in range(1, len(left) + 1):
            for part in map(frozenset, itertools.combinations(sorted(left), size)):
                dense[part] = size / sum((w for row, w in free if row & part), Fraction(0))
        most = max(dense.values())
        part = frozenset().union(*(one for one, value in dense.items() if value == most))
        loads += [most] * int(10 * sum((w for row, w in free if row & part), Fraction(0)))
        left, free = left - part, [(row, w) for row, w in free if not row & part]
    voice = int(10 * sum((w for _, w in voters), Fraction(0)))
    return (len(some), *(-x for x in loads), *[Fraction(0)] * (voice - len(loads)))


EXACT: list[tuple[CommitteeRule, Callable[[Profile, Committee], Any]]] = [
    (Pav(), pav_score),
    (ChamberlinCourant(), cc_score),
    (Monroe(), monroe_score),
    (LeximaxPhragmen(), leximax_score),
]


@pytest.mark.parametrize(("rule", "score"), EXACT, ids=[r.name for r, _ in EXACT])
@pytest.mark.parametrize("few", [_exact.FEW, 0])
@FIXED
@given(case=approvals(5))
def test_all_best_slates_are_found(
    rule: CommitteeRule, score: Callable[[Profile, Committee], Any], few: int,
    case: tuple[Profile, int],
) -> None:  # fmt: skip
    profile, k = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_exact, "FEW", few)
        winners = found(rule, profile, Slate(size=k))
    assert winners == best(profile, k, lambda one: score(profile, one))
