"""Which rule stands where, so that a name is found and nothing is imported before it is used."""

from __future__ import annotations

NAMES: dict[str, dict[str, str]] = {
    "positional": {
        "borda": "Borda",
    },
    "pairwise": {
        "copeland": "Copeland",
    },
    "welfare": {
        "utilitarian": "Utilitarian",
        "nash": "Nash",
        "leximin": "Leximin",
    },
}
"""module -> name of the rule -> its class."""

BUILTIN = {
    name: f"fairagents.rules.{module}:{cls}"
    for module, classes in NAMES.items()
    for name, cls in classes.items()
}
"""name of the rule -> `"module:Class"`."""
