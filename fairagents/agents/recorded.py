"""Ballots of another system, read from a file: rules and evaluators work on existing runs."""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairagents.agents.base import Brief, Policy
from fairagents.ballot import Abstention, Approvals, Ranking, Ratings, Vote
from fairagents.errors import BallotError, CatalogueError, did_you_mean
from fairagents.spec import require_unique
from fairagents.tables import parse_table, shown

Key = tuple[str, str, int]
Ballot = Ranking | Ratings | Approvals
Ballots = Mapping[Key, Ballot]

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

FORMS = ("ranking", "ratings", "approved")
KEYS = ("case", "stakeholder", "round")


class Recorded(Policy):
    """Says what a file says.

    JSONL, one ballot a line: `{"case": "c1", "stakeholder": "traveller", "ranking": ["a", "b"]}`,
    or with `"ratings": {"a": 0.5}` or `"approved": ["a"]`; `"round"` is 1 where absent. A list in
    a ranking is a tie.
    CSV, one row per alternative: columns `case, stakeholder, id` and `rank` (1 is best, equal
    ranks tie) or `rating` (in [0, 1]), optionally `round` (1 where empty). Spaces around a cell
    don't count.

    No ballot for a case is an abstention (`no_ballot`); one that is there holds something, except
    that `"approved": []` approves of nothing. An id that is not on the agenda is left out, and
    the vote says so (`repaired`, `off_agenda`); an id that the catalogue does not hold is an
    error. A file that is not as above is an error before the first case.

    A policy can't notice ballots that nobody asks for: of a stakeholder, case or round that does
    not come up. A mistyped name there shows as a `no_ballot` of whoever was meant.
    """

    path: str

    def propose(self, brief: Brief) -> Vote:
        """Return the recorded ballot."""
        said = self._ballots().get((brief.case, brief.stakeholder.id, brief.round))
        if said is None:
            text = f"{self.path} holds no ballot of {brief.stakeholder.id!r} for {brief.case!r}"
            return brief.vote(Abstention(code="no_ballot", detail=text), self, ("no_ballot",))
        known = brief.pool.catalogue.index
        for one in said.ids:
            if one not in known:
                raise BallotError(
                    f"{self.path}, case {brief.case!r}, {brief.stakeholder.id!r}: "
                    f"{one!r} is not in the catalogue; {did_you_mean(one, known)}"
                )
        on = set(brief.agenda.ids)
        if all(one in on for one in said.ids):
            return brief.vote(said, self)
        kept = _restrict(said, on)
        if not kept.ids:
            text = "nothing on the recorded ballot is on the agenda"
            return brief.vote(Abstention(code="off_agenda", detail=text), self, ("off_agenda",))
        vote = brief.vote(kept, self, ("off_agenda",))
        return vote.model_copy(update={"status": "repaired"})

    def prepare(self) -> None:
        """Read the whole file, so that a fault in it shows before the first case."""
        self._ballots()

    def _ballots(self) -> Ballots:
        path = Path(self.path)
        try:
            stat = path.stat()
        except OSError as error:
            raise BallotError(f"can't read ballots {self.path!r}: {error.strerror}") from None
        return _read(path, (stat.st_mtime_ns, stat.st_size))


def _restrict(said: Ballot, on: set[str]) -> Ballot:
    if isinstance(said, Ratings):
        pairs = [(i, v) for i, v in zip(said.ids, said.values, strict=True) if i in on]
        return Ratings(ids=tuple(i for i, _ in pairs), values=tuple(v for _, v in pairs))
    if isinstance(said, Approvals):
        return Approvals(ids=tuple(i for i in said.ids if i in on))
    tiers = [[one for one in tier if one in on] for tier in said.tiers]
    return Ranking.of([tier for tier in tiers if tier])


