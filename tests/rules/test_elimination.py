"""Elimination rules: all ways ties may fall by brute force, worked examples, traces."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from fairagents.profile import Profile
from fairagents.rules.base import RULES, Rule
from fairagents.rules.bucklin import Bucklin
from fairagents.rules.elimination import Coombs, InstantRunoff
from fairagents.rules.nanson import Baldwin, Nanson
from fairagents.rules.positional import Plurality
from fairagents.rules.trace import recount
from tests.rules.small import FIXED, every_ranked, ranked, ranked_profiles, sets

Left = frozenset[int]
Worst = Callable[[Profile, Left], set[int]]

# -- all ways that ties may fall -------------------------------------------------------------------


def ends(profile: Profile, left: Left, last: bool) -> dict[int, Fraction]:
    """Votes at one end of the ballots; a ballot that ties all who are left gives none."""
    tally = dict.fromkeys(left, Fraction(0))
    for row, weight in zip(profile.ranks.tolist(), profile.weights, strict=True):
        at = (max if last else min)(row[i] for i in left)
        own = [i for i in left if row[i] == at]
        if len(own) < len(left):
            for i in own:
                tally[i] += weight / len(own)
    return tally


def borda(profile: Profile, left: Left) -> dict[int, Fraction]:
    points = dict.fromkeys(left, Fraction(0))
    for row, weight in zip(profile.ranks.tolist(), profile.weights, strict=True):
        for a, b in itertools.permutations(left, 2):
            points[a] += weight * Fraction((row[a] < row[b]) * 2 + (row[a] == row[b]), 2)
    return points


def least(tally: dict[int, Fraction]) -> set[int]:
    return {i for i, t in tally.items() if t == min(tally.values())}


def fewest_firsts(profile: Profile, left: Left) -> set[int]:
    return least(ends(profile, left, last=False))


def most_lasts(profile: Profile, left: Left) -> set[int]:
    return least({i: -t for i, t in ends(profile, left, last=True).items()})


def majority_stop(profile: Profile, left: Left) -> set[int]:
    """As `most_lasts`, but all others go at once where one has a majority of first votes."""
    firsts = ends(profile, left, last=False)
    for i, t in firsts.items():
        if 2 * t > sum(firsts.values()):
            return {min(left - {i})} if len(left) > 1 else set()
    return most_lasts(profile, left)


def fewest_points(profile: Profile, left: Left) -> set[int]:
    return least(borda(profile, left))


def all_winners(profile: Profile, worst: Worst) -> set[int]:
    """Who wins in some way that ties for elimination may fall, one at a time."""
    known: dict[Left, set[int]] = {}

    def find(left: Left) -> set[int]:
        if len(left) == 1:
            return set(left)
        if left not in known:
            known[left] = set().union(*(find(left - {i}) for i in worst(profile, left)))
        return known[left]

    return find(frozenset(range(len(profile.ids))))


PATHS: list[tuple[Rule, Worst]] = [
    (InstantRunoff(), fewest_firsts),
    (Coombs(), majority_stop),
    (Coombs(majority_stop=False), most_lasts),
    (Baldwin(), fewest_points),
]
EACH = pytest.mark.parametrize(("rule", "worst"), PATHS, ids=[r.label for r, _ in PATHS])


def winners_over_seeds(rule: Rule, profile: Profile, seeds: int) -> tuple[set[int], set[int]]:
    """Who comes first, and who is in the first tier, over many tie-breaks."""
    decisions = [rule(profile, seed=seed) for seed in range(seeds)]
    place = {one: i for i, one in enumerate(profile.ids)}
    first = {place[decision.outcome.ids[0]] for decision in decisions}
    return first, {place[one] for decision in decisions for one in decision.tiers[0]}


@EACH
@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 3), (3, 2), (3, 3)])
def test_small_profiles_elect_who_wins_in_some_way(
    rule: Rule, worst: Worst, n: int, m: int
) -> None:
    for profile in every_ranked(n, m):
        wanted = all_winners(profile, worst)
        first, tier = winners_over_seeds(rule, profile, 3)
        assert first <= wanted
        assert tier <= wanted


@EACH
@FIXED
@given(profile=ranked_profiles(5))
def test_over_many_seeds_everybody_comes_first_who_wins_in_some_way(
    rule: Rule, worst: Worst, profile: Profile
) -> None:
    first, tier = winners_over_seeds(rule, profile, 40)
    assert first == tier == all_winners(profile, worst)


def by_means(profile: Profile, weak: bool) -> list[set[str]]:
    """Nanson's rule by definition."""
    left = frozenset(range(len(profile.ids)))
    wanted: list[set[str]] = []
    while left:
        points = borda(profile, left)
        mean = sum(points.values()) / len(left)
        out = {i for i, p in points.items() if p < mean or (weak and p == mean)}
        out = out if left - out and out else set(left)
        wanted.insert(0, {profile.ids[i] for i in out})
        left -= out
    return wanted


