"""The SynthTRIPs / Collab-REC file: read with its faults."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairagents.errors import CatalogueError
from usecases.tourism import load_synthtrips

HEADER = (
    "city,country,budget,walkability,aqi,popularity,low_season,medium_season,high_season,"
    "interest_type,interest_title,interest_text\n"
)
SEASONS = (
    "\"['January', 'February', 'March', 'November', 'December']\","
    "\"['April', 'May', 'June', 'September', 'October']\",\"['July', 'August']\""
)
ROWS = (
    f"Here,Land,High,Great,Good,Low,{SEASONS},see,A tower,\n"
    f"Here,Land,High,Great,Good,Low,{SEASONS},eat,An inn,\n"
    f"Mus,Turkey,not specified,not specified,not specified,High,{SEASONS},,,\n"
    "There,Land,Low,Okay,Not specified,Medium,[],[],[],do,A walk,\n"
    f"Odd,Land,Huge,Bad,Good,Low,\"['January']\",[],[],see,A gate,\n"
    f"Odd,Land,Huge,Great,Good,Low,\"['January']\",[],[],see,A wall,\n"
    f"Odd,Isle,Low,Bad,Good,Low,{SEASONS},see,A rock,\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "synth.csv"
    path.write_text(HEADER + ROWS, encoding="utf-8")
    return path


def test_one_row_per_city(file: Path) -> None:
    catalogue, report = load_synthtrips(file)
    assert catalogue.ids == ("Here", "Mus", "There", "Odd, Land", "Odd, Isle")
    assert (report.rows, report.cities) == (7, 5)
    assert catalogue.cell("Here", "pois") == 2
    assert catalogue.cell("Here", "season") == [1, 1, 1, 2, 2, 2, 3, 3, 2, 2, 1, 1]
    assert catalogue.cell("Mus", "pois") == 0


def test_missing_stays_missing_in_both_spellings(file: Path) -> None:
    catalogue, report = load_synthtrips(file)
    assert catalogue.cell("Mus", "aqi") is catalogue.cell("There", "aqi") is None
    assert report.counts["aqi"] == {"Good": 3, "": 2}


def test_faults_are_set_to_unknown_and_reported(file: Path) -> None:
    catalogue, report = load_synthtrips(file)
    text = str(report)
    assert catalogue.cell("Mus", "popularity") is None
    assert "popularity of Mus set to unknown: carries another city's numbers" in text
    assert report.counts["popularity"]["High"] == 1  # as in the file
    assert "season of There is unknown: its lists are empty" in text
    assert "season of Odd, Land set to unknown" in text
    assert "walkability of Odd, Land set to unknown: rows say Bad, Great" in text
    assert "budget of Odd, Land set to unknown: 'Huge' is none of Low, Medium, High" in text
    assert "1 rows name no point of interest" in text


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("city,country\nA,B\n", encoding="utf-8")
    with pytest.raises(CatalogueError, match="lacks 'budget'"):
        load_synthtrips(path)


@pytest.mark.data
def test_the_counts_of_the_published_file() -> None:
    folder = os.environ.get("FAIRAGENTS_DATA")
    if not folder:
        pytest.skip("not run: FAIRAGENTS_DATA is not set")
    catalogue, report = load_synthtrips(Path(folder) / "tourism" / "eu-cities-database.csv")
    assert (report.rows, report.cities, len(catalogue)) == (4767, 200, 200)
    assert report.counts["budget"] == {"High": 56, "Low": 41, "Medium": 12, "": 91}
    assert report.counts["walkability"] == {"Great": 100, "Okay": 4, "Bad": 5, "": 91}
    assert report.counts["aqi"][""] == 111
    assert report.counts["popularity"] == {"High": 70, "Medium": 65, "Low": 65}
    assert catalogue.missing() == {
        "budget": 91,
        "walkability": 91,
        "aqi": 111,
        "popularity": 5,
        "season": 5,
    }
    for city in ("Mus", "Sevilla", "Thessaloniki", "Trabzon", "Arkhangelsk"):
        assert f"popularity of {city} set to unknown" in str(report)
