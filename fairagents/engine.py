"""The loop over a protocol without LangGraph: one decision, and the parts both drivers share."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairagents.agents.base import Brief, Budget, hear
from fairagents.agents.scripted import Utility
from fairagents.ballot import Abstention, Agenda, Approvals, Ranking, Ratings, Vote, ballot_of
from fairagents.case import Case
from fairagents.decision import Call, Decision, Verdict
from fairagents.errors import DecisionError, SpecError
from fairagents.evaluators.base import Evidence, evaluate
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.protocols.base import Ask, History, Move, Stop
from fairagents.rules.base import Rule
from fairagents.seeds import derive
from fairagents.setting import Setting
from fairagents.setup import Setup


class Session:
    """One case on its way to a verdict: the state both drivers share; nothing here is random.

    Args:
        setup: what is fixed.
        case: the case.
    """

    def __init__(self, setup: Setup, case: Case) -> None:
        self.setup, self.case = setup, case
        self.setting = Setting(case, setup.catalogue, [a.stakeholder for a in setup.agents])
        self.budget = Budget(seconds=setup.deadline)
        self.agents = {agent.id: agent for agent in setup.agents}

    def warm(self) -> None:
        """Compute what all agents share, so that their threads need not wait for each other."""
        _ = self._rows, self.setting.worths

    def under(self, rule: Rule) -> Session:
        """Return the same session under another rule; what is computed already is shared."""
        session = copy.copy(self)
        session.setup = replace(self.setup, rule=rule)
        return session

    @functools.cached_property
    def agenda(self) -> Agenda:
        """What is voted on; a task that nothing meets is an error before anybody is asked."""
        self.setting.feasible.require()
        return self.setting.agenda(self.setup.cut, self.setup.seed)

    @functools.cached_property
    def _rows(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        index = self.setting.pool.index
        return np.fromiter(map(index.__getitem__, self.agenda.ids), np.int64)

    def brief(self, who: str, round: int, ask: Ask, spent: int = 0) -> Brief:
        """Return what one agent is told in a round, `spent` model calls after the first."""
        return Brief(
            case=self.case.id,
            stakeholder=self.agents[who].stakeholder,
            pool=self.setting.pool,
            agenda=self.agenda,
            rows=self._rows,
            task=self.case.task,
            seed=derive(self.setup.seed, self.case.id, who, round),
            round=round,
            offer=ask.offer,
            feedback=dict(ask.feedback).get(who, ""),
            budget=self.budget.share(self._calls(who, ask, spent)),
        )

    def _calls(self, who: str, ask: Ask, spent: int) -> int | None:
        """Return an agent's share of the model calls that are left."""
        if self.setup.max_calls is None:
            return None
        asked = [one for one in ask.who if not self.agents[one].policy.scripted]
        if who not in asked:
            return 0
        left = max(0, self.setup.max_calls - spent)
        return left // len(asked) + (asked.index(who) < left % len(asked))

    def turn(self, history: History) -> tuple[History, Move]:
        """Let the protocol move on until it asks or stops; decide whenever it settles."""
        settled = False
        while True:
            move = self.setup.protocol.turn(history)
            over = len(history.rounds) >= self.setup.protocol.limit
            if isinstance(move, Stop) or (isinstance(move, Ask) and not over):
                return history, move
            if settled:
                return history, Stop("max_rounds" if over else "settled twice")
            if not history.rounds:
                raise DecisionError(
                    f"case {self.case.id!r}: protocol {self.setup.protocol.label} settles before "
                    "anybody was asked"
                )
            # It settles, or it would ask beyond its limit and has to settle for what it has.
            decision = self.settle(history.rounds[-1], self.setup.rule)
            history = replace(history, decisions=(*history.decisions, decision))
            settled = True

    def settle(self, votes: Sequence[Vote], rule: Rule) -> Decision:
        """Let a rule decide on the votes of one round.

        Raises:
            DecisionError: as `profile` does.
            InfeasibleError: no slate meets the limits.
        """
        seed = derive(self.setup.seed, self.case.id, "ties", votes[0].round)
        return rule(self.profile(votes), self.feasible, seed=seed)

    def profile(self, votes: Sequence[Vote]) -> Profile:
        """Return the ballots of one round as rules read them, abstentions treated as declared.

        Raises:
            DecisionError: fewer valid ballots than the quorum, or an abstention under "error".
        """
        silent = [v for v in votes if isinstance(v.said, Abstention)]
        if silent and self.setup.on_abstain == "error":
            raise DecisionError(f"case {self.case.id!r}: {_reasons(silent)}")
        if len(votes) - len(silent) < self.setup.quorum:
            raise DecisionError(
                f"case {self.case.id!r}: {len(votes) - len(silent)} valid ballots, "
                f"the quorum is {self.setup.quorum}; {_reasons(silent)}"
            )
        said: dict[str, Ranking | Ratings | Approvals] = {}
        for vote in votes:
            if (counted := ballot_of(vote.said)) is not None:
                said[vote.stakeholder] = counted
            elif self.setup.on_abstain == "twin":
                twin = Utility().propose(self.brief(vote.stakeholder, vote.round, Ask(())))
                said[vote.stakeholder] = twin.said  # type: ignore[assignment]
        weights = [self.agents[who].stakeholder.voice for who in said]
        return Profile.from_said(list(said.values()), self.agenda.ids, weights, list(said))

    @functools.cached_property
    def feasible(self) -> Feasible:
        """The task's limits over the agenda."""
        if self.agenda.ids == self.setting.pool.ids:
            return self.setting.feasible
        return Feasible.of(self.case.task, self.setting.pool, ids=self.agenda.ids)

    def warnings(self, votes: Sequence[Vote]) -> tuple[str, ...]:
        """Return what a reader of the verdict must know."""
        total = sum(agent.stakeholder.voice for agent in self.setup.agents)
        texts = []
        for vote in votes:
            if isinstance(vote.said, Abstention):
                voice = self.agents[vote.stakeholder].stakeholder.voice
                what = (
                    "its sincere scripted twin voted in its place"
                    if self.setup.on_abstain == "twin"
                    else f"decided without its voice ({voice:g} of {total:g})"
                )
                text = f"{vote.stakeholder} abstained in round {vote.round} ({vote.said.code})"
                texts.append(f"{text}: {what}")
        return (*texts, *self.setting.notes())

    def refused(self, decision: Decision) -> tuple[str, ...]:
        """Return what the outcome holds that a stakeholder's hard constraints refuse, in words."""
        index, ids = self.setting.pool.index, decision.outcome.ids
        return tuple(
            f"{s.id}: its hard constraints refuse {', '.join(hit)}, which is decided"
            for s, w in zip(self.setting.stakeholders, self.setting.worths, strict=True)
            if s.constraints and (hit := [one for one in ids if w.flagged[index[one]]])
        )

    def verdict(self, history: History, stopped: str, calls: Sequence[Call] = ()) -> Verdict:
        """Measure the last decision and put everything together.

        Raises:
            DecisionError: the protocol stopped without a decision.
        """
        if not history.decisions:
            raise DecisionError(f"case {self.case.id!r}: stopped ({stopped}) without a decision")
        votes = tuple(vote for votes in history.rounds for vote in votes)
        rounds = len(history.rounds)
        decision = history.decisions[-1]
        evidence = Evidence(self.setting, self.agenda, votes, decision, rounds)
        order = {who: i for i, who in enumerate(self.setup.stakeholders)}
        return Verdict(
            case=self.case,
            spec=self.setup.digest,
            interests=self.setup.interests,
            seed=self.setup.seed,
            protocol=self.setup.protocol.label,
            agenda=self.agenda,
            votes=votes,
            decision=decision,
            results=tuple(evaluate(self.setup.evaluators, evidence)),
            rounds=rounds,
            stopped=stopped,
            warnings=(*self.warnings(votes), *self.refused(decision), *decision.warnings),
            calls=tuple(sorted(calls, key=lambda c: (c.round, order[c.stakeholder], c.attempt))),
        )


