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
    "ballot": "Abstention Agenda Approvals Plan Ranking Ratings Vote",
    "profile": "Profile",
    "decision": "Call Decision Result Verdict",
    "setting": "Cut Setting",
    "conflicts": "Conflict conflict",
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
    from fairagents.agents.base import (
        POLICIES as POLICIES,
        Agent as Agent,
        Brief as Brief,
        Policy as Policy,
    )
    from fairagents.agents.llm import LLM as LLM
    from fairagents.agents.recorded import Recorded as Recorded
    from fairagents.agents.scripted import Random as Random, Utility as Utility
    from fairagents.ballot import (
        Abstention as Abstention,
        Agenda as Agenda,
        Approvals as Approvals,
        Plan as Plan,
        Ranking as Ranking,
        Ratings as Ratings,
        Vote as Vote,
    )
    from fairagents.case import Case as Case, Pool as Pool
    from fairagents.catalogue import Catalogue as Catalogue, ColumnSpec as ColumnSpec
    from fairagents.conflicts import Conflict as Conflict, conflict as conflict
    from fairagents.council import Council as Council
    from fairagents.decision import (
        Call as Call,
        Decision as Decision,
        Result as Result,
        Verdict as Verdict,
    )
    from fairagents.errors import (
        BallotError as BallotError,
        CatalogueError as CatalogueError,
        DecisionError as DecisionError,
        FairagentsError as FairagentsError,
        InfeasibleError as InfeasibleError,
        ModelUnavailable as ModelUnavailable,
        SpecError as SpecError,
    )
    from fairagents.evaluators.base import EVALUATORS as EVALUATORS, Evaluator as Evaluator
    from fairagents.experiment import Experiment as Experiment
    from fairagents.feasible import Feasible as Feasible
    from fairagents.models import connect as connect
    from fairagents.outcome import Lottery as Lottery, Outcome as Outcome
    from fairagents.profile import Profile as Profile
    from fairagents.protocols.base import OneShot as OneShot, Protocol as Protocol
    from fairagents.rules.base import RULES as RULES, Rule as Rule
    from fairagents.setting import Cut as Cut, Setting as Setting
    from fairagents.spec import (
        Column as Column,
        Constraint as Constraint,
        Indicator as Indicator,
        Objective as Objective,
        Predicate as Predicate,
        Provenance as Provenance,
        Stakeholder as Stakeholder,
    )
    from fairagents.task import (
        Assign as Assign,
        AtMostPer as AtMostPer,
        Clash as Clash,
        Divide as Divide,
        Exclude as Exclude,
        GroupLimit as GroupLimit,
        Include as Include,
        Slate as Slate,
    )
    from fairagents.usecase import Relation as Relation, UseCase as UseCase
    from fairagents.verdicts import Verdicts as Verdicts
