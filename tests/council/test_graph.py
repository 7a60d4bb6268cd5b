"""The council as a graph: nodes, schemas, events, checkpoints, cancelling, concurrency."""

from __future__ import annotations

import asyncio
import builtins
import copy
import pickle
import random
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel, PrivateAttr

from fairagents.agents.base import Agent, Brief, Policy
from fairagents.agents.scripted import Utility
from fairagents.ballot import Abstention, Agenda, Approvals, Plan, Ranking, Ratings, Vote
from fairagents.case import Case
from fairagents.council import STATE_TYPES, Council, CouncilState, serializer
from fairagents.decision import Call, Decision, Result, Table
from fairagents.errors import DecisionError, InfeasibleError, SpecError
from fairagents.outcome import Lottery, Outcome
from fairagents.rules.names import SLATE_RULES
from fairagents.setting import Cut
from fairagents.task import AtMostPer, Exclude, GroupLimit, Include, Slate
from tests.core.toys import CONSTRAINTS, TRIO, agents, case, party, trio

# -- the drawing and its schemas -----------------------------------------------------------------


def test_each_stakeholder_is_one_named_static_node() -> None:
    names = set(trio().graph.get_graph().nodes) - {"__start__", "__end__"}
    assert names == {"open", "ask_ann", "ask_bob", "ask_eve", "settle", "evaluate"}
    drawing = trio().mermaid()
    for name in names:
        assert name in drawing
    edges = {(e.source, e.target) for e in trio().graph.get_graph().edges}
    for who in ("ann", "bob", "eve"):
        assert (f"ask_{who}", "settle") in edges


def test_the_graph_declares_what_it_takes_and_gives() -> None:
    graph = trio().compile()
    assert set(graph.get_input_jsonschema()["properties"]) == {"case"}
    assert set(graph.get_output_jsonschema()["properties"]) == {"verdict"}
    assert set(graph.invoke({"case": case()})) == {"verdict"}


def test_a_stakeholder_may_be_called_like_a_node() -> None:
    people = [party(name, *party("ann").objectives) for name in ("open", "settle", "evaluate")]
    verdict = Council(TRIO, agents(*people)).decide(case())
    assert [v.stakeholder for v in verdict.votes] == ["open", "settle", "evaluate"]


def test_a_case_may_come_as_plain_data_as_it_does_over_http() -> None:
    one = case(id="plain", columns={"score": {"a": 0.5}})
    data = one.model_dump(mode="json")
    found = trio().graph.invoke({"case": data})["verdict"]
    assert found.canonical() == trio().decide(one).canonical()
    with pytest.raises(SpecError, match=r"case: Case\.task: is required"):
        trio().graph.invoke({"case": {"id": "c"}})


# -- order and concurrency -----------------------------------------------------------------------


def test_votes_stand_in_the_declared_order_whatever_the_nodes_are_called() -> None:
    names = ["zoe", "x-10", "x-9", "Ann", "bob"]
    people = [
        party(n, *party(c).objectives)
        for n, c in zip(names, ["ann", "bob", "eve", "ann", "eve"], strict=True)
    ]
    council = Council(TRIO, agents(*people), rule={"borda": {"tie_break": "priority"}})  # type: ignore[arg-type]
    verdict = council.decide(case(3))
    assert [v.stakeholder for v in verdict.votes] == names
    assert verdict.decision.trace[0].columns[1:-1] == tuple(names)
    assert verdict.canonical() == council.run(case(3)).canonical()


def test_one_case_decided_by_many_threads_gives_the_same_bytes() -> None:
    council, one = trio("random", rule="nash"), case(3)
    wanted = council.run(one).canonical()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: council.decide(one).canonical(), range(24)))
    assert set(found) == {wanted}
    many = council.decide_many([one] * 6, workers=4, engine=False)
    assert {v.canonical() for v in many} == {wanted}


def test_the_bytes_hold_no_time_and_differ_by_seed_case_and_rule() -> None:
    base = trio("random").decide(case()).canonical()
    assert base == trio("random").decide(case()).canonical()
    for council, one in (
        (trio("random", seed=1), case()),
        (trio("random"), case(id="d")),
        (trio("random", rule="nash"), case()),
        (trio("random", cut=Cut(whole=3)), case()),
        (trio("random", quorum=2), case()),
    ):
        assert council.decide(one).canonical() != base
    call = Call(stakeholder="ann", round=1, attempt=1, seconds=1.5, outcome="ok")
    verdict = trio("random").decide(case())
    assert verdict.model_copy(update={"calls": (call,)}).canonical() == base


# -- events --------------------------------------------------------------------------------------


