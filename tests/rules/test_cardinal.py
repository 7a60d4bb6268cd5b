"""Range voting, STAR, majority judgment, median: literal definitions and golden winners."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from fairagents.profile import Profile
from fairagents.rules.cardinal import MajorityJudgment, Median, RangeVoting, Star
from fairagents.rules.trace import recount
from fairagents.rules.welfare import Utilitarian
from tests.core.toys import golden
from tests.rules.small import FIXED, by_score, columns, every_rated, rated_profiles, sets, tiers

CARDINAL = golden("cardinal.json")


def rated(one: dict[str, Any]) -> Profile:
    scores = np.array(one["scores"]) / one["top"]
    return Profile.from_scores(scores, [str(i) for i in range(one["m"])], one["weights"])


@pytest.mark.parametrize("one", CARDINAL, ids=lambda one: one["id"])
def test_golden_winners(one: dict[str, Any]) -> None:
    star = {str(i) for i in one["expected"]["star"]["value"]}
    assert sets(Star()(rated(one)))[0] == star
    judged = {str(i) for i in one["expected"]["majority_judgement"]["value"]}
    assert sets(MajorityJudgment(grades=one["top"] + 1)(rated(one)))[0] == judged


# -- majority judgment ---------------------------------------------------------------------------


def medians_taken_away(column: list[float], grades: int) -> list[int]:
    """The lower median grades of a column of clones, one after the other, literally."""
    left = sorted(int(Fraction(str(r)) * (grades - 1) + Fraction(1, 2)) for r in column)
    found = []
    while left:
        found.append(left.pop((len(left) - 1) // 2))
    return found


@pytest.mark.parametrize("grades", [3, 5])
def test_majority_judgment_of_every_small_profile(grades: int) -> None:
    for n, m in ((1, 3), (2, 3), (3, 2), (4, 2)):
        for profile in every_rated(n, m):
            scores = [tuple(medians_taken_away(c, grades)) for c in columns(profile)]
            assert tiers(MajorityJudgment(grades=grades), profile) == by_score(scores)


@FIXED
@given(profile=rated_profiles(gaps=True))
def test_majority_judgment_takes_medians_away(profile: Profile) -> None:
    scores = [tuple(medians_taken_away(c, 5)) for c in columns(profile)]
    order = MajorityJudgment().order(profile)
    assert tiers(MajorityJudgment(), profile) == by_score(scores)
    assert order.totals is not None
    assert order.totals.tolist() == [score[0] / 4 for score in scores]
    assert recount(order.tables[-1]) == dict(zip(profile.ids, order.totals.tolist(), strict=True))


def test_majority_judgment_with_weights_beyond_64_bits() -> None:
    scores = [[0.5, 0.5], [1.0, 1.0], [0.5, 0.5], [0.0, 1.0]]
    weights = [Fraction(10**20), Fraction(10**20), Fraction(1, 10**20), Fraction(1, 10**20)]
    profile = Profile.from_scores(scores, list("ab"), weights)
    assert profile.whole_weights[0].dtype == object
    assert MajorityJudgment()(profile).tiers == (("b",), ("a",))


def test_majority_judgment_of_balinski_and_laraki() -> None:
    # The 2007 experiment in Orsay, first round, per mille: Bayrou, Royal, Sarkozy (Balinski &
    # Laraki 2011, table 6.2, as commonly stated): Bayrou good+, Royal good-, Sarkozy good-.
    names = ["Bayrou", "Royal", "Sarkozy"]
    shares = [
        [136, 307, 251, 148, 84, 74],
        [167, 227, 191, 168, 122, 125],
        [191, 198, 143, 115, 71, 282],
    ]
    columns_ = [np.repeat([1, 0.8, 0.6, 0.4, 0.2, 0], share) for share in shares]
    profile = Profile.from_scores(np.array(columns_).T, names)
    decision = MajorityJudgment(grades=6)(profile)
    assert decision.tiers == (("Bayrou",), ("Royal",), ("Sarkozy",))
    assert set(dict(decision.totals).values()) == {0.6}


# -- STAR ----------------------------------------------------------------------------------------


def star_pairs(means: list[float]) -> Iterator[tuple[int, int]]:
    """All pairs of finalists that ties in the means leave open."""
    for pair in itertools.combinations(range(len(means)), 2):
        rest = [x for i, x in enumerate(means) if i not in pair]
        if min(means[i] for i in pair) >= max(rest, default=0):
            yield pair


def star_winners(profile: Profile) -> set[int]:
    cols = columns(profile)
    means = [round(sum(c) / len(c), 9) for c in cols]
    if len(means) == 1:
        return {0}
    won = set()
    for a, b in star_pairs(means):
        margin = sum((x > y) - (x < y) for x, y in zip(cols[a], cols[b], strict=True))
        won |= {a} if margin > 0 else {b} if margin < 0 else {a, b}
    return won


@FIXED
@given(profile=rated_profiles(gaps=True))
def test_star_elects_who_wins_a_runoff_that_could_be(profile: Profile) -> None:
    check_star(profile)


def test_star_of_every_small_profile() -> None:
    for n, m in ((1, 3), (2, 3), (3, 2)):
        for profile in every_rated(n, m):
            check_star(profile)


def check_star(profile: Profile) -> None:
    won = star_winners(profile)
    first, *others = tiers(Star(), profile)
    assert first == {profile.ids[i] for i in won}
    means = [round(sum(c) / len(c), 9) for c in columns(profile)]
    scores = [-1.0 if i in won else mean for i, mean in enumerate(means)]
    assert others == [tier for tier in by_score(scores) if not tier & first]


def test_star_shows_its_runoff() -> None:
    scores = [[1, 0.5, 0], [0.5, 0.75, 0], [0.5, 0.75, 1]]
    profile = Profile.from_scores(scores, list("abc"), [0.4, 0.3, 0.3])
    decision = Star()(profile)
    assert decision.table("runoff").columns == ("alternative", "b", "a")
    assert decision.table("runoff").rows == (("b", 0, 0.6), ("a", 0.4, 0))
    assert recount(decision.table("ratings")) == pytest.approx(dict(decision.totals))


# -- range voting and the median -----------------------------------------------------------------


def test_range_voting_leaves_out_who_did_not_rate() -> None:
    scores = [[0.9, 0.6, np.nan, np.nan], [np.nan, 0.6, 0.0, np.nan], [np.nan, 0.9, 0.0, np.nan]]
    profile = Profile.from_scores(scores, list("abcd"))
    decision = RangeVoting()(profile)
    assert decision.tiers == (("a",), ("b",), ("c",), ("d",))
    assert dict(decision.totals) == pytest.approx({"a": 0.9, "b": 0.7, "c": 0, "d": 0})
    assert recount(decision.table("ratings")) == pytest.approx(dict(decision.totals))
    assert RangeVoting(quorum=0.5)(profile).tiers == (("b",), ("c",), ("a",), ("d",))
    assert Utilitarian()(profile).tiers[0] == ("b",)


def test_with_range_voting_one_that_is_below_another_on_all_ballots_can_win() -> None:
    profile = Profile.from_scores([[0.8, 0.9], [np.nan, 0.1]], list("ab"))
    assert (profile.ranks[:, 1] < profile.ranks[:, 0]).all()
    assert RangeVoting()(profile).tiers[0] == ("a",)


@FIXED
@given(profile=rated_profiles())
def test_where_all_are_rated_range_voting_is_utilitarian(profile: Profile) -> None:
    assert tiers(RangeVoting(), profile) == tiers(Utilitarian(), profile)


@FIXED
@given(profile=rated_profiles(gaps=True))
def test_medians_are_those_of_the_clones(profile: Profile) -> None:
    for even in ("lower", "middle", "upper"):
        wanted = []
        for column in columns(profile):
            ordered, n = sorted(column), len(column)
            lower, upper = ordered[(n - 1) // 2], ordered[n // 2]
            wanted.append({"lower": lower, "middle": (lower + upper) / 2, "upper": upper}[even])
        order = Median(even=even).order(profile)
        assert order.totals is not None
        assert order.totals.tolist() == wanted
        assert tiers(Median(even=even), profile) == by_score(wanted)
        again = recount(order.tables[0])
        assert again == dict(zip(profile.ids, wanted, strict=True))


@pytest.mark.parametrize("rule", [RangeVoting(), Star(), MajorityJudgment(), Median()])
def test_degenerate_profiles(rule: Any) -> None:
    assert sets(rule(Profile.from_scores([[0.0], [0.3]], ["a"]))) == [{"a"}]
    assert sets(rule(Profile.from_scores(np.full((3, 3), 0.5), list("abc")))) == [set("abc")]
    assert sets(rule(Profile.from_rankings([[], []], list("abc")))) == [set("abc")]
    assert rule(Profile.from_scores([[0.1, 0.9, 0.5]], list("abc"))).tiers[0] == ("b",)
    heavy = Profile.from_scores([[0.9, 0.1], [0.1, 0.9]], list("ab"), weights=[0.6, 0.4])
    assert rule(heavy).tiers == (("a",), ("b",))
    even = Profile.from_scores([[0.9, 0.1], [0.1, 0.9]], list("ab"))
    assert sets(rule(even)) == [{"a", "b"}]
