"""Language models as agents: a brief becomes a prompt, an answer a vote with its reasons."""

from __future__ import annotations

import asyncio
import functools
import math
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from fairagents import models
from fairagents.agents._prompt import Facts, Reveal, estimate, fingerprint
from fairagents.agents._talk import Heard, Outcome, Part, Pause, Question, Step, Talk, chunks, merge
from fairagents.agents.answers import Asked, Form
from fairagents.agents.base import Brief, Policy
from fairagents.ballot import Vote
from fairagents.errors import ModelUnavailable, SpecError, aguard, did_you_mean, guard

LARGE = 40
"""`form="auto"` ranks agendas of up to so many ids, and rates larger ones."""

_SERVER_FIELDS = ("url", "temperature", "num_ctx", "num_predict", "timeout", "options")
_HOW_FAST = ("url", "timeout", "retries", "backoff", "concurrency")
_OPTIONS = ("top_k", "top_p", "repeat_penalty", "num_thread", "keep_alive")


def _model(value: object) -> object:
    """Check a reference; let a chat model object through."""
    if isinstance(value, str):
        models.parse_ref(value)
        return value
    if not (callable(getattr(value, "invoke", None)) and callable(getattr(value, "ainvoke", None))):
        raise ValueError("is 'ollama:NAME' or a LangChain chat model (with invoke and ainvoke)")
    return value


def _name(value: object) -> str:
    return value if isinstance(value, str) else models.model_name(value)


ModelRef = Annotated[
    Any,
    BeforeValidator(_model),
    PlainSerializer(_name, return_type=str),
    WithJsonSchema({"type": "string"}),
]


