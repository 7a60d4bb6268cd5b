"""What a model's raw answer becomes: a ballot, a repaired ballot, a second question, an abstention.

The text is parsed strictly, once, as JSON; nothing is guessed. What may change without asking is
spelling only (case, white space, accents, a code fence, a think tag). Anything else is asked about
once, with the fault named. On the last answer unknown and repeated ids are removed and bad ratings
count as unrated; the order never changes. An answer of which less than half is left is an
abstention. Whatever was done is named in `Answer.codes`.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from fairagents.errors import SpecError

Form = Literal["rank", "approve", "rate"]
_Read = tuple[tuple[str, ...], tuple[float | None, ...], bool]
Verdict = Literal["ok", "repaired", "again", "abstained"]

KEYS: dict[Form, str] = {"rank": "ranking", "approve": "approved", "rate": "ratings"}
"""The key of the answer that holds the ballot, by form."""

_HARMLESS = ("extra_keys", "normalised")
_WHOLE = ("empty", "no_answer", "not_json", "truncated", "wrong_shape")
_PARTS = ("bad_rating", "duplicate", "partial", "unknown_id")

CODES: tuple[str, ...] = tuple(sorted((*_HARMLESS, *_WHOLE, *_PARTS)))
"""Every reason code an `Answer` can carry."""


@dataclass(frozen=True)
class Asked:
    """What a model was asked for.

    Attributes:
        form: `"rank"`, `"approve"` or `"rate"`.
        ids: all legal ids, in the order in which they were shown.
        size: how many: exactly (rank), at most (approve), all of them (rate).
        low: the lowest rating.
        high: the highest rating.

    Raises:
        SpecError: if ids repeat or are missing, the size does not fit, or `low >= high`.

    >>> Asked("rank", ("paris", "rome"), 2).size
    2
    """

    form: Form
    ids: tuple[str, ...]
    size: int
    low: float = 0
    high: float = 10

    def __post_init__(self) -> None:
        """Check the fields against each other."""
        if self.form not in KEYS:
            raise SpecError(f"form {self.form!r} is not one of {', '.join(map(repr, KEYS))}")
        if not self.ids or len(set(self.ids)) != len(self.ids):
            raise SpecError(f"ids {self.ids!r} must be at least one id, each named once")
        if self.form == "rate" and self.size != len(self.ids):
            raise SpecError(f"size {self.size!r} of a rating must be {len(self.ids)}: all ids")
        if not 1 <= self.size <= len(self.ids):
            raise SpecError(f"size {self.size!r} must be from 1 to {len(self.ids)}")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SpecError(f"low {self.low!r} must be below high {self.high!r}, both finite")


@dataclass(frozen=True)
class Answer:
    """What an answer became.

    Attributes:
        verdict: `"ok"`, `"repaired"`, `"again"` (ask once more, showing `problem`), `"abstained"`.
        ids: rank: best first; approve: as said; rate: all ids asked for. Empty without a ballot.
        values: rate: one rating per id in `ids`, None where unrated; otherwise empty.
        reason: the reason the model gave, if any.
        codes: what was wrong or done, sorted; see `CODES`.
        problem: one sentence naming what was wrong and what would be right; empty when ok.
    """

    verdict: Verdict
    ids: tuple[str, ...] = ()
    values: tuple[float | None, ...] = ()
    reason: str = ""
    codes: tuple[str, ...] = ()
    problem: str = ""


def schema(asked: Asked) -> dict[str, Any]:
    """Return the JSON schema of the answer: flat, ids as an enum, plus an optional reason.

    Models do not keep to all of it (repeated ids and numbers outside the range are common), so
    `read` checks everything again.

    >>> schema(Asked("approve", ("a", "b"), 1))["required"]
    ['approved']
    """
    ballot: dict[str, Any]
    if asked.form == "rate":
        number = {"type": "number", "minimum": asked.low, "maximum": asked.high}
        ballot = {
            "type": "object",
            "properties": {name: dict(number) for name in asked.ids},
            "required": list(asked.ids),
            "additionalProperties": False,
        }
    else:
        ballot = {
            "type": "array",
            "items": {"type": "string", "enum": list(asked.ids)},
            "minItems": asked.size if asked.form == "rank" else 1,
            "maxItems": asked.size,
            "uniqueItems": True,
        }
    key = KEYS[asked.form]
    return {
        "type": "object",
        "properties": {key: ballot, "reason": {"type": "string", "maxLength": 300}},
        "required": [key],
        "additionalProperties": False,
    }


def read(text: str | None, done_reason: str | None, asked: Asked, *, last: bool) -> Answer:
    """Decide what a raw answer becomes.

    An answer that stopped for any reason but `"stop"` is never parsed. Two code blocks, or JSON
    inside prose, are not JSON. An answer is repaired only on the last try and only if at least
    half of it is left: half of `size` for a ranking, half of the ids for a rating, and half of the
    entries given, repeats counted once, for an approval. A ranking longer than asked keeps its
    first `size` entries; an approval longer than asked is an abstention, for nothing in it says
    which entries to leave out. An id rated twice is unrated unless both ratings agree.

    Args:
        text: the content of the answer; None when there is none, say a tool call.
        done_reason: why the model stopped; only `"stop"` is a finished answer.
        asked: what was asked for.
        last: whether there is no further try: then the verdict is never `"again"`.

    Returns:
        The answer; this function raises nothing on any text.

    >>> asked = Asked("rank", ("poi_1", "poi_2", "poi_3"), 2)
    >>> answer = read('{"ranking": ["POI 2", "poi_1"]}', "stop", asked, last=False)
    >>> answer.verdict, answer.ids, answer.codes
    ('ok', ('poi_2', 'poi_1'), ('normalised',))
    >>> answer = read('{"ranking": ["poi_2", "rome"]}', "stop", asked, last=False)
    >>> answer.verdict, answer.codes
    ('again', ('partial', 'unknown_id'))
    >>> answer.problem.partition(";")[0]
    "'rome' is not one of the ids shown"
    """
    try:
        root, codes = _parse(text, done_reason, asked.form)
        ballot, reason = _ballot(root, asked, codes)
    except _Unusable as fault:
        return Answer(
            "abstained" if last else "again",
            codes=(fault.code,),
            problem=f"{fault}: {_right(asked)}",
        )
    work = _Work(asked, codes)
    ids, values, enough = work.rate(ballot) if asked.form == "rate" else work.choose(ballot)
    final = tuple(sorted(codes))
    if codes <= set(_HARMLESS):
        return Answer("ok", ids, values, reason, final)
    problem = f"{'; '.join(work.faults)}: {_right(asked)}"
    if not last:
        return Answer("again", reason=reason, codes=final, problem=problem)
    if not enough:
        return Answer("abstained", reason=reason, codes=final, problem=problem)
    return Answer("repaired", ids, values, reason, final, problem)


class _Unusable(Exception):
    """Nothing of the answer can be used."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its keys as they stand, repeated ones included."""


