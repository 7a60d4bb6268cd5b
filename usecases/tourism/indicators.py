"""What the five stakeholders read of each city, each in its own unit."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from fairagents.case import Pool
from fairagents.spec import Floats, Indicator, Ints
from usecases.tourism import geo

ALLOWED: dict[str, int] = {"low": 2, "medium": 3, "high": 5}
"""The highest price level that a budget covers (judgement)."""

FAR_KM = 3000.0
"""About the longest trip within Europe, in km (judgement)."""


def travel(pool: Pool) -> tuple[Floats, Ints]:
    """Return each place's great-circle distance in km and way of travel from the request's origin.

    The request holds `origin_lat` and `origin_lon` in degrees and `origin_rail`, a level.
    """

    def compute() -> tuple[Floats, Ints]:
        lats, lons = pool.numeric("latitude"), pool.numeric("longitude")
        lat, lon = float(pool.request["origin_lat"]), float(pool.request["origin_lon"])
        whole = pool.catalogue
        all_lands = whole.once(
            "lands", lambda: geo.lands(whole.numeric("latitude"), whole.numeric("longitude"))
        )
        others = all_lands if pool.rows is None else all_lands[pool.rows]
        rails = pool.numeric("rail") if pool.has("rail") else np.zeros(len(pool))
        land = geo.land_at(lat, lon)
        km = geo.distance(lat, lon, lats, lons)
        rail = float(pool.request.get("origin_rail", 2))
        return km, geo.mode(km, rail, rails, land, others)

    found: tuple[Floats, Ints] = pool.once("travel", compute)
    return found


def matched(pool: Pool) -> Floats:
    """Return the share of the request's interests that a place has, shape (m,), in [0, 1].

    A place with a tag to avoid counts 0; without interests every other place counts 1. NaN where
    a place's tags are unknown.
    """
    labels, has, known = pool.tags("interests")

    def columns(field: str) -> list[int]:
        return [labels.index(tag) for tag in pool.request.get(field, ()) if tag in labels]

    wanted = list(pool.request.get("interests", ()))
    share = has[:, columns("interests")].sum(axis=1) / len(wanted) if wanted else np.ones(len(pool))
    share = np.where(has[:, columns("avoid")].any(axis=1), 0.0, share)
    return np.where(known, share, np.nan)


class Match(Indicator):
    """The share of the asked interests that a place has, in [0, 1]; 0 with a tag to avoid."""

    unit: ClassVar[str] = "share of interests"

    def values(self, pool: Pool) -> Floats:
        """Return the share, shape (m,)."""
        return matched(pool)

    def requires(self) -> tuple[str, ...]:
        """Return the tags column."""
        return ("interests",)


class Overspend(Indicator):
    """By how many price levels a place is dearer than the budget covers, 0 to 3 levels.

    A low budget covers price level 2, a medium one 3, a high one everything.
    """

    unit: ClassVar[str] = "level"

    def values(self, pool: Pool) -> Floats:
        """Return max(0, price level - covered level), shape (m,)."""
        covered = ALLOWED[pool.request.get("budget", "medium")]
        return np.maximum(0.0, pool.numeric("price") - covered)

    def requires(self) -> tuple[str, ...]:
        """Return the price column."""
        return ("price",)


class Comfort(Indicator):
    """How pleasant a place is in the month, in [0, 1]: the mean of light, season and air.

    Light: hours of daylight, 8 counting 0 and 16 counting 1. Season: the month's load relative to
    the place's fullest month, for people come when it is pleasant and when things are open. Air:
    the level, 1 counting 0 and 5 counting 1.
    """

    unit: ClassVar[str] = "share"

    def values(self, pool: Pool) -> Floats:
        """Return the mean of the three, shape (m,)."""
        month = int(pool.request["month"])
        light = np.clip((geo.daylight(pool.numeric("latitude"), month) - 8.0) / 8.0, 0.0, 1.0)
        whole = pool.catalogue
        peak = whole.once("peak load", lambda: whole.monthly("load").max(axis=1))
        season = pool.monthly("load", month) / (peak if pool.rows is None else peak[pool.rows])
        air = (pool.numeric("air") - 1.0) / 4.0
        return np.asarray((light + season + air) / 3.0)

    def requires(self) -> tuple[str, ...]:
        """Return the columns of place, season and air."""
        return ("latitude", "load", "air")


class Crowding(Indicator):
    """Load per capacity level, after the load of this trip is added.

    (visitors level x month's load relative to the mean month + nights / per_level) / capacity
    level, where nights = persons x days. A small place feels a group more.

    Attributes:
        per_level: person-nights that count as one level of visitors. One trip alone is next to
            nothing; a recommendation stands for the stream of like trips it sets off.
    """

    unit: ClassVar[str] = "load per capacity level"

    per_level: float = Field(default=100.0, gt=0)

    def values(self, pool: Pool) -> Floats:
        """Return the load, shape (m,), >= 0."""
        now = pool.numeric("visitors") * pool.monthly("load", int(pool.request["month"]))
        nights = float(pool.request.get("persons", 1)) * float(pool.request.get("days", 1))
        return (now + nights / self.per_level) / pool.numeric("capacity")

    def requires(self) -> tuple[str, ...]:
        """Return the columns of load and capacity."""
        return ("visitors", "load", "capacity")


class Obscurity(Indicator):
    """How little known a place is, in levels: 6 - visitors level, 1 (famous) to 5 (unknown)."""

    unit: ClassVar[str] = "level"

    def values(self, pool: Pool) -> Floats:
        """Return 6 - visitors level, shape (m,)."""
        return 6.0 - pool.numeric("visitors")

    def requires(self) -> tuple[str, ...]:
        """Return the visitors column."""
        return ("visitors",)

    def reads_case(self, pool: Pool) -> bool:
        """Return False: it is the same in every case."""
        return False


class Size(Indicator):
    """How large a place is: the decimal logarithm of its inhabitants, 4 (ten thousand) to 7."""

    unit: ClassVar[str] = "log10 inhabitants"

    def values(self, pool: Pool) -> Floats:
        """Return log10 of the population, shape (m,); NaN where it is unknown or 0."""
        people = pool.numeric("population")
        return np.log10(np.where(people > 0, people, np.nan))

    def requires(self) -> tuple[str, ...]:
        """Return the population column."""
        return ("population",)

    def reads_case(self, pool: Pool) -> bool:
        """Return False: it is the same in every case."""
        return False


class Slack(Indicator):
    """How much of its capacity a place has left in the month, in levels, -11.5 to 5.

    Capacity level - visitors level x the month's load relative to the mean month.
    """

    unit: ClassVar[str] = "level"

    def values(self, pool: Pool) -> Floats:
        """Return what is left, shape (m,)."""
        now = pool.numeric("visitors") * pool.monthly("load", int(pool.request["month"]))
        return pool.numeric("capacity") - now

    def requires(self) -> tuple[str, ...]:
        """Return the columns of load and capacity."""
        return ("visitors", "load", "capacity")


class Emissions(Indicator):
    """kg CO2e per person of the return trip, by the best low-carbon way that is plausible."""

    unit: ClassVar[str] = "kg CO2e per person"

    def values(self, pool: Pool) -> Floats:
        """Return the emissions, shape (m,), >= 0."""
        return geo.emissions(*travel(pool))

    def requires(self) -> tuple[str, ...]:
        """Return the columns of place."""
        return ("latitude", "longitude")


class Acceptance(Indicator):
    """How readily a place is booked when it is shown, as a score in [0, 1], no probability.

    The mean of four shares: renown, (visitors level - 1) / 4, for people book what they have
    heard of; interest match; price fit, 0 from two levels above the budget on; and reach, 0 from
    3,000 km on.
    """

    unit: ClassVar[str] = "share"

    def values(self, pool: Pool) -> Floats:
        """Return the score, shape (m,)."""
        renown = (pool.numeric("visitors") - 1.0) / 4.0
        price = 1.0 - np.minimum(1.0, pool.values(Overspend()) / 2.0)
        reach = 1.0 - np.minimum(1.0, travel(pool)[0] / FAR_KM)
        return np.asarray((renown + pool.values(Match()) + price + reach) / 4.0)

    def requires(self) -> tuple[str, ...]:
        """Return the columns it is made of."""
        return ("visitors", "interests", "price", "latitude", "longitude")
