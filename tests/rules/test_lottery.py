"""Rules that draw: lotteries by definition, golden lotteries, draws that follow them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairagents.profile import Profile, Weight
from fairagents.record import canonical
from fairagents.rules import dictatorship
from fairagents.rules._maximal import maximal_lottery, smith_set
from fairagents.rules.base import Ties
from fairagents.rules.dictatorship import RandomDictatorship, RandomSerialDictatorship
from fairagents.rules.lottery import LotteryRule, MaximalLottery, ProportionalBorda
from fairagents.rules.pairwise import margins
from fairagents.rules.positional import Borda
from fairagents.rules.trace import recount
from fairagents.spec import Floats, Ints
from fairagents.task import Slate
from tests.core.toys import golden
from tests.rules.small import FIXED, clones, every_ranked, ranked_profiles

EVERY: list[LotteryRule] = [
    MaximalLottery(),
    MaximalLottery(kind="C1"),
    RandomDictatorship(),
    RandomSerialDictatorship(),
    ProportionalBorda(),
]
EACH = pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.label)

CYCLE = Profile.from_rankings(
    [list(o) for o in ("ABC", "BCA", "BAC", "CAB", "CBA")], weights=[23, 17, 2, 10, 8]
)


def lottery(rule: LotteryRule, profile: Profile) -> Floats:
    found = rule.order(profile).lottery
    assert found is not None
    return found


# -- maximal lotteries ---------------------------------------------------------------------------


def test_condorcets_60_voters() -> None:
    decision = MaximalLottery()(CYCLE)
    assert decision.lottery is not None
    assert decision.lottery.probabilities == (0.6, 0.25, 0.15)
    assert lottery(MaximalLottery(kind="C1"), CYCLE).tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("one", golden("ranked.json"), ids=lambda one: one["id"])
def test_golden_lotteries(one: dict[str, Any]) -> None:
    ids = [str(i) for i in range(one["m"])]
    ballots = [[[str(i) for i in tier] for tier in b["tiers"]] for b in one["ballots"]]
    found = lottery(
        MaximalLottery(), Profile.from_rankings(ballots, ids, [b["w"] for b in one["ballots"]])
    )
    expected = one["expected"]
    if "maximal_lottery" in expected:
        assert found.tolist() == pytest.approx(expected["maximal_lottery"]["value"], abs=1e-8)
    else:
        ranges = expected["maximal_lottery_range"]
        assert (found >= np.array(ranges["lo"]) - 1e-8).all()
        assert (found <= np.array(ranges["hi"]) + 1e-8).all()


def assert_greatest_entropy(matrix: Any, found: Floats) -> None:
    """No margin against the lottery, and no maximal lottery has a greater entropy.

    Entropy is concave and maximal lotteries form a convex set, so the one is the greatest from
    which the slope of entropy falls towards every other one: q' log p >= p' log p.
    """
    from scipy.optimize import linprog

    game = np.array(matrix, dtype=np.float64) / max(1, abs(matrix).max())
    m = len(game)
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert found.min() >= 0
    assert (found @ game).min() > -1e-9
    some = found > 0
    slope = np.where(some, np.log(np.where(some, found, 1)), -1e3)
    best = linprog(slope, -game.T, np.zeros(m), np.ones((1, m)), np.ones(1)).fun
    assert best is not None
    assert found @ slope - best < 1e-7


def test_every_small_profile_gets_the_maximal_lottery() -> None:
    for n, m in ((1, 3), (2, 3), (3, 2), (3, 3)):
        for profile in every_ranked(n, m):
            matrix, _ = margins(profile)
            assert_greatest_entropy(matrix, lottery(MaximalLottery(), profile))
            assert_greatest_entropy(np.sign(matrix), lottery(MaximalLottery(kind="C1"), profile))


@FIXED
@given(profile=ranked_profiles(8))
def test_weighted_and_truncated_ballots_too(profile: Profile) -> None:
    matrix, _ = margins(profile)
    order = MaximalLottery().order(profile)
    assert order.lottery is not None
    assert_greatest_entropy(matrix, order.lottery)
    table = order.tables[-1]
    assert table.name == "margins of the lottery"
    assert min(recount(table).values()) > -1e-9


@pytest.mark.parametrize(("n", "m", "tied"), [(2, 60, 1), (4, 90, 1), (5, 120, 3), (3, 60, 8)])
def test_more_alternatives_than_the_search_starts_with(n: int, m: int, tied: int) -> None:
    rng = np.random.default_rng(n)
    ranks = np.array([rng.permutation(m) // tied for _ in range(n)])
    signs = np.sign(ranks[:, None, :] - ranks[:, :, None])
    matrix = (rng.integers(1, 4, n)[:, None, None] * signs).sum(axis=0)
    scores = (matrix > 0).sum(axis=1) - (matrix < 0).sum(axis=1)
    found = maximal_lottery(by(matrix), scores)
    assert_greatest_entropy(matrix, found)


def test_of_several_maximal_lotteries_that_of_the_greatest_entropy() -> None:
    rng = np.random.default_rng(1)
    for _ in range(150):
        m = int(rng.integers(3, 8))
        upper = np.triu(rng.integers(-2, 3, (m, m)), 1)
        matrix = upper - upper.T
        scores = (matrix > 0).sum(axis=1) - (matrix < 0).sum(axis=1)
        found = maximal_lottery(by(matrix), scores)
        assert_greatest_entropy(matrix, found)


def test_a_binding_margin_over_one_who_has_no_chance() -> None:
    # From (2/3, 1/3) on c and g to (1/7, 3/7, 1/7, 2/7) on b, c, e and g all are maximal; beyond
    # the second one, where entropy still rises, d would do better than the lottery.
    rows = [
        [0, 2, -1, 0, 0, -1, 0, -1], [-2, 0, 1, -2, 1, 0, -2, -1], [1, -1, 0, 1, 1, 0, 0, 1],
        [0, 2, -1, 0, -1, 0, 1, -2], [0, -1, -1, 1, 0, -1, 2, 0], [1, 0, 0, 0, 1, 0, -2, 0],
        [0, 2, 0, -1, -2, 2, 0, 2], [1, 1, -1, 2, 0, 0, -2, 0],
    ]  # fmt: skip
    matrix = np.array(rows)
    scores = (matrix > 0).sum(axis=1) - (matrix < 0).sum(axis=1)
    found = maximal_lottery(by(matrix), scores)
    wanted = np.array([0, 1, 3, 0, 1, 0, 2, 0]) / 7
    assert found.tolist() == pytest.approx(wanted.tolist(), abs=1e-9)


def by(matrix: Any) -> Callable[[Ints, Ints], Any]:
    return lambda some, others: matrix[np.ix_(some, others)]


def test_the_smith_set_by_definition() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        m = int(rng.integers(1, 7))
        upper = np.triu(rng.integers(-1, 2, (m, m)), 1)
        matrix = upper - upper.T
        scores = (matrix > 0).sum(axis=1) - (matrix < 0).sum(axis=1)
        sizes = range(1, m + 1)
        wanted = next(
            set(inside)
            for size in sizes
            for inside in itertools.combinations(range(m), size)
            if (np.delete(matrix[list(inside)], inside, axis=1) > 0).all()
        )
        assert set(smith_set(scores).tolist()) == wanted


def test_margins_of_very_different_size() -> None:
    weights: list[Weight] = [10**9, 1, 10**9, Fraction(1, 3)]
    profile = Profile.from_rankings(
        [list("abcd"), list("bcad"), list("cabd"), list("dcba")], weights=weights
    )
    found = lottery(MaximalLottery(), profile)
    matrix, scale = margins(profile)
    b_c, c_a, a_b = (float(matrix[i][j]) / scale for i, j in ((1, 2), (2, 0), (0, 1)))
    wanted = np.array([b_c, c_a, a_b, 0]) / (b_c + c_a + a_b)
    assert found.tolist() == pytest.approx(wanted.tolist(), abs=1e-9)


# -- dictators -----------------------------------------------------------------------------------


def survivors(profile: Profile) -> list[Fraction]:
    """Random serial dictatorship literally: all orders of the clones, each narrowing down."""
    rows = [v for v, k in enumerate(clones(profile)) for _ in range(k)]
    m = len(profile.ids)
    chances = [Fraction(0)] * m
    orders = Counter(itertools.permutations(rows))
    for order, times in orders.items():
        left = list(range(m))
        for v in order:
            best = min(profile.ranks[v, a] for a in left)
            left = [a for a in left if profile.ranks[v, a] == best]
        for a in left:
            chances[a] += Fraction(times, len(left))
    return [chance / sum(orders.values()) for chance in chances]


def test_serial_dictatorship_of_every_small_profile() -> None:
    for n, m in ((1, 3), (2, 3), (3, 3)):
        for profile in every_ranked(n, m):
            wanted = [float(p) for p in survivors(profile)]
            assert lottery(RandomSerialDictatorship(), profile).tolist() == wanted


@pytest.mark.parametrize("weights", [(3, 1, 2), (2, 2, 1, 1), (1, 4)])
def test_serial_dictators_are_drawn_by_weight(weights: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(weights))
    for _ in range(10):
        said = rng.integers(0, 3, (len(weights), 5)) / 2
        profile = Profile.from_scores(said, list("abcde"), weights)
        wanted = [float(p) for p in survivors(profile)]
        assert lottery(RandomSerialDictatorship(), profile).tolist() == wanted


@FIXED
@given(profile=ranked_profiles())
def test_dictators_share_ties_and_the_trace_shows_whose_share_it_is(profile: Profile) -> None:
    wanted = [Fraction(0)] * len(profile.ids)
    for weight, row in zip(profile.weights, profile.ranks.tolist(), strict=True):
        top = [a for a, rank in enumerate(row) if rank == min(row)]
        for a in top:
            wanted[a] += weight / sum(profile.weights) / len(top)
    assert lottery(RandomDictatorship(), profile).tolist() == [float(p) for p in wanted]
    points = Borda().order(profile).totals
    assert points is not None
    shares = points / points.sum() if points.sum() else np.ones(1)
    assert lottery(ProportionalBorda(), profile).tolist() == pytest.approx(shares.tolist())
    for rule in (RandomDictatorship(), RandomSerialDictatorship(), ProportionalBorda()):
        order = rule.order(profile)
        assert order.totals is not None
        again = recount(order.tables[-1])
        assert list(again.values()) == pytest.approx(
            [order.totals[profile.ids.index(a)] for a in again], abs=1e-12
        )


def test_too_many_sets_are_estimated_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    said = rng.integers(0, 2, (6, 8)).astype(float)
    profile = Profile.from_scores(said, list("abcdefgh"), [3, 1, 2, 1, 1, 2])
    exact = lottery(RandomSerialDictatorship(), profile)
    monkeypatch.setattr(dictatorship, "MOST_SETS", 3)
    order = RandomSerialDictatorship().order(profile)
    assert order.lottery is not None
    assert "the lottery is estimated from draws, not exact" in order.notes
    assert order.lottery.sum() == pytest.approx(1)
    assert abs(order.lottery - exact).max() < 0.06
    shuffled = [3, 0, 5, 1, 4, 2]
    weights = [profile.weights[v] for v in shuffled]
    other = Profile.from_scores(said[shuffled], list("abcdefgh"), weights)
    assert lottery(RandomSerialDictatorship(), other).tolist() == order.lottery.tolist()


@EACH
@FIXED
@given(profile=ranked_profiles(), data=st.data())
def test_the_lottery_over_the_rest_is_that_of_a_profile_of_the_rest(
    rule: LotteryRule, profile: Profile, data: st.DataObject
) -> None:
    m = len(profile.ids)
    rest = data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=m, unique=True))
    chances = rule.chances(profile, Ties(profile, "seeded", 0))
    found = chances.over(np.array(rest))
    assert found.tolist() == pytest.approx(lottery(rule, profile.take(np.array(rest))).tolist())


# -- draws ---------------------------------------------------------------------------------------


@EACH
def test_the_first_is_drawn_by_the_lottery(rule: LotteryRule) -> None:
    wanted = dict(zip("ABC", lottery(rule, CYCLE).tolist(), strict=True))
    firsts = Counter(rule(CYCLE, Slate(size=1), seed=s).outcome.ids[0] for s in range(600))
    for one, p in wanted.items():
        assert abs(firsts[one] / 600 - p) < 0.07


@EACH
def test_the_second_is_drawn_by_the_same_rule_over_the_others(rule: LotteryRule) -> None:
    seconds = Counter(rule(CYCLE, seed=s).outcome.ids[:2] for s in range(600))
    for first in "ABC":
        whole = sum(count for (one, _), count in seconds.items() if one == first)
        rest = [one for one in "ABC" if one != first]
        chances = lottery(rule, CYCLE.take(np.array(["ABC".index(one) for one in rest])))
        for one, p in zip(rest, chances.tolist(), strict=True):
            if whole > 60:
                assert abs(seconds[first, one] / whole - p) < 0.15


@EACH
@FIXED
@given(profile=ranked_profiles())
def test_draws_depend_on_the_seed_and_not_on_the_order_of_ids_voters_or_clones(
    rule: LotteryRule, profile: Profile
) -> None:
    rows = [v for v, k in enumerate(clones(profile)) for _ in range(k)][::-1]
    turned = range(len(profile.ids))[::-1]
    other = Profile(
        profile.ids[::-1], [str(i) for i in range(len(rows))], [1] * len(rows),
        profile.ranks[np.ix_(rows, turned)], profile.ratings[np.ix_(rows, turned)],
        profile.approvals[np.ix_(rows, turned)], [profile.forms[v] for v in rows],
    )  # fmt: skip
    for seed in (0, 1):
        first, second = rule(profile, seed=seed), rule(other, seed=seed)
        assert first.outcome == second.outcome
        assert first.lottery is not None and second.lottery is not None
        chances = dict(zip(first.lottery.outcomes, first.lottery.probabilities, strict=True))
        for one, p in zip(second.lottery.outcomes, second.lottery.probabilities, strict=True):
            assert chances[one] == pytest.approx(p, abs=1e-12)
        assert canonical(first.model_dump(mode="json"))


@EACH
def test_what_is_not_drawn_follows_by_probability_and_a_note_says_so(rule: LotteryRule) -> None:
    ids = list("abcdefgh")
    profile = Profile.from_rankings([ids, ids, ids[::-1]], ids)
    short = type(rule)(depth=2)
    order = short.order_with(profile, Ties(profile, "seeded", 5))
    assert "places 1 to 2 are drawn" in order.notes[0]
    assert short.counts in order.notes[0]
    rest = np.argsort(order.levels, kind="stable")[2:]
    chances = short.chances(profile, Ties(profile, "seeded", 5))
    keys = list(zip(chances.over(rest).tolist(), chances.count(rest).tolist(), strict=True))
    assert keys == sorted(keys, reverse=True)
    assert rule.order(profile).notes == ()


@EACH
def test_degenerate_profiles(rule: LotteryRule) -> None:
    assert rule(Profile.from_rankings([["a"], []], ["a"])).tiers == (("a",),)
    nothing = Profile.from_rankings([[], [["a", "b", "c", "d"]]], list("abcd"))
    assert lottery(rule, nothing).tolist() == [0.25] * 4
    opposed = Profile.from_rankings([["a", "b"], ["b", "a"]], weights=[2, 1])
    wanted = [1.0, 0.0] if isinstance(rule, MaximalLottery) else [2 / 3, 1 / 3]
    assert lottery(rule, opposed).tolist() == pytest.approx(wanted)
    even = Profile.from_rankings([["a", "b"], ["b", "a"], ["b", "a"]], weights=[0.5, 0.3, 0.2])
    assert lottery(rule, even).tolist() == [0.5, 0.5]
    if not isinstance(rule, ProportionalBorda):
        one = Profile.from_rankings([["b", "c", "a"]])
        assert rule(one, seed=9).outcome.ids == ("b", "c", "a")


def test_a_winner_whom_all_put_first_is_drawn_for_sure() -> None:
    profile = Profile.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["a"]], list("abc"))
    for rule in EVERY[:4]:
        assert lottery(rule, profile).tolist() == [1, 0, 0]


def test_the_condorcet_winner_of_tennessee_is_drawn_for_sure() -> None:
    orders = ["MNCK", "NCKM", "CKNM", "KCNM"]
    profile = Profile.from_rankings([list(o) for o in orders], weights=[42, 26, 15, 17])
    assert MaximalLottery()(profile).tiers == (("N",), ("C",), ("K",), ("M",))
    chances = dict(zip("MNCK", lottery(RandomDictatorship(), profile).tolist(), strict=True))
    assert chances == {"M": 0.42, "N": 0.26, "C": 0.15, "K": 0.17}
