"""Votes, profiles and voices: what is said, and how it is read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairagents.ballot import Abstention, Approvals, Plan, Ranking, Ratings, Vote
from fairagents.errors import SpecError
from fairagents.outcome import Outcome
from fairagents.profile import Profile, doubled_borda, exact, ranks_of_ratings


@pytest.mark.parametrize(
    "said",
    [
        Ranking.of(["a", ["b", "c"]], "because"),
        Ratings(ids=("a",), values=(0.5,)),
        Approvals(ids=("a", "b")),
        Plan(outcome=Outcome.slate(["a"])),
        Abstention(code="timeout"),
    ],
)
def test_a_vote_survives_json_with_its_form(said: Any) -> None:
    silent = isinstance(said, Abstention)
    vote = Vote(stakeholder="ann", said=said, status="abstained" if silent else "ok", policy="test")
    back = Vote.from_json(vote.to_json())
    assert back == vote
    assert type(back.said) is type(said)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ranking(ids=("a", "a")), "ranked id 'a' is given twice"),
        (lambda: Ranking(ids=("a", "b"), sizes=(1,)), r"\(1,\) do not add up to 2 ids"),
        (lambda: Ranking(ids=("a", "b"), sizes=(2, 0)), "do not add up"),
        (lambda: Ranking(ids={"a", "b"}), "tuple"),  # type: ignore[arg-type]
        (lambda: Ratings(ids=("a",), values=()), "1 ids but 0 values"),
        (lambda: Ratings(ids=("a",), values=(1.5,)), r"lie in \[0, 1\], not 1.5"),
        (lambda: Ratings(ids=("a",), values=(float("nan"),)), "finite number, not nan"),
        (lambda: Ratings(ids=("a", "a"), values=(0.1, 0.2)), "rated id 'a' is given twice"),
        (lambda: Approvals(ids=("a", "a")), "approved id 'a' is given twice"),
        (
            lambda: Vote(stakeholder="x", said=Ranking(ids=()), status="abstained", policy="test"),
            "status 'abstained' does not fit a ranking",
        ),
        (
            lambda: Vote(stakeholder="x", said=Abstention(code="c"), policy="test"),
            "status 'ok' does not fit a abstention",
        ),
        (lambda: Profile.from_rankings([["a", "z"]], ["a"]), "ballot 1 names 'z', which is not up"),
        (lambda: Profile.from_rankings([["a"]], weights=[0]), "a weight must be > 0, .*not 0"),
        (
            lambda: Profile.from_rankings([["a"]], weights=[float("nan")]),
            "a weight must be > 0, .*not nan",
        ),
        (lambda: Profile.from_rankings([["a"], ["a"]], weights=[1]), "2 voters but 1 weights"),
        (lambda: Profile.from_rankings([["a"]], weights=[]), "1 voters but 0 weights"),
        (lambda: Profile.from_rankings([[]]), "at least one alternative"),
        (lambda: Profile.from_scores([[0.5, 2.0]], ["a", "b"]), r"scores must lie in \[0, 1\]"),
        (lambda: Profile.from_scores([0.5], ["a"]), r"shape \(voters, ids\), not \(1,\)"),
        (lambda: Profile.from_scores([[0.5]], ["a", "b"]), r"must have shape \(1, 2\)"),
        (lambda: Profile.from_scores([[0.5, 0.1]], ["a", "a"]), "alternative 'a' is given twice"),
    ],
)
def test_a_ballot_that_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()


def test_what_is_not_ranked_is_tied_last_and_what_is_not_rated_is_unknown() -> None:
    profile = Profile.from_said(
        [
            Ranking.of(["b", ["a", "d"]]),
            Ratings(ids=("d", "a"), values=(0.2, 0.9)),
            Approvals(ids=("c",)),
        ],
        ("a", "b", "c", "d"),
    )
    assert profile.ranks.tolist() == [[1, 0, 2, 1], [0, 2, 2, 1], [1, 1, 0, 1]]
    assert np.isnan(profile.ratings).sum(axis=1).tolist() == [4, 2, 4]
    assert profile.approvals.tolist()[1:] == [
        [True, False, False, False],
        [False, False, True, False],
    ]
    ratings, derived = profile.rated()
    assert derived == ("1", "3")
    assert ratings[0].tolist() == pytest.approx([0.5, 1.0, 0.0, 0.5])
    assert ratings[1].tolist() == [0.9, 0.0, 0.0, 0.2]


def test_ratings_in_agenda_order_and_in_any_order_are_one_profile() -> None:
    straight = [Ratings(ids=("a", "b"), values=(0.1, 0.6)), Ratings(ids=("a", "b"), values=(1, 1))]
    mixed = [Ratings(ids=("b", "a"), values=(0.6, 0.1)), straight[1]]
    one, other = (Profile.from_said(said, ("a", "b")) for said in (straight, mixed))
    assert one.ranks.tolist() == other.ranks.tolist()
    assert one.ratings.tolist() == other.ratings.tolist()
    assert one.approvals.tolist() == other.approvals.tolist()


@pytest.mark.parametrize("weights", [[2, 1], (2, 1), np.array([2, 1]), np.array([2.0, 1.0])])
def test_weights_may_be_any_sequence(weights: Any) -> None:
    assert Profile.from_rankings([["a"], ["a"]], weights=weights).whole_weights[0].tolist() == [
        2,
        1,
    ]


@pytest.mark.parametrize(
    ("weight", "wanted"),
    [(0.1, Fraction(1, 10)), (1, Fraction(1)), (Fraction(1, 3), Fraction(1, 3)),
     (np.float64(0.3), Fraction(3, 10)), (1e-7, Fraction(1, 10**7))],
)  # fmt: skip
def test_a_weight_counts_as_the_decimal_it_prints(weight: Any, wanted: Fraction) -> None:
    assert exact(weight) == wanted


def test_striking_alternatives_closes_the_ranks() -> None:
    profile = Profile.from_rankings([["a", "b", ["c", "d"]], ["d"]], list("abcd"), [2, 3])
    taken = profile.take(np.array([2, 0, 3]))
    assert taken.ids == ("c", "a", "d")
    assert taken.ranks.tolist() == [[1, 0, 1], [1, 1, 0]]
    assert taken.weights == profile.weights
    assert [profile.place(0, one) for one in "abcd"] == [1, 2, 3, 3]
    assert [profile.place(1, one) for one in "abcd"] == [2, 2, 2, 1]


GRID = st.sampled_from([0.0, 0.25, 0.5, 1.0, float("nan")])


@given(st.lists(st.lists(GRID, min_size=4, max_size=4), min_size=1, max_size=4))
def test_ranks_and_points_follow_their_definitions(rows: list[list[float]]) -> None:
    ratings = np.array(rows)
    ranks = ranks_of_ratings(ratings)
    points = doubled_borda(ranks)
    for row, places, doubled in zip(rows, ranks.tolist(), points.tolist(), strict=True):
        value = [-1.0 if v != v else v for v in row]
        better = [sorted({v for v in value if v > one}) for one in value]
        assert places == [len(b) for b in better]
        for a in range(4):
            below = sum(places[a] < p for p in places)
            tied = sum(places[a] == p for p in places) - 1
            assert doubled[a] == 2 * below + tied
