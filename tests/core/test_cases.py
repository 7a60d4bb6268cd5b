"""Cases are plain JSON; predicates are three-valued and say yes, no or unknown of each row."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairagents.case import Case, Pool
from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.council import Council
from fairagents.errors import CatalogueError, SpecError
from fairagents.spec import Column, Floats, Indicator, Objective, Predicate, Provenance
from fairagents.task import Slate
from fairagents.worth import worth
from tests.core.toys import agents, case, objective, party, table

INNS = Catalogue.from_cells(
    "inns",
    ["a", "b", "c", "d"],
    {
        "price": [1.0, 2.0, 3.0, None],
        "country": ["Poland", "Spain", None, "Land"],
        "tags": ["sea|sun", "sun", "-", None],
        "season": ["1|2|3|4|5|6|7|8|9|10|11|12", None, None, None],
    },
    {"tags": ColumnSpec(kind="tags"), "season": ColumnSpec(kind="monthly")},
)
REQUEST = {"budget": 2, "home": "Spain", "wishes": ["sun"], "months": [7, 8], "word": "Polan"}
POOL = Pool(INNS, request=REQUEST)

Y, N, U = 1, 0, -1

ATOMS: list[tuple[dict[str, Any], list[int]]] = [
    ({"column": "price", "op": "<=", "value": 2}, [Y, Y, N, U]),
    ({"column": "price", "op": "<", "value": 2}, [Y, N, N, U]),
    ({"column": "price", "op": ">=", "value_from": "budget"}, [N, Y, Y, U]),
    ({"column": "price", "op": ">", "value": 2}, [N, N, Y, U]),
    ({"column": "price", "op": "!=", "value": 2}, [Y, N, Y, U]),
    ({"column": "price", "op": "in", "value": [1, 3]}, [Y, N, Y, U]),
    ({"column": "price", "op": "not in", "value": [1, 3]}, [N, Y, N, U]),
    ({"column": "price", "op": "known"}, [Y, Y, Y, N]),
    ({"column": "price", "op": "<=", "value_from": "nothing"}, [U, U, U, U]),
    ({"column": "country", "value": "Spain"}, [N, Y, U, N]),
    ({"column": "country", "op": "!=", "value_from": "home"}, [Y, N, U, Y]),
    ({"column": "country", "op": "in", "value": ["Spain", "Poland"]}, [Y, Y, U, N]),
    ({"column": "country", "op": "not in", "value": []}, [Y, Y, U, Y]),
    ({"column": "country", "op": "known"}, [Y, Y, N, Y]),
    ({"column": "country", "op": "has", "value": "Land"}, [N, N, U, Y]),
    ({"column": "country", "value": "Mars"}, [N, N, U, N]),
    ({"column": "tags", "op": "has", "value": "sea"}, [Y, N, N, U]),
    ({"column": "tags", "op": "has", "value": ["sea", "snow"]}, [Y, N, N, U]),
    ({"column": "tags", "op": "lacks", "value": "sea"}, [N, Y, Y, U]),
    ({"column": "tags", "op": "has", "value_from": "wishes"}, [Y, Y, N, U]),
    ({"column": "tags", "op": "known"}, [Y, Y, Y, N]),
    ({"request": "budget", "op": ">", "value": 1}, [Y] * 4),
    ({"request": "home", "value": "France"}, [N] * 4),
    ({"request": "nothing", "value": "France"}, [U] * 4),
    ({"request": "nothing", "op": "known"}, [N] * 4),
    ({"request": "wishes", "op": "has", "value": "sun"}, [Y] * 4),
    ({"request": "wishes", "op": "lacks", "value": ["snow"]}, [Y] * 4),
    ({"request": "home", "op": "has", "value": "Spa"}, [N] * 4),
]


@pytest.mark.parametrize(
    ("data", "wanted"), ATOMS, ids=[Predicate(**d).describe() for d, _ in ATOMS]
)
def test_one_condition_is_answered_yes_no_or_unknown(
    data: dict[str, Any], wanted: list[int]
) -> None:
    answers = POOL.holds(Predicate(**data))
    assert answers.tolist() == wanted
    some = Pool(INNS, np.array([3, 1]), REQUEST)
    assert some.holds(Predicate(**data)).tolist() == [wanted[3], wanted[1]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"column": "price", "op": "has", "value": 1}, "price has 1: a numeric column does not"),
        ({"column": "price", "value": "cheap"}, "'price' is numeric, 'cheap' is not"),
        ({"column": "price", "value": True}, "'price' is numeric, True is not"),
        ({"column": "price", "op": "in", "value": ["1.0"]}, "'price' is numeric, '1.0' is not"),
        ({"column": "price", "op": "in", "value_from": "word"}, "numeric, 'Polan' is not"),
        ({"column": "country", "op": "<", "value": 3}, "can't compare 'Land' < 3"),
        ({"column": "country", "op": "in", "value_from": "word"}, "can't compare .* in 'Polan'"),
        ({"column": "tags", "op": "<", "value": 3}, "takes 'has' or 'lacks'"),
        ({"column": "season", "op": "<", "value": 3}, "is monthly, not numeric"),
        ({"column": "prize", "value": 3}, "no column 'prize'; did you mean 'price'"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        POOL.holds(Predicate(**data))


def kleene(form: str, parts: list[int]) -> int:
    """Kleene's tables, written out."""
    if form == "all":
        return N if N in parts else U if U in parts else Y
    some = Y if Y in parts else U if U in parts else N
    return some if form == "any" else {Y: N, N: Y, U: U}[some]


