"""What the stakeholders read of each city."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from fairagents.case import Pool
from fairagents.spec import INDICATORS, Floats, Indicator
from usecases.tourism import TripRequest, load_cities, trip_case
from usecases.tourism.indicators import (
    Acceptance,
    Comfort,
    Crowding,
    Emissions,
    Match,
    Obscurity,
    Overspend,
    Size,
    Slack,
)

CITIES = load_cities()
ALL = (Acceptance, Comfort, Crowding, Emissions, Match, Obscurity, Overspend, Size, Slack)


def pool(**fields: Any) -> Pool:
    return trip_case(TripRequest(**{"origin": "Berlin", "month": 7, **fields})).pool(CITIES)


def read(indicator: Indicator, **fields: Any) -> Floats:
    return pool(**fields).values(indicator)


def at(values: Floats, city: str) -> float:
    return float(values[CITIES.row(city)])


def test_names_lead_to_the_indicators() -> None:
    for name in ("emissions", "crowding", "match", "comfort", "acceptance", "obscurity"):
        assert INDICATORS.build(name).name == name
        assert INDICATORS.dump(INDICATORS.build(name)) == name


@pytest.mark.parametrize("indicator", ALL)
def test_each_has_a_unit_and_is_known_for_every_city(indicator: type[Indicator]) -> None:
    values = read(indicator())
    assert indicator.unit
    assert np.isfinite(values).all()
    assert set(indicator().requires()) <= set(CITIES.columns)


def test_match_is_the_share_of_interests() -> None:
    values = read(Match(), interests=["art", "beach", "food", "nightlife"])
    assert at(values, "Barcelona") == 1.0
    assert at(values, "Zermatt") == 0.0
    assert read(Match()).min() == 1.0


def test_a_tag_to_avoid_matches_nothing() -> None:
    values = read(Match(), interests=["art", "museums"], avoid=["nightlife"])
    assert at(values, "Amsterdam") == 0.0
    assert at(values, "Florence") == 1.0


@pytest.mark.parametrize(("budget", "over"), [("low", 3), ("medium", 2), ("high", 0)])
def test_overspend_is_in_levels(budget: str, over: float) -> None:
    assert at(read(Overspend(), budget=budget), "Amsterdam") == over


def test_comfort_knows_light_season_and_air() -> None:
    winter, summer = read(Comfort(), month=1), read(Comfort(), month=7)
    assert at(summer, "Tromso") > at(winter, "Tromso")
    assert at(winter, "Zermatt") > at(winter, "Warsaw")
    assert 0 <= min(winter.min(), summer.min()) <= max(winter.max(), summer.max()) <= 1


def test_crowding_is_the_written_formula_and_holds_the_load_of_this_trip() -> None:
    values = read(Crowding(), days=5, party="group")
    july = CITIES.monthly("load")[:, 6]
    own = 8 * 5 / 100
    expected = (CITIES.numeric("visitors") * july + own) / CITIES.numeric("capacity")
    assert values == pytest.approx(expected)


def test_a_small_town_feels_a_group_more() -> None:
    more = read(Crowding(), days=7, party="group") - read(Crowding(), days=7, party="solo")
    assert more.min() > 0
    assert at(more, "Hallstatt") > 3 * at(more, "London")


def test_providers_want_what_is_little_known_and_has_room() -> None:
    assert at(read(Obscurity()), "Paris") == 1
    assert at(read(Obscurity()), "Arad") == 5
    assert at(read(Slack(), month=1), "Ibiza") > at(read(Slack(), month=8), "Ibiza")
    assert at(read(Size()), "Hallstatt") < at(read(Size()), "Paris")


def test_emissions_grow_with_distance_within_a_mode() -> None:
    values = read(Emissions())
    assert at(values, "Berlin") == 0
    assert at(values, "Leipzig") < at(values, "Vienna") < at(values, "Madrid")
    assert at(values, "Madrid") < at(values, "Nicosia")
    assert at(values, "Palma") > 5 * at(values, "Munich")


def test_emissions_take_less_than_200_microseconds() -> None:
    case = trip_case(TripRequest(origin="Berlin", month=7))
    best = float("inf")
    for _ in range(50):
        fresh = case.pool(CITIES)
        start = time.perf_counter()
        Emissions().values(fresh)
        best = min(best, time.perf_counter() - start)
    assert best < 200e-6


def test_what_is_known_fits_and_is_near_is_booked() -> None:
    values = read(Acceptance(), interests=["art", "museums"], budget="high")
    assert at(values, "Paris") > at(values, "Arad")
    assert 0 <= values.min() <= values.max() <= 1
