"""Specs: frozen, strict, JSON and TOML round trip; each mistake is one clear error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError

from fairagents.agents.base import Agent
from fairagents.case import Case
from fairagents.council import Council
from fairagents.errors import SpecError
from fairagents.record import Record
from fairagents.spec import (
    RESERVED_IDS,
    Column,
    Constraint,
    Objective,
    Predicate,
    Provenance,
    Stakeholder,
)
from fairagents.task import Assign, AtMostPer, Clash, Divide, Exclude, GroupLimit, Include, Slate
from fairagents.usecase import Stakeholders
from tests.core.toys import CONSTRAINTS, OBJECTIVES, TRIO, agents, objective, party, stakeholders

CHEAP = Predicate(column="price", op="<=", value=3)

RECORDS: list[Record] = [
    *OBJECTIVES,
    *CONSTRAINTS,
    CHEAP,
    Predicate(any=(CHEAP, Predicate(none=(Predicate(request="month", op="in", value=[7, 8]),)))),
    Predicate(column="tags", op="has", value=["sea", "sun"]),
    Predicate(column="price", op="<=", value_from="budget"),
    Slate(size=3, limits=(
        AtMostPer(column="country", count=2), Include(ids=("a",)), Exclude(group=CHEAP),
        Clash(ids=("a", "b")), GroupLimit(group=CHEAP, at_most=2.0),
    )),
    Divide(capacity={"icu": 2.5}, need={"p": {"icu": 1.0}}),
    Assign(seats={"x": 2}, load={"p": 1}, acceptable={"p": ("x",)}),
    Case(id="c", task=Slate(size=1), request={"a": [1, "x"]}, columns={"s": {"a": 0.5}}),
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_a_record_survives_json_and_toml(record: Record) -> None:
    cls = type(record)
    assert cls.from_json(record.to_json()) == record
    assert cls.from_toml(record.to_toml()) == record
    assert cls.from_data(record.to_data()) == record
    assert cls.model_validate(record.model_dump()) == record


@settings(max_examples=40, deadline=None)
@given(stakeholders())
def test_drawn_stakeholders_survive_json_and_toml(drawn: tuple[Stakeholder, ...]) -> None:
    for one in drawn:
        assert Stakeholder.from_toml(one.to_toml()) == one
        assert Stakeholder.from_json(one.to_json()) == one
        assert hash(Stakeholder.from_toml(one.to_toml())) == hash(one)


def test_a_record_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        party("ann").voice = 2.0  # type: ignore[misc]


def spec(**changes: Any) -> dict[str, Any]:
    """Return a valid stakeholder as plain data, changed; a name with a dot goes to objective 0."""
    first = {
        "id": "price",
        "indicator": {"column": {"column": "price"}},
        "direction": "min",
        "anchors": [5, 1],
        "provenance": {"kind": "judgement"},
    }
    data: dict[str, Any] = {"id": "ann", "name": "Ann", "role": "consumer", "objectives": [first]}
    for key, value in changes.items():
        if key.startswith("o_"):
            first[key[2:]] = value
        else:
            data[key] = value
    return data


TWICE = [spec()["objectives"][0]] * 2

MISTAKES: list[tuple[dict[str, Any], str]] = [
    (spec(o_weight=0), r"objectives\.0: objective 'price': a weight must be > 0, .*not 0"),
    (spec(o_weight=-1.0), "weight must be > 0, .*not -1"),
    (spec(o_weight=float("inf")), r"objectives\.0\.weight: .*finite number, not inf"),
    (spec(o_weight=float("nan")), r"objectives\.0\.weight: .*finite number, not nan"),
    (spec(o_weight="2"), r"objectives\.0\.weight: .*number.*'2'"),
    (spec(o_anchors=[3, 3]), r"'price': anchors are equal \(3\.0\)"),
    (spec(o_anchors=[1, 5]), r"'min' wants the second anchor below the first, not \(1\.0, 5\.0\)"),
    (spec(o_direction="max"), r"'max' wants the second anchor above the first"),
    (spec(o_anchors=[1, float("inf")]), r"anchors are two finite numbers .* not \[1, inf\]"),
    (spec(o_anchors=[1]), r"anchors: anchors are two finite numbers .* or 'case', not \[1\]"),
    (spec(o_anchors="range"), "or 'case', not 'range'"),
    (spec(o_anchors=["1", 5]), "anchors are two finite numbers"),
    (spec(o_wieght=2), "no such field; did you mean 'weight'"),
    (spec(o_indicator="colum"), "no indicator 'colum'; did you mean 'column'"),
    (spec(o_indicator={"column": {"column": "x", "colunm": "y"}}), "did you mean 'column'"),
    (spec(o_indicator={"column": {}}), "Column.column: is required"),
    (spec(o_reads="variety"), "variety takes direction 'max'"),
    (spec(o_id="no spaces"), "objectives.0.id"),
    (spec(objectives=[]), "'ann' has no objective"),
    (spec(objectives=TWICE), "objective of 'ann' 'price' is given twice"),
    (spec(voice=0), "'ann', voice: a weight must be > 0, .*not 0"),
    (spec(id="a b"), r"Stakeholder\.id"),
    (spec(role="boss"), r"Stakeholder\.role"),
    (spec(nmae="x"), "no such field; did you mean 'name'"),
    (spec(constraints=[{"id": "c", "accepts": {"column": "x"}}]), "takes either value or value_f"),
    (spec(constraints=[{"id": "c", "accepts": {}}]), "exactly one of .* not none of them"),
    (
        spec(constraints=[{"id": "c", "accepts": {"column": "x", "request": "y", "value": 1}}]),
        "not column and request",
    ),
    (
        spec(constraints=[{"id": "c", "accepts": CHEAP.to_data(), "kind": "soft"}]),
        r"soft constraint 'c': cost must lie in \(0, 1\]",
    ),
    (
        spec(constraints=[{"id": "c", "accepts": CHEAP.to_data(), "cost": 0.5}]),
        "hard constraint 'c' has no cost",
    ),
    (
        spec(constraints=[{"id": "c", "accepts": CHEAP.to_data(), "when": CHEAP.to_data()}]),
        "`when` reads the request, not column 'price'",
    ),
    (spec(constraints=[{"id": "c", "accepts": CHEAP.to_data()}] * 2), "'c' is given twice"),
    (
        spec(constraints=[{"id": "c", "accepts": {"column": "x", "op": "in", "value": 3}}]),
        "operator 'in' takes a list, not 3",
    ),
]


@pytest.mark.parametrize(("data", "message"), MISTAKES, ids=[m for _, m in MISTAKES])
def test_a_mistake_is_one_clear_error(data: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message) as found:
        Stakeholder.from_data(data, "people.toml")
    assert "people.toml" in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("word", sorted(RESERVED_IDS | {"All", "COLLECTIVE"}))
def test_a_reserved_id_is_refused(word: str) -> None:
    with pytest.raises(SpecError, match=f"id {word!r} is reserved"):
        party(word, objective("price"))


def test_several_mistakes_are_all_named() -> None:
    with pytest.raises(SpecError) as found:
        Stakeholder.from_data(spec(voice="loud", o_weight="heavy", extra=1))
    assert len(str(found.value).splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size = ", "not valid TOML"),
        ("size = 2024-01-01", "not plain data: .*date"),
        ("size = 0", "greater than or equal to 1.*0"),
        ("size = 2.0", "Slate.size"),
        ("size = true", "Slate.size"),
    ],
)
def test_bad_toml_names_file_and_place(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as found:
        Slate.from_toml(text, "task.toml")
    assert "task.toml" in str(found.value)


PEOPLE = """
[[stakeholders]]
id = "ann"
name = "Ann"
role = "consumer"
voice = 0.3
[[stakeholders.objectives]]
id = "price"
indicator = { column = { column = "price" } }
direction = "min"
anchors = [5, 1]
provenance = { kind = "interview", source = "12 people" }
[[stakeholders.constraints]]
id = "near"
accepts = { column = "km", op = "<=", value_from = "radius" }

