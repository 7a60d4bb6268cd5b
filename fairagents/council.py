"""A council as a LangGraph graph: one named node per stakeholder, aggregation always reached."""

from __future__ import annotations

import asyncio
import functools
import inspect
import operator
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from typing import Annotated, Any

from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Overwrite
from typing_extensions import TypedDict  # the schemas of Python 3.11's own can't be drawn up

from fairagents.agents.base import Agent, Policy, ahear, hear
from fairagents.ballot import Vote
from fairagents.case import Case
from fairagents.catalogue import Catalogue
from fairagents.decision import Call, Decision, Verdict
from fairagents.engine import Session, compare, run
from fairagents.errors import DecisionError, SpecError, did_you_mean
from fairagents.evaluators.base import EVALUATORS, Evaluator
from fairagents.protocols.base import PROTOCOLS, Ask, History, Move, Protocol, Stop
from fairagents.rules.base import RULES, Rule
from fairagents.setting import Setting
from fairagents.setup import Setup
from fairagents.usecase import UseCase
from fairagents.verdicts import Verdicts, decide_scripted, gather


def _merge(old: dict[str, Vote], new: dict[str, Vote]) -> dict[str, Vote]:
    return {**old, **new}


class CouncilInput(TypedDict):
    """What a run of the graph takes."""

    case: Case


class CouncilOutput(TypedDict):
    """What a run of the graph gives."""

    verdict: Verdict


class CouncilState(TypedDict, total=False):
    """The graph's state: plain values and top-level models only, so that it can be stored.

    Votes are keyed "round/stakeholder": written twice, they are the same vote, and the order in
    which nodes finish is nowhere in the state.
    """

    case: Case
    votes: Annotated[dict[str, Vote], _merge]
    calls: Annotated[list[Call], operator.add]
    decisions: list[Decision]
    round: int
    asked: list[str]
    offer: list[str]
    feedback: dict[str, str]
    stopped: str
    verdict: Verdict


Event = dict[str, Any]


def _inline(
    fn: Callable[..., Any],
    *args: Any,
    __name__: str | None = None,
    __cancel_on_exit__: bool = False,
    __reraise_on_exit__: bool = True,
    __next_tick__: bool = False,
    **kwargs: Any,
) -> Future[Any]:
    """Run a node at once in the caller's thread: what LangGraph's runner takes to submit one.

    A graph that a scripted agent runs inside inherits this; where that is asynchronous its nodes
    become tasks of its event loop.
    """
    future: Future[Any] = Future()
    try:
        found = copy_context().run(fn, *args, **kwargs)
        if inspect.iscoroutine(found):
            return asyncio.ensure_future(found)  # type: ignore[return-value]
        future.set_result(found)
    except Exception as error:
        future.set_exception(error)
    return future