def by_levels(profile: Profile) -> list[set[str]]:
    """Bucklin's rule by definition."""
    m, keys = len(profile.ids), {}
    for a, level in itertools.product(range(m), range(m, 0, -1)):
        votes = Fraction(0)
        for row, weight in zip(profile.ranks.tolist(), profile.weights, strict=True):
            above, size = sum(r < row[a] for r in row), row.count(row[a])
            votes += weight * Fraction(max(0, min(level - above, size)), size)
        if 2 * votes > sum(profile.weights):
            keys[profile.ids[a]] = (level, -votes)
    return [{a for a, k in keys.items() if k == key} for key in sorted(set(keys.values()))]


@FIXED
@given(profile=ranked_profiles(6))
def test_nanson_drops_who_is_below_the_mean(profile: Profile) -> None:
    for weak in (False, True):
        assert sets(Nanson(weak=weak)(profile)) == by_means(profile, weak)


@FIXED
@given(profile=ranked_profiles(6))
def test_bucklin_adds_places_until_there_is_a_majority(profile: Profile) -> None:
    assert sets(Bucklin()(profile)) == by_levels(profile)


@pytest.mark.parametrize(("n", "m"), [(1, 3), (2, 3), (3, 3)])
def test_nanson_and_bucklin_on_all_small_profiles(n: int, m: int) -> None:
    for profile in every_ranked(n, m):
        assert sets(Bucklin()(profile)) == by_levels(profile)
        assert sets(Nanson()(profile)) == by_means(profile, weak=False)
        assert sets(Nanson(weak=True)(profile)) == by_means(profile, weak=True)


# -- in the literature -----------------------------------------------------------------------------

TENNESSEE = Profile.from_rankings(
    [
        ["Memphis", "Nashville", "Chattanooga", "Knoxville"],
        ["Nashville", "Chattanooga", "Knoxville", "Memphis"],
        ["Chattanooga", "Knoxville", "Nashville", "Memphis"],
        ["Knoxville", "Chattanooga", "Nashville", "Memphis"],
    ],
    weights=[42, 26, 15, 17],
)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("irv", ["Knoxville", "Memphis", "Nashville", "Chattanooga"]),
        ("coombs", ["Nashville", "Chattanooga", "Knoxville", "Memphis"]),
        ("baldwin", ["Nashville", "Chattanooga", "Memphis", "Knoxville"]),
        ("bucklin", ["Nashville", "Chattanooga", "Knoxville", "Memphis"]),
    ],
)
def test_tennessee_chooses_its_capital(name: str, wanted: list[str]) -> None:
    assert list(RULES.build(name)(TENNESSEE).outcome.ids) == wanted


def test_tennessee_by_nanson_leaves_two_below_the_mean_at_once() -> None:
    assert sets(Nanson()(TENNESSEE)) == [{"Nashville"}, {"Chattanooga"}, {"Memphis", "Knoxville"}]


ALL = ["irv", "coombs", "baldwin", "nanson", "bucklin"]


@pytest.mark.parametrize("name", ALL)
def test_a_unanimous_first_place_wins(name: str) -> None:
    profile = Profile.from_rankings([["a", "b", "c"], ["a", "c", "b"], ["a"]])
    assert RULES.build(name)(profile).tiers[0] == ("a",)


