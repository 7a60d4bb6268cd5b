"""Rules over duels against their definitions, golden profiles and the literature's examples."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.decision import Decision
from fairagents.errors import BallotError
from fairagents.profile import Profile
from fairagents.rules import duels as duels_module
from fairagents.rules.base import RULES, OrderRule, Ties, levels_of
from fairagents.rules.duels import Duels, batches, kinds_of
from fairagents.rules.majority import (
    coded,
    layers,
    paths_by_tier,
    schwartz_tiers,
    smith_tiers,
    strongest_paths,
)
from fairagents.rules.pairwise import margins, schwartz_set, smith_set, support
from fairagents.rules.trace import recount
from fairagents.task import Slate
from tests.rules.test_golden_profiles import RANKED, ranked_profile

Matrix = list[list[Fraction]]
RULE_NAMES = [
    "condorcet", "smith", "schwartz", "copeland", "minimax", "black", "schulze", "ranked_pairs",
    "split_cycle", "stable_voting",
]  # fmt: skip
REFS: list[dict[str, dict[str, Any]]] = [
    *[dict[str, dict[str, Any]]({name: {}}) for name in RULE_NAMES],
    {"copeland": {"alpha": 0.0}},
    {"copeland": {"alpha": 1 / 3}},
    {"minimax": {"strength": "winning_votes"}},
    {"minimax": {"strength": "opposition"}},
    {"schulze": {"strength": "winning_votes"}},
    {"ranked_pairs": {"strength": "winning_votes"}},
]
EVERY = pytest.mark.parametrize("ref", REFS, ids=lambda r: RULES.build(r).label)
SEEDED = settings(derandomize=True, deadline=None, max_examples=80)


def built(ref: object) -> OrderRule:
    rule = RULES.build(ref)
    assert isinstance(rule, OrderRule)
    return rule


def of_ranks(ranks: Any, weights: Any = None) -> Profile:
    """A profile from a matrix of ranks, its tiers closed up."""
    dense = np.array([np.unique(row, return_inverse=True)[1] for row in np.asarray(ranks)])
    n, m = dense.shape
    ids, voters = [f"x{i}" for i in range(m)], [str(v) for v in range(n)]
    nothing = np.full((n, m), np.nan)
    return Profile(
        ids,
        voters,
        [1] * n if weights is None else weights,
        dense,
        nothing,
        np.zeros((n, m), bool),
        ["ranking"] * n,
    )


@st.composite
def ranked(draw: st.DrawFn, most: int = 6) -> Profile:
    m, n = draw(st.integers(1, most)), draw(st.integers(1, 5))
    row = st.one_of(
        st.permutations(range(m)),
        st.lists(st.integers(0, 2), min_size=m, max_size=m),
    )
    weight = st.sampled_from([1, 1, 1, 2, 3, 0.5, 0.3, 0.2, Fraction(1, 3)])
    return of_ranks(
        draw(st.lists(row, min_size=n, max_size=n)),
        draw(st.lists(weight, min_size=n, max_size=n)),
    )


def small_profiles() -> Iterator[Profile]:
    """All profiles of up to three equal voters on up to three alternatives."""
    for m in (1, 2, 3):
        weak = sorted({tuple(np.unique(r, return_inverse=True)[1].tolist())
                       for r in itertools.product(range(m), repeat=m)})  # fmt: skip
        for n in (1, 2, 3):
            for rows in itertools.combinations_with_replacement(weak, n):
                yield of_ranks(rows)


# -- definitions ---------------------------------------------------------------------------------


def above(p: Profile) -> Matrix:
    m = len(p.ids)
    return [
        [
            sum((w for w, r in zip(p.weights, p.ranks, strict=True) if r[a] < r[b]), Fraction(0))
            for b in range(m)
        ]
        for a in range(m)
    ]


def margin_of(s: Matrix) -> Matrix:
    m = len(s)
    return [[s[a][b] - s[b][a] for b in range(m)] for a in range(m)]


def strength_of(s: Matrix, by: str) -> Matrix:
    d, m = margin_of(s), len(s)
    chosen = d if by == "margins" else s
    return [[chosen[a][b] if d[a][b] > 0 else Fraction(0) for b in range(m)] for a in range(m)]


def strongest(won: Matrix) -> Matrix:
    """The strongest path by trying all simple paths."""
    m = len(won)

    def search(a: int, b: int, seen: frozenset[int]) -> Fraction:
        best = won[a][b]
        for c in range(m):
            if c not in seen and c != b and won[a][c] > 0:
                best = max(best, min(won[a][c], search(c, b, seen | {c})))
        return best

    return [
        [search(a, b, frozenset({a})) if a != b else Fraction(0) for b in range(m)]
        for a in range(m)
    ]


def dominant(d: Matrix, among: list[int]) -> list[int]:
    """The smallest set whose members beat all others, by trying all sets."""
    for size in range(1, len(among) + 1):
        for inside in itertools.combinations(among, size):
            if all(d[a][b] > 0 for a in inside for b in among if b not in inside):
                return list(inside)
    return among


def undominated(d: Matrix, among: list[int]) -> list[int]:
    """The union of the minimal sets that nobody outside beats, by trying all sets."""
    found: list[set[int]] = []
    for size in range(1, len(among) + 1):
        for inside in map(set, itertools.combinations(among, size)):
            if any(one <= inside for one in found):
                continue
            if all(d[b][a] <= 0 for a in inside for b in among if b not in inside):
                found.append(inside)
    return sorted(set().union(*found))


def peeled(first: Any, d: Matrix) -> list[int]:
    """The tier of each alternative when one set after another is taken away."""
    rest, level, tiers = list(range(len(d))), 0, [0] * len(d)
    while rest:
        now = first(d, rest)
        for a in now:
            tiers[a] = level
        rest = [a for a in rest if a not in now]
        level += 1
    return tiers


def ranked_pairs_of(p: Profile, by: str, places: Any) -> list[list[bool]]:
    """Who is ahead of whom after locking pair by pair, alternatives of one kind side by side."""
    s = above(p)
    won, m = strength_of(s, by), len(s)
    columns = [tuple(p.ranks[:, a]) for a in range(m)]
    kind = [min(places[b] for b in range(m) if columns[b] == columns[a]) for a in range(m)]
    pairs = [(a, b) for a in range(m) for b in range(m) if won[a][b] > 0]
    pairs.sort(key=lambda q: (-won[q[0]][q[1]], kind[q[0]], kind[q[1]], places[q[0]], places[q[1]]))
    ahead = [[False] * m for _ in range(m)]
    for a, b in pairs:
        if not ahead[b][a]:
            for x in range(m):
                for y in range(m):
                    if (x == a or ahead[x][a]) and (y == b or ahead[b][y]):
                        ahead[x][y] = True
    return ahead


def stable_winners(d: Matrix, among: frozenset[int]) -> set[int]:
    if len(among) == 1:
        return set(among)
    won = [[d[a][b] if d[a][b] > 0 and {a, b} <= among else Fraction(0) for b in range(len(d))]
           for a in range(len(d))]  # fmt: skip
    back = strongest(won)
    free = [b for b in among if not any(won[a][b] > back[b][a] for a in among)]
    steps = sorted({d[a][b] for a in free for b in among if a != b}, reverse=True)
    for step in steps:
        found = {
            a
            for a in free
            for b in among
            if a != b and d[a][b] == step and a in stable_winners(d, among - {b})
        }
        if found:
            return found
    raise AssertionError


def expected(rule: OrderRule, p: Profile, ties: Ties) -> list[int]:
    """The tiers by the rule's definition."""
    s, m = above(p), len(p.ids)
    d = margin_of(s)
    by = getattr(rule, "strength", "margins")
    others = [[b for b in range(m) if b != a] for a in range(m)]
    name = rule.name
    if name == "smith":
        return peeled(dominant, d)
    if name == "schwartz":
        return peeled(undominated, d)
    if name == "stable_voting":
        return peeled(lambda d, rest: stable_winners(d, frozenset(rest)), d)
    if name in ("condorcet", "black"):
        first = [a for a in range(m) if all(d[a][b] > 0 for b in others[a])]
        points = [sum((s[a][b] - s[b][a] for b in others[a]), Fraction(0)) for a in range(m)]
        keys: list[Any] = [(a not in first, -points[a] * (name == "black")) for a in range(m)]
    elif name == "copeland":
        alpha = Fraction(rule.alpha).limit_denominator(1000)  # type: ignore[attr-defined]
        keys = [
            -sum(((d[a][b] > 0) + alpha * (d[a][b] == 0) for b in others[a]), Fraction(0))
            for a in range(m)
        ]
    elif name == "minimax":
        against = {
            "margins": d,
            "winning_votes": strength_of(s, "winning_votes"),
            "opposition": s,
        }[by]
        keys = [max((against[b][a] for b in others[a]), default=0) for a in range(m)]
    elif name == "split_cycle":
        won = strength_of(s, "margins")
        back = strongest(won)
        defeats = [[won[a][b] > back[b][a] for b in range(m)] for a in range(m)]

        def depth(b: int) -> int:
            return max((1 + depth(a) for a in range(m) if defeats[a][b]), default=0)

        keys = [depth(b) for b in range(m)]
    else:
        if name == "schulze":
            path = strongest(strength_of(s, by))
            ahead = [[path[a][b] > path[b][a] for b in range(m)] for a in range(m)]
        else:
            ahead = ranked_pairs_of(p, by, ties.places)
        keys = [sum(ahead[a][b] for a in range(m)) for b in range(m)]
    levels = sorted(set(keys))
    return [levels.index(key) for key in keys]


