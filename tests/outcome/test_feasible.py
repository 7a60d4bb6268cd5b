"""Limits, clashes, fills, random outcomes and optima against enumeration of small instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.case import Pool
from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.errors import InfeasibleError, SpecError
from fairagents.feasible import Feasible
from fairagents.outcome import Linear, Outcome
from fairagents.spec import Predicate
from fairagents.task import (
    Assign,
    AtMostPer,
    Clash,
    Divide,
    Exclude,
    GroupLimit,
    Include,
    Limit,
    Slate,
)

Amounts = dict[tuple[str, str], float]
CHEAP = Predicate(column="price", op="<=", value=2)
IDS = "abcdefg"


def a_pool(rng: np.random.Generator, m: int) -> Pool:
    rows = [
        {
            "id": one,
            "price": None if rng.random() < 0.2 else int(rng.integers(1, 5)),
            "country": None if rng.random() < 0.2 else "XYZ"[int(rng.integers(3))],
        }
        for one in IDS[:m]
    ]
    specs = {"price": ColumnSpec(kind="numeric"), "country": ColumnSpec(kind="category")}
    return Pool(Catalogue.from_rows(rows, name="toy", specs=specs))


def side_limits(rng: np.random.Generator, m: int, kinds: str) -> tuple[Limit, ...]:
    """A few random limits of the kinds named by letter."""
    ids = [IDS[int(i)] for i in rng.permutation(m)]
    low = int(rng.integers(0, 3))
    options: dict[str, Callable[[], Limit]] = {
        "p": lambda: AtMostPer(column="country", count=int(rng.integers(1, 3))),
        "g": lambda: GroupLimit(group=CHEAP, at_least=low, at_most=low + 1),
        "f": lambda: GroupLimit(group=CHEAP, at_least=low),
        "i": lambda: Include(ids=(ids[0],)),
        "e": lambda: Exclude(ids=(ids[1],)),
        "u": lambda: Exclude(group=Predicate(column="price", op=">", value=3), unknown="yes"),
        "c": lambda: Clash(ids=tuple(ids[2:4])),
    }
    return tuple(options[kind]() for kind in kinds if rng.random() < 0.4)


def meets(pool: Pool, limits: tuple[Limit, ...], x: Amounts) -> bool:
    """Whether amounts meet the side limits, from their definitions."""
    price, country = pool.numeric("price"), pool.category("country")
    given = {what: sum(a for (_, w), a in x.items() if w == what) for what in pool.ids}
    for limit in limits:
        match limit:
            case AtMostPer():
                for to in {to for to, _ in x}:
                    held = [w for (t, w), a in x.items() if t == to and a > 0]
                    codes = Counter(int(country[1][pool.index[w]]) for w in held)
                    if any(n > limit.count for code, n in codes.items() if code >= 0):
                        return False
            case GroupLimit():
                total = sum(a for w, a in given.items() if price[pool.index[w]] <= 2)
                most = np.inf if limit.at_most is None else limit.at_most
                if not (limit.at_least or 0) <= total <= most:
                    return False
            case Include():
                if any(given[one] < 1 for one in limit.ids):
                    return False
            case Exclude():
                out = set(limit.ids)
                if limit.group is not None:
                    out |= {w for w in pool.ids if not price[pool.index[w]] <= 3}
                if any(given[one] > 0 for one in out):
                    return False
            case Clash():
                for to in {to for to, _ in x}:
                    if sum(x.get((to, w), 0) for w in limit.ids) > 1:
                        return False
    return True


def a_slate(seed: int, kinds: str = "pgfieuc") -> tuple[Feasible, list[tuple[int, ...]]]:
    """A random slate task and all its feasible slates."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(4, 8))
    task = Slate(size=int(rng.integers(1, 4)), limits=side_limits(rng, min(m, 5), kinds))
    pool = a_pool(rng, m)
    slates = [
        slate
        for slate in combinations(range(m), task.size)
        if meets(pool, task.limits, {("everyone", pool.ids[i]): 1.0 for i in slate})
    ]
    return Feasible.of(task, pool), slates


