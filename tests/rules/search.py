"""Looks for the electorates that `fairagents.rules.matrix` keeps; `python -m tests.rules.search`.

For each rule and axiom that applies and is not declared to hold, the smallest random electorate
on which it fails; and a few electorates on which every two rules elect others.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fairagents.rules import matrix
from fairagents.rules.axioms import AXIOMS, Axiom
from fairagents.rules.base import RULES, CommitteeRule, OrderRule, Rule
from fairagents.rules.electorate import Electorate, committees, levels
from tests.rules.hard import HARD

KEPT = Path(matrix.__file__).parent / "kept"
TRIES = 800
SHAPES = [(n, m) for n in range(1, 7) for m in range(2, 6)]


def random_electorate(rng: np.random.Generator, n: int, m: int, needs: str) -> Electorate:
    """Ballots with ties and truncation on a grid of fifths, weights 1 to 4."""
    kind = rng.integers(3)
    if needs == "approvals":
        said = rng.integers(0, 2, (n, m)).astype(float)
    elif kind == 0 and needs == "ranks":
        said = np.array([rng.permutation(m) for _ in range(n)]) / max(m - 1, 1)
    elif kind == 1 and needs == "ranks":
        orders = np.array([rng.permutation(m) for _ in range(n)])
        keep = rng.integers(0, m + 1, n)
        said = np.where(orders >= m - keep[:, None], orders, 0) / max(m - 1, 1)
    else:
        said = rng.integers(0, 6, (n, m)) / 5
    weights = tuple(rng.integers(1, 5, n).tolist()) if rng.integers(2) else (1,) * n
    return Electorate(said, weights, int(rng.integers(1, m + 1)))


def witness(rule: Rule, axiom: Axiom, tries: int = TRIES, seed: int = 0) -> dict[str, Any] | None:
    """Return the smallest electorate found on which a rule violates an axiom."""
    rng = np.random.default_rng(seed)
    for n, m in sorted(SHAPES, key=lambda s: s[0] * s[1]):
        for _ in range(tries // len(SHAPES)):
            e = random_electorate(rng, n, m, rule.needs)
            says = axiom.check(rule, e)
            if says:
                return {"says": says, **plain(e)}
    return None


def hard_witness(
    rule: Rule, axiom: Axiom, tries: int = 4000, seed: int = 1
) -> dict[str, Any] | None:
    """Look among those by hand, then strict, unevenly weighted ballots of four alternatives up."""
    short = [e for e in HARD if rule.needs == "approvals" or e.said.shape[1] < 10]
    for e in itertools.chain(short, _hard(tries, seed, rule.needs)):
        says = axiom.check(rule, e)
        if says:
            return {"says": says, **plain(e)}
    return None


def _hard(tries: int, seed: int, needs: str) -> Iterator[Electorate]:
    rng = np.random.default_rng(seed)
    for i in range(tries):
        n, m = int(rng.integers(3, 8)), 4 + i % 3
        said = np.array([rng.permutation(m) for _ in range(n)]) / (m - 1)
        if needs == "approvals":
            said = rng.integers(0, 2, (n, m)).astype(float)
        weights = tuple(rng.integers(1, 10, n).tolist())
        yield Electorate(said, weights, int(rng.integers(1, m + 1)))


def plain(e: Electorate) -> dict[str, Any]:
    """Return an electorate as JSON."""
    said = [[None if np.isnan(x) else round(float(x), 6) for x in row] for row in e.said]
    return {"said": said, "weights": list(e.weights), "size": e.size}


def won(rule: Rule, e: Electorate) -> frozenset[tuple[int, ...]]:
    """Return the slates of the electorate's size that win under some tie-break, as positions."""
    k = min(e.size, e.said.shape[1])
    if not isinstance(rule, OrderRule):
        return frozenset(committees(rule, e, k))
    tiers = levels(rule, e)
    last = np.sort(tiers)[k - 1]
    sure, open_ = np.flatnonzero(tiers < last).tolist(), np.flatnonzero(tiers == last).tolist()
    rest = itertools.combinations(open_, k - len(sure))
    return frozenset(tuple(sorted((*sure, *some))) for some in rest)


def slate_rules() -> dict[str, Rule]:
    """All rules that decide slates, with their default parameters."""
    built = {name: RULES.build(name) for name in RULES}
    return {n: r for n, r in built.items() if isinstance(r, OrderRule | CommitteeRule)}


def telling(rules: dict[str, Rule], tries: int = 6000) -> list[dict[str, Any]]:
    """Return electorates that tell every two rules apart, few by greedy choice."""
    rng = np.random.default_rng(1)
    open_ = set(itertools.combinations(rules, 2)) - set(matrix.EQUAL)
    kept: list[dict[str, Any]] = []
    blanks = Electorate(np.array([[0.8, 0.9], [np.nan, 0.1]]), (1, 1), 1)
    shapes = zip(
        rng.integers(3, 8, tries).tolist(), rng.integers(3, 7, tries).tolist(), strict=True
    )
    drawn = (random_electorate(rng, n, m, "ratings") for n, m in shapes)
    for e in itertools.chain([blanks], drawn):
        if not open_:
            return kept
        found = {name: won(rules[name], e) for name in {one for pair in open_ for one in pair}}
        apart = {(a, b) for a, b in open_ if found[a] != found[b]}
        if len(apart) > len(open_) / 4 or (apart and (e is blanks or len(kept) > 6)):
            kept.append(plain(e))
            open_ -= apart
    sys.stderr.write(f"never told apart: {sorted(open_)}\n")
    return kept


def main() -> None:
    """Write the witnesses of the rules named, or of all; `differences` writes the other file."""
    rules = slate_rules()
    if sys.argv[1:] == ["differences"]:
        return write(KEPT / "differences.json", telling(rules))
    path = KEPT / "witnesses.json"
    for name in sys.argv[1:] or rules:
        found = witnesses(name, rules[name])
        kept = json.loads(path.read_text()) if path.exists() else {}
        kept[name] = found
        write(path, {name: kept[name] for name in rules if name in kept})


def witnesses(name: str, rule: Rule) -> dict[str, Any]:
    """Return axiom -> electorate for all that are not declared to hold; name what is missing."""
    kept = {}
    for axiom in AXIOMS.values():
        if axiom.applies(type(rule)):
            continue
        holds = axiom.name in rule.holds
        found = witness(rule, axiom) or (None if holds else hard_witness(rule, axiom))
        if holds != (found is None):
            sys.stderr.write(f"{name}/{axiom.name}: {found or 'no witness'}\n")
        if found and not holds:
            kept[axiom.name] = found
    return kept


def write(path: Path, data: object) -> None:
    """Write JSON with one electorate a line."""
    path.write_text(_lines(data) + "\n", encoding="utf-8")


def _lines(data: object) -> str:
    if isinstance(data, list):
        return "[\n" + ",\n".join(map(_lines, data)) + "\n]"
    if isinstance(data, dict) and "said" not in data:
        body = [f"{json.dumps(key)}: {_lines(value)}" for key, value in sorted(data.items())]
        return "{\n" + ",\n".join(body) + "\n}" if body else "{}"
    return json.dumps(data, sort_keys=True)


if __name__ == "__main__":
    main()