@EVERY
def test_all_small_profiles_follow_the_definition(ref: object) -> None:
    rule = built(ref)
    for p in small_profiles():
        ties = Ties(p, "seeded", 3)
        assert rule.order_with(p, ties).levels.tolist() == expected(rule, p, ties), p.ranks


@EVERY
@SEEDED
@given(p=ranked(), seed=st.integers(0, 99))
def test_random_profiles_follow_the_definition(ref: object, p: Profile, seed: int) -> None:
    rule, ties = built(ref), Ties(p, "seeded", seed)
    if rule.name == "stable_voting" and len(p.ids) > 5:
        return  # Its definition takes every subset.
    assert rule.order_with(p, ties).levels.tolist() == expected(rule, p, ties)


@SEEDED
@given(p=ranked())
def test_margins_support_and_paths_are_exact(p: Profile) -> None:
    s = above(p)
    for found, wanted in ((support(p), s), (margins(p), margin_of(s))):
        matrix, scale = found
        assert [[Fraction(int(x), scale) for x in row] for row in matrix] == wanted
    won = strength_of(s, "margins")
    matrix = np.array([[int(x * p.whole_weights[1]) for x in row] for row in won])
    codes, values = coded(matrix)
    found_paths = values[strongest_paths(codes)]
    for a, b in itertools.permutations(range(len(won)), 2):
        assert Fraction(int(found_paths[a, b]), p.whole_weights[1]) == strongest(won)[a][b]


