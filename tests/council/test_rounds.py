"""Protocols of several rounds run the same on the graph and on the engine, and always end."""

from __future__ import annotations

import numpy as np
import pytest

from fairagents.agents.base import Agent, Brief, Policy
from fairagents.agents.scripted import Utility
from fairagents.ballot import Ranking, Vote
from fairagents.council import Council
from fairagents.errors import DecisionError, SpecError
from fairagents.protocols.base import PROTOCOLS, Ask, History, Move, OneShot, Protocol, Settle, Stop
from fairagents.setting import Cut
from tests.core.toys import TRIO, agents, case, party, trio


class Echo(Policy):
    """Puts what is on offer first, and notes its feedback as the reason."""

    def propose(self, brief: Brief) -> Vote:
        rest = [i for i in np.array(brief.agenda.ids)[np.argsort(-brief.worth, kind="stable")]]
        order = [*brief.offer, *(str(i) for i in rest if i not in brief.offer)]
        return brief.vote(Ranking(ids=tuple(order), reason=brief.feedback), self)


class Rounds(Protocol):
    """Settles after each of `count` rounds and offers the last outcome back."""

    count: int = 3
    stops: bool = True
    settles: bool = True

    @property
    def limit(self) -> int:
        return self.count

    def turn(self, history: History) -> Move:
        if history.rounds and self.settles and len(history.decisions) < len(history.rounds):
            return Settle()
        if len(history.rounds) >= self.count and self.stops:
            return Stop("enough")
        offer = history.decisions[-1].outcome.ids if history.decisions else ()
        text = f"round {len(history.rounds) + 1}"
        return Ask(history.stakeholders, offer, tuple((s, text) for s in history.stakeholders))


class AskOne(Protocol):
    """Asks everybody, then in each further round only one."""

    @property
    def limit(self) -> int:
        return 3

    def turn(self, history: History) -> Move:
        held = len(history.rounds)
        if held == 3:
            return Settle() if not history.decisions else Stop("heard")
        return Ask(history.stakeholders if held == 0 else (history.stakeholders[-held],))


class Stubborn(Protocol):
    """Settles for ever."""

    def turn(self, history: History) -> Move:
        return Settle() if history.rounds else Ask(history.stakeholders)


class Mute(Protocol):
    """Stops before anything was decided."""

    def turn(self, history: History) -> Move:
        return Stop("no wish")


def echoes(protocol: Protocol) -> Council:
    people = [party("zoe", *party("ann").objectives), party("bob"), party("eve")]
    return Council(TRIO, [Agent(stakeholder=p, policy=Echo()) for p in people], protocol=protocol)


@pytest.mark.parametrize(
    ("protocol", "rounds", "decisions", "stopped"),
    [
        (OneShot(), 1, 1, "decided"),
        (Rounds(count=1), 1, 1, "enough"),
        (Rounds(count=3), 3, 3, "enough"),
        (Rounds(count=3, stops=False), 3, 3, "max_rounds"),
        (Rounds(count=2, stops=False, settles=False), 2, 1, "max_rounds"),
        (AskOne(), 3, 1, "heard"),
        (Stubborn(), 1, 1, "max_rounds"),
    ],
    ids=lambda p: getattr(p, "label", None),
)
def test_rounds_are_held_settled_and_ended(
    protocol: Protocol, rounds: int, decisions: int, stopped: str
) -> None:
    council = echoes(protocol)
    verdict = council.decide(case())
    assert verdict.canonical() == council.run(case()).canonical()
    assert (verdict.rounds, verdict.stopped) == (rounds, stopped)
    told = [e for e in council.stream(case()) if e["type"] == "decision"]
    assert len(told) == decisions
    assert told[-1]["decision"] == verdict.decision
    assert [v.round for v in verdict.votes] == sorted(v.round for v in verdict.votes)


