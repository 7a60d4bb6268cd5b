"""The file of the SynthTRIPs / Collab-REC knowledge base, with its faults handled and reported.

One row per point of interest; a city's attributes repeat. The file is third-party data and not
part of this project. Only counts of points of interest are read, never their texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.errors import CatalogueError
from fairagents.spec import Provenance
from fairagents.tables import read_table
from usecases.tourism.request import MONTHS

LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "budget": ("Low", "Medium", "High"),
    "walkability": ("Bad", "Okay", "Great"),
    "aqi": ("Unhealthy", "Unhealthy for some", "Moderate", "Good", "Great"),
    "popularity": ("Low", "Medium", "High"),
}
"""The words of each attribute, worst or least first."""

SEASONS: Final = ("low_season", "medium_season", "high_season")
KINDS: Final = ("see", "do", "eat", "drink", "go")
COLUMNS: Final = ("city", "country", *LEVELS, *SEASONS, "interest_type", "interest_title")

SUSPECT: Final[Mapping[str, str]] = {
    "Mus": "carries another city's numbers",
    "Sevilla": "Low because nothing was collected there",
    "Thessaloniki": "Low because nothing was collected there",
    "Trabzon": "Low because nothing was collected there",
    "Arkhangelsk": "Low because nothing was collected there",
}
"""Cities whose `popularity` is known to be wrong, and why; it is set to unknown."""

_SOURCE = Provenance(kind="data", source="SynthTRIPs / Collab-REC eu-cities-database.csv")


@dataclass(frozen=True)
class SynthReport:
    """What was read and what was set to unknown.

    Attributes:
        rows: rows of the file, one per point of interest.
        cities: different cities.
        counts: attribute -> word -> cities, as in the file; "" counts what is not specified.
        lines: the same and all faults in words.
    """

    rows: int
    cities: int
    counts: Mapping[str, Mapping[str, int]]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def load_synthtrips(path: str | Path) -> tuple[Catalogue, SynthReport]:
    """Read the file into a catalogue with one row per city.

    Columns: `country`, `budget`, `walkability`, `aqi`, `popularity` (words), `season` (twelve
    levels: 1 low, 2 medium, 3 high) and numbers of points of interest (`pois`, and `see`, `do`,
    `eat`, `drink`, `go`). What is not specified stays unknown; what is known to be wrong becomes
    unknown and is reported.

    Raises:
        CatalogueError: the file can't be read, lacks a column or has no rows.
    """
    path = Path(path)
    header, table, _ = read_table(path)
    lacking = [name for name in COLUMNS if name not in header]
    if lacking:
        raise CatalogueError(f"{path.name!r} lacks {', '.join(map(repr, lacking))}")
    rows = [dict(zip(header, row, strict=True)) for row in table]
    groups = _by_city(rows)
    lines = [f"{len(rows)} rows, {len(groups)} cities"]
    nameless = sum(not row["interest_title"].strip() for row in rows)
    if nameless:
        lines.append(f"{nameless} rows name no point of interest: not counted as one")
    odd = Counter(row["interest_type"] for row in rows if row["interest_title"].strip())
    for kind in sorted(odd.keys() - set(KINDS)):
        lines.append(f"{odd[kind]} points of interest are of no known kind, {kind!r}: in pois only")
    cells: dict[str, list[object]] = {"country": [group[0]["country"] for group in groups.values()]}
    counts = {}
    for name, words in LEVELS.items():
        raw = {one: _word(one, group, name, words, lines) for one, group in groups.items()}
        counts[name] = dict(Counter(word or "" for word in raw.values()))
        lines.append(_counted(name, words, counts[name]))
        cells[name] = [
            None if name == "popularity" and group[0]["city"] in SUSPECT else raw[one]
            for one, group in groups.items()
        ]
    for one, group in groups.items():
        if why := SUSPECT.get(group[0]["city"]):
            lines.append(f"popularity of {one} set to unknown: {why}")
    cells["season"] = [_season(one, group, lines) for one, group in groups.items()]
    cells |= _points(list(groups.values()))
    catalogue = Catalogue.from_cells(path.name, list(groups), cells, _specs())
    return catalogue, SynthReport(len(rows), len(groups), counts, tuple(lines))


def _by_city(rows: Sequence[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Return the rows of each city; a name that two countries share gets the country added."""
    lands: dict[str, set[str]] = {}
    for row in rows:
        lands.setdefault(row["city"], set()).add(row["country"])
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        name = row["city"]
        one = f"{name}, {row['country']}" if len(lands[name]) > 1 else name
        groups.setdefault(one, []).append(row)
    return groups


def _word(
    one: str, group: Sequence[dict[str, str]], name: str, words: Sequence[str], lines: list[str]
) -> str | None:
    """Return a city's attribute, None where it is not specified, contradicts itself or is odd."""
    said = {row[name].strip() for row in group}
    said = {word for word in said if word and word.casefold() != "not specified"}
    if not said:
        return None
    if len(said) > 1:
        lines.append(f"{name} of {one} set to unknown: rows say {', '.join(sorted(said))}")
        return None
    word = said.pop()
    if word not in words:
        lines.append(f"{name} of {one} set to unknown: {word!r} is none of {', '.join(words)}")
        return None
    return word


def _counted(name: str, words: Sequence[str], counts: Mapping[str, int]) -> str:
    known = ", ".join(f"{word} {counts[word]}" for word in reversed(words) if word in counts)
    return f"{name}: {known}; unknown {counts.get('', 0)}"


def _season(one: str, group: Sequence[dict[str, str]], lines: list[str]) -> list[float] | None:
    """Return twelve season levels, None when rows differ or a month is in no list or in two."""
    if any(row[name] != group[0][name] for row in group for name in SEASONS):
        lines.append(f"season of {one} set to unknown: rows differ")
        return None
    found: dict[str, list[float]] = {}
    for level, name in enumerate(SEASONS, start=1):
        for month in re.findall(r"[A-Z][a-z]+", group[0][name]):
            found.setdefault(month, []).append(float(level))
    if not found:
        lines.append(f"season of {one} is unknown: its lists are empty")
        return None
    if set(found) != set(MONTHS) or any(len(levels) > 1 for levels in found.values()):
        lines.append(f"season of {one} set to unknown: a month is in no list or in two")
        return None
    return [found[month][0] for month in MONTHS]


def _points(groups: Sequence[Sequence[dict[str, str]]]) -> dict[str, list[object]]:
    """Return numbers of points of interest, of all kinds and of each."""
    tallies = [
        Counter(row["interest_type"] for row in group if row["interest_title"].strip())
        for group in groups
    ]
    table: dict[str, list[object]] = {"pois": [tally.total() for tally in tallies]}
    return table | {kind: [tally[kind] for tally in tallies] for kind in KINDS}


def _specs() -> dict[str, ColumnSpec]:
    specs = {name: ColumnSpec(kind="category", provenance=_SOURCE) for name in ("country", *LEVELS)}
    specs["season"] = ColumnSpec(kind="monthly", unit="level", provenance=_SOURCE)
    for name in ("pois", *KINDS):
        specs[name] = ColumnSpec(kind="numeric", unit="points of interest", provenance=_SOURCE)
    return specs
