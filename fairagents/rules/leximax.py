"""Phragmén's rule as a whole: loads as even as they can be, the greatest first."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fairagents._programme import Programme
from fairagents.decision import Table
from fairagents.errors import SpecError
from fairagents.rules._exact import MOST_SOLVED, Best, committee_of
from fairagents.rules._walk import Field
from fairagents.rules._whole import Whole, programme_of
from fairagents.rules.approval import ONE_SEAT
from fairagents.rules.phragmen import SequentialPhragmen
from fairagents.spec import Floats, Ints

MOST_SEATS = 15
"""The exact loads look at all parts of a slate: more seats than this are refused."""

SLACK = 1e-5
"""How much of an even load a later stage may take back from an earlier one."""

MOST_STAGES = 64
"""Loads are made even in at most so many stages."""


class LeximaxPhragmen(Whole):
    """Leximax-Phragmén: the slate whose members are carried as evenly as can be.

    Each member is a load of 1 that those who approve it carry; x_v is what a unit of voter v's
    voice carries. Over slates and ways to carry them the greatest x is made as small as can be,
    then the voice that carries it, then the next greatest, and so on. First of all as few members
    as possible are approved by nobody; these weigh nothing. Few slates are all looked at, exactly;
    else a sequence of integer programmes bounds the sum of the greatest loads stage by stage
    (Ogryczak & Sliwinski 2006), within 1e-5. The order of a slate is that of seqPhragmén within it.
    Source: Phragmén 1894; Brill et al. 2017 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> from fairagents.task import Slate
    >>> profile = Profile.from_approvals([["a", "b"], ["a", "b"], ["c"], ["d"]])
    >>> sorted(LeximaxPhragmen()(profile, Slate(size=3)).winners)
    [('a', 'c', 'd'), ('b', 'c', 'd')]
    """

    formula: ClassVar[str] = (
        "leximin over S and y of sort_v x_v, greatest first; x_v = sum_a y_va / w_v, "
        "sum_{v: a in A_v} y_va = 1"
    )
    source: ClassVar[str] = "Phragmén 1894; Brill et al. 2017 (as commonly stated)"
    complexity: ClassVar[str] = "NP-hard: a sequence of integer programmes, at most 15 seats"
    holds: ClassVar[Mapping[str, str]] = {
        **ONE_SEAT,
        "jr": "it follows from pjr",
        "pjr": "Brill et al. 2017",
    }

    @property
    def sequential(self) -> SequentialPhragmen:
        """SeqPhragmén."""
        return SequentialPhragmen()

    def score(self, field: Field, committee: Sequence[int]) -> tuple[Any, ...]:
        """Return how many members are approved, and then their loads, negated."""
        return key(field, committee) if len(committee) <= MOST_SEATS else ()

    def solve(self, field: Field, start: tuple[int, ...]) -> Best:
        """Search by integer programmes.

        Raises:
            SpecError: there are more than 15 seats.
        """
        if len(start) > MOST_SEATS:
            raise SpecError(
                f"{self.label} takes at most {MOST_SEATS} seats, not {len(start)}: use seq_phragmen"
            )
        return _Stages(field).run(start, self.time_limit)

    def tables(self, field: Field, order: Sequence[int], best: Best) -> tuple[Table, ...]:
        """Return who carries what."""
        return (_table(field, order),) if len(order) <= MOST_SEATS else ()


# -- the loads of one slate ------------------------------------------------------------------------


@dataclass(frozen=True)
class Level:
    """Members who are carried alike: `members` of a slate by `voters`, `load` per unit of voice."""

    members: tuple[int, ...]
    voters: tuple[int, ...]
    voice: int
    load: Fraction


def levels(field: Field, committee: Sequence[int]) -> list[Level]:
    """Return who carries what when loads are as even as can be, the greatest load first.

    The greatest load is that of the part of the slate with the most members per voice that
    approves any of them; its voters carry nothing else, and so on with the others.
    """
    kinds = field.kinds[list(committee)]
    masks = (field.approved[:, kinds] @ (1 << np.arange(len(kinds)))).astype(np.int64).tolist()
    left = sum(1 << i for i in range(len(kinds)) if field.support[kinds[i]])
    voters = [v for v, mask in enumerate(masks) if mask]
    found = []
    while left:
        part, voice = _densest(left, [(masks[v] & left, field.weights[v]) for v in voters])
        own = tuple(v for v in voters if masks[v] & part)
        members = tuple(committee[i] for i in range(len(kinds)) if part >> i & 1)
        found.append(Level(members, own, voice, Fraction(len(members), voice)))
        left &= ~part
        voters = [v for v in voters if not masks[v] & part]
    return found


def _densest(left: int, voters: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the largest part with the most members per voice that approves any, and that voice."""
    bits = [i for i in range(left.bit_length()) if left >> i & 1]
    inside: Any = np.zeros(1 << len(bits), dtype=object)
    for mask, weight in voters:
        inside[sum(1 << at for at, i in enumerate(bits) if mask >> i & 1)] += weight
    total = int(inside.sum())
    # inside[s]: the voice of those who approve nothing outside s.
    for at in range(len(bits)):
        halves = inside.reshape(-1, 2, 1 << at)
        halves[:, 1] += halves[:, 0]
    parts = range(1, len(inside))
    whole = len(inside) - 1
    voice = [total - int(inside[whole ^ s]) for s in parts]
    size = [s.bit_count() for s in parts]
    best, at_least = (1, 1), 0
    for count, w in zip(size, voice, strict=True):
        if count * best[1] > best[0] * w or not at_least:
            best, at_least = (count, w), 1
    part = 0
    for s, count, w in zip(parts, size, voice, strict=True):
        if count * best[1] == best[0] * w:
            part |= s
    return sum(1 << i for at, i in enumerate(bits) if part >> at & 1), voice[part - 1]


