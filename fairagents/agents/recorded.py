"""Ballots of another system, read from a file: rules and evaluators work on existing runs."""

from __future__ import annotations

import csv
import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairagents.agents.base import Brief, Policy
from fairagents.ballot import Abstention, Approvals, Ranking, Ratings, Vote
from fairagents.errors import BallotError, did_you_mean

Key = tuple[str, str, int]
Ballots = Mapping[Key, Ranking | Ratings | Approvals]


class Recorded(Policy):
    """Says what a file says.

    JSONL, one ballot a line: `{"case": "c1", "stakeholder": "traveller", "ranking": ["a", "b"]}`,
    or with `"ratings": {"a": 0.5}` or `"approved": ["a"]`; `"round"` is 1 where absent.
    CSV, one row per alternative: columns `case, stakeholder, id` and `rank` (1 is best, equal
    ranks tie) or `rating` (in [0, 1]), optionally `round`.

    No ballot for a case is an abstention (`no_ballot`). An id that is not on the agenda is left
    out, and the vote says so (`repaired`, `off_agenda`); an id that the catalogue does not hold
    is an error.
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
            stamp = path.stat().st_mtime_ns
        except OSError as error:
            raise BallotError(f"can't read ballots {self.path!r}: {error.strerror}") from None
        return _read(path, stamp)


def _restrict(said: Ranking | Ratings | Approvals, on: set[str]) -> Ranking | Ratings | Approvals:
    if isinstance(said, Ratings):
        pairs = [(i, v) for i, v in zip(said.ids, said.values, strict=True) if i in on]
        return Ratings(ids=tuple(i for i, _ in pairs), values=tuple(v for _, v in pairs))
    if isinstance(said, Approvals):
        return Approvals(ids=tuple(i for i in said.ids if i in on))
    tiers = [[one for one in tier if one in on] for tier in said.tiers]
    return Ranking.of([tier for tier in tiers if tier])


@functools.lru_cache(maxsize=16)
def _read(path: Path, stamp: int) -> Ballots:
    """Read a file of ballots; `stamp` makes a changed file be read again."""
    read = {".csv": _read_csv, ".jsonl": _read_jsonl, ".ndjson": _read_jsonl}.get(path.suffix)
    if read is not None:
        try:
            return read(path)
        except UnicodeDecodeError as error:
            raise BallotError(f"ballots {str(path)!r} are not UTF-8: {error.reason}") from None
    raise BallotError(f"ballots {str(path)!r}: the name must end in .csv or .jsonl")


def _read_jsonl(path: Path) -> Ballots:
    ballots: dict[Key, Ranking | Ratings | Approvals] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise BallotError(f"{where}: not JSON: {error.msg}") from None
        if not isinstance(row, dict):
            raise BallotError(f"{where}: a ballot is an object, not {row!r}")
        _add(ballots, _key(row, where), _said(row, where), where)
    return ballots


def _said(row: dict[str, Any], where: str) -> Ranking | Ratings | Approvals:
    forms = [f for f in ("ranking", "ratings", "approved") if f in row]
    if len(forms) != 1:
        raise BallotError(f"{where}: give one of ranking, ratings, approved")
    data = row[forms[0]]
    if forms[0] != "ratings" and not isinstance(data, list):
        raise BallotError(f"{where}: {forms[0]} is a list, not {data!r}")
    try:
        if forms[0] == "ratings":
            return Ratings(ids=tuple(data), values=tuple(float(v) for v in data.values()))
        if forms[0] == "ranking":
            return Ranking.of(data)
        return Approvals(ids=tuple(data))
    except (TypeError, AttributeError, ValueError) as error:
        raise BallotError(f"{where}: {error}") from None


def _read_csv(path: Path) -> Ballots:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    header = set(rows[0]) if rows else set()
    for need in ("case", "stakeholder", "id"):
        if rows and need not in header:
            raise BallotError(f"{path.name}: no column {need!r}; {did_you_mean(need, header)}")
    column = "rating" if "rating" in header else "rank"
    if rows and column not in header:
        raise BallotError(f"{path.name}: needs a column 'rank' or 'rating'")
    grouped: dict[Key, dict[str, float]] = {}
    for number, row in enumerate(rows, 2):
        where = f"{path.name}, line {number}"
        cells = grouped.setdefault(_key(row, where), {})
        if row["id"] in cells:
            raise BallotError(f"{where}: {row['id']!r} stands twice on one ballot")
        try:
            value = float(row[column])
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise BallotError(f"{where}: {column} {row[column]!r} is not a finite number")
        cells[row["id"]] = value
    ballots: dict[Key, Ranking | Ratings | Approvals] = {}
    for key, cells in grouped.items():
        where = f"{path.name}, case {key[0]!r}, {key[1]!r}"
        if column == "rating":
            said: Ranking | Ratings = _said({"ratings": cells}, where)  # type: ignore[assignment]
        else:
            ranks = sorted(set(cells.values()))
            said = Ranking.of([[i for i, r in cells.items() if r == rank] for rank in ranks])
        _add(ballots, key, said, where)
    return ballots


def _key(row: Mapping[str, Any], where: str) -> Key:
    try:
        return str(row["case"]), str(row["stakeholder"]), int(row.get("round") or 1)
    except KeyError as error:
        raise BallotError(f"{where}: {error} is missing") from None
    except ValueError:
        raise BallotError(f"{where}: round {row['round']!r} is not a whole number") from None


def _add(
    ballots: dict[Key, Ranking | Ratings | Approvals],
    key: Key,
    said: Ranking | Ratings | Approvals,
    where: str,
) -> None:
    if key in ballots:
        raise BallotError(f"{where}: a second ballot of {key[1]!r} for {key[0]!r}")
    ballots[key] = said
