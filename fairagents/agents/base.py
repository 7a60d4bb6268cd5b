"""Policies turn briefs into votes; an agent is a stakeholder with a policy."""

from __future__ import annotations

import abc
import threading
import time
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from fairagents.ballot import Abstention, Agenda, Said, Vote
from fairagents.case import Pool
from fairagents.decision import Call
from fairagents.errors import Failure, SpecError, aguard, guard
from fairagents.plugins import Plugin, Plugins
from fairagents.record import Record
from fairagents.spec import Floats, Ints, Stakeholder
from fairagents.task import Task
from fairagents.worth import worth


class Budget:
    """How many model calls and how much time are left for one decision; safe across threads.

    Args:
        calls: the most calls to make; None is no limit.
        seconds: the time until the deadline; None is no limit.
    """

    def __init__(self, calls: int | None = None, seconds: float | None = None) -> None:
        self._left = calls
        self._end = None if seconds is None else time.monotonic() + seconds
        self._lock = threading.Lock()

    def take(self) -> str:
        """Take one call; return "" or the reason code why there is none to take."""
        if self.remaining() == 0:
            return "deadline"
        with self._lock:
            if self._left is None:
                return ""
            self._left -= 1
            return "" if self._left >= 0 else "max_calls"

    def share(self, calls: int | None) -> Budget:
        """Return a budget of so many calls until the same deadline."""
        part = Budget(calls)
        part._end = self._end
        return part

    def remaining(self) -> float | None:
        """Return the seconds until the deadline, not below 0; None without one."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())


@dataclass(frozen=True)
class Brief:
    """What one agent is told: its own side, the public facts, and nobody else's worth.

    Attributes:
        case: the case's id.
        stakeholder: whose side it is on.
        pool: every candidate with its attributes, and the request.
        agenda: what is voted on.
        rows: positions of the agenda's ids in the pool, shape (m,).
        task: what is to be decided.
        seed: derived from seed, case, stakeholder and round.
        round: 1 for the first.
        offer: the outcome on the table, if any.
        feedback: what the protocol tells this agent about it.
        budget: calls and time that are left.
        calls: where a policy records its attempts.
    """

    case: str
    stakeholder: Stakeholder
    pool: Pool
    agenda: Agenda
    rows: Ints
    task: Task
    seed: int
    round: int = 1
    offer: tuple[str, ...] = ()
    feedback: str = ""
    budget: Budget = field(default_factory=Budget)
    calls: list[Call] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many alternatives the slate takes."""
        return getattr(self.task, "size", len(self.agenda.ids))

    @property
    def worth(self) -> Floats:
        """Own worth of each alternative on the agenda, shape (m,), in [0, 1]; lazy."""
        return worth(self.stakeholder, self.pool, self.size).items[self.rows]

    def vote(self, said: Said, policy: Policy, codes: tuple[str, ...] = ()) -> Vote:
        """Return a vote of this brief's stakeholder and round."""
        return Vote(
            stakeholder=self.stakeholder.id,
            said=said,
            status="abstained" if isinstance(said, Abstention) else "ok",
            round=self.round,
            codes=codes,
            policy=policy.label,
            seed=self.seed,
        )


class Policy(Plugin, abc.ABC):
    """What turns a brief into a vote. A subclass gives `propose`.

    `scripted` policies are pure functions of the brief: a bug in one raises. The others talk to
    a model or a person, whose failure becomes an abstention with its reason.
    """

    scripted: ClassVar[bool] = True

    @abc.abstractmethod
    def propose(self, brief: Brief) -> Vote:
        """Return this stakeholder's vote on the agenda."""

    async def apropose(self, brief: Brief) -> Vote:
        """Return the same vote as `propose` without blocking the event loop."""
        return self.propose(brief)

    def prepare(self) -> None:
        """Check before the first case that what the policy needs is there.

        Raises:
            FairagentsError: it is not; the message says what to do.
        """


def hear(policy: Policy, brief: Brief) -> Vote:
    """Ask a policy for its vote; a crash of one that is not scripted is an abstention.

    Raises:
        SpecError: the vote is not of the one and the round that were asked.
    """
    return _heard(policy, brief, _ask(policy, brief))


async def ahear(policy: Policy, brief: Brief) -> Vote:
    """Ask a policy for its vote as `hear` does, without blocking the event loop."""
    proposal = policy.apropose(brief)
    return _heard(policy, brief, await (proposal if policy.scripted else aguard(proposal)))


def _ask(policy: Policy, brief: Brief) -> Vote | Failure:
    return policy.propose(brief) if policy.scripted else guard(policy.propose, brief)


def _heard(policy: Policy, brief: Brief, found: Vote | Failure) -> Vote:
    if isinstance(found, Failure):
        said = Abstention(code="policy_error", detail=f"{found.kind}: {found.message}")
        return brief.vote(said, policy, ("policy_error",))
    if (found.stakeholder, found.round) != (brief.stakeholder.id, brief.round):
        raise SpecError(
            f"policy {policy.label} was asked for the vote of {brief.stakeholder.id!r} in round "
            f"{brief.round} and gave one of {found.stakeholder!r} in round {found.round}"
        )
    return found


POLICIES = Plugins[Policy](
    "policy",
    {
        "utility": "fairagents.agents.scripted:Utility",
        "random": "fairagents.agents.scripted:Random",
        "recorded": "fairagents.agents.recorded:Recorded",
        "llm": "fairagents.agents.llm:LLM",
    },
    plural="policies",
    base=Policy,
)

PolicyRef = Annotated[Policy, POLICIES]


class Agent(Record):
    """A stakeholder bound to the policy that speaks for it."""

    stakeholder: Stakeholder
    policy: PolicyRef

    @property
    def id(self) -> str:
        """The stakeholder's id."""
        return self.stakeholder.id
