"""Decisions in words: every rule says how its result came about, from the trace alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fairagents.profile import Profile
from fairagents.rules.base import RULES
from fairagents.rules.names import SLATE_RULES
from fairagents.task import Slate

PROFILE = Profile.from_scores(
    np.array([[0.9, 0.5, 0.1, 0.3], [0.2, 0.6, 0.5, 0.0], [0.1, 0.4, 0.8, 0.7]]),
    list("abcd"),
    [2, 1, 1.5],
)

SAID = {
    "borda": "points: b = 2 x 2 (1) + 3 (2) + 1.5 x 1 (3) = 8.5",
    "copeland": "duels: b = 3 (won)",
    "minimax": "margins: b = the least of 0.5, 1.5, 1.5 = 0.5",
    "schulze": "paths: b beats 3 others",
    "split_cycle": "defeats: b is beaten by 0 others",
    "irv": "rounds: c has 1.5 (round 1), 1.5 (round 2), 2.5 (round 3), 4.5 (round 4): 4 in all",
    "stv": "counts: round 2, what eliminated, who d",
    "kemeny": "distances: distance = 2 x 3 (1) + 1.5 x 3 (3) = 10.5",
    "squared_kemeny": "distances: squared distance = 2 x 9 (1) + 1.5 x 9 (3) = 31.5",
    "nash": "gains: b = the weighted geometric mean of 0.5 (1), 0.6 (2), 0.4 (3) = 0.483351",
    "p_mean": "b = the weighted power mean of 0.5 x2, 0.6, 0.4 x1.5 with exponent 0.25 = 0.484732",
    "median": "ratings: b = the lower median of 0.5 x2, 0.6, 0.4 x1.5 = 0.5",
    "pav": "score: chosen = 2 x 1 (1) + 1.5 x 1 (3) = 3.5",
    "monroe": "dealt out: c = 1.5 (3)",
    "maximin_slate": "worth of the slate: 2 = (0.2 (a) + 0.5 (c)) / 2 = 0.35",
    "lexicographic_priority": "tiers: a has 1 (1), 4 (3), 3 (2)",
}


@pytest.mark.parametrize("name", SAID)
def test_the_words_say_what_was_counted(name: str) -> None:
    decision = RULES.build(name)(PROFILE, Slate(size=2))
    assert SAID[name] in decision.explain(*decision.outcome.what)


@pytest.mark.parametrize("name", SLATE_RULES)
def test_no_word_is_missing(name: str) -> None:
    decision = RULES.build(name)(PROFILE, Slate(size=2))
    words = decision.explain()
    assert words.startswith(f"{name}: ")
    assert len(words.splitlines()) > 1
    assert not re.search(r"\b(None|nan)\b", words)


def test_who_asks_is_told_of_a_few_rows_only() -> None:
    rng = np.random.default_rng(0)
    profile = Profile.from_scores(rng.random((30, 12)), [f"a{i}" for i in range(12)])
    words = RULES.build("nash_slate")(profile, Slate(size=3)).explain()
    assert words.count("worth of the slate: ") == 5
    assert "margins: a0 has" in RULES.build("schulze")(profile).explain("a0")
    assert ", ..." in RULES.build("schulze")(profile).explain("a0")
