"""The one door to language models: a reference such as `"ollama:llama3.2"` becomes a chat model.

`check` is meant to run before the first case, `connect` once per model, `ask` or `aask` once per
question. Nothing here reads the answer; `fairagents.agents.answers` does.

LangChain is imported when a function needs it, never by importing this module.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from fairagents._address import DEFAULT_URL, parse_ref, resolve_url
from fairagents._gates import Gates, TransportError, client_options, late, line, mapped, within
from fairagents.errors import ModelUnavailable, SpecError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_ollama import ChatOllama

__all__ = [
    "DEFAULT_URL",
    "Messages",
    "Model",
    "Reply",
    "TransportError",
    "aask",
    "ask",
    "check",
    "connect",
    "identify",
    "limit",
    "model_name",
    "parse_ref",
    "resolve_url",
]

Messages = list[tuple[str, str]]


@dataclass(frozen=True)
class Model:
    """A model that a server has.

    Attributes:
        name: its name with the tag, as the server lists it.
        digest: the hash of its weights and settings; record it with every result.
        url: the server.
    """

    name: str
    digest: str
    url: str


@dataclass(frozen=True)
class Reply:
    """One raw answer.

    Attributes:
        text: the content as it came; None when the model called a tool instead of answering.
        done_reason: why the model stopped: `"stop"`, `"length"`, ...; None if it never said.
        tokens_in: tokens of the prompt as counted by the server, 0 if not counted.
        tokens_out: tokens of the answer as counted by the server, 0 if not counted.
        seconds: wall time of the answer, without the wait for a turn.
        model: the model's name as the answer gives it.
    """

    text: str | None
    done_reason: str | None
    tokens_in: int
    tokens_out: int
    seconds: float
    model: str


def check(ref: str, url: str | None = None) -> Model:
    """Make sure that a server answers and has the model; waits at most 5 seconds.

    Args:
        ref: the model, say `"ollama:llama3.2"`.
        url: the server; see `resolve_url`.

    Raises:
        ModelUnavailable: if no server answers or the model is not there; one line, what to do.
        SpecError: if the reference or the address is wrong.
    """
    import httpx
    import ollama

    _, name = parse_ref(ref)
    url = resolve_url(url)
    client = ollama.Client(host=url, **client_options(url, 5.0))
    try:
        listed = client.list().models
    except (ConnectionError, httpx.HTTPError):
        raise ModelUnavailable(
            f"no Ollama server answers at {url}: start it with `ollama serve`, "
            f"then `ollama pull {name}`"
        ) from None
    except (ollama.ResponseError, ValueError) as error:
        raise ModelUnavailable(
            f"what answers at {url} is no Ollama server ({line(error)}): correct the address"
        ) from None
    digests = {str(model.model): model.digest or "" for model in listed}
    full = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
    if full not in digests:
        there = ", ".join(sorted(digests)[:20]) or "none"
        raise ModelUnavailable(
            f"the server at {url} has no model {name!r}: run `ollama pull {name}`; "
            f"models that are there: {there}"
        )
    return Model(full, digests[full], url)


def connect(
    ref: str,
    *,
    url: str | None = None,
    timeout: float = 120.0,
    temperature: float = 0.0,
    num_ctx: int = 4096,
    num_predict: int = 1024,
    top_k: int | None = None,
    top_p: float | None = None,
    repeat_penalty: float | None = None,
    num_thread: int | None = None,
    keep_alive: str | int | None = None,
) -> BaseChatModel:
    """Return a chat model; sends nothing, so a server that is down shows only in `check` or `ask`.

    One object serves any number of threads, questions, seeds and event loops. A `ChatOllama` you
    build yourself keeps connections open and works in one event loop only ("Event loop is closed"
    in the second `asyncio.run`): give it `client_kwargs={"limits":
    httpx.Limits(max_keepalive_connections=0)}`, or build one per loop.

    Args:
        ref: the model, say `"ollama:llama3.2"`.
        url: the server; see `resolve_url`.
        timeout: seconds for one question, waiting for a turn included.
        temperature: 0 for the likeliest answer; larger is more varied.
        num_ctx: tokens of prompt and answer together. Ollama cuts off longer prompts silently.
        num_predict: most tokens of one answer; an answer cut there has done_reason `"length"`.
        top_k: draw from this many likeliest tokens; None leaves it to the model's own settings,
            as for all that follow.
        top_p: draw from the likeliest tokens that hold this share of probability.
        repeat_penalty: more than 1 discourages repetition.
        num_thread: threads the server uses.
        keep_alive: how long the server keeps the model loaded, say `"10m"` or seconds.

    Raises:
        SpecError: if the reference, the address or a number is wrong.
    """
    _, name = parse_ref(ref)
    url = resolve_url(url)
    _at_least(1e-3, ref, timeout=timeout)
    _at_least(0, ref, temperature=temperature)
    _at_least(1, ref, num_ctx=num_ctx, num_predict=num_predict)
    from langchain_ollama import ChatOllama

    return ChatOllama(
        model=name,
        base_url=url,
        client_kwargs=client_options(url, timeout),
        # Of a thinking model that thinks, a schema leaves the content empty.
        reasoning=False,
        # LangChain's cache cannot tell two models, seeds or temperatures apart.
        cache=False,
        temperature=temperature,
        num_ctx=num_ctx,
        num_predict=num_predict,
        top_k=top_k,
        top_p=top_p,
        repeat_penalty=repeat_penalty,
        num_thread=num_thread,
        keep_alive=keep_alive,
    )


def _at_least(least: float, ref: str, **numbers: float) -> None:
    """Refuse a setting of a model that is below the least or not finite."""
    for name, value in numbers.items():
        if not (math.isfinite(value) and value >= least):
            raise SpecError(f"{name} {value!r} of model {ref!r} must be at least {least:g}")


# The one state of this module: how much a server bears is a fact about the server, whichever
# object asks it.
_gates = Gates()


def limit(url: str | None = None, n: int = 2) -> None:
    """Set how many questions a server is asked at once by this process; 2 unless set.

    Threads share one limit, and the tasks of each event loop share one. Questions under way keep
    the limit they started with.

    Args:
        url: the server; see `resolve_url`.
        n: at least 1. Ollama itself queues what goes beyond its `OLLAMA_NUM_PARALLEL`.

    Raises:
        SpecError: if the address is malformed or `n` is below 1.
    """
    if n < 1:
        raise SpecError(f"n {n!r} must be at least 1")
    _gates.resize(resolve_url(url), n)


def ask(
    chat: BaseChatModel,
    messages: Messages,
    *,
    schema: dict[str, Any],
    seed: int,
    timeout: float | None = None,
) -> Reply:
    """Ask a model one question and return its raw answer.

    A `ChatOllama` is sent the schema as `format`, and the seed. Any other LangChain chat model is
    invoked as it is, without schema, seed or limit; its done_reason is taken from the metadata
    (`done_reason`, `finish_reason` or `stop_reason`), and is `"stop"` where there is none; its
    errors come through unchanged.

    Args:
        chat: the model; see `connect`.
        messages: (role, text) pairs with the roles `"system"`, `"human"` and `"ai"`.
        schema: JSON schema of the answer.
        seed: what the server draws from; the same question and seed give the same answer on one
            machine, one version and one model digest, if the prompt fits into `num_ctx`.
        timeout: seconds, where they are fewer than the model's own; waiting for a turn included.
            A model that is not Ollama's is then left to finish on a thread of its own.

    Raises:
        TransportError: `"timeout"` if time ran out (a server that falls silent in the middle of an
            answer is given up at the latest after twice the time), `"transport"` if the
            connection failed or broke, the server failed, or it only loaded the model.
        ModelUnavailable: if the server does not have the model or refuses the request.

    >>> from fairagents.testing import FakeOllama
    >>> with FakeOllama(script=['{"approved": ["a"]}']) as server:
    ...     chat = connect("ollama:fake", url=server.url)
    ...     ask(chat, [("human", "a or b?")], schema={"type": "object"}, seed=1).text
    '{"approved": ["a"]}'
    """
    if not _is_ollama(chat):
        started = time.monotonic()
        message = within(lambda: chat.invoke(list(messages)), type(chat).__name__, timeout)
        return _reply(chat, message, started)
    given, url, budget = _prepare(chat, seed, timeout)
    end = time.monotonic() + (math.inf if budget is None else budget)
    with _turn(url, budget):
        started = time.monotonic()
        given = _hurried(given, url, end - started)
        with mapped(url, budget):
            return _reply(given, _streamed(given.bind(format=schema), messages, end), started)


async def aask(
    chat: BaseChatModel,
    messages: Messages,
    *,
    schema: dict[str, Any],
    seed: int,
    timeout: float | None = None,
) -> Reply:
    """Ask a model one question from a coroutine; as `ask`, but the time-out is exact.

    A model from `connect` may be used in any number of event loops, one after the other or at
    once.
    """
    if not _is_ollama(chat):
        started = time.monotonic()
        # Told apart from a time-out of the model's own, which comes through unchanged.
        scope = asyncio.timeout(timeout)
        try:
            async with scope:
                return _reply(chat, await chat.ainvoke(list(messages)), started)
        except TimeoutError:
            if scope.expired():
                raise late(type(chat).__name__, timeout) from None
            raise
    given, url, budget = _prepare(chat, seed, timeout)
    with mapped(url, budget):
        async with asyncio.timeout(budget), _gates.task(url):
            started = time.monotonic()
            message = await given.bind(format=schema).ainvoke(list(messages))
            return _reply(given, message, started)


def identify(chat: BaseChatModel) -> Model:
    """Return what is known of a chat model before it is asked; an Ollama model is checked.

    Raises:
        ModelUnavailable: an Ollama server does not answer or does not have the model.
        SpecError: the address is malformed.
    """
    if _is_ollama(chat):
        return check(f"ollama:{chat.model}", chat.base_url)
    return Model(model_name(chat), "", "")


def model_name(chat: object) -> str:
    """Return a readable name of a chat model object: its class, and its model where it says one."""
    keys = ("model", "model_name", "model_id", "deployment_name")
    names = (getattr(chat, key, None) for key in keys)
    name = next((n for n in names if isinstance(n, str) and n), "")
    return f"{type(chat).__name__}:{name}" if name else type(chat).__name__


def _is_ollama(chat: BaseChatModel) -> TypeGuard[ChatOllama]:
    """Tell whether a model is Ollama's, made by `connect` or not."""
    from langchain_ollama import ChatOllama

    return isinstance(chat, ChatOllama)


