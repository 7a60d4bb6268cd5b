"""Outcomes, lotteries and worth functions: what they refuse, round trips, plain views."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fairagents.errors import SpecError
from fairagents.outcome import Linear, Lottery, Outcome, Share

NAMES = st.text("abcäß é-", min_size=1, max_size=4)
SHARES = st.dictionaries(
    st.tuples(NAMES, NAMES), st.floats(1e-9, 1e9, allow_subnormal=False), max_size=6
)


@given(SHARES)
def test_an_outcome_survives_json_and_keeps_its_views_consistent(table: dict[Any, float]) -> None:
    outcome = Outcome.of((*pair, amount) for pair, amount in table.items())
    again = Outcome.from_json(outcome.to_json())
    assert again == outcome
    assert hash(again) == hash(outcome)
    rows = outcome.rows()
    assert {(to, what): a for to, row in rows.items() for what, a in row.items()} == table
    for what, total in outcome.columns().items():
        assert total == pytest.approx(sum(row.get(what, 0.0) for row in rows.values()))
    assert outcome.shares == tuple(Share(to, what, a) for (to, what), a in table.items())


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ([("p", "a", 0.0)], "'a' for 'p' must be finite and > 0, not 0.0"),
        ([("p", "a", -1.0)], "not -1.0"),
        ([("p", "a", float("nan"))], "not nan"),
        ([("p", "a", float("inf"))], "not inf"),
        ([("p", "a", 1.0), ("q", "a", 1.0), ("p", "a", 2.0)], "'p' is given 'a' twice"),
    ],
)
def test_a_wrong_share_is_refused_by_name(shares: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Outcome.of(shares)


def test_lists_of_unequal_length_and_other_outcomes_ids_are_refused() -> None:
    with pytest.raises(SpecError, match="not 1, 2 and 1"):
        Outcome(to=("p",), what=("a", "b"), amount=(1.0,))
    with pytest.raises(SpecError, match="'p'"):
        _ = Outcome.of([("p", "a", 1.0)]).ids
    with pytest.raises(SpecError, match="twice"):
        Outcome.slate(["a", "b", "a"])


@pytest.mark.parametrize(
    ("probabilities", "words"),
    [
        ((0.5, 0.4), "must sum to 1, not to 0.9"),
        ((1.5, -0.5), "not -0.5"),
        ((float("nan"), 1.0), "not nan"),
        ((1.0,), "2 outcomes but 1 probabilities"),
    ],
)
def test_a_lottery_refuses_what_is_no_distribution(probabilities: Any, words: str) -> None:
    outcomes = (Outcome.slate(["a"]), Outcome.slate(["b"]))
    with pytest.raises(SpecError, match=words):
        Lottery(outcomes=outcomes, probabilities=probabilities)


def test_a_lottery_draws_with_its_probabilities_and_never_the_impossible() -> None:
    outcomes = tuple(Outcome.slate([one]) for one in "abcd")
    lottery = Lottery(outcomes=outcomes, probabilities=(0.0, 0.25, 0.75, 0.0))
    drawn = [lottery.draw(seed).ids[0] for seed in range(2000)]
    assert set(drawn) == {"b", "c"}
    assert drawn.count("c") / 2000 == pytest.approx(0.75, abs=0.04)
    assert lottery.expected() == {"everyone": {"b": 0.25, "c": 0.75}}
    assert Lottery.from_json(lottery.to_json()) == lottery
    with pytest.raises(SpecError, match="seed"):
        lottery.draw(-1)


def run(code: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env},
    )
    return done.stdout.strip()


def test_draws_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from fairagents.outcome import *;"
        "l = Lottery(outcomes=[Outcome.slate([c]) for c in 'abcdefgh'], probabilities=[.125] * 8);"
        "print([l.draw(i).ids for i in range(20)])"
    )
    assert run(code, PYTHONHASHSEED="1") == run(code, PYTHONHASHSEED="2")


def test_a_plain_slate_needs_no_scipy() -> None:
    code = (
        "import sys, numpy as np;"
        "from fairagents.feasible import *; from fairagents.outcome import *;"
        "from fairagents.task import *;"
        "side = (Exclude(ids=('a',)), Include(ids=('h',)));"
        "f = Feasible.of(Slate(size=3, limits=side), ids=tuple('abcdefgh'));"
        "g = Feasible.of(Slate(size=3), ids=tuple('abcdefgh'));"
        "v = np.arange(8.0)[::-1];"
        "g.extremes(Linear(v, 0.0, ((1.0, v / 8),)));"
        "f.random(np.random.default_rng(0)), f.completable([1]), f.fill([3]);"
        "print(f.best(v).outcome.ids, 'scipy' in sys.modules)"
    )
    assert run(code) == "('b', 'c', 'h') False"


def random_linear(rng: np.random.Generator, m: int) -> Linear:
    """A worth with up to two terms of each kind, with ties."""
    return Linear(
        rng.integers(-3, 4, m) / 4,
        float(rng.integers(-1, 2)),
        tuple((rng.random(), rng.integers(0, 5, m) / 4) for _ in range(rng.integers(0, 3))),
        tuple(
            (rng.random(), rng.random((3, m)) < 0.4, *zero_one)
            for zero_one in [(0.0, 2.0), (1.0, 2.5), (0.5, 3.0), (-1.0, 1.0)][: rng.integers(0, 5)]
        ),
    )


def worth_by_hand(worth: Linear, slate: tuple[int, ...]) -> float:
    total = worth.constant + sum(worth.values[i] for i in slate)
    for weight, u in worth.least:
        total += weight * min(u[i] for i in slate)
    for weight, groups, zero, one in worth.variety:
        number = sum(any(group[i] for i in slate) for group in groups)
        total += weight * min(1, max(0, (number - zero) / (one - zero)))
    return float(total)


def test_worth_of_slates_and_of_swaps_is_as_written() -> None:
    rng = np.random.default_rng(0)
    for k in (1, 2, 3):
        for _ in range(15):
            worth, other = random_linear(rng, 6), random_linear(rng, 6)
            slates = list(combinations(range(6), k))
            expected = [worth_by_hand(worth, s) for s in slates]
            assert np.allclose(worth.of(np.array(slates)), expected)
            both = worth.plus([other]).of(np.array(slates))
            assert np.allclose(both, expected + other.of(np.array(slates)))
            chosen = np.array(slates[int(rng.integers(len(slates)))])
            swapped = worth.swapped(chosen)
            for p in range(k):
                for j in set(range(6)) - set(chosen.tolist()):
                    slate = (*chosen[:p].tolist(), j, *chosen[p + 1 :].tolist())
                    assert swapped[p, j] == pytest.approx(worth_by_hand(worth, slate))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"values": [1.0, float("nan")]}, "finite"),
        ({"values": [1.0, 2.0], "least": ((1.0, np.array([0.5, 1.5])),)}, "in \\[0, 1\\]"),
        ({"values": [1.0, 2.0], "least": ((1.0, np.array([0.5])),)}, "shape \\(2,\\)"),
        ({"values": [1.0, 2.0], "least": ((-1.0, np.array([0.5, 1.0])),)}, ">= 0, not -1.0"),
        ({"values": [1.0], "variety": ((1.0, np.ones((2, 1), bool), 2, 2),)}, "zero < one"),
        ({"values": [1.0], "variety": ((1.0, np.ones((2, 3), bool), 0, 2),)}, "shape \\(g, 1\\)"),
    ],
)
def test_a_wrong_worth_function_is_refused(fields: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Linear(**{**fields, "values": np.array(fields["values"])})
