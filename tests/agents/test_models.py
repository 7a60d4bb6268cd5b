"""The door to models, against a server that speaks Ollama's protocol."""

from __future__ import annotations

import asyncio
import json
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_ollama import ChatOllama

from fairagents.agents.answers import Asked, read, schema
from fairagents.errors import ModelUnavailable, SpecError
from fairagents.models import (
    DEFAULT_URL,
    Model,
    Reply,
    TransportError,
    aask,
    ask,
    check,
    connect,
    limit,
    parse_ref,
    resolve_url,
)
from fairagents.testing import FakeOllama, Request

ASKED = Asked("rank", ("paris", "rome", "lisbon"), 3)
SCHEMA = schema(ASKED)
QUESTION = [("system", "You are a traveller."), ("human", "Rank paris, rome, lisbon.")]


def sync(chat: BaseChatModel, seed: int = 1) -> Reply:
    return ask(chat, QUESTION, schema=SCHEMA, seed=seed)


def asynchronous(chat: BaseChatModel, seed: int = 1) -> Reply:
    return asyncio.run(aask(chat, QUESTION, schema=SCHEMA, seed=seed))


Ask = Callable[..., Reply]
both = pytest.mark.parametrize("way", [sync, asynchronous])


@pytest.fixture
def server() -> Iterator[FakeOllama]:
    with FakeOllama() as fake:
        yield fake