def test_many_equal_voters_are_counted() -> None:
    p = of_ranks([[0, 1]] * 300 + [[1, 0]] * 260, [1] * 300 + [Fraction(1, 2)] * 260)
    assert [x.tolist() for x in (support(p)[0], margins(p)[0])] == [
        [[0, 600], [260, 0]],
        [[0, 340], [-340, 0]],
    ]
    assert len(margins(Profile.from_rankings([], ["a", "b"]))[0]) == 2


@SEEDED
@given(p=ranked())
def test_the_sets_are_the_first_tiers(p: Profile) -> None:
    d = margin_of(above(p))
    everybody = list(range(len(d)))
    assert smith_set(p) == tuple(p.ids[a] for a in dominant(d, everybody))
    assert schwartz_set(p) == tuple(p.ids[a] for a in undominated(d, everybody))


# -- golden profiles -----------------------------------------------------------------------------


@pytest.mark.parametrize("one", RANKED, ids=lambda one: one["id"])
def test_golden_winners(one: dict[str, Any]) -> None:
    p = ranked_profile(one)
    wanted = {key: found["value"] for key, found in one["expected"].items() if "value" in found}

    def first(ref: object) -> list[int]:
        return sorted(int(i) for i in built(ref)(p).tiers[0])

    condorcet = built("condorcet")(p).tiers
    assert set(map(int, condorcet[0])) == set(wanted["condorcet"] or range(one["m"]))
    assert first("smith") == wanted["smith"]
    assert first("schwartz") == wanted["schwartz"]
    assert first("minimax") == wanted["minimax_winners"]
    totals = dict(built("minimax")(p).totals)
    assert [-totals[str(i)] for i in range(one["m"])] == wanted["minimax_max_defeat"]
    assert first("schulze") == wanted["schulze_winners"]
    assert first({"schulze": {"strength": "winning_votes"}}) == wanted["schulze_wv_winners"]
    assert first("split_cycle") == wanted["split_cycle"]
    assert first("stable_voting") == wanted["stable_voting"]
    assert support(p)[0].tolist() == wanted["support"]