def combined(form: str, parts: list[Predicate]) -> Predicate:
    return Predicate.model_validate({form: tuple(parts)})


@given(
    st.sampled_from(["all", "any", "none"]),
    st.lists(st.sampled_from([Predicate(**d) for d, _ in ATOMS]), min_size=1, max_size=3),
)
def test_conditions_combine_by_kleenes_logic(form: str, parts: list[Predicate]) -> None:
    answers = [POOL.holds(p).tolist() for p in parts]
    found = POOL.holds(combined(form, parts)).tolist()
    assert found == [kleene(form, [a[i] for a in answers]) for i in range(4)]
    nested = Predicate(all=(combined(form, parts),))
    assert POOL.holds(nested).tolist() == found


def test_a_pool_holds_the_candidates_in_their_own_order_with_their_own_columns() -> None:
    one = case(1, candidates=["c", "a"], columns={"score": {"a": 0.5, "d": 1.0}})
    pool = one.pool(INNS)
    assert pool.ids == ("c", "a")
    assert dict(pool.index) == {"c": 0, "a": 1}
    assert pool.numeric("price").tolist() == [3.0, 1.0]
    assert pool.numeric("score").tolist() == pytest.approx([np.nan, 0.5], nan_ok=True)
    assert pool.monthly("season", 3).tolist() == pytest.approx([np.nan, 3.0], nan_ok=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"candidates": ["a", "e"]}, "case 'c': 'e' is not in catalogue 'inns'"),
        ({"candidates": ["a", "a"]}, "case 'c': candidate 'a' is given twice"),
        ({"columns": {"price": {"a": 1.0}}}, "column 'price' is one of the catalogue's"),
        ({"columns": {"score": {"z": 1.0}}}, "case 'c', column 'score': 'z' is not in"),
    ],
)
def test_a_case_that_does_not_fit_the_catalogue_is_refused(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        case(1, **fields).pool(INNS)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_case_holds_finite_numbers_only(bad: float) -> None:
    with pytest.raises(SpecError, match=r"Case\.columns\.score\.a: .*finite"):
        Case(id="c", task=Slate(size=1), columns={"score": {"a": bad}})
    with pytest.raises(SpecError, match=r"Case\.request\.x.*finite number"):
        Case(id="c", task=Slate(size=1), request={"x": [bad]})


class Wrong(Indicator):
    """Returns what it is told."""

    shape: tuple[int, ...] = (2,)
    fill: float = 1.0
    column: str = ""

    def values(self, pool: Pool) -> Floats:
        with np.errstate(over="ignore"):
            return np.full(self.shape, self.fill) * 10

    def requires(self) -> tuple[str, ...]:
        return (self.column,) if self.column else ()


@pytest.mark.parametrize(
    ("indicator", "error", "message"),
    [
        (Wrong(shape=(3,)), SpecError, r"wrong\(shape=\(3,\)\) returned shape \(3,\), not \(2,\)"),
        (Wrong(fill=1e308), SpecError, "is infinite for 'a'"),
        (
            Wrong(column="z"),
            CatalogueError,
            "reads column 'z', which catalogue 'toy' does not have",
        ),
    ],
)
def test_an_indicator_that_breaks_its_contract_is_named(
    indicator: Indicator, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Pool(table(x=[1.0, 2.0])).values(indicator)


def test_equal_indicators_are_read_once_and_others_are_not_mixed_up() -> None:
    pool = Pool(table(x=[1.0, 2.0], y=[3.0, 4.0]))
    assert pool.values(Column(column="x")) is pool.values(Column(column="x"))
    assert pool.values(Column(column="y")).tolist() == [3.0, 4.0]
    other = Pool(pool.catalogue, np.array([1]))
    assert other.values(Column(column="x")).tolist() == [2.0]


# -- what is computed once per catalogue -----------------------------------------------------------


def price_times(factor: float) -> Indicator:
    """An indicator of a class of its own, as in a notebook whose cell is run again."""

    class Mine(Column):
        def values(self, pool: Pool) -> Floats:
            return factor * pool.numeric("price")

    return Mine(column="price")


def test_a_class_defined_again_is_another_indicator() -> None:
    cities = table(price=[1.0, 2.0])
    pool = case(1).pool(cities)
    assert pool.values(price_times(1)).tolist() == [1.0, 2.0]
    assert pool.values(price_times(-1)).tolist() == [-1.0, -2.0]
    assert case(1).pool(cities).values(price_times(-1)).tolist() == [-1.0, -2.0]


class Weighted(Indicator):
    """A parameter that can't be hashed."""

    weights: dict[str, float]

    def values(self, pool: Pool) -> Floats:
        return sum(
            (w * pool.numeric(name) for name, w in self.weights.items()), np.zeros(len(pool))
        )


def test_an_indicator_with_a_parameter_that_cannot_be_hashed_works_everywhere() -> None:
    cities = table(price=[1.0, 2.0, 3.0])
    wants = Objective(
        id="w", indicator=Weighted(weights={"price": 1.0}), direction="max", anchors=(0.0, 3.0),
        provenance=Provenance(kind="judgement"),
    )  # fmt: skip
    council = Council(cities, agents(party("ann", wants)))
    one = case(1)
    many = council.decide_many([one, one])
    assert many[0].canonical() == council.decide(one).canonical()
    assert many.outcome(1) == council.decide(one).decision.outcome.ids


def test_what_a_catalogue_keeps_is_bounded_and_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairagents.catalogue.MOST_KEPT", 50)
    cities = table(ann=[1.0, 2.0, 3.0])
    for i in range(60):
        wants = party("ann", objective("ann", (0.0, 3.0 + i)))
        assert worth(wants, case(1).pool(cities), 1).items.tolist() == [
            value / (3.0 + i) for value in (1.0, 2.0, 3.0)
        ]
        assert len(cities._cache) <= 50
    assert copy.deepcopy(cities)._cache == {} == pickle.loads(pickle.dumps(cities))._cache


def test_an_indicator_that_gives_no_numbers_is_named() -> None:
    class Words(Column):
        def values(self, pool: Pool) -> Floats:
            return ["cheap"] * len(pool)  # type: ignore[return-value]

    with pytest.raises(SpecError, match=r"indicator words\(column='price'\) returned no numbers"):
        case(1).pool(table(price=[1.0])).values(Words(column="price"))
