"""What holds for every rule: symmetry, clones, ties, traces, degenerate profiles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.decision import Decision
from fairagents.errors import BallotError, InfeasibleError, SpecError
from fairagents.feasible import Feasible
from fairagents.profile import Profile
from fairagents.record import canonical
from fairagents.rules.base import RULES, OrderRule, Rule, levels_of
from fairagents.rules.names import SLATE_RULES
from fairagents.rules.pairwise import Copeland, margins
from fairagents.rules.positional import Borda
from fairagents.rules.trace import recount
from fairagents.rules.welfare import Leximin, Nash, Utilitarian
from fairagents.task import Exclude, Include, Slate

NAMES = [name for name in SLATE_RULES if issubclass(RULES.get(name), OrderRule)]
EVERY = pytest.mark.parametrize("name", NAMES)
DEFINED = pytest.mark.parametrize("name", ["borda", "copeland", "utilitarian", "nash", "leximin"])
"""Those whose definition stands below; the others' stands in a file of its own."""


def holding(axiom: str) -> pytest.MarkDecorator:
    """The rules that declare an axiom to hold."""
    names = [n for n in NAMES if axiom in RULES.get(n).holds and not drawing(n)]
    return pytest.mark.parametrize("name", names)


def drawing(name: str) -> bool:
    """Whether a rule draws by lot, so that its tiers are a draw."""
    return RULES.get(name).__module__.rsplit(".", 1)[1] in ("lottery", "dictatorship")


STEADY = pytest.mark.parametrize("name", [n for n in NAMES if not drawing(n)])


def rule_of(name: str, **fields: Any) -> Rule:
    return RULES.build({name: fields})


@st.composite
def profiles(draw: st.DrawFn, rated: bool | None = None) -> Profile:
    """Rated, ranked (with ties, truncated) or mixed ballots of one to five weighted voters."""
    m, n = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    ids = [f"a{i}" for i in range(m)]
    weights = draw(st.lists(st.sampled_from([1, 2, 3, 0.5, 0.3, 0.2]), min_size=n, max_size=n))
    rated = draw(st.booleans()) if rated is None else rated
    grid = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    if rated:
        row = st.lists(grid, min_size=m, max_size=m)
        return Profile.from_scores(
            np.array(draw(st.lists(row, min_size=n, max_size=n))), ids, weights
        )
    ballots = []
    for _ in range(n):
        order = draw(st.permutations(ids))
        kept = order[: draw(st.integers(0, m))]
        width = draw(st.integers(1, 3))
        ballots.append([kept[i : i + width] for i in range(0, len(kept), width)])
    return Profile.from_rankings(ballots, ids, weights)


def sets(decision: Decision) -> list[set[str]]:
    return [set(tier) for tier in decision.tiers]


# -- by definition -------------------------------------------------------------------------------


def clones(profile: Profile) -> list[int]:
    """How many equal whole voters each voter stands for."""
    scale = math.lcm(*(w.denominator for w in profile.weights))
    return [int(w * scale) for w in profile.weights]


def score(name: str, profile: Profile, a: int) -> Any:
    """A rule's definition for one alternative, as something that sorts: more is better."""
    ratings, _ = profile.rated()
    n, m = profile.ranks.shape
    counts = clones(profile)
    if name == "borda":
        total = Fraction(0)
        for v in range(n):
            for b in range(m):
                if b != a:
                    total += counts[v] * Fraction(
                        2 * int(profile.ranks[v, a] < profile.ranks[v, b])
                        + int(profile.ranks[v, a] == profile.ranks[v, b]),
                        2,
                    )
        return total
    if name == "copeland":
        points = Fraction(0)
        for b in range(m):
            if b != a:
                margin = sum(
                    counts[v] * int(np.sign(profile.ranks[v, b] - profile.ranks[v, a]))
                    for v in range(n)
                )
                points += 1 if margin > 0 else Fraction(int(margin == 0), 2)
        return points
    column = [
        round(float(r), 9) for r, k in zip(ratings[:, a], counts, strict=True) for _ in range(k)
    ]
    if name == "utilitarian":
        # Ratings are quarters, derived ones halves of whole numbers over m - 1.
        exact = [Fraction(r).limit_denominator(1000) for r in column]
        return sum(exact) / len(exact)
    if name == "leximin":
        return sorted(column)
    gains = [g for g in column if g > 0]
    return (len(gains), round(math.exp(sum(map(math.log, gains)) / len(gains)), 9) if gains else 0)


