"""From a task to its numeric form: labelled rows over the cells of a table of amounts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairagents.errors import SpecError, did_you_mean
from fairagents.outcome import EVERYONE, Outcome
from fairagents.spec import Bools, Floats, Ints, Predicate, require_unique
from fairagents.task import (
    Assign,
    AtMostPer,
    Clash,
    Divide,
    Exclude,
    GroupLimit,
    Include,
    Limit,
    Slate,
)

if TYPE_CHECKING:
    from fairagents.case import Pool

TOLERANCE = 1e-6
_TRIES = 20


class Row(NamedTuple):
    """One limit: `low <= sum of x[cells] <= high`, where cell r * m + a is (recipient, id)."""

    label: str
    cells: Ints
    low: float = 0.0
    high: float = np.inf


class Limits:
    """All limits of a task, as arrays; every coefficient is 1.

    Attributes:
        labels: one label for each of n rows.
        low: the least sum of each row, shape (n,).
        high: the greatest, shape (n,).
        row: the row of each entry, shape (entries,).
        cell: the cell of each entry, shape (entries,).
        ids: the alternatives, m of them.
        recipients: the recipients, R of them.
        cells: the number of cells, R * m.
        integral: whether amounts are 0 or 1.
        allowed: which alternatives are not excluded, shape (m,).
    """

    def __init__(
        self,
        rows: Iterable[Row],
        ids: tuple[str, ...],
        recipients: tuple[str, ...],
        integral: bool,
        allowed: Bools,
    ) -> None:
        # A limit given twice is one limit, so that a clash can name it.
        unique = list({(r.label, r.cells.tobytes(), r.low, r.high): r for r in rows}.values())
        self.labels = tuple(r.label for r in unique)
        self.low = np.array([r.low for r in unique])
        self.high = np.array([r.high for r in unique])
        self.cell = np.concatenate([r.cells for r in unique])
        self.row = np.repeat(np.arange(len(unique)), [len(r.cells) for r in unique])
        self.ids, self.recipients = ids, recipients
        self.integral, self.allowed = integral, allowed
        self.cells = len(ids) * len(recipients)
        if integral:
            self.low = np.ceil(self.low - TOLERANCE)
            self.high = np.floor(self.high + TOLERANCE)

    def read(self, outcome: Outcome) -> tuple[Floats, list[str]]:
        """Return an outcome as amounts, shape (cells,), and what of it names nothing known."""
        x, m = np.zeros(self.cells), len(self.ids)
        row = {one: r * m for r, one in enumerate(self.recipients)}
        problems = []
        for to, what, amount in outcome.shares:
            if to not in row:
                problems.append(f"{to!r} is no recipient; {did_you_mean(to, row)}")
            elif what not in self._place:
                problems.append(f"{what!r} is no alternative; {did_you_mean(what, self._place)}")
            else:
                x[row[to] + self._place[what]] = amount
        return x, problems

    @functools.cached_property
    def _place(self) -> dict[str, int]:
        return {one: i for i, one in enumerate(self.ids)}

    def shares(self, x: Floats) -> Iterator[tuple[str, str, float]]:
        """Yield who gets how much of what, by recipient and alternative."""
        for cell in np.flatnonzero(x > (0.5 if self.integral else 1e-9)).tolist():
            r, a = divmod(cell, len(self.ids))
            yield self.recipients[r], self.ids[a], 1.0 if self.integral else float(x[cell])

    def held(self, x: Floats) -> Floats:
        """Return the sum of each row, shape (n,)."""
        sums = np.bincount(self.row, weights=x[self.cell], minlength=len(self.labels))
        return sums.astype(np.float64)

    def broken(self, held: Floats) -> Ints:
        """Return the rows that sums break by more than 1e-6, relative to limits above 1."""
        under = held < self.low - TOLERANCE * np.maximum(1, self.low)
        return np.flatnonzero(under | (held > self.high + TOLERANCE * np.maximum(1, self.high)))

    def met(self, x: Floats) -> bool:
        """Tell whether amounts meet all limits."""
        return not len(self.broken(self.held(x)))

    def greedy(self, order: Sequence[int], x: Floats) -> Floats:
        """Give each cell in order as much as the upper limits leave room for."""
        x, held = x.copy(), self.held(x)
        for cell in order:
            rows = self._rows_of[cell]
            room = float((self.high[rows] - held[rows]).min(initial=np.inf))
            if self.integral:
                room = float(room >= 1 and x[cell] == 0)
            if room > 0:
                x[cell] += room
                held[rows] += room
        return x

    def random(self, rng: np.random.Generator) -> Floats | None:
        """Give the cells in random order; None if lower limits stay unmet 20 times."""
        for _ in range(_TRIES):
            x = self.greedy(rng.permutation(self.cells).tolist(), np.zeros(self.cells))
            if self.met(x):
                return x
        return None

    @functools.cached_property
    def _rows_of(self) -> list[Ints]:
        order = np.argsort(self.cell, kind="stable")
        ends = np.searchsorted(self.cell[order], np.arange(1, self.cells))
        return np.split(self.row[order], ends)

    @functools.cached_property
    def member(self) -> Bools:
        """Which cell is in which row, shape (n, cells)."""
        member = np.zeros((len(self.labels), self.cells), dtype=bool)
        member[self.row, self.cell] = True
        return member

    @functools.cached_property
    def laminar(self) -> bool:
        """Whether any two rows are nested or disjoint, leaving out cells that must be 0.

        The feasible 0/1 vectors of a given sum are then the bases of a matroid (a laminar family
        with lower and upper bounds; Murota, *Discrete Convex Analysis*, 2003, as commonly stated,
        source not re-read): greedy is optimal, and what can be added at all can be swapped in.
        """
        shut = self.member[self.high <= 0].any(axis=0)
        rows = self.member[:, ~shut].astype(np.float64)
        common, own = rows @ rows.T, rows.sum(axis=1)
        return bool(((common == 0) | (common == np.minimum(own[:, None], own))).all())

    def blocked(self, chosen: Ints) -> Bools:
        """Return which swaps (position in `chosen`, new cell) break a row, shape (k, cells)."""
        inside = self.member[:, chosen]
        held = inside.sum(axis=1)
        full, bare = held >= self.high, held <= self.low
        over = (~inside[full]).T.astype(np.float64) @ self.member[full]
        under = inside[bare].T.astype(np.float64) @ ~self.member[bare]
        bad = (over + under) > 0
        bad[:, chosen] = True
        return np.asarray(bad)

    def swap_in(self, chosen: Ints, new: int) -> Bools:
        """Return at which positions of `chosen` a new cell can stand instead, shape (k,)."""
        inside = self.member[:, chosen]
        after = (inside.sum(axis=1) + self.member[:, new])[:, None] - inside
        fits = (after >= self.low[:, None]) & (after <= self.high[:, None])
        return np.asarray(fits.all(axis=0))


def compile_task(task: Slate | Divide | Assign, pool: Pool | None, ids: tuple[str, ...]) -> Limits:
    """Compile a task over a pool, over ids, or over its own keys; see `Feasible.of`."""
    return _Compiler(task, pool, ids).compile()


class _Compiler:
    def __init__(
        self, task: Slate | Divide | Assign, pool: Pool | None, ids: tuple[str, ...]
    ) -> None:
        self.task, self.pool = task, pool
        match task:
            case Slate():
                self.recipients: tuple[str, ...] = (EVERYONE,)
                keys: tuple[str, ...] = ()
            case Divide():
                self.recipients, keys = tuple(task.need), tuple(task.capacity)
            case Assign():
                self.recipients, keys = tuple(task.load), tuple(task.seats)
        known = pool.ids if pool is not None else ids or keys
        if not known:
            raise SpecError(f"a {task.kind} is compiled over a pool or over ids; there are none")
        if not self.recipients:
            raise SpecError(f"a {task.kind} task names no recipient")
        self.ids = ids or known
        require_unique(self.ids, "alternative")
        self.known, self.place = frozenset(known), {one: i for i, one in enumerate(self.ids)}
        # The rows of the pool that are on offer.
        self.kept: Ints | slice = slice(None)
        if pool is not None and ids:
            self._positions(ids, "ids")
            self.kept = np.array([pool.index[one] for one in ids])
        self._positions(keys, f"{task.kind} task")

    def compile(self) -> Limits:
        """Return the numeric form."""
        side = [row for limit in self.task.limits for row in self._side(limit)]
        allowed = np.ones(len(self.ids), dtype=bool)
        for limit in self.task.limits:
            if isinstance(limit, Exclude):
                for _, members in self._excluded(limit):
                    allowed[members] = False
        own: Iterator[Row]
        match self.task:
            case Slate():
                size, everything = self.task.size, self._cells(range(len(self.ids)))
                own = iter([Row(f"slate size {size}", everything, size, size)])
            case Divide():
                own = self._divide(self.task, allowed)
            case Assign():
                own = self._assign(self.task)
        integral = not isinstance(self.task, Divide)
        return Limits([*own, *side], self.ids, self.recipients, integral, allowed)

    def _cells(self, members: Iterable[int] | Ints, recipient: int | None = None) -> Ints:
        """Return the cells of alternatives, for one recipient or for all."""
        columns = np.fromiter(members, dtype=np.int64)
        rows = np.arange(len(self.recipients)) if recipient is None else np.array([recipient])
        return (rows[:, None] * len(self.ids) + columns).ravel()

    def _positions(self, ids: Iterable[str], where: str) -> list[int]:
        """Return the positions of ids; those of the pool that are not on offer have none."""
        found = []
        for one in ids:
            if one not in self.known:
                raise SpecError(
                    f"{where}: {one!r} is no alternative; {did_you_mean(one, self.known)}"
                )
            if one in self.place:
                found.append(self.place[one])
        return found

    def _need_pool(self, what: str) -> Pool:
        if self.pool is None:
            raise SpecError(f"the limit {what!r} reads columns: Feasible.of needs a pool")
        return self.pool

    def _group(self, group: Predicate, answers: tuple[int, ...]) -> Ints:
        holds = self._need_pool(group.describe()).holds(group)[self.kept]
        return np.flatnonzero(np.isin(holds, answers))

    def _excluded(self, limit: Exclude) -> Iterator[tuple[str, list[int] | Ints]]:
        """Yield a label and the positions of what is excluded."""
        for one in limit.ids:
            yield f"excludes {one}", self._positions([one], "Exclude.ids")
        if limit.group is not None:
            answers = (1, -1) if limit.unknown == "yes" else (1,)
            yield f"excludes {limit.group.describe()}", self._group(limit.group, answers)

    def _side(self, limit: Limit) -> Iterator[Row]:
        """Return the rows of one side constraint."""
        if isinstance(self.task, Divide) and isinstance(limit, AtMostPer | Clash | Include):
            raise SpecError(
                f"a divide task takes no {limit.kind!r} limit: its amounts are divisible; "
                "bound them by a 'group' limit"
            )
        match limit:
            case GroupLimit():
                yield Row(
                    f"{_between(limit)} with {limit.group.describe()}",
                    self._cells(self._group(limit.group, (1,))),
                    limit.at_least or 0.0,
                    np.inf if limit.at_most is None else limit.at_most,
                )
            case AtMostPer():
                yield from self._at_most_per(limit)
            case Include():
                for one in limit.ids:
                    cells = self._cells(self._positions([one], "Include.ids"))
                    yield Row(f"includes {one}", cells, 1.0)
            case Exclude():
                for label, members in self._excluded(limit):
                    yield Row(label, self._cells(members), high=0.0)
            case Clash():
                members = self._positions(limit.ids, "Clash.ids")
                label = f"at most one of {', '.join(limit.ids)}"
                for r, suffix in self._each():
                    yield Row(label + suffix, self._cells(members, r), high=1.0)

    def _each(self) -> Iterator[tuple[int, str]]:
        """Yield each recipient's position, and how the label of a limit on it ends."""
        for r, to in enumerate(self.recipients):
            yield r, "" if isinstance(self.task, Slate) else f" for {to}"

    def _at_most_per(self, limit: AtMostPer) -> Iterator[Row]:
        start = f"at most {limit.count} per {limit.column}"
        labels, codes = self._need_pool(start).category(limit.column)
        for code, value in enumerate(labels):
            members = np.flatnonzero(codes[self.kept] == code)
            if len(members) > limit.count:
                for r, suffix in self._each():
                    cells = self._cells(members, r)
                    yield Row(f"{start}: {value}{suffix}", cells, high=float(limit.count))

    def _divide(self, task: Divide, allowed: Bools) -> Iterator[Row]:
        for a, what in enumerate(self.ids):
            capacity = task.capacity.get(what, 0.0)
            yield Row(f"capacity of {what}", self._cells([a]), high=capacity)
            if not capacity:
                continue
            needs = [task.need[to].get(what, 0.0) for to in self.recipients]
            for r, (to, need) in enumerate(zip(self.recipients, needs, strict=True)):
                yield Row(f"need of {to} for {what}", self._cells([a], r), high=need)
            if task.exhaust and allowed[a]:
                given = min(capacity, sum(needs))
                yield Row(f"nothing of {what} left over while needed", self._cells([a]), given)

    def _assign(self, task: Assign) -> Iterator[Row]:
        for a, what in enumerate(self.ids):
            yield Row(f"seats of {what}", self._cells([a]), high=float(task.seats.get(what, 0)))
        for r, to in enumerate(self.recipients):
            everything = self._cells(range(len(self.ids)), r)
            yield Row(f"load of {to}", everything, high=float(task.load[to]))
            if to in task.acceptable:
                fine = self._cells(self._positions(task.acceptable[to], "acceptable"), r)
                yield Row(f"what {to} accepts", np.setdiff1d(everything, fine), high=0.0)


def _between(limit: GroupLimit) -> str:
    if limit.at_least is None:
        return f"at most {limit.at_most:g}"
    if limit.at_most is None:
        return f"at least {limit.at_least:g}"
    return f"{limit.at_least:g} to {limit.at_most:g}"
