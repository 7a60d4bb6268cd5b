"""What rules that go round by round log: who was counted how in which round, how ties fell."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairagents.decision import Cell, Table
from fairagents.rules.base import Ties
from fairagents.rules.trace import TRACE_ROWS
from fairagents.spec import Floats, Ints

TRACE_ROUNDS = 60
"""A trace shows at most this many rounds; the columns keep the rounds' numbers."""


class Ledger:
    """The ties that a tie-break decided on a rule's way.

    Args:
        ties: the tie-break.
        what: what was tied, say "elimination".
    """

    def __init__(self, ties: Ties, what: str) -> None:
        self._ties, self._what = ties, what
        self._rows: list[tuple[int, str, str]] = []
        self._count = 0

    def add(
        self, round_: int, tied: Sequence[int], fell: Sequence[int], count: int | None = None
    ) -> None:
        """Log that some of several tied alternatives were taken in a round.

        Args:
            round_: the round's number.
            tied: positions, some of them where they are many.
            fell: positions of those that were taken.
            count: how many are tied, where `tied` holds not all.
        """
        self._count += 1
        if self._count <= TRACE_ROWS:
            names = self._names(tied, len(tied) if count is None else count)
            self._rows.append((round_, names, self._names(fell, len(fell))))

    @property
    def notes(self) -> tuple[str, ...]:
        """One note where ties fell."""
        if not self._rows:
            return ()
        rounds = ", ".join(str(row[0]) for row in self._rows[:10])
        more = f" and {self._count - 10} more" if self._count > 10 else ""
        return (
            f"ties for {self._what} fell by the {self._ties.kind} tie-break (round {rounds}{more}):"
            " this is one way of several, and another way may end elsewhere",
        )

    @property
    def tables(self) -> tuple[Table, ...]:
        """The ties as a table."""
        if not self._rows:
            return ()
        return (
            Table(
                name=f"ties for {self._what}",
                columns=("round", "tied", "taken"),
                rows=tuple(self._rows),
                cut=self._count - len(self._rows),
            ),
        )

    def _names(self, positions: Sequence[int], count: int) -> str:
        ids = self._ties.profile.ids
        names = ", ".join(ids[i] for i in positions[:10])
        return f"{names} and {count - 10} more" if count > 10 else names


class Rounds:
    """The tallies of the last rounds, and how many rounds each alternative was in."""

    def __init__(self, m: int) -> None:
        self.count = 0
        self.survived: Ints = np.zeros(m, dtype=np.int64)
        self._last: deque[Floats] = deque(maxlen=TRACE_ROUNDS)

    def add(self, tally: Floats) -> None:
        """Start a round with the tally of everybody, shape (m,); that of who is out is ignored."""
        self.count += 1
        self._last.append(tally)

    def out(self, positions: Ints | Sequence[int]) -> None:
        """Tell who was in this round for the last time."""
        self.survived[positions] = self.count

    def table(self, ids: Sequence[str], levels: Ints) -> Table:
        """Return one row per alternative with its tally in each round it was in.

        The total counts the rounds that are shown.
        """
        rows = np.argsort(levels, kind="stable")[:TRACE_ROWS]
        first = self.count - len(self._last) + 1
        cells: list[list[Any]] = [[ids[i]] for i in rows.tolist()]
        stays = self.survived[rows].tolist()
        for at, tally in enumerate(self._last, first):
            for row, value, stay in zip(cells, tally[rows].tolist(), stays, strict=True):
                row.append(value if at <= stay else None)
        body = [(*row, max(0, stay - first + 1)) for row, stay in zip(cells, stays, strict=True)]
        return Table(
            name="rounds",
            columns=("alternative", *_numbers(first, self.count), "total"),
            rows=tuple(body),
            cut=len(ids) - len(rows),
            how="count",
        )


def _numbers(first: int, last: int) -> list[str]:
    return [f"round {i}" for i in range(first, last + 1)]


def last_table(
    name: str, ids: Sequence[str], rounds: Sequence[Sequence[Cell]], numbers: Sequence[int]
) -> Table:
    """Return what each alternative had in each round, None where it was not counted.

    Its total is what it had last. Alternatives that were never counted are left out.

    Args:
        name: the table's name.
        ids: the alternatives to show, best first; at most `TRACE_ROWS` are.
        rounds: for each round to show the cells of all `ids`.
        numbers: the rounds' numbers.
    """
    body: list[tuple[Cell, ...]] = []
    for one, *row in zip(ids, *rounds, strict=True):
        counted = [c for c in row if c is not None]
        if counted:
            body.append((one, *row, counted[-1]))
    return Table(
        name=name,
        columns=("alternative", *(f"round {i}" for i in numbers), "total"),
        rows=tuple(body[:TRACE_ROWS]),
        cut=max(0, len(body) - TRACE_ROWS),
        how="last",
    )
