"""Our rules against pref-voting on random profiles; run by `make oracles`, which installs it."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from fairagents.profile import Profile
from fairagents.rules.base import RULES

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("rule", ["borda", "copeland"])
@pytest.mark.parametrize("seed", range(25))
def test_the_winners_are_the_same(rule: str, seed: int) -> None:
    profiles: Any = importlib.import_module("pref_voting.profiles")
    home = {"borda": "pref_voting.scoring_methods", "copeland": "pref_voting.c1_methods"}[rule]
    oracle: Any = getattr(importlib.import_module(home), rule)
    rng = np.random.default_rng(seed)
    voters, size = int(rng.integers(1, 8)), int(rng.integers(2, 7))
    orders = [rng.permutation(size).tolist() for _ in range(voters)]
    counts = rng.integers(1, 4, voters).tolist()
    theirs = oracle(profiles.Profile(orders, rcounts=counts))
    ours = RULES.build(rule)(
        Profile.from_rankings(
            [[str(i) for i in order] for order in orders],
            ids=[str(i) for i in range(size)],
            weights=counts,
        )
    )
    assert sorted(ours.tiers[0]) == sorted(str(i) for i in theirs)
