"""Welfare rules: golden profiles, definitions on cloned voters, normalisation, zeros, batches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairagents.errors import SpecError
from fairagents.profile import Profile
from fairagents.rules._levels import by_keys, levels_within, lexicographic
from fairagents.rules.base import RULES, OrderRule, levels_of
from fairagents.rules.means import Atkinson, GiniWelfare, Owa, PMean, Prioritarian, power_mean
from fairagents.rules.trace import recount
from fairagents.rules.welfare import (
    Leximin,
    Maximin,
    Nash,
    RelativeUtilitarian,
    ThresholdSum,
    Utilitarian,
    Welfare,
    normalised,
)
from tests.core.toys import golden
from tests.rules.small import FIXED, by_score, columns, every_rated, rated_profiles, sets, tiers

Column = list[float]


def rounded(score: Callable[[Column], float]) -> Callable[[Column], float]:
    return lambda column: round(score(column), 9)


def mean(column: Sequence[float]) -> float:
    return sum(column) / len(column)


def gini(column: Column) -> float:
    differences = sum(abs(x - y) for x in column for y in column)
    return mean(column) * (1 - differences / (2 * len(column) ** 2 * mean(column) or 1))


def power(p: float) -> Callable[[Column], float]:
    def of(column: Column) -> float:
        if p <= 0 and min(column) == 0:
            return 0.0
        if p == 0:
            return math.exp(mean([math.log(x) for x in column]))
        return float(mean([x**p for x in column]) ** (1 / p))

    return of


def owa(weights: Sequence[float]) -> Callable[[Column], float]:
    """The k equal parts of the sorted clones, each cut into as many pieces as that takes."""

    def of(column: Column) -> float:
        k = len(weights)
        fine = [x for x in sorted(column) for _ in range(k)]
        parts = [fine[i * len(column) : (i + 1) * len(column)] for i in range(k)]
        total = sum(q * mean(part) for q, part in zip(weights, parts, strict=True))
        return total / sum(weights)

    return of


DEFINITIONS: list[tuple[Welfare, Callable[[Column], Any]]] = [
    (Utilitarian(), rounded(mean)),
    (Maximin(), min),
    (Leximin(), sorted),
    (PMean(), rounded(power(0.25))),
    (PMean(p=0), rounded(power(0))),
    (PMean(p=-3), rounded(power(-3))),
    (PMean(p=2), rounded(power(2))),
    (Atkinson(), rounded(power(0.5))),
    (Atkinson(epsilon=1), rounded(power(0))),
    (Prioritarian(gamma=3), rounded(lambda c: mean([1 - math.exp(-3 * x) for x in c]))),
    (GiniWelfare(), rounded(gini)),
    (Owa(), rounded(owa((2, 1)))),
    (Owa(weights=(3, 0, 1)), rounded(owa((3, 0, 1)))),
    (ThresholdSum(), lambda c: (min(c) >= 0.6, round(mean(c), 9))),
    (
        ThresholdSum(threshold=0.5, first="share"),
        lambda c: (round(mean([x >= 0.5 for x in c]), 9), round(mean(c), 9)),
    ),
]
EACH = pytest.mark.parametrize(
    ("rule", "score"), DEFINITIONS, ids=[rule.label for rule, _ in DEFINITIONS]
)


@EACH
def test_every_small_profile_gets_the_order_of_the_definition(
    rule: Welfare, score: Callable[[Column], Any]
) -> None:
    for n, m in ((1, 3), (2, 2), (2, 3), (3, 2)):
        for profile in every_rated(n, m):
            scores = [as_key(score(column)) for column in columns(profile)]
            assert tiers(rule, profile) == by_score(scores)


@EACH
@FIXED
@given(profile=rated_profiles(gaps=True))
def test_weights_are_clones_and_totals_can_be_recounted(
    rule: Welfare, score: Callable[[Column], Any], profile: Profile
) -> None:
    scores = [as_key(score(column)) for column in columns(profile)]
    order = rule.order(profile)
    assert tiers(rule, profile) == by_score(scores)
    again = recount(order.tables[-1])
    assert set(again) == set(profile.ids)
    if order.totals is not None:
        totals = dict(zip(profile.ids, order.totals.tolist(), strict=True))
        assert again == pytest.approx(totals, abs=1e-12)


def as_key(score: Any) -> Any:
    return tuple(score) if isinstance(score, list) else score


# -- golden profiles -----------------------------------------------------------------------------

CARDINAL = golden("cardinal.json")
KEYS: list[tuple[Welfare, str]] = [
    (Utilitarian(), "utilitarian"),
    (Maximin(), "maximin"),
    (Leximin(), "leximin"),
    (GiniWelfare(), "gini_swf"),
    (PMean(p=-1), "pmean_-1"),
    (Atkinson(epsilon=2), "pmean_-1"),
    (PMean(p=0.5), "pmean_0.5"),
    (Atkinson(), "pmean_0.5"),
    (RelativeUtilitarian(), "relative_utilitarian"),
    (Utilitarian(normalisation="range"), "relative_utilitarian"),
]


@pytest.mark.parametrize("one", CARDINAL, ids=lambda one: one["id"])
@pytest.mark.parametrize(("rule", "key"), KEYS, ids=[f"{r.label}-{key}" for r, key in KEYS])
def test_golden_orders_and_scores(one: dict[str, Any], rule: Welfare, key: str) -> None:
    wanted = one["expected"][key]
    scores = np.array(one["scores"]) / one["top"]
    profile = Profile.from_scores(scores, [str(i) for i in range(one["m"])], one["weights"])
    found = [sorted(int(i) for i in tier) for tier in rule(profile).tiers]
    assert found == wanted["value"]
    if "scores" in wanted and key != "leximin":
        given_ = [float(Fraction(str(score))) for score in wanted["scores"]]
        unit = {"utilitarian": sum(one["weights"]) * one["top"],
                "relative_utilitarian": sum(one["weights"])}.get(key, one["top"])  # fmt: skip
        totals = dict(rule(profile).totals)
        assert [totals[str(i)] * unit for i in range(one["m"])] == pytest.approx(given_, abs=1e-8)


# -- special cases -------------------------------------------------------------------------------


@FIXED
@given(profile=rated_profiles())
def test_the_family_of_power_means_joins_up(profile: Profile) -> None:
    assert tiers(PMean(p=1), profile) == tiers(Utilitarian(), profile)
    assert tiers(Atkinson(epsilon=0), profile) == tiers(Utilitarian(), profile)
    assert tiers(Owa(weights=(1,)), profile) == tiers(Utilitarian(), profile)
    ratings, _ = profile.rated()
    voice = np.array([float(w) for w in profile.weights])
    voice /= voice.sum()
    for p in (-100.0, 100.0):
        extreme = (ratings.min if p < 0 else ratings.max)(axis=0)
        found = power_mean(ratings, voice, p)
        assert np.isfinite(found).all()
        assert abs(found - extreme).max() < 0.05
    steps = [power_mean(ratings, voice, p) for p in (-5.0, -1.0, 0.0, 0.5, 1.0, 3.0)]
    assert all((b >= a - 1e-12).all() for a, b in itertools.pairwise(steps))


@FIXED
@given(profile=rated_profiles())
def test_with_no_zeros_nash_is_the_power_mean_at_0(profile: Profile) -> None:
    ratings = 0.1 + 0.9 * profile.rated()[0]
    positive = Profile.from_scores(ratings, profile.ids, profile.weights)
    assert tiers(Nash(), positive) == tiers(PMean(p=0), positive)


def test_prioritarian_orders_stay_when_all_are_better_off_by_the_same_amount() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        ratings = rng.integers(0, 8, (4, 6)) / 16
        ids = list("abcdef")
        low, high = (Profile.from_scores(r, ids) for r in (ratings, ratings + 0.5))
        assert tiers(Prioritarian(gamma=5), low) == tiers(Prioritarian(gamma=5), high)


def test_normalisations() -> None:
    ratings = np.array([[0.25, 0.5, 0.25, 0.0], [0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]])
    assert normalised(ratings, "none").tolist() == ratings.tolist()
    assert normalised(ratings, "range").tolist() == [[0.5, 1, 0.5, 0], [1] * 4, [1] * 4]
    assert normalised(ratings, "unit_sum").tolist() == [[0.25, 0.5, 0.25, 0], [0.25] * 4, [0] * 4]
    assert normalised(ratings, "rank").tolist() == [[0.5, 1, 0.5, 0], [0.5] * 4, [0.5] * 4]
    assert normalised(np.array([[0.3]]), "rank").tolist() == [[0.0]]


def test_a_voter_to_whom_all_are_equal_blocks_nobody_under_range() -> None:
    profile = Profile.from_scores([[0.1, 0.1, 0.1], [0.2, 0.4, 0.3]], list("abc"))
    decision = Maximin(normalisation="range")(profile)
    assert decision.tiers == (("b",), ("c",), ("a",))
    assert "each voter's ratings were normalised: range" in decision.notes


def test_who_only_ranked_counts_by_normalised_borda_and_is_named() -> None:
    profile = Profile.from_rankings([["a", "b", "c"]], voters=["ann"])
    decision = Utilitarian()(profile)
    assert dict(decision.totals) == {"a": 1, "b": 0.5, "c": 0}
    assert decision.notes == ("ratings derived from the order (normalised Borda): ann",)


def test_a_tolerance_can_be_set() -> None:
    profile = Profile.from_scores([[0.5, 0.505, 0.6]], list("abc"))
    for rule in (Utilitarian, Maximin, Leximin, Nash, GiniWelfare, PMean):
        assert sets(rule()(profile)) == [{"c"}, {"b"}, {"a"}]
        assert sets(rule(tolerance=0.01)(profile)) == [{"c"}, {"a", "b"}]
    assert sets(Leximin(tolerance=0)(profile)) == [{"c"}, {"b"}, {"a"}]


def test_leximin_of_many_alternatives_with_odd_weights_takes_little_room() -> None:
    rng = np.random.default_rng(0)
    weights = (2 ** np.arange(20)).tolist()
    ids = [f"a{i}" for i in range(3000)]
    profile = Profile.from_scores(rng.integers(0, 3, (20, 3000)) / 2, ids, weights)
    levels = Leximin().order(profile).levels
    rows = [
        tuple(sorted(zip(column, weights, strict=True))) for column in profile.ratings.T.tolist()
    ]
    for a, b in rng.integers(0, 3000, (200, 2)):
        if (levels[a] < levels[b]) != (wider(rows[a]) > wider(rows[b])):
            raise AssertionError((rows[a], rows[b]))


def wider(row: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Runs of equal ratings with the weight up to their end, negated."""
    runs: dict[float, int] = {}
    for rating, weight in row:
        runs[rating] = runs.get(rating, 0) + weight
    ends, end = [], 0
    for rating, weight in runs.items():
        end += weight
        ends.append((rating, -end))
    return ends


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Owa(weights=(1, -1)), "weights must be >= 0"),
        (lambda: Owa(weights=()), "not all 0"),
        (lambda: Owa(weights=(0, 0)), "not all 0"),
        (lambda: PMean(p=1000), "less than or equal to 100"),
        (lambda: Prioritarian(gamma=0), "greater than 0"),
        (lambda: ThresholdSum(threshold=2), "less than or equal to 1"),
        (lambda: RULES.build({"nash": {"normalisation": "sum"}}), "normalisation"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        make()


# -- tiers and batches ---------------------------------------------------------------------------


@FIXED
@given(seed=st.integers(0, 2**32 - 1), b=st.integers(1, 3), m=st.integers(1, 6))
def test_tiers_of_many_rows_are_those_of_each(seed: int, b: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    totals = rng.integers(0, 4, (b, m)) / 4
    assert levels_within(totals, 0).tolist() == [levels_of(row).tolist() for row in totals]
    keys = rng.integers(0, 3, (b, m, 3))
    for rows, levels in zip(keys, lexicographic(keys), strict=True):
        wanted = sorted({tuple(row) for row in rows.tolist()}, reverse=True)
        assert levels.tolist() == [wanted.index(tuple(row)) for row in rows.tolist()]
        assert by_keys(*rows.T).tolist() == levels.tolist()


BATCHED: list[OrderRule] = [rule for rule, _ in DEFINITIONS]
BATCHED += [RelativeUtilitarian(), Nash(), Nash(disagreement=0.3, normalisation="unit_sum")]
BATCHED += [Utilitarian(normalisation="rank"), Leximin(normalisation="range")]


@pytest.mark.parametrize("rule", BATCHED, ids=lambda rule: rule.label)
@FIXED
@given(
    seed=st.integers(0, 2**32 - 1), b=st.integers(1, 4), n=st.integers(1, 5), m=st.integers(1, 8)
)
def test_a_batch_gives_each_profile_its_own_order(
    rule: OrderRule, seed: int, b: int, n: int, m: int
) -> None:
    rng = np.random.default_rng(seed)
    said = rng.integers(0, 5, (b, n, m)) / 4
    weights = rng.integers(1, 6, n)
    totals = rule.batch(said, weights)
    assert totals is not None
    ids = [f"a{i}" for i in range(m)]
    for one, found in zip(said, totals, strict=True):
        order = rule.order(Profile.from_scores(one, ids, weights.tolist()))
        assert levels_of(found).tolist() == order.levels.tolist()


# -- degenerate profiles -------------------------------------------------------------------------


@EACH
def test_degenerate_profiles(rule: Welfare, score: Callable[[Column], Any]) -> None:
    assert sets(rule(Profile.from_scores([[0.0], [0.3]], ["a"]))) == [{"a"}]
    assert sets(rule(Profile.from_scores(np.full((3, 3), 0.5), list("abc")))) == [set("abc")]
    assert sets(rule(Profile.from_rankings([[], []], list("abc")))) == [set("abc")]
    one = Profile.from_scores([[0.1, 0.9, 0.7]], list("abc"))
    assert rule(one).tiers == (("b",), ("c",), ("a",))
    # Two voters, one with nearly all the voice, who are opposed.
    two = Profile.from_scores([[0.9, 0.1], [0.1, 0.9]], list("ab"), weights=[0.999, 0.001])
    symmetric = isinstance(rule, Maximin)
    assert sets(rule(two)) == ([{"a", "b"}] if symmetric else [{"a"}, {"b"}])


def test_an_unrated_alternative_counts_as_rated_0() -> None:
    profile = Profile.from_scores([[0.5, np.nan], [np.nan, 0.9]], list("ab"))
    assert dict(Utilitarian()(profile).totals) == {"a": 0.25, "b": 0.45}
    assert sets(Maximin()(profile)) == [{"a", "b"}]
