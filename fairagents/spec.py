"""Typed specs: indicators, predicates, objectives, constraints, stakeholders."""

from __future__ import annotations

import abc
import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    model_validator,
)

from fairagents.errors import SpecError
from fairagents.plugins import Plugin, Plugins
from fairagents.record import Many, Pair, Record

if TYPE_CHECKING:
    from fairagents.case import Pool

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RESERVED_IDS = frozenset({"aggregate", "all", "case", "collective", "none", "outcome"})
"""Words that reports and state keys use for themselves; no stakeholder may be called so."""

LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100
OF_WEIGHT = f"a weight must be > 0, between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}"
"""Beyond that, sums and products of weights leave the range of floating-point numbers."""

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]


class Indicator(Plugin, abc.ABC):
    """A quantity in its own unit, read of each alternative, vectorised.

    A subclass gives `values`; it may give `unit` and `requires`.
    """

    unit: ClassVar[str] = ""

    @abc.abstractmethod
    def values(self, pool: Pool) -> Floats:
        """Return the quantity of each alternative of the pool, shape (m,); NaN where unknown."""

    def unit_in(self, pool: Pool) -> str:
        """Return the unit of the values."""
        return self.unit

    def requires(self) -> tuple[str, ...]:
        """Return the names of the columns that `values` reads."""
        return ()

    def reads_case(self, pool: Pool) -> bool:
        """Tell whether the values depend on the case; if not, they are computed only once."""
        return True


class Column(Indicator):
    """A numeric column of the catalogue or of the case, as it stands.

    >>> Column(column="price").label
    "column(column='price')"
    """

    column: str

    def values(self, pool: Pool) -> Floats:
        """Return the column's values, shape (m,); NaN where a cell is empty."""
        return pool.numeric(self.column)

    def unit_in(self, pool: Pool) -> str:
        """Return the column's declared unit."""
        return pool.unit(self.column)

    def requires(self) -> tuple[str, ...]:
        """Return the one column."""
        return (self.column,)

    def reads_case(self, pool: Pool) -> bool:
        """Return True for a column that the case brings along."""
        return self.column not in pool.catalogue


INDICATORS = Plugins[Indicator]("indicator", {"column": "fairagents.spec:Column"}, base=Indicator)

IndicatorRef = Annotated[Indicator, INDICATORS]