class Council:
    """Agents that decide together, compiled to a LangGraph graph.

    Args:
        source: a catalogue, or a use case, whose stakeholders then take part.
        agents: stakeholders with their policies; with a use case they may be left out.
        policies: with a use case, policy per stakeholder id; the others are `default`.
        default: with a use case, the policy of everybody who is not in `policies`.
        rule: a rule or its name.
        protocol: a protocol or its name.
        evaluators: evaluators or their names; None is the default set.
        settings: further fields of `Setup` (cut, seed, quorum, on_abstain, max_calls, deadline,
            case_columns).

    >>> from fairagents import Council, UseCase
    >>> tourism = UseCase.load("tourism")
    >>> council = Council(tourism, rule="borda", seed=1)
    >>> verdict = council.decide(tourism.cases()[0])
    >>> len(verdict.decision.outcome.ids)
    10
    """

    def __init__(
        self,
        source: Catalogue | UseCase,
        agents: Sequence[Agent] = (),
        *,
        policies: Mapping[str, Policy | str] | None = None,
        default: Policy | str = "utility",
        rule: Rule | str = "borda",
        protocol: Protocol | str = "one_shot",
        evaluators: Sequence[Evaluator | str] | None = None,
        **settings: Any,
    ) -> None:
        catalogue = source.catalogue if isinstance(source, UseCase) else source
        if isinstance(source, UseCase) and not agents:
            agents = bind(source, policies or {}, default)
        elif policies:
            raise SpecError("policies go with a use case; agents already have theirs")
        if evaluators is not None:
            settings["evaluators"] = tuple(EVALUATORS.build(one) for one in evaluators)
        self.setup = Setup(
            catalogue,
            tuple(agents),
            rule=RULES.build(rule),
            protocol=PROTOCOLS.build(protocol),
            **settings,
        )
        for agent in self.setup.agents:
            agent.policy.prepare()
        self._sessions: OrderedDict[int, Session] = OrderedDict()
        self._lock = threading.Lock()

    # -- deciding ---------------------------------------------------------------------------

    def decide(self, case: Case) -> Verdict:
        """Decide one case in one run of the graph.

        Raises:
            SpecError: the case does not fit the catalogue or the specs.
            InfeasibleError: no outcome meets the task's limits; it names those that clash.
            DecisionError: no decision came about; the message says why.
        """
        return _verdict(self.graph.invoke({"case": case}, config=self._sync_config))

    async def adecide(self, case: Case) -> Verdict:
        """Decide one case without blocking; cancelling the task cancels what is still asked."""
        return _verdict(await self.graph.ainvoke({"case": case}, config=self._config))

    def decide_many(
        self, cases: Iterable[Case], *, workers: int = 2, engine: bool | None = None
    ) -> Verdicts:
        """Decide many cases and return the verdicts as columns; `verdicts[i]` equals `decide`.

        When all agents are scripted, the engine decides in vectorised batches of bounded memory;
        otherwise each case is a run of the graph, at most `workers` at once.

        Args:
            cases: any iterable. With a sequence, `verdicts[i]` gives whole verdicts later on.
            workers: how many cases with models are decided at once.
            engine: True or False forces one of the two ways.
        """
        if self.setup.scripted if engine is None else engine:
            return decide_scripted(self.setup, cases)
        return gather(self.setup, cases, self.decide, workers)

    def stream(self, case: Case) -> Iterator[Event]:
        """Yield what happens as it happens, as plain dicts with a `type`.

        Types: "vote" (`vote`), "decision" (`round`, `decision`), "verdict" (`verdict`).
        """
        for update in self.graph.stream(
            {"case": case}, config=self._sync_config, stream_mode="updates"
        ):
            for node, change in update.items():
                yield from _events(node, change or {})

    def setting(self, case: Case) -> Setting:
        """Return a case made ready, with everybody's worth: what `conflict` takes."""
        return Session(self.setup, case).setting

    def run(self, case: Case) -> Verdict:
        """Decide one case by the engine, without LangGraph; the same verdict as `decide`."""
        return run(self.setup, case)

    def compare(self, verdict: Verdict, rules: Iterable[Rule | str]) -> tuple[Verdict, ...]:
        """Put a verdict's ballots through other rules; nobody is asked again."""
        return compare(self.setup, verdict, [RULES.build(rule) for rule in rules])

    # -- the graph --------------------------------------------------------------------------

    @functools.cached_property
    def graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """The compiled graph, without a checkpointer."""
        return self.compile()

    def compile(self, **options: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Compile the graph; `options` (say, a checkpointer) go to LangGraph's `compile`."""
        builder: Any = StateGraph(
            CouncilState, input_schema=CouncilInput, output_schema=CouncilOutput
        )
        asks = {agent.id: f"ask_{agent.id}" for agent in self.setup.agents}
        # Both say where to go on themselves: conditional edges would read the state once more.
        targets = (*asks.values(), "evaluate")
        builder.add_node("open", self._open, destinations=targets)
        builder.add_node("settle", self._settle, destinations=targets)
        builder.add_node("evaluate", self._evaluate)
        for agent in self.setup.agents:
            builder.add_node(asks[agent.id], self._ask(agent))
            # One plain edge each: a join of all would wait for ever for those not asked.
            builder.add_edge(asks[agent.id], "settle")
        builder.add_edge(START, "open")
        builder.add_edge("evaluate", END)
        return builder.compile(name="council", **options)  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        """Keep what a council is made of; what it holds ready is made anew where it arrives."""
        return {"setup": self.setup}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.setup = state["setup"]
        self._sessions, self._lock = OrderedDict(), threading.Lock()

    def mermaid(self) -> str:
        """Return the graph as a Mermaid diagram."""
        return self.graph.get_graph().draw_mermaid()

    @property
    def _config(self) -> Any:
        # Rounds are bounded by the protocol; this only keeps LangGraph's own limit out of the way.
        return {"recursion_limit": 3 * self.setup.protocol.limit + 5, "run_name": "council"}

    @property
    def _sync_config(self) -> Any:
        if not self.setup.scripted:
            return self._config
        # Scripted agents hold the interpreter, so in threads they would only wait for each other,
        # and threads cost more than the decision. Where LangGraph does not know this key, it
        # starts them all the same.
        return {**self._config, "configurable": {"__pregel_runner_submit": lambda: _inline}}

    def _session(self, case: Case) -> Session:
        """Return the run's session; a run that resumes elsewhere builds it anew."""
        with self._lock:
            found = self._sessions.get(id(case))
            if found is None or found.case is not case:
                found = Session(self.setup, case)
                self._sessions[id(case)] = found
                while len(self._sessions) > SESSIONS:
                    self._sessions.popitem(last=False)
            return found

    def _open(self, state: CouncilState) -> Command[str]:
        given = state["case"]
        # A copy, so that two runs on one case share nothing; over HTTP a case comes as plain data.
        case = given.model_copy() if isinstance(given, Case) else Case.from_data(given, "case")
        session = self._session(case)
        session.warm()
        history, move = session.turn(History(self.setup.stakeholders))
        # A thread that decided before still holds its votes: they are no part of this decision.
        fresh = {"votes": Overwrite({}), "calls": Overwrite([]), "round": 0}
        return _go({"case": case, **fresh, **_written(history, move)})

    def _ask(self, agent: Agent) -> Any:
        policy = agent.policy

        def prepare(state: CouncilState) -> Any:
            ask = Ask(
                tuple(state["asked"]), tuple(state["offer"]), tuple(state["feedback"].items())
            )
            now = state["round"]
            spent = sum(v.attempts for v in state["votes"].values() if v.round < now)
            return self._session(state["case"]).brief(agent.id, now, ask, spent)

        def answer(brief: Any, vote: Vote) -> CouncilState:
            return {"votes": {f"{brief.round}/{agent.id}": vote}, "calls": brief.calls}

        def node(state: CouncilState) -> CouncilState:
            brief = prepare(state)
            return answer(brief, hear(policy, brief))

        async def anode(state: CouncilState) -> CouncilState:
            brief = prepare(state)
            return answer(brief, await ahear(policy, brief))

        # A scripted policy needs no event loop, and a plain function is half a millisecond faster.
        return node if policy.scripted else RunnableLambda(node, afunc=anode)

    def _settle(self, state: CouncilState) -> Command[str]:
        session = self._session(state["case"])
        return _go(_written(*session.turn(self._history(state))))

    def _evaluate(self, state: CouncilState) -> CouncilState:
        session = self._session(state["case"])
        history = self._history(state)
        verdict = session.verdict(history, state["stopped"], state["calls"])
        with self._lock:
            self._sessions.pop(id(state["case"]), None)
        return {"verdict": verdict}

    def _history(self, state: CouncilState) -> History:
        """Return what happened so far, in the declared order whatever order nodes finished in."""
        votes = state["votes"]
        rounds = tuple(
            tuple(votes[key] for who in self.setup.stakeholders if (key := f"{r}/{who}") in votes)
            for r in range(1, state["round"] + 1)
        )
        return History(self.setup.stakeholders, rounds, tuple(state["decisions"]))


SESSIONS = 64
"""How many cases on their way a council keeps ready at once."""


def bind(
    usecase: UseCase, policies: Mapping[str, Policy | str], default: Policy | str
) -> tuple[Agent, ...]:
    """Bind each stakeholder of a use case to its policy.

    Raises:
        SpecError: `policies` names nobody of the use case.
    """
    known = [s.id for s in usecase.stakeholders]
    for one in policies:
        if one not in known:
            raise SpecError(f"no stakeholder {one!r}; {did_you_mean(one, known)}")
    return tuple(
        Agent(stakeholder=s, policy=policies.get(s.id, default))  # type: ignore[arg-type]
        for s in usecase.stakeholders
    )


def serializer() -> JsonPlusSerializer:
    """Return LangGraph's serializer with this package's state types allowed, for checkpointers."""
    return JsonPlusSerializer(allowed_msgpack_modules=STATE_TYPES)


def _state_types() -> list[tuple[str, ...]]:
    from fairagents import ballot, decision, outcome

    models = [
        Case,
        *(getattr(ballot, n) for n in ("Ranking", "Ratings", "Approvals", "Plan", "Abstention")),
        *(getattr(ballot, n) for n in ("Vote", "Agenda")),
        *(getattr(decision, n) for n in ("Table", "Decision", "Result", "Call", "Verdict")),
        outcome.Outcome,
        outcome.Lottery,
    ]
    return [(model.__module__, model.__name__) for model in models]


STATE_TYPES = _state_types()


def _go(update: Mapping[str, Any]) -> Command[str]:
    """Return a change of the state with the nodes that come next."""
    return Command(update=update, goto=[f"ask_{who}" for who in update["asked"]] or ["evaluate"])


def _written(history: History, move: Move) -> CouncilState:
    """Return the state after a turn: whom to ask in which round, or why it stopped."""
    if isinstance(move, Ask):
        return {
            "decisions": list(history.decisions),
            "round": len(history.rounds) + 1,
            "asked": list(move.who),
            "offer": list(move.offer),
            "feedback": dict(move.feedback),
        }
    stopped = move.reason if isinstance(move, Stop) else ""
    return {
        "decisions": list(history.decisions),
        "round": len(history.rounds),
        "asked": [],
        "stopped": stopped,
    }


def _verdict(state: Mapping[str, Any]) -> Verdict:
    verdict = state.get("verdict")
    if not isinstance(verdict, Verdict):
        raise DecisionError("the graph ended without a verdict")
    return verdict


def _events(node: str, change: Mapping[str, Any]) -> Iterator[Event]:
    if node.startswith("ask_"):
        for vote in change["votes"].values():
            yield {"type": "vote", "vote": vote}
    elif node == "settle" and change["decisions"]:
        yield {
            "type": "decision",
            "round": change["round"] - bool(change["asked"]),
            "decision": change["decisions"][-1],
        }
    elif node == "evaluate":
        yield {"type": "verdict", "verdict": change["verdict"]}
