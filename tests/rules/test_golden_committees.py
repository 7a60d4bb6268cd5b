"""Golden profiles of elimination and committee rules: all winners under all ways ties may fall."""

from __future__ import annotations

from typing import Any

import pytest

from fairagents.profile import Profile
from fairagents.rules.base import MOST_WINNERS, RULES
from fairagents.task import Slate
from tests.core.toys import golden
from tests.rules.test_golden_profiles import RANKED, ranked_profile

APPROVAL = golden("approval.json")
PATHS: list[tuple[str, dict[str, Any], str]] = [
    ("irv", {}, "irv_put"),
    ("coombs", {}, "coombs_put"),
    ("coombs", {"majority_stop": False}, "coombs_put_no_majority_stop"),
    ("baldwin", {}, "baldwin_put"),
    ("nanson", {"weak": False}, "nanson_strict"),
    ("nanson", {"weak": True}, "nanson_weak"),
    ("bucklin", {}, "bucklin_winners"),
]
COMMITTEES = [
    ("pav", "pav"), ("chamberlin_courant", "cc"), ("seq_pav", "seqpav"), ("seq_cc", "seqcc"),
    ("seq_phragmen", "seqphragmen"), ("mes", "mes_phragmen_completion"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "key"), PATHS, ids=lambda one: str(one))
def test_over_all_seeds_the_winners_are_those_of_all_ways_ties_may_fall(
    name: str, fields: dict[str, Any], key: str
) -> None:
    rule, seen = RULES.build({name: fields}), 0
    for one in RANKED:
        if key not in one["expected"]:
            continue
        seen += 1
        profile = ranked_profile(one)
        decisions = [rule(profile, seed=seed) for seed in range(60)]
        found = {int(i) for decision in decisions for i in decision.tiers[0]}
        assert found == set(one["expected"][key]["value"]), one["id"]
    assert seen >= 10


def approval_profile(one: dict[str, Any]) -> Profile:
    ids = [str(i) for i in range(one["m"])]
    sets = [{str(i) for i in ballot} for ballot in one["approvals"]]
    return Profile.from_approvals(sets, ids, one["weights"])


@pytest.mark.parametrize("one", APPROVAL, ids=lambda one: one["id"])
@pytest.mark.parametrize(("name", "key"), COMMITTEES)
def test_all_tied_committees_are_found(one: dict[str, Any], name: str, key: str) -> None:
    if key not in one["expected"]:
        pytest.skip("no such value in the file")
    wanted = {tuple(sorted(map(str, c), key=int)) for c in one["expected"][key]["value"]}
    decision = RULES.build(name)(approval_profile(one), Slate(size=one["k"]))
    found = {tuple(sorted(c, key=int)) for c in decision.winners}
    if len(wanted) <= MOST_WINNERS:
        assert found == wanted
        assert not decision.more
    assert tuple(sorted(decision.outcome.ids, key=int)) in wanted


@pytest.mark.parametrize("one", APPROVAL, ids=lambda one: one["id"])
@pytest.mark.parametrize(
    ("name", "key"), [("approval_voting", "av"), ("satisfaction_approval", "sav")]
)
def test_orders_by_approval_take_one_of_the_best_slates(
    one: dict[str, Any], name: str, key: str
) -> None:
    wanted = {tuple(sorted(c)) for c in one["expected"][key]["value"]}
    outcomes = {
        tuple(
            sorted(
                int(i)
                for i in RULES.build(name)(
                    approval_profile(one), Slate(size=one["k"]), seed=s
                ).outcome.ids
            )
        )
        for s in range(30)
    }
    assert outcomes <= wanted
