"""The use case as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairagents.council import Council
from fairagents.usecase import UseCase
from usecases.tourism import load_cities, tourism


def test_it_is_reached_by_name() -> None:
    assert UseCase.load("tourism") is tourism
    assert [s.id for s in tourism.stakeholders] == [
        "traveller",
        "residents",
        "providers",
        "environment",
        "platform",
    ]


def test_every_column_says_its_unit_or_meaning_and_where_it_comes_from() -> None:
    cities = load_cities()
    for name in cities.columns:
        spec = cities.spec(name)
        if name != "geonameid":
            assert spec.unit or spec.description, name
        assert spec.provenance is not None
    for name in (*tourism.judged, "interests", "season", "load"):
        provenance = cities.spec(name).provenance
        assert provenance is not None
        assert (provenance.kind, provenance.source) == ("judgement", "")


def test_judged_columns_lie_on_their_scales() -> None:
    for name, (low, high) in tourism.judged.items():
        values = load_cities().numeric(name)
        assert set(values.tolist()) <= {float(v) for v in range(low, high + 1)}


def test_every_objective_says_its_unit_and_claim() -> None:
    for stakeholder in tourism.stakeholders:
        assert stakeholder.persona
        assert stakeholder.principles
        for objective in stakeholder.objectives:
            assert objective.unit == type(objective.indicator).unit
            assert objective.claim


def test_the_readme_names_every_objective_and_relation() -> None:
    text = (Path(__file__).parents[2] / "usecases" / "tourism" / "README.md").read_text("utf-8")
    for stakeholder in tourism.stakeholders:
        for objective in stakeholder.objectives:
            assert f"| {stakeholder.id} | {objective.id} |" in text
    for relation in tourism.relations:
        assert f"| {relation.between[0]} - {relation.between[1]} | {relation.kind} |" in text


@pytest.mark.parametrize("rule", ["borda", "copeland", "nash"])
def test_a_council_decides(rule: str) -> None:
    case = tourism.cases()[0]
    ids = Council(tourism, rule=rule, seed=1).decide(case).decision.outcome.ids
    assert len(set(ids)) == 10
    assert case.request["origin"] not in ids


def test_the_graph_for_studio_compiles() -> None:
    from usecases.tourism.graph import graph

    verdict = graph.invoke({"case": tourism.cases()[0]})["verdict"]
    assert len(verdict.decision.outcome.ids) == 10
