"""The single transferable vote: against pieces of votes that move, worked by hand, and limits."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairagents.errors import InfeasibleError
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules.stv import SingleTransferableVote
from fairagents.rules.trace import recount
from fairagents.task import Clash, Exclude, Include, Limit, Slate
from tests.rules.small import FIXED, ranked_profiles
from tests.rules.test_elimination import TENNESSEE


def by_pieces(profile: Profile, seats: int, places: list[int]) -> tuple[list[int], list[Any]]:
    """STV with every vote cut into pieces that lie at alternatives, and the tallies of all rounds.

    An independent way to the same: pieces of an elected alternative move, all others stay.
    """
    rows = [r for r in profile.ranks.tolist() if len(set(r)) > 1]
    weights = [
        w for r, w in zip(profile.ranks.tolist(), profile.weights, strict=True) if len(set(r)) > 1
    ]
    voice = sum(weights, Fraction(0))
    left = set(range(len(profile.ids)))
    elected: list[int] = []
    tallies: list[dict[int, Fraction]] = []
    worth = list(weights)
    while len(elected) < seats:
        pieces: list[dict[int, Fraction]] = []
        for row, w in zip(rows, worth, strict=True):
            own = [i for i in left if row[i] == min(row[j] for j in left)]
            exhausted = len(own) == len(left) > 1
            pieces.append({} if exhausted else {i: w / len(own) for i in own})
        tally = {i: sum((p.get(i, Fraction(0)) for p in pieces), Fraction(0)) for i in left}
        tallies.append(tally)
        above = [i for i in left if tally[i] * (seats + 1) > voice]
        if not above and len(left) + len(elected) > seats:
            spare = len(left) + len(elected) - seats
            low = sorted(
                (i for i in left if tally[i] == min(tally.values())), key=lambda i: places[i]
            )
            left -= set(low[-1:] if min(tally.values()) else low[-spare:])
            continue
        above = above or [min(left, key=lambda i: (-tally[i], places[i]))]
        above.sort(key=lambda i: (-tally[i], places[i]))
        keep = {
            i: max(Fraction(0), 1 - voice / (seats + 1) / tally[i]) if tally[i] else Fraction(0)
            for i in above
        }
        for v, piece in enumerate(pieces):
            if piece:
                worth[v] = sum((x * keep.get(i, 1) for i, x in piece.items()), Fraction(0))
        elected += above
        left -= set(above)
    return elected, tallies


@FIXED
@given(profile=ranked_profiles(6), data=st.data())
def test_stv_counts_as_pieces_of_votes_move(profile: Profile, data: st.DataObject) -> None:
    seats = data.draw(st.integers(1, len(profile.ids)))
    rule = SingleTransferableVote(tie_break="lexicographic")
    decision = rule(profile, Slate(size=seats))
    wanted, tallies = by_pieces(profile, seats, list(range(len(profile.ids))))
    assert [profile.ids.index(one) for one in decision.outcome.ids] == wanted
    table = decision.table("votes")
    for row in table.rows:
        one = profile.ids.index(str(row[0]))
        cells = [None if one not in t else float(t[one]) for t in tallies]
        assert row[1:-1] == pytest.approx(cells)
    assert recount(table) == {row[0]: row[-1] for row in table.rows}


def test_wikipedias_food_election_by_weighted_transfers() -> None:
    """23 guests, three dishes; with the quota 23 / 4 and exact transfers.

    Round 1: pears have 8, their surplus of 2.25 goes to strawberries (1 + 2.25). Chocolate (1)
    goes to cake (4). Oranges and chicken tie with 3; whoever goes first, chicken makes hamburgers
    7. Then strawberries (3.25) are behind cake (4).
    """
    ballots = {
        ("orange", "pear"): 3, ("pear", "strawberry", "cake"): 8,
        ("strawberry", "orange", "pear"): 1, ("cake", "chocolate"): 3,
        ("chocolate", "cake", "hamburger"): 1, ("hamburger", "chicken"): 4,
        ("chicken", "chocolate", "hamburger"): 3,
    }  # fmt: skip
    profile = Profile.from_rankings([list(b) for b in ballots], weights=list(ballots.values()))
    for seed in range(8):
        decision = SingleTransferableVote()(profile, Slate(size=3), seed=seed)
        assert decision.outcome.ids == ("pear", "hamburger", "cake")
        votes = {row[0]: row[1:] for row in decision.table("votes").rows}
        assert votes["pear"] == (8.0, *[None] * (len(votes["pear"]) - 2), 8.0)
        assert votes["strawberry"][:2] == (1.0, 3.25)
        assert votes["cake"][:3] == (3.0, 3.0, 4.0)
        assert votes["hamburger"][-1] == 7.0
        assert "the quota is 5.75" in decision.notes[0]


@FIXED
@given(profile=ranked_profiles(6), data=st.data())
def test_solid_coalitions_get_their_seats(profile: Profile, data: st.DataObject) -> None:
    seats = data.draw(st.integers(1, len(profile.ids)))
    chosen = set(SingleTransferableVote()(profile, Slate(size=seats)).outcome.ids)
    heard = [
        (row, w) for row, w in zip(profile.ranks, profile.weights, strict=True) if np.ptp(row) > 0
    ]
    voice = sum((w for _, w in heard), Fraction(0))
    for size in range(1, len(profile.ids)):
        for group in map(list, itertools.combinations(range(len(profile.ids)), size)):
            others = [i for i in range(len(profile.ids)) if i not in group]
            solid = sum((w for r, w in heard if max(r[group]) < min(r[others])), Fraction(0))
            due = max((x for x in range(seats + 1) if solid * (seats + 1) > x * voice), default=0)
            got = len(chosen & {profile.ids[i] for i in group})
            assert got >= min(due, size)


def test_one_seat_is_instant_runoff_and_a_bare_call_elects_all() -> None:
    rule = SingleTransferableVote()
    assert rule(TENNESSEE, Slate(size=1)).outcome.ids == ("Knoxville",)
    assert len(rule(TENNESSEE).outcome.ids) == 4
    nothing = Profile.from_rankings([[], []], list("abc"))
    assert len(rule(nothing, Slate(size=2)).outcome.ids) == 2
    assert "not counted: 1, 2" in rule(nothing, Slate(size=2)).notes[1]


def test_limits_keep_a_loser_in_and_a_winner_out() -> None:
    profile = Profile.from_rankings([["a", "b", "c", "d"]] * 3 + [["b", "a", "c", "d"]])
    rule = SingleTransferableVote()
    cases: list[tuple[Limit, set[str]]] = [
        (Exclude(ids=("a",)), {"b", "c"}),
        (Include(ids=("d",)), {"a", "d"}),
        (Clash(ids=("a", "b")), {"a", "c"}),
    ]
    for limit, wanted in cases:
        feasible = Feasible.of(Slate(size=2, limits=(limit,)), ids=profile.ids)
        decision = rule(profile, feasible)
        assert set(decision.outcome.ids) == wanted
        assert not feasible.violations(decision.outcome)
    with pytest.raises(InfeasibleError):
        rule(profile, Slate(size=1, limits=(Include(ids=("a", "b")),)))


@FIXED
@given(profile=ranked_profiles(6), data=st.data())
def test_stv_meets_all_limits(profile: Profile, data: st.DataObject) -> None:
    ids = list(profile.ids)
    choices: list[tuple[Limit, ...]] = [(Include(ids=(ids[-1],)),), (Exclude(ids=(ids[0],)),)]
    if len(ids) > 1:
        choices.append((Clash(ids=(ids[0], ids[1])), Include(ids=(ids[-1],))))
    size = data.draw(st.integers(1, len(ids)))
    limits = data.draw(st.sampled_from(choices))
    feasible = Feasible.of(Slate(size=size, limits=limits), ids=profile.ids)
    try:
        feasible.require()
    except InfeasibleError:
        return
    decision = SingleTransferableVote()(profile, feasible)
    assert not feasible.violations(decision.outcome)