def test_a_stream_tells_votes_then_the_decision_then_the_verdict() -> None:
    council = trio()
    events = list(council.stream(case()))
    assert [e["type"] for e in events] == ["vote"] * 3 + ["decision", "verdict"]
    assert {e["vote"].stakeholder for e in events[:3]} == {"ann", "bob", "eve"}
    assert events[3]["round"] == 1
    assert events[4]["verdict"].decision == events[3]["decision"]
    assert events[4]["verdict"].canonical() == council.decide(case()).canonical()


# -- errors --------------------------------------------------------------------------------------


class Buggy(Policy):
    """Has a bug."""

    def propose(self, brief: Brief) -> Vote:
        raise ZeroDivisionError("a bug in a policy")


def test_a_bug_in_a_scripted_policy_raises_and_is_no_abstention() -> None:
    council = Council(
        TRIO, (*agents(party("ann")), Agent(stakeholder=party("bob"), policy=Buggy()))
    )
    for way in (council.decide, council.run, lambda c: council.decide_many([c])):
        with pytest.raises(ZeroDivisionError, match="a bug in a policy"):
            way(case())


def test_what_does_not_fit_is_said_by_the_graph_as_by_the_engine() -> None:
    for one, error, message in (
        (case(7), InfeasibleError, "7"),
        (case(candidates=["a", "zz"]), SpecError, "'zz' is not in catalogue"),
        (case(1, limits=[Exclude(ids=TRIO.ids)]), InfeasibleError, "excludes a; excludes b"),
        (case(1, limits=[AtMostPer(column="land", count=1)]), SpecError, "no column 'land'"),
    ):
        for way in (trio().decide, trio().run, lambda c: trio().decide_many([c])):
            with pytest.raises(error, match=message):
                way(one)


# -- asynchronous --------------------------------------------------------------------------------


class Waiting(Policy):
    """Waits until it is released or cancelled, and notes which."""

    scripted: ClassVar[bool] = False
    _log: list[str] = PrivateAttr(default_factory=list)
    _asked: threading.Event = PrivateAttr(default_factory=threading.Event)

    def propose(self, brief: Brief) -> Vote:
        return Utility().propose(brief)

    async def apropose(self, brief: Brief) -> Vote:
        self._log.append("asked")
        self._asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self._log.append("cancelled")
            raise
        return self.propose(brief)


def test_adecide_gives_the_same_bytes_as_decide() -> None:
    async def all_at_once() -> list[bytes]:
        council = trio("random")
        found = await asyncio.gather(*(council.adecide(case(id=f"c{i}")) for i in range(6)))
        return [v.canonical() for v in found]

    wanted = [trio("random").decide(case(id=f"c{i}")).canonical() for i in range(6)]
    assert asyncio.run(all_at_once()) == wanted


def test_cancelling_adecide_cancels_what_is_still_asked() -> None:
    policy = Waiting()
    council = Council(TRIO, (*agents(party("ann")), Agent(stakeholder=party("bob"), policy=policy)))

    async def start_and_cancel() -> None:
        task = asyncio.create_task(council.adecide(case()))
        while not policy._asked.is_set():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(start_and_cancel())
    assert policy._log == ["asked", "cancelled"]


# -- scripted councils run in the caller's thread ------------------------------------------------


def test_decide_gives_the_same_bytes_within_a_running_event_loop() -> None:
    council = trio()
    want = council.run(case(2)).canonical()

    async def main() -> tuple[bytes, bytes]:
        return council.decide(case(2)).canonical(), (await council.adecide(case(2))).canonical()

    assert {council.decide(case(2)).canonical(), *asyncio.run(main())} == {want}


class Interrupted(Policy):
    """Is interrupted the first time, as in the middle of a decision."""

    by: str = "KeyboardInterrupt"
    _done: list[bool] = PrivateAttr(default_factory=list)

    def propose(self, brief: Brief) -> Vote:
        if not self._done:
            self._done.append(True)
            raise getattr(builtins, self.by)
        return Utility().propose(brief)


@pytest.mark.parametrize("by", ["KeyboardInterrupt", "SystemExit", "TimeoutError"])
def test_an_interrupted_decision_leaves_nothing_behind(by: str) -> None:
    council = Council(TRIO, agents(party("ann"), party("bob"), policy=Interrupted(by=by)))
    with pytest.raises(getattr(builtins, by)):
        council.decide(case(2))
    assert council.decide(case(2)).canonical() == council.run(case(2)).canonical()


# One that strikes while the interpreter cleans up can't be raised there, and is lost.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_anywhere_neither_hangs_nor_spoils_the_next_decision() -> None:
    council = trio()
    want = council.run(case(2)).canonical()
    council.decide(case(2))
    hits = 0

    def strike(signum: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, strike)
    try:
        for i in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + i * 1.3e-5)
                assert council.decide(case(2)).canonical() == want
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                hits += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert hits > 20
    assert council.decide(case(2)).canonical() == want


