"""Writes docs/reference/rules.md in the rules' own words: `python -m tests.docs.rules`."""

from __future__ import annotations

import sys
from pathlib import Path

from fairagents.rules.axioms import AXIOMS
from fairagents.rules.base import RULES, Rule
from fairagents.rules.matrix import EQUAL, matrix
from fairagents.rules.names import BUILTIN, NAMES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "rules.md"

MARK = "<!-- What follows is made from the code by `python -m tests.docs.rules`. -->"
"""The page's first part is written by hand, up to this line."""


def page() -> str:
    """Return the page."""
    parts = [PAGE.read_text(encoding="utf-8").split(MARK)[0] + MARK + "\n"]
    for module, classes in NAMES.items():
        rules = [RULES.get(name) for name in classes]
        parts.append(f"## {module.replace('_', ' ').capitalize()}\n")
        parts += [entry(rule) for rule in rules]
    parts.append(table())
    parts.append(statements())
    return "\n".join(parts)


def entry(rule: type[Rule]) -> str:
    """Return what one rule says of itself."""
    summary = (rule.__doc__ or "").strip().split("\n\n")[0].replace("\n   ", "")
    fields = {
        name: field.default
        for name, field in rule.model_fields.items()
        if name not in ("tie_break", "time_limit")
    }
    lines = [
        f"### `{rule.name}`",
        "",
        f"`{rule.__name__}`: {' '.join(summary.split())}",
        "",
        f"* formula: {rule.formula}",
        f"* source: {rule.source}",
        f"* complexity: {rule.complexity}",
        f"* needs {rule.needs}; {rule.basis}",
    ]
    if fields:
        lines.append(f"* fields: {', '.join(f'`{k}` = {v!r}' for k, v in fields.items())}")
    if rule.holds:
        lines.append(f"* holds: {'; '.join(f'{a} ({why})' for a, why in rule.holds.items())}")
    return "\n".join([*lines, ""])


def table() -> str:
    """Return the matrix of the rules that decide slates, and which rules elect the same."""
    found = {name: row for name, row in matrix().items() if RULES.get(name).decides == "slate"}
    marks = {"holds": "+", "fails": "-", "not applicable": "n/a", "unknown": "?"}
    lines = [
        "## Rules and axioms\n",
        "`+` holds (why: above); `-` fails: `fairagents.rules.matrix.entry(rule, axiom)` says how\n"
        "and holds an electorate that shows it; `n/a` does not apply (why: there as well).\n"
        "`fairagents list rules NAME` says all of it for one rule.\n",
        f"| rule | {' | '.join(a.replace('_', ' ') for a in AXIOMS)} |",
        f"|---|{'---|' * len(AXIOMS)}",
    ]
    for name, row in found.items():
        lines.append(f"| `{name}` | {' | '.join(marks[row[a].status] for a in AXIOMS)} |")
    lines.append("\nEvery two of these rules elect others on some kept electorate, but:\n")
    lines += [f"* `{a}` and `{b}`: {why}" for (a, b), why in EQUAL.items()]
    return "\n".join([*lines, ""])


def statements() -> str:
    """Return what each axiom asks."""
    lines = [f"* **{a.name.replace('_', ' ')}**: {a.statement}" for a in AXIOMS.values()]
    return "\n".join(["## Axioms\n", *lines, ""])


def main() -> None:
    """Write the page."""
    missing = [name for name in BUILTIN if name not in RULES.names()]
    assert not missing, missing
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")


if __name__ == "__main__":
    main()
