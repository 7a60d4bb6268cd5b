"""The single transferable vote: weighted inclusive Gregory transfers, exact Droop quota."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Cell, Table
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules._rounds import TRACE_ROUNDS, Ledger, last_table
from fairagents.rules.base import Basis, CommitteeRule, Elected, Needs, Ties
from fairagents.rules.trace import TRACE_ROWS
from fairagents.spec import Bools, Floats


class SingleTransferableVote(CommitteeRule):
    """The single transferable vote (STV) with weighted inclusive Gregory transfers.

    The quota is V / (k + 1), V being the weight of the ballots that do not tie everything. Each
    round a ballot's vote counts for its first alternative that is neither elected nor eliminated
    (equals share it evenly; a ballot that ties all who are left is exhausted). All with more than
    the quota are elected, most votes first, and of each of their votes the share
    (votes - quota) / votes goes on. If there is nobody, who has the fewest votes is eliminated;
    those without any go in one round. When no more are left than seats, who has the most votes is
    elected next, and keeps all of them. Side limits: who cannot be in the slate any more is
    eliminated, who must be is not. Ties by the tie-break, logged: one way of several. Exact.
    Source: Tideman 1995 for the transfers, Droop 1881 for the quota (as commonly stated).

    >>> from fairagents.task import Slate
    >>> ballots = [["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"]]
    >>> profile = Profile.from_rankings(ballots, weights=[5, 1, 4])
    >>> SingleTransferableVote()(profile, Slate(size=2)).outcome.ids
    ('a', 'c')
    """

    name: ClassVar[str] = "stv"
    needs: ClassVar[Needs] = "ranks"
    basis: ClassVar[Basis] = "ordinal"
    formula: ClassVar[str] = (
        "elect a with votes(a) > V / (k + 1), passing on (votes - quota) / votes of each vote; "
        "else eliminate argmin votes"
    )
    source: ClassVar[str] = "Tideman 1995; Droop 1881 (as commonly stated)"
    complexity: ClassVar[str] = "O(n m) a round, at most m rounds"
    holds: ClassVar[Mapping[str, str]] = {
        "anonymity": "a sum over ballots",
        "homogeneity": "votes and quota are proportional to the weights",
        "unanimity": "with one seat it is instant runoff",
        "pareto": "with one seat it is instant runoff",
        "majority": "with one seat it is instant runoff",
        "condorcet_loser": "with one seat it is instant runoff",
        "later_no_harm": "with one seat it is instant runoff",
        "separability": "a ballot that ties all is not counted",
    }

    def elect(self, profile: Profile, task: Feasible, ties: Ties) -> Elected:
        """Count until the slate is full."""
        task.require()
        count = _Count(profile, task, ties)
        while len(count.elected) < task.size:
            count.round()
        return Elected(count.elected, tables=count.tables(), notes=count.notes())


class _Count:
    """One count.

    Attributes:
        elected: positions in the order of election.
    """

    def __init__(self, profile: Profile, task: Feasible, ties: Ties) -> None:
        self._profile, self._task, self._ties = profile, task, ties
        self._ledger = Ledger(ties, "election or elimination")
        self.elected: list[int] = []
        self._out: list[int] = []
        self._left = np.arange(len(profile.ids))
        whole, self._scale = profile.whole_weights
        heard = (profile.ranks != profile.ranks[:, :1]).any(axis=1)
        self._idle = [profile.voters[v] for v in np.flatnonzero(~heard).tolist()]
        self._ranks = profile.ranks[heard]
        self._worth: list[int] = whole[heard].tolist()
        self._voice, self._unit = sum(self._worth), 1
        self._fates: list[tuple[Cell, ...]] = []
        self._rounds: list[tuple[int, Floats]] = []
        self._number = 0
        if not task.plain:
            self._doom()
        self._drop([i for i in self._left.tolist() if not task.allowed[i]], "excluded")

    # -- one round ---------------------------------------------------------------------------

    def round(self) -> None:
        """Elect all above the quota, or else eliminate or elect at one end."""
        self._number += 1
        top, active = self._tops()
        sizes = top.sum(axis=1).tolist()
        unit = math.lcm(*(size for size, a in zip(sizes, active, strict=True) if a))
        votes = [0] * len(self._left)
        for v, at in zip(*(x.tolist() for x in np.nonzero(top)), strict=True):
            if active[v]:
                votes[at] += self._worth[v] * (unit // sizes[v])
        unit *= self._unit
        self._log(votes, unit)
        seats = self._task.size
        above = [i for i, t in enumerate(votes) if t * (seats + 1) > self._voice * unit]
        if above or len(self._left) + len(self.elected) <= seats or not self._loser(votes):
            self._elect(above, votes, unit, top & active[:, None])
        if not self._task.plain:
            self._doom()

    def _tops(self) -> tuple[Bools, Bools]:
        """Return whom each ballot counts for, shape (n, left), and which are not exhausted."""
        ranks = self._ranks[:, self._left]
        top = ranks == ranks.min(axis=1, keepdims=True)
        return top, top.sum(axis=1) < max(len(self._left), 2)

    def _log(self, votes: Sequence[int], unit: int) -> None:
        row = np.full(len(self._profile.ids), np.nan)
        row[self._left] = [t / (unit * self._scale) for t in votes]
        self._rounds.append((self._number, row))

    def _elect(self, above: list[int], votes: Sequence[int], unit: int, top: Bools) -> None:
        """Elect those above the quota, or who has the most votes, and pass their surplus on.

        Args:
            above: who has more than the quota, as places among those left.
            votes: the votes of those left, times `unit`.
            unit: a common denominator.
            top: whom each ballot counts for, nobody where it is exhausted, shape (n, left).
        """
        places = self._ties.places[self._left]
        if not above:
            most = max(votes)
            tied = [i for i, t in enumerate(votes) if t == most]
            above = [min(tied, key=lambda i: int(places[i]))]
            self._fell(tied, above)
        above.sort(key=lambda i: (-votes[i], int(places[i])))
        kept = [Fraction(1)] * len(votes)
        fits = []
        for i in above:
            one = int(self._left[i])
            if not (self._task.plain or self._task.completable([*self.elected, one])):
                continue
            self.elected.append(one)
            fits.append(i)
            quota = Fraction(self._voice * unit, self._task.size + 1)
            kept[i] = max(Fraction(0), 1 - quota / votes[i]) if votes[i] else Fraction(0)
        who = [int(self._left[i]) for i in fits]
        worth = []
        for w, row in zip(self._worth, top, strict=True):
            parts = [kept[i] for i in np.flatnonzero(row).tolist()]
            worth.append(w * sum(parts, Fraction(0)) / len(parts) if parts else Fraction(w))
        common = math.lcm(*(w.denominator for w in worth))
        self._worth = [w.numerator * (common // w.denominator) for w in worth]
        self._unit *= common
        self._reduce()
        self._drop(who, "elected")

    def _reduce(self) -> None:
        shared = math.gcd(self._unit, *self._worth)
        self._unit //= shared
        self._worth = [w // shared for w in self._worth]

    def _loser(self, votes: Sequence[int]) -> bool:
        """Eliminate who has the fewest votes; False if nobody can be spared."""
        spare = len(self._left) + len(self.elected) - self._task.size
        open_ = [i for i in range(len(votes)) if self._task.plain or self._sparable(i)]
        if not open_:
            return False
        least = min(votes[i] for i in open_)
        tied = [i for i in open_ if votes[i] == least]
        out = tied
        if len(tied) > 1 and (least or len(tied) > spare or not self._task.plain):
            places = self._ties.places[self._left]
            tied.sort(key=lambda i: int(places[i]))
            out = tied[-1:] if least or not self._task.plain else tied[-spare:]
            self._fell(tied, out)
        self._drop([int(self._left[i]) for i in out], "eliminated")
        return True

    def _fell(self, tied: Sequence[int], fell: Sequence[int]) -> None:
        if len(tied) > 1:
            left = self._left
            self._ledger.add(self._number, left[list(tied)].tolist(), left[list(fell)].tolist())

    # -- side limits -------------------------------------------------------------------------

    def _sparable(self, i: int) -> bool:
        """Tell whether the slate can be completed without somebody."""
        return self._task.completable(self.elected, [*self._out, int(self._left[i])])

    def _doom(self) -> None:
        """Eliminate those with whom the slate cannot be completed any more."""
        if len(self.elected) < self._task.size:
            left = self._left.tolist()
            doomed = [i for i in left if not self._task.completable([*self.elected, i])]
            self._drop(doomed, "shut out by the limits")

    def _drop(self, who: Sequence[int], fate: str) -> None:
        if not who:
            return
        if fate != "elected":
            self._out.extend(who)
        self._left = self._left[~np.isin(self._left, who)]
        names = [self._profile.ids[i] for i in who]
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        self._fates.append((self._number, fate, ", ".join(names[:10]) + more))

    # -- what is told ------------------------------------------------------------------------

    def tables(self) -> tuple[Table, ...]:
        """Return the votes by round, what happened in each, and which ties fell."""
        rounds = self._rounds[-TRACE_ROUNDS:]
        stayed = np.sum([~np.isnan(row) for _, row in rounds], axis=0)
        stayed[self.elected] = 0
        rest = [i for i in np.argsort(-stayed, kind="stable").tolist() if stayed[i]]
        order = [*self.elected, *rest][:TRACE_ROWS]
        cells: list[list[Any]] = [
            [None if np.isnan(row[i]) else float(row[i]) for i in order] for _, row in rounds
        ]
        ids = [self._profile.ids[i] for i in order]
        fates = self._fates[-TRACE_ROWS:]
        happened = Table(
            name="counts",
            columns=("round", "what", "who"),
            rows=tuple(fates),
            cut=len(self._fates) - len(fates),
        )
        votes = last_table("votes", ids, cells, [number for number, _ in rounds])
        return (votes, happened, *self._ledger.tables)

    def notes(self) -> tuple[str, ...]:
        """Return the quota and the conventions."""
        quota = float(Fraction(self._voice, self._scale * (self._task.size + 1)))
        told = [f"the quota is {quota:.6g}: who has more is elected"]
        if self._idle:
            told.append(f"ballots that tie everything are not counted: {', '.join(self._idle)}")
        return (*told, *self._ledger.notes)
