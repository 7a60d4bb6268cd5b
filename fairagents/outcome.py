"""What a decision gives to whom, lotteries over such outcomes, and what a slate is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from pydantic import model_validator

from fairagents.errors import SpecError
from fairagents.record import Many, Record
from fairagents.spec import Bools, Floats, Ints

EVERYONE = "everyone"
"""The one recipient of a slate."""

Rows = dict[str, dict[str, float]]
"""recipient -> alternative -> amount."""


class Share(NamedTuple):
    """One recipient gets an amount of one alternative."""

    to: str
    what: str
    amount: float


class Outcome(Record):
    """Who gets how much of what, in order: `amount[i]` of `what[i]` goes to `to[i]`.

    A slate gives 1.0 of each of its alternatives to `"everyone"`, best first. Amounts are finite
    and > 0 in the unit of the task; no pair (to, what) occurs twice; anything else is a
    `SpecError`.

    >>> slate = Outcome.slate(["Bled", "Ghent"])
    >>> slate.ids
    ('Bled', 'Ghent')
    >>> Outcome.of([("p1", "icu", 2), ("p2", "icu", 1)]).columns()
    {'icu': 3.0}
    >>> Outcome.from_json(slate.to_json()) == slate
    True
    """

    to: Many[str] = ()
    what: Many[str] = ()
    amount: Many[float] = ()

    def model_post_init(self, context: object, /) -> None:
        """Check what the fields say together; once, unlike a validator, when nested later on."""
        count = len(self.what)
        if not len(self.to) == len(self.amount) == count:
            raise ValueError(
                "to, what and amount must be equally long, "
                f"not {len(self.to)}, {count} and {len(self.amount)}"
            )
        for to, what, amount in zip(self.to, self.what, self.amount, strict=True):
            if not 0 < amount < math.inf:
                raise ValueError(
                    f"the amount of {what!r} for {to!r} must be finite and > 0, not {amount!r}"
                )
        if len(set(zip(self.to, self.what, strict=True))) != count:
            seen: set[tuple[str, str]] = set()
            for to, what in zip(self.to, self.what, strict=True):
                if (to, what) in seen:
                    raise ValueError(f"{to!r} is given {what!r} twice")
                seen.add((to, what))

    @classmethod
    def slate(cls, ids: Iterable[str]) -> Outcome:
        """Build a slate of these alternatives, best first."""
        what = tuple(ids)
        return cls(to=(EVERYONE,) * len(what), what=what, amount=(1.0,) * len(what))

    @classmethod
    def of(cls, shares: Iterable[tuple[str, str, float]]) -> Outcome:
        """Build an outcome of shares (to, what, amount), in order."""
        rows = tuple(shares)
        return cls(
            to=tuple(row[0] for row in rows),
            what=tuple(row[1] for row in rows),
            amount=tuple(row[2] for row in rows),
        )

    @property
    def shares(self) -> tuple[Share, ...]:
        """The shares in order."""
        return tuple(map(Share, self.to, self.what, self.amount))

    @property
    def ids(self) -> tuple[str, ...]:
        """The alternatives of a slate, best first; a `SpecError` for any other outcome."""
        for to in self.to:
            if to != EVERYONE:
                raise SpecError(f"only a slate has ids; this outcome gives to {to!r}: use rows()")
        return self.what

    def rows(self) -> Rows:
        """Return what each recipient got: recipient -> alternative -> amount."""
        table: Rows = {}
        for to, what, amount in zip(self.to, self.what, self.amount, strict=True):
            table.setdefault(to, {})[what] = amount
        return table

    def columns(self) -> dict[str, float]:
        """Return the total amount given of each alternative that anybody got."""
        table: dict[str, float] = {}
        for what, amount in zip(self.what, self.amount, strict=True):
            table[what] = table.get(what, 0.0) + amount
        return table


class Lottery(Record):
    """Outcomes with probabilities, each >= 0, that sum to 1 within 1e-9.

    >>> coin = Lottery(
    ...     outcomes=(Outcome.slate(["a"]), Outcome.slate(["b"])), probabilities=(0.25, 0.75))
    >>> coin.expected()
    {'everyone': {'a': 0.25, 'b': 0.75}}
    >>> coin.draw(seed=7) == coin.draw(seed=7)
    True
    """

    outcomes: Many[Outcome]
    probabilities: Many[float]

    @model_validator(mode="after")
    def _check(self) -> Lottery:
        if len(self.outcomes) != len(self.probabilities):
            raise ValueError(
                f"there are {len(self.outcomes)} outcomes but "
                f"{len(self.probabilities)} probabilities"
            )
        for p in self.probabilities:
            if not 0 <= p < math.inf:
                raise ValueError(f"a probability must be finite and >= 0, not {p!r}")
        if abs(total := math.fsum(self.probabilities) - 1) > 1e-9:
            raise ValueError(f"the probabilities must sum to 1, not to {total + 1!r}")
        return self

    def draw(self, seed: int) -> Outcome:
        """Draw one outcome; the same seed (>= 0) always draws the same one."""
        if seed < 0:
            raise SpecError(f"a seed must be >= 0, not {seed!r}")
        ends = np.cumsum(self.probabilities)
        ends /= ends[-1]
        at = np.searchsorted(ends, np.random.default_rng(seed).random(), side="right")
        return self.outcomes[int(at)]

    def expected(self) -> Rows:
        """Return the expected amounts: recipient -> alternative -> amount."""
        table: Rows = {}
        for outcome, p in zip(self.outcomes, self.probabilities, strict=True):
            for to, what, amount in outcome.shares if p else ():
                row = table.setdefault(to, {})
                row[what] = row.get(what, 0.0) + p * amount
        return table


@dataclass(frozen=True)
class Solution:
    """What an exact or a local search found.

    Attributes:
        outcome: the best outcome found.
        value: what it is worth, recomputed from the outcome.
        bound: a proven bound: no feasible outcome is better than this.
        gap: `|bound - value| / max(1, |value|)`.
        optimal: whether the gap is at most the one asked for.
        status: `"optimal"`, `"time limit"` or `"local"` (no exact search was asked for).
        x: the outcome as amounts, shape (recipients * alternatives,); not compared.
        seconds: the time it took; not compared.
    """

    outcome: Outcome
    value: float
    bound: float
    gap: float
    optimal: bool
    status: str
    x: Floats = field(compare=False, repr=False)
    seconds: float = field(default=0.0, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Linear:
    """A worth function, linear up to two kinds of whole-slate terms.

    `U(x) = constant + values . x + sum w * min_{i chosen} u_i
    + sum w * clip((n - zero) / (one - zero), 0, 1)`, where n is the number of groups with at
    least one chosen member. To average over a slate, divide `values` by its size.

    Attributes:
        values: shape (m,) for a slate, else (R, m) or (R * m,); kept flat.
        constant: added to every outcome.
        least: pairs (w >= 0, u of shape (m,) in [0, 1]): the worst alternative of the slate.
        variety: tuples (w >= 0, groups of shape (g, m), zero, one > zero).

    Raises:
        SpecError: a shape or a range is wrong.

    >>> Linear(np.array([.1, .2, .3]), least=((.5, np.array([1., .8, 0.])),)).of([[0, 1], [0, 2]])
    array([0.7, 0.4])
    """

    values: Floats
    constant: float = 0.0
    least: tuple[tuple[float, Floats], ...] = ()
    variety: tuple[tuple[float, Bools, float, float], ...] = ()

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64).ravel()
        object.__setattr__(self, "values", values)
        if not (np.isfinite(values).all() and math.isfinite(self.constant)):
            raise SpecError("the values and the constant of a worth function must be finite")
        for weight, u in self.least:
            if u.shape != values.shape or not ((u >= 0) & (u <= 1)).all():
                raise SpecError(f"a least term takes shape {values.shape} in [0, 1], not {u!r}")
            _require_weight(weight)
        for weight, groups, zero, one in self.variety:
            if groups.ndim != 2 or groups.shape[1:] != values.shape or groups.dtype != np.bool_:
                raise SpecError(
                    f"a variety term takes booleans of shape (g, {len(values)}), "
                    f"not {groups.dtype} of shape {groups.shape}"
                )
            if not -math.inf < zero < one < math.inf:
                raise SpecError(f"a variety term takes zero < one, not {zero!r} and {one!r}")
            _require_weight(weight)

    @property
    def additive(self) -> bool:
        """Whether there are no whole-slate terms."""
        return not (self.least or self.variety)

    def plus(self, others: Iterable[Linear]) -> Linear:
        """Return the sum of this worth function and others of the same shape."""
        parts = (self, *others)
        return Linear(
            np.sum([part.values for part in parts], axis=0),
            sum(part.constant for part in parts),
            tuple(term for part in parts for term in part.least),
            tuple(term for part in parts for term in part.variety),
        )

    def take(self, rows: Ints) -> Linear:
        """Return the worth function over some alternatives, or over all in another order."""
        return Linear(
            self.values[rows],
            self.constant,
            tuple((weight, u[rows]) for weight, u in self.least),
            tuple((w, groups[:, rows], zero, one) for w, groups, zero, one in self.variety),
        )

    def rescaled(self, low: float, high: float) -> Linear:
        """Return the worth function on which `low` counts 0 and `high` counts 1."""
        span = high - low
        return Linear(
            self.values / span,
            (self.constant - low) / span,
            tuple((weight / span, u) for weight, u in self.least),
            tuple((w / span, groups, zero, one) for w, groups, zero, one in self.variety),
        )

    def of(self, chosen: Ints | Sequence[Sequence[int]]) -> Floats:
        """Return the worth of slates.

        Args:
            chosen: positions of the alternatives of each slate, shape (B, k).

        Returns:
            The worth of each slate, shape (B,).
        """
        chosen = np.asarray(chosen)
        total = self.constant + self.values[chosen].sum(axis=1)
        for weight, u in self.least:
            total += weight * u[chosen].min(axis=1)
        for weight, groups, zero, one in self.variety:
            number = groups[:, chosen].any(axis=2).sum(axis=0)
            total += weight * np.clip((number - zero) / (one - zero), 0, 1)
        return np.asarray(total)

    def swapped(self, chosen: Ints) -> Floats:
        """Return the worth of a slate after each swap.

        Args:
            chosen: positions of one slate, shape (k,).

        Returns:
            Shape (k, m): entry (p, j) is the worth with `chosen[p]` replaced by j, which must not
            be in the slate already.
        """
        base = self.constant + self.values[chosen].sum()
        after = (base - self.values[chosen])[:, None] + self.values
        for weight, u in self.least:
            own = u[chosen]
            rest = np.full(len(own), own.min())
            lowest = int(own.argmin())
            rest[lowest] = np.delete(own, lowest).min(initial=1.0)
            after += weight * np.minimum(rest[:, None], u)
        for weight, groups, zero, one in self.variety:
            own_groups = groups[:, chosen]
            left = own_groups.sum(axis=1, keepdims=True) - own_groups > 0
            number = left.sum(axis=0)[:, None] + (~left).T.astype(np.float64) @ groups
            after += weight * np.clip((number - zero) / (one - zero), 0, 1)
        return np.asarray(after)


def _require_weight(weight: float) -> None:
    if not 0 <= weight < math.inf:
        raise SpecError(f"the weight of a whole-slate term must be >= 0, not {weight!r}")
