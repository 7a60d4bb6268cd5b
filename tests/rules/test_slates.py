"""Slates that are optimal as wholes, and the optima behind them, against enumeration."""

from __future__ import annotations

import itertools
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.case import Case
from fairagents.decision import Decision
from fairagents.errors import InfeasibleError, SpecError
from fairagents.feasible import Feasible
from fairagents.optima import alpha_fair, concave, leximin
from fairagents.outcome import Linear, Outcome
from fairagents.profile import Profile
from fairagents.rules._exact import FEW
from fairagents.rules.base import Rule
from fairagents.rules.slates import LeximinSlate, MaximinSlate, NashSlate, UtilitarianSlate
from fairagents.rules.trace import recount
from fairagents.rules.welfare import Leximin
from fairagents.spec import Predicate
from fairagents.task import Clash, Divide, Exclude, GroupLimit, Include, Limit, Slate
from tests.core.toys import table

RULES: list[Rule] = [UtilitarianSlate(), MaximinSlate(), LeximinSlate(), NashSlate()]
IDS = list("abcdefg")


@st.composite
def problems(draw: st.DrawFn) -> tuple[Profile, Feasible]:
    """One to four voters, two to seven alternatives, with and without side limits."""
    m, n = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    grid = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    said = [draw(st.lists(grid, min_size=m, max_size=m)) for _ in range(n)]
    weights = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    size = draw(st.integers(1, m - 1))
    choices: list[tuple[Limit, ...]] = [
        (), (Exclude(ids=("a",)),), (Include(ids=("b",)),), (Clash(ids=("a", "b")),)
    ]  # fmt: skip
    limits = draw(st.sampled_from(choices))
    profile = Profile.from_scores(np.array(said), IDS[:m], weights)
    return profile, Feasible.of(Slate(size=size, limits=limits), ids=profile.ids)


def worths(profile: Profile, slate: tuple[int, ...]) -> Any:
    return profile.ratings[:, list(slate)].mean(axis=1)


def welfare(rule: Rule, u: Any, weights: Any) -> Any:
    """The definition of what a rule maximises, as something that sorts."""
    share = weights / weights.sum()
    if isinstance(rule, UtilitarianSlate):
        return round(float(share @ u), 6)
    if isinstance(rule, MaximinSlate):
        return float(u.min())
    if isinstance(rule, LeximinSlate):
        return tuple(np.round(np.sort(np.repeat(u, weights)), 5).tolist())
    gains = u > 1e-6
    return round(float(share[gains].sum()), 6), round(float(share[gains] @ np.log(u[gains])), 4)