class Predicate(Record):
    """One three-valued condition (yes, no, unknown) on a column or on the request, as data.

    Exactly one of `column`, `request`, `all`, `any`, `none` is given. With `column` or `request`
    goes an operator and a `value`, or `value_from`, the request's field that holds the value.
    `all`, `any` and `none` combine by Kleene's three-valued logic.

    >>> Predicate(column="price", op="<=", value=3).describe()
    'price <= 3'
    """

    column: str = ""
    request: str = ""
    op: Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "has", "lacks", "known"] = "=="
    value: JsonValue = None
    value_from: str = ""
    all: Many[Predicate] = ()
    any: Many[Predicate] = ()
    none: Many[Predicate] = ()

    @model_validator(mode="after")
    def _one_form(self) -> Predicate:
        forms = [f for f in ("column", "request", "all", "any", "none") if getattr(self, f)]
        if len(forms) != 1:
            raise ValueError(
                "give exactly one of column, request, all, any, none, not "
                + (" and ".join(forms) or "none of them")
            )
        if forms[0] in ("column", "request") and self.op != "known":
            if (self.value is None) == (not self.value_from):
                raise ValueError(f"operator {self.op!r} takes either value or value_from")
            if isinstance(self.value, float) and not np.isfinite(self.value):
                raise ValueError(f"operator {self.op!r} takes a finite number, not {self.value!r}")
            if self.op in ("in", "not in") and not (
                self.value_from or isinstance(self.value, list)
            ):
                raise ValueError(f"operator {self.op!r} takes a list, not {self.value!r}")
        return self

    def describe(self) -> str:
        """Return the condition in words, for labels and messages."""
        for word in ("all", "any", "none"):
            if parts := getattr(self, word):
                return f"{word} of ({', '.join(part.describe() for part in parts)})"
        subject = self.column or f"request.{self.request}"
        if self.op == "known":
            return f"{subject} is known"
        value = f"request.{self.value_from}" if self.value_from else self.value
        return f"{subject} {self.op} {value}"

    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns it reads."""
        parts = (*self.all, *self.any, *self.none)
        return ((self.column,) if self.column else ()) + tuple(
            name for part in parts for name in part.columns()
        )


def _anchors(value: object) -> object:
    if value == "case":
        return value
    if isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value)):
        return value
    raise ValueError(
        f"anchors are two finite numbers (the values that count 0 and 1) or 'case', not {value!r}"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


Anchors = Annotated[Pair[float] | Literal["case"], BeforeValidator(_anchors)]


class Provenance(Record):
    """Where an objective or an anchor comes from, so that a reader can doubt it."""

    kind: Literal["interview", "policy", "law", "data", "formula", "judgement"]
    source: str = ""


class Objective(Record):
    """What a stakeholder wants of one quantity, and which values count 0 and 1.

    `anchors = (a0, a1)`: an alternative with value v counts `(v - a0) / (a1 - a0)`, clipped to
    [0, 1]; a0 > a1 means that less is better. `"case"` takes the least and greatest value among
    the case's candidates, in the declared direction: comparable within a case, not across cases.

    `reads` says what is read of a slate: `"mean"`, every alternative on its own, averaged;
    `"worst"`, the alternative of the slate that does worst (a whole-slate objective: the peak);
    `"variety"`, the number of different values of a categorical column among the slate.

    An alternative whose value is unknown counts by `missing`: `"mean"`, as the mean of the known
    candidates; `"zero"`; `"error"`, which refuses the case.
    """

    id: Id
    indicator: IndicatorRef
    direction: Literal["max", "min"]
    anchors: Anchors
    provenance: Provenance
    claim: str = ""
    weight: float = 1.0
    unit: str = ""
    target: float | None = None
    reads: Literal["mean", "worst", "variety"] = "mean"
    missing: Literal["mean", "zero", "error"] = "mean"

    @model_validator(mode="after")
    def _check(self) -> Objective:
        if not LEAST_WEIGHT <= self.weight <= MOST_WEIGHT:
            raise ValueError(f"objective {self.id!r}: {OF_WEIGHT}, not {self.weight!r}")
        if isinstance(self.anchors, tuple):
            zero, one = self.anchors
            if zero == one:
                raise ValueError(
                    f"objective {self.id!r}: anchors are equal ({zero!r}); they are the value "
                    "that counts 0 and the value that counts 1"
                )
            if (zero < one) != (self.direction == "max"):
                side = "above" if self.direction == "max" else "below"
                raise ValueError(
                    f"objective {self.id!r}: direction {self.direction!r} wants the second anchor "
                    f"{side} the first, not {self.anchors}"
                )
        if self.reads == "variety" and (self.anchors == "case" or self.direction == "min"):
            raise ValueError(
                f"objective {self.id!r}: variety takes direction 'max' and two anchors (counts)"
            )
        if self.reads == "variety" and not isinstance(self.indicator, Column):
            raise ValueError(f"objective {self.id!r}: variety reads a Column indicator")
        return self


class Constraint(Record):
    """What a stakeholder does not accept; it binds its own worth, not the case.

    `hard`: an alternative that fails counts 0 for this stakeholder and is flagged. `soft`: it
    loses `cost` (worth points, in (0, 1]). `when` (a condition on the request) boxes it in time
    or kind. An unknown answer counts as `unknown` says.
    """

    id: Id
    accepts: Predicate
    kind: Literal["hard", "soft"] = "hard"
    cost: float = 0.0
    when: Predicate | None = None
    unknown: Literal["yes", "no"] = "yes"
    precedence: int = 0
    claim: str = ""
    provenance: Provenance | None = None

    @model_validator(mode="after")
    def _check(self) -> Constraint:
        if self.kind == "soft" and not 0 < self.cost <= 1:
            raise ValueError(f"soft constraint {self.id!r}: cost must lie in (0, 1]")
        if self.kind == "hard" and self.cost:
            raise ValueError(f"hard constraint {self.id!r} has no cost: its worth is 0")
        if self.when is not None and (columns := self.when.columns()):
            raise ValueError(
                f"constraint {self.id!r}: `when` reads the request, not column {columns[0]!r}"
            )
        return self


class Stakeholder(Record):
    """A party with interests: its objectives, its constraints and its voice.

    >>> from fairagents.spec import *
    >>> purse = Stakeholder(
    ...     id="purse", name="The purse", role="consumer",
    ...     objectives=[Objective(id="price", indicator=Column(column="price"), direction="min",
    ...                           anchors=(5, 1), provenance=Provenance(kind="judgement"))])
    >>> Stakeholder.from_toml(purse.to_toml()) == purse
    True
    """

    id: Id
    name: str
    role: Literal["consumer", "provider", "system", "society"]
    objectives: Many[Objective]
    constraints: Many[Constraint] = ()
    voice: float = 1.0
    persona: str = ""
    principles: Many[str] = ()

    @model_validator(mode="after")
    def _check(self) -> Stakeholder:
        if self.id.lower() in RESERVED_IDS:
            raise ValueError(f"stakeholder id {self.id!r} is reserved")
        if not self.objectives:
            raise ValueError(f"stakeholder {self.id!r} has no objective")
        if not LEAST_WEIGHT <= self.voice <= MOST_WEIGHT:
            raise ValueError(f"stakeholder {self.id!r}, voice: {OF_WEIGHT}, not {self.voice!r}")
        soft = [c.id for c in self.constraints if c.kind == "soft"]
        if soft and all(o.reads != "mean" for o in self.objectives):
            raise ValueError(
                f"stakeholder {self.id!r}: soft constraint {soft[0]!r} lowers what objectives that "
                "read 'mean' give, and there is none"
            )
        require_unique([o.id for o in self.objectives], f"objective of {self.id!r}")
        require_unique([c.id for c in self.constraints], f"constraint of {self.id!r}")
        return self


def require_unique(ids: list[str] | tuple[str, ...], what: str) -> None:
    """Raise a `SpecError` that names the first id given twice."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise SpecError(f"{what} {one!r} is given twice")
        seen.add(one)
