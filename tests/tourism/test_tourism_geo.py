"""Distance, ways of travel, emissions, daylight and season class."""

from __future__ import annotations

import numpy as np
import pytest

from usecases.tourism import geo, load_cities

CITIES = load_cities()
LATS, LONS = CITIES.numeric("latitude"), CITIES.numeric("longitude")
LANDS = geo.lands(LATS, LONS)


def way(origin: str, target: str) -> str:
    """Return how one gets from one city to another."""
    i, j = CITIES.row(origin), CITIES.row(target)
    km = geo.distance(LATS[i], LONS[i], LATS[[j]], LONS[[j]])
    rails = CITIES.numeric("rail")
    land = geo.land_at(float(LATS[i]), float(LONS[i]))
    return geo.MODES[geo.mode(km, float(rails[i]), rails[[j]], land, LANDS[[j]])[0]]


@pytest.mark.parametrize(
    ("first", "second", "km"),
    [("Paris", "London", 344), ("Berlin", "Rome", 1184), ("Lisbon", "Helsinki", 3361)],
)
def test_distances_are_those_of_the_great_circle(first: str, second: str, km: float) -> None:
    i, j = CITIES.row(first), CITIES.row(second)
    there = geo.distance(LATS[i], LONS[i], LATS[[j]], LONS[[j]])[0]
    back = geo.distance(LATS[j], LONS[j], LATS[[i]], LONS[[i]])[0]
    assert there == pytest.approx(back) == pytest.approx(km, rel=0.01)


@pytest.mark.parametrize(
    ("city", "land"),
    [
        ("Reykjavik", "Iceland"),
        ("Akureyri", "Iceland"),
        ("Dublin", "Ireland"),
        ("Belfast", "Ireland"),
        ("London", "Great Britain"),
        ("Inverness", "Great Britain"),
        ("Cardiff", "Great Britain"),
        ("Helsinki", "Finland"),
        ("Rovaniemi", "Finland"),
        ("Visby", "Gotland"),
        ("Ajaccio", "Corsica"),
        ("Cagliari", "Sardinia"),
        ("Palma", "Mallorca"),
        ("Ibiza", "Ibiza"),
        ("Valletta", "Malta"),
        ("Nicosia", "Cyprus"),
        ("Chania", "Crete"),
        ("Corfu", "Corfu"),
        ("Santorini", "Santorini"),
        ("Mykonos", "Mykonos"),
        ("Hvar", "Hvar"),
        ("Capri", "Capri"),
        ("Rhodes", "Rhodes"),
        ("Palermo", "mainland"),
        ("Copenhagen", "mainland"),
        ("Stockholm", "mainland"),
        ("Tallinn", "mainland"),
        ("Lille", "mainland"),
        ("Naples", "mainland"),
        ("Split", "mainland"),
        ("Athens", "mainland"),
    ],
)
def test_lands(city: str, land: str) -> None:
    row = CITIES.row(city)
    assert geo.LAND_NAMES[LANDS[row]] == land
    assert geo.land_at(float(LATS[row]), float(LONS[row])) == LANDS[row]


@pytest.mark.parametrize(
    ("first", "second", "mode"),
    [
        ("Paris", "London", "rail"),  # the tunnel, hub to hub
        ("Paris", "Edinburgh", "plane"),  # the tunnel takes hubs only
        ("London", "Edinburgh", "rail"),
        ("London", "Dublin", "plane"),
        ("Dublin", "Cork", "rail"),
        ("Berlin", "Vienna", "rail"),
        ("Berlin", "Madrid", "plane"),  # too far
        ("Stockholm", "Copenhagen", "rail"),
        ("Stockholm", "Helsinki", "plane"),
        ("Helsinki", "Tampere", "rail"),
        ("Split", "Dubrovnik", "coach"),
        ("Reykjavik", "Akureyri", "coach"),
        ("Athens", "Santorini", "plane"),
        ("Palma", "Ibiza", "plane"),
        ("Rome", "Capri", "plane"),
        ("Nicosia", "Limassol", "coach"),
    ],
)
def test_ways(first: str, second: str, mode: str) -> None:
    assert way(first, second) == way(second, first) == mode


def test_no_train_reaches_an_island_from_elsewhere() -> None:
    rails = np.full(len(CITIES), 3.0)
    islands = ~np.isin(LANDS, [0, geo.LAND_NAMES.index("Great Britain")])
    km = np.full(len(CITIES), 100.0)
    assert (geo.mode(km, 3.0, rails, 0, LANDS)[islands] == geo.PLANE).all()


def test_an_unknown_rail_level_is_no_rail() -> None:
    modes = geo.mode(np.array([100.0, 900.0]), 3.0, np.full(2, np.nan), 0, np.zeros(2, np.int64))
    assert modes.tolist() == [geo.COACH, geo.PLANE]


def test_emissions_are_the_written_formula() -> None:
    km = np.array([500.0, 400.0, 1000.0])
    expected = [2 * 0.03546 * 600, 2 * 0.02776 * 480, 2 * 0.12576 * 1095]
    assert geo.emissions(km, np.array([0, 1, 2])).tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("latitude", "month", "low", "high"),
    [
        (0, 3, 11.9, 12.1),
        (52, 6, 16.2, 16.8),
        (52, 12, 7.4, 8.0),
        (69.6, 6, 24, 24),
        (69.6, 12, 0, 0),
    ],
)
def test_daylight(latitude: float, month: int, low: float, high: float) -> None:
    assert low <= geo.daylight(np.array([latitude]), month)[0] <= high


def test_season_classes() -> None:
    load = CITIES.monthly("load")
    ibiza = [geo.season_class(v) for v in load[CITIES.row("Ibiza")]]
    assert ibiza[0] == "low"
    assert ibiza[7] == "high"
    brussels = {geo.season_class(v) for v in load[CITIES.row("Brussels")]}
    assert brussels == {"shoulder"}
