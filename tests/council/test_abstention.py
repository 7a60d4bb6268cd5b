"""Silence is data: quorum, on_abstain, and a verdict that says whose voice is missing."""

from __future__ import annotations

from typing import Any

import pytest

from fairagents.agents.base import Agent
from fairagents.agents.scripted import Utility
from fairagents.ballot import Abstention
from fairagents.council import Council
from fairagents.decision import Verdict
from fairagents.errors import DecisionError
from tests.core.toys import TRIO, Silent, Sometimes, case, party, trio


def council_with(silent: tuple[str, ...], **settings: Any) -> Council:
    people = [party("ann", voice=0.5), party("bob", voice=0.3), party("eve", voice=0.2)]
    bound = [Agent(stakeholder=p, policy=Silent() if p.id in silent else Utility()) for p in people]
    return Council(TRIO, bound, **settings)


def ways(council: Council) -> list[Any]:
    return [council.decide, council.run, lambda c: council.decide_many([c])[0],
            lambda c: council.decide_many([c], engine=False)[0]]  # fmt: skip


def test_nobody_is_silently_left_out() -> None:
    for decide in ways(council_with(("eve",))):
        verdict: Verdict = decide(case())
        assert verdict.warnings == (
            "eve abstained in round 1 (asleep): decided without its voice (0.2 of 1)",
        )
        vote = next(v for v in verdict.votes if v.stakeholder == "eve")
        assert (vote.status, vote.codes) == ("abstained", ("asleep",))
        assert isinstance(vote.said, Abstention)
        assert verdict.decision.trace[0].columns == ("alternative", "ann", "bob", "total")


def test_without_decides_as_a_council_of_the_others_would() -> None:
    verdict = council_with(("eve",)).decide(case(3))
    alone = council_with(())
    alone.setup = type(alone.setup)(TRIO, alone.setup.agents[:2])
    assert verdict.decision == alone.run(case(3)).decision


def test_a_twin_votes_sincerely_in_place_and_the_verdict_says_so() -> None:
    verdict = council_with(("eve",), on_abstain="twin").decide(case(3))
    assert verdict.decision == council_with(()).decide(case(3)).decision
    assert verdict.warnings == (
        "eve abstained in round 1 (asleep): its sincere scripted twin voted in its place",
    )
    assert verdict.votes[2].status == "abstained"


def test_under_error_there_is_no_decision_and_it_says_why() -> None:
    for decide in ways(council_with(("bob", "eve"), on_abstain="error")):
        with pytest.raises(DecisionError, match=r"'c': bob abstained \(asleep: by design\); eve"):
            decide(case())


@pytest.mark.parametrize(("quorum", "silent", "enough"), [
    (1, ("ann", "bob"), True), (2, ("ann",), True), (2, ("ann", "bob"), False),
    (3, ("ann",), False), (1, ("ann", "bob", "eve"), False), (3, (), True),
])  # fmt: skip
def test_the_quorum_counts_valid_ballots(
    quorum: int, silent: tuple[str, ...], enough: bool
) -> None:
    council = council_with(silent, quorum=quorum)
    for decide in ways(council):
        if enough:
            assert decide(case()).decision.outcome.ids
        else:
            valid = 3 - len(silent)
            with pytest.raises(
                DecisionError, match=f"{valid} valid ballots, the quorum is {quorum}"
            ):
                decide(case())


def test_aggregation_is_reached_however_many_are_silent() -> None:
    for silent in (("ann",), ("bob",), ("eve",), ("ann", "bob"), ("bob", "eve")):
        assert len(council_with(silent).decide(case()).decision.outcome.ids) == 2


def test_abstentions_are_counted_per_decision() -> None:
    council = trio(Sometimes(silent=("c1",)), on_abstain="twin", quorum=1)
    bound = (*council.setup.agents[:2], Agent(stakeholder=party("eve"), policy=Utility()))
    council = Council(TRIO, bound, on_abstain="twin")
    many = council.decide_many([case(id=f"c{i}") for i in range(3)])
    assert many.abstained.tolist() == [0, 2, 0]
    assert [len(v.warnings) for v in many] == [0, 2, 0]
    assert many.values("satisfaction", "ann").tolist() == pytest.approx(
        [v.value("satisfaction", "ann") for v in many]
    )
