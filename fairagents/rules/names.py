"""Which rule stands where, so that a name is found and nothing is imported before it is used."""

from __future__ import annotations

NAMES: dict[str, dict[str, str]] = {
    "positional": {
        "plurality": "Plurality",
        "veto": "Veto",
        "k_approval": "KApproval",
        "borda": "Borda",
        "dowdall": "Dowdall",
        "scoring": "Scoring",
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
        "relative_utilitarian": "RelativeUtilitarian",
        "nash": "Nash",
        "maximin": "Maximin",
        "leximin": "Leximin",
        "threshold_sum": "ThresholdSum",
    },
    "slates": {
        "utilitarian_slate": "UtilitarianSlate",
        "maximin_slate": "MaximinSlate",
        "leximin_slate": "LeximinSlate",
        "nash_slate": "NashSlate",
    },
    "assignment": {
        "serial_dictatorship": "SerialDictatorship",
        "round_robin": "RoundRobin",
        "rank_maximal": "RankMaximal",
        "leximin_assignment": "LeximinAssignment",
        "deferred_acceptance": "DeferredAcceptance",
    },
    "serial": {"probabilistic_serial": "ProbabilisticSerial"},
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
