"""Measures against golden values, definitions written out, and planted answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.agents.base import Agent
from fairagents.agents.scripted import Random, Utility
from fairagents.case import Case
from fairagents.council import Council
from fairagents.decision import Result
from fairagents.errors import InfeasibleError, SpecError
from fairagents.evaluators.base import EVALUATORS, Evaluator, Evidence, evaluate
from fairagents.evaluators.collective import Gini, WorstOff, gini
from fairagents.evaluators.individual import Alignment, Regret, Satisfaction, aligned
from fairagents.setting import Setting
from tests.core.toys import TRIO, Silent, agents, case, golden, party, problems, table, trio

GINI = [c for c in golden("inequality.json")["cases"] if c["metric"] == "gini"]


@pytest.mark.parametrize("one", [c for c in GINI if c["check"] == "strict"], ids=lambda c: c["id"])
def test_gini_reproduces_the_published_values(one: dict[str, Any]) -> None:
    found = gini(one["inputs"]["x"])
    assert found.value == pytest.approx(one["value"], abs=one["tolerance"])
    assert found.status == "ok"
    assert found.n == len(one["inputs"]["x"])


@pytest.mark.parametrize(
    ("x", "status", "value"),
    [
        ([], "undefined", None),
        ([0, 0], "undefined", None),
        ([1, -1], "undefined", None),
        ([5], "degenerate", 0.0),
        ([2, 2, 2], "ok", 0.0),
        ([0, 0, 0, 1], "ok", 0.75),
    ],
)
def test_gini_says_when_it_is_not_defined(x: list[float], status: str, value: float | None) -> None:
    found = gini(x)
    assert (found.status, found.value) == (status, value)
    assert bool(found.reason) == (status != "ok")


@given(st.lists(st.floats(0, 10), min_size=2, max_size=8).filter(lambda x: sum(x) > 1e-3))
def test_gini_is_the_mean_difference_over_twice_the_mean(x: list[float]) -> None:
    n = len(x)
    wanted = sum(abs(a - b) for a in x for b in x) / (2 * n * sum(x))
    found = gini(x).value
    assert found == pytest.approx(wanted, abs=1e-9)
    assert gini([3 * v for v in x]).value == pytest.approx(found)
    assert gini(x + x).value == pytest.approx(found)


@settings(max_examples=25, deadline=None)
@given(problems())
def test_results_follow_their_definitions(problem: tuple[Council, Case]) -> None:
    council, one = problem
    try:
        verdict = council.run(one)
    except InfeasibleError:
        return
    setting = Setting(one, council.setup.catalogue, [a.stakeholder for a in council.setup.agents])
    worths = setting.of(verdict.decision.outcome)
    attained = []
    for i, (who, (low, high, _)) in enumerate(
        zip(council.setup.stakeholders, setting.extremes, strict=True)
    ):
        assert verdict.value("satisfaction", who) == pytest.approx(worths[i])
        regret = verdict.result("regret", who)
        if high - low <= 1e-9:
            assert (regret.status, regret.value) == ("degenerate", 0.0)
        else:
            assert regret.value == pytest.approx((high - worths[i]) / (high - low), abs=1e-5)
            assert regret.value is not None
            attained.append(1 - regret.value)
        vote = next(v for v in verdict.votes if v.stakeholder == who)
        alignment = verdict.result("alignment", who)
        if vote.status == "abstained":
            assert (alignment.status, alignment.reason) == (
                "undefined",
                "no ballot in the last round",
            )
        elif alignment.value is not None:
            assert alignment.value <= 1 + 1e-9
            if vote.policy in ("utility", "utility(form='ranking')"):
                assert alignment.value == pytest.approx(1, abs=1e-4)
    worst, spread = verdict.result("worst_off"), verdict.result("gini")
    assert worst.n == spread.n == len(attained)
    if attained:
        assert worst.value == pytest.approx(min(attained))
        if sum(attained) > 0:
            assert spread.value == pytest.approx(gini(attained).value, abs=1e-9)
    for result in verdict.results:
        low_, high_ = result.range
        if result.value is not None:
            assert low_ is None or result.value >= low_
            assert high_ is None or result.value <= high_ + 1e-9
            assert math.copysign(1, result.value) > 0 or result.value < 0
        assert result.value is not None or result.reason


def test_the_worst_possible_outcome_leaves_nothing_attained_and_gini_defined() -> None:
    # Sums of the same thirds in another order may differ in the last bit.
    values = [0.1, 0.2, 0.3, 0.7, 0.9, 1.0]
    for size in range(1, 6):
        catalogue = table(ann=values, bob=values[::-1], eve=values)
        council = Council(catalogue, agents(party("ann"), party("bob"), party("eve")))
        for ids in (catalogue.ids[:size], catalogue.ids[-size:]):
            setting = Setting(case(size), catalogue, [a.stakeholder for a in council.setup.agents])
            from fairagents.outcome import Outcome

            regret = setting.regret(setting.of(Outcome.slate(ids)))
            assert ((regret >= 0) & (regret <= 1)).all()
            assert sorted(regret.round(12).tolist()) in ([0, 0, 1], [0, 1, 1])


def test_no_result_is_minus_zero() -> None:
    found = Gini().result("collective", -1e-17, n=2).value
    assert found is not None
    assert math.copysign(1, found) == 1


def test_worst_off_names_who_it_is() -> None:
    verdict = trio().decide(case(1, candidates=["a", "b"]))
    worst = verdict.result("worst_off")
    least = max(verdict.results, key=lambda r: (r.measure == "regret") * (r.value or 0))
    assert least.subject in worst.reason
    assert WorstOff(scale="worth").label == "worst_off(scale='worth')"


# -- alignment -----------------------------------------------------------------------------------


def brute(places: list[float], items: list[float], k: int) -> float | None:
    """The definition by resolving ties at the cut in every possible way and averaging."""
    from itertools import permutations

    m = len(items)
    k = min(k, m)
    orders = {tuple(sorted(p, key=lambda i: places[i])) for p in permutations(range(m))}
    top = [sum(items[i] for i in order[:k]) / k for order in orders]
    mean, best = sum(items) / m, sum(sorted(items)[-k:]) / k
    return None if best - mean <= 1e-9 else (sum(top) / len(top) - mean) / (best - mean)


GRID = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(GRID, GRID), min_size=2, max_size=5), st.integers(1, 6))
def test_alignment_is_the_mean_over_all_ways_to_break_ties(
    pairs: list[tuple[float, float]], k: int
) -> None:
    places, items = [p for p, _ in pairs], [i for _, i in pairs]
    found = float(aligned(np.array([places]), np.array([items]), k)[0])
    wanted = brute(places, items, k)
    assert (None if math.isnan(found) else found) == (
        wanted if wanted is None else pytest.approx(wanted)
    )


def test_random_votes_align_at_zero_in_expectation_and_sincere_ones_at_one() -> None:
    rng = np.random.default_rng(0)
    catalogue = table(ann=rng.random(12).tolist(), bob=rng.random(12).tolist())
    people = (party("ann"), party("bob"))
    bound = [
        Agent(stakeholder=s, policy=p) for s, p in zip(people, (Random(), Utility()), strict=True)
    ]
    council = Council(catalogue, bound)
    verdicts = [council.run(case(4, id=f"c{i}")) for i in range(400)]
    random = np.array([v.value("alignment", "ann") for v in verdicts], dtype=float)
    assert abs(random.mean()) < 4 * random.std() / 20
    assert random.std() > 0.1
    assert {v.value("alignment", "bob") for v in verdicts} == {1.0}


def test_an_opposed_vote_aligns_below_zero_and_a_flat_worth_is_undefined() -> None:
    items = np.array([[0.0, 0.5, 1.0]])
    assert aligned(items, items, 1)[0] == pytest.approx(-1.0)
    assert np.isnan(aligned(items, np.full((1, 3), 0.4), 1)[0])


# -- as results ----------------------------------------------------------------------------------


def test_a_result_carries_its_conventions_range_and_direction() -> None:
    verdict = trio(evaluators=(Alignment(k=1), Gini(scale="worth"), Regret())).decide(case())
    found = verdict.result("alignment", "ann")
    assert found.conventions == (("k", "1"),)
    assert found.range == (None, 1.0)
    assert verdict.result("gini").direction == "down"
    assert verdict.result("gini").conventions == (("scale", "worth"),)
    with pytest.raises(KeyError, match="no result 'satisfaction' of 'ann'; there are"):
        verdict.value("satisfaction", "ann")


class Broken(Evaluator):
    """Crashes."""

    def measure(self, evidence: Evidence) -> tuple[Result, ...]:
        return (self.result("x", 1 / 0, n=1),)


class Refusing(Evaluator):
    """Complains as the package does."""

    def measure(self, evidence: Evidence) -> tuple[Result, ...]:
        raise SpecError("that can't be measured")


def test_a_crash_of_an_evaluator_is_data_and_the_others_go_on() -> None:
    verdict = trio(evaluators=(Broken(), Satisfaction())).decide(case())
    failed = verdict.results[0]
    assert (failed.measure, failed.status, failed.value) == ("broken", "failed", None)
    assert "ZeroDivisionError" in failed.reason
    assert len(verdict.results) == 4
    many = trio(evaluators=(Broken(), Satisfaction())).decide_many([case()])
    assert np.isnan(many.values("broken")).all()


def test_an_error_on_purpose_passes_through() -> None:
    with pytest.raises(SpecError, match="can't be measured"):
        trio(evaluators=(Refusing(),)).decide(case())


@pytest.mark.parametrize("name", list(EVALUATORS))
def test_an_evaluator_is_written_and_read_back(name: str) -> None:
    one = EVALUATORS.build(name)
    assert EVALUATORS.build(EVALUATORS.dump(one)) == one
    assert one.name == name
    assert one.formula
    assert one.source


def test_nobody_at_stake_is_undefined_not_perfect() -> None:
    council = Council(table(flat=[0.5, 0.5]), agents(party("flat")))
    verdict = council.decide(case(1))
    assert verdict.result("worst_off").status == "undefined"
    assert verdict.result("gini").status == "undefined"
    assert verdict.result("regret", "flat").status == "degenerate"
    assert verdict.result("alignment", "flat").status == "undefined"
    many = council.decide_many([case(1)])
    assert np.isnan(many.values("worst_off")[0])
    assert np.isnan(many.values("gini")[0])
    assert many.values("regret", "flat")[0] == 0


def test_who_abstained_is_measured_by_its_worth_but_has_no_alignment() -> None:
    bound = (*agents(party("ann"), party("bob")), Agent(stakeholder=party("eve"), policy=Silent()))
    verdict = Council(TRIO, bound).decide(case())
    assert verdict.result("alignment", "eve").status == "undefined"
    assert verdict.value("satisfaction", "eve") is not None
    assert list(evaluate((), None)) == []  # type: ignore[arg-type]
