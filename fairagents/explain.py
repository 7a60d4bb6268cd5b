"""Why an alternative is in the outcome: the ballots that carried it, and what it displaced."""

from __future__ import annotations

import numpy as np

from fairagents.decision import Verdict
from fairagents.engine import Session, replay
from fairagents.errors import InfeasibleError, SpecError
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.record import Record
from fairagents.seeds import derive
from fairagents.setup import Setup
from fairagents.task import Include


class Reason(Record):
    """One alternative's way into the outcome, or past it.

    Attributes:
        id: the alternative.
        position: its place in the outcome, None when it is not in.
        place: its place in the rule's own order, 1 is best; those tied share the better one.
        rival: in the outcome, the alternative that enters when this one is struck from the
            agenda and the same ballots are counted again: what it displaced. Not in the outcome,
            the last one that is.
        carried: (stakeholder, place of this one, place of the rival) for each ballot that puts it
            above the rival.
        against: the same for each ballot that puts it below.
    """

    id: str
    position: int | None
    place: int
    rival: str | None
    carried: tuple[tuple[str, int, int], ...]
    against: tuple[tuple[str, int, int], ...]

    def sentence(self) -> str:
        """Return the reason in words."""
        if self.rival is None:
            return "nothing could take its place within the limits"
        for_, against = (
            ", ".join(f"{who} {own}-{other}" for who, own, other in side)
            for side in (self.carried, self.against)
        )
        if self.position:
            behind = f"; behind on: {against}" if against else ""
            return f"ahead of {self.rival} on: {for_ or 'no ballot'}{behind}"
        ahead = f"; ahead on: {for_}" if for_ else ""
        return f"behind {self.rival} on: {against or 'no ballot'}{ahead}"


class Outside(Record):
    """An alternative that nobody could vote for: why, and how everybody would have liked it.

    Attributes:
        why: why it was not on the agenda.
        among: the number of candidates.
        places: (stakeholder, place by its own worth among all candidates, worth); empty for one
            that the request or the task excludes.
    """

    id: str
    why: str
    among: int
    places: tuple[tuple[str, int, float], ...] = ()


def reasons(setup: Setup, verdict: Verdict) -> tuple[Reason, ...]:
    """Return one reason per alternative of the outcome, in its order."""
    session = _session(setup, verdict)
    profile = session.profile(verdict.last_votes())
    return tuple(
        _reason(session, verdict, profile, one, i)
        for i, one in enumerate(verdict.decision.outcome.ids, 1)
    )


def why(setup: Setup, verdict: Verdict, id: str) -> Reason | Outside:
    """Return the reason for one alternative, whether it is in the outcome or not.

    Raises:
        SpecError: the catalogue does not hold it.
    """
    session = _session(setup, verdict)
    if id not in verdict.agenda.ids:
        return _outside(session, id)
    ids = verdict.decision.outcome.ids
    position = ids.index(id) + 1 if id in ids else None
    return _reason(session, verdict, session.profile(verdict.last_votes()), id, position)


def _session(setup: Setup, verdict: Verdict) -> Session:
    if verdict.decision.rule != setup.rule.label:
        raise SpecError(
            f"the verdict was decided by {verdict.decision.rule!r}, not by {setup.rule.label!r}"
        )
    return replay(setup, verdict)


def _outside(session: Session, id: str) -> Outside:
    session.setup.catalogue.row(id)
    setting = session.setting
    row = setting.pool.index.get(id)
    allowed = setting.feasible.allowed
    among = int(allowed.sum())
    if row is None or not allowed[row]:
        return Outside(id=id, why="excluded by the request or the task", among=among)
    places = tuple(
        (w.stakeholder, 1 + int((w.items[allowed] > w.items[row]).sum()), float(w.items[row]))
        for w in setting.worths
    )
    text = "among nobody's best, and not in the agenda's random sample"
    return Outside(id=id, why=text, among=among, places=places)


def _reason(
    session: Session, verdict: Verdict, profile: Profile, id: str, position: int | None
) -> Reason:
    last = verdict.decision.outcome.ids[-1]
    rival = _displaced(session, verdict, profile, id) if position else last
    places = (
        []
        if rival is None
        else [
            (voter, profile.place(v, id), profile.place(v, rival))
            for v, voter in enumerate(profile.voters)
        ]
    )
    place = 1
    for tier in verdict.decision.tiers:
        if id in tier:
            break
        place += len(tier)
    return Reason(
        id=id,
        position=position,
        place=place,
        rival=rival,
        carried=tuple(p for p in places if p[1] < p[2]),
        against=tuple(p for p in places if p[1] > p[2]),
    )


def _displaced(session: Session, verdict: Verdict, profile: Profile, id: str) -> str | None:
    """Return what enters when an alternative is struck from the same ballots."""
    task = verdict.case.task
    if any(isinstance(limit, Include) and id in limit.ids for limit in task.limits):
        return None
    rest = np.array([i for i, one in enumerate(profile.ids) if one != id], dtype=np.int64)
    if not len(rest):
        return None
    narrowed = profile.take(rest)
    feasible = Feasible.of(task, session.setting.pool, ids=narrowed.ids)
    seed = derive(verdict.seed, verdict.case.id, "ties", verdict.rounds)
    try:
        decision = session.setup.rule(narrowed, feasible, seed=seed)
    except InfeasibleError:
        return None
    before = set(verdict.decision.outcome.ids)
    return next((one for one in decision.outcome.ids if one not in before), None)
