"""What is said: votes, and the agenda they are cast on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fairagents.outcome import Outcome
from fairagents.record import Listed, Many, Record, Row
from fairagents.spec import (
    require_unique,
)

Tiers = Listed[Listed[str]]


class Ranking(Record):
    """An order, best first; ids that are not listed are tied last.

    `sizes` gives the number of ids in each tier where some are tied; empty means no ties.

    >>> Ranking.of(["a", ["b", "c"]]).tiers
    (('a',), ('b', 'c'))
    """

    kind: Literal["ranking"] = "ranking"
    ids: Many[str]
    sizes: Many[int] = ()
    reason: str = ""

    @classmethod
    def of(cls, ballot: Sequence[str | Collection[str]], reason: str = "") -> Ranking:
        """Build a ranking from ids or collections of tied ids, best first."""
        tiers = [(tier,) if isinstance(tier, str) else tuple(tier) for tier in ballot]
        ids = tuple(one for tier in tiers for one in tier)
        sizes = tuple(len(tier) for tier in tiers if tier)
        return cls(ids=ids, sizes=() if all(s == 1 for s in sizes) else sizes, reason=reason)

    def model_post_init(self, context: object, /) -> None:
        """Check what the fields say together; once, unlike a validator, when nested later on."""
        require_unique(self.ids, "ranked id")
        if self.sizes and (sum(self.sizes) != len(self.ids) or min(self.sizes) < 1):
            raise ValueError(f"tier sizes {self.sizes} do not add up to {len(self.ids)} ids")

    @property
    def tiers(self) -> Tiers:
        """The tiers, best first."""
        if not self.sizes:
            return tuple((one,) for one in self.ids)
        ends = np.cumsum(self.sizes)
        return tuple(self.ids[e - s : e] for e, s in zip(ends, self.sizes, strict=True))


class Ratings(Record):
    """A number per id on the scale [0, 1]; ids that are not rated are unknown, not 0."""

    kind: Literal["ratings"] = "ratings"
    ids: Many[str]
    values: Many[float]
    reason: str = ""

    def model_post_init(self, context: object, /) -> None:
        """Check what the fields say together; once, unlike a validator, when nested later on."""
        if len(self.ids) != len(self.values):
            raise ValueError(f"{len(self.ids)} ids but {len(self.values)} values")
        require_unique(self.ids, "rated id")
        if self.values and not (min(self.values) >= 0 and max(self.values) <= 1):
            bad = next(v for v in self.values if not 0 <= v <= 1)
            raise ValueError(f"ratings lie in [0, 1], not {bad!r}")


class Approvals(Record):
    """The ids that are approved; the others are not."""

    kind: Literal["approvals"] = "approvals"
    ids: Many[str]
    reason: str = ""

    def model_post_init(self, context: object, /) -> None:
        """Check what the fields say together; once, unlike a validator, when nested later on."""
        require_unique(self.ids, "approved id")


class Plan(Record):
    """A whole outcome put forward."""

    kind: Literal["plan"] = "plan"
    outcome: Outcome
    reason: str = ""


class Abstention(Record):
    """No valid answer; `code` says why (say, `"timeout"`), `detail` in words."""

    kind: Literal["abstention"] = "abstention"
    code: str
    detail: str = ""


Said = Annotated[Ranking | Ratings | Approvals | Plan | Abstention, Field(discriminator="kind")]


def ballot_of(said: Said) -> Ranking | Ratings | Approvals | None:
    """Return what is counted of what was said: a planned slate as a ranking, silence as None."""
    if isinstance(said, Plan):
        return Ranking(ids=said.outcome.ids)
    return None if isinstance(said, Abstention) else said


class Vote(Record):
    """What one stakeholder's agent said in one round, and where that comes from.

    A failure is data: an `Abstention`. Seconds are not here but in `Call`, for they never repeat.

    Attributes:
        status: `ok`; `repaired` (unknown or repeated ids were removed after a re-ask);
            `abstained`.
        codes: reason codes, sorted, of everything that was not as asked.
        policy: the policy's label.
        model: the model that was asked, "" where there is none; `digest` is its content's.
        options: (name, value) of what the model was asked with.
        seed: derived from seed, case, stakeholder and round.
        prompt: fingerprint of the prompt templates.
        tokens_in: tokens read in all attempts; `tokens_out` those written.
        attempts: model calls made.
    """

    stakeholder: str
    said: Said
    status: Literal["ok", "repaired", "abstained"] = "ok"
    round: int = 1
    codes: Listed[str] = ()
    policy: str
    model: str = ""
    digest: str = ""
    options: Listed[Row[str, str]] = ()
    seed: int | None = None
    prompt: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    attempts: int = 0

    def model_post_init(self, context: object, /) -> None:
        """Check what the fields say together; once, unlike a validator, when nested later on."""
        if (self.status == "abstained") != isinstance(self.said, Abstention):
            raise ValueError(f"status {self.status!r} does not fit a {self.said.kind}")


class Agenda(Record):
    """What is voted on, the same for every agent, and what the cut cost whom.

    Attributes:
        ids: the alternatives, in the pool's order.
        whole: True when nothing was cut.
        nominated: per stakeholder, the ids among its own best.
        sampled: ids drawn at random.
        lost: per stakeholder, its ceiling over the pool minus its ceiling over the agenda
            (worth points, >= 0).
    """

    ids: Many[str]
    whole: bool = True
    nominated: Listed[Row[str, Listed[str]]] = ()
    sampled: Listed[str] = ()
    lost: Listed[Row[str, float]] = ()
