"""Finds the code blocks of README and docs, so that tests can run them as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Block(NamedTuple):
    path: Path
    line: int
    language: str
    code: str


def documents() -> list[Path]:
    """Return every Markdown file whose code is run."""
    return [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "usecases").rglob("*.md")),
    ]


def blocks(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a document."""
    text = path.read_text(encoding="utf-8")
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text[: found.start()].count("\n") + 2
        yield Block(path, line, found[1], found[2])