@pytest.mark.parametrize("one", RANKED, ids=lambda one: one["id"])
def test_golden_ranked_pairs_and_the_relation_of_schulze(one: dict[str, Any]) -> None:
    p, expected_ = ranked_profile(one), one["expected"]
    for seed in range(6):
        order = [int(i) for i in built("ranked_pairs")(p, seed=seed).outcome.ids]
        assert order in expected_["ranked_pairs_rankings_all_ties"]["value"]
    rows = cells(built("schulze")(p), "paths")
    pairs = itertools.product(range(one["m"]), repeat=2)
    relation = [[a, b] for a, b in pairs if rows[str(a)][str(b)] > rows[str(b)][str(a)]]
    assert relation == expected_["schulze_relation"]["value"]


def cells(decision: Decision, name: str) -> dict[str, dict[str, Any]]:
    table = decision.table(name)
    return {str(row[0]): dict(zip(table.columns[1:], row[1:], strict=True)) for row in table.rows}


# -- the literature's examples -------------------------------------------------------------------


def counted(**orders: int) -> Profile:
    return Profile.from_rankings([list(o) for o in orders], weights=list(orders.values()))


TENNESSEE = Profile.from_rankings(
    [list("MNCK"), list("NCKM"), list("CKNM"), list("KCNM")], weights=[42, 26, 15, 17]
)
SCHULZE_45 = counted(ACBED=5, ADECB=5, BEDAC=8, CABED=3, CAEBD=7, CBADE=2, DCEBA=7, EBADC=8)
CONDORCET_60 = counted(ABC=23, BAC=2, BCA=17, CAB=10, CBA=8)
CONDORCET_81 = counted(ABC=30, ACB=1, BAC=29, BCA=10, CAB=10, CBA=1)


def ordered(ref: object, p: Profile) -> str:
    decision = built(ref)(p)
    assert all(len(tier) == 1 for tier in decision.tiers)
    return "".join(decision.outcome.ids)


def test_schulzes_45_voters() -> None:
    assert ordered("schulze", SCHULZE_45) == "EACBD"
    assert ordered({"schulze": {"strength": "winning_votes"}}, SCHULZE_45) == "EACBD"
    paths = cells(built({"schulze": {"strength": "winning_votes"}})(SCHULZE_45), "paths")
    assert [paths["A"][b] for b in "BCDE"] == [28, 28, 30, 24]
    assert [paths["E"][b] for b in "ABCD"] == [25, 28, 28, 31]


def test_tennessee_chooses_nashville() -> None:
    for name in RULE_NAMES:
        assert built(name)(TENNESSEE).tiers[0] == ("N",)
    for name in ("smith", "copeland", "black", "schulze", "ranked_pairs", "split_cycle"):
        assert ordered(name, TENNESSEE) in ("NCKM", "NCMK")


def test_condorcets_60_voters_have_a_cycle_and_his_81_a_winner() -> None:
    assert set(smith_set(CONDORCET_60)) == set("ABC")
    for name in ("schulze", "ranked_pairs", "split_cycle", "minimax", "stable_voting"):
        assert built(name)(CONDORCET_60).tiers[0] == ("B",)
    assert built("condorcet")(CONDORCET_81).tiers[0] == ("A",)
    assert built("black")(CONDORCET_81).tiers[0] == ("A",)
    assert built("borda")(CONDORCET_81).tiers[0] == ("B",)


def test_black_follows_borda_in_a_cycle() -> None:
    decision = built("black")(CONDORCET_60)
    assert decision.tiers == built("borda")(CONDORCET_60).tiers
    assert decision.notes == ("nobody beats all: Borda decides",)


def test_defects_that_others_published() -> None:
    tied = Profile.from_rankings([[["B", "C"], "A"]] * 3)
    one = Profile.from_rankings([["A", "B", "C"]] * 3)
    for name in RULE_NAMES:
        assert "A" not in built(name)(tied).tiers[0] or name == "condorcet"
        assert built(name)(one).tiers[0] == ("A",)