@DEFINED
@settings(max_examples=60, deadline=None, derandomize=True)
@given(profile=profiles())
def test_the_tiers_follow_the_definition(name: str, profile: Profile) -> None:
    scores = [score(name, profile, a) for a in range(len(profile.ids))]
    levels = sorted({repr(s): s for s in scores}.values(), reverse=True)
    wanted = [{profile.ids[a] for a, s in enumerate(scores) if s == level} for level in levels]
    assert sets(rule_of(name)(profile)) == wanted


# -- symmetry ------------------------------------------------------------------------------------


def permuted(profile: Profile, voters: Sequence[int], rows: Sequence[int]) -> Profile:
    return Profile(
        [profile.ids[i] for i in rows],
        [profile.voters[v] for v in voters],
        [profile.weights[v] for v in voters],
        profile.ranks[np.ix_(voters, rows)],
        profile.ratings[np.ix_(voters, rows)],
        profile.approvals[np.ix_(voters, rows)],
        [profile.forms[v] for v in voters],
    )


@holding("anonymity")
@settings(max_examples=30, deadline=None, derandomize=True)
@given(profile=profiles(), data=st.data())
def test_neither_the_order_of_voters_nor_of_ids_matters(
    name: str, profile: Profile, data: st.DataObject
) -> None:
    rule = rule_of(name)
    voters = data.draw(st.permutations(range(len(profile))))
    rows = data.draw(st.permutations(range(len(profile.ids))))
    first, second = rule(profile, seed=3), rule(permuted(profile, voters, rows), seed=3)
    assert sets(first) == sets(second)
    # Ties fall by a hash of the id: the whole order is the same, not just the tiers.
    assert first.outcome == second.outcome


@holding("neutrality")
@settings(max_examples=30, deadline=None, derandomize=True)
@given(profile=profiles(), data=st.data())
def test_renaming_the_alternatives_renames_the_tiers(
    name: str, profile: Profile, data: st.DataObject
) -> None:
    names = data.draw(st.permutations(profile.ids))
    renamed = Profile(
        names, profile.voters, profile.weights, profile.ranks, profile.ratings,
        profile.approvals, profile.forms,
    )  # fmt: skip
    new = dict(zip(profile.ids, names, strict=True))
    rule = rule_of(name)
    assert [{new[one] for one in tier} for tier in rule(profile).tiers] == sets(rule(renamed))


@holding("anonymity")
@settings(max_examples=30, deadline=None, derandomize=True)
@given(profile=profiles())
def test_a_weight_of_three_is_three_equal_ballots(name: str, profile: Profile) -> None:
    rows = [v for v, count in enumerate(clones(profile)) for _ in range(count)]
    cloned = Profile(
        profile.ids, [str(i) for i in range(len(rows))], [1] * len(rows), profile.ranks[rows],
        profile.ratings[rows], profile.approvals[rows], [profile.forms[v] for v in rows],
    )  # fmt: skip
    assert sets(rule_of(name)(profile)) == sets(rule_of(name)(cloned))


@EVERY
@settings(max_examples=30, deadline=None, derandomize=True)
@given(profile=profiles(), factor=st.sampled_from([2, 10, 0.1, 7]))
def test_only_the_proportions_of_weights_matter(name: str, profile: Profile, factor: float) -> None:
    weights = [w * Fraction(str(factor)) for w in profile.weights]
    scaled = Profile(
        profile.ids, profile.voters, weights, profile.ranks, profile.ratings,
        profile.approvals, profile.forms,
    )  # fmt: skip
    assert sets(rule_of(name)(profile)) == sets(rule_of(name)(scaled))


