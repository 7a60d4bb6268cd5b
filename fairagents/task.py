"""What is to be decided: a slate, a division or an assignment, with its side constraints."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fairagents.record import Many, Record
from fairagents.spec import Predicate


class GroupLimit(Record):
    """Between `at_least` and `at_most` of the slate (a count) lie in a group.

    For `Divide` and `Assign` the limit is on the total amount given from the group.
    """

    kind: Literal["group"] = "group"
    group: Predicate
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _check(self) -> GroupLimit:
        if self.at_least is None and self.at_most is None:
            raise ValueError("a group limit needs at_least or at_most")
        if None not in (self.at_least, self.at_most) and self.at_least > self.at_most:  # type: ignore[operator]
            raise ValueError(f"at_least {self.at_least} exceeds at_most {self.at_most}")
        return self


class AtMostPer(Record):
    """At most `count` alternatives share one value of a categorical column (say, a country)."""

    kind: Literal["at_most_per"] = "at_most_per"
    column: str
    count: int = Field(ge=1)


class Include(Record):
    """These alternatives are in the outcome."""

    kind: Literal["include"] = "include"
    ids: Many[str]


class Exclude(Record):
    """These alternatives are not in the outcome: by id, or all that a predicate holds for."""

    kind: Literal["exclude"] = "exclude"
    ids: Many[str] = ()
    group: Predicate | None = None
    unknown: Literal["yes", "no"] = "no"


class Clash(Record):
    """At most one of these alternatives goes to one recipient (say, one timetable slot)."""

    kind: Literal["clash"] = "clash"
    ids: Many[str] = Field(min_length=2)


Limit = Annotated[GroupLimit | AtMostPer | Include | Exclude | Clash, Field(discriminator="kind")]


class Slate(Record):
    """An ordered list of `size` different alternatives, one for everybody.

    >>> Slate(size=3).size
    3
    """

    kind: Literal["slate"] = "slate"
    size: int = Field(ge=1)
    limits: Many[Limit] = ()


class Divide(Record):
    """Divisible resources shared among recipients.

    `capacity[a]` is how much of alternative a there is; `need[r][a]` how much of it recipient r
    can use. With `exhaust` nothing is left over while someone needs it:
    per resource the amounts sum to min(capacity, total need).
    """

    kind: Literal["divide"] = "divide"
    capacity: dict[str, float]
    need: dict[str, dict[str, float]]
    exhaust: bool = True
    limits: Many[Limit] = ()

    @model_validator(mode="after")
    def _check(self) -> Divide:
        for alternative, amount in self.capacity.items():
            if not 0 <= amount < float("inf"):
                raise ValueError(f"capacity of {alternative!r} must be >= 0, not {amount!r}")
        for recipient, needs in self.need.items():
            for alternative, amount in needs.items():
                if alternative not in self.capacity:
                    raise ValueError(
                        f"need of {recipient!r} names {alternative!r}, which has no capacity"
                    )
                if not 0 <= amount < float("inf"):
                    raise ValueError(
                        f"need of {recipient!r} for {alternative!r} must be >= 0, not {amount!r}"
                    )
        return self


class Assign(Record):
    """Indivisible seats given to recipients, many to one.

    `seats[a]` is the number of places of alternative a; `load[r]` the most alternatives that
    recipient r takes. `acceptable[r]`, where given, lists what r may get.
    """

    kind: Literal["assign"] = "assign"
    seats: dict[str, int]
    load: dict[str, int]
    acceptable: dict[str, Many[str]] = Field(default_factory=dict)
    limits: Many[Limit] = ()

    @model_validator(mode="after")
    def _check(self) -> Assign:
        for what, table in (("seats of", self.seats), ("load of", self.load)):
            for key, amount in table.items():
                if amount < 0:
                    raise ValueError(f"{what} {key!r} must be >= 0, not {amount!r}")
        for recipient, ids in self.acceptable.items():
            if recipient not in self.load:
                raise ValueError(f"acceptable names {recipient!r}, which has no load")
            for one in ids:
                if one not in self.seats:
                    raise ValueError(f"{recipient!r} accepts {one!r}, which has no seats")
        return self


Task = Annotated[Slate | Divide | Assign, Field(discriminator="kind")]
