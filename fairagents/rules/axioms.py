"""Axioms as tests: each tells of one electorate whether a rule violates it there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairagents.rules._changes import circled, cloned, raised
from fairagents.rules.base import CommitteeRule, OrderRule, Rule
from fairagents.rules.electorate import Electorate, committees, letter, levels, winners
from fairagents.spec import Bools, Floats

Check = Callable[[Rule, Electorate], str]


@dataclass(frozen=True)
class Axiom:
    """One axiom.

    Attributes:
        name: as rules name it in `holds`.
        statement: what it asks, in words.
        check: returns "" where an electorate shows no violation, else what goes wrong.
        of: which rules it speaks of.
    """

    name: str
    statement: str
    check: Check
    of: str = "any"

    def applies(self, rule: type[Rule]) -> str:
        """Return "" if the axiom speaks of a rule, else why it does not."""
        if rule.decides != "slate":
            return f"decides a {rule.decides}"
        if self.of == "ratings" and rule.needs != "ratings":
            return "reads no numbers"
        if self.of == "ranks" and rule.needs != "ranks":
            return "reads no orders"
        if self.of == "approvals" and rule.needs != "approvals":
            return "reads no approvals"
        if self.of == "committees" and not issubclass(rule, CommitteeRule):
            return "takes the best of an order"
        if self.of == "orders" and not issubclass(rule, OrderRule):
            return "elects slates, puts nothing in order"
        return ""


# -- symmetry ------------------------------------------------------------------------------------


def _anonymity(rule: Rule, e: Electorate) -> str:
    n = len(e.weights)
    for order in ([*range(1, n), 0], list(range(n))[::-1]):
        if winners(rule, e.take(order)) != winners(rule, e):
            return f"voters in the order {[v + 1 for v in order]} elect others"
    return ""


def _neutrality(rule: Rule, e: Electorate) -> str:
    m = e.said.shape[1]
    for order in ([*range(1, m), 0], list(range(m))[::-1]):
        renamed = winners(rule, e.saying(e.said[:, order]))
        if frozenset(order[i] for i in renamed) != winners(rule, e):
            return f"with the names moved to {[f'{letter(i)}' for i in order]} another wins"
    return ""


def _homogeneity(rule: Rule, e: Electorate) -> str:
    for times in (2, 3):
        copies = Electorate(e.said, tuple(w * times for w in e.weights))
        if winners(rule, copies) != winners(rule, e):
            return f"all weights times {times} elect others"
    return ""


# -- efficiency and majority -----------------------------------------------------------------------


def _unanimity(rule: Rule, e: Electorate) -> str:
    first = _strict_firsts(e)
    one = int(np.flatnonzero(first[0])[0]) if first[0].any() else -1
    if one < 0 or not first[:, one].all():
        return ""
    return _only(rule, e, one, "is first on all ballots")


def _pareto(rule: Rule, e: Electorate) -> str:
    for a in winners(rule, e):
        above = (e.said > e.said[:, [a]]).all(axis=0)
        if above.any():
            return (
                f"{letter(int(np.flatnonzero(above)[0]))} is above the winner {letter(a)} for all"
            )
    return ""


def _majority(rule: Rule, e: Electorate) -> str:
    exact = [Fraction(str(w)) for w in e.weights]
    first = _strict_firsts(e)
    for a in range(e.said.shape[1]):
        if 2 * sum(w for w, f in zip(exact, first[:, a], strict=True) if f) > sum(exact):
            return _only(rule, e, a, "is first for more than half")
    return ""


def _condorcet(rule: Rule, e: Electorate) -> str:
    for a, row in enumerate(e.margins()):
        if (np.delete(row, a) > 0).all():
            return _only(rule, e, a, "wins every duel")
    return ""


def _condorcet_loser(rule: Rule, e: Electorate) -> str:
    for a, row in enumerate(e.margins()):
        if len(row) > 1 and (np.delete(row, a) < 0).all() and winners(rule, e) == {a}:
            return f"{letter(a)} loses every duel and wins"
    return ""


def _smith(rule: Rule, e: Electorate) -> str:
    margins = e.margins()
    m = len(margins)
    for size in range(1, m):
        for inside in itertools.combinations(range(m), size):
            outside = [b for b in range(m) if b not in inside]
            if (margins[np.ix_(inside, outside)] > 0).all():
                strange = winners(rule, e) - set(inside)
                names = ", ".join(map(letter, inside))
                return (
                    f"{letter(min(strange))} wins outside the Smith set {names}" if strange else ""
                )
    return ""


# -- change and consistency ------------------------------------------------------------------------


def _monotonicity(rule: Rule, e: Electorate) -> str:
    for a in winners(rule, e):
        for v, row in enumerate(e.said):
            for better in raised(row, a):
                said = e.said.copy()
                said[v] = better
                if a not in winners(rule, e.saying(said)):
                    return f"raised on ballot {v + 1}, the winner {letter(a)} loses"
    return ""


def _reinforcement(rule: Rule, e: Electorate) -> str:
    n = len(e.weights)
    for size in range(1, n):
        for part in itertools.combinations(range(n), size):
            rest = [v for v in range(n) if v not in part]
            both = winners(rule, e.take(part)) & winners(rule, e.take(rest))
            if both and winners(rule, e) != both:
                names = ", ".join(map(letter, sorted(both)))
                return (
                    f"ballots {[v + 1 for v in part]} and the others agree on {names}, all do not"
                )
    return ""


def _clone_independence(rule: Rule, e: Electorate) -> str:
    before = winners(rule, e)
    n, m = e.said.shape
    for a in range(m):
        patterns = ([0] * n, [1] * n, [v % 2 for v in range(n)])
        copies = [cloned(e.said, a, pattern, rule.needs) for pattern in patterns]
        for said in (*copies, circled(e.said, a, rule.needs)):
            after = winners(rule, e.saying(said))
            if frozenset(a if i >= m else i for i in after) != before:
                one = said.shape[1] == m + 1
                what = ("a clone", "changes") if one else ("two clones", "change")
                return f"{what[0]} of {letter(a)} {what[1]} the winners"
    return ""


def _reversal(rule: Rule, e: Electorate) -> str:
    won = winners(rule, e)
    if len(won) != 1 or e.said.shape[1] == 1:
        return ""
    if won & winners(rule, e.saying(1 - e.said)):
        return f"{letter(min(won))} wins also with all ballots reversed"
    return ""


def _independence_of_losers(rule: Rule, e: Electorate) -> str:
    won = winners(rule, e)
    for a in sorted(set(range(e.said.shape[1])) - won):
        kept = [i for i in range(e.said.shape[1]) if i != a]
        after = frozenset(kept[i] for i in winners(rule, e.saying(e.said[:, kept])))
        if after != won:
            return f"without the loser {letter(a)} the winners change"
    return ""


def _iia(rule: Rule, e: Electorate) -> str:
    assert isinstance(rule, OrderRule)
    all_levels = levels(rule, e)
    for a, b in itertools.combinations(range(len(all_levels)), 2):
        two = levels(rule, e.saying(e.said[:, [a, b]]))
        if np.sign(all_levels[a] - all_levels[b]) != np.sign(two[0] - two[1]):
            return f"the order of {letter(a)} and {letter(b)} depends on the others"
    return ""


def _later_no_harm(rule: Rule, e: Electorate) -> str:
    won = winners(rule, e)
    for v, row in enumerate(e.said):
        last = np.flatnonzero(row == row.min())
        listed = won & set(np.flatnonzero(row > row.min()).tolist())
        for b in last.tolist() if len(last) > 1 and listed else ():
            said = e.said.copy()
            upper = row[row > row.min()].min()
            said[v, b] = (row.min() + upper) / 2
            lost = listed - winners(rule, e.saying(said))
            if lost:
                return f"ballot {v + 1} also ranks {letter(b)}, which harms {letter(min(lost))}"
    return ""


def _separability(rule: Rule, e: Electorate) -> str:
    idle = np.vstack([e.said, np.full(e.said.shape[1], 0.5)])
    if winners(rule, Electorate(idle, (*e.weights, 1))) != winners(rule, e):
        return "a voter to whom all are equal changes the winners"
    return ""


# -- numbers ---------------------------------------------------------------------------------------


def _scale_invariance(rule: Rule, e: Electorate) -> str:
    return _rescaled(rule, e, lambda row: row / 2, "halved")


def _shift_invariance(rule: Rule, e: Electorate) -> str:
    return _rescaled(rule, e, lambda row: row - row.min() / 2, "shifted")


def _rescaled(rule: Rule, e: Electorate, change: Callable[[Floats], Floats], word: str) -> str:
    for v, row in enumerate(e.said):
        said = e.said.copy()
        said[v] = change(row)
        if winners(rule, e.saying(said)) != winners(rule, e):
            return f"ballot {v + 1} with its ratings {word} changes the winners"
    return ""


def _pigou_dalton(rule: Rule, e: Electorate) -> str:
    for a in winners(rule, e):
        for rich, poor in itertools.permutations(range(len(e.weights)), 2):
            gap = e.said[rich, a] - e.said[poor, a]
            if e.weights[rich] != e.weights[poor] or gap <= 0:
                continue
            said = e.said.copy()
            said[rich, a] -= gap / 4
            said[poor, a] += gap / 4
            if a not in winners(rule, e.saying(said)):
                return f"a transfer from voter {rich + 1} to {poor + 1} makes {letter(a)} lose"
    return ""


# -- committees ------------------------------------------------------------------------------------


def _committee_monotonicity(rule: Rule, e: Electorate) -> str:
    for k in range(1, e.said.shape[1]):
        larger = [set(one) for one in committees(rule, e, k + 1)]
        for one in committees(rule, e, k):
            if not any(set(one) <= big for big in larger):
                names = ", ".join(map(letter, one))
                return f"{names} win with {k} seats and not together with {k + 1}"
    return ""


def _justified(rule: Rule, e: Electorate, kind: str) -> str:
    """Check (proportional, extended) justified representation, weights counting as clones."""
    approved: Bools = e.said > 0.5
    weights = [Fraction(str(w)) for w in e.weights]
    for committee in committees(rule, e, e.size):
        inside = np.zeros(approved.shape[1], dtype=bool)
        inside[list(committee)] = True
        for group in _groups(len(weights)):
            voice = sum(weights[v] for v in group)
            share = int(voice * e.size / sum(weights))
            common = int(approved[list(group)].all(axis=0).sum())
            levels = range(1, min(share, common) + 1)
            each = [int((approved[v] & inside).sum()) for v in group]
            together = int((approved[list(group)].any(axis=0) & inside).sum())
            for level in levels[:1] if kind == "jr" else levels:
                if (together if kind == "pjr" else max(each)) < level:
                    names = ", ".join(map(letter, committee))
                    who = [v + 1 for v in group]
                    return f"voters {who} deserve {level} of {e.size} and {names} give them less"
    return ""


def _jr(rule: Rule, e: Electorate) -> str:
    return _justified(rule, e, "jr")


def _pjr(rule: Rule, e: Electorate) -> str:
    return _justified(rule, e, "pjr")


def _ejr(rule: Rule, e: Electorate) -> str:
    return _justified(rule, e, "ejr")


# -- parts -----------------------------------------------------------------------------------------


def _strict_firsts(e: Electorate) -> Bools:
    """Return whether each voter puts each alternative strictly first, shape (n, m)."""
    best: Bools = e.said == e.said.max(axis=1, keepdims=True)
    alone: Bools = best & (best.sum(axis=1, keepdims=True) == 1)
    return alone


def _only(rule: Rule, e: Electorate, a: int, why: str) -> str:
    won = winners(rule, e)
    if won == {a}:
        return ""
    return f"{letter(a)} {why}, the winners are {', '.join(map(letter, sorted(won)))}"


def _groups(n: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, n + 1):
        yield from itertools.combinations(range(n), size)


AXIOMS: dict[str, Axiom] = {
    axiom.name: axiom
    for axiom in (
        Axiom("anonymity", "The order of the voters does not matter.", _anonymity),
        Axiom("neutrality", "The names of the alternatives do not matter.", _neutrality),
        Axiom("homogeneity", "All weights times one number change nothing.", _homogeneity),
        Axiom("unanimity", "What is strictly first for all is the only winner.", _unanimity),
        Axiom("pareto", "No winner is strictly below one other on all ballots.", _pareto),
        Axiom("majority", "What more than half put strictly first is the only winner.", _majority),
        Axiom("condorcet", "What wins every duel is the only winner.", _condorcet),
        Axiom("condorcet_loser", "What loses every duel is not the only winner.", _condorcet_loser),
        Axiom("smith", "Winners lie in the smallest set that beats all outside it.", _smith),
        Axiom("monotonicity", "A winner that is raised on a ballot stays a winner.", _monotonicity),
        Axiom("reinforcement", "What two electorates agree on, they elect together.",
              _reinforcement),
        Axiom("clone_independence", "A copy next to an alternative changes nothing else.",
              _clone_independence),
        Axiom("reversal", "A sole winner does not win with all ballots reversed.", _reversal),
        Axiom("independence_of_losers", "Without a loser the winners are the same.",
              _independence_of_losers),
        Axiom("iia", "The order of two depends on the order of these two alone.", _iia,
              "orders"),
        Axiom("later_no_harm", "Ranking one more below harms none that is ranked already.",
              _later_no_harm, "ranks"),
        Axiom("separability", "A voter to whom all are equal does not matter.", _separability),
        Axiom("scale_invariance", "A voter's ratings halved change nothing.", _scale_invariance,
              "ratings"),
        Axiom("shift_invariance", "A voter's ratings lowered by one number change nothing.",
              _shift_invariance, "ratings"),
        Axiom("pigou_dalton", "A transfer from better to worse off does not unseat a winner.",
              _pigou_dalton, "ratings"),
        Axiom("committee_monotonicity", "With one seat more nobody loses a seat.",
              _committee_monotonicity, "committees"),
        Axiom("jr", "A group that deserves a seat and agrees has a member who is served.", _jr,
              "approvals"),
        Axiom("pjr", "A group that deserves l seats and agrees on l has l among it.", _pjr,
              "approvals"),
        Axiom("ejr", "In a group that deserves l seats and agrees on l, somebody has l.", _ejr,
              "approvals"),
    )
}  # fmt: skip
"""name -> axiom."""
