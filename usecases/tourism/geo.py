"""Derived by formula: distance, way of travel, emissions, daylight and season class.

All functions are vectorised over places and read no catalogue.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from fairagents.spec import Bools, Floats, Ints

EARTH_KM: Final = 6371.0088
"""Mean radius of the Earth in km."""

FACTORS: Final = {"rail": 0.03546, "coach": 0.02776, "plane": 0.12576}
"""kg CO2e per passenger and km: UK government greenhouse gas conversion factors 2025, business
travel: national rail; coach; short-haul flight, economy class, with radiative forcing. Read in a
third party's copy of the table, not in the government's own file; see the README."""

GROUND_DETOUR: Final = 1.2
"""Rails and roads are longer than the great circle by this factor (judgement)."""

AIR_DETOUR_KM: Final = 95.0
"""Added to the great circle of a flight: the convention of EN 16258, as commonly stated."""

RAIL_FAR_KM, RAIL_NEAR_KM, COACH_KM = 1200.0, 600.0, 500.0
"""Reach in km of good trains (both rail levels >= 2), of any trains, of a coach (judgement)."""

MODES: Final = ("rail", "coach", "plane")
RAIL, COACH, PLANE = range(3)
_RATES: Final = np.array([FACTORS[name] for name in MODES])

LANDS: Final[tuple[tuple[str, float, float, float, float], ...]] = (
    ("Iceland", 63.0, 67.0, -25.0, -13.0),
    ("Ireland", 51.0, 55.5, -11.0, -5.35),
    ("Great Britain", 50.0, 51.0, -6.5, 1.3),
    ("Great Britain", 51.0, 61.0, -8.0, 1.8),
    ("Finland", 59.7, 65.5, 21.0, 31.6),
    ("Finland", 65.5, 70.1, 24.2, 31.6),
    ("Gotland", 56.8, 58.1, 18.0, 19.5),
    ("Corsica", 41.33, 43.1, 8.5, 9.6),
    ("Sardinia", 38.8, 41.33, 8.1, 9.9),
    ("Mallorca", 39.2, 40.0, 2.3, 3.5),
    ("Ibiza", 38.6, 39.2, 1.1, 1.7),
    ("Menorca", 39.8, 40.1, 3.7, 4.4),
    ("Malta", 35.7, 36.1, 14.1, 14.6),
    ("Capri", 40.53, 40.57, 14.18, 14.27),
    ("Hvar", 43.1, 43.25, 16.3, 17.2),
    ("Cyprus", 34.5, 35.8, 32.2, 34.7),
    ("Crete", 34.8, 35.75, 23.4, 26.4),
    ("Rhodes", 35.8, 36.5, 27.6, 28.3),
    ("Kos", 36.6, 36.93, 26.9, 27.36),
    ("Corfu", 39.3, 39.83, 19.3, 19.97),
    ("Santorini", 36.3, 36.5, 25.3, 25.5),
    ("Mykonos", 37.35, 37.5, 25.2, 25.5),
)
"""Lands with sea around them as boxes (name, south, north, west, east); the rest is one land.

Sicily counts as mainland, since trains cross the strait. Of Finland the land way round the gulf
is no way to travel. An island that is not listed counts as mainland: give its cities rail 0.
"""


def distance(lat: float, lon: float, lats: Floats, lons: Floats) -> Floats:
    """Return great-circle distances in km, shape (m,), by the haversine formula.

    >>> round(float(distance(48.85, 2.35, np.array([51.51]), np.array([-0.13]))[0]))
    344
    """
    phi, phis = np.radians(lat), np.radians(lats)
    half = np.sin((phis - phi) / 2) ** 2
    across = np.sin(np.radians(lons - lon) / 2) ** 2
    root = np.sqrt(half + np.cos(phi) * np.cos(phis) * across)
    return np.asarray(2 * EARTH_KM * np.arcsin(np.minimum(1.0, root)))


def lands(lats: Floats, lons: Floats) -> Ints:
    """Return each place's land, shape (m,): an index into `LAND_NAMES`, 0 for the mainland."""
    found = np.zeros(len(lats), dtype=np.int64)
    for name, south, north, west, east in LANDS:
        inside = (lats >= south) & (lats < north) & (lons >= west) & (lons < east)
        found[inside & (found == 0)] = LAND_NAMES.index(name)
    return found