def _right(asked: Asked) -> str:
    """Say what would be right, as the end of a sentence."""
    if asked.form == "rate":
        scale = f"from {asked.low:g} to {asked.high:g}"
        return f"rate each of the {asked.size} ids shown once, with a number {scale}."
    count = f"exactly {asked.size}" if asked.form == "rank" else f"1 to {asked.size}"
    return f"{asked.form} {count} different ids out of those shown."


_THINK = re.compile(r"\A\s*<think(ing)?>.*?</think(ing)?>", re.DOTALL | re.IGNORECASE)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _parse(text: str | None, done_reason: str | None, form: Form) -> tuple[Any, set[str]]:
    """Return the JSON value of an answer and the codes so far."""
    if text is None:
        raise _Unusable("no_answer", "there was no answer in the content")
    if done_reason != "stop":
        raise _Unusable("truncated", f"the answer was cut off ({done_reason!r}), keep it short")
    codes: set[str] = set()
    bare = _THINK.sub("", text)
    if bare == text and not text.lstrip().startswith(("{", "[", "`")):
        # Some chat templates put the opening tag into the prompt.
        bare = text.rpartition("</think>")[2]
    bare, whole = bare.strip("\ufeff \t\r\n"), text.strip("\ufeff \t\r\n")
    if bare.count("```") == 2 and bare.startswith("```") and bare.endswith("```"):
        bare = re.sub(r"\A[\w-]*", "", bare[3:-3])
    if bare != whole:
        codes.add("normalised")
    if not bare.strip():
        raise _Unusable("empty", "the answer was empty")
    # Where numbers are asked for, NaN is one bad rating, not a broken answer.
    constant = float if form == "rate" else _refuse
    try:
        value = json.loads(bare, object_pairs_hook=_Pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        where = f" (character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        raise _Unusable(
            "not_json", f"the answer was not one JSON object and nothing else{where}"
        ) from None
    return value, codes


def _ballot(root: Any, asked: Asked, codes: set[str]) -> tuple[Any, str]:
    """Return the ballot inside an answer and the reason given with it."""
    key = KEYS[asked.form]
    kind: type = _Pairs if asked.form == "rate" else list
    what = f'{{"{key}": {"{id: number, ...}" if kind is _Pairs else "[ids]"}}}'
    if not isinstance(root, _Pairs):
        raise _Unusable("wrong_shape", f"the answer must be an object of the form {what}")
    found = dict(root)
    if repeated := _repeats(name for name, _ in root):
        raise _Unusable("wrong_shape", f"the key {_show(repeated)} stood there more than once")
    if key not in found:
        raise _Unusable("wrong_shape", f"the key '{key}' is missing, answer in the form {what}")
    ballot = found[key]
    # _Pairs is a list too, so a ranking given as an object must be told apart.
    if not isinstance(ballot, kind) or (kind is list and isinstance(ballot, _Pairs)):
        raise _Unusable("wrong_shape", f"'{key}' has the wrong type, answer in the form {what}")
    reason = found.get("reason", "")
    if set(found) - {key, "reason"} or not isinstance(reason, str):
        codes.add("extra_keys")
    return ballot, _clean(reason) if isinstance(reason, str) else ""


