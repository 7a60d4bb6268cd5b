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
    "paths": {
        "schulze": "Schulze",
        "ranked_pairs": "RankedPairs",
        "split_cycle": "SplitCycle",
    },
    "stable": {
        "stable_voting": "StableVoting",
    },
    "kemeny": {
        "kemeny": "Kemeny",
        "footrule": "Footrule",
    },
    "squared": {
        "squared_kemeny": "SquaredKemeny",
    },
    "elimination": {
        "irv": "InstantRunoff",
        "coombs": "Coombs",
    },
    "nanson": {"baldwin": "Baldwin", "nanson": "Nanson"},
    "bucklin": {"bucklin": "Bucklin"},
    "stv": {"stv": "SingleTransferableVote"},
    "approval": {
        "approval_voting": "ApprovalVoting",
        "satisfaction_approval": "SatisfactionApproval",
    },
    "sequential": {
        "seq_pav": "SequentialPav",
        "seq_cc": "SequentialCc",
        "rev_seq_pav": "ReverseSequentialPav",
    },
    "phragmen": {"seq_phragmen": "SequentialPhragmen"},
    "shares": {"mes": "EqualShares"},
    "thiele": {"pav": "Pav", "chamberlin_courant": "ChamberlinCourant"},
    "monroe": {"monroe": "Monroe"},
    "leximax": {"leximax_phragmen": "LeximaxPhragmen"},
    "proportional": {"seq_prop_borda": "SequentialProportionalBorda"},
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
    "means": {
        "p_mean": "PMean",
        "atkinson": "Atkinson",
        "prioritarian": "Prioritarian",
        "gini_welfare": "GiniWelfare",
        "owa": "Owa",
    },
    "fusion": {
        "reciprocal_rank_fusion": "ReciprocalRankFusion",
        "comb_sum": "CombSum",
        "comb_mnz": "CombMnz",
    },
    "cardinal": {
        "range_voting": "RangeVoting",
        "star": "Star",
        "majority_judgment": "MajorityJudgment",
        "median": "Median",
    },
    "lottery": {
        "maximal_lottery": "MaximalLottery",
        "proportional_borda": "ProportionalBorda",
    },
    "dictatorship": {
        "random_dictatorship": "RandomDictatorship",
        "random_serial_dictatorship": "RandomSerialDictatorship",
    },
    "meta": {
        "lexicographic_priority": "LexicographicPriority",
        "veto_then": "VetoThen",
        "blend": "Blend",
    },
}
"""module -> name of the rule -> its class."""

BUILTIN = {
    name: f"fairagents.rules.{module}:{cls}"
    for module, classes in NAMES.items()
    for name, cls in classes.items()
}
"""name of the rule -> `"module:Class"`."""

SLATE_RULES = tuple(
    name
    for module, classes in NAMES.items()
    if module not in ("divisible", "assignment", "serial")
    for name in classes
)
"""The rules that decide slates; the others divide or assign."""