def test_minimax_can_elect_who_loses_every_duel() -> None:
    p = counted(ABCD=4, BCAD=4, CABD=4, DABC=3, DBCA=3, DCAB=3)
    assert built("minimax")(p).tiers[0] == ("D",)
    assert set(smith_set(p)) == set("ABC")


def test_margins_and_winning_votes_differ_on_truncated_ballots() -> None:
    # Margins 2, 3, 1 and winning votes 4, 6, 5 for a > b, b > c, c > a.
    p = Profile.from_rankings([["a", "b"], ["b", "c"], ["c"]], weights=[4, 2, 3])
    for name in ("schulze", "ranked_pairs"):
        assert ordered({name: {"strength": "margins"}}, p) == "abc"
        assert ordered({name: {"strength": "winning_votes"}}, p) == "bca"


# -- degenerate profiles -------------------------------------------------------------------------


@EVERY
def test_degenerate_profiles_are_defined(ref: object) -> None:
    rule = built(ref)
    assert rule(Profile.from_rankings([["a"], []], ["a"])).tiers == (("a",),)
    nothing: list[list[list[list[str]]]] = [[[]], [[], []], [[["a", "b", "c"]]]]
    for ballots in nothing:
        decision = rule(Profile.from_rankings(ballots, list("abc")))
        assert [set(tier) for tier in decision.tiers] == [set("abc")]
    opposite = Profile.from_rankings([["a", "b", "c"], ["c", "b", "a"]])
    assert [set(t) for t in rule(opposite).tiers] == [set("abc")]
    half = Profile.from_rankings([["a", "b"], ["b", "a"], ["b", "a"]], weights=[0.5, 0.3, 0.2])
    assert [set(t) for t in rule(half).tiers] == [{"a", "b"}]


@EVERY
def test_one_voter_and_a_majority_holder_get_their_first(ref: object) -> None:
    rule = built(ref)
    one = Profile.from_rankings([["b", "c", "a"]])
    assert rule(one).tiers[0] == ("b",)
    if rule.name not in ("condorcet", "minimax"):
        assert rule(one).tiers == (("b",), ("c",), ("a",))
    two = Profile.from_rankings([["b", "c", "a"], ["a", "c", "b"]], weights=[3, 2])
    if getattr(rule, "strength", "") != "opposition":
        assert rule(two).tiers[0] == ("b",)
    assert "holds more than half" in rule(two).warnings[0]


@EVERY
@pytest.mark.parametrize(
    "weights", [(1e-9, 1e9, 1.0), (Fraction(1, 999_999_999_989), Fraction(1, 10**12), 1.0)]
)
def test_weights_beyond_64_bits_stay_exact(ref: object, weights: tuple[Any, ...]) -> None:
    rng = np.random.default_rng(1)
    rule = built(ref)
    for _ in range(5):
        p = of_ranks(rng.integers(0, 5, (3, 6)), weights)
        assert p.whole_weights[0].dtype == object
        ties = Ties(p, "seeded", 0)
        assert rule.order_with(p, ties).levels.tolist() == expected(rule, p, ties)


@pytest.mark.parametrize("name", [n for n in RULE_NAMES if n != "stable_voting"])
def test_more_alternatives_than_a_matrix_holds_are_refused(name: str) -> None:
    strict = Profile.from_rankings([[f"a{i}" for i in range(5001)]])
    with pytest.raises(BallotError, match="at most 5000 alternatives, not 5001: cut the agenda"):
        built(name)(strict)


def test_stable_voting_refuses_many_alternatives() -> None:
    with pytest.raises(BallotError, match=r"at most 12 alternatives, not 13: .* split_cycle"):
        built("stable_voting")(Profile.from_rankings([[f"a{i}" for i in range(13)]]))


def test_full_matrices_of_many_alternatives_are_refused() -> None:
    p = Profile.from_rankings([["a0"]], [f"a{i}" for i in range(5001)])
    for matrix in (margins, support):
        with pytest.raises(BallotError, match="at most 5000 alternatives, not 5001"):
            matrix(p)


# -- kinds ---------------------------------------------------------------------------------------


