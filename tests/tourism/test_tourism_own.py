"""A user's own CSV of places."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from fairagents.council import Council
from fairagents.errors import CatalogueError, SpecError
from usecases.tourism import TripRequest, load_cities, own_catalogue, tourism_on, trip_case
from usecases.tourism.catalogue import DATA, TEMPLATE

PLACES = "id,latitude,longitude\nA,48.0,16.0\nB,47.0,15.0\nC,40.0,10.0\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "own.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_template_has_everything() -> None:
    usecase, lines = tourism_on(TEMPLATE)
    assert [s.id for s in usecase.stakeholders] == [
        "traveller",
        "residents",
        "providers",
        "environment",
        "platform",
    ]
    assert not [line for line in lines if line.startswith("missing")]
    assert "population: unknown for 1 of 3 places" in lines
    case = trip_case(TripRequest(origin="Vienna", month=5), 2, catalogue=usecase.catalogue)
    assert len(Council(usecase).decide(case).decision.outcome.ids) == 2


def test_our_own_file_reads_as_the_shipped_catalogue() -> None:
    catalogue, _ = own_catalogue(DATA / "cities.csv")
    assert catalogue.digest == load_cities().digest


def test_coordinates_alone_leave_the_climate(tmp_path: Path) -> None:
    usecase, lines = tourism_on(write(tmp_path, PLACES))
    assert [s.id for s in usecase.stakeholders] == ["environment"]
    assert usecase.relations == ()
    text = "\n".join(lines)
    assert "3 places; columns found: latitude, longitude" in text
    assert "missing: price: switches off traveller/price, platform/acceptance" in text
    assert "missing: rail: no trips by train" in text
    for name in ("traveller", "residents", "providers", "platform"):
        assert f"{name} is dropped" in text
    case = trip_case(TripRequest(origin="Vienna", month=5), 2, catalogue=usecase.catalogue)
    assert set(Council(usecase).decide(case).decision.outcome.ids) == {"A", "B"}


def test_a_stakeholder_keeps_what_can_be_computed(tmp_path: Path) -> None:
    text = "id,latitude,longitude,price,mayor\nA,48.0,16.0,2,x\nB,47.0,15.0,,y\n"
    usecase, lines = tourism_on(write(tmp_path, text))
    kept = {s.id: [o.id for o in s.objectives] for s in usecase.stakeholders}
    assert kept == {"traveller": ["price"], "environment": ["emissions"]}
    assert "columns not used: mayor" in lines
    assert "price: unknown for 1 of 2 places" in lines
    assert usecase.judged == {"price": (1, 5)}


def test_an_empty_column_counts_as_missing(tmp_path: Path) -> None:
    text = "id,latitude,longitude,air\nA,48.0,16.0,\nB,47.0,15.0,\n"
    _, lines = tourism_on(write(tmp_path, text))
    assert "columns with empty cells only, taken as missing: air" in lines
    assert "missing: air: switches off traveller/comfort" in lines


def test_twelve_numbers_stand_for_a_season(tmp_path: Path) -> None:
    load = "|".join(["1"] * 12)
    text = f"id,latitude,longitude,visitors,capacity,load\nA,48.0,16.0,3,2,{load}\n"
    usecase, _ = tourism_on(write(tmp_path, text))
    assert "residents" in {s.id for s in usecase.stakeholders}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,lat,lon\nA,1,2\n", "no column 'latitude', 'longitude'; it has 'id', 'lat', 'lon'"),
        ("name,latitude,longitude\nA,1,2\n", "no column 'id'"),
        ("id,latitude,longitude\n", "has no rows"),
        ("id,latitude,longitude\nA,95,2\n", "'latitude', 'A': 95 is not between -90 and 90"),
        ("id,latitude,longitude\nA,1,2\nB,,2\n", "'latitude', 'B': empty"),
        ("id,latitude,longitude,price\nA,1,2,120\n", "'price', 'A': 120 is not between 1 and 5"),
        ("id,latitude,longitude,season\nA,1,2,sumer\n", "no curve 'sumer'; did you mean 'summer'"),
        ("id,latitude,longitude\nA,1\n", "line 2: 2 cells, not 3"),
        ("id,latitude,longitude\nA,1,2\nA,1,2\n", "'A' is given twice"),
    ],
)
def test_a_wrong_file_is_explained(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        tourism_on(write(tmp_path, text))


def test_interests_need_a_column(tmp_path: Path) -> None:
    usecase, _ = tourism_on(write(tmp_path, PLACES))
    request = TripRequest(origin="Vienna", month=5, interests=("wine",))
    with pytest.raises(SpecError, match="the catalogue has no interests"):
        trip_case(request, 2, catalogue=usecase.catalogue)


def test_the_template_has_the_columns_of_the_shipped_file() -> None:
    with TEMPLATE.open(encoding="utf-8") as mine, (DATA / "cities.csv").open() as shipped:
        columns, known = next(csv.reader(mine)), next(csv.reader(shipped))
    assert set(columns) == set(known) - {"country", "country_code", "geonameid"}