def test_the_last_round_is_what_is_decided_on() -> None:
    council = echoes(Rounds(count=2, stops=False))
    verdict = council.decide(case())
    last = {v.stakeholder: v.said for v in verdict.last_votes()}
    assert all(v.round == 2 for v in verdict.last_votes())
    # All put the first round's outcome first, so it wins again, now with every ballot.
    assert verdict.decision.tiers[0] == verdict.decision.outcome.ids[:1]
    assert all(said.ids[0] == verdict.decision.outcome.ids[0] for said in last.values())  # type: ignore[union-attr]


def test_offers_and_feedback_reach_the_agents_of_the_next_round() -> None:
    verdict = echoes(Rounds(count=2)).decide(case())
    for vote in verdict.votes:
        assert isinstance(vote.said, Ranking)
        assert vote.said.reason == f"round {vote.round}"
    seeds = {v.seed for v in verdict.votes}
    assert len(seeds) == 6


def test_only_those_asked_vote_in_a_round() -> None:
    verdict = echoes(AskOne()).decide(case())
    assert [(v.round, v.stakeholder) for v in verdict.votes] == [
        (1, "zoe"), (1, "bob"), (1, "eve"), (2, "eve"), (3, "bob"),
    ]  # fmt: skip


def test_a_protocol_that_stops_without_a_decision_is_an_error() -> None:
    for way in (echoes(Mute()).decide, echoes(Mute()).run):
        with pytest.raises(
            DecisionError, match=r"case 'c': stopped \(no wish\) without a decision"
        ):
            way(case())


# -- comparing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [OneShot(), Rounds(count=3)], ids=lambda p: p.label)
def test_compare_puts_the_same_ballots_through_other_rules(protocol: Protocol) -> None:
    council = echoes(protocol)
    verdict = council.decide(case(3))
    names = ["borda", "copeland", "utilitarian", "nash", "leximin"]
    found = council.compare(verdict, names)
    assert [v.decision.rule for v in found] == names
    assert found[0].canonical() == verdict.canonical()
    for other in found:
        assert other.votes == verdict.votes
        assert (other.rounds, other.agenda) == (verdict.rounds, verdict.agenda)
        assert other.result("alignment", "bob") == verdict.result("alignment", "bob")
    if protocol.limit == 1:
        for other, name in zip(found, names, strict=True):
            direct = Council(TRIO, council.setup.agents, rule=name, protocol=protocol)
            assert other.canonical() == direct.decide(case(3)).canonical()


def test_compare_asks_nobody_and_uses_the_seed_of_the_verdict() -> None:
    asked: list[str] = []

    class Loud(Policy):
        def propose(self, brief: Brief) -> Vote:
            asked.append(brief.stakeholder.id)
            return Utility().propose(brief)

        def prepare(self) -> None:
            asked.append("prepared")

    bound = [Agent(stakeholder=party(n), policy=Loud()) for n in ("ann", "bob")]
    verdict = Council(TRIO, bound, seed=4).decide(case())
    other = Council(TRIO, bound, seed=9)
    asked.clear()
    (found,) = other.compare(verdict, ["borda"])
    assert asked == []
    assert found.decision == verdict.decision
    assert found.seed == 4


def test_compare_keeps_the_agenda_that_was_voted_on() -> None:
    verdict = trio(cut=Cut(whole=2, top=1, sample=1)).decide(case())
    assert not verdict.agenda.whole
    (found,) = trio().compare(verdict, ["borda"])
    assert (found.agenda, found.decision) == (verdict.agenda, verdict.decision)


def test_compare_refuses_a_verdict_of_other_stakeholders() -> None:
    verdict = trio().decide(case())
    other = Council(TRIO, agents(party("ann"), party("bob")))
    with pytest.raises(
        SpecError, match="made by other stakeholders, for other objectives or over another"
    ):
        other.compare(verdict, ["nash"])


def test_a_protocol_is_found_by_name() -> None:
    assert PROTOCOLS.build("one_shot") == OneShot()
    with pytest.raises(SpecError, match="no protocol 'oneshot'; did you mean 'one_shot'"):
        PROTOCOLS.build("oneshot")
