"""Everything that is fixed before a case comes: who decides, how, on what."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from typing import Literal

from fairagents.agents.base import Agent
from fairagents.catalogue import Catalogue
from fairagents.errors import SpecError, did_you_mean
from fairagents.evaluators.base import EVALUATORS, Evaluator
from fairagents.protocols.base import OneShot, Protocol
from fairagents.record import canonical
from fairagents.rules.base import RULES, Rule
from fairagents.setting import Cut
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
        if self.rule.decides != "slate":
            raise SpecError(
                f"a council decides slates so far, and {self.rule.label} a {self.rule.decides}"
            )
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
