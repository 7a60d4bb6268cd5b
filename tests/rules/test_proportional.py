"""Sequential proportional Borda: its definition, and shares of all pairs."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from fairagents.profile import Profile
from fairagents.rules.positional import Borda
from fairagents.rules.proportional import SequentialProportionalBorda
from fairagents.rules.trace import recount
from fairagents.task import Slate
from tests.rules.small import FIXED, ranked_profiles


@FIXED
@given(profile=ranked_profiles(6))
def test_the_ranking_follows_its_definition(profile: Profile) -> None:
    decision = SequentialProportionalBorda()(profile)
    got = [Fraction(0)] * len(profile)
    left = set(range(len(profile.ids)))
    for one in decision.outcome.ids:
        gains = {
            a: [
                sum(
                    (Fraction((row[a] < row[b]) * 2 + (row[a] == row[b]), 2) for b in left - {a}),
                    Fraction(0),
                )
                for row in profile.ranks.tolist()
            ]
            for a in left
        }
        rates = {
            a: sum(w * s / (1 + g) for w, s, g in zip(profile.weights, row, got, strict=True))
            for a, row in gains.items()
        }
        place = profile.ids.index(one)
        assert rates[place] == max(rates.values())
        got = [g + s for g, s in zip(got, gains[place], strict=True)]
        left.remove(place)
    agreed = recount(decision.table("agreements"))
    assert list(agreed.values()) == pytest.approx([float(g) for g in got])
    first = SequentialProportionalBorda()(profile, Slate(size=1)).winners
    assert {one for (one,) in first} == set(Borda()(profile).tiers[0])


@pytest.mark.parametrize("share", [0.5, 0.6, 0.75, 0.9])
def test_opposite_rankings_get_their_share_of_all_pairs(share: float) -> None:
    ids = [f"a{i:02}" for i in range(20)]
    profile = Profile.from_rankings([ids, ids[::-1]], weights=[share, round(1 - share, 2)])
    agreed = recount(SequentialProportionalBorda()(profile).table("agreements"))
    assert agreed["1"] / 190 == pytest.approx(share, abs=0.03)
    assert sum(agreed.values()) == 190
