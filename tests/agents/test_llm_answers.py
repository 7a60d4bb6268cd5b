"""Every row of the table of malformed answers, over a server that speaks Ollama's protocol."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairagents.agents.answers import Form
from fairagents.ballot import Abstention, Approvals, Ranking, Ratings
from fairagents.errors import ModelUnavailable, SpecError
from fairagents.testing import FakeOllama
from tests.agents.toy_council import (
    IDS,
    WAYS,
    Stage,
    Way,
    brief_of,
    llm,
    text_of,
)

both = pytest.mark.parametrize("way", WAYS)

ROWS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    # behaviour, given twice: status, leading code, all codes of a ranking of 4 out of 12
    "valid": ("ok", "", ()),
    "echo": ("ok", "", ()),
    "fenced": ("ok", "", ("normalised",)),
    "think": ("ok", "", ("normalised",)),
    "case": ("ok", "", ("normalised",)),
    "extra_keys": ("ok", "", ("extra_keys",)),
    "prose": ("abstained", "not_json", ("not_json",)),
    "single_quotes": ("abstained", "not_json", ("not_json",)),
    "trailing_comma": ("abstained", "not_json", ("not_json",)),
    "two_blocks": ("abstained", "not_json", ("not_json",)),
    "truncated": ("abstained", "truncated", ("truncated",)),
    "empty": ("abstained", "empty", ("empty",)),
    "root_list": ("abstained", "wrong_shape", ("wrong_shape",)),
    "schema_echo": ("abstained", "wrong_shape", ("wrong_shape",)),
    "wrong_keys": ("abstained", "wrong_shape", ("wrong_shape",)),
    "duplicate_keys": ("abstained", "wrong_shape", ("wrong_shape",)),
    "tool_call": ("abstained", "no_answer", ("no_answer",)),
    "unknown_ids": ("repaired", "", ("partial", "unknown_id")),
    "duplicates": ("repaired", "", ("duplicate", "partial")),
    "missing_items": ("repaired", "", ("partial",)),
    "mostly_unknown": ("abstained", "unknown_id", ("partial", "unknown_id")),
    "nan": ("repaired", "", ("bad_rating",)),
    "out_of_range": ("repaired", "", ("bad_rating",)),
    "string_numbers": ("repaired", "", ("bad_rating",)),
}
NUMBERS = ("nan", "out_of_range", "string_numbers")
# Of an approval the stub damages what it drew, and that may be one id only: written out instead.
APPROVALS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    '{"approved": ["mill", "sun", "no-such-id"]}': ("repaired", "", ("unknown_id",)),
    '{"approved": ["mill", "sun", "mill"]}': ("repaired", "", ("duplicate",)),
    '{"approved": ["mill", "x", "y"]}': ("abstained", "unknown_id", ("unknown_id",)),
    '{"approved": []}': ("abstained", "partial", ("partial",)),
    '{"approved": ["mill", "sun", "ulm", "rose", "quay"]}':
        ("abstained", "wrong_shape", ("wrong_shape",)),
}  # fmt: skip


def expected(form: Form, behaviour: str) -> tuple[str, str, tuple[str, ...]] | None:
    if behaviour in NUMBERS and form != "rate":
        return None
    if form == "approve":
        entries = ("unknown_ids", "duplicates", "missing_items", "mostly_unknown")
        return APPROVALS.get(behaviour) or (None if behaviour in entries else ROWS[behaviour])
    return ROWS.get(behaviour)


def cases() -> Iterator[tuple[Form, str]]:
    for form in ("rank", "rate", "approve"):
        for behaviour in (*ROWS, *APPROVALS):
            if expected(form, behaviour):
                yield form, behaviour


@both
@pytest.mark.parametrize(("form", "behaviour"), list(cases()))
def test_malformed(way: Way, form: Form, behaviour: str, server: FakeOllama, stage: Stage) -> None:
    found = expected(form, behaviour)
    assert found is not None
    status, leading, codes = found
    stage.plan = [behaviour] * 2
    brief = brief_of(seed=3)
    vote = way(llm(server, form=form), brief)
    assert (vote.status, vote.codes) == (status, codes)
    attempts = 1 if status == "ok" else 2
    assert len(server.chats) == vote.attempts == len(brief.calls) == attempts
    if isinstance(vote.said, Abstention):
        assert vote.said.code == leading and vote.said.detail
    else:
        kind: type = {"rank": Ranking, "rate": Ratings, "approve": Approvals}[form]
        assert isinstance(vote.said, kind)
        assert set(getattr(vote.said, "ids", ())) <= set(IDS)
    first = "ok" if status == "ok" else (leading or brief.calls[0].outcome)
    last = leading or "ok"
    assert [c.outcome for c in brief.calls] == [first, last][-attempts:]
    assert first == "ok" or first in codes


@both
@pytest.mark.parametrize("behaviour", [b for b, row in ROWS.items() if row[0] != "ok"])
def test_ok_after_a_second_try(way: Way, behaviour: str, server: FakeOllama, stage: Stage) -> None:
    form: Form = "rate" if behaviour in NUMBERS else "rank"
    stage.plan = [behaviour, "valid"]
    brief = brief_of(seed=3)
    vote = way(llm(server, form=form), brief)
    assert (vote.status, vote.codes) == ("ok", ROWS[behaviour][2])
    assert [c.outcome for c in brief.calls] == [brief.calls[0].outcome, "ok"]
    first, second = (request.body for request in server.chats)
    assert first["options"]["seed"] != second["options"]["seed"]
    assert [m["role"] for m in second["messages"]] == ["system", "user", "assistant", "user"]
    assert second["messages"][:2] == first["messages"] and second["format"] == first["format"]
    assert "different ids" in text_of(second) or "number from 0 to 10" in text_of(second)
    assert all(m["content"] for m in second["messages"])


LOST = {
    "load": "transport", "error_in_stream": "transport", "dropped": "transport",
    "http_500": "transport", "hang": "timeout",
}  # fmt: skip


@both
@pytest.mark.parametrize("behaviour", LOST)
def test_lost_on_the_way(way: Way, behaviour: str, server: FakeOllama, stage: Stage) -> None:
    code = LOST[behaviour]
    fast = {"timeout": 0.15} if behaviour == "hang" else {}
    stage.plan = [behaviour] * 3
    brief = brief_of()
    vote = way(llm(server, **fast), brief)
    assert (vote.status, vote.codes, vote.attempts) == ("abstained", (code,), 3)
    assert isinstance(vote.said, Abstention) and vote.said.code == code
    assert server.url not in vote.model_dump_json() and vote.said.detail
    assert [c.outcome for c in brief.calls] == [code] * 3
    assert all(request.body == server.chats[0].body for request in server.chats)
    assert stage.plan == []

    server.requests.clear()
    stage.plan = [behaviour]
    vote = way(llm(server, **fast), brief_of())
    assert (vote.status, vote.codes, vote.attempts) == ("ok", (code,), 2)
    one, two = server.chats
    assert one.body == two.body

    stage.plan = [behaviour]
    vote = way(llm(server, retries=0, **fast), brief_of())
    assert (vote.status, vote.attempts) == ("abstained", 1)


@both
def test_a_model_that_goes_away_in_the_middle(way: Way, server: FakeOllama, stage: Stage) -> None:
    stage.default = "not_found"
    vote = way(llm(server), brief_of())
    assert isinstance(vote.said, Abstention) and vote.codes == ("model_error",)
    assert "ollama pull" in vote.said.detail and server.url not in vote.said.detail
    assert len(server.chats) == 1


@both
def test_without_a_second_try_the_first_answer_is_repaired(
    way: Way, server: FakeOllama, stage: Stage
) -> None:
    stage.plan = ["duplicates"]
    vote = way(llm(server, reasks=0), brief_of())
    assert (vote.status, vote.attempts) == ("repaired", 1)


@both
def test_nothing_there_is_an_error_before_anything_is_asked(way: Way, server: FakeOllama) -> None:
    for wrong, error, match in [
        ({"model": "ollama:llama3.2"}, ModelUnavailable, "ollama pull llama3.2"),
        ({"url": "http://127.0.0.1:9"}, ModelUnavailable, "ollama serve"),
        ({"url": "ollama.local"}, SpecError, "must begin with http"),
    ]:
        policy = llm(server, **wrong)
        with pytest.raises(error, match=match):
            policy.prepare()
        with pytest.raises(error, match=match):
            way(policy, brief_of())
    assert server.chats == []
