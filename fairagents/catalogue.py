"""Columns by alternative id: what there is to choose from, with units, provenance and a hash."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import BaseModel

from fairagents._cells import (
    Cells,
    Kind,
    frozen,
    is_nan,
    kind_of,
    parse_category,
    parse_monthly,
    parse_numeric,
    parse_tags,
)
from fairagents.errors import CatalogueError, did_you_mean
from fairagents.record import Record
from fairagents.spec import Bools, Floats, Ints, Provenance
from fairagents.tables import check_name, read_table

R = TypeVar("R")
S = TypeVar("S", bound=Record)

MOST_KEPT = 20_000
"""How many computed things a catalogue keeps at most."""


class ColumnSpec(Record):
    """What a column holds.

    `numeric`: one number. `category`: one word. `tags`: several words, in a CSV joined by `|`.
    `monthly`: twelve numbers, January first, in a CSV joined by `|`. An empty cell is unknown;
    a cell that is `-` is a known, empty set of tags. Spaces around a word or a tag don't count,
    and a tag that is said twice of one alternative counts once.
    """

    kind: Kind
    unit: str = ""
    provenance: Provenance | None = None
    description: str = ""


class Catalogue:
    """An immutable table of alternatives, shared by reference and never copied into a case.

    Build one with `from_rows`, `from_csv` or `from_frame`. Missing is explicit: NaN in numeric
    and monthly columns, code -1 in categorical ones, `known = False` for tags.

    >>> c = Catalogue.from_rows([{"id": "a", "price": 2}, {"id": "b", "price": None}], name="toy")
    >>> c.numeric("price").tolist()
    [2.0, nan]
    >>> c
    Catalogue('toy', 2 alternatives, columns: price)
    """

    def __init__(
        self, name: str, ids: Sequence[str], columns: Mapping[str, tuple[ColumnSpec, Any]]
    ) -> None:
        self.name = name
        self.ids = tuple(ids)
        self._columns = dict(columns)
        self._cache: dict[object, Any] = {}
        self.index: Mapping[str, int] = {one: i for i, one in enumerate(self.ids)}
        if not self.ids:
            raise CatalogueError(f"catalogue {name!r} has no rows")
        if len(self.index) != len(self.ids):
            seen: set[str] = set()
            twice = next(one for one in self.ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
            raise CatalogueError(f"catalogue {name!r}: id {twice!r} is given twice")

    # -- building ---------------------------------------------------------------------------

    @classmethod
    def from_cells(
        cls,
        name: str,
        ids: Sequence[str],
        cells: Mapping[str, Sequence[Any]],
        specs: Mapping[str, ColumnSpec] | None = None,
    ) -> Catalogue:
        """Build a catalogue from columns of cells, one sequence per column aligned with `ids`.

        Args:
            name: names the catalogue in errors.
            ids: alternative ids, unique, not empty and without control characters: they stand
                in reports and prompts as they are.
            cells: column name -> cells; None and "" are unknown.
            specs: what the columns hold; a column without a spec is numeric when every known
                cell is a number, monthly when every known cell is twelve numbers, tags when a
                cell is a list or holds `|`, else a category.

        Raises:
            CatalogueError: a cell does not fit; it names column, row id and what would be right.
        """
        specs = dict(specs or {})
        for column in specs:
            if column not in cells:
                raise CatalogueError(
                    f"catalogue {name!r} lacks column {column!r}; {did_you_mean(column, cells)}"
                )
        for i, one in enumerate(ids):
            check_name(one, "id", f"catalogue {name!r}, row {i + 1}")
        built = {}
        for column, values in cells.items():
            check_name(column, "column name", f"catalogue {name!r}")
            if len(values) != len(ids):
                raise CatalogueError(
                    f"catalogue {name!r}, column {column!r}: {len(values)} cells for {len(ids)} ids"
                )
            spec = specs.get(column) or ColumnSpec(kind=kind_of(values))
            parse = {
                "numeric": parse_numeric,
                "category": parse_category,
                "tags": parse_tags,
                "monthly": parse_monthly,
            }[spec.kind]
            built[column] = (spec, parse(Cells(name, column, ids, values)))
        return cls(name, ids, built)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[BaseModel | Mapping[str, Any]],
        *,
        id: str = "id",
        name: str = "catalogue",
        specs: Mapping[str, ColumnSpec] | None = None,
    ) -> Catalogue:
        """Build a catalogue from typed rows (pydantic models) or mappings; see `from_cells`.

        What one row lacks and another has is unknown.
        """
        table = [r.model_dump() if isinstance(r, BaseModel) else dict(r) for r in rows]
        for i, row in enumerate(table):
            if id not in row:
                raise CatalogueError(f"catalogue {name!r}, row {i + 1}: no {id!r}")
        columns = dict.fromkeys(key for row in table for key in row if key != id)
        cells = {c: [row.get(c) for row in table] for c in columns}
        return cls.from_cells(name, [row[id] for row in table], cells, specs)

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        *,
        id: str = "id",
        specs: Mapping[str, ColumnSpec] | None = None,
    ) -> Catalogue:
        """Read a UTF-8 CSV file with a header row; see `from_cells` and `read_table`."""
        path = Path(path)
        header, rows, _ = read_table(path)
        if id not in header:
            raise CatalogueError(
                f"catalogue {path.name!r} has no column {id!r}; {did_you_mean(id, header)}"
            )
        columns = {name: [row[j] for row in rows] for j, name in enumerate(header)}
        ids = [one.strip(" ") for one in columns.pop(id)]
        return cls.from_cells(path.name, ids, columns, specs)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        id: str = "id",
        name: str = "frame",
        specs: Mapping[str, ColumnSpec] | None = None,
    ) -> Catalogue:
        """Build a catalogue from a pandas-like data frame; NaN and None are unknown.

        Whole numbers may be ids: 7 becomes "7".
        """
        names = [str(column) for column in frame.columns]
        if len(set(names)) != len(names):
            raise CatalogueError(f"catalogue {name!r}: a column name is given twice")
        cells = {
            str(column): [None if is_nan(v) else v for v in frame[column].tolist()]
            for column in frame.columns
        }
        if id not in cells:
            raise CatalogueError(f"frame has no column {id!r}; {did_you_mean(id, cells)}")
        ids: list[Any] = [
            str(one) if isinstance(one, int) and not isinstance(one, bool) else one
            for one in cells.pop(id)
        ]
        return cls.from_cells(name, ids, cells, specs)

    # -- reading ----------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of alternatives."""
        return len(self.ids)

    def __contains__(self, column: object) -> bool:
        """Tell whether there is a column of that name."""
        return column in self._columns

    def __repr__(self) -> str:
        names = ", ".join(self._columns)
        return f"Catalogue({self.name!r}, {len(self)} alternatives, columns: {names})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(self._columns)

    def spec(self, column: str) -> ColumnSpec:
        """Return what a column holds; an unknown name is a `CatalogueError`."""
        return self._find(column)[0]

    def row(self, id: str, where: str = "") -> int:
        """Return the row of an id; an unknown one is a `CatalogueError` naming what is close."""
        row = self.index.get(id)
        if row is None:
            prefix = f"{where}: " if where else ""
            raise CatalogueError(
                f"{prefix}{id!r} is not in catalogue {self.name!r}; {did_you_mean(id, self.ids)}"
            )
        return row

    def numeric(self, column: str) -> Floats:
        """Return a numeric column, shape (m,); NaN where unknown."""
        return self._typed(column, "numeric")  # type: ignore[no-any-return]

    def monthly(self, column: str) -> Floats:
        """Return a monthly column, shape (m, 12), January first; NaN where unknown."""
        return self._typed(column, "monthly")  # type: ignore[no-any-return]

    def category(self, column: str) -> tuple[tuple[str, ...], Ints]:
        """Return a categorical column: sorted labels, codes (m,) with -1 where unknown."""
        return self._typed(column, "category")  # type: ignore[no-any-return]

    def tags(self, column: str) -> tuple[tuple[str, ...], Bools, Bools]:
        """Return a multi-valued column: sorted labels, has (m, labels), known (m,)."""
        return self._typed(column, "tags")  # type: ignore[no-any-return]

    def _find(self, column: str) -> tuple[ColumnSpec, Any]:
        try:
            return self._columns[column]
        except KeyError:
            raise CatalogueError(
                f"catalogue {self.name!r} has no column {column!r}; "
                f"{did_you_mean(column, self._columns)}"
            ) from None

    def _typed(self, column: str, kind: Kind) -> Any:
        spec, data = self._find(column)
        if spec.kind != kind:
            raise CatalogueError(
                f"column {column!r} of catalogue {self.name!r} is {spec.kind}, not {kind}"
            )
        return data

    def once(self, key: object, make: Callable[[], R]) -> R:
        """Return what `make` gives, computed once per catalogue and key.

        What is kept is dropped when there is more than `MOST_KEPT` of it, so that a server that
        makes new stakeholders for each request does not grow for ever.
        """
        if key not in self._cache:
            if len(self._cache) >= MOST_KEPT:
                self._cache.clear()
            self._cache[key] = make()
        found: R = self._cache[key]
        return found

    def first(self, spec: S) -> S:
        """Return the first spec equal to this one that was ever asked for here.

        So equal specs share what is computed of them. They are compared only once and then told
        apart by identity, since hashing one costs more than reading a column; keeping each keeps
        its identity from being used again. One that can't be hashed is only equal to itself.
        """
        found: tuple[S, S] = self.once(("first", id(spec)), lambda: (spec, self._equal(spec)))
        return found[1]

    def _equal(self, spec: S) -> S:
        try:
            return self.once((type(spec), spec), lambda: spec)
        except TypeError:
            return spec

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was computed: its keys hold identities that mean nothing in a copy."""
        return {**self.__dict__, "_cache": {}}

    def cell(self, id: str, column: str) -> Any:
        """Return one cell as plain data: a number, a word, a list, or None where unknown."""
        row, (spec, data) = self.row(id), self._find(column)
        if spec.kind == "numeric":
            return None if np.isnan(data[row]) else float(data[row])
        if spec.kind == "monthly":
            return None if np.isnan(data[row]).all() else [float(v) for v in data[row]]
        if spec.kind == "category":
            labels, codes = data
            return labels[codes[row]] if codes[row] >= 0 else None
        labels, has, known = data
        return (
            [label for label, h in zip(labels, has[row], strict=True) if h] if known[row] else None
        )

    def missing(self) -> dict[str, int]:
        """Return the number of unknown cells of each column that has some."""
        counts = {}
        for name, (spec, data) in self._columns.items():
            unknown = {
                "numeric": lambda d: np.isnan(d),
                "monthly": lambda d: np.isnan(d).any(axis=1),
                "category": lambda d: d[1] < 0,
                "tags": lambda d: ~d[2],
            }[spec.kind](data)
            if count := int(unknown.sum()):
                counts[name] = count
        return counts

    def replace(self, column: str, values: Floats) -> Catalogue:
        """Return a catalogue with other values in one numeric column, shape (m,)."""
        spec = self.spec(column)
        self._typed(column, "numeric")
        data = np.array(values, dtype=np.float64)
        if data.shape != (len(self),):
            raise CatalogueError(f"column {column!r} takes shape ({len(self)},), not {data.shape}")
        return Catalogue(self.name, self.ids, {**self._columns, column: (spec, frozen(data))})

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 of ids, column names, kinds and cells, in hexadecimal."""
        hash_ = hashlib.sha256()
        for text in _flat(self.ids):
            hash_.update(text)
        for name, (spec, data) in sorted(self._columns.items()):
            for text in _flat((name, spec.kind)):
                hash_.update(text)
            for part in data if isinstance(data, tuple) else (data,):
                if isinstance(part, tuple):
                    hash_.update(b"".join(_flat(part)))
                else:
                    hash_.update(np.ascontiguousarray(part).tobytes())
        return hash_.hexdigest()


def _flat(texts: Iterable[str]) -> Iterator[bytes]:
    return (text.encode() + b"\0" for text in texts)
