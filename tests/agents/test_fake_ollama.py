"""The fake server: its protocol, its answers, and what becomes of every way to fail."""

from __future__ import annotations

import gc
import json
import random
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead, RemoteDisconnected
from typing import Any

import pytest

from fairagents.agents.answers import Asked, Form, read, schema
from fairagents.errors import SpecError
from fairagents.testing import BEHAVIOURS, FakeOllama, generate

IDS = ("poi_1", "poi_12", "poi_15", "old-town", "harbour")
SIZES: dict[Form, int] = {"rank": 4, "approve": 3, "rate": 5}
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def send(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with OPENER.open(urllib.request.Request(url, data), timeout=5) as answer:
        text = answer.read().decode()
    lines = [json.loads(line) for line in text.splitlines()]
    return lines if "ndjson" in answer.headers["Content-Type"] else lines[0]


# Seed 0 makes an approval of three, large enough to lose an entry.
def body_for(asked: Asked, seed: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "model": "fake",
        "messages": [{"role": "user", "content": f"{asked.form}: {', '.join(asked.ids)}"}],
        "format": schema(asked),
        "options": {"seed": seed, "temperature": 0},
        **more,
    }


def chat(server: FakeOllama, body: dict[str, Any]) -> tuple[str | None, str]:
    lines = send(f"{server.url}/api/chat", body)
    if not isinstance(lines, list):
        lines = [lines]
    text = "".join(line["message"]["content"] for line in lines)
    calls = any("tool_calls" in line["message"] for line in lines)
    return None if calls and not text else text, lines[-1]["done_reason"]


ROWS: dict[str, tuple[str, str, str]] = {
    # behaviour: verdict at first, verdict at last, code (empty: no code)
    "valid": ("ok", "ok", ""),
    "echo": ("ok", "ok", ""),
    "fenced": ("ok", "ok", "normalised"),
    "think": ("ok", "ok", "normalised"),
    "case": ("ok", "ok", "normalised"),
    "prose": ("again", "abstained", "not_json"),
    "single_quotes": ("again", "abstained", "not_json"),
    "trailing_comma": ("again", "abstained", "not_json"),
    "truncated": ("again", "abstained", "truncated"),
    "empty": ("again", "abstained", "empty"),
    "root_list": ("again", "abstained", "wrong_shape"),
    "schema_echo": ("again", "abstained", "wrong_shape"),
    "wrong_keys": ("again", "abstained", "wrong_shape"),
    "extra_keys": ("ok", "ok", "extra_keys"),
    "unknown_ids": ("again", "repaired", "unknown_id"),
    "duplicates": ("again", "repaired", "duplicate"),
    "missing_items": ("again", "repaired", "partial"),
    "mostly_unknown": ("again", "abstained", "unknown_id"),
    "nan": ("again", "repaired", "bad_rating"),
    "out_of_range": ("again", "repaired", "bad_rating"),
    "string_numbers": ("again", "repaired", "bad_rating"),
    "tool_call": ("again", "abstained", "no_answer"),
    "duplicate_keys": ("again", "abstained", "wrong_shape"),
    "two_blocks": ("again", "abstained", "not_json"),
}
TRANSPORT = ("load", "error_in_stream", "dropped", "http_500", "not_found", "hang")


def test_every_behaviour_is_in_the_table() -> None:
    assert sorted((*ROWS, *TRANSPORT)) == sorted(BEHAVIOURS)
    assert len(set(BEHAVIOURS)) == len(BEHAVIOURS)


@pytest.mark.parametrize("form", SIZES)
@pytest.mark.parametrize("stream", [True, False])
def test_what_each_behaviour_becomes(form: Form, stream: bool) -> None:
    asked = Asked(form, IDS, SIZES[form])
    with FakeOllama(script=list(ROWS)) as server:
        for name, (first, last, code) in ROWS.items():
            text, reason = chat(server, body_for(asked, stream=stream))
            if (form != "rate" and code == "bad_rating") or (form, code) == ("approve", "partial"):
                # A list has no numbers, and fewer approvals are as good as more.
                first, last, code = "ok", "ok", ""
            answer = read(text, reason, asked, last=False)
            assert answer.verdict == first, (name, text)
            assert read(text, reason, asked, last=True).verdict == last, (name, text)
            assert code in answer.codes if code else answer.codes == (), (name, text)


def test_transport_failures() -> None:
    asked = Asked("rank", IDS, 4)
    with FakeOllama(script=TRANSPORT, hang=0.05) as server:
        url = f"{server.url}/api/chat"
        (only,) = send(url, body_for(asked))
        assert (only["done_reason"], only["message"]["content"]) == ("load", "")
        lines = send(url, body_for(asked))
        assert "error" in lines[-1] and len(lines) == 2
        with pytest.raises(IncompleteRead):
            send(url, body_for(asked))
        for status in (500, 404):
            with pytest.raises(urllib.error.HTTPError) as caught:
                send(url, body_for(asked))
            assert caught.value.code == status and "error" in json.load(caught.value)
            caught.value.close()
        with pytest.raises(RemoteDisconnected):
            send(url, body_for(asked))
    assert [request.behaviour for request in server.chats] == list(TRANSPORT)


def test_unstreamed_failures() -> None:
    asked = Asked("rank", IDS, 4)
    with FakeOllama(script=["dropped", "error_in_stream"]) as server:
        with pytest.raises(IncompleteRead):
            send(f"{server.url}/api/chat", body_for(asked, stream=False))
        with pytest.raises(urllib.error.HTTPError) as caught:
            send(f"{server.url}/api/chat", body_for(asked, stream=False))
        caught.value.close()


def test_closing_ends_what_hangs() -> None:
    server = FakeOllama(default="hang")

    def call() -> None:
        with pytest.raises(RemoteDisconnected):
            chat(server, body_for(Asked("rank", IDS, 4)))

    waiting = threading.Thread(target=call)
    waiting.start()
    while not server.chats:
        time.sleep(0.01)
    started = time.monotonic()
    server.close()
    waiting.join()
    assert time.monotonic() - started < 1
    gc.collect()  # a socket left open would warn here


def test_same_request_same_answer_whatever_the_order() -> None:
    asked = Asked("rate", IDS, 5)
    with FakeOllama() as server:
        alone = [chat(server, body_for(asked, seed))[0] for seed in range(12)]
    order = list(range(12))
    random.Random(3).shuffle(order)
    with FakeOllama() as server, ThreadPoolExecutor(4) as pool:
        mixed = list(pool.map(lambda seed: chat(server, body_for(asked, seed))[0], order))
    assert [alone[seed] for seed in order] == mixed
    assert len(set(alone)) == 12


@pytest.mark.parametrize("change", ["model", "messages", "seed", "temperature"])
def test_what_the_answer_depends_on(change: str) -> None:
    asked = Asked("rate", IDS, 5)
    one, other = body_for(asked), body_for(asked)
    if change == "model":
        other["model"] = "fake2"
    elif change == "messages":
        other["messages"][0]["content"] += "!"
    else:
        other["options"][change] = 2
    with FakeOllama(models=("fake", "fake2")) as server:
        assert chat(server, one) == chat(server, {**one, "keep_alive": "5m", "stream": False})
        assert chat(server, one) != chat(server, other)


def test_echo_follows_the_prompt() -> None:
    prompt = "harbour, then poi_12, poi_15; last old-town"
    messages = [{"role": "user", "content": prompt}]
    with FakeOllama(default="echo") as server:
        rank = chat(server, body_for(Asked("rank", IDS, 5), messages=messages))[0]
        rate = chat(server, body_for(Asked("rate", IDS, 5), messages=messages))[0]
    assert rank is not None and rate is not None
    order = ["harbour", "poi_12", "poi_15", "old-town", "poi_1"]
    assert json.loads(rank)["ranking"] == order
    ratings = json.loads(rate)["ratings"]
    assert [ratings[name] for name in order] == [10, 7.5, 5, 2.5, 0]


def test_scripts() -> None:
    body = body_for(Asked("rank", IDS, 4))
    with FakeOllama(script=['{"ranking": []}', "not json", "empty"], default="fenced") as server:
        texts = [chat(server, body)[0] for _ in range(4)]
    assert texts[:3] == ['{"ranking": []}', "not json", ""] and (texts[3] or "").startswith("```")
    assert [r.behaviour for r in server.chats] == ["literal", "literal", "empty", "fenced"]

    def choose(sent: dict[str, Any]) -> str:
        return "empty" if sent["options"]["seed"] == 0 else "[1, 2]"

    with FakeOllama(script=choose) as server:
        assert chat(server, body)[0] == ""
        assert chat(server, body_for(Asked("rank", IDS, 4), seed=2))[0] == "[1, 2]"
    for wrong in ({"script": ["fencd"]}, {"default": "fencd"}):
        with pytest.raises(SpecError, match="did you mean 'fenced'"):
            FakeOllama(**wrong)


def test_the_other_endpoints() -> None:
    with FakeOllama(models=("fake", "other:1b")) as server:
        models = send(f"{server.url}/api/tags")["models"]
        assert [model["name"] for model in models] == ["fake:latest", "other:1b"]
        assert len({model["digest"] for model in models}) == 2
        assert send(f"{server.url}/api/version") == {"version": "0.0.0-fake"}
        assert "completion" in send(f"{server.url}/api/show", {"model": "fake"})["capabilities"]
        found = send(
            f"{server.url}/api/embed",
            {"model": "fake", "input": ["quiet small hotels", "small hotels, quiet", "loud bars"]},
        )["embeddings"]
        near, far = (sum(a * b for a, b in zip(found[0], v, strict=True)) for v in found[1:])
        assert near == pytest.approx(1) and far < 0.9
        one = send(f"{server.url}/api/embed", {"model": "fake", "input": "a", "dimensions": 4})
        assert len(one["embeddings"][0]) == 4
        for path, body in [("/api/show", {"model": "x"}), ("/api/nope", {"model": "fake"}),
                           ("/nope", None)]:  # fmt: skip
            with pytest.raises(urllib.error.HTTPError) as caught:
                send(server.url + path, body)
            assert caught.value.code == 404
            caught.value.close()
    assert [request.path for request in server.requests][:3] == [
        "/api/tags", "/api/version", "/api/show",
    ]  # fmt: skip
    assert server.requests[2].body == {"model": "fake"}


def test_a_schema_that_is_not_understood_is_an_error_not_a_guess() -> None:
    with FakeOllama() as server:
        body = body_for(Asked("rank", IDS, 4))
        with pytest.raises(urllib.error.HTTPError) as caught:
            chat(server, {**body, "format": {"type": "tuple"}})
        assert "'tuple'" in json.load(caught.value)["error"]
        caught.value.close()
        assert json.loads(chat(server, {**body, "format": "json"})[0] or "")["answer"]


@pytest.mark.parametrize("seed", range(20))
def test_generated_values_are_valid(seed: int) -> None:
    rng = random.Random(seed)
    made = generate(
        {
            "$defs": {"Kind": {"enum": ["a", "b"]}},
            "type": "object",
            "properties": {
                "kind": {"$ref": "#/$defs/Kind"},
                "only": {"allOf": [{"const": 5}]},
                "one": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
                "n": {"type": "integer", "minimum": -3, "maximum": -1},
                "x": {"type": "number", "maximum": -20},
                "y": {"type": "number", "minimum": 1.234, "maximum": 1.235},
                "words": {"type": "array", "minItems": 2, "maxItems": 2, "uniqueItems": True},
                "picks": {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 5},
                "text": {"type": "string", "minLength": 20, "maxLength": 22},
            },
        },
        rng,
    )
    assert made["kind"] in ("a", "b") and made["only"] == 5 and made["one"] in (None, True, False)
    assert -3 <= made["n"] <= -1 and -30 <= made["x"] <= -20 and 1.234 <= made["y"] <= 1.235
    assert len(set(made["words"])) == 2 and len(made["picks"]) == 5
    assert 20 <= len(made["text"]) <= 22
