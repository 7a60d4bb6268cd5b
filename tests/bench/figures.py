"""Four figures of speed, each as a ratio or per CPU second, since machines and their load differ.

`python -m tests.bench.figures` prints them as a Markdown table.
"""

from __future__ import annotations

import operator
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np
from langgraph.graph import END, START, StateGraph

from fairagents.agents.base import Agent
from fairagents.agents.scripted import Utility
from fairagents.ballot import Agenda, Ranking, Vote
from fairagents.case import Case
from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.council import Council
from fairagents.decision import Decision, Result, Table, Verdict
from fairagents.outcome import Outcome
from fairagents.setting import Cut
from fairagents.spec import Column, Objective, Provenance, Stakeholder
from fairagents.task import Slate

PARTIES, ALTERNATIVES, SIZE = 5, 200, 10


@dataclass(frozen=True)
class Figure:
    """One figure with the target it is held against."""

    what: str
    value: float
    unit: str
    target: str

    def __str__(self) -> str:
        return f"{self.what}: {self.value:.3g} {self.unit} (target {self.target})"


def a_council(alternatives: int = ALTERNATIVES) -> Council:
    """Five stakeholders with two objectives each over one catalogue and one case column."""
    rng = np.random.default_rng(0)
    names = [f"p{i}" for i in range(PARTIES)]
    cells = {name: rng.random(alternatives).round(3).tolist() for name in names}
    catalogue = Catalogue.from_cells(
        "bench",
        [f"a{i:03}" for i in range(alternatives)],
        cells,
        {name: ColumnSpec(kind="numeric") for name in names},
    )
    agents = [
        Agent(stakeholder=Stakeholder(
            id=name, name=name, role="society",
            objectives=(an_objective(name), an_objective("score")),
        ), policy=Utility())
        for name in names
    ]  # fmt: skip
    return Council(catalogue, agents, cut=Cut(whole=alternatives), seed=1, case_columns=("score",))


def an_objective(column: str) -> Objective:
    return Objective(
        id=column,
        indicator=Column(column=column),
        direction="max",
        anchors=(0.0, 1.0),
        provenance=Provenance(kind="judgement"),
    )


def the_cases(council: Council, count: int) -> Iterator[Case]:
    """Cases that differ by a column of scores of their own."""
    ids, rng = council.setup.catalogue.ids, np.random.default_rng(1)
    for i in range(count):
        scores = dict(zip(ids, rng.random(len(ids)).round(3).tolist(), strict=True))
        yield Case(id=f"c{i}", task=Slate(size=SIZE), columns={"score": scores})


# -- 1: import -----------------------------------------------------------------------------------

IMPORT = """
import time, numpy
from pydantic import BaseModel, Field
class Model(BaseModel):
    x: int = Field(default=1)
start = time.process_time()
import fairagents
bare = time.process_time()
from fairagents import (Case, Catalogue, Objective, Profile, Slate, Stakeholder,
                        Utility, UseCase, conflict)
from fairagents.rules.positional import Borda
print(bare - start, time.process_time() - start)
"""


def import_figures(runs: int = 7) -> list[Figure]:
    """CPU seconds to import the package, and its core names, over numpy and pydantic in use.

    The least of several runs, with compiled files as an installed package has them.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(runs):
            done = subprocess.run(
                [sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True, env=env
            )
            found.append([float(part) for part in done.stdout.split()])
    bare, core = (min(column) for column in zip(*found, strict=True))
    return [
        Figure("`import fairagents` over numpy and pydantic", bare, "CPU s", "<= 0.1"),
        Figure("the same with the core's names", core, "CPU s", "<= 0.1"),
    ]


# -- 2: decide -----------------------------------------------------------------------------------


class BareState(TypedDict, total=False):
    """The same channels as a council's state."""

    case: Case
    votes: Annotated[dict[str, Vote], operator.or_]
    calls: Annotated[list[Any], operator.add]
    decisions: list[Decision]
    round: int
    asked: list[str]
    offer: list[str]
    feedback: dict[str, str]
    stopped: str
    verdict: Verdict


class BareInput(TypedDict):
    """What goes in."""

    case: Case


class BareOutput(TypedDict):
    """What comes out."""

    verdict: Verdict


def bare_graph(council: Council, verdict: Verdict) -> Any:
    """Return a graph with a council's nodes and edges whose nodes return what is known already."""
    ids = council.setup.stakeholders
    votes = {v.stakeholder: v for v in verdict.votes}
    builder: Any = StateGraph(BareState, input_schema=BareInput, output_schema=BareOutput)

    def returns(update: dict[str, Any]) -> Callable[[BareState], dict[str, Any]]:
        def node(state: BareState) -> dict[str, Any]:
            return update

        return node

    def route(state: BareState) -> list[str] | str:
        return [f"ask_{who}" for who in state["asked"]] or "evaluate"

    asking = {"round": 1, "asked": list(ids), "offer": [], "feedback": {}, "decisions": []}
    builder.add_node("open", returns({"votes": {}, "calls": [], **asking}))
    settled = {"decisions": [verdict.decision], "asked": [], "stopped": verdict.stopped}
    builder.add_node("settle", returns(settled))
    builder.add_node("evaluate", returns({"verdict": verdict}))
    for who in ids:
        builder.add_node(f"ask_{who}", returns({"votes": {f"1/{who}": votes[who]}, "calls": []}))
        builder.add_edge(f"ask_{who}", "settle")
    builder.add_edge(START, "open")
    targets = {name: name for name in (*(f"ask_{who}" for who in ids), "evaluate")}
    for node in ("open", "settle"):
        builder.add_conditional_edges(node, route, targets)
    builder.add_edge("evaluate", END)
    return builder.compile(name="bare")