def key(field: Field, committee: Sequence[int]) -> tuple[Any, ...]:
    """Return what sorts slates, more is better: members who are approved, then loads."""
    found = levels(field, committee)
    carried = sum(len(level.members) for level in found)
    return (carried, *(x for level in found for x in (-level.load, -level.voice)))


def _table(field: Field, order: Sequence[int]) -> Table:
    profile = field.profile
    heard = np.flatnonzero(profile.approvals.any(axis=1)).tolist()
    rows = []
    for level in levels(field, order):
        names = ", ".join(profile.ids[i] for i in level.members)
        voters = ", ".join(profile.voters[heard[v]] for v in level.voters[:20])
        voice = level.voice / field.scale
        rows.append((names, voters, len(level.members), voice, len(level.members) / voice))
    columns = ("members", "voters", "number of members", "voice", "load per unit of voice")
    return Table(name="loads", columns=columns, rows=tuple(rows))


# -- the most even slate ---------------------------------------------------------------------------


class _Stages:
    """Integer programmes that make the sums of the greatest loads as small as can be."""

    def __init__(self, field: Field) -> None:
        self._field, self._task = field, field.task
        self._programme = programme = programme_of(field)
        open_ = np.flatnonzero(field.kinds >= 0)
        voters, at = np.nonzero(field.approved[:, field.kinds[open_]])
        y = programme.add(len(voters))
        self._idle = programme.cells[[i for i in open_ if not field.support[field.kinds[i]]]]
        for a in np.unique(at).tolist():
            own = y[at == a]
            row = np.append(own, programme.cells[open_[a]])
            programme.rows(row[None], np.append(np.ones(len(own)), -1.0), low=0.0, high=0.0)
        n = len(field.share)
        # Loads in units of an even one.
        self._loads = programme.add(n, high=np.inf)
        for v, load in enumerate(self._loads.tolist()):
            own = y[voters == v]
            by = np.append(np.ones(len(own)), -field.share[v] * field.task.size)
            programme.rows(np.append(own, load)[None], by, low=0.0, high=0.0)

    def run(self, start: tuple[int, ...], time_limit: float) -> Best:
        """Return the best slates, given one known beforehand."""
        end = time.perf_counter() + time_limit
        committee, optimal = self._approved(start, end)
        stages = _sums(self._field.share)
        cut = len(stages) > MOST_STAGES
        for part in stages[:MOST_STAGES]:
            if optimal and self._even(committee):
                cut = False
                even = float(levels(self._field, committee)[0].load) * self._field.voice
                even /= self._task.size
                self._programme.rows(self._loads[:, None], 1.0, high=even + SLACK)
                break
            found, goal = self._stage(part, end)
            if found.x is None:
                optimal = False
                break
            committee = committee_of(self._task, self._task.amounts(found))
            optimal = optimal and found.status == 0
            places, by = goal
            self._programme.rows(places[None], by, high=float(found.x[places] @ by) + SLACK)
        best = key(self._field, committee)
        if optimal and not cut:
            return self._others(committee, best, end)
        known = key(self._field, start)
        return Best([start if known > best else committee], max(known, best), True, optimal=False)

    def _approved(self, start: tuple[int, ...], end: float) -> tuple[tuple[int, ...], bool]:
        """Take as few as possible whom nobody approves, and make that binding."""
        programme = self._programme
        if self._task.plain or not len(self._idle):
            programme.rows(self._idle[None], 1.0, high=self._nobody(start))
            return start, True
        found = programme.solve(
            self._idle, np.ones(len(self._idle)), time_limit=max(0.05, end - time.perf_counter())
        )
        committee = start
        if found.x is not None:
            committee = committee_of(self._task, self._task.amounts(found))
        programme.rows(self._idle[None], 1.0, high=self._nobody(committee))
        return committee, found.status == 0

    def _nobody(self, committee: Sequence[int]) -> float:
        """Return how many of a slate nobody approves."""
        field = self._field
        return float(sum(not field.support[kind] for kind in field.kinds[list(committee)]))

    def _even(self, committee: tuple[int, ...]) -> bool:
        """Tell whether all who approve something carry the same."""
        found = levels(self._field, committee)
        carried = sum(len(level.members) for level in found)
        full = carried == len(committee) or len(self._idle) > 0
        return full and len(found) == 1 and found[0].voice == self._field.voice

    def _stage(self, part: float, end: float) -> tuple[Any, tuple[Ints, Floats]]:
        """Minimise the sum of the greatest loads over a part of the voice."""
        programme, share = self._programme, self._field.share
        level = programme.add(1, high=np.inf)
        over = programme.add(len(share), high=np.inf)
        for load, one in zip(self._loads, over, strict=True):
            row = np.array([[load, level[0], one]])
            programme.rows(row, [1.0, -1.0, -1.0], high=0.0)
        places, by = np.append(level, over), np.append(part, share)
        left = max(0.05, end - time.perf_counter())
        return programme.solve(places, by, time_limit=left), (places, by)

    def _others(self, committee: tuple[int, ...], best: Any, end: float) -> Best:
        """Look for slates as good, one after another."""
        programme: Programme = self._programme
        committees, last = [committee], committee
        for _ in range(MOST_SOLVED):
            cells = programme.cells[list(last)]
            programme.rows(cells[None], 1.0, high=self._task.size - 1)
            left = max(0.05, end - time.perf_counter())
            found = programme.solve(programme.cells[:0], np.zeros(0), time_limit=left)
            if found.x is None:
                return Best(committees, best, more=found.status != 2)
            last = committee_of(self._task, self._task.amounts(found))
            other = key(self._field, last)
            if other > best:
                committees, best = [], other
            if other == best:
                committees.append(last)
        return Best(committees, best, more=True)


def _sums(share: Floats) -> list[float]:
    """Return the parts of the voice at which the sum of the greatest loads can bend.

    Where these are many, the first of them; they are more than `MOST_STAGES` then.
    """
    sums = {0.0}
    for one in sorted(share.tolist()):
        sums |= {round(one + other, 12) for other in sums}
        if len(sums) > 50 * MOST_STAGES:
            break
    return sorted(sums)[1:]
