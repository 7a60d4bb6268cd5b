"""Trips in Europe: five stakeholders, 309 cities, typed requests, derived and judged indicators."""

from __future__ import annotations

import tomllib
from pathlib import Path

from fairagents.usecase import Relation, Stakeholders, UseCase
from usecases.tourism.cases import standard_cases
from usecases.tourism.catalogue import JUDGED, load_cities
from usecases.tourism.request import TripRequest, trip_case

__all__ = ["TripRequest", "load_cities", "tourism", "trip_case"]


def _declared(path: Path) -> Stakeholders:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    relations = tuple(
        Relation(**{**one, "between": tuple(one["between"])}) for one in data.pop("relations")
    )
    return Stakeholders.from_data(data, path.name).model_copy(update={"relations": relations})


DECLARED = _declared(Path(__file__).resolve().parent / "stakeholders.toml")
"""The five stakeholders and what they are declared to be to each other."""

tourism = UseCase(
    name="tourism",
    catalogue=load_cities(),
    stakeholders=DECLARED.stakeholders,
    relations=DECLARED.relations,
    request=TripRequest,
    make_case=trip_case,
    make_cases=standard_cases,
    judged=JUDGED,
)
"""The use case `UseCase.load("tourism")`."""
