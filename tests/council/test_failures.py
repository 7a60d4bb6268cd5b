"""What goes wrong with agents, tasks and files is named, counted, and loses nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fairagents.agents.base import Agent, Brief, Policy
from fairagents.agents.scripted import Utility
from fairagents.ballot import Vote
from fairagents.case import Case
from fairagents.council import Council
from fairagents.decision import Verdict
from fairagents.errors import BallotError, DecisionError, InfeasibleError, SpecError
from fairagents.experiment import Experiment, Undecided
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules.base import RULES
from fairagents.setting import Cut
from fairagents.spec import Constraint, Predicate
from fairagents.task import Exclude, Include, Slate
from tests.core.toys import Silent, Sometimes, agents, case, objective, party, table, trio


class Foreign(Policy):
    """Talks to something that breaks."""

    scripted: ClassVar[bool] = False

    def propose(self, brief: Brief) -> Vote:
        raise ConnectionResetError("the line went dead")


class Spent(Policy):
    """Takes as many calls as it is given and says how many that were."""

    scripted: ClassVar[bool] = False

    def propose(self, brief: Brief) -> Vote:
        taken = 0
        while not brief.budget.take():
            taken += 1
        vote = Utility().propose(brief)
        return vote.model_copy(update={"attempts": taken})


class Impostor(Policy):
    """Votes in somebody else's name."""

    def propose(self, brief: Brief) -> Vote:
        return Utility().propose(brief).model_copy(update={"stakeholder": "bob"})


def with_ann(policy: Policy, **settings: object) -> Council:
    """The trio with another policy for ann."""
    plain = trio()
    bound = tuple(
        Agent(stakeholder=a.stakeholder, policy=policy) if a.id == "ann" else a
        for a in plain.setup.agents
    )
    return Council(plain.setup.catalogue, bound, **settings)  # type: ignore[arg-type]


def study(**fields: Any) -> Experiment:
    """A study of the tourism cases, by Borda unless told."""
    return Experiment(usecase="tourism", **{"rules": (RULES.build("borda"),), **fields})


def test_a_crash_of_a_foreign_policy_is_an_abstention_with_its_reason() -> None:
    council = with_ann(Foreign())
    for verdict in (council.decide(case()), council.run(case()), asyncio.run(_adecide(council))):
        vote = verdict.votes[0]
        assert (vote.status, vote.codes) == ("abstained", ("policy_error",))
        assert "ConnectionResetError: the line went dead" in vote.said.model_dump()["detail"]
        assert "ann abstained in round 1 (policy_error)" in verdict.warnings[0]


async def _adecide(council: Council) -> Verdict:
    return await council.adecide(case())


def test_a_vote_in_another_name_is_refused() -> None:
    with pytest.raises(SpecError, match="the vote of 'ann' in round 1 and gave one of 'bob'"):
        with_ann(Impostor()).run(case())


@pytest.mark.parametrize(("calls", "shares"), [(0, [0, 0, 0]), (4, [2, 1, 1]), (7, [3, 2, 2])])
def test_calls_are_shared_out_whoever_is_faster(calls: int, shares: Sequence[int]) -> None:
    council = trio(policy=Spent(), max_calls=calls)
    for verdict in (council.decide(case()), council.run(case())):
        assert [vote.attempts for vote in verdict.votes] == shares


def test_one_case_without_a_decision_loses_no_other() -> None:
    council = trio(policy=Sometimes(silent=("c1",)))
    cases = [case(id=f"c{i}") for i in range(3)]
    for engine in (True, False):
        verdicts = council.decide_many(cases, engine=engine)
        assert list(verdicts.undecided) == [1]
        assert "0 valid ballots, the quorum is 1" in verdicts.undecided[1]
        assert verdicts.outcome(1) == () and verdicts.outcome(2) == verdicts.outcome(0) != ()
        assert verdicts[2].case.id == "c2"
        with pytest.raises(DecisionError, match="'c1'"):
            verdicts[1]