@EVERY
@SEEDED
@given(p=ranked(5), data=st.data())
def test_alternatives_of_one_kind_count_as_many(ref: object, p: Profile, data: Any) -> None:
    """The same tiers, totals and traces whether the matrices are over kinds or alternatives."""
    if built(ref).name == "ranked_pairs":
        return  # Its tie-break between equal pairs goes by kinds.
    copies = data.draw(st.lists(st.integers(0, len(p.ids) - 1), min_size=0, max_size=4))
    p = of_ranks(p.ranks[:, [*range(len(p.ids)), *copies]], p.weights)
    together = built(ref)(p)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duels_module, "kinds_of", lambda ranks: (np.arange(ranks.shape[1]),) * 2)
        assert len(Duels.of(p)) == len(p.ids)
        apart = built(ref)(p)
    assert together.model_dump() == apart.model_dump()


def test_kinds_are_found_by_their_columns_even_if_hashes_collide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranks = np.array([[0, 1, 1, 0, 2], [1, 0, 0, 1, 2]])
    wanted = [[0, 1, 4], [0, 1, 1, 0, 2]]
    assert [x.tolist() for x in kinds_of(ranks)] == wanted
    # Equal hashes of other columns: the columns themselves decide.
    monkeypatch.setattr(np, "array_equal", lambda a, b: False)
    assert [x.tolist() for x in kinds_of(ranks)] == wanted


def test_twenty_short_lists_over_twenty_thousand() -> None:
    rng = np.random.default_rng(0)
    ids = [f"i{i:05}" for i in range(20_000)]
    pool = rng.permutation(20_000)[:300]
    lists = [[ids[pool[i]] for i in rng.permutation(300)[:50]] for _ in range(20)]
    listed = sorted({one for ballot in lists for one in ballot})
    p, small = Profile.from_rankings(lists, ids), Profile.from_rankings(lists, [*listed, "none"])
    for name in ("schulze", "minimax", "ranked_pairs", "split_cycle", "smith", "copeland"):
        decision = built(name)(p, Slate(size=10))
        few = built(name)(small, Slate(size=10))
        assert set(few.tiers[0]) == set(decision.tiers[0])
        assert decision.trace[-1].cut == 20_000 - 60
    tiers = built("schulze")(p, Slate(size=10)).tiers
    assert len(tiers[-1]) >= 20_000 - len(listed)


# -- parts ---------------------------------------------------------------------------------------


@SEEDED
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(0, 9))
def test_searching_tier_by_tier_leaves_who_is_ahead(seed: int, m: int, whole: int) -> None:
    rng = np.random.default_rng(seed)
    d = np.triu(rng.integers(-2, 5, (m, m)), 1)
    d = d - d.T
    codes = coded(np.where(d > 0, d, 0))[0]
    full, parts = strongest_paths(codes), paths_by_tier(codes, smith_tiers(d), whole)
    assert ((full > full.T) == (parts > parts.T)).all()
    best = np.argsort(smith_tiers(d), kind="stable")[:whole]
    cells_ = np.ix_(best, best)
    assert (full[cells_] == parts[cells_]).all()


def test_layers_and_tiers_of_simple_graphs() -> None:
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert layers(chain).tolist() == [0, 1, 2]
    assert smith_tiers(np.zeros((1, 1), int)).tolist() == [0]
    assert smith_tiers(np.zeros((3, 3), int)).tolist() == [0, 0, 0]
    assert schwartz_tiers(np.zeros((3, 3), int)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("most", [3, 300, 70_000])
def test_strengths_of_any_size_are_coded_in_order(most: int) -> None:
    rng = np.random.default_rng(most)
    for kind in (np.int8, np.int16, np.int32, np.int64, object):
        high = min(most, 127 if kind is np.int8 else 30_000 if kind is np.int16 else most)
        strength = rng.integers(0, high + 1, (300, 300)).astype(kind)
        codes, values = coded(strength)
        assert values[0] == 0
        assert (values[codes] == strength).all()
        assert (np.diff(values.astype(np.int64)) > 0).all()


# -- many profiles at once -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "ref",
    [r for r in REFS if next(iter(r)) in ("copeland", "minimax", "schulze")],
    ids=lambda r: RULES.build(r).label,
)
@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 9)),
    top=st.sampled_from([1, 3, 200, 10**6, 10**12]),
)
def test_a_batch_gives_what_each_profile_gets(
    ref: object, seed: int, shape: tuple[int, int, int], top: int
) -> None:
    rng = np.random.default_rng(seed)
    said, weights = rng.integers(0, 5, shape) / 4, rng.integers(1, top + 1, shape[1])
    rule = built(ref)
    totals = rule.batch(said, weights)
    assert totals is not None
    assert totals.shape == (shape[0], shape[2])
    ids = [f"a{i}" for i in range(shape[2])]
    for one, found in zip(said, totals, strict=True):
        order = rule.order(Profile.from_scores(one, ids, weights.tolist()))
        assert levels_of(found).tolist() == order.levels.tolist()
        assert order.totals is not None
        assert found.tolist() == order.totals.tolist()


