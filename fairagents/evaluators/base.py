"""What an evaluator reads and returns."""

from __future__ import annotations

import abc
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from fairagents.ballot import Agenda, Ratings, Vote, ballot_of
from fairagents.decision import Decision, Result
from fairagents.errors import Failure, guard
from fairagents.plugins import Plugin, Plugins
from fairagents.profile import Profile
from fairagents.setting import Setting
from fairagents.spec import Floats, Ints

Direction = Literal["up", "down", "target", "none"]


class Evidence:
    """Everything about one decision that an evaluator may read.

    Args:
        setting: the case with everybody's worth.
        agenda: what was voted on.
        votes: all votes of all rounds.
        decision: what was decided.
        rounds: the number of rounds held.
    """

    def __init__(
        self,
        setting: Setting,
        agenda: Agenda,
        votes: Sequence[Vote],
        decision: Decision,
        rounds: int = 1,
    ) -> None:
        self.setting, self.agenda, self.votes = setting, agenda, tuple(votes)
        self.decision, self.rounds = decision, rounds
        self.ids = tuple(s.id for s in setting.stakeholders)

    @functools.cached_property
    def worths(self) -> Floats:
        """Worth of the outcome for each stakeholder, shape (n,)."""
        return self.setting.of(self.decision.outcome)

    @functools.cached_property
    def regret(self) -> Floats:
        """Range-normalised regret of each, shape (n,); NaN where nothing is at stake."""
        return self.setting.regret(self.worths)

    @functools.cached_property
    def attainment(self) -> Floats:
        """How much of what was attainable each got, 1 - regret, shape (n,)."""
        return 1 - self.regret

    @functools.cached_property
    def rows(self) -> Ints:
        """Positions of the agenda's ids in the pool."""
        index = self.setting.pool.index
        return np.fromiter(map(index.__getitem__, self.agenda.ids), np.int64)

    @functools.cached_property
    def items(self) -> Floats:
        """Worth of each alternative on the agenda, shape (n, m)."""
        items = self.setting.items
        return items if self.agenda.ids is self.setting.pool.ids else items[:, self.rows]

    def last(self) -> Mapping[str, Vote]:
        """Return the votes of the last round by stakeholder."""
        return {v.stakeholder: v for v in self.votes if v.round == self.rounds}

    def places(self) -> tuple[list[int], Floats | Ints]:
        """Return what the ballots of the last round say of the agenda, smaller is better.

        Returns:
            The positions of those who gave a ballot among `ids`, and one row for each of them,
            shape (len, m); only the order and the ties of a row's numbers mean anything.
        """
        last, ids = self.last(), self.agenda.ids
        said = {
            i: counted
            for i, one in enumerate(self.ids)
            if one in last and (counted := ballot_of(last[one].said)) is not None
        }
        if said and all(isinstance(one, Ratings) and one.ids == ids for one in said.values()):
            values = np.array([one.values for one in said.values() if isinstance(one, Ratings)])
            return list(said), -values
        return list(said), Profile.from_said(list(said.values()), ids).ranks


@dataclass(frozen=True)
class Batch:
    """The same for b decisions at once, as the vectorised engine holds them.

    Attributes:
        ids: the n stakeholders.
        worths: shape (b, n).
        regret: shape (b, n), NaN where nothing is at stake.
        items: worth of each alternative, shape (b, n, m).
        said: the ratings said, shape (b, n, m).
        size: the slate's size.
    """

    ids: tuple[str, ...]
    worths: Floats
    regret: Floats
    items: Floats
    said: Floats
    size: int

    @functools.cached_property
    def attainment(self) -> Floats:
        """1 - regret, shape (b, n)."""
        return 1 - self.regret


Columns = Mapping[tuple[str, str], Floats]


class Evaluator(Plugin, abc.ABC):
    """Measures one decision. A subclass gives `measure`; `batch` where vectorising pays.

    The class attributes describe the measure.
    """

    direction: ClassVar[Direction] = "up"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    formula: ClassVar[str] = ""
    source: ClassVar[str] = ""

    @abc.abstractmethod
    def measure(self, evidence: Evidence) -> tuple[Result, ...]:
        """Return the results."""

    def batch(self, batch: Batch) -> Columns | None:
        """Return (measure, subject) -> values (b,), NaN where `measure` gives None; None: can't."""
        return None

    @functools.cached_property
    def _conventions(self) -> tuple[tuple[str, str], ...]:
        return tuple((key, str(getattr(self, key))) for key in type(self).__pydantic_fields__)

    def result(
        self,
        subject: str,
        value: float | None,
        *,
        n: int,
        reason: str = "",
        status: Literal["ok", "undefined", "degenerate"] | None = None,
    ) -> Result:
        """Return a result of this measure; None or NaN is undefined and needs a reason."""
        # Beyond 12 digits the order of summation shows, and that is no part of the result.
        number = None if value is None or math.isnan(value) else round(value, 12) + 0.0
        return Result(
            measure=self.name,
            subject=subject,
            value=number,
            status=status or ("undefined" if number is None else "ok"),
            reason=reason,
            n=n,
            direction=self.direction,
            range=self.bounds,
            conventions=self._conventions,
        )


EVALUATORS = Plugins[Evaluator](
    "evaluator",
    {
        "satisfaction": "fairagents.evaluators.individual:Satisfaction",
        "regret": "fairagents.evaluators.individual:Regret",
        "alignment": "fairagents.evaluators.individual:Alignment",
        "worst_off": "fairagents.evaluators.collective:WorstOff",
        "gini": "fairagents.evaluators.collective:Gini",
    },
    base=Evaluator,
)

EvaluatorRef = Annotated[Evaluator, EVALUATORS]


def evaluate(evaluators: Sequence[Evaluator], evidence: Evidence) -> Iterator[Result]:
    """Run evaluators one after the other; a crash of one is a result with status "failed"."""
    for evaluator in evaluators:
        found = guard(evaluator.measure, evidence)
        if isinstance(found, Failure):
            yield Result(
                measure=evaluator.name,
                subject="collective",
                value=None,
                status="failed",
                reason=f"{found.kind}: {found.message}",
            )
        else:
            yield from found