def test_a_study_records_a_case_without_a_decision_and_goes_on(tmp_path: Path) -> None:
    experiment = study(
        rules=(RULES.build("borda"), RULES.build("nash")),
        policy=Silent(),
        limit=2,
        on_abstain="error",
    )
    path = experiment.run(tmp_path / "out.jsonl")
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    assert [(x["rule"], "asleep" in x["reason"]) for x in lines] == 2 * [
        ("borda", True),
        ("nash", True),
    ]


@pytest.mark.parametrize("target", ["folder", "file/below"])
def test_a_study_that_can_t_be_written_says_so_before_it_runs(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    experiment = study(limit=1)
    monkeypatch.setattr(Experiment, "verdicts", lambda *_: pytest.fail("it ran"))
    with pytest.raises(SpecError, match="can't write"):
        experiment.run(tmp_path / target)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_study_that_breaks_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> Iterator[Undecided]:
        yield Undecided(case="c", seed=0, rule="borda", reason="none")
        raise RuntimeError("the power went")

    old = tmp_path / "out.jsonl"
    old.write_text("old", encoding="utf-8")
    monkeypatch.setattr(Experiment, "verdicts", breaks)
    with pytest.raises(RuntimeError, match="the power went"):
        study().run(old)
    assert [p.name for p in tmp_path.iterdir()] == ["out.jsonl"]
    assert old.read_text(encoding="utf-8") == "old"


def test_a_task_over_other_alternatives_than_the_ballots_is_refused() -> None:
    profile = Profile.from_rankings([["a", "b", "c"]])
    feasible = Feasible.of(Slate(size=1, limits=(Exclude(ids=("a",)),)), ids=("c", "b", "a"))
    with pytest.raises(BallotError, match="the ballots over"):
        RULES.build("borda")(profile, feasible)


def test_a_task_that_nothing_meets_is_refused_before_anybody_is_asked() -> None:
    council = trio(policy=Foreign(), on_abstain="error")
    wanted = case(limits=(Include(ids=("a",)), Exclude(ids=("a",))))
    with pytest.raises(InfeasibleError) as caught:
        council.decide(wanted)
    assert any("includes a" in label for label in caught.value.limits)
    assert any("excludes a" in label or "without a" in label for label in caught.value.limits), (
        caught.value.limits
    )


def test_what_a_hard_constraint_refuses_or_does_not_know_is_told() -> None:
    catalogue = table(ann=[1.0, 0.5, 0.1], bob=[0.9, 0.4, 0.3], lift=["no", "yes", None])
    lift = Constraint(id="lift", accepts=Predicate(column="lift", value="yes"))
    council = Council(
        catalogue,
        agents(party("ann", objective("ann"), constraints=[lift]), party("bob", voice=9.0)),
        rule="utilitarian",
    )
    verdict = council.decide(case(size=1))
    assert verdict.decision.outcome.ids == ("a",)
    assert "ann/lift: 1 of 3 candidates unknown, counted as yes" in verdict.warnings
    assert "ann: its hard constraints refuse a, which is decided" in verdict.warnings


def test_toml_says_that_it_has_no_null() -> None:
    one = Case(id="c", task=Slate(size=1), request={"a": None})
    with pytest.raises(SpecError, match=r"Case\.request\.a: TOML has no null; write JSON"):
        one.to_toml()
    assert Case.from_json(one.to_json()) == one


def test_names_of_parts_are_understood_and_wrong_parts_named() -> None:
    council = trio(evaluators=("regret",), protocol="one_shot", cut=Cut(whole=9))
    assert {r.measure for r in council.decide(case()).results} == {"regret"}
    with pytest.raises(SpecError, match="cut takes Cut, not 5"):
        trio(cut=5)
    with pytest.raises(SpecError, match="quorum takes int, not True"):
        trio(quorum=True)
