"""Which rule stands where, so that a name is found and nothing is imported before it is used."""

from __future__ import annotations

NAMES: dict[str, dict[str, str]] = {
    "positional": {
        "borda": "Borda",
    },
    "pairwise": {
        "condorcet": "Condorcet",
        "smith": "Smith",
        "schwartz": "Schwartz",
        "copeland": "Copeland",
        "minimax": "Minimax",
        "black": "Black",
    },
    "welfare": {
        "utilitarian": "Utilitarian",
        "nash": "Nash",
        "leximin": "Leximin",
    },
    "slates": {
        "utilitarian_slate": "UtilitarianSlate",
        "maximin_slate": "MaximinSlate",
        "leximin_slate": "LeximinSlate",
        "nash_slate": "NashSlate",
    },
    "divisible": {
        "mean_plan": "MeanPlan",
        "utilitarian_division": "UtilitarianDivision",
        "maximin_division": "MaximinDivision",
        "leximin_division": "LeximinDivision",
        "nash_division": "NashDivision",
        "alpha_fair_division": "AlphaFairDivision",
    },
}
"""module -> name of the rule -> its class."""

BUILTIN = {
    name: f"fairagents.rules.{module}:{cls}"
    for module, classes in NAMES.items()
    for name, cls in classes.items()
}
"""name of the rule -> `"module:Class"`."""
