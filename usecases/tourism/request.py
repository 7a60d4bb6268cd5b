"""A trip request, and the case it becomes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, JsonValue, field_validator

from fairagents.case import Case
from fairagents.catalogue import Catalogue
from fairagents.errors import SpecError, did_you_mean
from fairagents.record import Many, Record
from fairagents.spec import Predicate
from fairagents.task import Exclude, Slate
from usecases.tourism.catalogue import load_cities

MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
PERSONS: Final = {"solo": 1, "couple": 2, "family": 4, "group": 8}
"""How many people a party is."""

GOOD_RAIL: Final = 2
"""The rail level that `require = ["rail"]` asks for: good intercity trains."""


def month_number(value: object) -> object:
    """Return a month's number, 1 to 12, from its English name or a prefix of three letters on.

    >>> month_number("July"), month_number("sep"), month_number(7)
    (7, 9, 7)
    """
    if not isinstance(value, str):
        return value
    word = value.strip().casefold()
    found = [i for i, name in enumerate(MONTHS, 1) if name.casefold().startswith(word)]
    if len(word) < 3 or len(found) != 1:
        raise ValueError(
            f"{value!r} is no English month name or number; {did_you_mean(value, MONTHS)}"
        )
    return found[0]


class TripRequest(Record):
    """Who wants to go where, when, for what.

    Attributes:
        origin: a city of the catalogue, or "latitude,longitude" in degrees.
        month: 1 to 12; an English month name is understood too.
        days: length of the stay, 1 to 30 days.
        budget: covers price level 2 (low), 3 (medium) or 5 (high).
        interests: tags; none means that everything is welcome.
        avoid: tags (such a place matches nothing) or cities (left out of the decision).
        require: tags, or "rail" (level 2 or more): places without are left out of the decision.
        party: solo 1, couple 2, family 4, group 8 people.

    >>> TripRequest(origin="Vienna", month="July", interests=["music"]).month
    7
    """

    origin: str
    month: Annotated[int, BeforeValidator(month_number), Field(ge=1, le=12)]
    days: int = Field(default=4, ge=1, le=30)
    budget: Literal["low", "medium", "high"] = "medium"
    interests: Many[str] = ()
    avoid: Many[str] = ()
    require: Many[str] = ()
    party: Literal["solo", "couple", "family", "group"] = "couple"

    @field_validator("budget", "party", mode="before")
    @classmethod
    def _hint(cls, value: object, info: object) -> object:
        options = {"budget": ("low", "medium", "high"), "party": tuple(PERSONS)}[info.field_name]  # type: ignore[attr-defined]
        if isinstance(value, str) and value not in options:
            raise ValueError(f"{did_you_mean(value, options)}")
        return value

    @field_validator("interests", "avoid", "require")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if twice := {one for one in value if value.count(one) > 1}:
            raise ValueError(f"{min(twice)!r} is given twice")
        return value


def place(origin: str, catalogue: Catalogue) -> tuple[float, float, float]:
    """Return an origin's latitude and longitude in degrees and its rail level.

    A city is looked up in the catalogue, else among the cities that ship with the use case. A
    point that is no city, and a city whose level is unknown, count as rail level 2.

    Raises:
        SpecError: no such city, and not two numbers in range.
    """
    if origin not in catalogue.index and origin in load_cities().index:
        catalogue = load_cities()
    if origin in catalogue.index:
        row = catalogue.row(origin)
        rail = catalogue.numeric("rail")[row] if "rail" in catalogue else float("nan")
        lat, lon = (float(catalogue.numeric(name)[row]) for name in ("latitude", "longitude"))
        return lat, lon, GOOD_RAIL if rail != rail else float(rail)
    number = r"\s*([-+]?\d+(?:\.\d+)?)\s*"
    if found := re.fullmatch(f"{number},{number}", origin):
        lat, lon = float(found[1]), float(found[2])
        if abs(lat) <= 90 and abs(lon) <= 180:
            return lat, lon, float(GOOD_RAIL)
        raise SpecError(f"origin {origin!r}: latitude is -90 to 90, longitude -180 to 180")
    raise SpecError(
        f"origin {origin!r} is neither a city of catalogue {catalogue.name!r} nor "
        f"'latitude,longitude'; {did_you_mean(origin, catalogue.ids)}"
    )


def _tags(catalogue: Catalogue) -> tuple[str, ...]:
    return catalogue.tags("interests")[0] if "interests" in catalogue else ()


def _check(words: Sequence[str], known: Sequence[str], field: str) -> None:
    for word in words:
        if word not in known:
            hint = did_you_mean(word, known) if known else "the catalogue has no interests"
            raise SpecError(f"TripRequest.{field}: no {word!r}; {hint}")


def _limits(request: TripRequest, catalogue: Catalogue, exclude: Sequence[str]) -> list[Exclude]:
    """Return what is left out of the decision; what is unknown can't be promised, so is out."""
    own = (request.origin, *request.avoid, *exclude)
    out = [one for one in dict.fromkeys(own) if one in catalogue.index]
    limits = [Exclude(ids=tuple(out))] if out else []
    for word in request.require:
        poor = (
            Predicate(column="rail", op="<", value=GOOD_RAIL)
            if word == "rail"
            else Predicate(column="interests", op="lacks", value=word)
        )
        limits.append(Exclude(group=poor, unknown="yes"))
    return limits


