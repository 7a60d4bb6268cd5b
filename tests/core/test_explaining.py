"""Reasons: recounted by hand from the same ballots."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings

from fairagents.ballot import Abstention, Ranking, Ratings
from fairagents.case import Case, Pool
from fairagents.council import Council
from fairagents.decision import Verdict
from fairagents.errors import CatalogueError, InfeasibleError, SpecError
from fairagents.explain import Outside, Reason, reasons, why
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.rules.base import RULES
from fairagents.seeds import derive
from fairagents.setting import Cut
from fairagents.task import Exclude, Include
from tests.core.toys import case, problems, trio


def places(vote: object, ids: tuple[str, ...]) -> dict[str, int]:
    """1 + how many stand above each id on a ballot, counted one by one."""
    if isinstance(vote, Ratings):
        value: dict[str, float] = {one: -1.0 for one in ids} | dict(
            zip(vote.ids, vote.values, strict=True)
        )
    else:
        assert isinstance(vote, Ranking)
        tiers = {one: -float(i) for i, tier in enumerate(vote.tiers) for one in tier}
        value = {one: -float(len(ids)) for one in ids} | tiers
    return {one: 1 + sum(v > value[one] for v in value.values()) for one in ids}


def without(vote: object, one: str) -> Ranking | Ratings:
    """The same ballot with an alternative struck out."""
    if isinstance(vote, Ratings):
        kept = [(i, v) for i, v in zip(vote.ids, vote.values, strict=True) if i != one]
        return Ratings(ids=tuple(i for i, _ in kept), values=tuple(v for _, v in kept))
    assert isinstance(vote, Ranking)
    tiers = [[i for i in tier if i != one] for tier in vote.tiers]
    return Ranking.of([tier for tier in tiers if tier])


@settings(max_examples=25, deadline=None)
@given(problems())
def test_a_reason_is_what_a_recount_by_hand_gives(problem: tuple[Council, Case]) -> None:
    council, one = problem
    council.setup = replace(council.setup, on_abstain="without")
    try:
        verdict = council.run(one)
    except InfeasibleError:
        assume(False)
    ids = verdict.agenda.ids
    said = {v.stakeholder: v.said for v in verdict.votes if not isinstance(v.said, Abstention)}
    pool = one.pool(council.setup.catalogue)
    for position, reason in enumerate(reasons(council.setup, verdict), 1):
        assert reason.position == position
        rival = displaced(council, verdict, pool, reason.id)
        assert reason.rival == rival
        before = [tier for tier in verdict.decision.tiers if reason.id not in tier]
        index = [reason.id in tier for tier in verdict.decision.tiers].index(True)
        assert reason.place == 1 + sum(len(tier) for tier in before[:index])
        if rival is None:
            assert reason.carried == reason.against == ()
            continue
        counted = [(who, places(s, ids)) for who, s in said.items()]
        rows = [(who, p[reason.id], p[rival]) for who, p in counted]
        assert reason.carried == tuple(r for r in rows if r[1] < r[2])
        assert reason.against == tuple(r for r in rows if r[1] > r[2])


def displaced(council: Council, verdict: Verdict, pool: Pool, struck: str) -> str | None:
    """Strike an alternative, count the ballots again, and see who is new."""
    task = verdict.case.task
    if any(isinstance(limit, Include) and struck in limit.ids for limit in task.limits):
        return None
    kept = tuple(i for i in verdict.agenda.ids if i != struck)
    if not kept:
        return None
    said = {
        v.stakeholder: without(v.said, struck)
        for v in verdict.votes
        if not isinstance(v.said, Abstention)
    }
    voices = {a.id: a.stakeholder.voice for a in council.setup.agents}
    profile = Profile.from_said(list(said.values()), kept, [voices[w] for w in said], list(said))
    feasible = Feasible.of(task, pool, ids=kept)
    seed = derive(verdict.seed, verdict.case.id, "ties", 1)
    try:
        decision = council.setup.rule(profile, feasible, seed=seed)
    except InfeasibleError:
        return None
    new = [i for i in decision.outcome.ids if i not in verdict.decision.outcome.ids]
    return new[0] if new else None


def test_a_reason_reads_as_a_sentence() -> None:
    council = trio(cut=Cut())
    verdict = council.decide(case(1))
    (reason,) = reasons(council.setup, verdict)
    assert reason.id == verdict.decision.outcome.ids[0]
    assert reason.rival is not None
    assert reason.sentence().startswith(f"ahead of {reason.rival} on: ")
    behind = why(council.setup, verdict, reason.rival)
    assert isinstance(behind, Reason)
    assert behind.position is None
    assert behind.rival == reason.id
    assert behind.sentence().startswith(f"behind {reason.id} on: ")


def test_what_has_no_rival_says_so() -> None:
    council = trio()
    verdict = council.decide(case(1, candidates=["c"]))
    (reason,) = reasons(council.setup, verdict)
    assert reason.rival is None
    assert "nothing could take its place" in reason.sentence()
    must = council.decide(case(1, limits=[Include(ids=("f",))]))
    assert reasons(council.setup, must)[0].rival is None


def test_what_was_not_on_the_agenda_is_explained_too() -> None:
    council = trio(cut=Cut(whole=2, top=1, sample=0))
    verdict = council.decide(case(1, limits=[Exclude(ids=("c",))]))
    excluded = why(council.setup, verdict, "c")
    assert isinstance(excluded, Outside)
    assert "excluded" in excluded.why
    off = next(i for i in "adef" if i not in verdict.agenda.ids)
    outside = why(council.setup, verdict, off)
    assert isinstance(outside, Outside)
    assert outside.among == 5
    assert [who for who, _, _ in outside.places] == ["ann", "bob", "eve"]
    with pytest.raises(CatalogueError, match="'zz' is not in catalogue"):
        why(council.setup, verdict, "zz")


def test_a_verdict_of_another_seed_is_explained_on_its_own_agenda() -> None:
    cut = Cut(whole=2, top=1, sample=1)
    verdict = trio(cut=cut, seed=3).decide(case(1))
    for seed in range(6):
        found = reasons(trio(cut=cut, seed=seed).setup, verdict)
        assert found == reasons(trio(cut=cut, seed=3).setup, verdict)


def test_a_verdict_of_another_rule_is_refused() -> None:
    council = trio()
    (other,) = council.compare(council.decide(case(1)), ["nash"])
    with pytest.raises(SpecError, match="decided by 'nash', not by 'borda'"):
        reasons(council.setup, other)
    assert reasons(replace(council.setup, rule=RULES.build("nash")), other)