def _reasons(silent: Sequence[Vote]) -> str:
    """Return who abstained and why, in words."""
    texts = [
        f"{v.stakeholder} abstained ({v.said.code}: {v.said.detail})"
        for v in silent
        if isinstance(v.said, Abstention)
    ]
    return "; ".join(texts)


def run(setup: Setup, case: Case) -> Verdict:
    """Decide one case without LangGraph; the same verdict as the graph gives.

    Raises:
        DecisionError: no decision came about; the message says why.
    """
    session = Session(setup, case)
    calls: list[Call] = []
    history, move = session.turn(History(setup.stakeholders))
    while isinstance(move, Ask):
        round = len(history.rounds) + 1
        votes = []
        spent = sum(vote.attempts for held in history.rounds for vote in held)
        for who in move.who:
            brief = session.brief(who, round, move, spent)
            votes.append(hear(session.agents[who].policy, brief))
            calls += brief.calls
        history = replace(history, rounds=(*history.rounds, tuple(votes)))
        history, move = session.turn(history)
    return session.verdict(history, move.reason if isinstance(move, Stop) else "", calls)


def compare(setup: Setup, verdict: Verdict, rules: Sequence[Rule]) -> tuple[Verdict, ...]:
    """Put the last round's votes through other rules: one verdict per rule, nobody is asked again.

    Raises:
        SpecError: the verdict was not made with these stakeholders, objectives and catalogue.
    """
    votes, first = verdict.last_votes(), replay(setup, verdict)
    rounds = tuple(
        tuple(v for v in verdict.votes if v.round == r) for r in range(1, verdict.rounds + 1)
    )
    verdicts = []
    for rule in rules:
        session = first.under(rule)
        history = History(setup.stakeholders, rounds, (session.settle(votes, rule),))
        verdicts.append(session.verdict(history, verdict.stopped))
    return tuple(verdicts)


def replay(setup: Setup, verdict: Verdict) -> Session:
    """Return the session of a verdict as it was held: its case, its seed and its agenda.

    Raises:
        SpecError: the verdict was not made with these stakeholders, objectives and catalogue.
    """
    if verdict.interests != setup.interests:
        raise SpecError(
            f"the verdict on {verdict.case.id!r} was made by other stakeholders, for other "
            "objectives or over another catalogue, so what it gives whom can't be told here"
        )
    session = Session(replace(setup, seed=verdict.seed), verdict.case)
    session.agenda = verdict.agenda
    return session
