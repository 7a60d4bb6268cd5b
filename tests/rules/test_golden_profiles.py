"""Published and computed profiles: the golden files say which totals and orders are right."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fairagents.profile import Profile
from fairagents.rules.base import RULES, Rule
from fairagents.rules.pairwise import margins
from tests.core.toys import golden

RANKED = golden("ranked.json")
CARDINAL = golden("cardinal.json")


def ranked_profile(one: dict[str, Any]) -> Profile:
    ids = [str(i) for i in range(one["m"])]
    ballots = [[[str(i) for i in tier] for tier in b["tiers"]] for b in one["ballots"]]
    return Profile.from_rankings(ballots, ids, [b["w"] for b in one["ballots"]])


def rated_profile(one: dict[str, Any]) -> Profile:
    scores = np.array(one["scores"]) / one["top"]
    return Profile.from_scores(scores, [str(i) for i in range(one["m"])], one["weights"])


def tiers(rule: Rule, profile: Profile) -> list[list[int]]:
    return [sorted(int(i) for i in tier) for tier in rule(profile).tiers]


def by_score(scores: list[str]) -> list[list[int]]:
    """Alternatives by descending exact score, tied ones together."""
    exact = [Fraction(s) for s in scores]
    levels = sorted(set(exact), reverse=True)
    return [[i for i, s in enumerate(exact) if s == level] for level in levels]


@pytest.mark.parametrize("one", RANKED, ids=lambda one: one["id"])
@pytest.mark.parametrize("rule", ["borda", "copeland"])
def test_a_ranked_profile_gets_the_right_totals_and_order(one: dict[str, Any], rule: str) -> None:
    scores = one["expected"][f"{rule}_scores"]["value"]
    profile, found = ranked_profile(one), RULES.build(rule)
    assert tiers(found, profile) == by_score(scores)
    totals = dict(found(profile).totals)
    for i, score in enumerate(scores):
        assert totals[str(i)] == float(Fraction(score))


@pytest.mark.parametrize("one", RANKED, ids=lambda one: one["id"])
def test_a_ranked_profile_gets_the_right_margins(one: dict[str, Any]) -> None:
    assert margins(ranked_profile(one))[0].tolist() == one["expected"]["margins"]["value"]


@pytest.mark.parametrize("one", CARDINAL, ids=lambda one: one["id"])
@pytest.mark.parametrize(
    ("rule", "key"), [("utilitarian", "utilitarian"), ("nash", "nash_product"), ("leximin",) * 2]
)
def test_a_rated_profile_gets_the_right_order(one: dict[str, Any], rule: str, key: str) -> None:
    wanted = one["expected"][key]["value"]
    found = tiers(RULES.build(rule), rated_profile(one))
    if key == "nash_product" and 0 in one["expected"][key].get("scores", ()):
        # Where products are 0 they count more positive gains first, as documented: a refinement.
        assert [found[0], sorted(i for tier in found[1:] for i in tier)] == wanted
    else:
        assert found == wanted


@pytest.mark.parametrize("one", CARDINAL, ids=lambda one: one["id"])
def test_utilitarian_totals_are_the_weighted_mean_scores(one: dict[str, Any]) -> None:
    totals = dict(RULES.build("utilitarian")(rated_profile(one)).totals)
    for i, score in enumerate(one["expected"]["utilitarian"]["scores"]):
        assert totals[str(i)] == pytest.approx(score / one["top"] / sum(one["weights"]))
