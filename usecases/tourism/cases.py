"""The standard cases: a readable grid of trips."""

from __future__ import annotations

from typing import Final, Literal

from fairagents.case import Case
from usecases.tourism.request import TripRequest, trip_case

ORIGINS: Final = ("Berlin", "London", "Madrid", "Rome", "Stockholm")
"""Five capitals: one in the middle, and one each west, south-west, south and north of it."""

MONTHS: Final = (1, 5, 8)
"""January, May and August: low, middle and high season in most places."""

Budget = Literal["low", "medium", "high"]
Party = Literal["solo", "couple", "family", "group"]

BUDGETS: Final[tuple[Budget, ...]] = ("low", "medium", "high")

INTERESTS: Final[tuple[tuple[Party, int, tuple[str, ...]], ...]] = (
    ("couple", 4, ("architecture", "art", "museums")),
    ("family", 7, ("family", "hiking", "nature")),
)
"""Who comes, for how many days, for what: a city break and a week outdoors."""


def standard_cases() -> tuple[Case, ...]:
    """Return the 90 standard cases: 5 origins x 3 months x 3 budgets x 2 interests, in that order.

    >>> len(standard_cases())
    90
    """
    return tuple(
        trip_case(
            TripRequest(
                origin=origin,
                month=month,
                days=days,
                budget=budget,
                interests=interests,
                party=party,
            )
        )
        for origin in ORIGINS
        for month in MONTHS
        for budget in BUDGETS
        for party, days, interests in INTERESTS
    )
