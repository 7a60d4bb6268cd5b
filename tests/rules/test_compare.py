"""One profile through many rules."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.profile import Profile
from fairagents.rules.compare import compare_rules, kendall

TENNESSEE = Profile.from_rankings(
    [["m", "n", "c", "k"], ["n", "c", "k", "m"], ["c", "k", "n", "m"], ["k", "c", "n", "m"]],
    weights=[42, 26, 15, 17],
)


def test_tennessee_elects_three_cities() -> None:
    found = compare_rules(TENNESSEE)
    assert {"borda", "irv", "plurality", "schulze", "kemeny"} <= set(found.rules)
    assert found.winners["plurality"] == ("m",)
    assert found.winners["irv"] == ("k",)
    assert found.winners["borda"] == found.winners["kemeny"] == ("n",)
    assert found.tau("borda", "borda") == 1
    assert found.tau("irv", "kemeny") == found.tau("kemeny", "irv") < 0
    assert not found.undefined
    with pytest.raises(KeyError, match="no rule 'bord'"):
        found.tau("bord", "irv")


def test_ties_and_what_is_undefined_are_told() -> None:
    tied = compare_rules(Profile.from_rankings([["a", "b"], ["b", "a"]]), ["borda", "plurality"])
    assert set(tied.tied) == {"borda", "plurality"}
    assert math.isnan(tied.tau("borda", "plurality"))
    many = Profile.from_rankings([[f"a{i}" for i in range(30)]])
    found = compare_rules(many, ["borda", "stable_voting"])
    assert list(found.undefined) == ["stable_voting"] and found.winners["stable_voting"] == ()
    assert math.isnan(found.tau("borda", "stable_voting"))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=2, max_size=4))
def test_kendall_is_its_definition(rows: list[list[int]]) -> None:
    found = kendall(np.array(rows))
    for i, j in itertools.product(range(len(rows)), repeat=2):
        signs = [
            [int(np.sign(row[a] - row[b])) for a, b in itertools.combinations(range(5), 2)]
            for row in (rows[i], rows[j])
        ]
        norm = math.sqrt(sum(x * x for x in signs[0]) * sum(y * y for y in signs[1]))
        if norm:
            wanted = sum(x * y for x, y in zip(*signs, strict=True)) / norm
            assert found[i, j] == pytest.approx(wanted)
        else:
            assert math.isnan(found[i, j])
