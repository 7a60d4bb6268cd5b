"""Trips in Europe: five stakeholders, 309 cities, typed requests, derived and judged indicators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from fairagents.spec import Column
from fairagents.usecase import Fact, Stakeholders, UseCase
from usecases.tourism.cases import standard_cases
from usecases.tourism.catalogue import (
    JUDGED,
    TEMPLATE,
    load_cities,
    own_catalogue,
    switched_off,
)
from usecases.tourism.indicators import Crowding, Emissions
from usecases.tourism.request import TripRequest, months_of, trip_case
from usecases.tourism.synthtrips import load_synthtrips

__all__ = [
    "TripRequest",
    "load_cities",
    "load_synthtrips",
    "own_catalogue",
    "standard_cases",
    "tourism",
    "tourism_on",
    "trip_case",
]

DECLARED: Final = Stakeholders.load(Path(__file__).resolve().parent / "stakeholders.toml")
"""The five stakeholders and what they are declared to be to each other."""

FACTS: Final = (
    Fact(key="emissions", label="emissions", indicator=Emissions()),
    Fact(key="price", label="price", indicator=Column(column="price")),
    Fact(key="crowding", label="crowding", indicator=Crowding(), digits=2),
)
"""Shown beside each place: kg CO2e per person, price level, crowding with this trip's load."""


def tourism_on(path: str | Path) -> tuple[UseCase, tuple[str, ...]]:
    """Return the use case over a user's own CSV of places, with lines that say what that means.

    An objective whose columns are missing is left out, and a stakeholder without any objective
    left is dropped; the lines say so. It has no standard cases.

    Raises:
        CatalogueError: as `own_catalogue`.
    """
    catalogue, lines = own_catalogue(path)
    notes = [*lines, *switched_off(catalogue, DECLARED.stakeholders)]
    kept = []
    for stakeholder in DECLARED.stakeholders:
        left = [
            objective
            for objective in stakeholder.objectives
            if all(name in catalogue for name in objective.indicator.requires())
        ]
        if left:
            kept.append(stakeholder.model_copy(update={"objectives": tuple(left)}))
        else:
            notes.append(f"{stakeholder.id} is dropped: no objective of it can be computed")
    ids = {stakeholder.id for stakeholder in kept}
    found = replace(
        tourism,
        catalogue=catalogue,
        stakeholders=tuple(kept),
        relations=tuple(one for one in DECLARED.relations if set(one.between) <= ids),
        make_cases=None,
        judged={name: scale for name, scale in JUDGED.items() if name in catalogue},
        facts=tuple(
            fact for fact in FACTS if all(name in catalogue for name in fact.indicator.requires())
        ),
    )
    return found, tuple(notes)


tourism: Final = UseCase(
    name="tourism",
    catalogue=load_cities(),
    stakeholders=DECLARED.stakeholders,
    relations=DECLARED.relations,
    request=TripRequest,
    make_case=trip_case,
    make_cases=standard_cases,
    judged=JUDGED,
    facts=FACTS,
    variants=months_of,
    adopt=tourism_on,
    template=TEMPLATE.read_text(encoding="utf-8"),
)
"""The use case `UseCase.load("tourism")`."""
