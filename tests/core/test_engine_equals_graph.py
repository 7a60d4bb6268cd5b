"""The graph, the engine and the vectorised engine are three ways to one verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.agents.base import Agent
from fairagents.agents.scripted import Utility
from fairagents.case import Case
from fairagents.council import Council
from fairagents.decision import Verdict
from fairagents.errors import InfeasibleError
from fairagents.verdicts import Verdicts, _vectorises
from tests.core.toys import TRIO, agents, case, party, problems, trio


def assert_row(verdicts: Verdicts, i: int, verdict: Verdict) -> None:
    """The columns of a row say what a whole verdict says."""
    assert verdicts.outcome(i) == verdict.decision.outcome.ids
    for result in verdict.results:
        value = verdicts.values(result.measure, result.subject)[i]
        assert (None if np.isnan(value) else value) == pytest.approx(result.value, abs=1e-11)


@settings(max_examples=15, deadline=None)
@given(problems())
def test_graph_engine_and_decide_many_agree_to_the_byte(problem: tuple[Council, Case]) -> None:
    council, one = problem
    try:
        verdict = council.run(one)
    except InfeasibleError as error:
        for way in (council.decide, lambda c: council.decide_many([c])):
            with pytest.raises(InfeasibleError) as found:
                way(one)
            assert found.value.limits == error.limits
        return
    assert council.decide(one).canonical() == verdict.canonical()
    many = council.decide_many([one, one])
    assert many[1].canonical() == verdict.canonical()
    assert_row(many, 1, verdict)
    graph = council.decide_many([one], engine=False)
    assert graph[0].canonical() == verdict.canonical()
    assert_row(graph, 0, verdict)


@settings(max_examples=25, deadline=None)
@given(problems(additive=True), st.integers(1, 4))
def test_the_vectorised_engine_gives_the_same_columns(
    problem: tuple[Council, Case], count: int
) -> None:
    council, one = problem
    bound = tuple(
        Agent(stakeholder=a.stakeholder, policy=Utility(digits=2)) for a in council.setup.agents
    )
    council.setup = replace(council.setup, agents=bound)
    cases = [
        one.model_copy(update={"id": f"c{i}", "task": one.task.model_copy(update={"limits": ()})})
        for i in range(count)
    ]
    many = council.decide_many(iter(cases))
    for i, each in enumerate(cases):
        assert_row(many, i, council.run(each))


def test_borda_over_additive_worth_is_vectorised() -> None:
    assert _vectorises(trio().setup)
    assert not _vectorises(trio(rule="nash_slate").setup)
    assert not _vectorises(trio("random").setup)


def test_voices_too_fine_for_whole_numbers_fall_back_to_exact_arithmetic() -> None:
    voices = (0.1234567890123456, 1e-9, 1e9)
    parties = [party(x, voice=v) for x, v in zip(("ann", "bob", "eve"), voices, strict=True)]
    council = Council(TRIO, agents(*parties))
    assert not _vectorises(council.setup)
    assert_row(council.decide_many([case()]), 0, council.decide(case()))


@pytest.mark.parametrize("candidates", [(), ("b", "c", "e", "f"), ("f", "e", "d", "c", "b")])
def test_candidates_in_any_order_give_the_same_columns(candidates: tuple[str, ...]) -> None:
    cases = [case(id=f"c{i}", candidates=candidates) for i in range(5)]
    many = trio().decide_many(cases)
    for i, one in enumerate(cases):
        assert_row(many, i, trio().decide(one))


def test_cases_with_and_without_candidates_in_one_batch() -> None:
    cases = [case(id="all"), case(id="six", candidates=tuple("fedcba")), case(3, id="three")]
    many = trio().decide_many(cases)
    for i, one in enumerate(cases):
        assert_row(many, i, trio().decide(one))
    assert many.outcomes.shape == (3, 3)
    assert (many.outcomes[:2, 2] == -1).all()