@pytest.mark.parametrize("name", ALL)
def test_degenerate_profiles_are_defined(name: str) -> None:
    rule = RULES.build(name)
    assert rule(Profile.from_rankings([[]], ["a"])).tiers == (("a",),)
    for profile in (
        Profile.from_rankings([[], []], list("abc")),
        Profile.from_rankings([[["a", "b", "c"]]], list("abc"), [0.3]),
    ):
        assert sets(rule(profile)) == [{"a", "b", "c"}]
    assert rule(Profile.from_rankings(["cab"], list("abc"))).outcome.ids[0] == "c"
    two = Profile.from_rankings(["ab", "ba"], weights=[0.6, 0.4])
    assert rule(two).tiers == (("a",), ("b",))
    assert rule(two).warnings
    exact = Profile.from_rankings(["ab", "ba", "ba"], weights=[0.5, 0.3, 0.2])
    assert sets(rule(exact)) == [{"a", "b"}]


def test_who_has_no_vote_goes_together_and_is_no_tie_that_fell() -> None:
    profile = Profile.from_rankings([["a"], ["b"], ["a"]], list("abcd"))
    decision = InstantRunoff()(profile)
    assert sets(decision) == [{"a"}, {"b"}, {"c", "d"}]
    assert not decision.notes
    assert len(decision.trace) == 1


def test_a_tie_that_fell_is_told_in_notes_and_trace() -> None:
    profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
    for name in ("irv", "coombs", "baldwin"):
        decision = RULES.build(name)(profile)
        assert any("one way of several" in note for note in decision.notes)
        (row,) = decision.table("ties for elimination").rows
        assert row == (1, "a, b, c", decision.outcome.ids[2])


def test_the_majority_stop_of_coombs_protects_the_winner() -> None:
    profile = Profile.from_rankings(["abc", "acb", "bca", "cba"], weights=[3, 2, 2, 2])
    assert Coombs()(profile).outcome.ids == ("a", "b", "c")
    assert "a has a majority" in Coombs()(profile).notes[0]
    assert Coombs(majority_stop=False)(profile).outcome.ids[0] == "b"


@pytest.mark.parametrize("name", ALL)
def test_weights_beyond_64_bits_stay_exact(name: str) -> None:
    rng = np.random.default_rng(3)
    ranks = np.array([rng.permutation(6) for _ in range(3)])
    big = [10**12, 10**12, Fraction(1, 10**12)]
    plain = [10**25, 10**25, 10]
    decision = RULES.build(name)(ranked(ranks, big), seed=1)
    assert ranked(ranks, big).whole_weights[0].dtype == object
    assert sets(decision) == sets(
        RULES.build(name)(ranked(ranks, [w // 10 for w in plain]), seed=1)
    )


# -- traces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@FIXED
@given(profile=ranked_profiles(6))
def test_the_order_follows_from_the_rounds(name: str, profile: Profile) -> None:
    decision = RULES.build(name)(profile)
    table = decision.trace[0]
    totals = recount(table)
    assert totals == {row[0]: row[-1] for row in table.rows}
    if name == "bucklin":
        last = {str(row[0]): [c for c in row[1:-1] if c is not None][-1] for row in table.rows}
        keys = {one: (-levels, last[one]) for one, levels in totals.items()}
    else:
        keys = {one: (rounds, 0) for one, rounds in totals.items()}
    order = sorted(set(keys.values()), reverse=True)
    if name != "bucklin":  # floats of votes may hide an exact difference
        assert [{one for one, k in keys.items() if k == key} for key in order] == sets(decision)
    for better, worse in itertools.pairwise(decision.outcome.ids):
        assert keys[better][0] >= keys[worse][0]
    if name == "irv" and len(profile.ids) > 1:
        shared = [
            w for row, w in zip(profile.ranks, profile.weights, strict=True) if np.ptp(row) > 0
        ]
        plurality = dict(Plurality()(profile).totals)
        idle = float(sum(profile.weights) - sum(shared)) / len(profile.ids)
        for row in table.rows:
            assert row[1] == pytest.approx(plurality[str(row[0])] - idle)


def test_a_long_count_shows_its_last_rounds() -> None:
    ids = [f"a{i:03}" for i in range(150)]
    decision = Coombs(majority_stop=False)(Profile.from_rankings([ids, ids, ids[::-1]], ids))
    table = decision.table("rounds")
    assert (len(table.rows), table.cut, len(table.columns)) == (60, 90, 62)
    assert recount(table) == {row[0]: row[-1] for row in table.rows}
    assert table.columns[-2] == "round 150"