def an_assignment(seed: int) -> tuple[Feasible, list[Amounts]]:
    """A random assignment task and all its feasible outcomes."""
    rng = np.random.default_rng(seed)
    r, m = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    pool, names = a_pool(rng, m), [f"p{i}" for i in range(r)]
    task = Assign(
        seats={one: int(rng.integers(0, 3)) for one in pool.ids},
        load={name: int(rng.integers(0, 3)) for name in names},
        acceptable={names[0]: tuple(one for one in pool.ids if rng.random() < 0.7)},
        limits=tuple(
            limit for limit in side_limits(rng, 4, "pfe") if "d" not in limit.model_dump_json()
        ),
    )
    found = []
    cells = [(to, what) for to in names for what in pool.ids]
    for bits in product((0.0, 1.0), repeat=len(cells)):
        x = dict(zip(cells, bits, strict=True))
        fits = (
            all(sum(x[to, w] for w in pool.ids) <= task.load[to] for to in names)
            and all(sum(x[to, w] for to in names) <= task.seats[w] for w in pool.ids)
            and all(not x[names[0], w] or w in task.acceptable[names[0]] for w in pool.ids)
        )
        if fits and meets(pool, task.limits, x):
            found.append(x)
    return Feasible.of(task, pool), found


def a_division(seed: int) -> tuple[Feasible, list[Amounts]]:
    """A random division task and all its feasible outcomes in whole numbers."""
    rng = np.random.default_rng(seed)
    r, m = int(rng.integers(1, 4)), 2
    pool, names = a_pool(rng, m), [f"p{i}" for i in range(r)]
    need = {n: {one: float(rng.integers(0, 4)) for one in pool.ids} for n in names}
    capacity = {one: float(rng.integers(0, 6)) for one in pool.ids}
    limits = side_limits(rng, 4, "g")
    task = Divide(capacity=capacity, need=need, exhaust=bool(rng.random() < 0.6), limits=limits)
    cells = [(to, what) for to in names for what in pool.ids]
    found = []
    for amounts in product(*(range(int(need[to][what]) + 1) for to, what in cells)):
        x = dict(zip(cells, map(float, amounts), strict=True))
        totals = {w: sum(x[to, w] for to in names) for w in pool.ids}
        fits = all(totals[w] <= capacity[w] for w in pool.ids)
        if task.exhaust:
            wanted = {w: min(capacity[w], sum(need[n][w] for n in names)) for w in pool.ids}
            fits = totals == wanted
        if fits and meets(pool, limits, x):
            found.append(x)
    return Feasible.of(task, pool), found


def as_outcome(x: Amounts) -> Outcome:
    return Outcome.of((to, what, a) for (to, what), a in x.items() if a > 0)


def as_array(feasible: Feasible, found: list[Amounts]) -> Any:
    return np.array([feasible.vector(as_outcome(x)) for x in found])


def test_violations_are_empty_exactly_for_feasible_slates() -> None:
    for seed in range(60):
        feasible, slates = a_slate(seed)
        for slate in combinations(range(len(feasible.ids)), feasible.size):
            outcome = Outcome.slate(feasible.ids[i] for i in slate)
            assert (not feasible.violations(outcome)) == (slate in slates), (seed, slate)


def test_clashes_are_minimal_and_found_exactly_when_nothing_is_feasible() -> None:
    clashing = 0
    for seed in range(40):
        for feasible, found in (a_slate(seed, "pgfieuc" * 2), an_assignment(seed)):
            clash = feasible.clash()
            assert bool(clash) == (not found), seed
            if not clash:
                continue
            clashing += 1
            limits = feasible._limits
            xs = np.array(list(product((0.0, 1.0), repeat=limits.cells)))
            sums = xs @ limits.member.T
            good = (sums >= limits.low) & (sums <= limits.high)
            rows = [limits.labels.index(label) for label in clash]
            assert not good[:, rows].all(axis=1).any()
            for row in rows:
                assert good[:, [other for other in rows if other != row]].all(axis=1).any()
            with pytest.raises(InfeasibleError) as error:
                feasible.random(np.random.default_rng(0))
            assert error.value.limits == clash
    assert clashing > 5


