"""Committees elected one member at a time: what such rules share.

The order of a slate is the order of election: with no task at hand that is a proportional ranking.
Where several tie for the next seat the first by the tie-break is taken; `winners` lists the slates
that any tie-break reaches, up to a limit. What is compared is exact: floats only tell what may be
best. Alternatives that are on the same ballots are one kind; where limits tell them apart each is
one of its own, and nobody is taken who would make the slate impossible to complete.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Cell, Table
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules._rounds import TRACE_ROUNDS, last_table
from fairagents.rules.approval import silent
from fairagents.rules.base import MOST_WINNERS, Basis, CommitteeRule, Elected, Needs, Ties
from fairagents.rules.duels import kinds_of
from fairagents.rules.trace import TRACE_ROWS
from fairagents.spec import Floats, Ints

State = tuple[Any, ...]
"""What a rule remembers of those taken so far, exact and hashable."""

NEAR = 1e-9
"""Rates that differ by less than this are compared exactly."""


class Field:
    """The alternatives that can be taken, by kind, and the voters who approve something.

    Args:
        profile: the ballots.
        task: the limits.
        ties: the tie-break.
        backwards: whether alternatives are taken out of the slate.
        only: the positions of the alternatives, by default all that are not excluded.

    Attributes:
        members: the positions of each kind's alternatives, those to be taken first in front.
        kinds: the kind of each position, -1 for those that are excluded, shape (m,).
        approved: which voters approve which kind, as 0.0 and 1.0, shape (n, c).
        support: the voters who approve each kind.
        weights: the voters' voices as whole numbers, `scale` times what was said.
        voice: their sum, 1 where there is nobody.
        share: the voters' shares of all voice, shape (n,).
    """

    def __init__(
        self,
        profile: Profile,
        task: Feasible,
        ties: Ties,
        *,
        backwards: bool = False,
        only: Sequence[int] | None = None,
    ) -> None:
        self.profile, self.task, self.places = profile, task, ties.places
        self.backwards = backwards
        heard = profile.approvals.any(axis=1)
        whole, self.scale = profile.whole_weights
        self.weights: list[int] = whole[heard].tolist()
        self.voice = sum(self.weights) or 1
        self.share = np.array([w / self.voice for w in self.weights])
        open_ = np.flatnonzero(task.allowed) if only is None else np.array(sorted(only))
        columns = profile.approvals[heard][:, open_]
        self._sort(open_, columns)

    def _sort(self, open_: Ints, columns: Any) -> None:
        plain = self.task.plain and len(columns) > 0
        firsts, kinds = (
            kinds_of(columns.astype(np.int64)) if plain else (np.arange(len(open_)),) * 2
        )
        if self.task.plain and not plain:  # nobody approves anything
            firsts, kinds = firsts[:1], np.zeros_like(kinds)
        self.kinds = np.full(len(self.places), -1)
        self.kinds[open_] = kinds
        self.approved: Floats = columns[:, firsts].astype(np.float64)
        self.support: list[list[int]] = [[] for _ in firsts]
        for kind, v in zip(*(x.tolist() for x in np.nonzero(self.approved.T)), strict=True):
            self.support[kind].append(v)
        self.members: list[list[int]] = [[] for _ in firsts]
        order = np.argsort(self.places[open_])
        for at in (order[::-1] if self.backwards else order).tolist():
            self.members[kinds[at]].append(int(open_[at]))
        self.sizes = np.array([len(one) for one in self.members])

    def fits(self, taken: Sequence[int], new: int) -> bool:
        """Tell whether the slate can be completed when one more is taken, or taken out."""
        if self.task.plain:
            return True
        if self.backwards:
            return self.task.completable((), [*taken, new])
        return self.task.completable([*taken, new])

    def next(self, kinds: Sequence[int], used: Mapping[int, int]) -> tuple[int, int]:
        """Return which of some kinds, and which of its members, the tie-break takes next."""
        ahead = [(self.members[kind][used.get(kind, 0)], kind) for kind in kinds]
        pick = max if self.backwards else min
        position, kind = pick(ahead, key=lambda pair: int(self.places[pair[0]]))
        return kind, position


class Walk:
    """What was taken, in order, under one tie-break.

    Attributes:
        positions: what was taken.
        taken: their kinds.
        states: the state before each, and the last one.
        rates: the rates of all kinds before each, shape (c,) each.
        tied: whether several kinds tied for each.
    """

    def __init__(self, state: State) -> None:
        self.positions: list[int] = []
        self.taken: list[int] = []
        self.states: list[State] = [state]
        self.rates: list[Floats] = []
        self.tied: list[bool] = []


class Sequential(CommitteeRule):
    """The base of rules that take one at a time, each time the one with the greatest rate."""

    needs: ClassVar[Needs] = "approvals"
    basis: ClassVar[Basis] = "cardinal"

    # -- what a subclass says ----------------------------------------------------------------

    @abc.abstractmethod
    def start(self, field: Field) -> State:
        """Return the state in which nothing is taken."""

    @abc.abstractmethod
    def rates(self, field: Field, states: Sequence[State]) -> Floats:
        """Return how good it is to take each kind next, about 1 in size, shape (states, c).

        Minus infinity says: only when nothing else is left.
        """

    @abc.abstractmethod
    def exact(self, field: Field, state: State, kinds: Sequence[int]) -> Sequence[Any]:
        """Return the same of some kinds exactly, in any scale that keeps their order."""

    @abc.abstractmethod
    def after(self, field: Field, state: State, kind: int) -> State:
        """Return the state when one of a kind is taken."""

    def fills(self) -> bool:
        """Tell whether those with a rate of minus infinity are taken at the end."""
        return True

    def told(self, field: Field, rates: Floats) -> Floats:
        """Return rates as the trace shows them."""
        voice: Floats = rates * (field.voice / field.scale)
        return voice

    def field(self, profile: Profile, task: Feasible, ties: Ties) -> Field:
        """Return what is read of a profile."""
        return Field(profile, task, ties)

    # -- electing ----------------------------------------------------------------------------

    def elect(self, profile: Profile, task: Feasible, ties: Ties) -> Elected:
        """Take one after another."""
        task.require()
        field = self.field(profile, task, ties)
        walk = self.walk(field, Walk(self.start(field)), task.size)
        sets, more = self.reached(field, walk, task.size, MOST_WINNERS)
        winners, beyond = listed(field, sets, walk.positions)
        return Elected(
            walk.positions,
            winners=winners,
            more=more or beyond,
            tables=self.tables(field, walk),
            notes=self.notes(field, walk.positions),
        )

    def walk(self, field: Field, walk: Walk, steps: int, *, free: bool = False) -> Walk:
        """Go on with a walk for so many steps, ties by the tie-break.

        Args:
            field: what is read of a profile.
            walk: where to go on from; it is changed.
            steps: how many to take.
            free: whether limits do not count any more.
        """
        used = Counter(walk.taken)
        left = field.sizes.copy()
        np.subtract.at(left, walk.taken, 1)
        for _ in range(steps):
            row = self.rates(field, [walk.states[-1]])[0]
            kinds = self._best(field, walk.states[-1], row, left > 0, None if free else walk)
            if not kinds:
                break
            kind, position = field.next(kinds, used)
            walk.positions.append(position)
            walk.taken.append(kind)
            walk.rates.append(row)
            walk.tied.append(len(kinds) > 1)
            walk.states.append(self.after(field, walk.states[-1], kind))
            used[kind] += 1
            left[kind] -= 1
        return walk

    def _best(
        self, field: Field, state: State, row: Floats, open_: Any, walk: Walk | Sequence[int] | None
    ) -> list[int]:
        """Return the kinds that tie for the next place."""
        bounded = walk is not None and not field.task.plain
        taken = walk.positions if isinstance(walk, Walk) else walk or ()
        row = np.where(open_, row, np.nan)
        while not np.isnan(top := np.fmax.reduce(row)):
            if top == -math.inf:
                kinds = np.flatnonzero(row == top).tolist() if self.fills() else []
            else:
                kinds = np.flatnonzero(row >= top - NEAR * (1 + abs(top))).tolist()
                if len(kinds) > 1:
                    values = self.exact(field, state, kinds)
                    most = max(values)
                    kinds = [k for k, value in zip(kinds, values, strict=True) if value == most]
            fine = [k for k in kinds if not bounded or field.fits(taken, field.members[k][0])]
            if fine or not kinds:
                return fine
            row[kinds] = np.nan
        return []

    # -- what any tie-break reaches ----------------------------------------------------------

    def reached(
        self, field: Field, walk: Walk, steps: int, most: int
    ) -> tuple[list[tuple[int, ...]], bool]:
        """Return the multisets of kinds that any tie-break takes, each sorted.

        Breadth first from the walk's first tie; at most `most` at a time are followed.

        Returns:
            The multisets, and whether some were not followed.
        """
        own = tuple(sorted(walk.taken))
        if True not in walk.tied or len(own) == int(field.sizes.sum()):
            return [own], False
        at = walk.tied.index(True)
        front = {(tuple(sorted(walk.taken[:at])), walk.states[at]): None}
        ends, more = {own: None}, False
        for step in range(at, steps):
            longer: dict[tuple[tuple[int, ...], State], None] = {}
            rows = self.rates(field, [state for _, state in front])
            for (taken, state), row in zip(front, rows, strict=True):
                if len(longer) > most:
                    break
                kinds = self._ties(field, taken, state, row, steps - step)
                for kind in kinds:
                    key = (tuple(sorted((*taken, kind))), self.after(field, state, kind))
                    longer[key] = None
                if not kinds:
                    ends[taken] = None
            more = more or len(longer) > most
            front = dict(itertools.islice(longer.items(), most))
            if not front:
                break
        return list(ends | {taken: None for taken, _ in front}), more

    def _ties(
        self, field: Field, taken: tuple[int, ...], state: State, row: Floats, seats: int
    ) -> list[int]:
        """Return the kinds to follow: those that tie, or one that is taken in any case.

        One that shares no voter with the others that tie keeps its rate whichever of them is
        taken, and nobody's rate rises; with seats enough for all who tie it is taken on every way,
        so it may be taken now.
        """
        left = field.sizes.copy()
        np.subtract.at(left, list(taken), 1)
        positions = [field.members[k][0] for k in taken] if not field.task.plain else ()
        kinds = self._best(field, state, row, left > 0, positions)
        if len(kinds) > 1 and field.task.plain and int(left[kinds].sum()) <= seats:
            voters = field.approved[:, kinds]
            others = voters.sum(axis=1, keepdims=True) - voters
            alone = (voters * others).sum(axis=0) == 0
            if alone.any():
                return [kinds[int(alone.argmax())]]
        return kinds

    # -- what is told ------------------------------------------------------------------------

    def notes(self, field: Field, chosen: Sequence[int]) -> tuple[str, ...]:
        """Return the conventions that were applied."""
        idle = [i for i in chosen if not field.support[field.kinds[i]]]
        told = list(silent(field.profile))
        if idle:
            names = ", ".join(field.profile.ids[i] for i in idle[:10])
            more = f" and {len(idle) - 10} more" if len(idle) > 10 else ""
            told.append(f"nobody approves {names}{more}: taken by the tie-break")
        return tuple(told)

    def tables(self, field: Field, walk: Walk) -> tuple[Table, ...]:
        """Return the rates by round."""
        return (rate_table("rounds", field, walk, [self.told(field, r) for r in walk.rates]),)


def rate_table(name: str, field: Field, walk: Walk, rates: Sequence[Floats]) -> Table:
    """Return the rates of those not yet taken by round, the first taken first.

    Args:
        name: the table's name.
        field: what was read.
        walk: what was taken.
        rates: what is shown of each round, shape (c,) each; what is not finite is left out.
    """
    shown = rates[:TRACE_ROUNDS]
    order = walk.positions[:TRACE_ROWS]
    if rates and len(order) < TRACE_ROWS:
        last = np.where(np.isfinite(rates[-1]), walk.rates[-1], -math.inf)
        rest = np.setdiff1d(np.flatnonzero(field.kinds >= 0), walk.positions)
        best = np.lexsort((field.places[rest], -last[field.kinds[rest]]))
        order = [*order, *rest[best[: TRACE_ROWS - len(order)]].tolist()]
    kinds = field.kinds[order]
    until = [*range(1, len(walk.positions) + 1)][:TRACE_ROWS] + [math.inf] * len(order)
    cells: list[list[Cell]] = []
    for number, row in enumerate(shown, 1):
        values = zip(row[kinds].tolist(), until, strict=False)
        cells.append([v if number <= end and math.isfinite(v) else None for v, end in values])
    table = last_table(name, [field.profile.ids[i] for i in order], cells, range(1, len(shown) + 1))
    return table.model_copy(update={"cut": len(field.places) - len(table.rows)})


def listed(
    field: Field, sets: Sequence[tuple[int, ...]], chosen: Sequence[int]
) -> tuple[list[tuple[int, ...]], bool]:
    """Return multisets of kinds as sets of positions, the chosen one first; and whether cut."""
    own = tuple(sorted(chosen))
    found: dict[tuple[int, ...], None] = {own: None}
    for one in itertools.chain.from_iterable(_members(field, kinds) for kinds in sets):
        if one not in found and len(found) == MOST_WINNERS:
            return list(found), True
        found[one] = None
    return list(found), False


def _members(field: Field, kinds: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of positions that a multiset of kinds stands for."""
    parts = [itertools.combinations(field.members[k], c) for k, c in Counter(kinds).items()]
    # One more than are listed is enough of each kind.
    for chosen in itertools.product(*(itertools.islice(p, MOST_WINNERS + 1) for p in parts)):
        yield tuple(sorted(itertools.chain.from_iterable(chosen)))
