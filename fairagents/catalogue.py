"""Columns by alternative id: what there is to choose from, with units, provenance and a hash."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel

from fairagents.errors import CatalogueError, did_you_mean
from fairagents.record import Record
from fairagents.spec import Bools, Floats, Ints, Provenance

Kind = Literal["numeric", "category", "tags", "monthly"]
MONTHS = 12
R = TypeVar("R")


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
            _check_name(one, "id", f"catalogue {name!r}, row {i + 1}")
        built = {}
        for column, values in cells.items():
            _check_name(column, "column name", f"catalogue {name!r}")
            if len(values) != len(ids):
                raise CatalogueError(
                    f"catalogue {name!r}, column {column!r}: {len(values)} cells for {len(ids)} ids"
                )
            spec = specs.get(column) or ColumnSpec(kind=_kind_of(values))
            parse = {
                "numeric": _parse_numeric,
                "category": _parse_category,
                "tags": _parse_tags,
                "monthly": _parse_monthly,
            }[spec.kind]
            built[column] = (spec, parse(_Cells(name, column, ids, values)))
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
            str(column): [None if _is_nan(v) else v for v in frame[column].tolist()]
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
        """Return what `make` gives, computed once per catalogue and key."""
        if key not in self._cache:
            self._cache[key] = make()
        found: R = self._cache[key]
        return found

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
        return Catalogue(self.name, self.ids, {**self._columns, column: (spec, _frozen(data))})

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


# -- tables of text -------------------------------------------------------------------------------


class Sheet(NamedTuple):
    """A CSV file as texts: the header, the rows, and the line of the file each row begins on."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]


def read_table(path: str | Path) -> Sheet:
    """Read a UTF-8 CSV file with a header row; blank lines and a byte-order mark don't count.

    Raises:
        CatalogueError: the file can't be read, or as `parse_table`.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CatalogueError(f"can't read catalogue {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CatalogueError(f"catalogue {str(path)!r} is not UTF-8: {error.reason}") from None
    return parse_table(text, f"catalogue {path.name!r}")


def parse_table(text: str, where: str) -> Sheet:
    r"""Read CSV text with a header row; spaces around a column's name don't count.

    Args:
        text: the whole file.
        where: names the file in errors.

    Raises:
        CatalogueError: a quote is not closed, a column is given twice, or a row is longer or
            shorter than the header; it names the line.

    >>> parse_table("id, price\na,2\n", "toy")
    Sheet(header=['id', 'price'], rows=[['a', '2']], lines=[2])
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, lines = [], []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise CatalogueError(
                f"{where}, line {line}: not CSV: {error}; a quoted cell ends with a quote (one "
                f"inside is doubled), and a cell has at most {csv.field_size_limit():,} characters"
            ) from None
        if row is None:
            break
        if row:
            rows.append(row)
            lines.append(line)
    header = [cell.strip(" ") for cell in rows[0]] if rows else []
    for name in header:
        if header.count(name) > 1:
            raise CatalogueError(f"{where}: a column name is given twice: {name!r}")
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise CatalogueError(
                f"{where}, line {line}: {len(row)} cells, not {len(header)} as in the header"
            )
    return Sheet(header, rows[1:], lines[1:])


def shown(value: object) -> str:
    """Return a value as an error shows it: its `repr`, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # thousands of digits; lists in lists without end
        text = f"this {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def _check_name(name: object, what: str, where: str) -> None:
    """Refuse an id or a column name that is no text, is empty or could steer a terminal."""
    if not isinstance(name, str):
        raise CatalogueError(f"{where}: {what} {shown(name)} is not a text")
    if not name.strip() and what == "id":
        raise CatalogueError(f"{where}: the id is empty")
    if any(unicodedata.category(c) in _CONTROLS for c in name):
        raise CatalogueError(
            f"{where}: {what} {shown(name)} holds a control character (say, a newline or an "
            "escape); write it without"
        )


_CONTROLS = ("Cc", "Cs", "Zl", "Zp")
"""Unicode's categories of control characters, lone surrogates, line and paragraph separators."""


# -- cells ---------------------------------------------------------------------------------------


