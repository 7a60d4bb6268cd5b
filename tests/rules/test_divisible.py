"""Rules that divide: against closed forms, enumeration and properties that must hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.claims import Claims
from fairagents.decision import Decision
from fairagents.errors import BallotError, InfeasibleError
from fairagents.feasible import Feasible
from fairagents.outcome import Outcome
from fairagents.profile import Profile
from fairagents.rules.base import RULES
from fairagents.rules.divisible import (
    AlphaFairDivision,
    DivisionRule,
    LeximinDivision,
    MaximinDivision,
    MeanPlan,
    NashDivision,
    UtilitarianDivision,
)
from fairagents.rules.positional import Borda
from fairagents.rules.trace import recount
from fairagents.task import Divide, Slate

PEOPLE = ["p", "q", "r"]
EVERY: list[DivisionRule] = [
    MeanPlan(), UtilitarianDivision(), MaximinDivision(), LeximinDivision(), NashDivision(),
    AlphaFairDivision(),
]  # fmt: skip


def own(values: Any) -> Any:
    """Voters who value only what they get themselves: (n, m) -> (n, n, m)."""
    values = np.asarray(values, dtype=float)
    n, m = values.shape
    full = np.zeros((n, n, m))
    full[np.arange(n), np.arange(n)] = values
    return full


def one_thing(capacity: float, need: list[float]) -> Divide:
    return Divide(
        capacity={"x": capacity},
        need={who: {"x": n} for who, n in zip(PEOPLE, need, strict=True)},
    )


def amounts(decision: Decision) -> list[float]:
    rows = decision.outcome.rows()
    return [rows.get(who, {}).get("x", 0.0) for who in PEOPLE]


def water_filled(capacity: float, need: list[float]) -> list[float]:
    """The level up to which everybody is filled: equal awards up to the need."""
    low, high = 0.0, max(need)
    for _ in range(60):
        level = (low + high) / 2
        if sum(min(n, level) for n in need) > capacity:
            high = level
        else:
            low = level
    return [min(n, low) for n in need]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(capacity=st.integers(1, 12), need=st.lists(st.integers(1, 8), min_size=3, max_size=3))
def test_one_thing_that_all_value_alike_is_shared_by_level(capacity: int, need: list[int]) -> None:
    """Nash, leximin and every alpha > 0 give equal awards (Dagan & Volij 1993 for Nash)."""
    wanted = water_filled(capacity, [float(n) for n in need])
    task = one_thing(capacity, [float(n) for n in need])
    claims = Claims.from_values(own([[1.0], [1.0], [1.0]]), task)
    for rule in (LeximinDivision(), NashDivision(normalisation="none"), AlphaFairDivision()):
        assert amounts(rule(claims)) == pytest.approx(wanted, abs=2e-2)
    least = min(wanted)
    assert min(amounts(MaximinDivision()(claims))) == pytest.approx(least, abs=1e-5)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_nobody_envies_another_under_nash(seed: int) -> None:
    """Eisenberg & Gale 1959: the Nash division is a competitive equilibrium from equal incomes."""
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 10, (3, 3))
    need = {who: {t: 9.0 for t in "xyz"} for who in PEOPLE}
    task = Divide(capacity={"x": 3.0, "y": 2.0, "z": 4.0}, need=need)
    decision = NashDivision()(Claims.from_values(own(values), task))
    x = Feasible.of(task).vector(decision.outcome).reshape(3, 3)
    table = values @ x.T  # worth to the row's voter of the column's share
    assert (np.diag(table) >= table.max(axis=1) * 0.99 - 1e-6).all()
    assert decision.optimal


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_each_welfare_is_greatest_where_its_own_rule_decides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, (3, 3, 2)) / 5 + 0.1
    need = {who: {"x": float(rng.integers(1, 4)), "y": 2.0} for who in PEOPLE}
    task = Divide(capacity={"x": 4.0, "y": 3.0}, need=need)
    weights = rng.integers(1, 4, 3).tolist()
    claims = Claims.from_values(values, task, weights)
    found = {}
    for rule in EVERY:
        decision = rule(claims)
        assert not Feasible.of(task).violations(decision.outcome)
        x = Feasible.of(task).vector(decision.outcome)
        found[rule.name] = values.reshape(3, -1) @ x
    welfare: dict[str, Callable[[Any], float]] = {
        "utilitarian_division": lambda u: float(weights @ u),
        "maximin_division": lambda u: float(u.min()),
        "nash_division": lambda u: float(weights @ np.log(u)),
        "alpha_fair_division": lambda u: float(weights @ (-1 / u)),
    }
    for name, w in welfare.items():
        best = max(w(u) for u in found.values())
        assert w(found[name]) >= best - 1e-4 * max(1.0, abs(best))
    assert found["leximin_division"].min() >= found["maximin_division"].min() - 1e-5


def test_alpha_goes_from_the_sum_over_nash_towards_the_worst_off() -> None:
    claims = Claims.from_values(own([[3.0], [2.0], [1.0]]), one_thing(6.0, [6.0] * 3))
    least = [
        min(
            v * x
            for v, x in zip((3, 2, 1), amounts(AlphaFairDivision(alpha=a)(claims)), strict=True)
        )
        for a in (0.0, 0.5, 1.0, 2.0, 8.0)
    ]
    assert least == sorted(least)
    nash = amounts(NashDivision()(claims))
    assert amounts(AlphaFairDivision(alpha=1.0)(claims)) == pytest.approx(nash, abs=2e-2)
    maximin = amounts(MaximinDivision()(claims))
    assert least[-1] == pytest.approx(maximin[2], rel=0.15)


def test_normalising_by_the_ceiling_makes_scales_harmless() -> None:
    task = one_thing(6.0, [6.0] * 3)
    for rule in (
        MaximinDivision(normalisation="ceiling"),
        UtilitarianDivision(normalisation="ceiling"),
    ):
        one = rule(Claims.from_values(own([[1.0], [1.0], [1.0]]), task))
        other = rule(Claims.from_values(own([[1.0], [50.0], [0.2]]), task))
        assert amounts(one) == pytest.approx(amounts(other), abs=1e-6)


def test_the_mean_of_plans_is_feasible_and_counts_voices() -> None:
    task = one_thing(6.0, [4.0] * 3)
    plans = [
        Outcome.of([("p", "x", 4.0), ("q", "x", 2.0)]),
        Outcome.of([("q", "x", 2.0), ("r", "x", 4.0)]),
    ]
    decision = MeanPlan()(Claims.from_plans(plans, task, weights=[3, 1]))
    assert amounts(decision) == [3.0, 2.0, 1.0]
    derived = MeanPlan()(Claims.from_values(own([[1.0], [1.0], [1.0]]), task))
    assert sum(amounts(derived)) == pytest.approx(6.0)
    assert derived.notes == ("plans derived from values, each one's best: 1, 2, 3",)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.name)
def test_totals_are_recomputed_from_the_trace(rule: DivisionRule) -> None:
    claims = Claims.from_values(own([[3.0], [2.0], [1.0]]), one_thing(6.0, [4.0] * 3))
    table = rule(claims).trace[0]
    totals = {str(row[0]): row[-1] for row in table.rows if row[0] != "weight"}
    assert recount(table) == pytest.approx(totals)


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.name)
def test_one_voter_gets_the_most_and_a_worthless_division_is_none_the_worse(
    rule: DivisionRule,
) -> None:
    task = one_thing(6.0, [4.0] * 3)
    values = np.zeros((1, 3, 1))
    values[0, 1] = 1.0
    assert amounts(rule(Claims.from_values(values, task)))[1] == pytest.approx(4.0, abs=1e-4)
    nothing = rule(Claims.from_values(np.zeros((2, 3, 1)), task))
    assert sum(amounts(nothing)) == pytest.approx(6.0)
    assert rule == RULES.build(rule.name)


def test_mistakes_are_one_clear_error() -> None:
    task = one_thing(6.0, [4.0] * 3)
    with pytest.raises(InfeasibleError, match=r"the plan of 'ann': .*x.*got 7"):
        Claims.from_plans([Outcome.of([("p", "x", 7.0)])], task, voters=["ann"])
    with pytest.raises(BallotError, match=r"values must have shape \(1, 3, 1\), not \(1, 2, 1\)"):
        Claims.from_values(np.zeros((1, 2, 1)), task)
    with pytest.raises(BallotError, match="finite and >= 0"):
        Claims.from_values(np.full((1, 3, 1), -1.0), task)
    with pytest.raises(BallotError, match="needs values, and only plans"):
        NashDivision()(Claims.from_plans([Outcome.of([("p", "x", 4.0), ("q", "x", 2.0)])], task))
    with pytest.raises(BallotError, match="about another task"):
        MeanPlan()(Claims.from_values(np.zeros((1, 3, 1)), task), one_thing(5.0, [4.0] * 3))
    with pytest.raises(BallotError, match="not about a slate"):
        Claims.from_values(np.zeros((1, 1, 1)), Feasible.of(Slate(size=1), ids=("a",)))
    ranked = Profile.from_rankings([["x"]] * 3, voters=PEOPLE)
    with pytest.raises(BallotError, match="values take ratings, and p, q, r gave none"):
        Claims.from_ratings(ranked, task)
    with pytest.raises(BallotError, match=r"the voters \['1'\] must be the task's recipients"):
        Claims.from_ratings(Profile.from_rankings([["x"]]), task)
    with pytest.raises(BallotError, match="takes Claims, not Profile"):
        NashDivision().decide(ranked, Feasible.of(task), None)  # type: ignore[arg-type]
    assert Borda.decides == "slate" and NashDivision.decides == "division"


def test_ratings_of_recipients_are_values_of_what_they_get() -> None:
    profile = Profile.from_scores([[1.0], [0.5], [0.25]], ["x"], voters=PEOPLE)
    claims = Claims.from_ratings(profile, one_thing(6.0, [4.0] * 3))
    assert claims.values is not None
    assert claims.values[:, :, 0].tolist() == np.diag([1.0, 0.5, 0.25]).tolist()
