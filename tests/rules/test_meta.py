"""Rules made of priority, veto and other rules."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from fairagents.errors import SpecError
from fairagents.profile import Profile
from fairagents.record import canonical
from fairagents.rules.base import RULES, CommitteeRule, Elected, OrderRule
from fairagents.rules.lottery import MaximalLottery
from fairagents.rules.meta import Blend, LexicographicPriority, VetoThen
from fairagents.rules.positional import Borda, Plurality
from fairagents.rules.trace import recount
from fairagents.rules.welfare import Maximin, Utilitarian
from tests.rules.small import (  # fmt: skip
    FIXED,
    by_score,
    every_ranked,
    ranked_profiles,
    rated_profiles,
    sets,
    tiers,
)

# -- lexicographic priority ----------------------------------------------------------------------


@FIXED
@given(profile=ranked_profiles())
def test_the_next_voter_refines_what_the_first_leaves_tied(profile: Profile) -> None:
    by_weight = sorted(range(len(profile)), key=lambda v: -profile.weights[v])
    declared = LexicographicPriority(by="declared")
    for rule, voters in ((LexicographicPriority(), by_weight), (declared, range(len(profile)))):
        keys = [tuple(-r for r in column) for column in profile.ranks[list(voters)].T.tolist()]
        assert tiers(rule, profile) == by_score(keys)


def test_precedence_is_noted_and_shown() -> None:
    profile = Profile.from_rankings(
        [["a", "b", "c"], [["c", "b"], "a"]], weights=[1, 2], voters=["ann", "bob"]
    )
    decision = LexicographicPriority()(profile)
    assert decision.tiers == (("b",), ("c",), ("a",))
    assert decision.notes == ("precedence: bob, ann",)
    assert decision.table("tiers").columns == ("alternative", "bob", "ann")
    assert decision.table("tiers").rows[0] == ("b", 1, 2)
    assert LexicographicPriority(by="declared")(profile).tiers == (("a",), ("b",), ("c",))


# -- veto ----------------------------------------------------------------------------------------


def vetoed(profile: Profile, share: Fraction) -> set[int]:
    found = set()
    for a in range(len(profile.ids)):
        against = Fraction(0)
        for weight, row in zip(profile.weights, profile.ranks.tolist(), strict=True):
            if row[a] == max(row) and min(row) < max(row):
                against += weight
        if against > share * sum(profile.weights):
            found.add(a)
    return found


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5])
def test_what_is_vetoed_goes_behind_and_the_rule_orders_both_parts(share: float) -> None:
    rule = VetoThen(share=share)
    for n, m in ((1, 3), (2, 3), (3, 2)):
        for profile in every_ranked(n, m):
            check_veto(rule, profile)


@FIXED
@given(profile=ranked_profiles())
def test_vetoes_of_weighted_and_truncated_ballots(profile: Profile) -> None:
    check_veto(VetoThen(), profile)
    check_veto(VetoThen(rule=Plurality(), share=0.3), profile)


def check_veto(rule: VetoThen, profile: Profile) -> None:
    behind = vetoed(profile, Fraction(str(rule.share)))
    wanted = []
    for part in (sorted(set(range(len(profile.ids))) - behind), sorted(behind)):
        if part:
            assert isinstance(rule.rule, OrderRule)
            wanted += tiers(rule.rule, profile.take(np.array(part)))
    assert tiers(rule, profile) == wanted
    table = rule.order(profile).tables[0]
    against = recount(table)
    assert {one for one, x in against.items() if x > rule.share + 1e-12} == {
        profile.ids[a] for a in behind
    }


def test_exactly_half_is_not_more_than_half() -> None:
    profile = Profile.from_rankings([["a", "b"], ["b", "a"], ["b", "a"]], weights=[0.5, 0.3, 0.2])
    assert sets(VetoThen()(profile)) == [{"a", "b"}]
    assert VetoThen(share=0.49)(profile).table("vetoes").rows[1][-1] == 0.5


def test_a_rating_below_the_threshold_is_a_veto() -> None:
    profile = Profile.from_scores([[0.9, 0.6, 0.5], [0.2, 0.6, 0.5]], list("abc"))
    decision = VetoThen(rule=Utilitarian(), share=0.4, below=0.3)(profile)
    assert decision.tiers == (("b",), ("c",), ("a",))
    assert [table.name for table in decision.trace] == ["vetoes", "ratings", "ratings"]
    assert decision.table("vetoes").rows[3] == ("a", 0, 1, 0.5)


def test_a_rule_that_draws_can_follow_a_veto() -> None:
    orders = ["ABCD", "BCAD", "CABD"]
    profile = Profile.from_rankings([list(o) for o in orders], weights=[4, 3, 2])
    decision = VetoThen(rule=MaximalLottery())(profile, seed=4)
    assert decision.lottery is not None
    assert decision.lottery.probabilities == pytest.approx((5 / 9, 1 / 9, 1 / 3))
    assert decision.tiers[-1] == ("D",)
    first = {VetoThen(rule=MaximalLottery())(profile, seed=s).outcome.ids[0] for s in range(40)}
    assert first == {"A", "B", "C"}


def test_where_all_are_vetoed_the_rule_decides_alone() -> None:
    profile = Profile.from_rankings([["a", "b"], ["b", "a"], ["b", "a"]])
    assert VetoThen(share=0)(profile).tiers == Borda()(profile).tiers


# -- blends --------------------------------------------------------------------------------------


@FIXED
@given(profile=rated_profiles())
def test_a_blend_is_borda_with_rules_as_voters(profile: Profile) -> None:
    m = len(profile.ids)
    totals = [Fraction(0)] * m
    for rule, weight in ((Utilitarian(), Fraction(1, 4)), (Maximin(), Fraction(3, 4))):
        levels = rule.order(profile).levels.tolist()
        for a in range(m):
            below = sum(2 * (x > levels[a]) + (x == levels[a]) for x in levels) - 1
            totals[a] += weight * Fraction(below, 2 * max(m - 1, 1))
    blend = Blend(weights=(0.1, 0.3))
    order = blend.order(profile)
    assert order.totals is not None
    assert order.totals.tolist() == pytest.approx([float(t) for t in totals])
    assert tiers(blend, profile) == by_score(totals)
    assert recount(order.tables[0]) == pytest.approx(
        dict(zip(profile.ids, order.totals.tolist(), strict=True))
    )


def test_equal_weights_are_the_default_and_ties_are_exact() -> None:
    profile = Profile.from_scores([[0.9, 0.2, 0.3], [0.0, 0.2, 0.3]], list("abc"))
    decision = Blend()(profile)
    assert dict(decision.totals) == {"a": 0.5, "b": 0.25, "c": 0.75}
    assert dict(Blend(weights=(2, 1))(profile).totals) == pytest.approx(
        {"a": 2 / 3, "b": 1 / 6, "c": 2 / 3}
    )
    assert sets(Blend(weights=(2, 1))(profile)) == [{"a", "c"}, {"b"}]
    assert decision.table("blend").columns[1:] == ("utilitarian", "maximin", "total")


# -- references ----------------------------------------------------------------------------------


class Nobody(CommitteeRule):
    """Chooses nothing."""

    needs = "approvals"
    basis = "ordinal"

    def elect(self, profile: Any, task: Any, ties: Any) -> Elected:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VetoThen(rule=Nobody()), "nobody chooses slates as wholes"),
        (lambda: Blend(rules=(Borda(), Nobody())), "nobody chooses slates as wholes"),
        (lambda: Blend(rules=()), "at least one rule"),
        (lambda: Blend(weights=(1,)), "2 rules but 1 weights"),
        (lambda: Blend(weights=(1, 0)), "weights must be > 0"),
        (lambda: VetoThen(share=1), "less than 1"),
        (lambda: RULES.build({"veto_then": {"rule": "bordaa"}}), "did you mean 'borda'"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()


def test_rules_within_rules_are_written_and_read() -> None:
    ref = {"veto_then": {"rule": {"nash": {"disagreement": 0.25}}, "share": 0.25}}
    rule = RULES.build(ref)
    assert RULES.dump(rule) == ref
    assert rule.label.startswith("veto_then(rule=Nash(")
    deep = RULES.build({"blend": {"rules": ["borda", ref, {"blend": {"rules": ["veto"]}}]}})
    assert RULES.build(RULES.dump(deep)) == deep
    assert RULES.dump(Blend()) == "blend"
    profile = Profile.from_scores([[0.9, 0.2, 0.3], [0.0, 0.2, 0.3]], list("abc"))
    assert canonical(deep(profile).model_dump(mode="json"))


@pytest.mark.parametrize("rule", [LexicographicPriority(), VetoThen(), Blend()])
def test_degenerate_profiles(rule: OrderRule) -> None:
    assert rule(Profile.from_rankings([["a"], []], ["a"])).tiers == (("a",),)
    assert sets(rule(Profile.from_rankings([[], []], list("abc")))) == [set("abc")]
    assert rule(Profile.from_scores([[0.1, 0.9, 0.5]], list("abc"))).tiers == (
        ("b",), ("c",), ("a",),
    )  # fmt: skip
    two = Profile.from_rankings([["a", "b"], ["b", "a"]], weights=[2, 1])
    assert rule(two).tiers == (("a",), ("b",))