class LLM(Policy):
    """Lets a language model vote for its stakeholder.

    The model is told who it speaks for (role, persona, principles), the own objectives and
    constraints in words, the request, and the agenda as a table of attributes: the own quantities
    in their own unit and the columns that own objectives and constraints read. It is never told a
    worth (unless `reveal="worth"`), nor anybody else's objectives, persona or principles. Each
    agent sees the agenda in an order of its own, drawn from the brief's seed.

    An answer is parsed strictly. One that can't be counted is asked about once, with the fault
    named; what is then left is `repaired`, and less than half is an abstention. Every reason code
    stands on the vote, together with model, digest, options, seed, tokens and attempts.

    >>> from fairagents.agents.llm import LLM
    >>> LLM(model="ollama:llama3.2", form="rate").label
    "llm(model='ollama:llama3.2', form='rate')"

    Attributes:
        model: `"ollama:NAME"`, or any LangChain chat model object. An object is asked as it is;
            `to_data` and labels then hold its class and model name, from which it can't be built.
        url: the Ollama server; None takes `OLLAMA_HOST` or the local one.
        form: what is asked for. "rank": the best k in order, k the slate's size; "approve": up to
            k that serve well; "rate": 0 to 10 for every id, in chunks; "auto": "rank" for agendas
            of up to 40 ids, since an order is short and is what small models do best, else
            "rate", since nobody compares more at a glance. It depends on the agenda's size only,
            so that all stakeholders of a council cast ballots of one form.
        chunk: the most ids per question when rating; fewer where the prompt would not fit.
        attributes: the most columns of attributes that are shown.
        reveal: "worth" shows the own worth of each option, two decimals. Alignment then says how
            well the model copies, so this is recorded with every vote.
        temperature: 0 for the likeliest answer.
        num_ctx: tokens of prompt and answer together. Ollama cuts longer prompts silently, so the
            length is estimated (3.5 characters a token) before asking.
        num_predict: the most tokens of one answer.
        timeout: seconds for one question, waiting for a turn included; a deadline shortens it.
        retries: further tries after a lost connection, a failing server or a time-out.
        backoff: seconds before the first further try, doubled each time; when the deadline would
            pass meanwhile, there is no further try.
        reasks: further questions after an answer that can't be counted; with 0 a first answer is
            repaired at once.
        concurrency: how many questions the server is asked at once by this process; None leaves
            it as it is, 2 unless `fairagents.models.limit` said otherwise. It belongs to the
            server: of several agents on one server, the last one prepared has its way.
        options: further settings of the model: top_k, top_p, repeat_penalty, num_thread,
            keep_alive.
    """

    name: ClassVar[str] = "llm"
    scripted: ClassVar[bool] = False

    model: ModelRef
    url: str | None = None
    form: Literal["auto", "rank", "approve", "rate"] = "auto"
    chunk: int = Field(default=20, ge=1)
    attributes: int = Field(default=6, ge=1)
    reveal: Reveal = "nothing"
    temperature: float = Field(default=0.0, ge=0)
    num_ctx: int = Field(default=4096, ge=256)
    num_predict: int = Field(default=512, ge=16)
    timeout: float = Field(default=120.0, gt=0)
    retries: int = Field(default=2, ge=0)
    backoff: float = Field(default=0.5, ge=0)
    reasks: int = Field(default=1, ge=0, le=3)
    concurrency: int | None = Field(default=None, ge=1)
    options: dict[str, str | int | float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> LLM:
        for key in self.options:
            if key not in _OPTIONS:
                raise ValueError(f"options: no {key!r}; {did_you_mean(key, _OPTIONS)}")
        if self.num_predict >= self.num_ctx:
            raise ValueError(
                f"num_predict {self.num_predict} must be below num_ctx {self.num_ctx}, "
                "which holds prompt and answer"
            )
        if self.foreign and (given := [f for f in _SERVER_FIELDS if f in self.model_fields_set]):
            raise ValueError(f"{', '.join(given)}: set on the chat model object itself")
        return self

    @property
    def foreign(self) -> bool:
        """Whether `model` is a chat model object."""
        return not isinstance(self.model, str)

    @property
    def label(self) -> str:
        """The name with the fields that can change a vote; where and how fast is left out."""
        given = {
            key: _name(value) if key == "model" else value
            for key, value in self
            if key not in _HOW_FAST
            and value != type(self).model_fields[key].get_default(call_default_factory=True)
        }
        return f"llm({', '.join(f'{key}={value!r}' for key, value in given.items())})"

    # -- the model ----------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make sure that the server answers and has the model, and set how much it is asked.

        Raises:
            ModelUnavailable: no server answers, or it lacks the model; the message says what to do.
            SpecError: the address is malformed.
        """
        found = models.identify(self.model) if self.foreign else models.check(self.model, self.url)
        self._memo.found, self._memo.key = found, self._key()
        if self.concurrency is not None and found.url:
            models.limit(found.url, self.concurrency)

    @functools.cached_property
    def _memo(self) -> _Memo:
        return _Memo()

    def _key(self) -> tuple[object, str]:
        if self.foreign:
            return id(self.model), ""
        return self.model, models.resolve_url(self.url)

    @property
    def _ready(self) -> bool:
        return self._memo.found is not None and self._memo.key == self._key()

    def _chat(self) -> Any:
        if self.foreign:
            return self.model
        return _connected(
            self.model,
            models.resolve_url(self.url),
            timeout=self.timeout,
            temperature=self.temperature,
            num_ctx=self.num_ctx,
            num_predict=self.num_predict,
            **self.options,
        )

    # -- voting -------------------------------------------------------------------------------

    def propose(self, brief: Brief) -> Vote:
        """Ask the model and return its vote; a failure of the model is an abstention.

        Raises:
            SpecError: the prompt does not fit into `num_ctx`.
            ModelUnavailable: the model was never prepared, and is not there.
        """
        if not self._ready:
            self.prepare()
        chat, talk = self._chat(), self._converse(brief)
        heard: Heard | None = None
        while True:
            try:
                step = talk.send(heard)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                heard = None
            else:
                started = time.monotonic()
                outcome = _caught(functools.partial(models.ask, chat, **_arguments(step)))
                heard = Heard(outcome, time.monotonic() - started)

    async def apropose(self, brief: Brief) -> Vote:
        """Return the same vote as `propose` without blocking the event loop."""
        if not self._ready:
            await asyncio.to_thread(self.prepare)
        chat, talk = self._chat(), self._converse(brief)
        heard: Heard | None = None
        while True:
            try:
                step = talk.send(heard)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                heard = None
            else:
                started = time.monotonic()
                outcome = await _acaught(models.aask(chat, **_arguments(step)))
                heard = Heard(outcome, time.monotonic() - started)

    def _converse(self, brief: Brief) -> Generator[Step, Heard | None, Vote]:
        """Yield what to ask and return the vote: everything but the waiting."""
        talk = self._talk(brief)
        facts = Facts(brief, self.reveal, self.attributes)
        form = self._form(len(brief.agenda.ids))
        parts: list[Part] = []
        for index, (asked, messages) in enumerate(self._questions(brief, form, facts)):
            part = yield from talk.part(index, asked, messages)
            parts.append(part)
            if part.silent:
                break
        said, status = merge(brief, form, parts, talk.codes)
        return Vote(
            stakeholder=brief.stakeholder.id,
            said=said,
            status=status,
            round=brief.round,
            codes=tuple(sorted(talk.codes)),
            **self._source(brief, form, talk),
        )

    def _talk(self, brief: Brief) -> Talk:
        found = self._memo.found
        return Talk(
            brief,
            url=found.url if found else "",
            timeout=None if self.foreign else self.timeout,
            retries=self.retries,
            backoff=self.backoff,
            reasks=self.reasks,
            num_ctx=self._setting("num_ctx"),
            num_predict=self._setting("num_predict") or 0,
        )

    def _setting(self, field: Literal["num_ctx", "num_predict"]) -> int | None:
        """Return a number of tokens as the model has it; None where an object does not say."""
        value = getattr(self.model if self.foreign else self, field, None)
        return value if isinstance(value, int) and value > 0 else None

    def _form(self, size: int) -> Form:
        if self.form != "auto":
            return self.form
        return "rank" if size <= LARGE else "rate"

    def _questions(
        self, brief: Brief, form: Form, facts: Facts
    ) -> list[tuple[Asked, models.Messages]]:
        """Return what to ask for: one question, or when rating one per chunk.

        Raises:
            SpecError: the prompt does not fit into `num_ctx`.
        """
        ids = brief.agenda.ids
        order = np.random.default_rng(brief.seed).permutation(len(ids))
        shown = tuple(ids[i] for i in order)
        num_ctx = self._setting("num_ctx")
        room = math.inf if num_ctx is None else num_ctx - (self._setting("num_predict") or 0)
        chunk = self.chunk if form == "rate" else len(ids)
        while True:
            asked = chunks(shown, form, brief.size, chunk)
            questions = [(one, facts.ask(one)) for one in asked]
            need = max(estimate(messages) for _, messages in questions)
            if need <= room:
                return questions
            if form != "rate" or chunk == 1:
                raise SpecError(self._too_long(brief, form, need, int(room)))
            chunk = math.ceil(chunk / 2)

    def _too_long(self, brief: Brief, form: Form, need: int, room: int) -> str:
        rate = "" if form == "rate" else "ask with form='rate', which asks in chunks, "
        return (
            f"stakeholder {brief.stakeholder.id!r}, case {brief.case!r}: the prompt takes about "
            f"{need} tokens, num_ctx leaves {room} (num_ctx {self._setting('num_ctx')} less "
            f"num_predict): raise num_ctx, {rate}show fewer attributes, cut the agenda shorter "
            "or shorten the persona"
        )

    def _source(self, brief: Brief, form: Form, talk: Talk) -> dict[str, Any]:
        """Return the fields of a vote that say where it comes from."""
        found = self._memo.found
        options: dict[str, object] = {"form": form, "reveal": self.reveal, **self.options}
        for key in ("temperature", "num_ctx", "num_predict"):
            options[key] = getattr(self.model if self.foreign else self, key, None)
        if form == "rate":
            options["chunk"] = self.chunk
        return dict(
            policy=self.label,
            model=found.name if found else "",
            digest=found.digest if found else "",
            options=tuple((k, str(v)) for k, v in sorted(options.items()) if v is not None),
            seed=brief.seed,
            prompt=fingerprint(),
            tokens_in=talk.tokens_in,
            tokens_out=talk.tokens_out,
            attempts=talk.attempts,
        )


@dataclass
class _Memo:
    """What the last check found, and of what; no part of the policy's identity."""

    found: models.Model | None = None
    key: object = None


@functools.lru_cache(maxsize=32)
def _connected(ref: str, url: str, **options: Any) -> Any:
    """Return the chat model of these settings; agents that share them share its HTTP client."""
    return models.connect(ref, url=url, **options)


def _arguments(question: Question) -> dict[str, Any]:
    return {
        "messages": question.messages,
        "schema": question.schema,
        "seed": question.seed,
        "timeout": question.timeout,
    }


def _caught(call: Callable[[], models.Reply]) -> Outcome:
    """Return a reply, or what went wrong as a value."""
    try:
        return guard(call)
    except (models.TransportError, ModelUnavailable) as error:
        return error


async def _acaught(reply: Awaitable[models.Reply]) -> Outcome:
    """Return the same of a reply to wait for; cancellation passes through."""
    try:
        return await aguard(reply)
    except (models.TransportError, ModelUnavailable) as error:
        return error
