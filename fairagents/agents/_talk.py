"""The conversation with a model: what is asked, what is heard, and when it is given up.

Private: `fairagents.agents.llm` is the way in. A conversation is a generator of steps; two small
drivers, one of them asynchronous, take the steps and send back what they heard.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Literal

from fairagents.agents._prompt import Messages, again, estimate, line
from fairagents.agents.answers import Answer, Asked, Form, read, schema
from fairagents.agents.base import Brief
from fairagents.ballot import Abstention, Approvals, Ranking, Ratings, Said
from fairagents.decision import Call
from fairagents.errors import Failure, ModelUnavailable
from fairagents.models import Reply, TransportError
from fairagents.seeds import derive

TOP = 10
"""Ratings are asked for as whole numbers from 0 to this, and divided by it."""

SEEDS = 2**31
"""Ollama draws from a seed of 31 bits."""

CUT = "prompt_cut"
"""The server cut the prompt: what was answered is about something else than what was asked."""

ODD = "prompt_tokens"
"""The server counted far fewer tokens of prompt than the prompt must have."""

RETRIED = ("transport", "timeout")

WORDS = {
    "deadline": "the time for the decision was up",
    "max_calls": "the calls for the decision were used up",
}

# The code that an abstention is named after, where an answer has several.
_FIRST = (
    "no_answer", "truncated", "empty", "not_json", "wrong_shape",
    "unknown_id", "duplicate", "bad_rating", "partial",
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """Ask the model; `timeout` is given where it is shorter than the model's own."""

    messages: Messages
    schema: dict[str, Any]
    seed: int
    timeout: float | None


@dataclass(frozen=True)
class Pause:
    """Wait before the next try."""

    seconds: float


Outcome = Reply | TransportError | ModelUnavailable | Failure


@dataclass(frozen=True)
class Heard:
    """What came of a question, and after how many seconds, waiting for a turn included."""

    outcome: Outcome
    seconds: float


@dataclass(frozen=True)
class Silence:
    """No answer came, or none that counts; `code` and `detail` say why."""

    code: str
    detail: str


Step = Question | Pause
Steps = Generator[Step, Heard | None, "Part"]


@dataclass(frozen=True)
class Part:
    """What one question, with its retries and its second try, came to.

    Attributes:
        asked: what was asked for.
        answer: the ballot, or an abstention.
        code: the reason code of an abstention, else empty.
        detail: the same in words.
        silent: whether no answer came at all, so that further questions are no use.
    """

    asked: Asked
    answer: Answer
    code: str = ""
    detail: str = ""
    silent: bool = False