class Looping(Policy):
    """Runs an event loop of its own, as foreign code may."""

    def propose(self, brief: Brief) -> Vote:
        asyncio.run(asyncio.sleep(0))
        return Utility().propose(brief)


def test_foreign_code_may_run_an_event_loop_of_its_own_and_decide_within_a_decision() -> None:
    council = Council(TRIO, agents(party("ann"), party("bob"), policy=Looping()))
    want = council.run(case(2)).canonical()
    assert council.decide(case(2)).canonical() == want
    assert asyncio.run(council.adecide(case(2))).canonical() == want


class Nested(Policy):
    """Holds councils of its own to make up its mind, with and without an event loop."""

    def propose(self, brief: Brief) -> Vote:
        trio().decide(case(2))
        asyncio.run(trio().adecide(case(2)))
        return Utility().propose(brief)


def test_a_policy_may_hold_a_council_of_its_own() -> None:
    council = Council(TRIO, agents(party("ann"), party("bob"), policy=Nested()))
    assert council.decide(case(2)).canonical() == council.run(case(2)).canonical()


def test_scripted_agents_answer_in_the_callers_thread() -> None:
    before = set(threading.enumerate())
    seen: list[set[threading.Thread]] = []

    class Watching(Policy):
        def propose(self, brief: Brief) -> Vote:
            seen.append(set(threading.enumerate()))
            return Utility().propose(brief)

    Council(TRIO, agents(party("ann"), party("bob"), policy=Watching())).decide(case(2))
    assert seen == [before, before]


def test_a_council_is_copied_and_sent_to_other_processes_without_what_it_holds_ready() -> None:
    council = trio()
    want = council.decide(case(2)).canonical()
    for other in (copy.deepcopy(council), pickle.loads(pickle.dumps(council))):
        assert other.setup.catalogue._cache == {}
        assert other.decide(case(2)).canonical() == want


# -- checkpoints ---------------------------------------------------------------------------------

VOTE = Vote(
    stakeholder="ann",
    said=Ranking.of(["a", ["b", "c"]]),
    policy="p",
    options=(("t", "0"),),
)
LIMITS = (
    AtMostPer(column="land", count=1), Include(ids=("a",)), Exclude(group=CONSTRAINTS[0].accepts),
    GroupLimit(group=CONSTRAINTS[1].accepts, at_least=1.0),
)  # fmt: skip
STATE: list[BaseModel] = [
    VOTE,
    VOTE.said,
    VOTE.model_copy(update={"said": Ratings(ids=("a",), values=(0.5,))}),
    VOTE.model_copy(update={"said": Approvals(ids=("a",))}),
    VOTE.model_copy(update={"said": Plan(outcome=Outcome.slate("ab"))}),
    VOTE.model_copy(update={"said": Abstention(code="c"), "status": "abstained"}),
    Case(id="c", task=Slate(size=2, limits=LIMITS), request={"a": [1, {"b": None}]}),
    Agenda(ids=("a", "b"), whole=False, nominated=(("ann", ("a",)),), lost=(("ann", 0.5),)),
    Table(name="t", columns=("a", "b"), rows=(("x", 1), (None, 2.5), (True, 1.0))),
    Decision(rule="r", outcome=Outcome.slate("ab"), tiers=(("a", "b"),), ties=(("a", "b"),),
             lottery=Lottery(outcomes=(Outcome.slate("a"),), probabilities=(1.0,))),
    Result(measure="m", subject="s", value=0.5, range=(None, 1.0), conventions=(("k", "1"),)),
    Call(stakeholder="ann", round=1, attempt=1, seconds=0.5, outcome="ok"),
    trio().decide(case()),
]  # fmt: skip


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("model", STATE, ids=lambda m: type(m).__name__)
def test_a_state_model_comes_back_from_the_strict_serializer_as_it_was(model: BaseModel) -> None:
    for serde in (serializer(), JsonPlusSerializer(allowed_msgpack_modules=STATE_TYPES)):
        back = serde.loads_typed(serde.dumps_typed(model))
        assert type(back) is type(model)
        assert back == model
        assert_same_types(back.model_dump(), model.model_dump())
        assert back.model_dump_json() == model.model_dump_json()
    for name in type(model).model_fields:
        assert type(getattr(back, name)) is type(getattr(model, name))


def assert_same_types(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, dict):
        for key in other:
            assert_same_types(one[key], other[key])
    elif isinstance(one, tuple | list):
        for a, b in zip(one, other, strict=True):
            assert_same_types(a, b)


def plain_values(value: Any) -> bool:
    """Tell whether nothing but plain Python values and models is inside."""
    if isinstance(value, BaseModel):
        return all(plain_values(v) for _, v in value)
    if isinstance(value, dict):
        return all(type(k) is str and plain_values(v) for k, v in value.items())
    if isinstance(value, tuple | list):
        return all(plain_values(v) for v in value)
    return type(value) in (str, int, float, bool, type(None))


