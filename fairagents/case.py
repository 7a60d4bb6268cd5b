"""A case is plain JSON; a pool is what of the catalogue it puts up for decision."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from pydantic import Field, JsonValue

from fairagents.catalogue import Catalogue
from fairagents.errors import CatalogueError, SpecError, did_you_mean
from fairagents.record import Many, Record
from fairagents.spec import Bools, Floats, Indicator, Ints, Predicate, require_unique
from fairagents.task import Task

R = TypeVar("R")
A = TypeVar("A", bound=np.ndarray[Any, Any])


class Case(Record):
    """One decision to take, as plain JSON.

    Attributes:
        id: names the case; seeds are derived from it.
        request: who asks for what, as the use case's request model writes it.
        task: what is to be decided.
        candidates: ids up for decision; empty means the whole catalogue.
        columns: numeric columns of this case only (say, recommender scores):
            name -> alternative -> value; what is not named is unknown.
    """

    id: str
    task: Task
    request: dict[str, JsonValue] = Field(default_factory=dict)
    candidates: Many[str] = ()
    columns: dict[str, dict[str, float]] = Field(default_factory=dict)

    def pool(self, catalogue: Catalogue) -> Pool:
        """Return the alternatives of this case.

        Raises:
            SpecError: a candidate or a case column names what the catalogue does not hold, or a
                case column hides a column of the catalogue.
        """
        rows = None
        if self.candidates:
            require_unique(self.candidates, f"case {self.id!r}: candidate")
            rows = np.array([catalogue.row(c, f"case {self.id!r}") for c in self.candidates])
        own = {}
        for name, cells in self.columns.items():
            if name in catalogue:
                raise SpecError(f"case {self.id!r}: column {name!r} is one of the catalogue's")
            if tuple(cells) == catalogue.ids:
                whole = np.fromiter(cells.values(), np.float64, len(cells))
            else:
                where = f"case {self.id!r}, column {name!r}"
                whole = np.full(len(catalogue), np.nan)
                whole[[catalogue.row(key, where) for key in cells]] = list(cells.values())
            own[name] = whole if rows is None else whole[rows]
        return Pool(catalogue, rows, self.request, own)


class Pool:
    """The alternatives of one case with their columns: what indicators and predicates read.

    All arrays are aligned with `ids`, shape (m,), and must not be written to.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        rows: Ints | None = None,
        request: Mapping[str, Any] | None = None,
        columns: Mapping[str, Floats] | None = None,
    ) -> None:
        self.catalogue = catalogue
        self.rows = rows
        self.request = request or {}
        self._columns = dict(columns or {})
        self._cache: dict[object, Any] = {}
        self.ids: tuple[str, ...] = (
            catalogue.ids if rows is None else tuple(catalogue.ids[i] for i in rows)
        )

    def __len__(self) -> int:
        """Return the number of alternatives."""
        return len(self.ids)

    @property
    def index(self) -> Mapping[str, int]:
        """The position of each id."""
        if self.rows is None:
            return self.catalogue.index
        return self.once("index", lambda: {one: i for i, one in enumerate(self.ids)})

    def once(self, key: object, make: Callable[[], R]) -> R:
        """Return what `make` gives, computed once per pool and key."""
        if key not in self._cache:
            self._cache[key] = make()
        found: R = self._cache[key]
        return found

    def has(self, name: str) -> bool:
        """Tell whether a column of that name exists."""
        return name in self._columns or name in self.catalogue

    def unit(self, name: str) -> str:
        """Return a column's declared unit, "" for case columns."""
        return "" if name in self._columns else self.catalogue.spec(name).unit

    def _take(self, whole: A) -> A:
        return whole if self.rows is None else whole[self.rows]  # type: ignore[return-value]

    def numeric(self, name: str) -> Floats:
        """Return a numeric column, shape (m,); NaN where unknown."""
        if name in self._columns:
            return self._columns[name]
        return self._take(self.catalogue.numeric(name))

    def monthly(self, name: str, month: int) -> Floats:
        """Return one month (1..12) of a monthly column, shape (m,)."""
        return self._take(self.catalogue.monthly(name)[:, month - 1])

    def category(self, name: str) -> tuple[tuple[str, ...], Ints]:
        """Return a categorical column's labels and each alternative's code, -1 where unknown."""
        labels, codes = self.catalogue.category(name)
        return labels, self._take(codes)

    def tags(self, name: str) -> tuple[tuple[str, ...], Bools, Bools]:
        """Return a multi-valued column: labels, has (m, labels), known (m,)."""
        labels, has, known = self.catalogue.tags(name)
        return labels, self._take(has), self._take(known)

    def values(self, indicator: Indicator) -> Floats:
        """Return an indicator's values, computed once per pool; shape and finiteness checked."""
        first = self.catalogue.first(indicator)
        _, values = self.once(("values", id(first)), lambda: (first, self._read(first)))
        return values

    def _read(self, indicator: Indicator) -> Floats:
        for name in indicator.requires():
            if not self.has(name):
                known = [*self._columns, *self.catalogue.columns]
                raise CatalogueError(
                    f"indicator {indicator.label} reads column {name!r}, which catalogue "
                    f"{self.catalogue.name!r} does not have; {did_you_mean(name, known)}"
                )
        try:
            values = np.asarray(indicator.values(self), dtype=np.float64)
        except ValueError as error:
            raise SpecError(f"indicator {indicator.label} returned no numbers: {error}") from None
        if values.shape != (len(self),):
            raise SpecError(
                f"indicator {indicator.label} returned shape {values.shape}, not ({len(self)},)"
            )
        infinite = np.isinf(values)
        if infinite.any():
            first = self.ids[int(np.flatnonzero(infinite)[0])]
            raise SpecError(f"indicator {indicator.label} is infinite for {first!r}")
        return values

    def holds(self, predicate: Predicate) -> Answers:
        """Return a predicate's answers, shape (m,): 1 yes, 0 no, -1 unknown."""
        if predicate.all or predicate.any or predicate.none:
            answers = np.array(
                [self.holds(p) for p in (*predicate.all, *predicate.any, *predicate.none)]
            )
            # Kleene: with no < unknown < yes, "all" is the minimum and "any" the maximum.
            order = np.array([0, 2, 1])[answers]
            value = order.min(axis=0) if predicate.all else order.max(axis=0)
            if predicate.none:
                value = 2 - value
            combined: Answers = np.array([0, -1, 1], dtype=np.int8)[value]
            return combined
        return self._atom(predicate)

    def _atom(self, p: Predicate) -> Answers:
        value = p.value
        if p.value_from:
            value = self.request.get(p.value_from)
        size = len(self)
        if p.request:
            if p.op == "known":
                return np.full(size, int(self.request.get(p.request) is not None), np.int8)
            return np.full(size, compare(self.request.get(p.request), p.op, value), np.int8)
        kind = "numeric" if p.column in self._columns else self.catalogue.spec(p.column).kind
        if kind == "tags":
            return self._atom_tags(p, value)
        if kind == "category":
            labels, codes = self.category(p.column)
            if p.op == "known":
                return (codes >= 0).astype(np.int8)
            # Code -1, unknown, reads the last answer.
            answers = [compare(label, p.op, value) for label in labels]
            return np.array([*answers, -1], dtype=np.int8)[codes]
        numbers = self.numeric(p.column)
        if p.op == "known":
            return (~np.isnan(numbers)).astype(np.int8)
        if value is None:
            return np.full(size, -1, np.int8)
        return np.where(np.isnan(numbers), -1, _compare_numbers(numbers, p, value)).astype(np.int8)

    def _atom_tags(self, p: Predicate, value: Any) -> Answers:
        labels, has, known = self.tags(p.column)
        if p.op == "known":
            return known.astype(np.int8)
        if p.op not in ("has", "lacks"):
            raise SpecError(f"{p.describe()}: a multi-valued column takes 'has' or 'lacks'")
        if value is None:
            return np.full(len(self), -1, np.int8)
        wanted = value if isinstance(value, list) else [value]
        hit = has[:, [labels.index(w) for w in wanted if w in labels]].any(axis=1)
        return np.where(known, hit == (p.op == "has"), -1).astype(np.int8)


