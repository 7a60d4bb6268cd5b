"""A small council made by hand: twelve inns and three parties who disagree about them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from fairagents.agents.base import Agent, Brief, Budget, Policy
from fairagents.agents.llm import LLM
from fairagents.agents.scripted import Utility
from fairagents.ballot import Vote
from fairagents.case import Case, Pool
from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.engine import Session
from fairagents.protocols.base import Ask
from fairagents.setup import Setup
from fairagents.spec import (
    Column,
    Constraint,
    Floats,
    Indicator,
    Objective,
    Predicate,
    Provenance,
    Stakeholder,
)
from fairagents.task import Slate
from fairagents.testing import FakeOllama

IDS = (
    "oak-inn", "bay view", "café-royal", "poi_4", "poi_12", "mill",
    "north", "quay", "rose", "sun", "tower", "ulm",
)  # fmt: skip
PRICES = (40.0, 55.0, 60.0, 72.0, 80.0, 95.0, 110.0, 125.0, 130.0, 160.0, 180.0, None)

INNS = Catalogue.from_rows(
    [
        {
            "id": one,
            "price": PRICES[i],
            "beds": 5 + 4 * i,
            "hours": float(i * 5 % 12),
            "kind": ("hotel", "hostel", "inn")[i % 3],
            "offers": ["garden", "sauna"][: i % 3],
        }
        for i, one in enumerate(IDS)
    ],
    name="inns",
    specs={
        "price": ColumnSpec(kind="numeric", unit="EUR"),
        "hours": ColumnSpec(kind="numeric", unit="h"),
    },
)


class Carbon(Indicator):
    """What getting there emits: 17.5 kg CO2e per hour."""

    unit: ClassVar[str] = "kg CO2e"

    def values(self, pool: Pool) -> Floats:
        return pool.numeric("hours") * 17.5

    def requires(self) -> tuple[str, ...]:
        return ("hours",)


class Share(Indicator):
    """Beds as a share of 60: a quantity that its owner's worth equals."""

    unit: ClassVar[str] = "share"

    def values(self, pool: Pool) -> Floats:
        return pool.numeric("beds") / 60

    def requires(self) -> tuple[str, ...]:
        return ("beds",)


JUDGED = Provenance(kind="judgement")

GUEST = Stakeholder(
    id="guest",
    name="The guest",
    role="consumer",
    persona="GUESTPERSONA travels light.",
    principles=("GUESTPRINCIPLE first.",),
    objectives=(
        Objective(
            id="price",
            indicator=Column(column="price"),
            direction="min",
            anchors=(200, 20),
            provenance=JUDGED,
            claim="GUESTCLAIM: cheap.",
        ),
    ),
    constraints=(Constraint(id="dorm", accepts=Predicate(column="kind", op="!=", value="hostel")),),
)
CLIMATE = Stakeholder(
    id="climate",
    name="The climate",
    role="society",
    persona="CLIMATEPERSONA has no seat.",
    principles=("CLIMATEPRINCIPLE first.",),
    objectives=(
        Objective(
            id="travel",
            indicator=Carbon(),
            direction="min",
            anchors=(250, 0),
            provenance=JUDGED,
            claim="CLIMATECLAIM: near.",
            weight=3,
        ),
        Objective(
            id="furthest",
            indicator=Carbon(),
            direction="min",
            anchors=(250, 0),
            reads="worst",
            provenance=JUDGED,
        ),
    ),
)
HOSTS = Stakeholder(
    id="hosts",
    name="The hosts",
    role="provider",
    persona="HOSTSPERSONA has beds.",
    principles=("HOSTSPRINCIPLE first.",),
    objectives=(
        Objective(
            id="share",
            indicator=Share(),
            direction="max",
            anchors=(0, 1),
            provenance=JUDGED,
            claim="HOSTSCLAIM: many beds.",
        ),
    ),
)
PARTIES = (GUEST, CLIMATE, HOSTS)
CASE = Case(id="weekend", task=Slate(size=4), request={"month": 7, "wishes": ["sauna"], "note": ""})


def brief_of(
    party: Stakeholder = GUEST, seed: int = 1, *, case: Case = CASE, calls: int | None = None,
    seconds: float | None = None, offer: tuple[str, ...] = (), feedback: str = "",
) -> Brief:  # fmt: skip
    """Return what a party is told, with a seed and a budget of its own."""
    setup = Setup(INNS, tuple(Agent(stakeholder=one, policy=Utility()) for one in PARTIES))
    ask = Ask((party.id,), offer, ((party.id, feedback),) if feedback else ())
    brief = replace(Session(setup, case).brief(party.id, 1, ask), stakeholder=party)
    return replace(brief, seed=seed, budget=Budget(calls, seconds))


def sync(policy: Policy, brief: Brief) -> Vote:
    return policy.propose(brief)


def asynchronous(policy: Policy, brief: Brief) -> Vote:
    return asyncio.run(policy.apropose(brief))


Way = Callable[[Policy, Brief], Vote]
WAYS: tuple[Way, ...] = (sync, asynchronous)


@dataclass
class Stage:
    """How a server answers next, and after that."""

    plan: list[str] = field(default_factory=list)
    default: str = "valid"

    def __call__(self, body: dict[str, Any]) -> str:
        return self.plan.pop(0) if self.plan else self.default


def llm(server: FakeOllama, **fields: Any) -> LLM:
    """Return a policy over a server; what it loses on the way it tries again at once."""
    given: dict[str, Any] = {"model": "ollama:fake", "url": server.url, "backoff": 0.01} | fields
    return LLM(**given)


def table(body: dict[str, Any]) -> dict[str, list[str]]:
    """Return the rows of the table that a request shows, by id, the heading first."""
    lines = body["messages"][1]["content"].splitlines()
    start = next(i for i, one in enumerate(lines) if one.startswith("id | "))
    rows = [row.split(" | ") for row in lines[start : lines.index("", start)]]
    return {row[0]: row[1:] for row in rows}


def listed(body: dict[str, Any]) -> list[str]:
    """Return the ids in the order shown."""
    return list(table(body))[1:]


def text_of(body: dict[str, Any]) -> str:
    """Return everything a model was told in one request."""
    return "\n".join(message["content"] for message in body["messages"])
