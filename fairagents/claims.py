"""What voters say of a division: whole plans, or what a unit of each thing for each is worth."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from fairagents.errors import BallotError, InfeasibleError
from fairagents.feasible import Feasible
from fairagents.outcome import Linear, Outcome
from fairagents.profile import Profile, Weight, exact
from fairagents.spec import Floats, require_unique
from fairagents.task import Assign, Divide


class Claims:
    """All voters' plans or values over one division task: what division rules read.

    Attributes:
        task: the task with its limits; R recipients, m alternatives.
        voters: the n voters.
        weights: exact voices, one `Fraction` each.
        plans: the amounts each voter proposes, shape (n, R, m), or None.
        values: what a unit of an alternative for a recipient is worth to a voter, shape
            (n, R, m), >= 0, or None; a voter's worth of a division is the sum of value x amount.
    """

    def __init__(
        self,
        task: Divide | Assign | Feasible,
        *,
        plans: Floats | None = None,
        values: Floats | None = None,
        voters: Sequence[str] | None = None,
        weights: Sequence[Weight] | None = None,
    ) -> None:
        self.task = task if isinstance(task, Feasible) else Feasible.of(task)
        if self.task.size:
            raise BallotError("claims are about a division or an assignment, not about a slate")
        given = plans if plans is not None else values
        if given is None:
            raise BallotError("claims need plans or values")
        n = len(given)
        shape = (n, len(self.task.recipients), len(self.task.ids))
        for what, array in (("plans", plans), ("values", values)):
            if array is not None and array.shape != shape:
                raise BallotError(f"{what} must have shape {shape}, not {array.shape}")
            if array is not None and not (np.isfinite(array) & (array >= 0)).all():
                raise BallotError(f"{what} must be finite and >= 0")
        self.plans, self.values = plans, values
        self.voters = tuple(voters or [str(v + 1) for v in range(n)])
        self.weights: tuple[Fraction, ...] = tuple(exact(w) for w in weights or [1] * n)
        require_unique(self.voters, "voter")
        if not len(self.voters) == len(self.weights) == n:
            raise BallotError(
                f"{n} claims but {len(self.voters)} voters and {len(self.weights)} weights"
            )

    def __len__(self) -> int:
        """Return the number of voters."""
        return len(self.voters)

    def __repr__(self) -> str:
        return f"Claims({len(self)} voters, {self.task!r})"

    @classmethod
    def from_plans(
        cls,
        plans: Sequence[Outcome],
        task: Divide | Feasible,
        weights: Sequence[Weight] | None = None,
        voters: Sequence[str] | None = None,
    ) -> Claims:
        """Build claims from one feasible outcome per voter.

        Raises:
            InfeasibleError: a plan breaks a limit; it names the voter and the limit.

        >>> task = Divide(capacity={"icu": 3}, need={"p": {"icu": 3}, "q": {"icu": 3}})
        >>> plans = [Outcome.of([("p", "icu", 3)]), Outcome.of([("p", "icu", 1), ("q", "icu", 2)])]
        >>> Claims.from_plans(plans, task).plans.tolist()
        [[[3.0], [0.0]], [[1.0], [2.0]]]
        """
        feasible = task if isinstance(task, Feasible) else Feasible.of(task)
        names = tuple(voters or [str(v + 1) for v in range(len(plans))])
        for who, plan in zip(names, plans, strict=True):
            if broken := feasible.violations(plan):
                raise InfeasibleError(f"the plan of {who!r}: {'; '.join(broken)}", broken)
        shape = (len(plans), len(feasible.recipients), len(feasible.ids))
        amounts = np.array([feasible.vector(plan) for plan in plans]).reshape(shape)
        return cls(feasible, plans=amounts, voters=names, weights=weights)

    @classmethod
    def from_values(
        cls,
        values: ArrayLike,
        task: Divide | Assign | Feasible,
        weights: Sequence[Weight] | None = None,
        voters: Sequence[str] | None = None,
    ) -> Claims:
        """Build claims from values per unit, shape (n, R, m), recipients and ids as in the task."""
        array = np.asarray(values, dtype=np.float64)
        return cls(task, values=array, voters=voters, weights=weights)

    @classmethod
    def from_ratings(cls, profile: Profile, task: Divide | Assign | Feasible) -> Claims:
        """Build claims of recipients who value only what they get themselves, as they rated it.

        Raises:
            BallotError: the voters are not the task's recipients, or somebody did not rate.
        """
        feasible = task if isinstance(task, Feasible) else Feasible.of(task)
        if set(profile.voters) != set(feasible.recipients):
            raise BallotError(
                f"the voters {sorted(profile.voters)} must be the task's recipients "
                f"{sorted(feasible.recipients)}"
            )
        if profile.ids != feasible.ids:
            raise BallotError("the profile's alternatives must be the task's, in its order")
        ratings, derived = profile.rated()
        if derived:
            raise BallotError(f"values take ratings, and {', '.join(derived)} gave none")
        n = len(profile)
        values = np.zeros((n, len(feasible.recipients), len(feasible.ids)))
        rows = [feasible.recipients.index(who) for who in profile.voters]
        values[np.arange(n), rows] = ratings
        return cls(feasible, values=values, voters=profile.voters, weights=profile.weights)

    def linears(self) -> list[Linear]:
        """Return each voter's worth as a linear function of the amounts.

        Raises:
            BallotError: nobody said values.
        """
        if self.values is None:
            raise BallotError("the rule needs values, and only plans were given")
        return [Linear(value) for value in self.values]