def test_a_planted_clash_names_exactly_its_limits() -> None:
    rows = [{"id": i, "country": c, "price": 1} for i, c in zip("abcd", "IIIF", strict=True)]
    limits = (
        AtMostPer(column="country", count=1),
        Exclude(ids=("a",)),
        Include(ids=("b", "c")),
        Clash(ids=("a", "d")),
    )
    pool = Pool(Catalogue.from_rows(rows))
    feasible = Feasible.of(Slate(size=2, limits=limits), pool)
    wanted = {"at most 1 per country: I", "includes b", "includes c"}
    assert set(feasible.clash()) == wanted
    for attempt in (
        lambda: feasible.best([1.0] * 4),
        lambda: feasible.fill(range(4)),
        lambda: feasible.floor([Linear(np.ones(4))]),
        lambda: feasible.extremes(Linear(np.ones(4))),
    ):
        with pytest.raises(InfeasibleError, match="at most 1 per country: I") as error:
            attempt()
        assert set(error.value.limits) == wanted
    division = Divide(
        capacity={"icu": 5.0, "ward": 9.0},
        need={"p1": {"icu": 1.0}, "p2": {"icu": 2.0, "ward": 4.0}},
        limits=(GroupLimit(group=Predicate(column="kind", value="bed"), at_least=4),),
    )
    beds = Pool(Catalogue.from_rows([{"id": "icu", "kind": "bed"}, {"id": "ward", "kind": "x"}]))
    assert set(Feasible.of(division, beds).clash()) == {
        "at least 4 with kind == bed",
        "need of p1 for icu",
        "need of p2 for icu",
    }


@pytest.mark.parametrize("size", [4, 9])
def test_a_slate_larger_than_what_is_allowed_is_infeasible_and_says_why(size: int) -> None:
    task = Slate(size=size, limits=(Exclude(ids=("b",)),))
    feasible = Feasible.of(task, ids=("a", "b", "c", "d"))
    wanted = (f"slate size {size}",) + (("excludes b",) if size == 4 else ())
    assert feasible.clash() == wanted
    for attempt in (
        lambda: feasible.best(np.ones(4)),
        lambda: feasible.extremes(Linear(np.ones(4))),
        lambda: feasible.floor_bound([Linear(np.ones(4))]),
    ):
        with pytest.raises(InfeasibleError, match="no slate of 4 alternatives") as error:
            attempt()
        assert error.value.limits == wanted
    assert not feasible.completable([])


