"""The matrix of rules and axioms: what is declared survives, what fails has its electorate."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fairagents.rules import matrix
from fairagents.rules.axioms import AXIOMS
from fairagents.rules.base import RULES
from fairagents.rules.electorate import Electorate
from fairagents.rules.names import BUILTIN, SLATE_RULES
from fairagents.rules.positional import Borda
from tests.docs import rules as page
from tests.rules.search import random_electorate, slate_rules, won

CELLS = [(rule, axiom) for rule in SLATE_RULES for axiom in AXIOMS]
HOLDS = [(r, a) for r, a in CELLS if matrix.entry(RULES.get(r), a).status == "holds"]
FAILS = [(r, a) for r, a in CELLS if matrix.entry(RULES.get(r), a).status == "fails"]


def test_no_cell_is_blank() -> None:
    blank = [
        (rule, axiom)
        for rule, row in matrix.matrix().items()
        for axiom, found in row.items()
        if found.status == "unknown" or not found.why
    ]
    assert not blank


def test_every_name_is_its_rules_own() -> None:
    for name in BUILTIN:
        rule = RULES.get(name)
        assert rule.name == name
        assert rule.formula and rule.source and rule.complexity, name
        assert set(rule.holds) <= set(AXIOMS), name
        assert ">>>" in (rule.__doc__ or ""), name


@pytest.mark.parametrize(("rule", "axiom"), FAILS, ids=lambda one: one)
def test_a_kept_electorate_shows_the_failure(rule: str, axiom: str) -> None:
    found = matrix.entry(RULES.get(rule), axiom)
    assert found.witness is not None
    assert AXIOMS[axiom].check(RULES.build(rule), found.witness) == found.why


@pytest.mark.study
@pytest.mark.parametrize(("rule", "axiom"), HOLDS, ids=lambda one: one)
@settings(max_examples=200, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 5), m=st.integers(1, 5))
def test_what_is_declared_to_hold_survives(
    rule: str, axiom: str, seed: int, n: int, m: int
) -> None:
    built = RULES.build(rule)
    e = random_electorate(np.random.default_rng(seed), n, m, built.needs)
    assert AXIOMS[axiom].check(built, e) == ""


def test_the_page_of_rules_is_what_the_code_says() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page()


def test_every_two_rules_differ_on_a_kept_profile() -> None:
    rules = slate_rules()
    found = [{name: won(rule, e) for name, rule in rules.items()} for e in matrix.differences()]
    pairs = set(itertools.combinations(rules, 2))
    same = {(a, b) for a, b in pairs if not any(one[a] != one[b] for one in found)}
    assert same == set(matrix.EQUAL)


# -- a check must be able to fail ------------------------------------------------------------------


class Biased(Borda):
    """Borda with the first alternative always first and the first voter counted twice."""

    def order(self, profile):  # type: ignore[no-untyped-def]
        order = super().order(profile)
        levels = order.levels + 1
        levels[0] = 0
        return type(order)(levels)


def test_a_planted_bias_is_found() -> None:
    rng = np.random.default_rng(0)
    for axiom in ("neutrality", "unanimity", "pareto", "majority", "reversal"):
        assert any(
            AXIOMS[axiom].check(Biased(), random_electorate(rng, 3, 3, "ranks")) for _ in range(50)
        ), axiom


def test_justified_representation_by_hand() -> None:
    """Two of four voters agree on one alternative: with two seats they deserve it."""
    said = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1]], dtype=float)
    e = Electorate(said, (1, 1, 1, 1), 2)
    assert AXIOMS["jr"].check(RULES.build("seq_phragmen"), e) == ""
    assert AXIOMS["jr"].check(Last(), e) == "voters [1, 2] deserve 1 of 2 and b, c give them less"


class Last(Borda):
    """Elects the last ones, whatever was said of approvals."""

    needs = "approvals"

    def order(self, profile):  # type: ignore[no-untyped-def]
        return type(super().order(profile))(-np.arange(len(profile.ids)))