@dataclass
class Talk:
    """The questions put to one model for one brief, and what they cost.

    Attributes:
        brief: the brief; attempts are recorded in its `calls`.
        url: the server, for the records.
        timeout: seconds for one question; None leaves it to the model.
        retries: further tries after a failed transport.
        backoff: seconds before the first further try; doubled each time.
        reasks: further questions after an answer that can't be counted.
        num_ctx: the model's context in tokens; None is unknown.
        num_predict: the most tokens of an answer.
        codes: reason codes so far.
    """

    brief: Brief
    url: str
    timeout: float | None
    retries: int
    backoff: float
    reasks: int
    num_ctx: int | None
    num_predict: int
    codes: set[str] = field(default_factory=set)
    attempts: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def part(self, index: int, asked: Asked, messages: Messages) -> Steps:
        """Ask one question until there is an answer that counts, or none to be had."""
        now = messages
        for attempt in range(self.reasks + 1):
            seed = derive(self.brief.seed, "attempt", index, attempt) % SEEDS
            heard = yield from self._ask(now, schema(asked), seed)
            if isinstance(heard, Silence):
                self.codes.add(heard.code)
                return Part(asked, Answer("abstained"), heard.code, heard.detail, silent=True)
            reply, seconds = heard
            last = attempt == self.reasks
            answer = self._read(reply, asked, now, last)
            self.codes.update(answer.codes)
            code = "" if answer.verdict in ("ok", "repaired") else leading(answer.codes)
            self._note(seconds, code or "ok", reply)
            if answer.verdict != "again":
                return Part(asked, answer, code, answer.problem if code else "")
            room = None if self.num_ctx is None else self.num_ctx - self.num_predict
            now = again(messages, reply.text, answer.problem, room)
        raise AssertionError("the last answer is never asked about again")

    def _ask(
        self, messages: Messages, form: dict[str, Any], seed: int
    ) -> Generator[Step, Heard | None, tuple[Reply, float] | Silence]:
        """Ask, and ask again what got lost on the way: the same bytes, so the same answer."""
        budget = self.brief.budget
        for attempt in range(self.retries + 1):
            if code := budget.take():
                return Silence(code, WORDS[code])
            left = budget.remaining()
            hurried = left is not None and (self.timeout is None or left < self.timeout)
            heard = yield Question(messages, form, seed, left if hurried else None)
            assert heard is not None
            self.attempts += 1
            if isinstance(heard.outcome, Reply):
                return heard.outcome, heard.seconds
            lost = self._lost(heard.outcome, hurried)
            self._note(heard.seconds, lost.code)
            self.codes.add(lost.code)
            if lost.code not in RETRIED or attempt == self.retries:
                return lost
            pause = self.backoff * 2**attempt
            left = budget.remaining()
            if left is not None and left <= pause:
                return Silence("deadline", WORDS["deadline"])
            yield Pause(pause)
        raise AssertionError("the last attempt returns")

    def _lost(self, outcome: TransportError | ModelUnavailable | Failure, hurried: bool) -> Silence:
        """Say why there was no reply, without naming the host: a vote is the same on any."""
        if isinstance(outcome, Failure):
            return Silence("model_error", line(f"{outcome.kind}: {outcome.message}"))
        words = str(outcome).replace(self.url, "the server") if self.url else str(outcome)
        if not isinstance(outcome, TransportError):
            return Silence("model_error", words)
        if outcome.code != "timeout":
            return Silence("transport", words)
        if hurried:
            return Silence("deadline", WORDS["deadline"])
        limit = "" if self.timeout is None else f" within {self.timeout:g} s"
        return Silence("timeout", f"the server gave no answer{limit}")

    def _read(self, reply: Reply, asked: Asked, messages: Messages, last: bool) -> Answer:
        """Read an answer; one to a prompt that was cut is never parsed, and asking is no use."""
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        if self.num_ctx is not None and reply.tokens_in >= self.num_ctx:
            problem = (
                f"the server counted {reply.tokens_in} tokens of prompt and has room for "
                f"{self.num_ctx}, so it cut the prompt: raise num_ctx"
            )
            return Answer("abstained", codes=(CUT,), problem=problem)
        if 0 < reply.tokens_in < estimate(messages) // 5:
            self.codes.add(ODD)
        return read(reply.text, reply.done_reason, asked, last=last)

    def _note(self, seconds: float, outcome: str, reply: Reply | None = None) -> None:
        self.brief.calls.append(
            Call(
                stakeholder=self.brief.stakeholder.id,
                round=self.brief.round,
                attempt=self.attempts,
                seconds=seconds,
                outcome=outcome,
                url=self.url,
                tokens_in=reply.tokens_in if reply else 0,
                tokens_out=reply.tokens_out if reply else 0,
            )
        )


def leading(codes: tuple[str, ...]) -> str:
    """Return the code that an answer is named after: the one that says most.

    >>> leading(("normalised", "partial", "unknown_id"))
    'unknown_id'
    """
    return next((code for code in _FIRST if code in codes), codes[0] if codes else "")


def chunks(shown: tuple[str, ...], form: Form, size: int, chunk: int) -> list[Asked]:
    """Return the questions about ids in the order shown; chunks are as even as can be."""
    if form != "rate":
        return [Asked(form, shown, min(size, len(shown)))]
    count = math.ceil(len(shown) / chunk)
    ends = [round(len(shown) * i / count) for i in range(count + 1)]
    pieces = [shown[a:b] for a, b in itertools.pairwise(ends)]
    return [Asked(form, piece, len(piece), 0, TOP) for piece in pieces]


def merge(
    brief: Brief, form: Form, parts: list[Part], codes: set[str]
) -> tuple[Said, Literal["ok", "repaired", "abstained"]]:
    """Return what the parts say together, and the status; `codes` gains what is missing."""
    failed = next((part for part in parts if part.answer.verdict == "abstained"), None)
    reason = next((part.answer.reason for part in parts if part.answer.reason), "")
    if form != "rate":
        (part,) = parts
        if failed:
            return Abstention(code=failed.code, detail=failed.detail), "abstained"
        status: Literal["ok", "repaired"] = "ok" if part.answer.verdict == "ok" else "repaired"
        kind = Ranking if form == "rank" else Approvals
        return kind(ids=part.answer.ids, reason=reason), status
    values = {
        one: value / TOP
        for part in parts
        for one, value in zip(part.answer.ids, part.answer.values, strict=True)
        if value is not None
    }
    if failed and 2 * len(values) < len(brief.agenda.ids):
        return Abstention(code=failed.code, detail=failed.detail), "abstained"
    if failed:
        codes.add("partial")
    rated = tuple(one for one in brief.agenda.ids if one in values)
    said = Ratings(ids=rated, values=tuple(values[one] for one in rated), reason=reason)
    clean = all(part.answer.verdict == "ok" for part in parts)
    return said, "ok" if clean else "repaired"
