"""What a fake model answers: values made from a JSON schema, and the ways to spoil them.

Private: `fairagents.testing` is the way in.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from fairagents.errors import SpecError, did_you_mean

Body = dict[str, Any]


def generate(schema: Mapping[str, Any], rng: random.Random) -> Any:
    """Return a value that is valid under a JSON schema.

    Understood: `enum`, `const`, `$ref` to `$defs`, `anyOf`, `oneOf`, a single `allOf`, objects
    with `properties` (all are filled in), arrays with `items`, `minItems`, `maxItems`,
    `uniqueItems`, strings with `minLength`, `maxLength`, numbers and integers with `minimum` and
    `maximum`, booleans and null. Numbers have at most two decimals.

    Args:
        schema: the schema.
        rng: where every choice comes from.

    Raises:
        SpecError: if a part of the schema is of a type that is not understood.

    >>> generate({"type": "integer", "minimum": 3, "maximum": 3}, random.Random(1))
    3
    """
    return _generate(schema, schema, rng)


def _generate(schema: Mapping[str, Any], root: Mapping[str, Any], rng: random.Random) -> Any:
    if "$ref" in schema:
        return _generate(root["$defs"][schema["$ref"].split("/")[-1]], root, rng)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return _generate(rng.choice(schema[key]), root, rng)
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {key: _generate(part, root, rng) for key, part in properties.items()}
        case "array":
            return _array(schema, root, rng)
        case "string":
            text = f"Reason {rng.randrange(1000)}."
            return text.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength", 1000)]
        case "number":
            low, high = _bounds(schema)
            return min(high, max(low, round(rng.uniform(low, high), 2)))
        case "integer":
            low, high = _bounds(schema)
            return rng.randint(math.ceil(low), math.floor(high))
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case other:
            raise SpecError(f"type {other!r} in the schema {dict(schema)!r} is not understood")


def _bounds(schema: Mapping[str, Any]) -> tuple[float, float]:
    low = schema.get("minimum", min(0, schema.get("maximum", 10) - 10))
    return low, schema.get("maximum", low + 10)


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], rng: random.Random) -> list[Any]:
    items = schema.get("items", {"type": "string"})
    least = schema.get("minItems", 0)
    unique = schema.get("uniqueItems", False)
    legal = list(items["enum"]) if "enum" in items else None
    most = schema.get("maxItems", max(least, 3))
    if legal is not None and unique:
        return rng.sample(legal, rng.randint(least, min(most, len(legal))))
    found: list[Any] = []
    count = rng.randint(least, most)
    for _ in range(50 * count):
        if len(found) == count:
            break
        value = _generate(items, root, rng)
        if not unique or value not in found:
            found.append(value)
    return found


def _echo(schema: Mapping[str, Any], prompt: str) -> Any:
    """Answer in the order of the prompt: the earlier an id is shown, the better it does."""

    def place(key: str) -> int:
        found = re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", prompt)
        return found.start() if found else len(prompt)

    answer = generate(schema, random.Random(0))
    for key, part in schema.get("properties", {}).items():
        if "enum" in part.get("items", {}):
            ids = sorted(part["items"]["enum"], key=place)
            answer[key] = ids[: part.get("maxItems", len(ids))]
        elif part.get("type") == "object" and part.get("properties"):
            ids = sorted(part["properties"], key=place)
            for i, name in enumerate(ids):
                low, high = _bounds(part["properties"][name])
                share = i / max(1, len(ids) - 1)
                answer[key][name] = round(high - share * (high - low), 2)
    return answer


# How answers are damaged. `_ballot` is the first list or object in the answer: what was asked for.


def _ballot(answer: Body) -> str:
    return next((key for key, value in answer.items() if isinstance(value, list | dict)), "")


def _entries(change: Callable[[list[Any]], list[Any]]) -> Callable[[Body, Body], str]:
    """Damage the entries of the ballot: the items of a list, the (id, value) pairs of an object."""

    def damage(answer: Body, schema: Body) -> str:
        key = _ballot(answer)
        value = answer.get(key)
        if isinstance(value, list):
            return json.dumps({**answer, key: change(value)})
        if isinstance(value, dict):
            names = change(list(value))
            numbers = list(value.values())
            # Written by hand, for a dictionary cannot hold a key twice.
            pairs = zip(names, [*numbers, *numbers][: len(names)], strict=True)
            inner = ", ".join(f"{json.dumps(name)}: {json.dumps(v)}" for name, v in pairs)
            rest = "".join(
                f", {json.dumps(k)}: {json.dumps(v)}" for k, v in answer.items() if k != key
            )
            return f"{{{json.dumps(key)}: {{{inner}}}{rest}}}"
        return json.dumps(answer)

    return damage


def _first_number(change: Callable[[float], Any]) -> Callable[[Body, Body], str]:
    """Damage the first number of the ballot; an answer without numbers stays as it is."""

    def damage(answer: Body, schema: Body) -> str:
        key = _ballot(answer)
        value = answer.get(key)
        pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value or ()))
        for place, number in pairs:
            if isinstance(number, int | float) and not isinstance(number, bool):
                changed = dict(pairs) | {place: change(number)}
                whole = changed if isinstance(value, dict) else list(changed.values())
                return json.dumps({**answer, key: whole})
        return json.dumps(answer)

    return damage


def _truncated(answer: Body, schema: Body) -> str:
    key = _ballot(answer)
    last = str(list(answer[key])[-1]) if answer.get(key) else ""
    text = json.dumps(answer)
    start = text.rfind(json.dumps(last)) if last else len(text) // 2
    return text[: start + 1 + len(last) // 2]


def _duplicate_keys(answer: Body, schema: Body) -> str:
    text = json.dumps(answer)
    key = _ballot(answer)
    return f"{text[:-1]}, {json.dumps(key)}: {json.dumps(answer.get(key))}}}"


def _two_blocks(answer: Body, schema: Body) -> str:
    other = {**answer, "reason": "On second thoughts."}
    return f"```json\n{json.dumps(answer)}\n```\nor else\n```json\n{json.dumps(other)}\n```"


_DAMAGE: Mapping[str, Callable[[Body, Body], str]] = {
    "fenced": lambda answer, _: f"```json\n{json.dumps(answer, indent=2)}\n```",
    "think": lambda answer, _: f"<think>\nLet me weigh them.\n</think>\n\n{json.dumps(answer)}",
    "case": _entries(lambda ids: [f" {str(i).upper().replace('_', ' ')} " for i in ids]),
    "prose": lambda answer, _: f"Sure! My answer is {json.dumps(answer)}. I hope it helps.",
    "single_quotes": lambda answer, _: str(answer),
    "trailing_comma": lambda answer, _: json.dumps(answer)[:-1] + ",}",
    "truncated": _truncated,
    "empty": lambda answer, _: "",
    "root_list": lambda answer, _: json.dumps(list(answer.get(_ballot(answer), []))),
    "schema_echo": lambda _, schema: json.dumps(schema),
    "wrong_keys": lambda answer, _: json.dumps({f"my_{k}": v for k, v in answer.items()}),
    "extra_keys": lambda answer, _: json.dumps({**answer, "confidence": 0.9}),
    "unknown_ids": _entries(lambda ids: [*ids[:-1], "no-such-id"]),
    "duplicates": _entries(lambda ids: [*ids[:-1], ids[0]] if len(ids) > 1 else ids * 2),
    "missing_items": _entries(lambda ids: ids[:-1]),
    "mostly_unknown": _entries(
        lambda ids: [i if 2 * n + 2 < len(ids) else f"no-such-{n}" for n, i in enumerate(ids)]
    ),
    "nan": _first_number(lambda _: math.nan),
    "out_of_range": _first_number(lambda _: 1e6),
    "string_numbers": _first_number(str),
    "duplicate_keys": _duplicate_keys,
    "two_blocks": _two_blocks,
}

_WIRE = ("tool_call", "load", "error_in_stream", "dropped", "http_500", "not_found", "hang")

BEHAVIOURS: tuple[str, ...] = ("valid", "echo", *_DAMAGE, *_WIRE)
"""Every way to answer a chat that `FakeOllama` knows, by name.

