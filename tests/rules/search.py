"""Looks for the electorates that `fairagents.rules.matrix` keeps; `python -m tests.rules.search`.

For each rule and axiom that applies and is not declared to hold, the smallest random electorate
on which it fails; and a few electorates on which every two rules elect others.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fairagents.rules import matrix
from fairagents.rules.axioms import AXIOMS, Axiom
from fairagents.rules.base import RULES, CommitteeRule, OrderRule, Rule
from fairagents.rules.electorate import Electorate, committees, levels

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
    """Look among strict, complete, unevenly weighted ballots of four and five alternatives."""
    rng = np.random.default_rng(seed)
    for i in range(tries):
        n, m = int(rng.integers(3, 8)), 4 + i % 3
        said = np.array([rng.permutation(m) for _ in range(n)]) / (m - 1)
        if rule.needs == "approvals":
            said = rng.integers(0, 2, (n, m)).astype(float)
        e = Electorate(said, tuple(rng.integers(1, 10, n).tolist()), int(rng.integers(1, m + 1)))
        says = axiom.check(rule, e)
        if says:
            return {"says": says, **plain(e)}
    return None


def plain(e: Electorate) -> dict[str, Any]:
    """Return an electorate as JSON."""
    said = [[round(float(x), 6) for x in row] for row in e.said]
    return {"said": said, "weights": list(e.weights), "size": e.size}


def result(rule: Rule, e: Electorate) -> object:
    """What tells two rules apart: the tiers, or the tied committees."""
    if isinstance(rule, OrderRule):
        return tuple(levels(rule, e).tolist())
    return tuple(committees(rule, e, min(e.size, e.said.shape[1])))


def slate_rules() -> dict[str, Rule]:
    """All rules that decide slates, with their default parameters."""
    built = {name: RULES.build(name) for name in RULES}
    return {n: r for n, r in built.items() if isinstance(r, OrderRule | CommitteeRule)}


def telling(rules: dict[str, Rule], tries: int = 3000) -> list[dict[str, Any]]:
    """Return electorates that tell every two rules apart, few by greedy choice."""
    rng = np.random.default_rng(1)
    open_ = set(itertools.combinations(rules, 2))
    kept: list[dict[str, Any]] = []
    for _ in range(tries):
        if not open_:
            return kept
        e = random_electorate(rng, int(rng.integers(3, 8)), int(rng.integers(3, 7)), "ratings")
        found = {name: result(rule, e) for name, rule in rules.items()}
        apart = {(a, b) for a, b in open_ if differ(found[a], found[b])}
        if len(apart) > len(open_) / 4 or (apart and len(kept) > 3):
            kept.append(plain(e))
            open_ -= apart
    sys.stderr.write(f"never told apart: {sorted(open_)}\n")
    return kept


def differ(a: object, b: object) -> bool:
    """Whether two results differ, an order and a committee being of different kinds."""
    return a != b


def main() -> None:
    """Write both files; name what was not found."""
    wanted = sys.argv[1:]
    rules = slate_rules()
    path = KEPT / "witnesses.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for name, rule in rules.items():
        if wanted and name not in wanted:
            continue
        kept[name] = {}
        for axiom in AXIOMS.values():
            if axiom.applies(type(rule)):
                continue
            found = witness(rule, axiom)
            if found is None and axiom.name not in rule.holds:
                found = hard_witness(rule, axiom)
            if (found is None) != (axiom.name in rule.holds):
                what = "no witness" if found is None else f"HOLDS? {found}"
                sys.stderr.write(f"{name}/{axiom.name}: {what}\n")
            if found is not None and axiom.name not in rule.holds:
                kept[name][axiom.name] = found
    kept = {name: kept[name] for name in rules if name in kept}
    write(path, kept)
    if not wanted:
        write(KEPT / "differences.json", telling(rules))


def write(path: Path, data: object) -> None:
    """Write JSON with one electorate a line."""
    text = json.dumps(data, indent=1, sort_keys=True)
    import re

    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