@pytest.fixture
def dead() -> str:
    """An address at which nothing answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def to(server: FakeOllama, **options: Any) -> BaseChatModel:
    return connect("ollama:fake", url=server.url, **options)


def last(server: FakeOllama) -> Request:
    return server.chats[-1]


@both
def test_what_is_sent(server: FakeOllama, way: Ask) -> None:
    chat = to(server, temperature=0.7, num_ctx=2048, num_predict=99, top_k=5, keep_alive="5m")
    way(chat, seed=7)
    body = last(server).body
    assert body["format"] == SCHEMA and body["model"] == "fake"
    assert body["options"] == {
        "temperature": 0.7, "num_ctx": 2048, "num_predict": 99, "top_k": 5, "seed": 7,
    }  # fmt: skip
    assert (body["think"], body["keep_alive"]) == (False, "5m")
    assert [(m["role"], m["content"]) for m in body["messages"]] == [
        ("system", "You are a traveller."), ("user", "Rank paris, rome, lisbon."),
    ]  # fmt: skip


@both
def test_the_reply(server: FakeOllama, way: Ask) -> None:
    reply = way(to(server))
    assert reply.text is not None and json.loads(reply.text)["ranking"]
    assert (reply.done_reason, reply.model, reply.tokens_in) == ("stop", "fake", 8)
    assert reply.tokens_out > 0 and 0 < reply.seconds < 5
    assert read(reply.text, reply.done_reason, ASKED, last=False).verdict == "ok"


def test_the_seed_matters_and_nothing_else_does(server: FakeOllama) -> None:
    chat = to(server)
    texts = [sync(chat, seed).text for seed in range(8)]
    assert len(set(texts)) > 2
    assert [asynchronous(chat, seed).text for seed in range(8)] == texts
    assert chat.seed is None  # type: ignore[attr-defined]


TROUBLE = [
    ("http_500", TransportError, "transport"),
    ("error_in_stream", TransportError, "transport"),
    ("dropped", TransportError, "transport"),
    ("load", TransportError, "transport"),
    ("hang", TransportError, "timeout"),
    ("not_found", ModelUnavailable, ""),
]


@both
@pytest.mark.parametrize(("behaviour", "kind", "code"), TROUBLE)
def test_trouble(way: Ask, behaviour: str, kind: type[Exception], code: str) -> None:
    with FakeOllama(script=[behaviour]) as server:
        chat = to(server, timeout=0.2 if behaviour == "hang" else 10)
        with pytest.raises(kind) as caught:
            way(chat)
        assert getattr(caught.value, "code", "") == code
        assert "\n" not in str(caught.value) and server.url in str(caught.value)
        assert way(to(server)).done_reason == "stop"


@both
def test_a_tool_call_has_no_text_and_a_cut_answer_says_so(way: Ask) -> None:
    with FakeOllama(script=["tool_call", "empty", "truncated"]) as server:
        chat = to(server)
        replies = [way(chat) for _ in range(3)]
    assert [(r.text, r.done_reason) for r in replies[:2]] == [(None, "stop"), ("", "stop")]
    assert replies[2].done_reason == "length" and replies[2].text
    assert [read(r.text, r.done_reason, ASKED, last=False).codes for r in replies] == [
        ("no_answer",), ("empty",), ("truncated",),
    ]  # fmt: skip


@both
def test_no_server(dead: str, way: Ask) -> None:
    with pytest.raises(TransportError, match=dead) as caught:
        way(connect("ollama:fake", url=dead))
    assert caught.value.code == "transport"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.code) == (str(caught.value), "transport")


@both
def test_a_server_that_refuses(way: Ask) -> None:
    class Refusing(FakeOllama):
        def _has(self, name: str) -> bool:
            raise KeyError(name)

    with Refusing() as server, pytest.raises(TransportError, match="500"):
        way(to(server))


def test_one_model_in_many_event_loops(server: FakeOllama) -> None:
    chat = to(server)

    async def some() -> list[str | None]:
        replies = [aask(chat, QUESTION, schema=SCHEMA, seed=seed) for seed in range(4)]
        return [reply.text for reply in await asyncio.gather(*replies)]

    first = asyncio.run(some())
    assert asyncio.run(some()) == first
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(asyncio.run, [some() for _ in range(3)])) == [first] * 3


@pytest.mark.parametrize("n", [1, 3])
def test_limit(n: int) -> None:
    with FakeOllama(delay=0.05) as server:
        chat = to(server)
        limit(server.url, n)

        async def some() -> None:
            questions = [aask(chat, QUESTION, schema=SCHEMA, seed=seed) for seed in range(6)]
            await asyncio.gather(*questions)

        asyncio.run(some())
        assert server.most_at_once == n
        server.most_at_once = 0
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda seed: sync(chat, seed), range(6)))
        assert server.most_at_once == n


def test_limit_is_two_unless_set_and_at_least_one(server: FakeOllama) -> None:
    with FakeOllama(delay=0.05) as slow:
        chat = to(slow)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: sync(chat, seed), range(4)))
        assert slow.most_at_once == 2
    with pytest.raises(SpecError, match="n 0"):
        limit(server.url, 0)


def test_the_timeout_counts_the_wait_for_a_turn() -> None:
    with FakeOllama(delay=0.8) as server:
        limit(server.url, 1)
        chat = to(server, timeout=0.25)
        patient = to(server)
        busy = threading.Thread(target=sync, args=(patient,))
        busy.start()
        while not server.chats:
            time.sleep(0.01)
        with pytest.raises(TransportError, match="wait for a turn") as caught:
            sync(chat)
        assert caught.value.code == "timeout" and len(server.chats) == 1
        busy.join()

        async def two() -> tuple[Reply | BaseException, Reply | BaseException]:
            slow = aask(patient, QUESTION, schema=SCHEMA, seed=1)
            late = aask(chat, QUESTION, schema=SCHEMA, seed=2)
            return await asyncio.gather(slow, late, return_exceptions=True)

        done, late = asyncio.run(two())
        assert isinstance(done, Reply) and isinstance(late, TransportError)
        assert late.code == "timeout" and len(server.chats) == 2


@both
def test_a_trickle_does_not_outlive_the_timeout(way: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    from fairagents import testing

    write = testing._Handler._line

    def slowly(self: Any, value: dict[str, Any]) -> None:
        time.sleep(0.15)
        write(self, value)

    monkeypatch.setattr(testing._Handler, "_line", slowly)
    with FakeOllama() as server, pytest.raises(TransportError) as caught:
        way(to(server, timeout=0.25))
    assert caught.value.code == "timeout"


@both
def test_other_models_are_invoked_as_they_are(way: Ask) -> None:
    said = [
        AIMessage(content="yes"),
        AIMessage(content="cut", response_metadata={"finish_reason": "length"}),
        AIMessage(content="whole", response_metadata={"stop_reason": "end_turn"}),
    ]
    chat = GenericFakeChatModel(messages=iter(said))
    replies = [way(chat) for _ in said]
    assert [(r.text, r.done_reason) for r in replies] == [
        ("yes", "stop"), ("cut", "length"), ("whole", "stop"),
    ]  # fmt: skip
    assert replies[0].model == "GenericFakeChatModel" and replies[0].tokens_in == 0


def test_check(server: FakeOllama, dead: str) -> None:
    found = check("ollama:fake", server.url + "/")
    assert found == Model("fake:latest", found.digest, server.url) and len(found.digest) == 64
    assert check("ollama:fake:latest", server.url) == found
    with pytest.raises(ModelUnavailable) as caught:
        check("ollama:llama3.2", server.url)
    assert str(caught.value) == (
        f"the server at {server.url} has no model 'llama3.2': run `ollama pull llama3.2`; "
        "models that are there: fake:latest"
    )
    with pytest.raises(ModelUnavailable) as caught:
        check("ollama:llama3.2", dead)
    assert str(caught.value) == (
        f"no Ollama server answers at {dead}: start it with `ollama serve`, "
        "then `ollama pull llama3.2`"
    )
    with pytest.raises(ModelUnavailable, match="is no Ollama server"):
        check("ollama:fake", server.url + "/elsewhere")


def test_parse_ref() -> None:
    assert parse_ref("ollama:hf.co/a/b:Q4") == ("ollama", "hf.co/a/b:Q4")
    for ref, right in [
        ("llama3.2", "write 'ollama:llama3.2'"),
        ("openai:gpt", "only 'ollama' is"),
        ("llama3.2:1b", "only 'ollama' is"),
        ("ollama:", "names no model"),
        ("ollama: x", "names no model"),
        ("", "names no provider"),
    ]:
        with pytest.raises(SpecError, match=right):
            parse_ref(ref)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434"),
        ("https://models.example/ollama/", "https://models.example/ollama"),
        ("http://0.0.0.0:1", "http://127.0.0.1:1"),
        ("http://[::1]:11434", "http://[::1]:11434"),
        ("http://[::]:11434", "http://[::1]:11434"),
    ],
)
def test_urls(given: str, url: str) -> None:
    assert resolve_url(given) == url


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", DEFAULT_URL),
        (" ", DEFAULT_URL),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("10.1.2.3", "http://10.1.2.3:11434"),
        ("box:8080", "http://box:8080"),
        (":11435", "http://127.0.0.1:11435"),
        ("box/ollama", "http://box:11434/ollama"),
        ("box:1/ollama/", "http://box:1/ollama"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:9", "http://[::1]:9"),
        ("[::]", "http://[::1]:11434"),
        ("https://box", "https://box"),
        ('"http://box:5"', "http://box:5"),
    ],
)
def test_urls_from_the_environment(given: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert resolve_url() == url
    monkeypatch.delenv("OLLAMA_HOST")
    assert resolve_url() == DEFAULT_URL


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("ollama.local", "must begin with http"),
        ("localhost:11434", "must begin with http"),
        ("ftp://box", "must begin with http"),
        ("http://", "names no host"),
        ("http://:11434", "names no host"),
        ("http://a b", "names no host"),
        ("http://box:0", "no port"),
        ("http://box:x", "malformed"),
        ("http://box:99999", "malformed"),
        ("http://[::1", "malformed"),
        ("http://box:11434/v1", "must not end in '/v1'"),
        ("http://box:11434/v1/", "must not end in '/v1'"),
        ("http://box/api", "must not end in '/api'"),
        ("http://box?x=1", "more than scheme"),
        ("", "must begin with http"),
    ],
)
def test_malformed_urls(given: str, right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match=right):
        resolve_url(given)
    with pytest.raises(SpecError, match="url"):
        connect("ollama:fake", url=given)
    if "://" in given:
        monkeypatch.setenv("OLLAMA_HOST", given)
        with pytest.raises(SpecError, match="OLLAMA_HOST"):
            resolve_url()


def test_a_password_is_refused_and_not_shown() -> None:
    for url in ("http://me:hush@box:1", "http://me:hush@box:x", "me:hush@box"):
        with pytest.raises(SpecError) as caught:
            resolve_url(url)
        assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [{"timeout": 0}, {"temperature": -1}, {"num_ctx": 0}, {"num_predict": 0},
     {"timeout": float("inf")}],
)  # fmt: skip
def test_numbers_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=next(iter(options))):
        connect("ollama:fake", **options)


def test_connect_is_cheap_and_refuses_unknown_options() -> None:
    with pytest.raises(TypeError, match="tempurature"):
        connect("ollama:fake", tempurature=1)  # type: ignore[call-arg]
    assert isinstance(connect("ollama:fake", url="https://box.example"), ChatOllama)


def test_importing_the_module_loads_no_langchain() -> None:
    code = (
        "import sys, fairagents.models, fairagents.agents.answers, fairagents.testing\n"
        "bad = {'langchain_core', 'langchain_ollama', 'ollama', 'httpx'} & set(sys.modules)\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