@functools.lru_cache(maxsize=16)
def _read(path: Path, stamp: tuple[int, int]) -> Ballots:
    """Read a file of ballots; `stamp` makes a changed file be read again."""
    if path.suffix not in (".csv", ".jsonl", ".ndjson"):
        raise BallotError(f"ballots {str(path)!r}: the name must end in .csv or .jsonl")
    read = _read_csv if path.suffix == ".csv" else _read_jsonl
    try:
        return read(path.read_bytes().decode("utf-8-sig"), path.name)
    except OSError as error:
        raise BallotError(f"can't read ballots {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise BallotError(f"ballots {str(path)!r} are not UTF-8: {error.reason}") from None


def _read_jsonl(text: str, name: str) -> Ballots:
    ballots: dict[Key, Ballot] = {}
    # Not `splitlines`: JSON texts may hold separators that it takes for the end of a line.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip(" \t\r"):
            continue
        where = f"{name}, line {number}"
        try:
            row = _parse(line)
            said = _said(row)
        except (ValueError, OverflowError, RecursionError) as error:
            raise BallotError(f"{where}: {error}") from None
        key = _key(row, where)
        if key in ballots:
            raise BallotError(f"{where}: a second ballot of {key[1]!r} for {key[0]!r}")
        ballots[key] = said
    return ballots


def _parse(line: str) -> dict[str, Any]:
    """Return a line's object; unlike `json.loads`, refuse repeated keys."""
    try:
        row = json.loads(line, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise BallotError(f"not JSON: {error.msg} (column {error.colno})") from None
    if not isinstance(row, dict):
        raise BallotError(f"a ballot is an object, not {shown(row)}")
    known = (*KEYS, *FORMS)
    for name in [name for name in row if name not in known]:
        raise BallotError(f"a ballot has no {shown(name)}; {did_you_mean(name, known)}")
    return row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require_unique([key for key, _ in pairs], "key")
    return dict(pairs)


def _key(row: Mapping[str, Any], where: str) -> Key:
    for name in ("case", "stakeholder"):
        if name not in row:
            raise BallotError(f"{where}: {name!r} is missing")
        if not isinstance(row[name], str) or not row[name]:
            raise BallotError(f"{where}: {name} is a text and not empty, not {shown(row[name])}")
    turn = row.get("round", 1)
    if type(turn) is not int or turn < 1:
        raise BallotError(f"{where}: round {shown(turn)} is not a whole number from 1 on")
    return row["case"], row["stakeholder"], turn


def _said(row: Mapping[str, Any]) -> Ballot:
    forms = [form for form in FORMS if form in row]
    if len(forms) != 1:
        raise BallotError(f"give one of {', '.join(FORMS)}")
    form, data = forms[0], row[forms[0]]
    if not (isinstance(data, dict) if form == "ratings" else isinstance(data, list)):
        wanted = "an object of id: number" if form == "ratings" else "a list"
        raise BallotError(f"{form} is {wanted}, not {shown(data)}")
    if not data and form != "approved":
        raise BallotError(f"{form} is empty; leave the line out to abstain")
    if form == "ratings":
        return Ratings(ids=tuple(data), values=tuple(map(_rating, data, data.values())))
    if form == "ranking":
        return Ranking.of([_ids(one if isinstance(one, list) else [one]) for one in data])
    return Approvals(ids=_ids(data) if data else ())


def _rating(id: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        what = f"{shown(value)}, the rating of {shown(id)}"
        raise BallotError(f"could not convert {what}: write a number in [0, 1], without quotes")
    return float(value)


def _ids(data: list[Any]) -> tuple[str, ...]:
    if not data:
        raise BallotError("an empty list among the ranked ids is no tie; leave it out")
    for one in data:
        if not isinstance(one, str):
            raise BallotError(f"an id is a text, not {shown(one)}")
    return tuple(data)


def _read_csv(text: str, name: str) -> Ballots:
    try:
        header, rows, lines = parse_table(text, name)
    except CatalogueError as error:
        raise BallotError(str(error)) from None
    column = _column(header, name)
    grouped: dict[Key, dict[str, float]] = {}
    for cells, number in zip(rows, lines, strict=True):
        where = f"{name}, line {number}"
        row: dict[str, Any] = dict(zip(header, (cell.strip(" ") for cell in cells), strict=True))
        if turn := row.pop("round", ""):
            # Digits only: `int` would also take "1_0" and digits of other scripts.
            row["round"] = int(turn) if re.fullmatch("[0-9]{1,9}", turn) else turn
        ballot, one = grouped.setdefault(_key(row, where), {}), row["id"]
        if one in ballot:
            raise BallotError(f"{where}: {one!r} stands twice on one ballot")
        ballot[one] = value = _number(row[column], column, where)
        if column == "rating" and not 0 <= value <= 1:
            place = f"{where}, case {row['case']!r}, {row['stakeholder']!r}"
            raise BallotError(f"{place}: ratings lie in [0, 1], not {value!r}")
    if column == "rating":
        return {k: Ratings(ids=tuple(b), values=tuple(b.values())) for k, b in grouped.items()}
    return {key: Ranking.of(_tiers(ballot)) for key, ballot in grouped.items()}


def _column(header: Sequence[str], name: str) -> str:
    """Return which of the two columns of numbers there is; refuse any other header."""
    for need in ("case", "stakeholder", "id"):
        if need not in header:
            raise BallotError(f"{name}: no column {need!r}; {did_you_mean(need, header)}")
    columns = [one for one in ("rank", "rating") if one in header]
    if len(columns) != 1:
        but = "has both; keep one" if columns else f"has {', '.join(map(repr, header))}"
        raise BallotError(f"{name}: needs a column 'rank' or 'rating' and {but}")
    known = (*KEYS, "id", columns[0])
    for one in header:
        if one not in known:
            raise BallotError(f"{name}: {shown(one)} is no column; {did_you_mean(one, known)}")
    return columns[0]


def _number(cell: str, column: str, where: str) -> float:
    value = float(cell) if _NUMBER.fullmatch(cell) else math.nan
    if not math.isfinite(value):
        raise BallotError(f"{where}: {column} {shown(cell)} is not a finite number")
    return value


def _tiers(ballot: Mapping[str, float]) -> list[list[str]]:
    groups = itertools.groupby(sorted(ballot, key=ballot.__getitem__), key=ballot.__getitem__)
    return [list(group) for _, group in groups]