def decide_figures(runs: int = 200, alternatives: int = 60) -> list[Figure]:
    """CPU of `decide` over that of the bare graph, and of the engine alone, interleaved."""
    council = a_council(alternatives)
    cases = list(the_cases(council, runs))
    graph = bare_graph(council, council.decide(cases[0]))
    config = {"recursion_limit": 8, "run_name": "bare"}
    ways: dict[str, Callable[[Case], object]] = {
        "bare": lambda case: graph.invoke({"case": case}, config),
        "ours": council.decide,
        "engine": council.run,
    }
    for _ in range(10):
        for way in ways.values():
            way(cases[0])
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for case in cases:
        for name, way in ways.items():
            start = time.process_time()
            way(case)
            spent[name].append(time.process_time() - start)
    bare, ours, engine = (float(np.median(values)) for values in spent.values())
    what = f"`decide`, {PARTIES} x {alternatives}, over a bare graph"
    return [
        Figure(what, ours / bare, "x CPU", "<= 1.25"),
        Figure("the engine alone over the bare graph", engine / bare, "x CPU", "none"),
    ]


# -- 3: decide_many ------------------------------------------------------------------------------


def decide_many_figures(count: int = 10_000) -> list[Figure]:
    """Decisions per CPU second, making the cases excluded, and the peak memory of a fresh process.

    Cases come from an iterator whose own time is measured and taken off.
    """
    code = f"from tests.bench.figures import _many\nprint(*_many({count}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    seconds, peak = map(float, done.stdout.split())
    what = f"`decide_many`, {count} x {PARTIES} x {ALTERNATIVES}, Borda"
    return [
        Figure(what, count / seconds, "per CPU s", ">= 5000"),
        Figure("its peak memory", peak, "MB", "< 350"),
    ]


def _many(count: int) -> tuple[float, float]:
    council = a_council()
    making = 0.0

    def cases() -> Iterator[Case]:
        nonlocal making
        stream = the_cases(council, count)
        while True:
            start = time.process_time()
            case = next(stream, None)
            making += time.process_time() - start
            if case is None:
                return
            yield case

    council.decide_many(the_cases(council, 5))
    start = time.process_time()
    council.decide_many(cases())
    total = time.process_time() - start
    return total - making, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# -- 4: a verdict --------------------------------------------------------------------------------


def a_verdict() -> Verdict:
    """Five stakeholders, three rounds, ten entries on each ballot and in the outcome."""
    ids = tuple(f"a{i}" for i in range(SIZE))
    names = tuple(f"p{i}" for i in range(PARTIES))
    votes = tuple(
        Vote(stakeholder=who, said=Ranking(ids=ids), round=r, policy="utility")
        for r in (1, 2, 3)
        for who in names
    )
    table = Table(
        name="points",
        columns=("alternative", *names, "total"),
        rows=tuple((one, *(float(i) for i in range(PARTIES)), 10.0) for one in ids),
    )
    decision = Decision(
        rule="borda",
        outcome=Outcome.slate(ids),
        tiers=tuple((one,) for one in ids),
        totals=tuple((one, 10.0) for one in ids),
        trace=(table,),
    )
    results = tuple(
        Result(measure=measure, subject=who, value=0.5, n=SIZE)
        for measure in ("satisfaction", "regret", "alignment")
        for who in names
    )
    return Verdict(
        case=Case(id="c", task=Slate(size=SIZE)),
        spec="0" * 64,
        interests="0" * 64,
        seed=1,
        protocol="negotiation",
        agenda=Agenda(ids=ids),
        votes=votes,
        decision=decision,
        results=results,
        rounds=3,
        stopped="agreement",
    )


def verdict_round_trip() -> Verdict:
    """Build a verdict, dump it and validate the dump."""
    return Verdict.model_validate(a_verdict().model_dump())


def verdict_figures(runs: int = 300) -> list[Figure]:
    """Microseconds of CPU of one round trip: the least mean of several series."""
    series = []
    for _ in range(9):
        start = time.process_time()
        for _ in range(runs // 9):
            verdict_round_trip()
        series.append((time.process_time() - start) / (runs // 9))
    what = f"a verdict of {PARTIES} x 3 x {SIZE}: build, dump, validate"
    return [Figure(what, min(series) * 1e6, "us", "< 300")]


def figures() -> list[Figure]:
    """Return all figures."""
    return [
        *import_figures(),
        *decide_figures(),
        *decide_many_figures(),
        *verdict_figures(),
    ]


def main() -> None:
    """Print the figures as a Markdown table."""
    sys.stdout.write("| what | found | target |\n|---|---|---|\n")
    for f in figures():
        sys.stdout.write(f"| {f.what} | {f.value:.3g} {f.unit} | {f.target} |\n")


if __name__ == "__main__":
    main()
