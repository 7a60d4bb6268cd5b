"""Reads tables of text strictly: every row whole, every name printable."""

from __future__ import annotations

import csv
import io
import unicodedata
from pathlib import Path
from typing import NamedTuple

from fairagents.errors import CatalogueError


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


def check_name(name: object, what: str, where: str) -> None:
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
