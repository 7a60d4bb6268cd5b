"""Worth, ceilings and the conflict check against enumeration by hand."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.case import Case
from fairagents.catalogue import Catalogue
from fairagents.conflicts import conflict
from fairagents.council import Council
from fairagents.errors import InfeasibleError, SpecError
from fairagents.outcome import Outcome
from fairagents.setting import Cut, Setting
from fairagents.spec import Column, Constraint, Objective, Predicate, Provenance, Stakeholder
from fairagents.task import AtMostPer, Divide, Exclude, Include, Slate
from fairagents.worth import normalised, worth, worth_of_many
from tests.core.toys import TRIO, case, objective, party, problems, table


def by_hand(setting: Setting, who: Stakeholder, slate: tuple[str, ...]) -> float:
    """The documented definition of worth, term by term, in plain Python."""
    pool = setting.pool
    rows = [pool.index[one] for one in slate]
    total = sum(o.weight for o in who.objectives)
    refused, cost = [False] * len(pool), [0.0] * len(pool)
    for constraint in who.constraints:
        if constraint.when is not None and pool.holds(constraint.when)[0] != 1:
            continue
        for i, answer in enumerate(pool.holds(constraint.accepts).tolist()):
            if answer == 0 or (answer == -1 and constraint.unknown == "no"):
                if constraint.kind == "hard":
                    refused[i] = True
                else:
                    cost[i] += constraint.cost
    mean, rest = [0.0] * len(pool), 0.0
    for o in who.objectives:
        weight = o.weight / total
        if o.reads == "variety":
            _, codes = pool.category(o.indicator.requires()[0])
            held = {int(codes[i]) for i in rows} - {-1}
            assert o.anchors != "case"
            low, high = o.anchors
            rest += weight * min(1.0, max(0.0, (len(held) - low) / (high - low)))
            continue
        u = [0.0 if refused[i] else v for i, v in enumerate(one_by_one(o, pool))]
        if o.reads == "worst":
            rest += weight * min(u[i] for i in rows)
        else:
            mean = [m + weight * v for m, v in zip(mean, u, strict=True)]
    return sum(max(0.0, mean[i] - cost[i]) for i in rows) / len(rows) + rest


def one_by_one(o: Objective, pool: Any) -> list[float]:
    values = pool.values(o.indicator).tolist()
    known = [v for v in values if v == v]
    if o.anchors == "case":
        zero, one = min(known), max(known)
        if o.direction == "min":
            zero, one = one, zero
    else:
        zero, one = o.anchors
    u = {v: 1.0 if zero == one else min(1.0, max(0.0, (v - zero) / (one - zero))) for v in known}
    filler = sum(u[v] for v in known) / len(known) if o.missing == "mean" else 0.0
    return [u[v] if v == v else filler for v in values]


@settings(max_examples=25, deadline=None)
@given(problems())
def test_worth_ceilings_and_regret_follow_their_definitions(problem: tuple[Council, Case]) -> None:
    council, one = problem
    people = [a.stakeholder for a in council.setup.agents]
    setting = Setting(one, council.setup.catalogue, people)
    feasible = [
        slate
        for slate in combinations(setting.pool.ids, setting.size)
        if not setting.feasible.violations(Outcome.slate(slate))
    ]
    if not feasible:
        with pytest.raises(InfeasibleError):
            _ = setting.extremes
        return
    table_ = np.array([[by_hand(setting, who, slate) for who in people] for slate in feasible])
    found = np.array([setting.of(Outcome.slate(slate)) for slate in feasible])
    np.testing.assert_allclose(found, table_, atol=1e-12)
    assert (found >= -1e-12).all()
    assert (found <= 1 + 1e-12).all()
    low, high, exact = zip(*setting.extremes, strict=True)
    assert all(exact)
    np.testing.assert_allclose(low, table_.min(axis=0), atol=1e-6)
    np.testing.assert_allclose(high, table_.max(axis=0), atol=1e-6)
    regret = np.array([setting.regret(row) for row in found])
    assert np.nanmin(regret, initial=0) >= 0
    assert np.nanmax(regret, initial=0) <= 1
    for w in setting.worths:
        assert ((w.items >= 0) & (w.items <= 1)).all()
        assert (w.items[w.flagged] == 0).all()


@settings(max_examples=25, deadline=None)
@given(problems(additive=True), st.booleans())
def test_worth_of_many_pools_is_the_worth_of_each_to_the_last_bit(
    problem: tuple[Council, Case], some: bool
) -> None:
    council, one = problem
    catalogue = council.setup.catalogue
    if some:
        one = one.model_copy(update={"candidates": catalogue.ids[::2]})
    pools = [one.model_copy(update={"id": str(i)}).pool(catalogue) for i in range(3)]
    for agent in council.setup.agents:
        found = worth_of_many(agent.stakeholder, pools, 2)
        if found is None:
            continue
        for i, pool in enumerate(pools):
            single = worth(agent.stakeholder, pool, 2)
            assert found[0][i].tolist() == single.items.tolist()
            assert found[1][i].tolist() == single.linear.values.tolist()


def test_anchors_say_which_values_count_nothing_and_one() -> None:
    pool = case(1).pool(table(price=[1.0, 3.0, 5.0, 9.0, None]))
    less_is_better = objective("price", (5.0, 1.0))
    assert normalised(less_is_better, pool)[0].tolist() == [1.0, 0.5, 0.0, 0.0, 0.375]
    by_range = objective("price", "case", missing="zero")
    assert normalised(by_range, pool)[0].tolist() == [0.0, 0.25, 0.5, 1.0, 0.0]
    assert normalised(by_range, pool)[1] == 1


def test_what_is_equal_for_all_counts_one_by_case_anchors() -> None:
    pool = case(1).pool(table(price=[4.0, 4.0]))
    assert normalised(objective("price", "case"), pool)[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("cells", "missing", "message"),
    [
        ([None, None], "mean", "'price-mean' .*unknown for every candidate; leave the objective"),
        ([1.0, None], "error", "unknown for 'b' and 0 more"),
    ],
)
def test_unknown_values_are_refused_where_nothing_can_be_said(
    cells: list[Any], missing: Literal["mean", "error"], message: str
) -> None:
    pool = case(1).pool(table(price=cells, other=[1.0, 2.0]))
    with pytest.raises(SpecError, match=message):
        normalised(objective("price", missing=missing), pool)


def test_what_was_unknown_is_noted_with_how_it_was_counted() -> None:
    setting = Setting(case(1), table(price=[1.0, None]), [party("ann", objective("price"))])
    assert setting.notes() == ("ann/price-mean: 1 of 2 candidates unknown, counted as mean",)


def test_worth_is_computed_once_for_the_catalogue_unless_it_reads_the_case() -> None:
    fixed, scored = party("ann"), party("bob", objective("score"))
    first, second = (case(columns={"score": {"a": s}}).pool(TRIO) for s in (0.2, 0.9))
    assert worth(fixed, first, 2) is worth(fixed, second, 2)
    assert worth(fixed, first, 2) is not worth(fixed, second, 3)
    assert worth(scored, first, 2).items[0] == 0.2
    assert worth(scored, second, 2).items[0] == 0.9


def test_a_timed_constraint_holds_only_when_the_request_says_so() -> None:
    rule = Constraint(
        id="summer",
        accepts=Predicate(column="ann", op=">", value=0.5),
        when=Predicate(request="month", op="in", value=[7, 8]),
    )
    who = party("ann", constraints=[rule])
    for month, flagged in ((7, [False] * 3 + [True] * 3), (1, [False] * 6), (None, [False] * 6)):
        request = {} if month is None else {"month": month}
        found = worth(who, case(request=request).pool(TRIO), 2)
        assert found.flagged.tolist() == flagged


# -- the conflict check --------------------------------------------------------------------------


def setting_of(size: int = 2, **columns: list[float]) -> Setting:
    return Setting(case(size), table(**columns), [party(name) for name in columns])


def test_planted_opposition_is_found_and_is_all_there_is() -> None:
    up = [i / 9 for i in range(10)]
    found = conflict(setting_of(3, ann=up, bob=up[::-1], eve=up))
    assert found.status == "conflict"
    assert found.bound < 0.95
    assert found.pair("ann", "bob") == pytest.approx(1 - found.floor)
    assert found.pair("bob", "ann") > 0.4
    assert found.pair("ann", "eve") == pytest.approx(0)


def test_planted_harmony_is_found() -> None:
    up = [i / 9 for i in range(10)]
    squared = [v * v for v in up]
    found = conflict(setting_of(3, ann=up, bob=squared, eve=[v / 2 for v in up]))
    assert found.status == "none"
    assert found.floor == pytest.approx(1)
    assert all(value == pytest.approx(0) for _, _, value, _ in found.pairs)


def test_a_party_without_a_stake_is_in_conflict_with_nobody() -> None:
    found = conflict(setting_of(2, ann=[0.0, 0.5, 1.0], flat=[0.3, 0.3, 0.3]))
    assert found.flat == ("flat",)
    assert found.status == "none"
    assert found.pair("ann", "flat") == 0
    with pytest.raises(KeyError, match="nobody"):
        found.pair("ann", "nobody")
    nobody = conflict(setting_of(1, flat=[0.3, 0.3]))
    assert (nobody.floor, nobody.status) == (1.0, "none")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 8), st.integers(1, 3), st.integers(2, 4))
def test_the_best_floor_lies_where_enumeration_finds_it(
    seed: int, m: int, size: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = {f"p{i}": rng.random(m).round(2).tolist() for i in range(n)}
    setting = setting_of(size, **columns)
    worths = np.array([setting.of(Outcome.slate(s)) for s in combinations(setting.pool.ids, size)])
    low, high = worths.min(axis=0), worths.max(axis=0)
    kept = high - low > 1e-9
    best = float(((worths - low) / np.where(kept, high - low, 1))[:, kept].min(axis=1).max())
    found = conflict(setting, mode="milp", gap=1e-6)
    assert found.floor == pytest.approx(best, abs=1e-5)
    local = conflict(setting, mode="local")
    assert local.floor <= best + 1e-9
    assert local.bound >= best - 1e-9
    assert local.gap >= -1e-12


# -- the agenda ----------------------------------------------------------------------------------


def test_a_small_pool_is_voted_on_whole_without_what_is_excluded() -> None:
    setting = Setting(case(1, limits=[Exclude(ids=("b",))]), TRIO, [party("ann")])
    agenda = setting.agenda(Cut(), 0)
    assert (agenda.ids, agenda.whole) == (("a", "c", "d", "e", "f"), True)


def test_a_cut_keeps_everybodys_best_and_says_what_it_costs_whom() -> None:
    up = [i / 29 for i in range(30)]
    people = [party("ann"), party("bob")]
    catalogue = table(ann=up, bob=up[::-1])
    setting = Setting(case(2, limits=[Include(ids=("p",))]), catalogue, people)
    agenda = setting.agenda(Cut(whole=10, top=3, sample=4), 5)
    ids = catalogue.ids
    assert dict(agenda.nominated) == {"ann": (ids[29], ids[28], ids[27]), "bob": ids[:3]}
    assert len(agenda.sampled) == 4
    assert set(agenda.ids) == {*ids[:3], *ids[27:], "p", *agenda.sampled}
    assert list(agenda.ids) == sorted(agenda.ids, key=ids.index)
    assert dict(agenda.lost) == {"ann": 0.0, "bob": 0.0}
    assert setting.agenda(Cut(whole=10, top=3, sample=4), 6).sampled != agenda.sampled


def test_a_cut_that_leaves_no_feasible_slate_is_widened() -> None:
    up = [i / 11 for i in range(12)]
    catalogue = table(ann=up, land=["X"] * 11 + ["Y"])
    limit = AtMostPer(column="land", count=1)
    setting = Setting(case(2, limits=[limit]), catalogue, [party("ann", objective("ann", (1, 0)))])
    assert setting.agenda(Cut(whole=3, top=2, sample=0), 0).ids == catalogue.ids


def test_no_candidates_left_is_an_error_that_names_the_limits() -> None:
    limit = Exclude(ids=TRIO.ids)
    setting = Setting(case(1, id="x", limits=[limit]), TRIO, [party("ann")])
    with pytest.raises(InfeasibleError, match="case 'x': every candidate is excluded") as found:
        setting.agenda(Cut(), 0)
    assert found.value.limits


def test_worth_is_for_slates_so_far() -> None:
    with pytest.raises(SpecError, match="worth is defined for slates so far, not 'divide'"):
        Setting(Case(id="c", task=Divide(capacity={"a": 1}, need={})), TRIO, [party("ann")])


def test_nominations_among_equals_do_not_follow_the_alphabet() -> None:
    """Everything is worth the same to everybody: each seed nominates others, and none by row."""
    ids = [f"a{i:02}" for i in range(40)]
    catalogue = Catalogue.from_rows([{"id": one, "price": 3.0} for one in ids])
    wish = Objective(
        id="price",
        indicator=Column(column="price"),
        direction="min",
        anchors=(5.0, 1.0),
        provenance=Provenance(kind="judgement"),
    )
    one = Stakeholder(id="one", name="One", role="consumer", objectives=(wish,))
    setting = Setting(Case(id="c", task=Slate(size=2)), catalogue, [one])
    found = {
        setting.agenda(Cut(whole=0, top=5, sample=0), seed).nominated[0][1] for seed in range(20)
    }
    assert len(found) == 20
    first = sum(ids.index(one) for nominated in found for one in nominated) / (20 * 5)
    assert 15 < first < 24
