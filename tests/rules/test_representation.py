"""What committee rules guarantee, the literature's examples, limits, traces, degenerate ballots."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import linprog

from fairagents.errors import InfeasibleError, SpecError
from fairagents.feasible import Feasible
from fairagents.outcome import Outcome
from fairagents.profile import Profile
from fairagents.rules import _exact
from fairagents.rules._walk import Field
from fairagents.rules.axioms import AXIOMS
from fairagents.rules.base import MOST_WINNERS, RULES, CommitteeRule, Rule, Ties
from fairagents.rules.electorate import Electorate
from fairagents.rules.leximax import LeximaxPhragmen, levels
from fairagents.rules.monroe import Monroe, dealt
from fairagents.rules.sequential import SequentialPav
from fairagents.rules.shares import EqualShares
from fairagents.rules.thiele import ChamberlinCourant, Pav
from fairagents.rules.trace import recount
from fairagents.task import Clash, Exclude, Include, Limit, Slate
from tests.core.toys import golden
from tests.rules.small import FIXED, ids_of
from tests.rules.test_committees import approvals, cc_score, found, pav_score, voters_of

NAMES = [
    "seq_pav", "seq_cc", "rev_seq_pav", "seq_phragmen", "mes", "pav", "chamberlin_courant",
    "monroe", "leximax_phragmen",
]  # fmt: skip
EVERY = pytest.mark.parametrize("name", NAMES)
FAIR = [(n, a) for n in NAMES for a in ("jr", "pjr", "ejr") if a in RULES.get(n).holds]

# -- justified representation ----------------------------------------------------------------------


@st.composite
def electorates(draw: st.DrawFn) -> Electorate:
    m, n = draw(st.integers(2, 7)), draw(st.integers(1, 6))
    row = st.lists(st.sampled_from([0.0, 1.0]), min_size=m, max_size=m)
    said = np.array(draw(st.lists(row, min_size=n, max_size=n)))
    weights = draw(st.lists(st.integers(1, 6), min_size=n, max_size=n))
    return Electorate(said, tuple(weights), draw(st.integers(1, m)))


@pytest.mark.parametrize(("name", "axiom"), FAIR)
@FIXED
@given(electorate=electorates())
def test_groups_get_what_they_deserve(name: str, axiom: str, electorate: Electorate) -> None:
    assert AXIOMS[axiom].check(RULES.build(name), electorate) == ""


# -- in the literature -----------------------------------------------------------------------------

PARTIES = Profile.from_approvals(
    [["a1", "a2", "a3"], ["b1", "b2", "b3"], ["c1"]], weights=[6, 3, 1]
)


@pytest.mark.parametrize("name", ["seq_pav", "rev_seq_pav", "seq_phragmen", "mes", "pav"])
def test_parties_of_six_three_and_one_get_two_one_and_none(name: str) -> None:
    decision = RULES.build(name)(PARTIES, Slate(size=3))
    assert len(decision.winners) == 9
    for slate in decision.winners:
        assert sorted(one[0] for one in slate) == ["a", "a", "b"]


@pytest.mark.parametrize("one", golden("approval.json"), ids=lambda one: one["id"])
def test_equal_shares_without_completion(one: dict[str, Any]) -> None:
    ids = [str(i) for i in range(one["m"])]
    ballots = [[str(i) for i in ballot] for ballot in one["approvals"]]
    profile = Profile.from_approvals(ballots, ids, one["weights"])
    decision = EqualShares(completion="none")(profile, Slate(size=one["k"]))
    wanted = one["expected"]["mes_phase1"]["value"]
    assert sorted(sorted(map(int, slate)) for slate in decision.winners) == sorted(wanted)


# -- degenerate ballots ----------------------------------------------------------------------------


@EVERY
def test_nobody_all_and_one_voter(name: str) -> None:
    rule = RULES.build(name)
    cases: list[list[list[str]]] = [[[], []], [list("abcd")] * 2]
    for ballots in cases:
        decision = rule(Profile.from_approvals(ballots, list("abcd")), Slate(size=2))
        assert len(decision.winners) == 6
        assert not decision.more
    one = rule(Profile.from_approvals([["b", "d"]], list("abcd")), Slate(size=2))
    assert one.winners == (("b", "d"),) or name in ("seq_cc", "chamberlin_courant")
    assert set(rule(Profile.from_approvals([["a"], []], ["a"])).outcome.ids) == {"a"}
    whole = rule(PARTIES)
    assert len(whole.winners) == 1
    assert set(whole.outcome.ids) == set(PARTIES.ids)


@EVERY
def test_very_many_ties_are_listed_up_to_a_limit(name: str) -> None:
    ids = [f"a{i:03}" for i in range(120)]
    cases: list[list[list[str]]] = [[[]], [ids]]
    for ballots in cases:
        decision = RULES.build(name)(Profile.from_approvals(ballots, ids), Slate(size=10))
        assert decision.more
        assert 0 < len(decision.winners) <= MOST_WINNERS
        assert len(decision.outcome.ids) == 10


@EVERY
@FIXED
@given(case=approvals(5), factor=st.sampled_from([Fraction(1, 3), 7]))
def test_weights_are_clones_and_only_their_proportions_matter(
    name: str, case: tuple[Profile, int], factor: Fraction
) -> None:
    profile, k = case
    rule, task = RULES.build(name), Slate(size=k)
    said = [[profile.ids[i] for i in np.flatnonzero(row)] for row in profile.approvals]
    scaled = Profile.from_approvals(said, profile.ids, [w * factor for w in profile.weights])
    cloned = [row for row, w in zip(said, profile.weights, strict=True) for _ in range(int(w * 10))]
    winners = found(rule, profile, task)
    assert found(rule, scaled, task) == winners
    if len(cloned) < 60:
        assert found(rule, Profile.from_approvals(cloned, profile.ids), task) == winners


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("monroe", "leximax_phragmen")])
def test_long_weights_stay_exact(name: str) -> None:
    """A voice of one in 10^25 decides between two that tie without it."""
    tiny = Fraction(1, 10**12)
    ballots = [["a", "b"], ["c", "d"], ["d"]]
    profile = Profile.from_approvals(ballots, list("abcd"), [10**12, 10**12, tiny])
    assert RULES.build(name)(profile, Slate(size=1)).winners == (("d",),)


# -- limits ----------------------------------------------------------------------------------------

LIMITS: list[tuple[Limit, ...]] = [
    (Exclude(ids=("a0",)),),
    (Include(ids=("a1",)),),
    (Clash(ids=("a0", "a1")),),
    (Clash(ids=("a0", "a1")), Clash(ids=("a1", "a2")), Include(ids=("a3",))),
]


@EVERY
@pytest.mark.parametrize("limits", LIMITS, ids=len)
@FIXED
@given(case=approvals(6))
def test_limits_bind(name: str, limits: tuple[Limit, ...], case: tuple[Profile, int]) -> None:
    profile, k = case
    if len(profile.ids) < 4:
        return
    feasible = Feasible.of(Slate(size=k, limits=limits), ids=profile.ids)
    try:
        feasible.require()
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            RULES.build(name)(profile, feasible)
        return
    decision = RULES.build(name)(profile, feasible)
    for slate in (*decision.winners, decision.outcome.ids):
        assert not feasible.violations(Outcome.slate(slate))
    score = {"pav": pav_score, "chamberlin_courant": cc_score}.get(name)
    if score is not None:
        fine = [
            frozenset(slate)
            for slate in itertools.combinations(range(len(profile.ids)), k)
            if not feasible.violations(Outcome.slate(profile.ids[i] for i in slate))
        ]
        scores = {one: score(profile, one) for one in fine}
        wanted = {one for one, value in scores.items() if value == max(scores.values())}
        assert {frozenset(map(profile.ids.index, one)) for one in decision.winners} == wanted


# -- larger ones, and what is not proved -----------------------------------------------------------


@pytest.mark.parametrize("rule", [Pav(), ChamberlinCourant()], ids=lambda rule: rule.name)
def test_branch_and_bound_and_integer_programmes_agree(rule: CommitteeRule) -> None:
    rng = np.random.default_rng(5)
    ids = ids_of(30)
    for _ in range(4):
        ballots = [[ids[i] for i in np.flatnonzero(rng.random(30) < 0.2)] for _ in range(12)]
        profile = Profile.from_approvals(ballots, ids, rng.integers(1, 20, 12).tolist())
        first = rule(profile, Slate(size=5))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_exact, "MOST_WORK", 0)
            patch.setattr(_exact, "LITTLE_WORK", 0)
            patch.setattr(_exact.Search, "bound", 2.0)
            second = rule(profile, Slate(size=5))
        score = "objective"
        assert first.table(score).rows[0][0] == pytest.approx(second.table(score).rows[0][0])
        if not (first.more or second.more):
            assert set(first.winners) == set(second.winners)


@pytest.mark.parametrize(
    "rule", [Pav(time_limit=1e-6), Monroe(time_limit=1e-6)], ids=lambda r: r.name
)
def test_what_a_time_limit_cuts_is_said(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_exact, "MOST_WORK", 0)
    monkeypatch.setattr(_exact.Search, "bound", 2.0)
    rng = np.random.default_rng(1)
    ids = ids_of(60)
    ballots = [[ids[i] for i in np.flatnonzero(rng.random(60) < 0.05)] for _ in range(30)]
    decision = rule(Profile.from_approvals(ballots, ids), Slate(size=8))
    assert not decision.optimal
    assert decision.gap is not None
    assert 0 < decision.gap < 10
    assert "not proved to be the best" in decision.explain()


@pytest.mark.parametrize("name", ["monroe", "leximax_phragmen"])
def test_integer_programmes_find_what_looking_at_all_finds(name: str) -> None:
    rng = np.random.default_rng(9)
    ids, rule = ids_of(7), RULES.build(name)
    for _ in range(12):
        said = rng.random((5, 7)) < rng.choice([0.25, 0.5])
        ballots = [[ids[i] for i in np.flatnonzero(row)] for row in said]
        profile = Profile.from_approvals(ballots, ids, rng.integers(1, 4, 5).tolist())
        task = Slate(size=int(rng.integers(2, 5)))
        everything = rule(profile, task)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_exact, "FEW", 0)
            solved = rule(profile, task)
        assert solved.optimal
        assert set(solved.winners) <= set(everything.winners)
        assert solved.more or solved.winners == everything.winners


def test_leximax_loads_are_the_least_that_can_be() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, k = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        said = rng.random((n, k)) < 0.6
        said[0] |= ~said.any(axis=0)
        weights = rng.integers(1, 4, n).tolist()
        ids = ids_of(k)
        ballots = [[ids[i] for i in np.flatnonzero(row)] for row in said]
        profile = Profile.from_approvals(ballots, ids, weights)
        field = Field(profile, Feasible.of(Slate(size=k), ids=ids), Ties(profile, "seeded", 0))
        loads = np.zeros(0)
        for level in levels(field, range(k)):
            loads = np.concatenate([loads, np.full(level.voice, float(level.load))])
        voice = sum(w for _, w in voters_of(profile))
        loads = np.concatenate([loads, np.zeros(int(voice) - len(loads))])
        for part in range(1, len(loads) + 1):
            assert loads[:part].sum() == pytest.approx(least_sum(profile, k, part))


def least_sum(profile: Profile, k: int, part: int) -> float:
    """The least sum of the greatest loads over a part of the voice, by linear programming."""
    voters = voters_of(profile)
    pairs = [(v, i) for i in range(k) for v, (row, _) in enumerate(voters) if i in row]
    n, weights = len(voters), [float(w) for _, w in voters]
    cost = np.concatenate([[part], weights, np.zeros(len(pairs))])
    above, equal = np.zeros((n, len(cost))), np.zeros((k, len(cost)))
    for v in range(n):
        above[v, [0, 1 + v]] = -1
    for at, (v, i) in enumerate(pairs):
        above[v, 1 + n + at] = 1 / weights[v]
        equal[i, 1 + n + at] = 1
    return float(linprog(cost, above, np.zeros(n), equal, np.ones(k)).fun or 0.0)


def test_leximax_refuses_more_seats_than_it_can_weigh() -> None:
    ids = ids_of(30)
    with pytest.raises(SpecError, match="at most 15 seats, not 16: use seq_phragmen"):
        LeximaxPhragmen()(Profile.from_approvals([[one] for one in ids], ids), Slate(size=16))
    alike = LeximaxPhragmen()(Profile.from_approvals([ids], ids), Slate(size=16))
    assert alike.optimal
    assert alike.more


def test_monroe_deals_out_by_cuts_as_by_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    ids = ids_of(5)
    for _ in range(30):
        ballots = [[ids[i] for i in np.flatnonzero(rng.random(5) < 0.4)] for _ in range(5)]
        profile = Profile.from_approvals([*ballots, ["a0"]], ids, [1, 2, 0.5, 3, 1, 1])
        field = Field(profile, Feasible.of(Slate(size=4), ids=ids), Ties(profile, "seeded", 0))
        cut = dealt(field, range(4))
        monkeypatch.setattr("fairagents.rules.monroe.FEW_SEATS", 0)
        assert dealt(field, range(4)) == cut
        monkeypatch.undo()


# -- traces ----------------------------------------------------------------------------------------


@EVERY
@FIXED
@given(case=approvals(6))
def test_totals_follow_from_the_tables(name: str, case: tuple[Profile, int]) -> None:
    profile, k = case
    decision = RULES.build(name)(profile, Slate(size=k))
    for table in decision.trace:
        if table.how:
            totals = {str(row[0]): row[-1] for row in table.rows if row[0] != "weight"}
            assert recount(table) == pytest.approx(totals)
    if name in ("pav", "chamberlin_courant"):
        score = {"pav": pav_score, "chamberlin_courant": cc_score}[name]
        slate = frozenset(map(profile.ids.index, decision.outcome.ids))
        told = decision.table("score").rows[-1][-1]
        assert told == pytest.approx(float(score(profile, slate)))
    if name in ("seq_pav", "seq_phragmen") and decision.trace[0].rows:
        table = decision.trace[0]
        assert len(table.columns) == 2 + k
        first = [row[1] for row in table.rows if row[1] is not None]
        taken = next(row for row in table.rows if row[0] == decision.outcome.ids[0])
        assert taken[1] == (max if name == "seq_pav" else min)(first)
    assert decision.explain()


def test_seq_pav_is_worked_out_round_by_round() -> None:
    decision = SequentialPav()(PARTIES, Slate(size=3), seed=1)
    table = decision.table("rounds")
    rows = {row[0]: row[1:] for row in table.rows}
    first, second, third = decision.outcome.ids
    assert rows[first] == (6.0, None, None, 6.0)
    assert (
        rows[second] == (6.0, 3.0, 3.0, 3.0)
        or rows[second] == (6.0, 3.0, None, 3.0)
        or (rows[second] == (3.0, 3.0, None, 3.0))
    )
    assert rows["c1"] == (1.0, 1.0, 1.0, 1.0)
    assert rows[third][-1] == 3.0


def test_equal_shares_shows_prices_and_its_completion() -> None:
    decision = EqualShares()(PARTIES, Slate(size=3))
    prices = {row[0]: row[1:] for row in decision.table("prices").rows}
    paid = decision.outcome.ids[0]
    assert prices[paid][0] == pytest.approx(1 / 6)
    assert decision.table("completion").how == "last"
    short = EqualShares(completion="none")(PARTIES, Slate(size=3))
    assert "1 of 3 could be paid for; no completion" in short.notes
    assert len(short.outcome.ids) == 1