@DEFINED
@settings(max_examples=20, deadline=None, derandomize=True)
@given(profile=profiles())
def test_what_all_prefer_is_never_behind(name: str, profile: Profile) -> None:
    place = {one: i for i, tier in enumerate(rule_of(name)(profile).tiers) for one in tier}
    ratings, _ = profile.rated()
    for a, x in enumerate(profile.ids):
        for b, y in enumerate(profile.ids):
            basis = -profile.ranks if rule_of(name).needs == "ranks" else ratings
            if (basis[:, a] >= basis[:, b]).all():
                assert place[x] <= place[y]


# -- ties ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["borda", "copeland", "schulze", "plurality", "nash", "leximin"])
def test_weights_of_a_half_three_tenths_and_a_fifth_tie_exactly(name: str) -> None:
    profile = Profile.from_rankings([["a", "b"], ["b", "a"], ["b", "a"]], weights=[0.5, 0.3, 0.2])
    decision = rule_of(name)(profile)
    if name == "leximin":
        # The worst-off half is the same for both; so is all the rest.
        assert sets(decision) == [{"a", "b"}]
    assert sets(decision) == [{"a", "b"}]
    assert decision.ties == ()
    assert rule_of(name)(profile, Slate(size=1)).ties != ()


@pytest.mark.parametrize("name", ["borda", "copeland"])
@pytest.mark.parametrize(
    "weights",
    [
        (0.1234567890123456, 0.3333333333333333, 0.5),
        (1e-9, 1e9, 1.0),
        (Fraction(1, 999_999_999_989), Fraction(1, 10**12), 1.0),
    ],
)
@pytest.mark.parametrize("tie_break", ["seeded", "borda", "priority", "lexicographic"])
def test_ordinal_rules_stay_exact_with_weights_beyond_64_bits(
    name: str, weights: tuple[float, ...], tie_break: str
) -> None:
    m = 150
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, (3, m)) / 3
    profile = Profile.from_scores(scores, [f"a{i:03}" for i in range(m)], weights)
    assert profile.whole_weights[0].dtype == object
    decision = rule_of(name, tie_break=tie_break)(profile, Slate(size=5))
    exact = [score(name, profile, a) for a in range(m)] if name == "copeland" else None
    if exact is not None:
        best = max(exact)
        assert set(decision.tiers[0]) == {f"a{a:03}" for a, s in enumerate(exact) if s == best}
    assert canonical(decision.model_dump(mode="json"))


def test_margins_of_huge_weights_are_whole_numbers() -> None:
    profile = Profile.from_rankings([["a", "b"], ["b", "a"]], weights=[10**12, Fraction(1, 10**12)])
    assert margins(profile)[0].tolist() == [[0, 10**24 - 1], [1 - 10**24, 0]]


TIED = Profile.from_rankings([["a", "b", "c", "d"], ["d", "c", "b", "a"]])


def test_the_seeded_tie_break_depends_on_the_seed_and_on_nothing_else() -> None:
    orders = {Borda()(TIED, seed=s).outcome.ids for s in range(60)}
    firsts = Counter(Borda()(TIED, seed=s).outcome.ids[0] for s in range(400))
    assert len(orders) > 15
    assert set(firsts) == set("abcd")
    assert min(firsts.values()) > 60
    assert Borda()(TIED, seed=5).outcome == Borda()(TIED, seed=5).outcome


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        (Borda(tie_break="lexicographic"), "abcd"),
        (Borda(tie_break="priority"), "abcd"),
        (Copeland(tie_break="priority"), "abcd"),
        (Utilitarian(tie_break="lexicographic"), "abcd"),
    ],
)
def test_a_declared_tie_break_is_followed(rule: Rule, wanted: str) -> None:
    for seed in range(5):
        assert "".join(rule(TIED, seed=seed).outcome.ids) == wanted


