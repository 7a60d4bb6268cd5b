"""Multi-agent, multistakeholder personalization that shows who gains and who loses.

Everything public is reached from here; a name is imported when it is first used, so that
`import fairagents` loads neither LangGraph, LangChain, SQLAlchemy, SciPy nor Matplotlib.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOME = {
    "errors": (
        "FairagentsError SpecError CatalogueError BallotError InfeasibleError ModelUnavailable "
        "DecisionError"
    ),
    "spec": "Column Constraint Indicator Objective Predicate Provenance Stakeholder",
    "catalogue": "Catalogue ColumnSpec",
    "task": "Assign AtMostPer Clash Divide Exclude GroupLimit Include Slate",
    "case": "Case Pool",
    "outcome": "Lottery Outcome",
    "feasible": "Feasible",
    "ballot": ("Abstention Agenda Approvals Plan Profile Ranking Ratings Vote"),
    "decision": "Call Decision Result Verdict",
    "worth": "Conflict Cut Setting conflict",
    "rules.base": "RULES Rule",
    "evaluators.base": "EVALUATORS Evaluator",
    "agents.base": "POLICIES Agent Brief Policy",
    "agents.scripted": "Random Utility",
    "agents.recorded": "Recorded",
    "agents.llm": "LLM",
    "protocols.base": "OneShot Protocol",
    "usecase": "Relation UseCase",
    "verdicts": "Verdicts",
    "council": "Council",
    "models": "connect",
    "experiment": "Experiment",
}
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_WHERE)

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use (PEP 562)."""
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'fairagents' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"fairagents.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_WHERE])


if TYPE_CHECKING:
    from fairagents.agents.base import POLICIES, Agent, Brief, Policy
    from fairagents.agents.llm import LLM
    from fairagents.agents.recorded import Recorded
    from fairagents.agents.scripted import Random, Utility
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
    from fairagents.case import Case, Pool
    from fairagents.catalogue import Catalogue, ColumnSpec
    from fairagents.council import Council
    from fairagents.decision import Call, Decision, Result, Verdict
    from fairagents.errors import (
        BallotError,
        CatalogueError,
        DecisionError,
        FairagentsError,
        InfeasibleError,
        ModelUnavailable,
        SpecError,
    )
    from fairagents.evaluators.base import EVALUATORS, Evaluator
    from fairagents.experiment import Experiment
    from fairagents.feasible import Feasible
    from fairagents.models import connect
    from fairagents.outcome import Lottery, Outcome
    from fairagents.protocols.base import OneShot, Protocol
    from fairagents.rules.base import RULES, Rule
    from fairagents.spec import (
        Column,
        Constraint,
        Indicator,
        Objective,
        Predicate,
        Provenance,
        Stakeholder,
    )
    from fairagents.task import (
        Assign,
        AtMostPer,
        Clash,
        Divide,
        Exclude,
        GroupLimit,
        Include,
        Slate,
    )
    from fairagents.usecase import Relation, UseCase
    from fairagents.verdicts import Verdicts
    from fairagents.worth import Conflict, Cut, Setting, conflict
