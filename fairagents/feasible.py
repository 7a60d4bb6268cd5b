"""What may be decided: labelled linear limits on who gets how much, and exact optima over them."""

from __future__ import annotations

import functools
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairagents._limits import Limits, compile_task
from fairagents._programme import Programme, Sense, clash, possible, proven
from fairagents._slates import Slates, slate_extremes
from fairagents.errors import InfeasibleError, SpecError
from fairagents.outcome import Linear, Outcome, Solution
from fairagents.spec import Floats, Ints
from fairagents.task import Assign, Divide, Exclude, Include, Slate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fairagents.case import Pool

_GAP = 1e-6
_INSIDE = 0.999  # so that rounding does not lift a proven gap above the one asked for


class Feasible:
    """The outcomes that a task allows, as amounts x[r, a] under labelled linear limits.

    Build one with `Feasible.of`. Amounts are held flat, shape (R * m,), position r * m + a. Every
    limit has one label, which messages and clashes name. Where an alternative's membership of a
    group is unknown it counts as outside: for a `GroupLimit` always, for `AtMostPer` an unknown
    category is no category, for `Exclude` as its `unknown` says. `AtMostPer` and `Clash` hold per
    recipient; counts mean nothing for divisible amounts, so `Divide` refuses both, and `Include`.

    Attributes:
        task: the task it was compiled from.
        ids: the alternatives, m of them.
        recipients: the recipients, R of them; `("everyone",)` for a slate.
        size: the size of the slate, 0 for other tasks.
        integral: whether amounts are 0 or 1.
        allowed: shape (m,): which alternatives are not excluded.
        plain: whether a slate has no limits but its size and exclusions.
        labels: the labels of all limits.

    >>> feasible = Feasible.of(Slate(size=2), ids=("a", "b", "c"))
    >>> feasible.best([0.2, 0.9, 0.5]).outcome.ids
    ('b', 'c')
    >>> feasible.violations(Outcome.slate(["a"]))
    ('slate size 2: got 1',)
    """

    def __init__(self, task: Slate | Divide | Assign, limits: Limits) -> None:
        self.task, self._limits = task, limits
        self.ids, self.recipients, self.labels = limits.ids, limits.recipients, limits.labels
        self.integral, self.allowed = limits.integral, limits.allowed
        self._shape = len(self.recipients), len(self.ids)
        self.size = task.size if isinstance(task, Slate) else 0
        self._kinds = {type(limit) for limit in task.limits}
        self.plain = bool(self.size) and self._kinds <= {Exclude}

    @classmethod
    def of(
        cls, task: Slate | Divide | Assign, pool: Pool | None = None, *, ids: Sequence[str] = ()
    ) -> Feasible:
        """Compile a task.

        Args:
            task: what is to be decided.
            pool: the alternatives, with the columns that limits read.
            ids: without a pool, the alternatives; with one, those of its ids that are on offer
                (default all). A `Divide` or `Assign` without either is over its own keys.

        Raises:
            SpecError: an id is unknown or given twice, a limit reads columns but there is no
                pool, or a limit makes no sense for the task.
        """
        return cls(task, compile_task(task, pool, tuple(ids)))

    def __repr__(self) -> str:
        return (
            f"Feasible({self.task.kind}, {len(self.recipients)} recipients x {len(self.ids)} "
            f"alternatives, {len(self.labels)} limits)"
        )

    # -- outcomes and amounts ---------------------------------------------------------------

    def vector(self, outcome: Outcome) -> Floats:
        """Return an outcome as amounts, shape (R * m,); a `SpecError` for an unknown id."""
        x, problems = self._limits.read(outcome)
        if problems:
            raise SpecError("; ".join(problems))
        return x

    def outcome(self, x: Floats, rank: Floats | None = None) -> Outcome:
        """Return amounts as an outcome; a slate is ordered by falling `rank`, else by position."""
        if not self.size:
            return Outcome.of(self._limits.shares(x))
        chosen = np.flatnonzero(x > 0.5)
        if rank is not None:
            chosen = chosen[np.argsort(-rank[chosen], kind="stable")]
        return Outcome.slate(self.ids[i] for i in chosen)

    def violations(self, outcome: Outcome) -> tuple[str, ...]:
        """Return what is wrong with an outcome, in words with numbers; empty when it is feasible.

        Sums may miss a limit by 1e-6 (relative to limits above 1).
        """
        x, problems = self._limits.read(outcome)
        if self.integral:
            problems += [
                f"{what!r} for {to!r} is given as {amount:g}, not as 1"
                for to, what, amount in outcome.shares
                if amount != 1
            ]
        held = self._limits.held(x)
        broken = self._limits.broken(held)
        return (*problems, *(f"{self.labels[i]}: got {held[i]:g}" for i in broken))

    def check(self, outcome: Outcome) -> None:
        """Raise an `InfeasibleError` that lists the violations, if there are any."""
        if broken := self.violations(outcome):
            raise InfeasibleError(f"not a feasible {self.task.kind}: {'; '.join(broken)}", broken)

    def clash(self) -> tuple[str, ...]:
        """Return a minimal set of limits that cannot hold together; empty if the task is feasible.

        Leaving out any one of them lets the others hold together (a deletion filter).
        """
        return clash(self._limits)

    def require(self) -> None:
        """Make sure that some outcome meets all limits.

        Raises:
            InfeasibleError: none does; it names a minimal set of limits that clash.
        """
        enough = self.plain and int(self.allowed.sum()) >= self.size
        if not (enough or possible(self._limits)):
            raise self.infeasible()

    def infeasible(self) -> InfeasibleError:
        """Return the error that says which limits clash."""
        limits = self.clash()
        if not limits:
            return InfeasibleError(f"no feasible {self.task.kind} was found within the time limit")
        return InfeasibleError(
            f"no {self.task.kind} of {len(self.ids)} alternatives meets all limits; these clash: "
            + "; ".join(limits),
            limits,
        )

    # -- optima -----------------------------------------------------------------------------

    def programme(self) -> Programme:
        """Return a programme over the amounts, to which more can be added."""
        return Programme(self._limits, self.size)

    def best(
        self,
        values: ArrayLike,
        *,
        sense: Sense = "max",
        time_limit: float = 10.0,
        terms: Sequence[Linear] = (),
    ) -> Solution:
        """Return the outcome with the greatest (or least) sum of values times amounts.

        Args:
            values: shape (m,) for a slate, else (R, m).
            sense: which end.
            time_limit: seconds; when they are over, `optimal` is False and `bound` says how good
                an outcome might be.
            terms: worth functions added to the sum, with their whole-slate terms.

        Raises:
            InfeasibleError: no outcome meets all limits.
            SpecError: a shape is wrong or a value not finite.
        """
        table = np.asarray(values, dtype=np.float64)
        shape = self._shape[1:] if self.size else self._shape
        if table.shape not in (shape, self._shape):
            raise SpecError(f"values take shape {shape}, not {table.shape}")
        self._fit(terms)
        return self._best(Linear(table).plus(terms), sense, time_limit)

    def _best(self, worth: Linear, sense: Sense, time_limit: float) -> Solution:
        start = time.perf_counter()
        sign = 1 if sense == "max" else -1
        if self.size and worth.additive and self._slates.matroid:
            order = np.argsort(-sign * worth.values, kind="stable")
            x = self._chosen(self.fill(order))
            return self._solution(x, [worth], sign, start=start)
        programme = self.programme()
        cells, weights = programme.worth(worth, sense)
        found = programme.solve(cells, -sign * weights, time_limit=time_limit, gap=_GAP)
        x = self.amounts(found)
        bound = worth.constant - sign * proven(found)
        return self._solution(x, [worth], sign, bound=bound, gap=_GAP, start=start)

    def _fit(self, worths: Sequence[Linear]) -> None:
        for worth in worths:
            if len(worth.values) != self._limits.cells:
                raise SpecError(
                    f"a worth function takes {len(self.recipients)} x {len(self.ids)} values, "
                    f"not {len(worth.values)}"
                )
            if not (self.size or worth.additive):
                raise SpecError(f"a {self.task.kind} takes no whole-slate terms")

    def _chosen(self, positions: Sequence[int] | Ints) -> Floats:
        x = np.zeros(len(self.ids))
        x[np.asarray(positions)] = 1
        return x

    def _least(self, worths: Sequence[Linear], x: Floats) -> float:
        if self.size:
            chosen = np.flatnonzero(x > 0.5)[None]
            return min(float(worth.of(chosen)[0]) for worth in worths)
        return min(float(worth.constant + worth.values @ x) for worth in worths)

    def amounts(self, found: Any) -> Floats:
        """Return the amounts a programme found; an `InfeasibleError` if there are none."""
        if found.x is None:
            raise self.infeasible()
        x = np.asarray(found.x[: self._limits.cells])
        return x.round() if self.integral else x.clip(0)

    def _solution(
        self,
        x: Floats,
        worths: Sequence[Linear],
        sign: int = 1,
        *,
        start: float,
        bound: float | None = None,
        gap: float = 0.0,
        status: str = "time limit",
    ) -> Solution:
        value = self._least(worths, x)
        # A bound from floating point may fall short of the value by a rounding error.
        bound = value if bound is None else sign * max(sign * bound, sign * value)
        distance = abs(bound - value) / max(1.0, abs(value))
        optimal = distance <= gap
        rank = np.asarray(sign * sum(worth.values for worth in worths))
        return Solution(
            outcome=self.outcome(x, rank),
            value=value,
            bound=bound,
            gap=distance,
            optimal=optimal,
            status="optimal" if optimal else status,
            x=x,
            seconds=time.perf_counter() - start,
        )

    def extremes(self, worth: Linear, *, time_limit: float = 5.0) -> tuple[float, float, bool]:
        """Return the lowest and the highest worth of any feasible outcome, and whether proven.

        Without a proof within `time_limit` seconds each way, the two are outer bounds.

        Raises:
            InfeasibleError: no outcome meets all limits.
        """
        self._fit([worth])
        if self.plain and not worth.variety and len(worth.least) <= 1:
            free = np.flatnonzero(self.allowed)
            if len(free) < self.size:
                raise self.infeasible()
            return *slate_extremes(worth, free, self.size), True
        ends = [self._best(worth, "min", time_limit), self._best(worth, "max", time_limit)]
        low, high = (end.value if end.optimal else end.bound for end in ends)
        return low, high, all(end.optimal for end in ends)

    def floor_bound(self, worths: Sequence[Linear]) -> float:
        """Return a bound from above on `floor`: the value of its linear relaxation.

        Raises:
            InfeasibleError: not even fractional amounts meet all limits.
        """
        return -proven(self._relaxed(worths))

    def _relaxed(self, worths: Sequence[Linear]) -> Any:
        if not worths:
            raise SpecError("a floor takes at least one worth function")
        self._fit(worths)
        found = self.programme().maximin(worths, relaxed=True)
        if found.x is None:
            raise self.infeasible()
        return found

    def floor(
        self,
        worths: Sequence[Linear],
        *,
        mode: Literal["milp", "local"] = "milp",
        gap: float = 1e-3,
        time_limit: float = 5.0,
        seed: int = 0,
    ) -> Solution:
        """Return the outcome whose least worth over several worth functions is greatest.

        `max over feasible x of min_s U_s(x)`. For a slate, swap local search comes first; the
        linear relaxation bounds what is left to gain; an exact search follows only if that is
        more than `gap`. A division is one linear programme.

        Args:
            worths: the worth functions, at least one.
            mode: `"local"` never starts the exact search (an assignment has no other).
            gap: when to be content, as in `Solution.gap`.
            time_limit: seconds for the exact search.
            seed: for the random starts of the local search.

        Raises:
            InfeasibleError: no outcome meets all limits.
        """
        start = time.perf_counter()
        relaxed = self._relaxed(worths)
        bound = -proven(relaxed)
        if not self.integral:
            x = self.amounts(relaxed)
            return self._solution(x, worths, bound=bound, gap=_GAP, start=start)
        best = None
        if self.size:
            self._require_slate()
            x = self._chosen(self._slates.search(worths, relaxed.x[: len(self.ids)], seed))
            best = self._solution(x, worths, bound=bound, gap=gap, status="local", start=start)
            if best.optimal or mode == "local":
                return best
        found = self.programme().maximin(
            worths, relaxed=False, time_limit=time_limit, gap=gap * _INSIDE
        )
        ends = [] if best is None else [best.x]
        if best is None or found.x is not None:
            ends.append(self.amounts(found))
        x = max(ends, key=lambda end: self._least(worths, end))
        # HiGHS's presolve is known to err now and then: what a solution contradicts is no bound.
        claim = -proven(found)
        if best is None or claim > best.value - _GAP:
            bound = min(bound, claim)
        return self._solution(x, worths, bound=bound, gap=gap, start=start)

    # -- building outcomes ------------------------------------------------------------------

    @functools.cached_property
    def _slates(self) -> Slates:
        if not self.size:
            raise SpecError(f"only a slate is filled in order; this is a {self.task.kind} task")
        simple = self._kinds <= {Exclude, Include}
        return Slates(self._limits, self.size, simple)

    def _require_slate(self) -> None:
        if self._slates.some is None:
            raise self.infeasible()

    def completable(self, prefix: Sequence[int], banned: Collection[int] = ()) -> bool:
        """Tell whether a partial slate can be completed within all limits.

        Args:
            prefix: positions already chosen.
            banned: positions that must not be used.

        Raises:
            SpecError: the task is no slate.
        """
        return self._slates.completable([int(i) for i in prefix], frozenset(int(i) for i in banned))

    def extendable(self, given: Sequence[tuple[int, int]]) -> bool:
        """Tell whether some outcome gives at least one unit for each (recipient, alternative)."""
        fixed = np.full(self._limits.cells, np.nan)
        fixed[[r * len(self.ids) + a for r, a in given]] = 1.0
        return self.programme().any(fixed).x is not None

    def fill(self, order: Sequence[int] | Ints) -> tuple[int, ...]:
        """Go through an order, best first, and take what keeps the slate completable.

        For a plain slate these are the first `size` that are allowed.

        Args:
            order: positions of alternatives; those left out follow by position.

        Returns:
            The positions of a feasible slate, in the order they were taken.

        Raises:
            InfeasibleError: no slate meets all limits.
            SpecError: the task is no slate.
        """
        self._require_slate()
        return self._slates.fill(np.asarray(order, dtype=np.int64).tolist())

    def random(self, rng: np.random.Generator) -> Outcome:
        """Return a random feasible outcome.

        A slate is uniform over all ordered feasible slates when its only limits are size,
        exclusions and inclusions; with others, alternatives are taken in random order while the
        slate stays completable, which is not uniform. Divisions and assignments give in random
        order what the limits leave room for; if lower limits stay unmet 20 times, a random
        objective is maximised.

        Raises:
            InfeasibleError: no outcome meets all limits.
        """
        if self.size:
            chosen = rng.permutation(self.fill(rng.permutation(len(self.ids))))
            return Outcome.slate(self.ids[i] for i in chosen)
        x = self._limits.random(rng)
        return self.best(rng.random(self._shape)).outcome if x is None else self.outcome(x)
