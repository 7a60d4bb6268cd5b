"""Verdicts as columns: rows, values, whole verdicts on demand, bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from fairagents import verdicts as module
from fairagents.case import Case
from fairagents.council import Council
from fairagents.errors import InfeasibleError
from tests.core.toys import TRIO, agents, case, party, trio


def test_columns_hold_one_row_per_case_in_order() -> None:
    cases = [case(size, id=f"c{size}") for size in (3, 1, 2)]
    many = trio().decide_many(cases)
    assert len(many) == 3
    assert many.cases == ("c3", "c1", "c2")
    assert [len(many.outcome(i)) for i in range(3)] == [3, 1, 2]
    assert ("satisfaction", "ann") in many.measures
    assert many.values("gini").shape == (3,)
    with pytest.raises(KeyError, match="no column 'gini of ann'; did you mean"):
        many.values("gini", "ann")


def test_no_cases_are_no_verdicts() -> None:
    for engine in (True, False):
        many = trio().decide_many([], engine=engine)
        assert len(many) == 0
        assert many.measures == ()


def test_whole_verdicts_are_read_one_at_a_time() -> None:
    many = trio().decide_many([case(id="a"), case(id="b")])
    assert many[1].case.id == many[-1].case.id == "b"
    assert many[int(np.int64(0))].case.id == "a"
    with pytest.raises(IndexError):
        many[2]
    with pytest.raises(TypeError, match="one at a time"):
        many[0:1]
    assert [v.case.id for v in many] == ["a", "b"]


def test_cases_from_an_iterator_give_columns_but_no_whole_verdicts() -> None:
    many = trio().decide_many(case(id=f"c{i}") for i in range(3))
    assert many.values("gini").shape == (3,)
    with pytest.raises(TypeError, match="give a list to get whole verdicts"):
        many[0]


def test_cases_are_taken_in_batches_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 4)
    taken: list[int] = []
    finished: list[int] = []
    real = module._vectorised

    def spied(setup: object, chunk: list[Case]) -> object:
        finished.append(len(chunk))
        assert sum(finished) == len(taken)
        return real(setup, chunk)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_vectorised", spied)

    def cases() -> Iterator[Case]:
        for i in range(10):
            taken.append(i)
            yield case(id=f"c{i}")

    many = trio().decide_many(cases())
    assert finished == [4, 4, 2]
    monkeypatch.undo()
    whole = trio().decide_many([case(id=f"c{i}") for i in range(10)])
    assert many.outcomes.tolist() == whole.outcomes.tolist()
    for key in whole.measures:
        assert many.values(*key).tolist() == whole.values(*key).tolist()


def test_an_infeasible_case_among_many_is_an_error() -> None:
    council = Council(TRIO, agents(party("ann")))
    with pytest.raises(InfeasibleError):
        council.decide_many([case(1), case(7)])