def test_violations_say_what_is_wrong_in_words_with_numbers() -> None:
    slate = Feasible.of(Slate(size=2, limits=(Include(ids=("c",)),)), ids=("a", "b", "c"))
    assert slate.violations(Outcome.slate(["c", "B"])) == (
        "'B' is no alternative; did you mean 'b'?",
        "slate size 2: got 1",
    )
    assert slate.violations(Outcome.of([("p", "a", 1), ("everyone", "c", 0.5)])) == (
        "'p' is no recipient; known: 'everyone'",
        "'c' for 'everyone' is given as 0.5, not as 1",
        "slate size 2: got 0.5",
        "includes c: got 0.5",
    )
    division = Feasible.of(Divide(capacity={"icu": 2.0}, need={"p": {"icu": 3.0}, "q": {}}))
    assert division.violations(Outcome.of([("p", "icu", 3.5), ("q", "icu", 1)])) == (
        "capacity of icu: got 4.5",
        "need of p for icu: got 3.5",
        "need of q for icu: got 1",
    )
    with pytest.raises(InfeasibleError, match="nothing of icu left over while needed: got 1"):
        division.check(Outcome.of([("p", "icu", 1)]))
    division.check(Outcome.of([("p", "icu", 2)]))
    with pytest.raises(SpecError, match="'ICU' is no alternative"):
        division.vector(Outcome.of([("p", "ICU", 2)]))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        (Slate(size=1, limits=(Include(ids=("aa",)),)), "Include.ids: 'aa' .* mean 'a'"),
        (Slate(size=1, limits=(Clash(ids=("a", "zz")),)), "Clash.ids: 'zz'"),
        (Slate(size=1, limits=(AtMostPer(column="country", count=1),)), "needs a pool"),
        (Slate(size=1, limits=(GroupLimit(group=CHEAP, at_most=1),)), "'price <= 2' reads"),
        (Divide(capacity={"a": 1.0}, need={"p": {}}, limits=(Include(ids=("a",)),)), "divisible"),
        (Divide(capacity={"a": 1.0}, need={}), "names no recipient"),
        (Assign(seats={"x": 1}, load={"p": 1}), "assign task: 'x' is no alternative"),
    ],
)
def test_what_makes_no_sense_is_a_spec_error(task: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        ids = () if isinstance(task, Divide) else ("a", "b")
        Feasible.of(task, ids=ids)


def test_a_pool_can_be_narrowed_to_what_is_on_offer() -> None:
    rng = np.random.default_rng(3)
    pool = a_pool(rng, 6)
    task = Slate(size=2, limits=(Exclude(ids=("a", "b")), AtMostPer(column="country", count=1)))
    feasible = Feasible.of(task, pool, ids=("f", "b", "c", "e"))
    assert feasible.ids == ("f", "b", "c", "e")
    assert feasible.allowed.tolist() == [True, False, True, True]
    whole = Feasible.of(task, pool)
    for pair in combinations(feasible.ids, 2):
        outcome = Outcome.slate(pair)
        assert feasible.violations(outcome) == whole.violations(outcome)
    missing = Feasible.of(Slate(size=1, limits=(Include(ids=("a",)),)), pool, ids=("b", "c"))
    assert missing.clash() == ("includes a",)
    with pytest.raises(SpecError, match="'q' is no alternative"):
        Feasible.of(task, pool, ids=("q",))


def test_fill_takes_what_keeps_the_slate_completable() -> None:
    for seed in range(50):
        feasible, slates = a_slate(seed)
        sets = [set(s) for s in slates]
        m = len(feasible.ids)
        for size in range(min(feasible.size, 2) + 1):
            for prefix in permutations(range(m), size):
                there = any(set(prefix) <= s for s in sets)
                assert feasible.completable(prefix) == there, (seed, prefix)
                banned = {0, m - 1}
                there = any(set(prefix) <= s and not banned & s for s in sets)
                assert feasible.completable(prefix, banned) == there, (seed, prefix)
        if not slates:
            continue
        order = np.random.default_rng(seed).permutation(m)
        expected: list[int] = []
        for i in order.tolist():
            if any({*expected, i} <= s for s in sets):
                expected.append(i)
        assert feasible.fill(order) == tuple(expected)
        assert set(feasible.fill(order[:1])) in sets


def test_random_outcomes_are_feasible_and_plain_slates_uniform() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        for make in (a_slate, an_assignment, a_division):
            feasible, found = make(seed)
            if found:
                for _ in range(3):
                    assert feasible.violations(feasible.random(rng)) == ()
    limits = (Include(ids=("c",)), Exclude(ids=("a",)))
    feasible = Feasible.of(Slate(size=2, limits=limits), ids=tuple("abcde"))
    rng = np.random.default_rng(0)
    counts = Counter(feasible.random(rng).ids for _ in range(3000))
    assert set(counts) == {*(("c", o) for o in "bde"), *((o, "c") for o in "bde")}
    assert max(counts.values()) < 1.25 * min(counts.values())


@pytest.mark.parametrize("make", [an_assignment, a_division])
def test_best_and_floor_of_tables_equal_enumeration(make: Any) -> None:
    for seed in range(40):
        feasible, found = make(seed)
        rng = np.random.default_rng(seed)
        shape = (len(feasible.recipients), len(feasible.ids))
        values = [rng.integers(-4, 5, shape) / 4 for _ in range(3)]
        worths = [Linear(v, constant=0.5) for v in values]
        if not found:
            with pytest.raises(InfeasibleError):
                feasible.floor(worths)
            continue
        xs = as_array(feasible, found)
        for sense, pick in (("max", np.max), ("min", np.min)):
            solution = feasible.best(values[0], sense=sense)
            assert solution.value == pytest.approx(pick(xs @ values[0].ravel()), abs=1e-6)
            assert solution.optimal
            feasible.check(solution.outcome)
        low, high, exact = feasible.extremes(worths[1])
        assert exact
        reach = 0.5 + xs @ values[1].ravel()
        assert (low, high) == pytest.approx((reach.min(), reach.max()), abs=1e-6)
        floors = np.min([0.5 + xs @ v.ravel() for v in values], axis=0)
        solution = feasible.floor(worths, gap=1e-6)
        feasible.check(solution.outcome)
        assert solution.optimal
        assert solution.bound <= feasible.floor_bound(worths) + 1e-6
        if feasible.integral:
            assert solution.value == pytest.approx(floors.max(), abs=1e-5)
        else:
            assert solution.value >= floors.max() - 1e-6
            again = min(0.5 + float(v.ravel() @ solution.x) for v in values)
            assert solution.value == pytest.approx(again)


def random_worth(rng: np.random.Generator, m: int, terms: bool) -> Linear:
    least: list[Any] = []
    variety: list[Any] = []
    if terms:
        least = [(rng.random(), rng.integers(0, 5, m) / 4) for _ in range(rng.integers(0, 3))]
        for zero, one in ((0.0, 2.0), (1.0, 2.5), (1.5, 3.0), (-1.0, 1.0)):
            if rng.random() < 0.3:
                variety.append((rng.random(), rng.random((3, m)) < 0.4, zero, one))
    return Linear(rng.integers(-4, 5, m) / 8, 0.25, tuple(least), tuple(variety))


def test_best_extremes_and_floor_of_slates_equal_enumeration() -> None:
    for seed in range(70):
        feasible, slates = a_slate(seed, "" if seed % 3 == 0 else "pgfieuc")
        if not slates:
            continue
        rng = np.random.default_rng(seed)
        m, all_ = len(feasible.ids), np.array(slates)
        worths = [random_worth(rng, m, terms=seed % 2 == 0) for _ in range(3)]
        for worth in worths:
            reach = worth.of(all_)
            low, high, exact = feasible.extremes(worth)
            assert exact
            assert (low, high) == pytest.approx((reach.min(), reach.max()), abs=1e-6), seed
        top = feasible.best(worths[0].values, terms=worths[1:])
        total = worths[0].values[all_].sum(axis=1) + worths[1].of(all_) + worths[2].of(all_)
        assert top.value == pytest.approx(total.max(), abs=1e-6), seed
        feasible.check(top.outcome)
        floors = np.min([worth.of(all_) for worth in worths], axis=0)
        bound = feasible.floor_bound(worths)
        assert bound >= floors.max() - 1e-6
        solution = feasible.floor(worths, gap=1e-6)
        assert solution.optimal
        assert solution.value == pytest.approx(floors.max(), abs=1e-5), seed
        local = feasible.floor(worths, mode="local")
        assert local.value <= floors.max() + 1e-9 <= local.bound + 1e-6
        feasible.check(local.outcome)
        assert local == feasible.floor(worths, mode="local")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_extremes_with_one_worst_term_are_exact(data: st.DataObject) -> None:
    m = data.draw(st.integers(1, 7))
    k = data.draw(st.integers(1, m))
    tenths = st.integers(-10, 10).map(lambda i: i / 10)
    values = np.array(data.draw(st.lists(tenths, min_size=m, max_size=m)))
    u = np.abs(data.draw(st.lists(tenths, min_size=m, max_size=m)))
    worth = Linear(values, 0.5, ((data.draw(st.sampled_from([0.0, 0.3, 2.0])), u),))
    reach = worth.of(np.array(list(combinations(range(m), k))))
    low, high, exact = Feasible.of(Slate(size=k), ids=tuple(IDS[:m])).extremes(worth)
    assert exact
    assert (low, high) == pytest.approx((reach.min(), reach.max()), abs=1e-12)


def test_ties_go_to_the_smallest_position_and_a_slate_is_ordered_best_first() -> None:
    feasible = Feasible.of(Slate(size=3), ids=("a", "b", "c", "d"))
    assert feasible.best([0.5, 0.9, 0.5, 0.5]).outcome.ids == ("b", "a", "c")
    assert feasible.best([0.5, 0.9, 0.5, 0.1], sense="min").outcome.ids == ("d", "a", "c")
    with pytest.raises(SpecError, match=r"values take shape \(4,\), not \(2,\)"):
        feasible.best([0.1, 0.2])
    with pytest.raises(SpecError, match="finite"):
        feasible.best([0.1, 0.2, np.nan, 0.0])
    with pytest.raises(SpecError, match="at least one"):
        feasible.floor([])
    with pytest.raises(SpecError, match="1 x 4 values, not 2"):
        feasible.floor([Linear(np.ones(2))])


def test_a_hard_floor_reports_gap_and_status_within_its_time() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((5, 150))
    values *= 2 / values.sum(axis=0)
    feasible = Feasible.of(Slate(size=10), ids=tuple(f"i{i}" for i in range(150)))
    solution = feasible.floor([Linear(v / 10) for v in values], gap=1e-5, time_limit=0.5)
    assert solution.seconds < 5
    assert not solution.optimal
    assert solution.status == "time limit"
    assert 1e-5 < solution.gap < 0.04
    assert solution.bound == pytest.approx(0.4)


def test_other_tasks_have_no_order_to_fill() -> None:
    feasible = Feasible.of(Divide(capacity={"a": 1.0}, need={"p": {"a": 2.0}}))
    with pytest.raises(SpecError, match="only a slate is filled in order"):
        feasible.fill([0])
    with pytest.raises(SpecError, match="no whole-slate terms"):
        feasible.floor([Linear(np.ones(1), least=((1.0, np.ones(1)),))])