class _Work:
    """Matches what was said to the legal ids; collects codes, and faults in words."""

    def __init__(self, asked: Asked, codes: set[str]) -> None:
        self.asked = asked
        self.codes = codes
        self.faults: list[str] = []
        self._legal = frozenset(asked.ids)
        self._near: dict[str, list[str]] = {}
        for name in asked.ids:
            if key := normal(name):
                self._near.setdefault(key, []).append(name)

    def match(self, said: Any) -> str | None:
        """Return the legal id that was meant, or None."""
        if not isinstance(said, str):
            return None
        if said in self._legal:
            return said
        near = self._near.get(normal(said), [])
        if len(near) != 1:
            return None
        self.codes.add("normalised")
        return near[0]

    def fault(self, code: str, words: str) -> None:
        """Note one thing that is wrong."""
        self.codes.add(code)
        self.faults.append(words)

    def entries(self, unknown: list[str], repeated: list[str]) -> None:
        """Note the entries that are no legal ids, and those that stand there more than once."""
        if unknown:
            verb = "is not one" if len(unknown) == 1 else "are not any"
            self.fault("unknown_id", f"{_show(unknown)} {verb} of the ids shown")
        if repeated:
            self.fault("duplicate", f"{_show(repeated)} stood there more than once")

    def choose(self, ballot: list[Any]) -> _Read:
        """Read a ranking or an approval: the ids in order, no values, whether enough is left."""
        asked = self.asked
        matched = [(said, self.match(said)) for said in ballot]
        named = [name for _, name in matched if name is not None]
        ids = list(dict.fromkeys(named))
        unknown = list(dict.fromkeys(_said(entry) for entry, name in matched if name is None))
        self.entries(unknown, _repeats(named))
        rank = asked.form == "rank"
        if rank and len(ids) < asked.size:
            self.fault("partial", f"only {len(ids)} of {asked.size} ids ranked")
        elif not ids:
            self.fault("partial", "no id approved")
        if len(ids) > asked.size:
            self.fault("wrong_shape", f"{len(ids)} ids are more than the {asked.size} asked for")
        if rank:
            return tuple(ids[: asked.size]), (), 2 * len(ids) >= asked.size
        return tuple(ids), (), 1 <= len(ids) <= asked.size and len(ids) >= len(unknown)

    def rate(self, ballot: _Pairs) -> _Read:
        """Read ratings: all ids asked for, their ratings, and whether enough is left."""
        asked = self.asked
        given: dict[str, list[float | None]] = {}
        unknown: list[str] = []
        bad: list[str] = []
        for said, value in ballot:
            name = self.match(said)
            if name is None:
                unknown.append(said)
                continue
            rating = _rating(value, asked)
            if rating is None:
                bad.append(name)
            given.setdefault(name, []).append(rating)
        twice = [name for name, said in given.items() if len(said) > 1]
        self.entries(list(dict.fromkeys(unknown)), twice)
        missing = [name for name in asked.ids if name not in given]
        if missing:
            self.fault(
                "partial", f"{_show(missing)} {'is' if len(missing) == 1 else 'are'} unrated"
            )
        if bad:
            scale = f"a number from {asked.low:g} to {asked.high:g}"
            self.fault("bad_rating", f"the rating of {_show(dict.fromkeys(bad))} is not {scale}")
        values = tuple(
            given[name][0] if name in given and len(set(given[name])) == 1 else None
            for name in asked.ids
        )
        rated = sum(value is not None for value in values)
        return asked.ids, values, 2 * rated >= len(asked.ids)


def _rating(value: Any, asked: Asked) -> float | None:
    """Return a rating, or None for anything but a number in the range; True is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # NaN fails both comparisons; a huge integer is never turned into a float.
    return float(value) + 0.0 if asked.low <= value <= asked.high else None


def normal(name: str) -> str:
    """Return the form in which spellings of one id agree.

    Case, accents and width are dropped; runs of spaces, underscores and hyphens count as one.

    >>> normal("  São-Paulo__Centro ")
    'sao paulo centro'
    """
    split = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    plain = "".join(letter for letter in split if not unicodedata.combining(letter))
    return re.sub(r"[\s_\-\u2010-\u2015]+", " ", plain).strip()


def _repeats(names: Iterable[str]) -> list[str]:
    """Return the names that stand there more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _said(entry: Any) -> str:
    """Name an entry of a list; what is no string is named by what it is."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, list):
        return "an object" if isinstance(entry, _Pairs) else "a list"
    return f"{json.dumps(entry)} (no string)"


def _clean(text: str) -> str:
    """Return text that can be encoded: JSON may hold half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _show(names: Iterable[str]) -> str:
    """Name entries in a sentence: at most five, each at most 40 characters."""
    clean = [_clean(name) for name in names]
    shown = [repr(name if len(name) <= 40 else f"{name[:37]}...") for name in clean[:5]]
    return ", ".join(shown) + (f" and {len(clean) - 5} more" if len(clean) > 5 else "")