[[stakeholders]]
id = "bob"
name = "Bob"
role = "society"
[[stakeholders.objectives]]
id = "air"
indicator = { column = { column = "air" } }
direction = "max"
anchors = "case"
provenance = { kind = "law" }

[[relations]]
between = ["ann", "bob"]
kind = "tension"
why = "cheap is dirty"
"""


def test_stakeholders_are_declared_without_python(tmp_path: Any) -> None:
    path = tmp_path / "people.toml"
    path.write_text(PEOPLE, encoding="utf-8")
    read = Stakeholders.load(path)
    assert [s.id for s in read.stakeholders] == ["ann", "bob"]
    ann = read.stakeholders[0]
    assert ann.objectives[0].indicator == Column(column="price")
    assert ann.objectives[0].anchors == (5.0, 1.0)
    assert ann.constraints[0].accepts.value_from == "radius"
    assert read.relations[0].between == ("ann", "bob")
    as_json = tmp_path / "people.json"
    as_json.write_text(read.to_json(), encoding="utf-8")
    assert Stakeholders.load(as_json) == read


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "bob"', 'id = "ann"', "people.toml: stakeholder 'ann' is given twice"),
        ('"ann", "bob"]', '"ann", "bop"]', "relation names 'bop'; did you mean 'bob'"),
        ('kind = "tension"', 'kind = "war"', r"relations\.0\.kind"),
        ("voice = 0.3", "voice = -1", "voice: a weight must be > 0"),
    ],
)
def test_a_file_of_stakeholders_names_its_mistake(
    tmp_path: Any, old: str, new: str, message: str
) -> None:
    path = tmp_path / "people.toml"
    path.write_text(PEOPLE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError, match=message):
        Stakeholders.load(path)


def test_a_missing_file_of_stakeholders_is_named(tmp_path: Any) -> None:
    with pytest.raises(SpecError, match=r"can't read '.*nobody.toml': No such file"):
        Stakeholders.load(tmp_path / "nobody.toml")


# -- what only the catalogue shows ---------------------------------------------------------------

BEFORE: list[tuple[Stakeholder, str]] = [
    (party("ann", objective("prize")), "'ann', objective 'prize-mean': .*no column 'prize'"),
    (party("ann", objective("an")), "did you mean 'ann'"),
    (party("ann", objective("country")), "column 'country' is category, not numeric"),
    (
        party("ann", objective("bob", (1.0, 3.0), reads="variety")),
        "column 'bob' is numeric, not category",
    ),
    (
        party("ann", objective("bob").model_copy(update={"unit": "EUR"})),
        "unit 'EUR' clashes with the indicator's 'kg'",
    ),
    (
        party("ann", constraints=[Constraint(id="c", accepts=Predicate(column="bib", value=1))]),
        "'ann', constraint 'c': no column 'bib'; did you mean 'bob'",
    ),
]


@pytest.mark.parametrize(("who", "message"), BEFORE, ids=[m for _, m in BEFORE])
def test_what_does_not_fit_the_catalogue_is_an_error_before_anything_runs(
    who: Stakeholder, message: str
) -> None:
    from fairagents.catalogue import Catalogue, ColumnSpec

    specs = {"bob": ColumnSpec(kind="numeric", unit="kg")}
    cells: dict[str, Any] = {"ann": [1.0, 2.0], "bob": [1.0, 2.0], "country": ["X", "Y"]}
    catalogue = Catalogue.from_cells("toy", ["a", "b"], cells, specs)
    with pytest.raises(SpecError, match=message):
        Council(catalogue, agents(who))


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"quorum": 0}, r"quorum must lie in 1\.\.2, not 0"),
        ({"quorum": 3}, r"quorum must lie in 1\.\.2, not 3"),
        ({"on_abstain": "ignore"}, "on_abstain is without, twin or error, not 'ignore'"),
        ({"max_calls": -1}, "max_calls must be >= 0, not -1"),
        ({"deadline": 0.0}, "deadline must be > 0 seconds, not 0.0"),
        ({"rule": "bord"}, "no rule 'bord'; did you mean 'borda'"),
        ({"rule": {"nash": {"disagrement": 1}}}, "no such field; did you mean 'disagreement'"),
        ({"policies": {"ann": "random"}}, "policies go with a use case"),
    ],
)
def test_a_wrong_setting_of_a_council_is_refused(settings_: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Council(TRIO, agents(party("ann"), party("bob")), **settings_)


def test_a_council_needs_agents_with_ids_of_their_own() -> None:
    with pytest.raises(SpecError, match="at least one agent"):
        Council(TRIO)
    with pytest.raises(SpecError, match="stakeholder 'ann' is given twice"):
        Council(TRIO, agents(party("ann"), party("ann")))


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(SpecError, match="no policy 'utilty'; did you mean 'utility'"):
        Agent(stakeholder=party("ann"), policy="utilty")  # type: ignore[arg-type]


def test_objectives_with_one_id_are_told_apart_by_their_parameters() -> None:
    one = objective("price")
    other = one.model_copy(update={"weight": 2.0})
    assert one != other
    assert one.provenance == Provenance(kind="judgement")
    assert isinstance(one, Objective)
