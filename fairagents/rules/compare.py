"""The same ballots through many rules: who wins by which, how alike their orders are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fairagents.errors import FairagentsError
from fairagents.profile import Profile
from fairagents.rules.base import RULES, OrderRule, Rule
from fairagents.spec import Floats, Ints


@dataclass(frozen=True)
class Comparison:
    """What several rules make of one profile.

    Attributes:
        rules: the rules' labels, those with an order first asked for.
        winners: label -> the first tier; empty where a rule is undefined on these ballots.
        tied: labels of rules whose first tier has more than one member.
        undefined: label -> why the rule gave no order.
        agreement: Kendall's tau-b between the orders of two rules, shape (r, r), in [-1, 1]; NaN
            where a rule is undefined or ties everything.
    """

    rules: tuple[str, ...]
    winners: dict[str, tuple[str, ...]]
    tied: tuple[str, ...]
    undefined: dict[str, str]
    agreement: Floats

    def tau(self, a: str, b: str) -> float:
        """Return the agreement of two rules by label; KeyError for one that is not here."""
        for one in (a, b):
            if one not in self.rules:
                raise KeyError(f"no rule {one!r}; there are {list(self.rules)}")
        return float(self.agreement[self.rules.index(a), self.rules.index(b)])


def compare_rules(
    profile: Profile, rules: Iterable[Rule | str] | None = None, *, seed: int = 0
) -> Comparison:
    """Put one profile through many rules.

    Args:
        profile: the ballots.
        rules: rules or their names; by default all built-in order rules that read a form of
            ballot that somebody gave.
        seed: for rules that break ties or draw on their way.

    >>> profile = Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["b", "a", "c"]])
    >>> found = compare_rules(profile, ["borda", "plurality", "irv"])
    >>> found.winners["borda"], found.tied
    (('b',), ())
    >>> found.tau("borda", "plurality")
    1.0
    """
    chosen = [RULES.build(rule) for rule in (_readable(profile) if rules is None else rules)]
    labels = tuple(rule.label for rule in chosen)
    winners: dict[str, tuple[str, ...]] = {}
    undefined: dict[str, str] = {}
    levels = np.zeros((len(chosen), len(profile.ids)), dtype=np.int64)
    index = {one: i for i, one in enumerate(profile.ids)}
    for i, rule in enumerate(chosen):
        try:
            decision = rule(profile, seed=seed)
        except FairagentsError as error:
            undefined[rule.label] = str(error)
            winners[rule.label] = ()
            continue
        winners[rule.label] = decision.tiers[0]
        for level, tier in enumerate(decision.tiers):
            levels[i, [index[one] for one in tier]] = level
    tied = tuple(label for label in labels if len(winners[label]) > 1)
    agreement = kendall(levels)
    for i, label in enumerate(labels):
        if label in undefined:
            agreement[i, :] = agreement[:, i] = np.nan
    return Comparison(labels, winners, tied, undefined, agreement)


def _readable(profile: Profile) -> list[str]:
    """Return the names of the order rules that read what somebody said."""
    forms = {"ranking": "ranks", "ratings": "ratings", "approvals": "approvals"}
    given = {forms[form] for form in profile.forms} | {"ranks"}
    return [
        name
        for name in RULES
        if issubclass(cls := RULES.get(name), OrderRule) and cls.needs in given
    ]


def kendall(levels: Ints) -> Floats:
    """Return Kendall's tau-b between all rows of tiers, shape (r, r).

    tau_b = sum sign_a sign_b / sqrt(pairs untied in a x pairs untied in b) over pairs of
    alternatives; NaN where a row ties everything. Source: Kendall 1945 (as commonly stated).

    >>> kendall(np.array([[0, 1, 2], [2, 1, 0], [0, 0, 1]])).round(3).tolist()
    [[1.0, -1.0, 0.816], [-1.0, 1.0, -0.816], [0.816, -0.816, 1.0]]
    """
    upper = np.triu_indices(levels.shape[1], 1)
    signs = np.sign(levels[:, upper[0]] - levels[:, upper[1]]).astype(np.float64)
    untied = (signs**2).sum(axis=1)
    both = np.sqrt(np.outer(untied, untied))
    tau: Floats = np.where(both > 0, signs @ signs.T / np.where(both > 0, both, 1.0), np.nan)
    return tau
