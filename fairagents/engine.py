"""The loop over a protocol without LangGraph: one decision, and the parts both drivers share."""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from fairagents.agents.base import Agent, Brief, Budget, hear
from fairagents.agents.scripted import Utility
from fairagents.ballot import (
    Abstention,
    Agenda,
    Approvals,
    Plan,
    Profile,
    Ranking,
    Ratings,
    Vote,
)
from fairagents.case import Case
from fairagents.catalogue import Catalogue
from fairagents.decision import Call, Decision, Verdict
from fairagents.errors import DecisionError, SpecError, did_you_mean
from fairagents.evaluators.base import EVALUATORS, Evaluator, Evidence, evaluate
from fairagents.feasible import Feasible
from fairagents.protocols.base import Ask, History, Move, OneShot, Protocol, Stop
from fairagents.record import canonical
from fairagents.rules.base import RULES, Rule
from fairagents.seeds import derive
from fairagents.setting import Cut, Setting
from fairagents.spec import Column, require_unique

OnAbstain = Literal["without", "twin", "error"]

DEFAULT_EVALUATORS = ("satisfaction", "regret", "worst_off", "gini", "alignment")


def default_evaluators() -> tuple[Evaluator, ...]:
    """Return satisfaction, regret, worst-off, Gini and alignment with their default parameters."""
    return tuple(EVALUATORS.build(name) for name in DEFAULT_EVALUATORS)