Answers = np.ndarray[Any, np.dtype[np.int8]]

ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(left: Any, op: str, right: Any) -> int:
    """Return 1 (yes), 0 (no) or -1 (unknown, for one side is): one scalar comparison.

    Raises:
        SpecError: the two can't be compared.
    """
    if left is None or right is None:
        return -1
    try:
        if op in ORDER:
            return int(ORDER[op](left, right))
        if op in ("in", "not in"):
            if not isinstance(right, list):
                raise TypeError
            return int((left in right) == (op == "in"))
        # A word is not searched for parts of words: it is a list of one.
        held, wanted = (v if isinstance(v, list) else [v] for v in (left, right))
        return int(any(w in held for w in wanted) == (op == "has"))
    except TypeError:
        raise SpecError(f"can't compare {left!r} {op} {right!r}") from None


def _compare_numbers(numbers: Floats, p: Predicate, value: Any) -> Bools:
    several = p.op in ("in", "not in")
    for one in value if several and isinstance(value, list) else [value]:
        if not isinstance(one, int | float) or isinstance(one, bool):
            raise SpecError(f"{p.describe()}: column {p.column!r} is numeric, {one!r} is not")
    if several:
        return np.isin(numbers, value, invert=p.op == "not in")
    if p.op not in ORDER:
        raise SpecError(f"{p.describe()}: a numeric column does not take {p.op!r}")
    answers: Bools = ORDER[p.op](numbers, value)
    return answers
