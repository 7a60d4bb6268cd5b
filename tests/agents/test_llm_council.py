"""Councils whose agents are language models: same bytes, bounded load, abstentions, the null."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from fairagents import models
from fairagents.agents.base import Agent, Policy
from fairagents.agents.scripted import Random, Utility
from fairagents.ballot import Abstention
from fairagents.case import Case
from fairagents.catalogue import Catalogue
from fairagents.council import Council, serializer
from fairagents.decision import Verdict
from fairagents.errors import DecisionError, ModelUnavailable
from fairagents.spec import Column, Objective, Stakeholder
from fairagents.task import Slate
from fairagents.testing import FakeOllama
from tests.agents.toy_council import (
    CASE,
    CLIMATE,
    HOSTS,
    INNS,
    JUDGED,
    PARTIES,
    Stage,
    llm,
    text_of,
)


def council(policies: dict[str, Policy] | Policy, **settings: Any) -> Council:
    """Return a council of the three; who has no policy of its own votes sincerely."""
    default = policies if isinstance(policies, Policy) else Utility()
    own = {} if isinstance(policies, Policy) else policies
    agents = [Agent(stakeholder=one, policy=own.get(one.id, default)) for one in PARTIES]
    return Council(INNS, agents, **settings)


def weekends(n: int) -> list[Case]:
    return [CASE.model_copy(update={"id": f"weekend-{i}"}) for i in range(n)]


# -- the same bytes ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["rank", "approve", "rate"])
def test_graph_engine_and_async_give_the_same_bytes(form: Any, server: FakeOllama) -> None:
    group = council(llm(server, form=form, chunk=5), seed=4)
    graph, engine = group.decide(CASE), group.run(CASE)
    later = asyncio.run(group.adecide(CASE))
    assert graph.canonical() == engine.canonical() == later.canonical()
    assert Verdict.from_json(graph.model_dump_json()) == graph
    assert {vote.status for vote in graph.votes} == {"ok"}
    assert [c.stakeholder for c in graph.calls] == [c.stakeholder for c in engine.calls]
    assert not any(word in graph.canonical() for word in (b"seconds", b'"calls"'))
    assert council(llm(server, form=form, chunk=5), seed=5).run(CASE).votes != graph.votes


def wire(server: FakeOllama) -> list[str]:
    return sorted(json.dumps(request.body, sort_keys=True) for request in server.chats)


def test_one_seed_sends_the_same_bytes_whatever_the_concurrency() -> None:
    def spoil(body: dict[str, Any]) -> str:
        """Damage some first answers, whichever comes first."""
        odd = body["options"]["seed"] % 3 == 0 and len(body["messages"]) == 2
        return "unknown_ids" if odd else "valid"

    sent, votes = [], []
    for workers, concurrency in ((1, 1), (4, 4)):
        with FakeOllama(script=spoil) as server:
            policy = llm(server, form="rate", chunk=4, concurrency=concurrency)
            verdicts = council(policy, seed=9).decide_many(weekends(4), workers=workers)
            sent.append(wire(server))
            votes.append([[vote.said for vote in v.votes] for v in verdicts])
            codes = {code for v in verdicts for vote in v.votes for code in vote.codes}
            assert codes == {"partial", "unknown_id"}
    assert sent[0] == sent[1] and votes[0] == votes[1]
    assert len(set(sent[0])) == len(sent[0]) > 36


def test_each_sees_an_order_of_its_own(server: FakeOllama) -> None:
    council(llm(server), seed=2).run(CASE)
    enums = [
        tuple(r.body["format"]["properties"]["ranking"]["items"]["enum"]) for r in server.chats
    ]
    assert len(set(enums)) == 3 and len({frozenset(one) for one in enums}) == 1


def test_nobody_reads_of_another_in_a_whole_council(server: FakeOllama) -> None:
    council(llm(server)).decide(CASE)
    told = [text_of(request.body) for request in server.chats]
    for one in ("GUEST", "CLIMATE", "HOSTS"):
        for what in ("PERSONA", "PRINCIPLE"):
            assert sum(f"{one}{what}" in text for text in told) == 1


@pytest.mark.parametrize("n", [1, 3])
def test_concurrency(n: int) -> None:
    with FakeOllama(delay=0.04) as server:
        group = council(llm(server, concurrency=n))

        async def some() -> None:
            await asyncio.gather(*(group.adecide(case) for case in weekends(3)))

        asyncio.run(some())
        assert server.most_at_once == n and len(server.chats) == 9
        server.most_at_once = 0
        group.decide_many(weekends(2), workers=3)
        assert server.most_at_once == n


def test_without_concurrency_the_limit_stays_as_it_was() -> None:
    with FakeOllama(delay=0.04) as server:
        models.limit(server.url, 3)
        council(llm(server)).decide(CASE)
        assert server.most_at_once == 3


@pytest.mark.parametrize("concurrently", [False, True])
def test_strict_checkpoints(
    concurrently: bool, server: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    group = council(llm(server), seed=1)
    graph = group.compile(checkpointer=InMemorySaver(serde=serializer()))
    thread: Any = {"configurable": {"thread_id": "1"}}
    start: Any = {"case": CASE}
    if concurrently:
        found = asyncio.run(graph.ainvoke(start, thread))["verdict"]
    else:
        found = graph.invoke(start, thread)["verdict"]
    assert found.canonical() == group.run(CASE).canonical()
    stored = graph.get_state(thread).values
    assert stored["votes"]["1/guest"] == found.votes[0]
    assert stored["calls"] and stored["verdict"].calls[0].seconds > 0


def test_nothing_there_is_an_error_before_the_first_case(server: FakeOllama) -> None:
    with pytest.raises(ModelUnavailable, match="ollama pull other"):
        council({"guest": llm(server, model="ollama:other")})
    assert server.chats == []


# -- who abstains --------------------------------------------------------------------------------


def test_decided_without_the_one_who_abstained(server: FakeOllama, stage: Stage) -> None:
    stage.default = "prose"
    verdict = council({"guest": llm(server)}).decide(CASE)
    assert verdict.warnings[0] == (
        "guest abstained in round 1 (not_json): decided without its voice (1 of 3)"
    )
    alone = Council(INNS, [Agent(stakeholder=s, policy=Utility()) for s in (CLIMATE, HOSTS)])
    assert verdict.decision.totals == alone.decide(CASE).decision.totals
    assert verdict.result("alignment", "guest").status == "undefined"
    assert verdict.result("satisfaction", "guest").value is not None


def test_its_twin_votes_in_its_place(server: FakeOllama, stage: Stage) -> None:
    stage.default = "prose"
    verdict = council({"guest": llm(server)}, on_abstain="twin").decide(CASE)
    assert "its sincere scripted twin voted in its place" in verdict.warnings[0]
    assert verdict.decision == council({}).decide(CASE).decision
    assert verdict.votes[0].status == "abstained"


def test_an_abstention_can_be_an_error(server: FakeOllama, stage: Stage) -> None:
    stage.default = "prose"
    group = council({"guest": llm(server)}, on_abstain="error")
    for decide in (group.decide, group.run, lambda case: asyncio.run(group.adecide(case))):
        with pytest.raises(DecisionError, match=r"guest abstained \(not_json: the answer was not"):
            decide(CASE)


def test_when_all_abstain_there_is_no_quorum(server: FakeOllama, stage: Stage) -> None:
    stage.default = "empty"
    with pytest.raises(DecisionError, match=r"0 valid ballots, the quorum is 1; guest abstained"):
        council(llm(server)).decide(CASE)


def test_max_calls_of_a_council(server: FakeOllama) -> None:
    verdict = council(llm(server), max_calls=2).run(CASE)
    assert [vote.codes for vote in verdict.votes] == [(), (), ("max_calls",)]
    assert (
        len(server.chats) == 2 and "hosts abstained in round 1 (max_calls)" in verdict.warnings[0]
    )
    assert len(council(llm(server), max_calls=1).decide(CASE).calls) == 1


def hang_for(marker: str) -> Any:
    return lambda body: "hang" if marker in text_of(body) else "valid"


@pytest.mark.parametrize("way", ["decide", "adecide", "run"])
def test_a_model_that_hangs_holds_up_no_decision(way: str) -> None:
    with FakeOllama(script=hang_for("HOSTSPERSONA")) as server:
        group = council(llm(server), deadline=1.0)
        started = time.monotonic()
        if way == "adecide":
            verdict = asyncio.run(group.adecide(CASE))
        else:
            verdict = getattr(group, way)(CASE)
        assert time.monotonic() - started < 2.0
    said = {vote.stakeholder: vote for vote in verdict.votes}
    assert said["hosts"].codes == ("deadline",) and isinstance(said["hosts"].said, Abstention)
    assert said["guest"].status == said["climate"].status == "ok"
    assert "hosts abstained in round 1 (deadline): decided without its voice" in verdict.warnings[0]


def test_cancelling_stops_asking() -> None:
    with FakeOllama(default="hang") as server:
        group = council(llm(server))

        async def cancelled() -> float:
            task = asyncio.create_task(group.adecide(CASE))
            while not server.chats:
                await asyncio.sleep(0.01)
            started = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return time.monotonic() - started

        assert asyncio.run(cancelled()) < 1
        assert len(server.chats) <= 2


# -- the null ------------------------------------------------------------------------------------

M, K, CASES = 12, 3, 80


CITIES = Catalogue.from_rows(
    [{"id": f"city-{i:02d}", "price": float(i), "quiet": float(i * i)} for i in range(M)],
    name="cities",
)


def wants(one: str, column: str, direction: Literal["min", "max"]) -> Stakeholder:
    """Return a party for whom the catalogue's own order is the best there is, or the worst."""
    objective = Objective(
        id=one,
        indicator=Column(column=column),
        direction=direction,
        anchors="case",
        provenance=JUDGED,
    )
    return Stakeholder(id=one, name=one, role="consumer", objectives=(objective,))


