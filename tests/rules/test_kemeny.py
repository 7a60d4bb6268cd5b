"""Rules that look for the nearest ranking, against all rankings, golden profiles and examples."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.decision import Decision
from fairagents.errors import BallotError, SpecError
from fairagents.profile import Profile
from fairagents.rules import squared
from fairagents.rules.base import RULES, OrderRule, Ties
from fairagents.rules.kemeny import SEVERAL, _additive_tiers, _assigned, _cheaper, swaps
from fairagents.rules.linear import (
    best_order,
    by_programme,
    by_subsets,
    improved,
    move,
    tiers_of,
    value_of,
    violated_triangles,
)
from fairagents.rules.trace import recount
from fairagents.task import Slate
from tests.rules.test_golden_profiles import RANKED, ranked_profile
from tests.rules.test_pairwise import CONDORCET_60, TENNESSEE, built, of_ranks, ranked

Costs = dict[tuple[int, ...], Fraction]
REFS: list[dict[str, dict[str, Any]]] = [
    {"kemeny": {}},
    {"squared_kemeny": {}},
    {"squared_kemeny": {"tied": "half"}},
    {"footrule": {}},
]
EVERY = pytest.mark.parametrize("ref", REFS, ids=lambda r: RULES.build(r).label)


def random_profile(m: int, n: int, seed: int, weights: Any = None) -> Profile:
    rng = np.random.default_rng(seed)
    return of_ranks([rng.permutation(m) for _ in range(n)], weights)


def order_of(p: Profile, decision: Decision) -> tuple[int, ...]:
    return tuple(p.ids.index(one) for one in decision.outcome.ids)


def objective(decision: Decision) -> Any:
    return decision.table("objective").rows[0][1:]


# -- definitions ---------------------------------------------------------------------------------


def against(row: Any, order: tuple[int, ...]) -> int:
    return sum(row[a] > row[b] for a, b in itertools.combinations(order, 2))


def middle_places(row: list[int]) -> list[Fraction]:
    return [sum(r < x for r in row) + Fraction(row.count(x) - 1, 2) for x in row]


def costs(rule: OrderRule, p: Profile) -> Costs:
    """What every ranking costs, by definition."""
    found: Costs = {}
    rows = p.ranks.tolist()
    half = getattr(rule, "tied", "free") == "half"
    own = [
        Fraction(sum(row[a] == row[b] for a, b in itertools.combinations(range(len(row)), 2)), 2)
        for row in rows
    ]
    places = [middle_places(row) for row in rows]
    for order in itertools.permutations(range(len(p.ids))):
        if rule.name == "footrule":
            each = [
                sum((abs(i - place[a]) for i, a in enumerate(order)), Fraction(0))
                for place in places
            ]
        else:
            each = [against(row, order) + half * t for row, t in zip(rows, own, strict=True)]
            if rule.name == "squared_kemeny":
                each = [d**2 for d in each]
        found[order] = sum((w * d for w, d in zip(p.weights, each, strict=True)), Fraction(0))
    return found


@EVERY
@settings(derandomize=True, deadline=None, max_examples=120)
@given(p=ranked(5), seed=st.integers(0, 99))
def test_the_ranking_is_one_of_the_nearest(ref: object, p: Profile, seed: int) -> None:
    rule = built(ref)
    decision, every = rule(p, seed=seed), costs(built(ref), p)
    least = min(every.values())
    nearest = {order for order, cost in every.items() if cost == least}
    value, bound, gap = objective(decision)
    assert decision.optimal
    assert order_of(p, decision) in nearest
    assert (value, gap) == (pytest.approx(float(least)), 0)
    assert bound == value
    # Any order of those that share a tier is as near.
    tiers = [[p.ids.index(one) for one in tier] for tier in decision.tiers]
    within = set(map(lambda parts: tuple(itertools.chain(*parts)),
                     itertools.product(*map(itertools.permutations, tiers))))  # fmt: skip
    assert within <= nearest
    # And a note says whether others are; the footrule's does not find all.
    others = within != nearest
    assert others or not decision.notes
    assert rule.name == "footrule" or bool(decision.notes) == others


@settings(derandomize=True, deadline=None, max_examples=120)
@given(p=ranked(5))
def test_the_footrule_takes_the_nearest_to_borda_of_several(p: Profile) -> None:
    decision, every = built("footrule")(p), costs(built("footrule"), p)
    points = dict(built("borda")(p).totals)
    levels = sorted(set(points.values()), reverse=True)
    places = [levels.index(points[one]) for one in p.ids]

    def far(order: tuple[int, ...]) -> int:
        return -sum(i * places[a] for i, a in enumerate(order))

    least = min(every.values())
    nearest = [order for order, cost in every.items() if cost == least]
    assert far(order_of(p, decision)) == min(map(far, nearest))


@pytest.mark.parametrize("one", RANKED, ids=lambda one: one["id"])
@pytest.mark.parametrize("name", ["kemeny", "squared_kemeny"])
def test_golden_costs_and_rankings(one: dict[str, Any], name: str) -> None:
    p = ranked_profile(one)
    wanted = {key: found.get("value") for key, found in one["expected"].items()}
    for seed in range(4):
        decision = built(name)(p, seed=seed)
        order = list(order_of(p, decision))
        assert objective(decision)[0] == wanted[f"{name}_cost"]
        assert order in wanted[f"{name}_rankings"]
        if name == "kemeny":
            assert order[0] in wanted["kemeny_winners"]


# -- the literature's examples -------------------------------------------------------------------


def test_tennessee_and_condorcets_60() -> None:
    assert "".join(built("kemeny")(TENNESSEE).outcome.ids) == "NCKM"
    assert "".join(built("kemeny")(CONDORCET_60).outcome.ids) == "BCA"


def test_squared_kemeny_compromises_between_opposite_rankings() -> None:
    p = Profile.from_rankings([list("abcdef"), list("fedcba")], weights=[0.51, 0.49])
    distances = {n: built(n)(p).table("distances").rows[1] for n in ("kemeny", "squared_kemeny")}
    assert distances["kemeny"][1:3] == (0, 15)
    assert distances["squared_kemeny"][1:3] == (7, 8)
    assert built("kemeny")(p).outcome.ids == tuple("abcdef")


def test_twins_may_stand_apart_under_squared_kemeny_only() -> None:
    p = Profile.from_rankings([[["a", "b"], "x"], ["x", ["a", "b"]]], list("abx"))
    decision = built("squared_kemeny")(p)
    assert decision.outcome.ids[1] == "x"
    assert objective(decision)[0] == 2
    assert {"a", "b"} in [set(tier) for tier in built("kemeny")(
        Profile.from_rankings([[["a", "b"], "x"], ["x", ["a", "b"]]], list("abx"), [2, 1])
    ).tiers]  # fmt: skip


def test_two_neutral_turns_may_not_be_neutral_together() -> None:
    """Turning 0 and 2 or 1 and 3 costs nothing, turning both does: only one pair may tie."""
    p = of_ranks([[1, 1, 0, 1], [0, 1, 1, 2], [0, 2, 0, 1]])
    decision = built({"squared_kemeny": {"tie_break": "lexicographic"}})(p)
    assert decision.tiers == (("x0", "x2"), ("x1",), ("x3",))
    assert decision.notes == (SEVERAL,)


def test_how_ties_count_matters_for_squares() -> None:
    p = ranked_profile(next(one for one in RANKED if one["id"] == "rnd_ties_00"))
    free, half = (built({"squared_kemeny": {"tied": t}})(p).outcome.ids for t in ("free", "half"))
    assert free != half


# -- degenerate profiles -------------------------------------------------------------------------


@EVERY
def test_degenerate_profiles_are_defined(ref: object) -> None:
    rule = built(ref)
    assert rule(Profile.from_rankings([["a"], []], ["a"])).tiers == (("a",),)
    for m in (2, 3, 9):
        ids = [f"a{i}" for i in range(m)]
        nothing: list[list[list[list[str]]]] = [[[]], [[], []], [[ids]]]
        for ballots in nothing:
            decision = rule(Profile.from_rankings(ballots, ids))
            assert [set(tier) for tier in decision.tiers] == [set(ids)]
            assert decision.notes == ()
    assert rule(Profile.from_rankings([["b", "c", "a"]])).tiers == (("b",), ("c",), ("a",))
    half = Profile.from_rankings([["a", "b"], ["b", "a"], ["b", "a"]], weights=[0.5, 0.3, 0.2])
    assert [set(tier) for tier in rule(half).tiers] == [{"a", "b"}]


@EVERY
def test_one_long_ballot_is_followed(ref: object) -> None:
    p = random_profile(30, 1, 4)
    decision = built(ref)(p)
    assert list(order_of(p, decision)) == np.argsort(p.ranks[0]).tolist()
    assert objective(decision)[0] == 0
    assert decision.optimal


@EVERY
def test_two_voters_under_a_majority(ref: object) -> None:
    p = Profile.from_rankings([list("abcd"), list("dcba")], weights=[3, 2])
    first = built(ref)(p).tiers[0]
    assert (first == ("a",)) == (built(ref).name != "squared_kemeny")


@EVERY
@pytest.mark.parametrize(
    "weights", [(1e-9, 1e9, 1.0), (Fraction(1, 999_999_999_989), Fraction(1, 10**12), 1.0)]
)
def test_weights_beyond_64_bits(ref: object, weights: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        p = of_ranks(rng.integers(0, 4, (3, 5)), weights)
        decision, every = built(ref)(p), costs(built(ref), p)
        assert every[order_of(p, decision)] == min(every.values())
    # Larger ones go through the programmes.
    p = of_ranks([rng.permutation(14) for _ in range(3)], weights)
    assert built(ref)(p).optimal


@EVERY
def test_too_many_alternatives_are_refused(ref: object) -> None:
    name = built(ref).name
    most = 2000 if name == "footrule" else 5000
    what = "pairwise rules" if name == "kemeny" else name
    message = f"{what} takes? at most {most} alternatives, not {most + 1}: cut the agenda"
    with pytest.raises(BallotError, match=message):
        built(ref)(Profile.from_rankings([[f"a{i}" for i in range(most + 1)]]))


@pytest.mark.parametrize("name", ["kemeny", "squared_kemeny"])
def test_a_time_limit_is_positive(name: str) -> None:
    with pytest.raises(SpecError, match="greater than 0"):
        built({name: {"time_limit": 0}})


# -- determinism ---------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("m", [6, 14, 20])
def test_neither_order_of_voters_nor_of_ids_nor_scale_matters(
    ref: dict[str, dict[str, Any]], m: int
) -> None:
    rng = np.random.default_rng(m)
    p = of_ranks(rng.integers(0, 6, (4, m)), [2, 1, 1, 1])
    name, fields = next(iter(ref.items()))
    rule = built({name: fields | ({} if name == "footrule" else {"time_limit": 60})})
    first = rule(p, seed=5)
    voters, rows = rng.permutation(4), rng.permutation(m)
    shuffled = Profile(
        [p.ids[i] for i in rows],
        [p.voters[v] for v in voters],
        [p.weights[v] * Fraction(7, 3) for v in voters],
        p.ranks[np.ix_(voters, rows)],
        p.ratings[np.ix_(voters, rows)],
        p.approvals[np.ix_(voters, rows)],
        p.forms,
    )
    second = rule(shuffled, seed=5)
    assert [set(t) for t in first.tiers] == [set(t) for t in second.tiers]
    assert first.outcome == second.outcome


@pytest.mark.parametrize("name", ["kemeny", "squared_kemeny"])
def test_of_several_rankings_the_tie_break_chooses_one_and_says_so(name: str) -> None:
    cycle = Profile.from_rankings([list("abc"), list("bca"), list("cab")])
    orders = {built(name)(cycle, seed=s).outcome.ids for s in range(20)}
    assert len(orders) > 1
    assert built(name)(cycle).notes == (SEVERAL,)
    by_name = built({name: {"tie_break": "lexicographic"}})(cycle)
    assert by_name.tiers[0] == ("a",)


# -- linear orders -------------------------------------------------------------------------------


def antisymmetric(matrix: Any) -> Any:
    upper = np.triu(matrix, 1)
    return upper - upper.T


@settings(derandomize=True, deadline=None, max_examples=100)
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(3, 6), top=st.integers(1, 4))
def test_subsets_and_programme_find_the_best_order(seed: int, m: int, top: int) -> None:
    margin = antisymmetric(np.random.default_rng(seed).integers(-top, top + 1, (m, m)))
    values = [value_of(margin, np.array(o)) for o in itertools.permutations(range(m))]
    deadline = time.monotonic() + 60
    for found in (by_subsets(margin), by_programme(margin, deadline), best_order(margin, deadline)):
        assert found.value == found.bound == value_of(margin, found.order) == max(values)
        assert sorted(found.order.tolist()) == list(range(m))
    found = by_subsets(margin)
    # Of several best orders the first, and whether there are others.
    first = values.index(max(values))
    assert tuple(found.order) == list(itertools.permutations(range(m)))[first]
    sizes = np.bincount(tiers_of(margin, found.order)).tolist()
    assert found.several == (values.count(max(values)) > math.prod(map(math.factorial, sizes)))


@pytest.mark.parametrize("m", [9, 12, 13, 15])
def test_programme_and_subsets_agree_on_longer_cycles(m: int) -> None:
    for seed in range(4):
        margin = antisymmetric(np.random.default_rng(seed).integers(-5, 6, (m, m)))
        exact, found = by_subsets(margin), by_programme(margin, time.monotonic() + 60)
        assert found.value == found.bound == exact.value
        # It does not find all that is as good, but nothing that is not.
        assert exact.several or not found.several
    wide = antisymmetric(np.random.default_rng(m).integers(-10_000, 10_001, (m, m)))
    assert not by_programme(wide, time.monotonic() + 60).several


@pytest.mark.parametrize("seed", [10, 20, 114, 122])
def test_fractional_optima_are_made_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from fairagents.rules import linear

    asked = []
    before = linear._Programme.whole

    def whole(programme: linear._Programme) -> bool:
        asked.append(programme)
        return before(programme)

    monkeypatch.setattr(linear._Programme, "whole", whole)
    rng = np.random.default_rng(seed)
    margin = antisymmetric(np.sign(rng.normal(size=(12, 12))).astype(np.int64))
    found = by_programme(margin, time.monotonic() + 60)
    assert asked
    assert found.value == found.bound == by_subsets(margin).value


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.permutations(range(7)), st.integers(0, 6), st.integers(0, 7))
def test_a_move_puts_one_in_front_of_another(order: list[int], at: int, to: int) -> None:
    found = np.array(order)
    move(found, at, to)
    rest = [x for x in order if x != order[at]]
    rest.insert(to - (to > at), order[at])
    assert found.tolist() == rest


def test_local_search_ends_where_no_move_gains() -> None:
    margin = antisymmetric(np.random.default_rng(1).integers(-9, 10, (25, 25)))
    order = improved(margin, np.arange(25), time.monotonic() + 60)
    for at, to in itertools.product(range(25), range(26)):
        other = order.copy()
        move(other, at, to)
        assert value_of(margin, other) <= value_of(margin, order)


def test_triangles_are_those_of_cycles() -> None:
    x = np.zeros((3, 3))
    x[0, 1] = x[1, 2] = x[2, 0] = 1
    found, by = violated_triangles(x)
    assert (found.tolist(), by.tolist()) == ([[0, 1, 2]], [1.0])
    assert len(violated_triangles(np.triu(np.ones((5, 5)), 1))[0]) == 0
    assert len(violated_triangles(np.zeros((2, 2)))[0]) == 0


@pytest.mark.parametrize("offset", [0, 2**70])
def test_assignments_beyond_floating_point_are_exact(offset: int) -> None:
    rng = np.random.default_rng(0)
    for m in (2, 5, 6):
        small = rng.integers(0, 4, (m, m)).astype(object)
        wide = small + offset * rng.permuted(np.tile(np.arange(m), (m, 1)), axis=1).astype(object)
        order, exact = _assigned(wide)
        perms = itertools.permutations(range(m))
        best = min(sum(wide[a, j] for j, a in enumerate(one)) for one in perms)
        assert exact
        assert sum(wide[a, j] for j, a in enumerate(order)) == best
        # From any assignment the exact search finds its way.
        found = np.arange(m)
        while (cycle := _cheaper(wide, found)) is not None:
            found[np.roll(cycle, -1)] = found[cycle]
        assert sum(wide[a, j] for j, a in enumerate(found)) == best


def test_rows_share_a_tier_where_any_order_of_them_costs_the_same() -> None:
    for cells in itertools.product((0, 1), repeat=9):
        cost = np.array(cells).reshape(3, 3)
        levels = _additive_tiers(cost, np.arange(3))
        total = cost.trace()
        for order in itertools.permutations(range(3)):
            if all(levels[a] == levels[i] for i, a in enumerate(order)):
                assert sum(cost[a, i] for i, a in enumerate(order)) == total


def test_costs_that_are_rounded_are_not_called_optimal() -> None:
    weights = [10**12, 1, Fraction(1, 10**12)]
    p = of_ranks(np.random.default_rng(0).integers(0, 9, (3, 301)), weights)
    assert not built("footrule")(p).optimal
    assert built("footrule")(p.take(np.arange(20))).optimal


# -- time limits and bounds ----------------------------------------------------------------------


@pytest.mark.parametrize(("name", "m"), [("kemeny", 40), ("squared_kemeny", 20)])
def test_without_time_the_best_found_stands_with_a_valid_gap(name: str, m: int) -> None:
    p = random_profile(m, 7, 2)
    exact, hasty = (built({name: {"time_limit": t}})(p) for t in (60, 1e-9))
    assert exact.optimal
    assert exact.gap is None
    assert not hasty.optimal
    value, bound, gap = objective(hasty)
    assert hasty.gap == gap == value - bound > 0
    assert bound <= objective(exact)[0] <= value


@pytest.mark.parametrize(("name", "m"), [("kemeny", 251), ("squared_kemeny", 101)])
def test_above_a_size_local_search_alone_gives_a_ranking_and_a_bound(name: str, m: int) -> None:
    p = random_profile(m, 5, 1)
    decision = built(name)(p, Slate(size=10))
    value, bound, gap = objective(decision)
    assert not decision.optimal
    assert decision.gap == gap == value - bound > 0
    borda = [p.ids.index(one) for one in built("borda")(p).outcome.ids]
    distances = swaps(p.ranks, np.array(borda))
    own = float((distances if name == "kemeny" else distances**2).sum())
    assert bound < value <= own


@settings(derandomize=True, deadline=None, max_examples=40)
@given(p=ranked(6), seed=st.integers(0, 99), tied=st.sampled_from(["free", "half"]))
def test_the_programme_of_squares_agrees_with_all_rankings(
    p: Profile, seed: int, tied: str
) -> None:
    rows = np.argsort(Ties(p, "seeded", seed).places)
    ballots, _ = squared._Ballots.of(p, rows, tied)
    listed = squared._listed(ballots)
    found = squared._searched(ballots, time.monotonic() + 60)
    assert found.value == found.bound == listed.value
    # The programme alone, without the help of local search.
    programme = squared._Programme(ballots, 0)
    for _ in range(200):
        x = programme.solve(time.monotonic() + 60)
        assert x is not None
        assert programme.bound <= listed.value
        if not (programme.cut(x) or programme.whole()):
            break
    assert programme.bound == listed.value


@pytest.mark.parametrize("m", [12, 20])
def test_squared_kemeny_beats_what_local_search_finds(m: int) -> None:
    for seed in range(3):
        p = random_profile(m, 5, seed, [1, 2, 3, 1, 1])
        decision = built({"squared_kemeny": {"time_limit": 60}})(p)
        assert decision.optimal
        weights = np.array([1, 2, 3, 1, 1])
        rng = np.random.default_rng(0)
        for _ in range(300):
            near = np.array(order_of(p, decision))
            for _ in range(rng.integers(1, 4)):
                move(near, int(rng.integers(m)), int(rng.integers(m + 1)))
            assert weights @ swaps(p.ranks, near) ** 2 >= objective(decision)[0]


def test_one_long_ballot_with_ties_is_proved_by_the_mean_alone() -> None:
    p = of_ranks([np.minimum(np.arange(101), 40)])
    decision = built({"squared_kemeny": {"tied": "half"}})(p)
    assert decision.optimal
    assert objective(decision)[0] == (61 * 60 / 4) ** 2


def test_other_rankings_as_good_are_noted_above_the_listed_size() -> None:
    ids = list("abcdefgh")
    p = Profile.from_rankings([ids, ids[::-1]], weights=[1, 1])
    assert built("squared_kemeny")(p).notes == (SEVERAL,)
    assert built("squared_kemeny")(Profile.from_rankings([ids])).notes == ()


# -- traces --------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=60)
@given(p=ranked(5))
def test_distances_and_objective_follow_from_the_trace(p: Profile) -> None:
    for name in ("kemeny", "squared_kemeny"):
        decision = built(name)(p)
        found = recount(decision.table("distances"))
        order = order_of(p, decision)
        each = [against(row, order) for row in p.ranks]
        assert decision.table("distances").rows[1][1:-1] == tuple(each)
        key = "distance" if name == "kemeny" else "squared distance"
        assert found[key] == pytest.approx(objective(decision)[0])
    margins = built("kemeny")(p).table("margins")
    # Read in the ranking's order: no row loses by more than all that stand above it.
    assert [row[0] for row in margins.rows] == list(built("kemeny")(p).outcome.ids)
    table = built("footrule")(p).table("displacements")
    assert sum(recount(table).values()) == pytest.approx(objective(built("footrule")(p))[0])


def test_swaps_in_tiles_are_swaps() -> None:
    rng = np.random.default_rng(0)
    ranks, sequence = rng.integers(0, 9, (3, 40)), rng.permutation(40)
    wanted = [against(row, tuple(sequence)) for row in ranks]
    for tile in (1, 7, 40, 512):
        assert swaps(ranks, sequence, tile).tolist() == wanted