def land_at(lat: float, lon: float) -> int:
    """Return the land of one point: an index into `LAND_NAMES`, 0 for the mainland."""
    for name, south, north, west, east in LANDS:
        if south <= lat < north and west <= lon < east:
            return LAND_NAMES.index(name)
    return 0


LAND_NAMES: Final = ("mainland", *dict.fromkeys(row[0] for row in LANDS))
_BRITAIN: Final = LAND_NAMES.index("Great Britain")


def by_tunnel(land: int, others: Ints) -> Bools:
    """Tell for which lands the Channel Tunnel lies between them and `land`, shape (m,)."""
    if land not in (0, _BRITAIN):
        return np.zeros(len(others), dtype=bool)
    return np.asarray(others == (_BRITAIN if land == 0 else 0))


def mode(km: Floats, rail: float, rails: Floats, land: int, others: Ints) -> Ints:
    """Return the best low-carbon way that is plausible, shape (m,): 0 rail, 1 coach, 2 plane.

    Rail, when both ends lie on one land and the distance is at most 1,200 km with rail level
    >= 2 at both ends, or at most 600 km with >= 1; between Great Britain and the mainland only
    from hub to hub (rail level 3), at most 1,200 km. Else a coach on one land up to 500 km. Else
    the plane. An unknown rail level counts as 0.

    Args:
        km: great-circle distances in km, shape (m,).
        rail: the origin's rail level, 0 to 3.
        rails: rail levels, shape (m,), NaN where unknown.
        land: the origin's land as `lands` gives it.
        others: the places' lands, shape (m,).
    """
    # NaN fails every comparison, so that an unknown level is no rail.
    level = np.minimum(rails, rail)
    same = others == land
    good = (level >= 2) & (km <= RAIL_FAR_KM) | (level >= 1) & (km <= RAIL_NEAR_KM)
    tunnel = by_tunnel(land, others) & (level >= 3) & (km <= RAIL_FAR_KM)
    rest = np.where(same & (km <= COACH_KM), COACH, PLANE)
    return np.where(same & good | tunnel, RAIL, rest)


def emissions(km: Floats, modes: Ints) -> Floats:
    """Return kg CO2e per person of the return trip, shape (m,), each >= 0.

    2 x factor x 1.2 x km by rail or coach; 2 x factor x (km + 95) by plane.

    >>> emissions(np.array([500.0]), np.array([PLANE])).round(1).tolist()
    [149.7]
    """
    rate = _RATES[modes]
    way = np.where(modes == PLANE, km + AIR_DETOUR_KM, GROUND_DETOUR * km)
    return np.asarray(2 * rate * way)


MID_MONTH: Final = (15, 46, 74, 105, 135, 166, 196, 227, 258, 288, 319, 349)
"""The day of the year in the middle of each month."""


def daylight(lats: Floats, month: int) -> Floats:
    """Return hours of daylight in the middle of a month, shape (m,), in [0, 24].

    (24 / pi) arccos(-tan(latitude) tan(declination)), with Cooper's declination
    23.45 sin(2 pi (284 + day) / 365) degrees (formulas as commonly stated).

    >>> daylight(np.array([0.0, 60.0]), 6).round(1).tolist()
    [12.0, 18.4]
    """
    tilt = np.radians(23.45) * np.sin(2 * np.pi * (284 + MID_MONTH[month - 1]) / 365)
    cosine = np.clip(-np.tan(np.radians(lats)) * np.tan(tilt), -1.0, 1.0)
    return np.asarray(24 / np.pi * np.arccos(cosine))


SeasonClass = Literal["low", "shoulder", "high"]
LOW_BELOW, HIGH_ABOVE = 0.8, 1.2
"""A month's load relative to the mean month, at the borders of low and high season."""


def season_class(factor: float) -> SeasonClass:
    """Return a month's season class from the curve: its load relative to the mean month.

    >>> season_class(0.5), season_class(1.0), season_class(1.7)
    ('low', 'shoulder', 'high')
    """
    return "low" if factor < LOW_BELOW else "high" if factor > HIGH_ABOVE else "shoulder"