@pytest.mark.parametrize("few", [0, FEW], ids=["by programme", "of all"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(problem=problems())
def test_the_slate_is_the_best_of_all(
    few: int, rule: Rule, problem: tuple[Profile, Feasible]
) -> None:
    with mock.patch("fairagents.rules.slates.FEW", few):
        check_best(few, rule, *problem)


def check_best(few: int, rule: Rule, profile: Profile, feasible: Feasible) -> None:
    slates = [
        slate
        for slate in itertools.combinations(range(len(profile.ids)), feasible.size)
        if not feasible.violations(Outcome.slate(profile.ids[i] for i in slate))
    ]
    if not slates:
        with pytest.raises(InfeasibleError):
            rule(profile, feasible)
        return
    weights = np.array([int(w) for w in profile.weights])
    decision = rule(profile, feasible)
    chosen = tuple(profile.ids.index(one) for one in decision.outcome.ids)
    found = welfare(rule, worths(profile, chosen), weights)
    all_ = {slate: welfare(rule, worths(profile, slate), weights) for slate in slates}
    best = max(all_.values())
    assert decision.optimal
    if few:
        tied = {tuple(map(profile.ids.index, one)) for one in decision.winners}
        assert tied == {slate for slate, value in all_.items() if value == best}
    if isinstance(rule, MaximinSlate):
        assert found == pytest.approx(best, abs=rule.gap)
    else:
        assert found == best
    assert_traced(decision, profile)


def assert_traced(decision: Decision, profile: Profile) -> None:
    voters, objective = decision.table("worth of the slate"), decision.table("objective")
    assert dict(recount(voters)) == pytest.approx({str(row[0]): row[-1] for row in voters.rows})
    assert [row[0] for row in voters.rows] == list(profile.voters)
    value, bound, gap = (float(cell) for cell in objective.rows[0])  # type: ignore[arg-type]
    assert bound >= value - 1e-9
    assert gap == pytest.approx(max(0.0, bound - value) / max(1.0, abs(value)), abs=2e-3)


def test_the_best_slate_is_not_the_top_of_an_order() -> None:
    profile = Profile.from_scores([[1.0, 0.4, 0.0], [0.0, 0.4, 1.0]], ["ann", "mid", "bob"])
    assert "mid" in Leximin()(profile, Slate(size=2)).outcome.ids
    assert set(MaximinSlate()(profile, Slate(size=2)).outcome.ids) == {"ann", "bob"}


def test_floors_and_caps_of_groups_bind() -> None:
    cities = table(price=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    small = Predicate(column="price", op=">", value=3)
    limits: tuple[Limit, ...] = (GroupLimit(group=small, at_least=2.0),)
    said = [[1.0, 0.9, 0.8, 0.2, 0.1, 0.0]]
    profile = Profile.from_scores(said, cities.ids)
    assert UtilitarianSlate()(profile, Slate(size=3)).outcome.ids == cities.ids[:3]
    case = Case(id="c", task=Slate(size=3, limits=limits))
    feasible = Feasible.of(case.task, case.pool(cities))
    for rule in RULES:
        decision = rule(profile, feasible)
        assert set(decision.outcome.ids) == {cities.ids[0], cities.ids[3], cities.ids[4]}


def test_limits_that_clash_are_named() -> None:
    limits = (Include(ids=("a", "b")), Clash(ids=("a", "b")))
    profile = Profile.from_scores([[1.0, 0.5, 0.0]], list("abc"))
    for rule in RULES:
        with pytest.raises(InfeasibleError, match="these clash") as caught:
            rule(profile, Slate(size=2, limits=limits))
        assert any("a" in limit for limit in caught.value.limits)


def test_a_time_limit_leaves_the_best_found_and_says_what_is_unproved() -> None:
    rng = np.random.default_rng(3)
    said = rng.random((6, 120))
    said /= said.sum(axis=0)  # ratings of each item sum to one: nothing is proved in time
    profile = Profile.from_scores(said, [f"a{i}" for i in range(120)])
    decision = MaximinSlate(time_limit=0.2, gap=1e-9)(profile, Slate(size=12))
    assert not decision.optimal
    assert decision.gap is not None and 0 < decision.gap < 0.05
    assert "not proved" in decision.explain()


# -- the optima behind them ------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_a_concave_sum_over_divisions_is_a_stationary_point(seed: int, alpha: float) -> None:
    """No transfer along any feasible direction improves a concave sum at its maximum."""
    rng = np.random.default_rng(seed)
    recipients, things = ["p", "q", "r"], ["x", "y"]
    need = {r: dict(zip(things, rng.integers(1, 5, 2).tolist(), strict=True)) for r in recipients}
    task = Divide(capacity={"x": 4, "y": 3}, need=need)
    feasible = Feasible.of(task)
    values = rng.integers(1, 6, (3, 2)) / 40
    linears = []
    for i in range(3):
        own = np.zeros((3, 2))
        own[i] = values[i]
        linears.append(Linear(own))
    weights = rng.integers(1, 4, 3).astype(float)
    curve = alpha_fair(alpha)
    found = concave(feasible, linears, weights, curve)
    assert found.optimal
    assert not feasible.violations(feasible.outcome(found.x))
    slopes = sum(
        w * curve.slope(found.worths[[i]])[0] * one.values
        for i, (w, one) in enumerate(zip(weights, linears, strict=True))
    )
    best = feasible.best(np.asarray(slopes).reshape(3, 2)).value
    assert best - float(np.asarray(slopes) @ found.x) <= 5e-3 * max(1.0, abs(best))


def test_leximin_refuses_voices_that_take_too_many_stages() -> None:
    feasible = Feasible.of(Slate(size=1), ids=("a", "b"))
    with pytest.raises(SpecError, match=r"takes 127 stages, at most 64: use rounder voices"):
        leximin(feasible, [Linear(np.array([0.1, 0.2]))] * 7, [1, 2, 4, 8, 16, 32, 64])
    with pytest.raises(SpecError, match="additive"):
        leximin(feasible, [Linear(np.zeros(2), least=((0.5, np.ones(2)),))], [1])