@dataclass(frozen=True)
class Setup:
    """Everything that is fixed before a case comes: who decides, how, on what.

    Attributes:
        catalogue: the alternatives.
        agents: stakeholders with their policies, in the declared order.
        rule: aggregates the ballots.
        protocol: who is asked when.
        evaluators: what is measured of each decision.
        cut: how the agenda is cut.
        seed: everything random is derived from it.
        quorum: the least number of valid ballots that a decision takes.
        on_abstain: "without": decide without the one who abstained, and say so in the warnings;
            "twin": its sincere scripted twin votes in its place, and the warnings say so;
            "error": no decision.
        max_calls: the most model calls per decision. What is left in a round is shared out evenly
            among the agents with models that are asked, the first ones getting one more, so that
            nothing depends on who is faster; who has none left abstains (`max_calls`).
        deadline: seconds per decision; who is not done by then abstains (`deadline`).
        case_columns: columns that cases bring along, so that objectives may name them.

    Raises:
        SpecError: ids given twice, an unknown column, a unit clash, a quorum out of range.
    """

    catalogue: Catalogue
    agents: tuple[Agent, ...]
    rule: Rule = field(default_factory=lambda: RULES.build("borda"))
    protocol: Protocol = field(default_factory=OneShot)
    evaluators: tuple[Evaluator, ...] = field(default_factory=default_evaluators)
    cut: Cut = field(default_factory=Cut)
    seed: int = 0
    quorum: int = 1
    on_abstain: OnAbstain = "without"
    max_calls: int | None = None
    deadline: float | None = None
    case_columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.agents:
            raise SpecError("a council needs at least one agent")
        self._check_types()
        require_unique([agent.id for agent in self.agents], "stakeholder")
        if not 1 <= self.quorum <= len(self.agents):
            raise SpecError(f"quorum must lie in 1..{len(self.agents)}, not {self.quorum!r}")
        if self.on_abstain not in ("without", "twin", "error"):
            raise SpecError(f"on_abstain is without, twin or error, not {self.on_abstain!r}")
        if self.max_calls is not None and self.max_calls < 0:
            raise SpecError(f"max_calls must be >= 0, not {self.max_calls!r}")
        if self.deadline is not None and not 0 < self.deadline < float("inf"):
            raise SpecError(f"deadline must be > 0 seconds, not {self.deadline!r}")
        for agent in self.agents:
            self._check_columns(agent)

    def _check_types(self) -> None:
        wanted: dict[str, type | tuple[type, ...]] = {
            "catalogue": Catalogue,
            "rule": Rule,
            "protocol": Protocol,
            "cut": Cut,
            "seed": int,
            "quorum": int,
            "max_calls": (int, type(None)),
            "deadline": (int, float, type(None)),
            "case_columns": tuple,
        }
        for name, kind in wanted.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or isinstance(value, bool):
                names = getattr(kind, "__name__", "a number or None")
                raise SpecError(f"{name} takes {names}, not {value!r}")
        for what, kind, values in (
            ("agents", Agent, self.agents),
            ("evaluators", Evaluator, self.evaluators),
        ):
            for value in values:
                if not isinstance(value, kind):
                    raise SpecError(f"{what} takes {kind.__name__}s, not {value!r}")

    def _check_columns(self, agent: Agent) -> None:
        known = [*self.catalogue.columns, *self.case_columns]
        for objective in agent.stakeholder.objectives:
            place = f"stakeholder {agent.id!r}, objective {objective.id!r}"
            for column in objective.indicator.requires():
                if column not in known:
                    raise SpecError(
                        f"{place}: catalogue {self.catalogue.name!r} has no column {column!r}; "
                        f"{did_you_mean(column, known)}"
                    )
            unit = objective.indicator.unit
            if isinstance(objective.indicator, Column):
                column = objective.indicator.column
                unit = ""
                if column in self.catalogue:
                    spec = self.catalogue.spec(column)
                    unit = spec.unit
                    wanted = "category" if objective.reads == "variety" else "numeric"
                    if spec.kind != wanted:
                        raise SpecError(f"{place}: column {column!r} is {spec.kind}, not {wanted}")
            if objective.unit and unit and objective.unit != unit:
                raise SpecError(
                    f"{place}: unit {objective.unit!r} clashes with the indicator's {unit!r}"
                )
        for constraint in agent.stakeholder.constraints:
            for column in constraint.accepts.columns():
                if column not in known:
                    raise SpecError(
                        f"stakeholder {agent.id!r}, constraint {constraint.id!r}: no column "
                        f"{column!r}; {did_you_mean(column, known)}"
                    )

    @functools.cached_property
    def stakeholders(self) -> tuple[str, ...]:
        """All ids, in the declared order."""
        return tuple(agent.id for agent in self.agents)

    @functools.cached_property
    def interests(self) -> str:
        """SHA-256 of what worth depends on: catalogue, objectives and constraints."""
        wants = [
            [a.id, *(a.stakeholder.to_data().get(k, []) for k in ("objectives", "constraints"))]
            for a in self.agents
        ]
        return hashlib.sha256(canonical([self.catalogue.digest, *wants])).hexdigest()

    @property
    def scripted(self) -> bool:
        """Whether no agent talks to a model or a person."""
        return all(agent.policy.scripted for agent in self.agents)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of everything that a verdict depends on but the case and the seed."""
        data = {
            "catalogue": self.catalogue.digest,
            "agents": [[a.stakeholder.to_data(), a.policy.label] for a in self.agents],
            "rule": self.rule.label,
            "protocol": self.protocol.label,
            "evaluators": [evaluator.label for evaluator in self.evaluators],
            "cut": self.cut.model_dump(),
            "quorum": self.quorum,
            "on_abstain": self.on_abstain,
            "max_calls": self.max_calls,
        }
        return hashlib.sha256(canonical(data)).hexdigest()


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
                return history, Stop("max_rounds")
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
            if isinstance(vote.said, Plan):
                said[vote.stakeholder] = Ranking(ids=vote.said.outcome.ids)
            elif not isinstance(vote.said, Abstention):
                said[vote.stakeholder] = vote.said
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
            f"{w.stakeholder}: its hard constraints refuse {', '.join(hit)}, which is decided"
            for w in self.setting.worths
            if w.flagged.any() and (hit := [one for one in ids if w.flagged[index[one]]])
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
            warnings=(*self.warnings(votes), *self.refused(decision)),
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
        spent = sum(vote.source.attempts for held in history.rounds for vote in held)
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
    votes = verdict.last_votes()
    if verdict.interests != setup.interests:
        raise SpecError(
            f"the verdict on {verdict.case.id!r} was made over another catalogue or other "
            "objectives, so what it gives whom can't be compared here"
        )
    if {v.stakeholder for v in votes} != set(setup.stakeholders):
        raise SpecError(
            f"the verdict's votes are of {sorted(v.stakeholder for v in votes)}, "
            f"not of {sorted(setup.stakeholders)}"
        )
    first = replay(setup, verdict)
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
    """Return the session of a verdict as it was held: its case, its seed and its agenda."""
    session = Session(replace(setup, seed=verdict.seed), verdict.case)
    session.agenda = verdict.agenda
    return session
