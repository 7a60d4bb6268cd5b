"""The language-model policy over a server that speaks Ollama's protocol."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from fairagents import models
from fairagents.agents.base import Agent
from fairagents.agents.llm import LLM
from fairagents.ballot import Abstention, Approvals, Ranking, Ratings
from fairagents.errors import ModelUnavailable, SpecError
from fairagents.testing import FakeOllama
from tests.agents.toy_council import (
    CASE,
    GUEST,
    IDS,
    WAYS,
    Stage,
    Way,
    brief_of,
    listed,
    llm,
    sync,
    text_of,
)

both = pytest.mark.parametrize("way", WAYS)


@both
def test_a_ranking(way: Way, server: FakeOllama) -> None:
    brief = brief_of(seed=11)
    vote = way(llm(server), brief)
    assert isinstance(vote.said, Ranking) and len(vote.said.ids) == 4 == brief.size
    (sent,) = server.chats
    items = sent.body["format"]["properties"]["ranking"]
    assert sorted(items["items"]["enum"]) == sorted(IDS)
    assert (items["minItems"], items["maxItems"]) == (4, 4)
    assert vote.said.reason.startswith("Reason")
    assert vote.stakeholder == "guest" and vote.round == 1


@both
def test_an_approval(way: Way, server: FakeOllama) -> None:
    vote = way(llm(server, form="approve"), brief_of())
    assert isinstance(vote.said, Approvals) and 1 <= len(vote.said.ids) <= 4


@both
def test_ratings_in_chunks(way: Way, server: FakeOllama) -> None:
    brief = brief_of()
    vote = way(llm(server, form="rate", chunk=5), brief)
    assert isinstance(vote.said, Ratings) and vote.said.ids == IDS
    assert all(0 <= v <= 1 for v in vote.said.values) and len(set(vote.said.values)) > 3
    asked = [list(r.body["format"]["properties"]["ratings"]["properties"]) for r in server.chats]
    assert [len(ids) for ids in asked] == [4, 4, 4]
    assert sorted(one for ids in asked for one in ids) == sorted(IDS)
    for request, ids in zip(server.chats, asked, strict=True):
        assert ids == listed(request.body)
    assert vote.attempts == 3 and [c.attempt for c in brief.calls] == [1, 2, 3]
    assert len({r.body["options"]["seed"] for r in server.chats}) == 3


def ratings(*pairs: tuple[str, float]) -> str:
    return json.dumps({"ratings": dict(pairs)})


@both
def test_a_rating_is_a_tenth_and_what_is_unrated_stays_unrated(
    way: Way, server: FakeOllama, stage: Stage
) -> None:
    case = CASE.model_copy(update={"candidates": ("mill", "sun", "rose", "ulm")})
    stage.plan = [ratings(("sun", 7), ("mill", 2.5), ("rose", 10), ("ulm", 99))] * 2
    vote = way(llm(server, form="rate"), brief_of(case=case))
    assert isinstance(vote.said, Ratings) and vote.status == "repaired"
    said = dict(zip(vote.said.ids, vote.said.values, strict=True))
    assert said == {"mill": 0.25, "sun": 0.7, "rose": 1.0}


@both
@pytest.mark.parametrize(
    ("plan", "status", "codes"),
    [
        # Three chunks of four; a chunk that is damaged is asked about twice.
        (["empty", "empty"], "repaired", ("empty", "partial")),
        (["valid", "empty", "empty", "empty", "empty"], "abstained", ("empty",)),
        (["valid", "valid", "duplicates", "duplicates"], "repaired", ("duplicate", "partial")),
        (["valid", "valid", "http_500", "http_500", "http_500"], "repaired",
         ("partial", "transport")),
        (["valid", "http_500", "http_500", "http_500"], "abstained", ("transport",)),
    ],
)  # fmt: skip
def test_chunks_that_fail(
    way: Way, plan: list[str], status: str, codes: tuple[str, ...], server: FakeOllama, stage: Stage
) -> None:
    stage.plan = list(plan)
    vote = way(llm(server, form="rate", chunk=4), brief_of(seed=5))
    assert (vote.status, vote.codes) == (status, codes)
    if status == "abstained":
        assert isinstance(vote.said, Abstention) and vote.said.code == codes[-1]
    else:
        assert isinstance(vote.said, Ratings) and 6 <= len(vote.said.ids) < 12
    silent = "http_500" in plan
    assert len(server.chats) == (len(plan) if silent or status == "abstained" else len(plan) + 2
                                 - ("duplicates" in plan) * 2)  # fmt: skip


def test_the_form_depends_on_the_agenda_only(server: FakeOllama) -> None:
    policy = llm(server)
    assert [policy._form(size) for size in (2, 40, 41)] == ["rank", "rank", "rate"]
    assert llm(server, form="approve")._form(100) == "approve"


def test_what_stands_on_the_vote(server: FakeOllama) -> None:
    policy = llm(server, temperature=0.7, options={"top_k": 5})
    vote = policy.propose(brief_of(seed=8))
    assert vote.model == "fake:latest" and len(vote.digest) == 64 and vote.seed == 8
    assert dict(vote.options) == {
        "form": "rank", "reveal": "nothing", "temperature": "0.7", "num_ctx": "4096",
        "num_predict": "512", "top_k": "5",
    }  # fmt: skip
    assert re.fullmatch(r"[0-9a-f]{16}", vote.prompt)
    assert vote.policy == "llm(model='ollama:fake', temperature=0.7, options={'top_k': 5})"
    assert (vote.attempts, vote.tokens_out > 0, vote.tokens_in > 50) == (1, True, True)
    sent = server.chats[0].body["options"]
    assert (sent["temperature"], sent["num_ctx"], sent["num_predict"]) == (0.7, 4096, 512)
    assert sent["top_k"] == 5 and 0 <= sent["seed"] < 2**31


def test_attempts_are_recorded_with_their_seconds(server: FakeOllama, stage: Stage) -> None:
    stage.plan = ["http_500", "duplicates", "valid"]
    brief = brief_of()
    vote = llm(server).propose(brief)
    assert [(c.attempt, c.outcome) for c in brief.calls] == [
        (1, "transport"), (2, "duplicate"), (3, "ok"),
    ]  # fmt: skip
    assert all(c.seconds > 0 and c.url == server.url for c in brief.calls)
    assert sum(c.tokens_in for c in brief.calls) == vote.tokens_in
    assert sum(c.tokens_out for c in brief.calls) == vote.tokens_out
    assert vote.codes == ("duplicate", "partial", "transport")


@both
def test_one_seed_one_question_one_answer(way: Way, server: FakeOllama) -> None:
    votes = [way(llm(server, form=form), brief_of(seed=s)) for form in ("rank", "rate")
             for s in (4, 4, 5)]  # fmt: skip
    bodies = [json.dumps(r.body) for r in server.chats]
    for first in (0, 3):
        assert votes[first] == votes[first + 1] != votes[first + 2]
        assert bodies[first] == bodies[first + 1] != bodies[first + 2]
        one, two = (listed(server.chats[first + i].body) for i in (0, 2))
        assert one != two and sorted(one) == sorted(two) == sorted(IDS)
        assert votes[first] == sync(llm(server, form="rank" if not first else "rate"),
                                    brief_of(seed=4))  # fmt: skip


def test_round_trip_and_identity(server: FakeOllama) -> None:
    policy = llm(server, form="rate", options={"top_p": 0.9, "keep_alive": "5m"})
    assert LLM.from_toml(policy.to_toml()) == policy == LLM.from_json(policy.to_json())
    policy.prepare()
    assert LLM.from_toml(policy.to_toml()) == policy
    agent = Agent(stakeholder=GUEST, policy={"llm": {"model": "ollama:fake"}})  # type: ignore[arg-type]
    assert Agent.from_toml(agent.to_toml()) == agent and isinstance(agent.policy, LLM)
    assert agent.policy.label == "llm(model='ollama:fake')"
    assert llm(server, timeout=3, retries=7).label == agent.policy.label
    other = policy.model_copy(update={"model": "ollama:other"})
    with pytest.raises(ModelUnavailable, match="ollama pull other"):
        other.propose(brief_of())


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"model": "llama3.2"}, "write 'ollama:llama3.2'"),
        ({"model": "openai:gpt"}, "give the LangChain chat model object"),
        ({"model": 7}, "LangChain chat model"),
        ({"form": "order"}, "'rank', 'approve'"),
        ({"tempurature": 1}, "did you mean 'temperature'"),
        ({"options": {"topk": 1}}, "did you mean 'top_k'"),
        ({"num_ctx": 512, "num_predict": 512}, "must be below num_ctx"),
        ({"chunk": 0}, "chunk"),
        ({"concurrency": 0}, "concurrency"),
    ],
)
def test_mistakes(fields: dict[str, Any], match: str) -> None:
    with pytest.raises(SpecError, match=match):
        LLM(**{"model": "ollama:fake"} | fields)


def test_a_prompt_that_does_not_fit(server: FakeOllama) -> None:
    long = GUEST.model_copy(update={"persona": "word " * 300})
    policy = llm(server, num_ctx=768, num_predict=128)
    with pytest.raises(SpecError, match=r"'guest'.*num_ctx leaves 640.*raise num_ctx, ask with"):
        policy.propose(brief_of(long))
    assert server.chats == []
    llm(server, form="rate").propose(brief_of())
    whole = len(text_of(server.chats[0].body)) / 3.5
    server.requests.clear()
    narrow = llm(server, num_ctx=int(whole) + 128 - 50, num_predict=128, form="rate")
    vote = narrow.propose(brief_of())
    assert len(server.chats) > 1 and isinstance(vote.said, Ratings) and len(vote.said.ids) == 12
    with pytest.raises(SpecError, match="raise num_ctx, show fewer"):
        llm(server, num_ctx=300, num_predict=128, form="rate").propose(brief_of(long))


@both
def test_a_prompt_that_the_server_cut(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = [4096]

    def reply(*_: Any, **__: Any) -> models.Reply:
        text = '{"ranking": ["mill", "sun", "rose", "ulm"]}'
        return models.Reply(text, "stop", counted[0], 9, 0.1, "m")

    async def later(*_: Any, **__: Any) -> models.Reply:
        return reply()

    monkeypatch.setattr(models, "ask", reply)
    monkeypatch.setattr(models, "aask", later)
    with FakeOllama() as fake:
        vote = way(llm(fake), brief_of())
        assert isinstance(vote.said, Abstention) and vote.codes == ("prompt_cut",)
        assert "raise num_ctx" in vote.said.detail and vote.attempts == 1
        counted[0] = 12
        vote = way(llm(fake), brief_of())
        assert (vote.status, vote.codes) == ("ok", ("prompt_tokens",))


def test_a_long_bad_answer_is_cut_in_the_second_question(server: FakeOllama, stage: Stage) -> None:
    stage.plan = ["I think " * 2000]
    policy = llm(server, num_ctx=1024, num_predict=128)
    assert policy.propose(brief_of()).status == "ok"
    second = server.chats[1].body
    assert second["messages"][2]["content"].endswith("...")
    assert sum(len(m["content"]) for m in second["messages"]) / 3.5 + 128 <= 1025
