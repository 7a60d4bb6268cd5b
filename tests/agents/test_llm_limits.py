"""Budgets and deadlines, and chat models that are not Ollama's."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from fairagents.agents.llm import LLM
from fairagents.ballot import Abstention, Ratings, Vote
from fairagents.errors import SpecError
from fairagents.models import connect
from fairagents.testing import FakeOllama
from tests.agents.toy_council import (
    WAYS,
    Stage,
    Way,
    asynchronous,
    brief_of,
    llm,
    sync,
)

both = pytest.mark.parametrize("way", WAYS)


@both
def test_max_calls(way: Way, server: FakeOllama, stage: Stage) -> None:
    vote = way(llm(server), brief_of(calls=0))
    assert isinstance(vote.said, Abstention) and vote.said.code == "max_calls"
    assert (vote.codes, vote.attempts, server.chats) == (("max_calls",), 0, [])
    stage.plan = ["empty"]
    vote = way(llm(server), brief_of(calls=1))
    assert (vote.codes, vote.attempts) == (("empty", "max_calls"), 1)
    vote = way(llm(server, form="rate", chunk=4), brief_of(calls=2))
    assert (vote.status, vote.codes) == ("repaired", ("max_calls", "partial"))
    assert isinstance(vote.said, Ratings) and len(vote.said.ids) == 8
    assert len(server.chats) == 3


@both
def test_deadline(way: Way, server: FakeOllama, stage: Stage) -> None:
    stage.default = "hang"
    started = time.monotonic()
    vote = way(llm(server), brief_of(seconds=0.3))
    assert time.monotonic() - started < 1.3
    assert isinstance(vote.said, Abstention) and vote.codes == ("deadline",)
    assert (vote.said.code, vote.attempts) == ("deadline", 1)
    vote = way(llm(server), brief_of(seconds=0.0))
    assert (vote.codes, vote.attempts) == (("deadline",), 0)


@both
def test_no_further_try_that_the_deadline_would_cut(
    way: Way, server: FakeOllama, stage: Stage
) -> None:
    stage.default = "http_500"
    started = time.monotonic()
    vote = way(llm(server, backoff=30), brief_of(seconds=5))
    assert time.monotonic() - started < 4
    assert (vote.codes, vote.attempts) == (("deadline", "transport"), 1)


@both
def test_back_off_doubles(way: Way, server: FakeOllama, stage: Stage) -> None:
    stage.plan = ["http_500"] * 2
    started = time.monotonic()
    assert way(llm(server, backoff=0.1), brief_of()).status == "ok"
    assert time.monotonic() - started >= 0.3


GOOD = '{"ranking": ["mill", "sun", "rose", "ulm"]}'


@both
def test_any_langchain_chat_model(way: Way) -> None:
    chat = GenericFakeChatModel(messages=iter([AIMessage("Well, mill."), AIMessage(GOOD)]))
    policy = LLM(model=chat)
    policy.prepare()
    vote = way(policy, brief_of())
    assert (vote.status, vote.codes, vote.attempts) == ("ok", ("not_json",), 2)
    assert vote.model == "GenericFakeChatModel" and vote.digest == ""
    assert policy.label == "llm(model='GenericFakeChatModel')"
    assert policy.to_data() == {"model": "GenericFakeChatModel"}
    with pytest.raises(SpecError, match="temperature: set on the chat model object itself"):
        LLM(model=chat, temperature=0.5)


class Broken:
    """A chat model that only has what is asked for."""

    model_name = "broken-1"

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = seconds

    def invoke(self, messages: Any) -> AIMessage:
        time.sleep(self.seconds)
        raise OSError("quota\nused up")

    async def ainvoke(self, messages: Any) -> AIMessage:
        await asyncio.sleep(self.seconds)
        raise OSError("quota\nused up")


@both
def test_a_chat_model_that_fails_is_data(way: Way) -> None:
    brief = brief_of()
    vote = way(LLM(model=Broken()), brief)
    assert isinstance(vote.said, Abstention) and vote.said.code == "model_error"
    assert vote.said.detail == "OSError: quota used up"
    assert vote.model == "Broken:broken-1" and vote.attempts == 1
    assert [c.outcome for c in brief.calls] == ["model_error"]


@both
def test_a_chat_model_that_hangs_is_left_at_the_deadline(way: Way) -> None:
    started = time.monotonic()
    vote = way(LLM(model=Broken(1.0)), brief_of(seconds=0.2))
    assert time.monotonic() - started < 0.9 and vote.codes == ("deadline",)


@both
def test_an_ollama_model_built_by_the_user(way: Way, server: FakeOllama) -> None:
    chat = connect("ollama:fake", url=server.url, temperature=0.3, num_ctx=3000)
    vote: Vote = way(LLM(model=chat), brief_of())
    assert vote.status == "ok" and len(vote.digest) == 64
    assert dict(vote.options)["num_ctx"] == "3000"
    assert server.chats[0].body["options"]["seed"] != 0


def test_both_ways_give_the_same_vote(server: FakeOllama, stage: Stage) -> None:
    for form in ("rank", "approve", "rate"):
        stage.plan = ["empty"]
        one = sync(llm(server, form=form), brief_of())
        stage.plan = ["empty"]
        assert one == asynchronous(llm(server, form=form), brief_of())


def test_importing_loads_no_langchain_and_no_jinja() -> None:
    code = (
        "import sys, fairagents.agents.llm\n"
        "bad = {'langchain_core', 'langchain_ollama', 'ollama', 'httpx', 'jinja2'}\n"
        "assert not bad & set(sys.modules), bad & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
