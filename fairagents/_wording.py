"""Words a decision from its trace: what was counted for whom, where ties fell, what is unproved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairagents.decision import Decision, Table

MOST_ROWS, MOST_CELLS = 5, 8
"""A table is told up to so many rows, and where it has no totals up to so many cells of each."""

Pairs = list[tuple[str, Any, Any]]
"""(column, weight, cell) of one row, empty cells left out."""


def explanation(decision: Decision, ids: Sequence[str]) -> str:
    """Return how a decision came about, one line per fact.

    Args:
        decision: what is to be explained.
        ids: the alternatives whose totals are worked out.
    """
    lines = [_result(decision)]
    for table in decision.trace:
        lines += [f"{table.name}: {words}" for words in _told(table, ids)]
    lines += [_tie(decision, tier) for tier in decision.ties]
    if decision.lottery is not None:
        chances = zip(decision.lottery.outcomes, decision.lottery.probabilities, strict=True)
        drawn = ", ".join(f"{o.what[0]} with probability {_number(p)}" for o, p in chances)
        lines.append(f"drawn by the seed: {drawn} to come first")
    if len(decision.winners) > 1:
        several = "; ".join(_join(one) for one in decision.winners[:5])
        more = ", and more" if decision.more or len(decision.winners) > 5 else ""
        lines.append(f"tied slates ({len(decision.winners)} listed): {several}{more}")
    if not decision.optimal:
        gap = "" if decision.gap is None else f", at most {_number(decision.gap)} from the bound"
        lines.append(f"the best that was found; not proved to be the best{gap}")
    return "\n".join([*lines, *decision.notes, *decision.warnings])


def _result(decision: Decision) -> str:
    first = decision.tiers[0] if decision.tiers else ()
    ahead = (
        f"{_join(first)} {'is' if len(first) == 1 else 'are tied'} first" if first else "decided"
    )
    if set(decision.outcome.to) == {"everyone"}:
        return f"{decision.rule}: {ahead}; the slate is {', '.join(decision.outcome.what)}"
    return f"{decision.rule}: {len(decision.outcome.what)} shares are given"


def _tie(decision: Decision, tier: Sequence[str]) -> str:
    inside = [one for one in tier if one in decision.outcome.what]
    verb = "is" if len(inside) == 1 else "are"
    return (
        f"{_join(tier)} were tied; {_join(inside)} {verb} in by the {decision.tie_break} tie-break"
    )


def _told(table: Table, ids: Sequence[str]) -> list[str]:
    """Return what one table says: of these alternatives, or of the whole where it is small."""
    if table.columns[0] == "alternative":
        rows = [row for one in ids for row in table.rows if row[0] == one]
    elif table.how:
        rows = [row for row in table.rows if row[0] != "weight"][:MOST_ROWS]
    else:
        return [_listed(table, row) for row in table.rows[:MOST_ROWS]]
    return [_row(table, row) for row in rows]


def _listed(table: Table, row: Sequence[Any]) -> str:
    """Return the cells of a row with the names of their columns, unless it is the table's."""
    cells = [(n, c) for n, c in zip(table.columns, row, strict=True) if c is not None]
    return ", ".join(f"{'' if n == table.name else n + ' '}{_number(c)}" for n, c in cells)


def _row(table: Table, row: Sequence[Any]) -> str:
    """Return how a total follows from its row, or what the row says where it has no total."""
    one = row[0]
    if table.how in ("wins", "losses"):
        verb = "beats" if table.how == "wins" else "is beaten by"
        return f"{one} {verb} {_number(row[-1])} others"
    end = len(row) - bool(table.how)
    weights: Sequence[Any] = [1] * len(row)
    if table.rows[0][0] == "weight":
        weights = table.rows[0][1:end]
    cells = zip(table.columns[1:end], weights, row[1:end], strict=False)
    pairs = [(name, w, c) for name, w, c in cells if c is not None]
    if table.how in ("", "count", "last"):
        said = [(name, c) for name, _, c in pairs if table.how or c]
        listed = ", ".join(f"{_number(c)} ({name})" for name, c in said[:MOST_CELLS])
        more = ", ..." if len(said) > MOST_CELLS else ""
        total = f": {_number(row[-1])} in all" if table.how == "count" else ""
        return f"{one} has {listed}{more}{total}" if said else f"{one} has none"
    words, total = (_HOW.get(table.how) or _extreme(table.how))(pairs), _number(row[-1])
    alone = words.startswith(f"{total} (") and " + " not in words
    return f"{one} = {words}" if alone else f"{one} = {words} = {total}"


def _sum(pairs: Pairs) -> str:
    terms = [
        f"{_number(c)} ({name})" if w == 1 else f"{_number(w)} x {_number(c)} ({name})"
        for name, w, c in pairs
        if w and c
    ]
    return " + ".join(terms) or "0"


def _mean(pairs: Pairs) -> str:
    return f"({_sum(pairs)}) / {_number(sum(w for _, w, _ in pairs))}"


def _extreme(word: str) -> Callable[[Pairs], str]:
    def words(pairs: Pairs) -> str:
        cells = [_number(c) if w == 1 else f"{_number(c)} x{_number(w)}" for _, w, c in pairs]
        return f"the {word} of {', '.join(cells)}"

    return words


def _power(pairs: Pairs) -> str:
    """Return the words of a power mean: the last cell is its exponent."""
    *rated, (_, _, exponent) = pairs
    return f"{_extreme('weighted power mean')(rated)} with exponent {_number(exponent)}"


_HOW: dict[str, Callable[[Pairs], str]] = {
    "sum": _sum,
    "mean": _mean,
    "geometric": lambda pairs: (
        "the weighted geometric mean of "
        + ", ".join(f"{_number(c)} ({name})" for name, _, c in pairs if c > 0)
    ),
    "power": _power,
    "min": _extreme("least"),
    "max": _extreme("greatest"),
}


def _join(ids: Sequence[str]) -> str:
    return " and ".join([", ".join(ids[:-1]), ids[-1]] if len(ids) > 1 else ids)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else str(value)
