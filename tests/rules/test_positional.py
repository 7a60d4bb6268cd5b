"""Positional rules and rank fusion: definitions by brute force, exact ties, worked examples."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairagents.errors import SpecError
from fairagents.profile import Profile
from fairagents.rules.base import RULES, OrderRule, levels_of
from fairagents.rules.fusion import CombMnz, CombSum, ReciprocalRankFusion
from fairagents.rules.positional import (
    Borda,
    Dowdall,
    KApproval,
    Plurality,
    Positional,
    Scoring,
    Veto,
)
from fairagents.rules.trace import recount
from tests.core.toys import golden
from tests.rules.small import (
    FIXED,
    by_score,
    columns,
    every_ranked,
    ranked,
    ranked_profiles,
    rated_profiles,
    sets,
    tiers,
)

Vector = Callable[[int], list[Fraction]]

RULES_AND_POINTS: list[tuple[Positional, Vector]] = [
    (Plurality(), lambda m: [Fraction(i == 0) for i in range(m)]),
    (Veto(), lambda m: [Fraction(i < m - 1) for i in range(m)]),
    (KApproval(k=2), lambda m: [Fraction(i < 2) for i in range(m)]),
    (Borda(), lambda m: [Fraction(m - 1 - i) for i in range(m)]),
    (Dowdall(), lambda m: [Fraction(1, i + 1) for i in range(m)]),
    (Scoring(scores=(2.5, 0.1)), lambda m: [Fraction(5, 2), Fraction(1, 10), *[Fraction(0)] * m]),
    (ReciprocalRankFusion(k=1, unlisted="last"), lambda m: [Fraction(1, i + 2) for i in range(m)]),
]
EACH = pytest.mark.parametrize(
    ("rule", "points"), RULES_AND_POINTS, ids=[r.name for r, _ in RULES_AND_POINTS]
)


def by_definition(profile: Profile, points: Vector) -> list[Fraction]:
    """Points of each alternative, each ballot averaged over all strict orders it could be."""
    m = len(profile.ids)
    totals = [Fraction(0)] * m
    for weight, row in zip(profile.weights, profile.ranks.tolist(), strict=True):
        orders = [
            order
            for order in itertools.permutations(range(m))
            if all(row[a] <= row[b] for a, b in itertools.pairwise(order))
        ]
        for order in orders:
            for place, a in enumerate(order):
                totals[a] += weight * points(m)[place] / len(orders)
    return totals


@EACH
def test_every_small_profile_gets_the_points_of_the_definition(
    rule: Positional, points: Vector
) -> None:
    for n, m in itertools.product((1, 2, 3), repeat=2):
        for profile in every_ranked(n, m):
            wanted = by_definition(profile, points)
            assert tiers(rule, profile) == by_score(wanted)


@EACH
@FIXED
@given(profile=ranked_profiles(5))
def test_weighted_and_truncated_ballots_too(
    rule: Positional, points: Vector, profile: Profile
) -> None:
    wanted = by_definition(profile, points)
    order = rule.order(profile)
    assert tiers(rule, profile) == by_score(wanted)
    assert order.totals is not None
    assert order.totals.tolist() == pytest.approx([float(x) for x in wanted], abs=1e-12)
    again = recount(order.tables[0])
    assert again == pytest.approx(dict(zip(profile.ids, order.totals.tolist(), strict=True)))


@pytest.mark.parametrize("one", golden("ranked.json"), ids=lambda one: one["id"])
def test_plurality_scores_of_the_golden_profiles(one: dict[str, Any]) -> None:
    ids = [str(i) for i in range(one["m"])]
    ballots = [[[str(i) for i in tier] for tier in b["tiers"]] for b in one["ballots"]]
    profile = Profile.from_rankings(ballots, ids, [b["w"] for b in one["ballots"]])
    totals = dict(Plurality()(profile).totals)
    wanted = one["expected"]["plurality_scores"]["value"]
    if one["kind"] in ("truncated", "trunc_unit", "trunc_ties"):
        # There an empty first place gives nothing; ours are never empty here.
        assert all(ballots)
    assert [totals[one] for one in ids] == [float(Fraction(s)) for s in wanted]


# -- the literature ------------------------------------------------------------------------------


def test_tennessee() -> None:
    orders = ["MNCK", "NCKM", "CKNM", "KCNM"]
    profile = Profile.from_rankings([list(o) for o in orders], weights=[42, 26, 15, 17])
    assert Plurality()(profile).tiers == (("M",), ("N",), ("K",), ("C",))
    assert Borda()(profile).tiers == (("N",), ("C",), ("M",), ("K",))
    assert dict(Veto()(profile).totals) == {"M": 42, "N": 100, "C": 100, "K": 58}


def test_condorcet_81_voters_have_another_borda_winner_than_their_condorcet_winner() -> None:
    orders = ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]
    profile = Profile.from_rankings([list(o) for o in orders], weights=[30, 1, 29, 10, 10, 1])
    assert dict(Borda()(profile).totals) == {"A": 101, "B": 109, "C": 33}
    assert RULES.build("copeland")(profile).tiers[0] == ("A",)


def test_reciprocal_ranks_by_hand() -> None:
    profile = Profile.from_rankings([list("abcde"), ["b"], ["c", "a"]], ids=list("abcdef"))
    exact = {
        "a": Fraction(1, 61) + Fraction(1, 62),
        "b": Fraction(1, 62) + Fraction(1, 61),
        "c": Fraction(1, 63) + Fraction(1, 61),
        "d": Fraction(1, 64),
        "e": Fraction(1, 65),
        # f stands alone at the end of the first list, so it is the sixth there.
        "f": Fraction(1, 66),
    }
    decision = ReciprocalRankFusion()(profile)
    assert sets(decision) == [{"a", "b"}, {"c"}, {"d"}, {"e"}, {"f"}]
    assert dict(decision.totals) == pytest.approx({k: float(x) for k, x in exact.items()})


def test_what_is_not_listed_gets_nothing_or_shares_the_last_places() -> None:
    profile = Profile.from_rankings([["a"]], ids=list("abc"))
    assert dict(ReciprocalRankFusion(k=1)(profile).totals) == {"a": 0.5, "b": 0, "c": 0}
    shared = dict(ReciprocalRankFusion(k=1, unlisted="last")(profile).totals)
    assert shared["b"] == shared["c"] == pytest.approx((1 / 3 + 1 / 4) / 2)
    rated = Profile.from_scores([[0.5, np.nan, 0.5, 0.2]], list("abcd"))
    points = dict(ReciprocalRankFusion(k=0)(rated).totals)
    assert points == pytest.approx({"a": 0.75, "c": 0.75, "d": 1 / 3, "b": 0})
    approved = Profile.from_approvals([["a"], ["a", "b"], []], ids=list("abc"))
    assert dict(ReciprocalRankFusion(k=0)(approved).totals) == {"a": 1.75, "b": 0.75, "c": 0}


def test_scores_and_hits_are_combined() -> None:
    profile = Profile.from_scores(
        [[0.9, 0.4, np.nan], [np.nan, 0.4, 0.6]], list("abc"), weights=[1, 0.5]
    )
    assert dict(CombSum()(profile).totals) == pytest.approx({"a": 0.9, "b": 0.6, "c": 0.3})
    assert dict(CombMnz()(profile).totals) == pytest.approx({"a": 0.9, "b": 0.9, "c": 0.15})
    ranged = CombSum(normalisation="range")(Profile.from_scores([[0.2, 0.4, 0.3]], list("abc")))
    assert dict(ranged.totals) == pytest.approx({"a": 0, "b": 1, "c": 0.5})


@FIXED
@given(profile=rated_profiles(gaps=True))
def test_comb_mnz_is_the_sum_times_the_hits_of_clones(profile: Profile) -> None:
    scores = [round(sum(c) * sum(r > 0 for r in c) / len(c) ** 2, 9) for c in columns(profile)]
    assert tiers(CombMnz(), profile) == by_score(scores)
    again = recount(CombMnz().order(profile).tables[-1])
    assert again == pytest.approx(dict(CombMnz()(profile).totals))


# -- exactness -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["plurality", "veto", "borda", "dowdall", "scoring",
                                  "reciprocal_rank_fusion", "k_approval"])  # fmt: skip
def test_weights_of_a_half_three_tenths_and_a_fifth_tie_exactly(rule: str) -> None:
    profile = Profile.from_rankings([["a", "b"], ["b", "a"], ["b", "a"]], weights=[0.5, 0.3, 0.2])
    assert sets(RULES.build(rule)(profile)) == [{"a", "b"}]


def test_sums_of_fractions_tie_where_they_are_equal() -> None:
    # 1/1 + 1/4 + 1/12 = 1/2 + 1/2 + 1/3.
    m = 12
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = []
        for a, b in ((0, 1), (3, 1), (11, 2)):
            rest = [i for i in range(m) if i not in (a, b)]
            row = np.empty(m, dtype=np.int64)
            row[0], row[1] = a, b
            row[2:] = rng.permutation(rest)
            rows.append(row)
        order = Dowdall().order(ranked(np.array(rows)))
        assert order.levels[0] == order.levels[1]


@pytest.mark.parametrize("rule", [Dowdall(), Veto(), ReciprocalRankFusion(unlisted="last")])
def test_long_lists_are_counted_exactly(rule: Positional) -> None:
    m = 300
    rng = np.random.default_rng(1)
    tops = [rng.permutation(m)[:20] for _ in range(5)]
    ballots = [[f"a{i:03}" for i in top] for top in tops]
    ids = [f"a{i:03}" for i in range(m)]
    order = rule.order(Profile.from_rankings(ballots, ids, weights=[0.3, 0.2, 0.1, 0.25, 0.15]))
    unlisted = sorted(set(range(m)) - {i for top in tops for i in top.tolist()})
    assert set(order.levels[unlisted].tolist()) == {order.levels.max()}
    points = list(map(Fraction, rule.points(m)))
    mean = sum(points[20:]) / (m - 20)
    assert order.totals is not None
    assert order.totals[unlisted].tolist() == [float(mean)] * len(unlisted)
    at = [float(w) for w in (0.3, 0.2, 0.1, 0.25, 0.15)]
    for a in range(m):
        places = [np.flatnonzero(top == a) for top in tops]
        total = sum(
            w * float(points[p[0]] if len(p) else mean) for w, p in zip(at, places, strict=True)
        )
        assert order.totals[a] == pytest.approx(total)


# -- many at once --------------------------------------------------------------------------------

BATCHED: list[OrderRule] = [rule for rule, _ in RULES_AND_POINTS]
BATCHED += [ReciprocalRankFusion(), CombSum(), CombMnz(), CombSum(normalisation="rank")]


@pytest.mark.parametrize("rule", BATCHED, ids=lambda rule: rule.label)
@FIXED
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 30)),
    values=st.sampled_from([2, 5, 10**7]),
)
def test_a_batch_gives_each_profile_its_own_order(
    rule: OrderRule, seed: int, shape: tuple[int, int, int], values: int
) -> None:
    rng = np.random.default_rng(seed)
    said = rng.integers(0, values, shape) / (values - 1)
    weights = rng.integers(1, 6, shape[1])
    totals = rule.batch(said, weights)
    assert totals is not None
    ids = [f"a{i}" for i in range(shape[2])]
    for one, found in zip(said, totals, strict=True):
        order = rule.order(Profile.from_scores(one, ids, weights.tolist()))
        assert levels_of(found).tolist() == order.levels.tolist()


def test_a_batch_does_not_care_how_numbers_are_written() -> None:
    rng = np.random.default_rng(3)
    grid = rng.integers(0, 50, (40, 5, 60)) / 50
    fine = grid / 3 + 1e-9
    weights = np.array([3, 1, 4, 1, 5])
    for rule in (Borda(), Dowdall(), Plurality()):
        first, second = rule.batch(grid, weights), rule.batch(fine, weights)
        assert first is not None and second is not None
        assert first.tolist() == second.tolist()


def test_a_batch_of_borda_gives_twice_the_points() -> None:
    said = np.array([[[0.5, 1.0, 0.5], [0.25, 0.75, 0.0]]])
    totals = Borda().batch(said, np.array([1, 2]))
    assert totals is not None
    assert totals.tolist() == [[1 + 4, 4 + 8, 1 + 0]]


def test_a_batch_stays_exact_where_common_denominators_are_long() -> None:
    # Tiers of 13 and 17, 11 and 19, 7 and 23 have a common denominator of 22 bits, and so have
    # 1/1 to 1/30 one of 42: together they are beyond 64 bits.
    said = np.zeros((1, 3, 30))
    for v, size in enumerate((13, 11, 7)):
        said[0, v, np.random.default_rng(v).permutation(30)[:size]] = 1
    weights = np.array([3, 2, 2])
    totals = Dowdall().batch(said, weights)
    assert totals is not None
    order = Dowdall().order(Profile.from_scores(said[0], [f"a{i}" for i in range(30)], [3, 2, 2]))
    assert levels_of(totals[0]).tolist() == order.levels.tolist()


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ((1, 2), "must not rise"),
        ((), "must be >= 0"),
        ((0, 0), "the first one > 0"),
        ((2, -1), "must be >= 0"),
    ],
)
def test_scores_that_make_no_sense_are_refused(scores: tuple[float, ...], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        Scoring(scores=scores)


def test_k_is_cut_to_the_agenda_and_scores_beyond_it_are_left_out() -> None:
    profile = Profile.from_rankings([["a", "b"], ["b", "a"], ["b", "a"]])
    assert dict(KApproval(k=5)(profile).totals) == {"a": 3, "b": 3}
    assert dict(Scoring()(profile).totals) == {"a": 25 + 36, "b": 18 + 50}


def test_degenerate_profiles() -> None:
    for rule, _ in RULES_AND_POINTS:
        assert rule(Profile.from_rankings([["a"], []], ids=["a"])).tiers == (("a",),)
        assert sets(rule(Profile.from_rankings([[], [["a", "b"]]], ids=list("abc")[:2]))) == [
            {"a", "b"}
        ]
        two = rule(Profile.from_rankings([["a", "b", "c"], ["c", "b", "a"]]))
        assert any({"a", "c"} <= tier for tier in sets(two))
