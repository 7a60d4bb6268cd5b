"""Turns the cells of a column into arrays; every cell that does not fit is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from fairagents.errors import CatalogueError
from fairagents.spec import Bools, Floats, Ints
from fairagents.tables import shown

Kind = Literal["numeric", "category", "tags", "monthly"]
MONTHS = 12


def frozen(array: Any) -> Any:
    array.setflags(write=False)
    return array


def is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and value != value


class Cells:
    """One column's cells with what an error needs to name the place."""

    def __init__(self, name: str, column: str, ids: Sequence[str], values: Sequence[Any]) -> None:
        self.name, self.column, self.ids, self.values = name, column, ids, values

    def error(self, row: int, wanted: str) -> CatalogueError:
        return CatalogueError(
            f"catalogue {self.name!r}, column {self.column!r}, {self.ids[row]!r}: "
            f"{shown(self.values[row])} is not {wanted}"
        )


def _unknown(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or is_nan(value)


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


def kind_of(values: Sequence[Any]) -> Kind:
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


def parse_numeric(cells: Cells) -> Floats:
    out = np.full(len(cells.ids), np.nan)
    for i, value in enumerate(cells.values):
        if not _unknown(value):
            number = _number(value)
            if number is None:
                raise cells.error(i, "a finite number")
            out[i] = number
    return frozen(out)  # type: ignore[no-any-return]


def parse_category(cells: Cells) -> tuple[tuple[str, ...], Ints]:
    for i, value in enumerate(cells.values):
        if not _unknown(value) and not isinstance(value, str):
            raise cells.error(i, "a word")
    words = [None if _unknown(v) else v.strip() for v in cells.values]
    labels = tuple(sorted({w for w in words if w is not None}))
    code: dict[str | None, int] = {label: i for i, label in enumerate(labels)}
    return labels, frozen(np.array([code.get(w, -1) for w in words], dtype=np.int64))


def parse_tags(cells: Cells) -> tuple[tuple[str, ...], Bools, Bools]:
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
    return labels, frozen(has), frozen(known)


def parse_monthly(cells: Cells) -> Floats:
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
    return frozen(out)  # type: ignore[no-any-return]