def test_priority_reads_the_first_voter_first_and_borda_reads_points() -> None:
    profile = Profile.from_rankings([["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]])
    assert Copeland(tie_break="priority")(profile).outcome.ids == ("b", "c", "a")
    cycle = Profile.from_rankings(
        [["a", "b", "c", "d"], ["b", "c", "a", "d"], ["c", "d", "a", "b"]], weights=[3, 2, 2]
    )
    assert len(Copeland()(cycle).tiers[0]) == 3
    points = dict(Borda()(cycle).totals)
    order = Copeland(tie_break="borda")(cycle).outcome.ids[:3]
    assert [points[one] for one in order] == sorted((points[x] for x in "abc"), reverse=True)


def test_decisive_ties_are_those_that_the_tie_break_cut() -> None:
    profile = Profile.from_scores([[1.0, 0.5, 0.5, 0.5, 0.0, 0.0]], list("abcdef"))
    assert set(Utilitarian()(profile, Slate(size=2)).ties[0]) == {"b", "c", "d"}
    assert Utilitarian()(profile, Slate(size=4)).ties == ()


# -- degenerate profiles -------------------------------------------------------------------------


@EVERY
def test_one_voter_gets_its_order(name: str) -> None:
    profile = Profile.from_scores([[0.1, 0.9, 0.5]], list("abc"))
    assert rule_of(name)(profile).outcome.ids == ("b", "c", "a")


@EVERY
def test_one_alternative_wins(name: str) -> None:
    for profile in (
        Profile.from_scores([[0.3], [0.0]], ["a"]),
        Profile.from_rankings([["a"], []], ["a"]),
    ):
        assert rule_of(name)(profile).tiers == (("a",),)


@STEADY
def test_all_tied_is_one_tier(name: str) -> None:
    for profile in (
        Profile.from_scores(np.full((3, 4), 0.5), list("abcd")),
        Profile.from_rankings([[], [["a", "b", "c", "d"]]], list("abcd")),
    ):
        assert sets(rule_of(name)(profile)) == [set("abcd")]


@EVERY
def test_no_voters_is_an_error(name: str) -> None:
    with pytest.raises(BallotError, match=f"{name} needs at least one ballot"):
        rule_of(name)(Profile.from_rankings([], ["a"]))


@EVERY
def test_a_slate_larger_than_the_agenda_is_an_error(name: str) -> None:
    with pytest.raises(InfeasibleError, match="2"):
        rule_of(name)(Profile.from_rankings([["a"]]), Slate(size=2))


@DEFINED
def test_limits_bind_the_outcome_and_leave_the_tiers(name: str) -> None:
    profile = Profile.from_scores([[1.0, 0.8, 0.6, 0.4]], list("abcd"))
    limits = (Exclude(ids=("a",)), Include(ids=("d",)))
    feasible = Feasible.of(Slate(size=2, limits=limits), ids=profile.ids)
    decision = rule_of(name)(profile, feasible)
    assert set(decision.outcome.ids) == {"b", "d"}
    assert decision.tiers[0] == ("a",)


def test_pairwise_rules_refuse_more_than_they_can_hold() -> None:
    ids = [f"a{i}" for i in range(5001)]
    with pytest.raises(BallotError, match="at most 5000 alternatives, not 5001: cut the agenda"):
        Copeland()(Profile.from_rankings([ids]))


def test_nash_counts_who_gains_first_and_the_product_among_equals() -> None:
    profile = Profile.from_scores([[0.0, 0.1, 0.9], [1.0, 0.2, 0.0], [1.0, 0.2, 0.9]], list("abc"))
    decision = Nash()(profile)
    assert decision.tiers == (("b",), ("a",), ("c",))
    assert dict(decision.totals)["a"] == pytest.approx(1.0)
    shifted = Nash(disagreement=0.15)(profile)
    assert dict(shifted.totals)["b"] == pytest.approx(0.05)


def test_leximin_looks_past_the_worst_off() -> None:
    profile = Profile.from_scores([[0.2, 0.2, 0.2], [0.5, 0.9, 0.9], [0.9, 0.6, 0.5]], list("abc"))
    assert sets(Leximin()(profile)) == [{"b"}, {"a", "c"}]


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ({"copeland": {"alpha": 2}}, "less than or equal to 1"),
        ({"borda": {"tie_break": "alphabet"}}, "tie_break"),
        ({"borda": 3}, "takes a table of fields, not 3"),
        ({"borda": {}, "nash": {}}, "is written 'name' or"),
        ("nsh", "no rule 'nsh'; did you mean 'nash'"),
        ("fairagents.rules.welfare:Rawls", "can't be loaded"),
        ("fairagents.rules.welfare:TOLERANCE", "is no rule class"),
    ],
)
def test_a_wrong_reference_to_a_rule_is_one_clear_error(ref: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        RULES.build(ref)


@EVERY
def test_a_rule_is_found_by_name_and_written_back(name: str) -> None:
    rule = rule_of(name, tie_break="priority")
    assert RULES.build(RULES.dump(rule)) == rule
    assert RULES.build(name) == type(rule)()
    assert rule.label == f"{name}(tie_break='priority')"
    assert RULES.build(f"{type(rule).__module__}:{type(rule).__name__}") == type(rule)()


# -- traces --------------------------------------------------------------------------------------


@EVERY
@settings(max_examples=25, deadline=None, derandomize=True)
@given(profile=profiles())
def test_anyone_can_recompute_the_totals_from_the_trace(name: str, profile: Profile) -> None:
    decision = rule_of(name)(profile)
    totals, found = dict(decision.totals), []
    for table in decision.trace:
        again = recount(table)
        last = {str(row[0]): row[-1] for row in table.rows if row[0] != "weight"}
        assert again == pytest.approx(last if table.how else {})
        found.append(again)
    assert decision.trace
    if totals and not drawing(name):
        # One of the tables leads to what the decision says.
        assert any(
            again == pytest.approx({one: totals[one] for one in again}) and again for again in found
        )
    assert canonical(decision.model_dump(mode="json")) == canonical(
        Decision.from_json(decision.to_json()).model_dump(mode="json")
    )
    assert decision.explain()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(profile=profiles())
def test_the_keys_of_nash_give_its_order(profile: Profile) -> None:
    decision = Nash()(profile)
    gains, keys = (decision.table(name).rows for name in ("gains", "keys"))
    voices = [float(w) for w in profile.weights]
    found: dict[str, tuple[float, float]] = {}
    for (one, *row), (same, share, mean) in zip(gains[1:], keys, strict=True):
        numbers: list[Any] = row[:-1]
        assert one == same
        assert mean == row[-1]
        reached = sum(w for w, g in zip(voices, numbers, strict=True) if g > 0)
        assert share == pytest.approx(reached / sum(voices))
        found[str(one)] = (round(reached / sum(voices), 9), round(float(row[-1]), 9))  # type: ignore[arg-type]
    best_first = sorted(set(found.values()), reverse=True)
    assert sets(decision) == [{one for one, k in found.items() if k == key} for key in best_first]


def test_a_long_trace_keeps_the_best_and_counts_the_rest() -> None:
    m = 100
    profile = Profile.from_scores([np.linspace(0, 1, m)], [f"a{i}" for i in range(m)])
    for name in ("borda", "copeland", "utilitarian", "nash", "leximin"):
        table = rule_of(name)(profile, Slate(size=3)).trace[-1]
        assert table.cut == 40
        rows = [row[0] for row in table.rows if row[0] != "weight"]
        assert rows[0] == "a99"
        assert len(rows) == 60


# -- many profiles at once -----------------------------------------------------------------------


@EVERY
@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32 - 1), b=st.integers(1, 4), n=st.integers(1, 5), m=st.integers(1, 8)
)
def test_a_batch_gives_the_order_that_each_profile_gets(
    name: str, seed: int, b: int, n: int, m: int
) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 5, (b, n, m)) / 4
    weights = rng.integers(1, 6, n)
    rule = rule_of(name)
    totals = rule.batch(ratings, weights)
    if totals is None:
        return
    ids = [f"a{i}" for i in range(m)]
    for i in range(b):
        decision = rule(Profile.from_scores(ratings[i], ids, weights.tolist()))
        place = {one: level for level, tier in enumerate(decision.tiers) for one in tier}
        assert levels_of(totals[i]).tolist() == [place[one] for one in ids]


def test_borda_has_a_batch() -> None:
    assert Borda().batch(np.zeros((1, 1, 1)), np.array([1])) is not None
