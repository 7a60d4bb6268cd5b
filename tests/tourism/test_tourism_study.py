"""The declared tensions and harmonies, measured; and whether they hang on a single choice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairagents.setting import FLAT
from fairagents.usecase import Relation
from usecases.tourism import tourism
from usecases.tourism.study import (
    ALIKE,
    FLOOR,
    SURE,
    Picture,
    Unrelated,
    anew,
    best_floor,
    left_out,
    moved,
    picture,
    report,
    shuffled,
    some,
    spearman,
    unrelated,
)


@pytest.fixture(scope="module")
def base() -> Picture:
    return picture(tourism, [c for c in tourism.cases() if c.request["budget"] != "medium"])


@pytest.fixture(scope="module")
def apart() -> tuple[Unrelated, ...]:
    return unrelated(tourism, tourism.cases())


def test_enough_is_declared() -> None:
    kinds = [one.kind for one in tourism.relations]
    assert kinds.count("tension") >= 3
    assert kinds.count("harmony") >= 2
    assert all(len(one.why) > 20 for one in tourism.relations)


def test_some_objective_reads_the_whole_slate() -> None:
    reads = [o.reads for s in tourism.stakeholders for o in s.objectives]
    assert "worst" in reads


def test_every_declared_relation_holds(base: Picture) -> None:
    assert base.cases >= 60
    assert base.failures() == ()


def test_tensions_are_proved_in_most_cases(base: Picture) -> None:
    for one in base.pairs:
        if one.declared == "tension":
            assert one.proved >= 0.09
            assert one.cases_proved >= base.cases / 2


def test_no_decision_suits_all_and_none_is_hopeless(base: Picture) -> None:
    assert FLOOR[0] <= base.floor <= base.bound <= 1


def test_some_cases_meet_every_value_of_the_grid() -> None:
    cases, few = tourism.cases(), some(tourism.cases())
    for key in ("origin", "month", "budget", "party"):
        assert {c.request[key] for c in few} == {c.request[key] for c in cases}


def test_the_floor_stays_with_anyone_left_out() -> None:
    for name, floor in left_out(tourism, some(tourism.cases())).items():
        assert FLOOR[0] <= floor <= FLOOR[1], name


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("column", sorted(tourism.judged))
def test_a_level_more_or_less_changes_neither_floor_nor_likeness(column: str, step: int) -> None:
    other = moved(tourism, column, step)
    settings = [other.setting(anew(case, other)) for case in some(tourism.cases())]
    floor = np.median([best_floor(setting) for setting in settings])
    assert FLOOR[0] <= floor <= FLOOR[1]
    for setting in settings:
        assert np.abs(np.triu(spearman(setting.items), 1)).max() <= ALIKE


def test_levels_stay_within_their_scale() -> None:
    up = moved(tourism, "rail", 1).catalogue.numeric("rail")
    assert (up.min(), up.max()) == (1, 3)


def test_a_wrong_declaration_is_found() -> None:
    wrong = Relation(between=("residents", "providers"), kind="tension", why="to be refuted")
    found = picture(replace(tourism, relations=(wrong,)), some(tourism.cases(), 30))
    assert any(line.startswith("tension residents-providers") for line in found.failures())


def test_spearman_is_the_correlation_of_ranks() -> None:
    rho = spearman(np.array([[1.0, 2.0, 9.0], [3.0, 2.0, 1.0]]))
    assert rho[0, 1] == pytest.approx(-1)


def test_shuffling_keeps_the_extremes_and_nothing_else() -> None:
    alike = []
    for case in some(tourism.cases(), 40):
        setting = tourism.setting(case)
        free = setting.feasible.allowed
        for seed, (w, ends) in enumerate(zip(setting.worths, setting.extremes, strict=True)):
            mixed = shuffled(w.linear, free, seed)
            assert setting.feasible.extremes(mixed) == pytest.approx(ends)
            assert (mixed.values[~free] == w.linear.values[~free]).all()
            assert np.ptp(w.linear.values) > FLAT
            alike.append(spearman(np.array([w.linear.values[free], mixed.values[free]]))[0, 1])
    assert np.median(np.abs(alike)) < 0.1


def test_shuffling_moves_all_that_belongs_to_a_place() -> None:
    setting = tourism.setting(tourism.cases()[0])
    linear = next(w.linear for w in setting.worths if w.linear.least)
    mixed = shuffled(linear, setting.feasible.allowed, 0)
    before = sorted(zip(linear.values, linear.least[0][1], strict=True))
    assert sorted(zip(mixed.values, mixed.least[0][1], strict=True)) == before


def test_a_party_is_at_one_with_its_twin_but_not_with_the_twin_shuffled() -> None:
    residents = next(s for s in tourism.stakeholders if s.id == "residents")
    pair = (residents, residents.model_copy(update={"id": "twin"}))
    twins = replace(tourism, stakeholders=pair, relations=())
    cases = some(tourism.cases(), 12)
    (found,) = unrelated(twins, cases)
    assert found.conflict > 0.05
    assert found.difference == pytest.approx(-found.conflict, abs=0.01)
    assert (found.above, found.below, found.word) == (0, len(cases), "below")
    assert found.p == pytest.approx(2 * 0.5 ** len(cases))
    assert unrelated(twins, cases[:1]) == unrelated(twins, cases[:1])
    assert unrelated(twins, cases[:1], seed=1) != unrelated(twins, cases[:1])


@pytest.mark.study
def test_declared_harmonies_lie_below_unrelated_columns(apart: tuple[Unrelated, ...]) -> None:
    harmonies = [set(r.between) for r in tourism.relations if r.kind == "harmony"]
    found = [one for one in apart if {one.a, one.b} in harmonies]
    assert len(found) == len(harmonies) >= 2
    for one in found:
        assert one.difference < 0
        assert one.p < SURE
        assert one.word == "below"


@pytest.mark.study
def test_the_readme_tells_what_is_measured(apart: tuple[Unrelated, ...]) -> None:
    text = (Path(__file__).parents[2] / "usecases" / "tourism" / "README.md").read_text("utf-8")
    found = picture(tourism, tourism.cases())
    for one, other in zip(found.pairs, apart, strict=True):
        row = f"| {one.a}, {one.b} | {one.declared or 'open'} | {one.conflict:.3f} |"
        missed = one.missed if one.declared else "-"
        assert f"{row} {one.low:.3f} to {one.high:.3f} | {missed} |" in text
        p = "< .001" if other.p < 0.001 else f"{other.p:.2f}"
        shift = f"{other.conflict:.3f} | {other.difference:+.3f} | {other.above}"
        assert f"{row} {shift} | {p} | {other.word} |" in text
    assert f"is {found.floor:.3f} in the median" in text


@pytest.mark.study
def test_the_same_picture_everywhere() -> None:
    lines = list(report(tourism))
    assert lines[-1] == "holds everywhere"