@pytest.mark.parametrize("rule", SLATE_RULES)
def test_no_numpy_scalar_reaches_a_state_model(rule: str) -> None:
    people = [party("ann", voice=0.3), party("bob", voice=2.0), party("eve", voice=0.123456789)]
    verdict = Council(TRIO, agents(*people), rule=rule, cut=Cut(whole=2, top=2)).decide(case(2))
    assert plain_values(verdict)
    assert not plain_values(np.float64(1))


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("rule", SLATE_RULES)
def test_a_strict_checkpointer_keeps_the_whole_run(rule: str) -> None:
    council = trio("random", rule=rule)
    graph = council.compile(checkpointer=InMemorySaver(serde=serializer()))
    config: Any = {"configurable": {"thread_id": "1"}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = graph.invoke({"case": case()}, config)["verdict"]
        state = graph.get_state(config).values
    assert found.canonical() == council.run(case()).canonical()
    assert state["verdict"] == found
    assert set(state) <= set(CouncilState.__annotations__)
    assert all(isinstance(v, Vote) for v in state["votes"].values())
    assert isinstance(state["votes"]["1/ann"].said, Ranking)
    assert isinstance(state["case"], Case)


@pytest.mark.usefixtures("strict")
def test_a_run_resumes_from_a_checkpoint_in_another_council() -> None:
    saver = InMemorySaver(serde=serializer())
    config: Any = {"configurable": {"thread_id": "1"}}
    first = trio("random").compile(checkpointer=saver, interrupt_before=["settle"])
    first.invoke({"case": case()}, config)
    assert "verdict" not in first.get_state(config).values
    second = trio("random").compile(checkpointer=saver)
    verdict = second.invoke(None, config)["verdict"]
    assert verdict.canonical() == trio("random").run(case()).canonical()


def test_a_thread_that_decided_before_leaves_nothing_behind() -> None:
    council = Council(TRIO, (Agent(stakeholder=party("ann"), policy=Counting()),))
    graph = council.compile(checkpointer=InMemorySaver(serde=serializer()))
    config: Any = {"configurable": {"thread_id": "1"}}
    for i in range(3):
        verdict = graph.invoke({"case": case(id=f"c{i}")}, config)["verdict"]
        assert len(verdict.calls) == 1
        assert verdict.case.id == f"c{i}"
        assert verdict.canonical() == council.run(case(id=f"c{i}")).canonical()


# -- budgets -------------------------------------------------------------------------------------


class Counting(Policy):
    """Takes one call of the budget, as a model would."""

    scripted: ClassVar[bool] = False

    def propose(self, brief: Brief) -> Vote:
        code = brief.budget.take()
        seconds = random.Random(brief.seed).random()
        brief.calls.append(
            Call(stakeholder=brief.stakeholder.id, round=brief.round, attempt=1,
                 seconds=seconds, outcome=code or "ok")
        )  # fmt: skip
        if code:
            return brief.vote(Abstention(code=code), self, (code,))
        return Utility().propose(brief).model_copy(update={"policy": self.label, "seed": None})


@pytest.mark.parametrize("most", [0, 1, 2, 3, None])
def test_who_gets_no_call_abstains_and_the_verdict_says_so(most: int | None) -> None:
    council = trio(Counting(), max_calls=most)
    if most == 0:
        for way in (council.decide, council.run):
            with pytest.raises(DecisionError, match=r"quorum is 1; ann abstained \(max_calls"):
                way(case())
        return
    verdict = council.decide(case())
    cast = [v for v in verdict.votes if v.status == "ok"]
    assert len(cast) == (3 if most is None else most)
    assert len(verdict.warnings) == 3 - len(cast)
    assert all("(max_calls): decided without its voice (1 of 3)" in w for w in verdict.warnings)
    assert [c.stakeholder for c in verdict.calls] == ["ann", "bob", "eve"]


class Meeting(Counting):
    """Two of its proposals wait for each other."""

    _barrier: threading.Barrier = PrivateAttr(default_factory=lambda: threading.Barrier(2))

    def propose(self, brief: Brief) -> Vote:
        self._barrier.wait(timeout=30)
        return super().propose(brief)


def test_the_budget_is_per_decision_even_on_one_case_at_once() -> None:
    bound = (Agent(stakeholder=party("ann"), policy=Meeting()),)
    council, one = Council(TRIO, bound, max_calls=1), case()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: council.decide(one), range(2)))
    assert all(v.warnings == () for v in found)
    assert [len(v.calls) for v in found] == [1, 1]


def test_after_the_deadline_everybody_abstains() -> None:
    council = trio(Counting(), deadline=1e-9)
    with pytest.raises(DecisionError, match=r"\(deadline: \)"):
        council.decide(case())
