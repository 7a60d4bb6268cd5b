"""What there is by name, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from fairagents.errors import SpecError, did_you_mean
from fairagents.plugins import Plugins
from fairagents.rules.base import RULES, Needs, Rule
from fairagents.rules.electorate import Electorate, letter
from fairagents.spec import Floats

FORMS = {"ranking": "ranks", "rankings": "ranks", "approval": "approvals", "rating": "ratings"}
"""Other words for the forms of ballot that rules read."""


def kinds() -> dict[str, Plugins[Any]]:
    """Return kind -> the plug-ins of that kind."""
    from fairagents.agents.base import POLICIES
    from fairagents.evaluators.base import EVALUATORS
    from fairagents.protocols.base import PROTOCOLS
    from fairagents.spec import INDICATORS
    from fairagents.usecase import USECASES

    return {
        "usecases": USECASES,
        "rules": RULES,
        "evaluators": EVALUATORS,
        "policies": POLICIES,
        "protocols": PROTOCOLS,
        "indicators": INDICATORS,
    }


def names(kind: str) -> Iterator[str]:
    """Yield a line of names for one kind, or for every one.

    Raises:
        SpecError: there is no such kind.
    """
    found = kinds()
    if kind and kind not in found:
        raise SpecError(f"no kind {kind!r}; {did_you_mean(kind, found)}")
    for name, plugins in found.items():
        if kind in ("", name):
            yield f"{name}: {', '.join(plugins.names())}"


def rules(needs: str, axiom: str) -> Iterator[str]:
    """Yield a line for each rule that reads a form of ballot and keeps an axiom; "" is any.

    Raises:
        SpecError: there is no such form or axiom.
    """
    from fairagents.rules.axioms import AXIOMS
    from fairagents.rules.matrix import entry

    needs = FORMS.get(needs, needs)
    for what, value, known in (("--needs", needs, get_args(Needs)), ("--axiom", axiom, AXIOMS)):
        if value and value not in known:
            raise SpecError(f"{what} {value!r} is not known; {did_you_mean(value, known)}")
    for rule in map(RULES.get, RULES):
        if needs in ("", rule.needs) and (not axiom or entry(rule, axiom).status == "holds"):
            yield f"{rule.name:24} {rule.needs:10} {rule.formula}"


def rule_card(rule: type[Rule]) -> Iterator[str]:
    """Yield what a rule says of itself, then each axiom: why it holds, or where it fails."""
    from fairagents.rules.matrix import row

    summary = (rule.__doc__ or "").strip().split("\n\n")[0]
    yield f"{rule.name}: {' '.join(summary.split())}"
    facts = {"formula": rule.formula, "source": rule.source, "complexity": rule.complexity}
    for name, fact in facts.items():
        yield f"  {name:24} {fact}"
    yield f"  {'reads':24} {rule.needs} ({rule.basis})"
    for axiom, found in row(rule).items():
        if found.status == "not applicable":
            continue
        yield f"  {axiom:24} {found.status}: {found.why}"
        if found.witness is not None:
            yield f"  {'':24} {_told(found.witness, rule.needs)}"


def _told(e: Electorate, needs: str) -> str:
    """Return what an electorate says, as a rule reads it."""
    ballots = [
        f"{weight} x {_ballot(said, needs)}" for weight, said in zip(e.weights, e.said, strict=True)
    ]
    return "; ".join(ballots)


def _ballot(said: Floats, needs: str) -> str:
    names = [letter(i) for i in range(len(said))]
    if needs == "approvals":
        return "{" + ", ".join(n for n, x in zip(names, said, strict=True) if x > 0.5) + "}"
    if needs == "ratings":
        return ", ".join(f"{n} {x:.6g}" for n, x in zip(names, said, strict=True))
    tiers = [
        " ~ ".join(n for n, x in zip(names, said, strict=True) if x == level)
        for level in sorted(set(said.tolist()), reverse=True)
    ]
    return " > ".join(tiers)
