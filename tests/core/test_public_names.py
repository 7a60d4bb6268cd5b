"""The package's own names: lazy, complete, found by name, and light to import."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fairagents
from fairagents.errors import Failure, FairagentsError, SpecError, did_you_mean, guard
from fairagents.plugins import Plugin, Plugins
from fairagents.record import canonical
from fairagents.rules.positional import Borda
from fairagents.seeds import derive, id_words, tie_keys


@pytest.mark.parametrize("name", fairagents.__all__)
def test_every_public_name_is_reached(name: str) -> None:
    assert getattr(fairagents, name) is not None
    assert name in dir(fairagents)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Councill'"):
        _ = fairagents.Councill


LIGHT = """
import sys, fairagents
from fairagents import Case, Catalogue, Profile, Stakeholder, Utility, UseCase, conflict, Verdict
from fairagents.engine import run
from fairagents.rules.base import RULES
RULES.build("nash")
heavy = "langgraph langchain_core langchain_ollama sqlalchemy scipy matplotlib typer rich jinja2"
print([name for name in heavy.split() if name in sys.modules])
"""


def test_the_core_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- plug-ins ------------------------------------------------------------------------------------


class HTTPFloor(Plugin):
    """Has a name of two words."""

    floor: float = 0.1
    tags: tuple[str, ...] = ()


class Named(HTTPFloor):
    """Has a name of its own."""

    name = "own"


KINDS = Plugins[Plugin]("kind", {"floor": f"{__name__}:HTTPFloor", "gone": "no.such:Thing"})


def test_a_plug_in_is_named_after_its_class_and_labelled_by_what_differs() -> None:
    assert HTTPFloor.name == "httpfloor"
    assert Named.name == "own"
    assert HTTPFloor().label == "httpfloor"
    assert HTTPFloor(floor=0.2, tags=("a",)).label == "httpfloor(floor=0.2, tags=('a',))"
    assert HTTPFloor() == HTTPFloor()
    assert HTTPFloor() != HTTPFloor(floor=0.2)
    assert len({HTTPFloor(), HTTPFloor(), HTTPFloor(floor=0.2)}) == 2


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("flor", "no kind 'flor'; did you mean 'floor'"),
        ("gone", "kind 'gone' can't be loaded: No module named 'no'"),
        (3, "a kind is written 'name' or {name = {field = value}}, not 3"),
        ({}, "is written 'name'"),
        ({"floor": {"flor": 1}}, "kind 'floor': HTTPFloor.flor: no such field"),
    ],
)
def test_a_wrong_reference_says_what_would_be_right(ref: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        KINDS.build(ref)


def test_a_plug_in_outside_the_table_is_written_by_its_place() -> None:
    plugin = Named(floor=0.5)
    ref = KINDS.dump(plugin)
    assert ref == {f"{__name__}:Named": {"floor": 0.5}}
    assert KINDS.build(ref) == plugin
    assert KINDS.build(plugin) is plugin
    assert list(KINDS) == ["floor", "gone"]


# -- errors, seeds, bytes ------------------------------------------------------------------------


def test_a_crash_of_foreign_code_is_data_and_our_own_errors_pass() -> None:
    found = guard(dict[str, int]().__getitem__, "x")
    assert isinstance(found, Failure)
    assert (found.kind, found.message) == ("KeyError", "'x'")
    assert "Traceback" in found.traceback

    def fails(error: BaseException) -> None:
        raise error

    class GraphBubbleUp(Exception):
        pass

    class GraphInterrupt(GraphBubbleUp):
        pass

    for error in (FairagentsError("x"), GraphInterrupt(), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            guard(fails, error)


def test_hints_name_what_is_close_or_what_there_is() -> None:
    assert did_you_mean("BORDA", ["borda", "nash"]) == "did you mean 'borda'?"
    assert did_you_mean("q", [f"n{i:02}" for i in range(30)]).endswith("'n19', ...")


def test_seeds_depend_on_every_name_and_not_on_how_they_run_together() -> None:
    names = [("a", "b", 1), ("a", "b", 2), ("ab", "", 1), ("a", "", "b1"), ("b", "a", 1)]
    assert len({derive(0, *n) for n in names} | {derive(1, *names[0])}) == 6
    assert all(0 <= derive(s, "x") < 2**63 for s in range(100))


def test_tie_keys_are_the_same_in_any_order_of_ids() -> None:
    ids = [f"id{i}" for i in range(50)]
    keys = tie_keys(7, id_words(ids))
    assert len(set(keys.tolist())) == 50
    assert tie_keys(7, id_words(ids[::-1])).tolist() == keys.tolist()[::-1]
    assert tie_keys(8, id_words(ids)).argsort().tolist() != keys.argsort().tolist()


def test_canonical_bytes_refuse_what_is_not_a_number() -> None:
    assert canonical({"b": [1, 1.0], "a": "é"}) == '{"a":"é","b":[1,1.0]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical({"a": float("nan")})


def test_a_rule_added_by_a_class_is_used_without_a_table() -> None:
    class Backwards(Borda):
        """Borda from behind."""

        def order(self, profile):  # type: ignore[no-untyped-def]
            found = super().order(profile)
            return type(found)(found.levels.max() - found.levels)

    from tests.core.toys import case, trio

    best = trio(rule=Backwards()).decide(case(6)).decision
    assert best.rule == "backwards"
    assert best.tiers == trio().decide(case(6)).decision.tiers[::-1]