def _prepare(
    chat: ChatOllama, seed: int, timeout: float | None
) -> tuple[ChatOllama, str, float | None]:
    """Return the model with the seed set, its server and seconds per question."""
    # A copy shares the HTTP clients; `invoke(seed=)` is refused and `bind(options=)` would
    # replace every other option.
    given = chat.model_copy(update={"seed": seed, "cache": False})
    limits = [seconds for seconds in (_own_timeout(chat), timeout) if seconds is not None]
    return given, resolve_url(chat.base_url), min(limits, default=None)


def _own_timeout(chat: ChatOllama) -> float | None:
    timeout = (chat.client_kwargs or {}).get("timeout")
    return float(timeout) if isinstance(timeout, int | float) else None


def _hurried(chat: ChatOllama, url: str, left: float) -> ChatOllama:
    """Return the model with a client that gives up in time, where its own would wait longer.

    The time-out belongs to the client; a new one costs some milliseconds, more with https.
    """
    own = _own_timeout(chat)
    if left == math.inf or (own is not None and left > 0.95 * own):
        return chat
    fields = {name: getattr(chat, name) for name in chat.model_fields_set}
    timeout = {"timeout": max(left, 1e-3)}
    fields["client_kwargs"] = client_options(url, 1) | (chat.client_kwargs or {}) | timeout
    return type(chat)(**fields)