def test_a_batch_of_many_goes_in_parts_and_refuses_what_it_cannot_do() -> None:
    rng = np.random.default_rng(0)
    said = rng.random((1500, 3, 20))
    parts = [part for part, _ in batches(said, np.ones(3, dtype=np.int64))]
    assert len(parts) > 1
    schulze = built("schulze")
    whole = schulze.batch(said, np.ones(3, dtype=np.int64))
    assert whole is not None
    last = schulze.batch(said[-1:], np.ones(3, dtype=np.int64))
    assert last is not None
    assert whole[-1].tolist() == last[0].tolist()
    huge = np.array([10**30, 1, 1], dtype=object)
    assert all(built(n).batch(said, huge) is None for n in ("schulze", "copeland", "minimax"))
    with pytest.raises(BallotError, match="at most 5000 alternatives, not 5001"):
        schulze.batch(np.zeros((1, 1, 5001)), np.array([1]))


# -- traces --------------------------------------------------------------------------------------


@EVERY
@SEEDED
@given(p=ranked())
def test_totals_follow_from_the_trace(ref: object, p: Profile) -> None:
    decision = built(ref)(p)
    totals = dict(decision.totals)
    counted_ = [table for table in decision.trace if table.how]
    assert counted_
    for table in counted_:
        rows = {str(row[0]): row[-1] for row in table.rows if row[0] != "weight"}
        assert recount(table) == pytest.approx(rows)
    if totals:
        assert recount(decision.trace[-1]) == pytest.approx(totals)
        # More is better, and the order of the totals is the order of the tiers.
        if built(ref).name != "black":
            by_tier = [{totals[one] for one in tier} for tier in decision.tiers]
            assert all(len(same) == 1 for same in by_tier)
            assert sorted(by_tier, key=min, reverse=True) == by_tier


def test_ranked_pairs_logs_what_it_left_out_and_that_ties_mattered() -> None:
    cycle = Profile.from_rankings([list("abc"), list("bca"), list("cab")])
    winners = set()
    for seed in range(12):
        decision = built("ranked_pairs")(cycle, seed=seed)
        (row,) = decision.table("left out").rows
        winners.add(decision.tiers[0])
        assert row[1] == decision.tiers[0][0]
        assert row[2] == 1.0
        assert "another order" in decision.notes[0]
    assert winners == {("a",), ("b",), ("c",)}
    clear = built("ranked_pairs")(
        Profile.from_rankings([list("abc"), list("bca"), list("cab")], weights=[4, 3, 2])
    )
    assert clear.notes == ()
    assert clear.table("left out").rows == (("c", "a", 1.0),)


def test_a_long_trace_shows_the_best_and_true_paths_between_them() -> None:
    rng = np.random.default_rng(2)
    p = of_ranks([rng.permutation(100) for _ in range(5)])
    for name in ("schulze", "split_cycle"):
        decision = built(name)(p)
        table = decision.table("paths")
        assert (len(table.rows), table.cut, table.how) == (60, 40, "")
        matrix = margins(p)[0]
        full = strongest_paths(np.where(matrix > 0, matrix, 0))
        rows = cells(decision, "paths")
        for a, b in itertools.permutations(list(rows)[:10], 2):
            assert rows[a][b] == full[p.ids.index(a), p.ids.index(b)]


def test_importing_the_rules_loads_no_scipy() -> None:
    modules = ["duels", "majority", "pairwise", "paths", "stable", "linear", "kemeny", "squared"]
    code = (
        f"import sys\nfor m in {modules}: __import__('fairagents.rules.' + m)\n"
        "assert not [m for m in sys.modules if m.split('.')[0] == 'scipy']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
