"""Monroe's rule on approvals: every member stands for the same share of the voice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from fairagents.decision import Table
from fairagents.rules._exact import Best, by_programmes
from fairagents.rules._walk import Field
from fairagents.rules._whole import Whole, programme_of
from fairagents.rules.approval import ONE_SEAT
from fairagents.rules.sequential import SequentialPav
from fairagents.spec import Floats, Ints

FEW_SEATS = 12
"""For so many seats the least cut is looked for among all; for more a flow is worked out."""


MOST_CELLS = 60
"""Members and voters in the trace."""


class Monroe(Whole):
    """Monroe's rule on approvals: voters are dealt out evenly to members they approve.

    max over slates S of the voice that can be dealt out so that each member stands for at most
    V / k of it, all of it approving that member, V being the voice of those who approve something.
    A voter's voice may be split: where k divides the number of equal voters nothing is gained by
    that and this is Monroe's rule; elsewhere Monroe rounds V / k up and down. Exact: the score is a
    flow over whole numbers, and few slates are all looked at; else an integer programme.
    The order of a slate is that in which seqPAV would take its members.
    Source: Monroe 1995; fractional as in Lackner & Skowron 2023 (as commonly stated).

    >>> from fairagents.profile import Profile
    >>> from fairagents.task import Slate
    >>> profile = Profile.from_approvals([["a", "b"], ["a", "b"], ["c"], ["d"]])
    >>> sorted(Monroe()(profile, Slate(size=2)).winners)
    [('a', 'c'), ('a', 'd'), ('b', 'c'), ('b', 'd')]
    """

    formula: ClassVar[str] = (
        "max_S max sum_{v, a in A_v & S} y_va, sum_a y_va <= w_v, sum_v y_va <= V / k"
    )
    source: ClassVar[str] = "Monroe 1995; Lackner & Skowron 2023 (as commonly stated)"
    complexity: ClassVar[str] = "NP-hard: an integer programme"
    holds: ClassVar[Mapping[str, str]] = {
        **ONE_SEAT,
        "jr": "it follows from pjr",
        "pjr": "Sanchez-Fernandez et al. 2017, for k that divides the number of voters",
    }

    @property
    def sequential(self) -> SequentialPav:
        """SeqPAV."""
        return SequentialPav()

    def score(self, field: Field, committee: Sequence[int]) -> Fraction:
        """Return the share of all voice that is dealt out."""
        return dealt(field, committee)

    def solve(self, field: Field, start: tuple[int, ...]) -> Best:
        """Search by integer programmes."""

        def score(committee: Sequence[int]) -> Fraction:
            return dealt(field, committee)

        programme = _programme(field)
        return by_programmes(field.task, *programme, score, start, 1.0, self.time_limit)

    def notes(self) -> tuple[str, ...]:
        """Return that voices are split."""
        return ("a voter's voice may be split between members",)

    def tables(self, field: Field, order: Sequence[int], best: Best) -> tuple[Table, ...]:
        """Return which member stands for whose voice, the score and its bound."""
        factor = field.voice / field.scale
        score = float(best.score) * factor
        bound = score if best.bound is None else best.bound * factor
        columns = ("voice dealt out", "proven bound")
        objective = Table(name="objective", columns=columns, rows=((score, bound),))
        return (_dealing(field, order), objective)


def _dealing(field: Field, committee: Sequence[int]) -> Table:
    """Return the voice of each voter that a member stands for, in one of the best dealings."""
    import networkx as nx

    ids, k = field.profile.ids, len(committee)
    approved = field.approved[:, field.kinds[list(committee)]] > 0
    _, flows = nx.maximum_flow(_network(field, approved), "from", "to")
    heard = np.flatnonzero(field.profile.approvals.any(axis=1)).tolist()
    voters = heard[:MOST_CELLS]
    rows: list[tuple[Any, ...]] = []
    for at, i in enumerate(committee[:MOST_CELLS]):
        cells = [flows[v].get(("member", at), 0) / (k * field.scale) for v in range(len(heard))]
        rows.append((ids[i], *cells[: len(voters)], sum(cells)))
    return Table(
        name="dealt out",
        columns=("alternative", *(field.profile.voters[v] for v in voters), "total"),
        rows=tuple(rows),
        cut=k - len(rows),
        how="sum" if len(voters) == len(heard) else "",
    )


def dealt(field: Field, committee: Sequence[int]) -> Fraction:
    """Return the share of all voice that can be dealt out to members it approves.

    The greatest flow is the least cut: over all X, a part of the committee, the voice that X may
    stand for and that of the voters who approve a member outside X.
    """
    kinds, k = field.kinds[list(committee)], len(committee)
    approved = field.approved[:, kinds] > 0
    if k > FEW_SEATS:
        return _flow(field, approved)
    by_mask: dict[int, int] = {}
    masks = (approved @ (1 << np.arange(k))).tolist()
    for mask, weight in zip(masks, field.weights, strict=True):
        by_mask[mask] = by_mask.get(mask, 0) + weight
    subsets = np.arange(1 << k)
    total: Any = np.array([bin(x).count("1") for x in subsets.tolist()], dtype=object)
    total = total * field.voice
    for mask, weight in by_mask.items():
        total = total + np.where(mask & ~subsets, k * weight, 0).astype(object)
    return Fraction(int(total.min()), k * field.voice)


def _flow(field: Field, approved: Any) -> Fraction:
    """Return the same by a greatest flow."""
    import networkx as nx

    flow = nx.maximum_flow_value(_network(field, approved), "from", "to")
    return Fraction(int(flow), approved.shape[1] * field.voice)


def _network(field: Field, approved: Any) -> Any:
    """Return the network through which voice, k times, flows from voters to members."""
    import networkx as nx

    k = approved.shape[1]
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(["from", "to"])
    for v, weight in enumerate(field.weights):
        graph.add_edge("from", v, capacity=k * weight)
        for a in np.flatnonzero(approved[v]).tolist():
            graph.add_edge(v, ("member", a))
    for a in range(k):
        graph.add_edge(("member", a), "to", capacity=field.voice)
    return graph


def _programme(field: Field) -> tuple[Any, tuple[Ints, Floats]]:
    """Return an integer programme for the share that is dealt out, and what is maximised."""
    programme, k = programme_of(field), field.task.size
    open_ = np.flatnonzero(field.kinds >= 0)
    voters, at = np.nonzero(field.approved[:, field.kinds[open_]])
    y = programme.add(len(voters))
    share = field.share
    members = programme.cells[open_[at]]
    programme.rows(np.column_stack([y, members]), _pairs(-share[voters]), high=0.0)
    for v in range(len(share)):
        programme.rows(y[voters == v][None], 1.0, high=float(share[v]))
    for a in np.unique(at).tolist():
        own = y[at == a]
        row = np.append(own, programme.cells[open_[a]])
        programme.rows(row[None], np.append(np.ones(len(own)), -1 / k), high=0.0)
    return programme, (y, np.ones(len(y)))


def _pairs(second: Floats) -> Floats:
    """Return rows of 1 and a number."""
    pairs: Floats = np.column_stack([np.ones(len(second)), second])
    return pairs