BY_ORDER = (wants("purse", "price", "min"), wants("calm", "quiet", "max"))


def alignments(policy: Policy) -> Iterator[float]:
    agents = [Agent(stakeholder=one, policy=policy) for one in BY_ORDER]
    group = Council(CITIES, agents, seed=7)
    for i in range(CASES):
        verdict = group.run(Case(id=f"case-{i}", task=Slate(size=K)))
        for one in BY_ORDER:
            value = verdict.value("alignment", one.id)
            assert value is not None
            yield value


@pytest.mark.parametrize("form", ["rank", "approve", "rate"])
def test_who_echoes_the_order_shown_scores_as_random(form: Any) -> None:
    with FakeOllama(default="echo") as server:
        echo = np.array(list(alignments(llm(server, form=form))))
        assert len(server.chats) == len(echo) == 2 * CASES
    error = echo.std(ddof=1) / np.sqrt(len(echo))
    assert abs(echo.mean()) <= 3 * error and abs(echo.mean()) <= 0.1
    assert echo.std() > 0.2  # it is no constant that averages out


def test_what_the_echo_is_measured_against() -> None:
    assert list(alignments(Utility())) == [1.0] * 2 * CASES
    random = np.array(list(alignments(Random())))
    assert abs(random.mean()) <= 3 * random.std() / np.sqrt(len(random))


def test_without_an_order_of_its_own_the_echo_would_score_high(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted effect: the test above can fail."""

    class Unmoved:
        def permutation(self, n: int) -> Any:
            return np.arange(n)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Unmoved())
    with FakeOllama(default="echo") as server:
        purse, calm = itertools.islice(alignments(llm(server)), 2)
    assert purse == 1.0 and calm < -0.3
