from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fairagents import Experiment
from fairagents.usecase import Stakeholders
from tests.docs.blocks import ROOT, blocks, documents

KNOWN = {"python", "sh", "toml", "csv", "json", "jsonl", "text", "mermaid", "console"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", documents(), ids=name)
def test_python_blocks_run_in_order(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for shown in blocks(path):
        # A file that a document shows with its name is there for the code that follows.
        if found := re.match(r"# file: (\S+)\n", shown.code):
            (tmp_path / found[1]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / found[1]).write_text(shown.code, encoding="utf-8")
    space: dict[str, Any] = {"__name__": "__main__"}
    for shown in blocks(path):
        if shown.language == "python":
            # Padding makes a traceback point into the document.
            code = compile("\n" * (shown.line - 1) + shown.code, str(path), "exec")
            exec(code, space)


@pytest.mark.parametrize("path", documents(), ids=name)
def test_every_block_names_a_language_that_is_checked(path: Path) -> None:
    for shown in blocks(path):
        assert shown.language in KNOWN, f"{name(path)}:{shown.line}"


@pytest.mark.parametrize("path", documents(), ids=name)
def test_toml_blocks_are_experiments_or_stakeholders(path: Path) -> None:
    for shown in blocks(path):
        if shown.language == "toml":
            data = tomllib.loads(shown.code)
            kind = Experiment if "usecase" in data else Stakeholders
            kind.from_toml(shown.code, f"{name(path)}:{shown.line}")


@pytest.mark.parametrize("path", documents(), ids=name)
def test_links_point_to_something(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (path.parent / target).exists(), f"{name(path)} links to {target!r}"


def test_no_word_that_judges_the_outcome() -> None:
    """An outcome is never called fair or unbiased; a definition is named instead."""
    pattern = re.compile(r"\b(unbiased|is fair|are fair|fair outcome|fairest)\b", re.IGNORECASE)
    for path in documents():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if found := pattern.search(line):
                assert "never" in line.casefold(), f"{name(path)}:{number}: {found[0]!r}"
