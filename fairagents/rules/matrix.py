"""Which rule keeps which axiom: every cell holds, fails with a kept electorate, or does not apply.

`kept/witnesses.json` holds for each rule and axiom that fails the smallest electorate found, and
`kept/differences.json` electorates that tell every two rules apart. Both are written by
`python -m tests.rules.search` and checked by the tests.

Axioms that speak of numbers are judged on ballots that rate everything.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairagents.rules.axioms import AXIOMS
from fairagents.rules.base import RULES, Rule
from fairagents.rules.electorate import Electorate
from fairagents.rules.names import BUILTIN

EQUAL = {
    ("utilitarian", "comb_sum"): "sums and means put alternatives in the same order",
    ("utilitarian", "utilitarian_slate"): "they differ only where side limits bind",
    ("utilitarian_slate", "comb_sum"): "they differ only where side limits bind",
}
"""Pairs of rules that elect the same slates without side limits, and why."""


@dataclass(frozen=True)
class Entry:
    """What is known of one rule and one axiom.

    Attributes:
        status: "holds", "fails", "not applicable", or "unknown" for a rule from outside.
        why: the source or reason, what goes wrong in the kept electorate, or why it is no question.
        witness: the electorate on which it fails.
    """

    status: Literal["holds", "fails", "not applicable", "unknown"]
    why: str
    witness: Electorate | None = None


def entry(rule: type[Rule], axiom: str) -> Entry:
    """Return what is known of a rule (with its default parameters) and an axiom.

    >>> from fairagents.rules import Borda
    >>> entry(Borda, "condorcet").status
    'fails'
    """
    unasked = AXIOMS[axiom].applies(rule)
    if unasked:
        return Entry("not applicable", unasked)
    if axiom in rule.holds:
        return Entry("holds", rule.holds[axiom])
    found = _kept("witnesses").get(rule.name, {}).get(axiom)
    if found is None:
        return Entry("unknown", "no electorate is kept on which it fails")
    return Entry("fails", found["says"], electorate_of(found))


def row(rule: type[Rule]) -> dict[str, Entry]:
    """Return axiom -> what is known of a rule and that axiom."""
    return {axiom: entry(rule, axiom) for axiom in AXIOMS}


def matrix() -> dict[str, dict[str, Entry]]:
    """Return rule -> axiom -> what is known, for all built-in rules."""
    return {name: row(RULES.get(name)) for name in RULES if name in BUILTIN}


def electorate_of(data: dict[str, Any]) -> Electorate:
    """Return a kept electorate."""
    said = np.array(data["said"], dtype=np.float64)
    return Electorate(said, tuple(data["weights"]), data.get("size", 2))


def differences() -> list[Electorate]:
    """Return the kept electorates on which every two rules differ at least once."""
    return [electorate_of(one) for one in _kept("differences")]


@functools.cache
def _kept(name: str) -> Any:
    folder = importlib.resources.files("fairagents.rules") / "kept"
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
