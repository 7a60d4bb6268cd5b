"""Plug-ins by name, by place and as objects: each kind takes its own and says what else it got."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from fairagents.agents.base import POLICIES, Agent, Policy
from fairagents.agents.scripted import Utility
from fairagents.council import Council
from fairagents.errors import SpecError
from fairagents.evaluators.base import EVALUATORS, Evaluator
from fairagents.evaluators.collective import Gini
from fairagents.plugins import Plugin, Plugins
from fairagents.protocols.base import PROTOCOLS, OneShot, Protocol
from fairagents.rules.base import RULES, Rule
from fairagents.rules.positional import Borda
from fairagents.spec import INDICATORS, Column, Indicator
from fairagents.usecase import USECASES, UseCase
from tests.core.toys import TRIO, agents, party

TABLES: list[tuple[Plugins[Any], type, Plugin | None, str]] = [
    (RULES, Rule, Borda(), "a rule"),
    (EVALUATORS, Evaluator, Gini(), "an evaluator"),
    (POLICIES, Policy, Utility(), "a policy"),
    (PROTOCOLS, Protocol, OneShot(), "a protocol"),
    (INDICATORS, Indicator, Column(column="ann"), "an indicator"),
    (USECASES, UseCase, None, "a usecase"),
]


def place(plugin: Plugin) -> str:
    return f"{type(plugin).__module__}:{type(plugin).__name__}"


@pytest.mark.parametrize(("table", "base", "own", "noun"), TABLES, ids=[t[3] for t in TABLES])
def test_each_kind_takes_its_own_and_refuses_the_others(
    table: Plugins[Any], base: type, own: Plugin | None, noun: str
) -> None:
    assert table.base is base
    for _, _, other, what in TABLES:
        if other is None:
            continue
        if other is own:
            assert table.build(other) is other
            assert table.build(table.dump(other)) == other
            continue
        with pytest.raises(SpecError, match=f"'{other.name}' is {what}, not {noun}$"):
            table.build(other)
        with pytest.raises(SpecError, match=f"'{place(other)}' is {what}, not {noun}$"):
            table.build(place(other))
    if own is not None:
        with pytest.raises(SpecError, match=f"'usecases.tourism:tourism' is a usecase, not {noun}"):
            table.build("usecases.tourism:tourism")
        with pytest.raises(SpecError, match=f"is an abstract {table.kind}: name a subclass of it"):
            table.build(f"{base.__module__}:{base.__name__}")


def test_an_object_of_another_kind_is_refused_wherever_it_is_given() -> None:
    policy: Any = Utility()
    with pytest.raises(SpecError, match="'utility' is a policy, not a rule"):
        Council(TRIO, agents(party("ann")), rule=policy)
    with pytest.raises(SpecError, match="'utility' is a policy, not a protocol"):
        Council(TRIO, agents(party("ann")), protocol=policy)
    with pytest.raises(SpecError, match="'utility' is a policy, not an evaluator"):
        Council(TRIO, agents(party("ann")), evaluators=[policy])
    with pytest.raises(SpecError, match="'borda' is a rule, not a policy"):
        Agent(stakeholder=party("ann"), policy=Borda())  # type: ignore[arg-type]


class Loose(Plugin):
    """Of no kind at all."""


def test_a_plug_in_of_no_kind_hears_what_would_be_right() -> None:
    message = (
        "'loose' is no rule class but Loose.*; one is a subclass of fairagents.rules.base:Rule"
    )
    with pytest.raises(SpecError, match=message):
        RULES.build(Loose())
    with pytest.raises(
        SpecError, match=r"'fairagents.rules.base:TOLERANCE' is no rule class but 1e"
    ):
        RULES.build("fairagents.rules.base:TOLERANCE")
    assert Plugins[Plugin]("thing", {}).build(Loose()) == Loose()


def test_an_abstract_class_names_what_is_to_be_given() -> None:
    with pytest.raises(
        SpecError, match="is an abstract rule: name a subclass of it that gives decide"
    ):
        RULES.build({"fairagents.rules.base:Rule": {"tie_break": "borda"}})


@pytest.mark.parametrize(
    "name", ["..:x", ":x", ".a:x", "a..b:x", "a.:x", "a:", "a:b:c", "1a:x", "a:1", "a b:x", ":"]
)
def test_a_place_is_written_as_module_and_class(name: str) -> None:
    with pytest.raises(SpecError, match=r"written 'package.module:Class'") as caught:
        RULES.build(name)
    assert str(caught.value).startswith(f"no rule {name!r}; ")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no_such_module:X", "No module named 'no_such_module'"),
        ("fairagents.rules.base.Rule:X", "'fairagents.rules.base' is not a package"),
        ("fairagents.rules.base:Rul", "has no attribute 'Rul'"),
        ("hollow:X", "hollow"),
    ],
)
def test_what_can_not_be_loaded_says_why(
    name: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hollow", ModuleType("hollow"))
    with pytest.raises(SpecError, match=f"rule '{name}' can't be loaded: .*{why}"):
        RULES.build(name)


def test_a_use_case_is_an_object_of_its_class() -> None:
    for name in ("fairagents.usecase:UseCase", place(Borda()), "tests.core.toys:TRIO"):
        with pytest.raises(SpecError, match=f"'{name}' is no use case but "):
            UseCase.load(name)
    with pytest.raises(SpecError, match=r"written 'package.module:Class'"):
        UseCase.load("..:x")
