from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tomllib
from typing import Any

import pytest

import fairagents
from fairagents.agents.base import POLICIES
from fairagents.evaluators.base import EVALUATORS
from fairagents.rules.axioms import AXIOMS
from fairagents.rules.base import RULES
from fairagents.rules.names import BUILTIN
from tests.docs.blocks import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_top_level_holds_what_it_should() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    tops = {line.split("/")[0] for line in done.stdout.splitlines()}
    assert {t for t in tops if not t.startswith(".")} <= {
        "pyproject.toml",
        "README.md",
        "fairagents",
        "configs",
        "usecases",
        "tests",
        "docs",
        "Makefile",
        "langgraph.json",
        "LICENSE",
    }


@pytest.mark.parametrize("name", fairagents.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(fairagents, name)
    assert value.__doc__


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Councl'"):
        fairagents.Councl  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, fairagents\n"
        "from fairagents import Catalogue, Profile, Stakeholder, Slate, RULES\n"
        "RULES.build('borda')(Profile.from_rankings([['a', 'b']]), Slate(size=1))\n"
        "heavy = {'langgraph', 'langchain_core', 'sqlalchemy', 'scipy', 'matplotlib', 'networkx'}\n"
        "sys.stdout.write(' '.join(sorted(heavy & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_every_built_in_plug_in_can_be_loaded_and_is_documented() -> None:
    pages = (ROOT / "docs" / "reference" / name for name in ("measures-and-rules.md", "rules.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for plugins in (RULES, EVALUATORS, POLICIES):
        for name in plugins:
            assert plugins.get(name).__doc__
            assert f"`{name}`" in text


def test_every_entry_point_can_be_loaded() -> None:
    for group, points in PROJECT["project"]["entry-points"].items():
        assert group.startswith("fairagents.")
        for target in points.values():
            module, _, attribute = target.partition(":")
            assert hasattr(importlib.import_module(module), attribute)


def test_there_is_an_entry_point_group_for_every_kind_of_plug_in() -> None:
    groups = set(PROJECT["project"]["entry-points"])
    assert {
        f"fairagents.{k}"
        for k in (
            "usecases",
            "indicators",
            "rules",
            "evaluators",
            "policies",
            "protocols",
            "tallies",
            "probes",
            "voices",
        )
    } == groups


def test_langgraph_json_names_a_graph_that_compiles() -> None:
    config = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    for target in config["graphs"].values():
        path, _, attribute = target.partition(":")
        spec = importlib.util.spec_from_file_location("studio_graph", ROOT / path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        graph = getattr(module, attribute)
        assert "ask_traveller" in graph.get_graph().nodes


def test_ci_runs_every_part_of_test_all() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    parts = next(x for x in makefile.splitlines() if x.startswith("test-all:")).split()[1:]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    ran = {word for x in script.splitlines() if x.startswith("make ") for word in x.split()[1:]}
    assert set(parts) <= ran


def test_developers_tools_are_no_requirements() -> None:
    required = " ".join(PROJECT["project"]["dependencies"])
    extras = PROJECT["project"]["optional-dependencies"]
    assert "pytest" not in required and set(extras) == {"postgres", "studio"}


def test_the_readme_counts_right() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"**{len(BUILTIN)} rules**" in text
    assert f"each of {len(AXIOMS)} axioms" in text