@contextlib.contextmanager
def _turn(url: str, budget: float | None) -> Iterator[None]:
    """Wait for a turn at a server, no longer than the budget, and keep it."""
    gate = _gates.thread(url)
    if not gate.acquire(timeout=budget):
        raise late(url, budget)
    try:
        yield
    finally:
        gate.release()


def _streamed(chat: Any, messages: Messages, end: float) -> AIMessage:
    """Return the whole answer, read piece by piece; a `TimeoutError` once the end is past."""
    total: AIMessage | None = None
    # Streamed, for the client's own time-out starts afresh with every token.
    for chunk in chat.stream(list(messages)):
        total = chunk if total is None else total + chunk
        if time.monotonic() > end:
            raise TimeoutError
    if total is None:
        raise ValueError("an empty stream")
    return total


def _reason(message: AIMessage) -> object:
    """Return why a model that is not Ollama's stopped, in Ollama's words where they differ."""
    keys = ("done_reason", "finish_reason", "stop_reason")
    reason = next((r for key in keys if (r := message.response_metadata.get(key))), "stop")
    return "stop" if str(reason).casefold() in ("end_turn", "stop_sequence", "stop") else reason


def _reply(chat: BaseChatModel, message: AIMessage, started: float) -> Reply:
    """Turn a model's message into a reply."""
    facts = message.response_metadata
    reason = facts.get("done_reason") if _is_ollama(chat) else _reason(message)
    usage = message.usage_metadata
    return Reply(
        text=str(message.text) or (None if message.tool_calls else ""),
        done_reason=None if reason is None else str(reason),
        tokens_in=usage["input_tokens"] if usage else 0,
        tokens_out=usage["output_tokens"] if usage else 0,
        seconds=time.monotonic() - started,
        model=str(facts.get("model_name") or getattr(chat, "model", type(chat).__name__)),
    )