`valid` is generated from the schema, `echo` follows the order shown in the prompt; all others are
failures. The number behaviours (`nan`, `out_of_range`, `string_numbers`) damage the first number
and leave an answer without numbers valid.
"""


def checked(behaviour: str) -> str:
    """Return a behaviour or a literal answer as it is; a word that is neither is a SpecError."""
    if behaviour not in BEHAVIOURS and re.fullmatch(r"\w+", behaviour):
        raise SpecError(
            f"no behaviour is called {behaviour!r}: {did_you_mean(behaviour, BEHAVIOURS)}"
        )
    return behaviour


def content(name: str, body: Body) -> str:
    """Return the text a chat is answered with; the same for the same request, whatever the order.

    It depends on model, messages, seed, temperature and schema, and on nothing else.
    """
    options = body.get("options") or {}
    schema = body.get("format")
    if not isinstance(schema, dict):
        schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    if name == "echo":
        prompt = "\n".join(str(message.get("content", "")) for message in body["messages"])
        return json.dumps(_echo(schema, prompt))
    seed = [body.get("model"), body["messages"], options.get("seed"), options.get("temperature")]
    digest = hashlib.sha256(json.dumps(seed, sort_keys=True).encode()).digest()
    answer = generate(schema, random.Random(int.from_bytes(digest[:8], "big")))
    if name in _DAMAGE and isinstance(answer, dict):
        return _DAMAGE[name](answer, schema)
    return json.dumps(answer)


def embedding(text: str, size: int) -> list[float]:
    """Return hashed word counts, scaled to length 1: texts that share words are near each other."""
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.casefold()) or [""]:
        digest = hashlib.sha256(word.encode()).digest()
        vector[digest[0] % size] += 1.0 if digest[1] % 2 else 0.5
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]
