"""Small catalogues, stakeholders and councils for tests, by hand and drawn by Hypothesis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from hypothesis import strategies as st

from fairagents.agents.base import Agent, Brief, Policy
from fairagents.agents.scripted import Random, Utility
from fairagents.ballot import Abstention, Vote
from fairagents.case import Case
from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.council import Council
from fairagents.setting import Cut
from fairagents.spec import Column, Constraint, Objective, Predicate, Provenance, Stakeholder
from fairagents.task import AtMostPer, Exclude, GroupLimit, Include, Limit, Slate

GOLDEN = Path(__file__).parent.parent / "golden"
COLUMNS = ("price", "air", "fame")
Reads = Literal["mean", "worst", "variety"]


def golden(name: str) -> Any:
    """Return the content of a file of golden cases."""
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def objective(
    column: str,
    anchors: tuple[float, float] | Literal["case"] = (0.0, 1.0),
    *,
    reads: Reads = "mean",
    weight: float = 1.0,
    missing: Literal["mean", "zero", "error"] = "mean",
    direction: Literal["max", "min"] | None = None,
) -> Objective:
    """One objective over one column, named after it."""
    falls = anchors != "case" and anchors[0] > anchors[1]
    return Objective(
        id=f"{column}-{reads}",
        indicator=Column(column=column),
        direction=direction or ("min" if falls else "max"),
        anchors=anchors,
        provenance=Provenance(kind="judgement"),
        reads=reads,
        weight=weight,
        missing=missing,
    )


def party(
    id: str, *objectives: Objective, voice: float = 1.0, constraints: Sequence[Constraint] = ()
) -> Stakeholder:
    """A stakeholder, with an objective over the column of its own name unless given."""
    return Stakeholder(
        id=id,
        name=id.title(),
        role="consumer",
        objectives=objectives or (objective(id),),
        constraints=tuple(constraints),
        voice=voice,
    )


def table(**columns: Sequence[Any]) -> Catalogue:
    """A catalogue with ids a, b, c, ... and these columns."""
    count = len(next(iter(columns.values())))
    ids = [chr(ord("a") + i) for i in range(count)]
    return Catalogue.from_cells("toy", ids, columns)


def agents(*stakeholders: Stakeholder, policy: Policy | str = "utility") -> tuple[Agent, ...]:
    """The stakeholders, all bound to one policy."""
    return tuple(Agent(stakeholder=one, policy=policy) for one in stakeholders)  # type: ignore[arg-type]


TRIO = table(
    ann=[1.0, 0.8, 0.6, 0.4, 0.2, 0.0],
    bob=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
    eve=[0.1, 0.9, 0.8, 0.7, 0.3, 0.2],
)
"""Six alternatives on which ann and bob want the opposite and eve the middle."""


def trio(policy: Policy | str = "utility", **settings: Any) -> Council:
    """A council of ann, bob and eve."""
    return Council(
        TRIO, agents(party("ann"), party("bob"), party("eve"), policy=policy), **settings
    )


def case(size: int = 2, id: str = "c", limits: Sequence[Limit] = (), **fields: Any) -> Case:
    """A case that wants a slate."""
    return Case(id=id, task=Slate(size=size, limits=tuple(limits)), **fields)


class Silent(Policy):
    """Never has an answer."""

    code: str = "asleep"

    def propose(self, brief: Brief) -> Vote:
        return brief.vote(Abstention(code=self.code, detail="by design"), self, (self.code,))


class Sometimes(Policy):
    """Is silent in the cases it is told."""

    name: ClassVar[str] = "sometimes"
    silent: tuple[str, ...] = ()

    def propose(self, brief: Brief) -> Vote:
        policy: Policy = Silent() if brief.case in self.silent else Utility()
        return policy.propose(brief)


# -- drawn ---------------------------------------------------------------------------------------


def a_catalogue(rng: np.random.Generator, m: int) -> Catalogue:
    """M alternatives with numbers on a coarse grid (so that ties occur) and some unknown."""
    cells: dict[str, list[Any]] = {
        name: [None if rng.random() < 0.15 else float(rng.integers(0, 6)) / 5 for _ in range(m)]
        for name in COLUMNS
    }
    for values in cells.values():
        values[int(rng.integers(m))] = 0.5
    cells["country"] = [None if rng.random() < 0.1 else "XYZ"[rng.integers(3)] for _ in range(m)]
    cells["country"][0] = "X"
    specs = {name: ColumnSpec(kind="numeric") for name in COLUMNS}
    specs["country"] = ColumnSpec(kind="category")
    # The order of ids differs from that of the rows.
    ids = [f"id{(7 * i) % 31:02}" for i in range(m)]
    return Catalogue.from_cells("drawn", ids, cells, specs)


OBJECTIVES: Sequence[Objective] = (
    objective("price", (1.0, 0.0), weight=2.0),
    objective("air", "case", weight=0.5),
    objective("fame", (0.2, 0.8), missing="zero"),
    objective("price", "case", direction="min", reads="mean"),
    objective("air", (0.0, 1.0), reads="worst"),
    objective("country", (1.0, 3.0), reads="variety"),
    objective("score", (0.0, 1.0)),
)

CONSTRAINTS: Sequence[Constraint] = (
    Constraint(id="cheap", accepts=Predicate(column="price", op="<=", value=0.8)),
    Constraint(
        id="abroad",
        accepts=Predicate(column="country", op="!=", value="X"),
        kind="soft",
        cost=0.3,
        unknown="no",
    ),
    Constraint(
        id="summer",
        accepts=Predicate(column="air", op=">", value=0.2),
        when=Predicate(request="month", op=">=", value=6),
    ),
)

LIMITS: Sequence[Limit] = (
    AtMostPer(column="country", count=2),
    Exclude(ids=("id07",)),
    Include(ids=("id14",)),
    GroupLimit(group=Predicate(column="price", op="<=", value=0.6), at_least=1),
    Exclude(group=Predicate(column="fame", op="==", value=1.0)),
)

IDS = ("zoe", "ann", "x-10", "x-9", "Bob")
"""Their lexicographic order is not the declared one."""


@st.composite
def stakeholders(draw: st.DrawFn, additive: bool = False) -> tuple[Stakeholder, ...]:
    """Two to five stakeholders with mixed objectives, constraints and voices."""
    options = [o for o in OBJECTIVES if not additive or o.reads == "mean"]
    made = []
    for one in IDS[: draw(st.integers(2, 5))]:
        chosen = draw(st.lists(st.sampled_from(options), min_size=1, max_size=3, unique=True))
        held = draw(st.lists(st.sampled_from(CONSTRAINTS), max_size=2, unique=True))
        # Not only variety, which is worth nothing alternative by alternative.
        if all(o.reads == "variety" for o in chosen):
            chosen.append(OBJECTIVES[0])
        # A soft constraint lowers what is averaged, so something must be.
        if all(o.reads != "mean" for o in chosen) and any(c.kind == "soft" for c in held):
            chosen.append(OBJECTIVES[0])
        unique = {o.id: o for o in chosen}
        voice = draw(st.sampled_from([1.0, 0.5, 0.3, 0.2, 2.0, 0.1]))
        made.append(party(one, *unique.values(), voice=voice, constraints=held))
    return tuple(made)


@st.composite
def problems(draw: st.DrawFn, additive: bool = False) -> tuple[Council, Case]:
    """A council and a case: objectives, constraints, voices, policies, limits, rules and cuts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(5, 14))
    catalogue = a_catalogue(rng, m)
    bound = [
        Agent(
            stakeholder=one,
            policy=draw(
                st.sampled_from(
                    [Utility(), Utility(form="ranking"), Utility(digits=1), Random(), Silent()]
                )
            ),
        )
        for one in draw(stakeholders(additive))
    ]
    if all(isinstance(a.policy, Silent) for a in bound):
        bound[0] = Agent(stakeholder=bound[0].stakeholder, policy=Utility())
    known = set(catalogue.ids)
    limits = [
        limit
        for limit in draw(st.lists(st.sampled_from(LIMITS), max_size=2, unique=True))
        if not (isinstance(limit, Include | Exclude) and not set(limit.ids) <= known)
    ]
    cut = draw(
        st.sampled_from([Cut(), Cut(whole=2, top=2, sample=2), Cut(whole=4, top=3, sample=0)])
    )
    rule = draw(st.sampled_from(["borda", "copeland", "utilitarian", "nash", "leximin"]))
    council = Council(
        catalogue,
        bound,
        rule={rule: {"tie_break": draw(st.sampled_from(["seeded", "borda", "priority"]))}},  # type: ignore[arg-type]
        cut=cut,
        seed=draw(st.integers(0, 9)),
        on_abstain=draw(st.sampled_from(["without", "twin"])),
        case_columns=("score",),
    )
    scores = dict(zip(catalogue.ids, rng.random(m).round(2).tolist(), strict=True))
    return council, Case(
        id=f"case-{draw(st.integers(0, 99))}",
        task=Slate(size=draw(st.integers(1, 3)), limits=tuple(limits)),
        request={"month": draw(st.integers(1, 12))},
        columns={"score": scores},
    )