def _flat(texts: Iterable[str]) -> Iterator[bytes]:
    return (text.encode() + b"\0" for text in texts)


def _frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and value != value


class _Cells:
    """One column's cells with what an error needs to name the place."""

    def __init__(self, name: str, column: str, ids: Sequence[str], values: Sequence[Any]) -> None:
        self.name, self.column, self.ids, self.values = name, column, ids, values

    def error(self, row: int, wanted: str) -> CatalogueError:
        return CatalogueError(
            f"catalogue {self.name!r}, column {self.column!r}, {self.ids[row]!r}: "
            f"{shown(self.values[row])} is not {wanted}"
        )


def _unknown(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or _is_nan(value)


def _number(value: Any) -> float | None:
    """Return a finite number, or None when the cell is none."""
    if isinstance(value, bool) or (isinstance(value, str) and "_" in value):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def _too_large(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _parts(value: Any) -> list[Any]:
    return value.split("|") if isinstance(value, str) else list(value)


def _kind_of(values: Sequence[Any]) -> Kind:
    known = [v for v in values if not _unknown(v)]
    # A number that is too large is a faulty number, not another kind of cell.
    if all(_number(v) is not None or _too_large(v) for v in known):
        return "numeric"
    several = [v for v in known if not isinstance(v, str) or "|" in v]
    if not several:
        return "category"
    twelve = all(
        isinstance(v, str | Iterable)
        and len(parts := _parts(v)) == MONTHS
        and all(_number(p) is not None for p in parts)
        for v in known
    )
    return "monthly" if twelve else "tags"


def _parse_numeric(cells: _Cells) -> Floats:
    out = np.full(len(cells.ids), np.nan)
    for i, value in enumerate(cells.values):
        if not _unknown(value):
            number = _number(value)
            if number is None:
                raise cells.error(i, "a finite number")
            out[i] = number
    return _frozen(out)  # type: ignore[no-any-return]


def _parse_category(cells: _Cells) -> tuple[tuple[str, ...], Ints]:
    for i, value in enumerate(cells.values):
        if not _unknown(value) and not isinstance(value, str):
            raise cells.error(i, "a word")
    words = [None if _unknown(v) else v.strip() for v in cells.values]
    labels = tuple(sorted({w for w in words if w is not None}))
    code: dict[str | None, int] = {label: i for i, label in enumerate(labels)}
    return labels, _frozen(np.array([code.get(w, -1) for w in words], dtype=np.int64))


def _parse_tags(cells: _Cells) -> tuple[tuple[str, ...], Bools, Bools]:
    sets: list[list[str] | None] = []
    for i, value in enumerate(cells.values):
        if _unknown(value):
            sets.append(None)
            continue
        if not isinstance(value, str | list | tuple):
            raise cells.error(i, "a list of words or words joined by '|'")
        parts = _parts(value)
        if not all(isinstance(p, str) for p in parts):
            raise cells.error(i, "a list of words: each tag is a text")
        parts = [p.strip() for p in parts]
        if isinstance(value, str) and parts == ["-"]:
            parts = []
        if not all(parts) or "-" in parts:
            raise cells.error(i, "free of empty tags; '-' alone says that there is none")
        sets.append(parts)
    labels = tuple(sorted({tag for tags in sets for tag in tags or ()}))
    code = {label: j for j, label in enumerate(labels)}
    has = np.zeros((len(sets), len(labels)), dtype=bool)
    for i, tags in enumerate(sets):
        for tag in tags or ():
            has[i, code[tag]] = True
    known = np.array([tags is not None for tags in sets], dtype=bool)
    return labels, _frozen(has), _frozen(known)


def _parse_monthly(cells: _Cells) -> Floats:
    out = np.full((len(cells.ids), MONTHS), np.nan)
    for i, value in enumerate(cells.values):
        if _unknown(value):
            continue
        numbers = (
            [_number(p) for p in _parts(value)] if isinstance(value, str | list | tuple) else []
        )
        if len(numbers) != MONTHS or None in numbers:
            raise cells.error(i, "twelve finite numbers, January first, joined by '|'")
        out[i] = numbers
    return _frozen(out)  # type: ignore[no-any-return]
