"""A protocol says who is asked when, and when to stop; it knows nothing of how that is run."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Annotated

from fairagents.ballot import Vote
from fairagents.decision import Decision
from fairagents.plugins import Plugin, Plugins


@dataclass(frozen=True)
class Ask:
    """Ask these stakeholders in a new round.

    Attributes:
        who: ids, in the declared order.
        offer: the outcome on the table.
        feedback: (stakeholder, text) for those who get some.
    """

    who: tuple[str, ...]
    offer: tuple[str, ...] = ()
    feedback: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Settle:
    """Let the rule decide on the votes of the last round."""


@dataclass(frozen=True)
class Stop:
    """End with the last decision; `reason` is recorded."""

    reason: str


Move = Ask | Settle | Stop


@dataclass(frozen=True)
class History:
    """What has happened so far.

    Attributes:
        stakeholders: all ids, in the declared order.
        rounds: the votes of each round, in the declared order.
        decisions: the rule's decision after each settled round.
    """

    stakeholders: tuple[str, ...]
    rounds: tuple[tuple[Vote, ...], ...] = ()
    decisions: tuple[Decision, ...] = field(default=())


class Protocol(Plugin, abc.ABC):
    """Who is asked when, and when to stop. A subclass gives `turn`, and `limit` if not 1."""

    @abc.abstractmethod
    def turn(self, history: History) -> Move:
        """Return the next move."""

    @property
    def limit(self) -> int:
        """The most rounds it ever holds; a driver stops there whatever `turn` says."""
        return 1


class OneShot(Protocol):
    """Everybody votes once; the rule decides."""

    def turn(self, history: History) -> Move:
        """Ask, settle, stop."""
        if not history.rounds:
            return Ask(history.stakeholders)
        if not history.decisions:
            return Settle()
        return Stop("decided")


PROTOCOLS = Plugins[Protocol](
    "protocol", {"one_shot": "fairagents.protocols.base:OneShot"}, base=Protocol
)

ProtocolRef = Annotated[Protocol, PROTOCOLS]