def trip_case(
    request: TripRequest,
    size: int = 10,
    exclude: Sequence[str] = (),
    *,
    catalogue: Catalogue | None = None,
    id: str = "",
) -> Case:
    """Return the case of a trip request: a slate of places to recommend.

    Args:
        request: the trip.
        size: how many places the slate has, >= 1.
        exclude: cities that are left out besides the origin and those to avoid.
        catalogue: what is chosen from; by default the cities that ship with the use case.
        id: names the case; by default made of the request.

    Raises:
        SpecError: a city, a tag or a requirement that the catalogue does not know.

    >>> trip_case(TripRequest(origin="Vienna", month=7, interests=["music"])).id
    'vienna-07-4d-medium-couple-music'
    """
    catalogue = load_cities() if catalogue is None else catalogue
    tags = _tags(catalogue)
    _check(request.interests, tags, "interests")
    _check(request.avoid, (*tags, *catalogue.ids), "avoid")
    _check(request.require, (*tags, *(("rail",) if "rail" in catalogue else ())), "require")
    _check(exclude, catalogue.ids, "exclude")
    lat, lon, rail = place(request.origin, catalogue)
    data: dict[str, JsonValue] = request.model_dump(mode="json")
    data |= {"origin_lat": lat, "origin_lon": lon, "origin_rail": rail}
    data["persons"] = PERSONS[request.party]
    return Case(
        id=id or _slug(request),
        task=Slate(size=size, limits=tuple(_limits(request, catalogue, exclude))),
        request=data,
    )


def months_of(case: Case) -> dict[str, Case]:
    """Return a trip's siblings in all twelve months, by month name, the case itself among them.

    >>> trip = trip_case(TripRequest(origin="Vienna", month=7))
    >>> months_of(trip)["July"] is trip
    True
    """
    siblings = {}
    for number, name in enumerate(MONTHS, start=1):
        request = {**case.request, "month": number}
        other = {"id": f"{case.id}@{number:02d}", "request": request}
        same = case.request.get("month") == number
        siblings[name] = case if same else case.model_copy(update=other)
    return siblings


def _slug(request: TripRequest) -> str:
    """Return a readable id made of everything in the request."""
    parts = [
        request.origin,
        f"{request.month:02d}",
        f"{request.days}d",
        request.budget,
        request.party,
        *request.interests,
        *(f"no {one}" for one in request.avoid),
        *(f"need {one}" for one in request.require),
    ]
    return "-".join(re.sub(r"[^a-z0-9.]+", "-", part.casefold()).strip("-") for part in parts)
