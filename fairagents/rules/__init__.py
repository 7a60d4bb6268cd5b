"""Social-choice rules; a name is imported when it is first used.

>>> from fairagents.rules import Borda
>>> Borda().label
'borda'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairagents.rules.names import NAMES

if TYPE_CHECKING:
    from fairagents.rules.approval import (
        ApprovalVoting as ApprovalVoting,
        SatisfactionApproval as SatisfactionApproval,
    )
    from fairagents.rules.assignment import (
        DeferredAcceptance as DeferredAcceptance,
        LeximinAssignment as LeximinAssignment,
        RankMaximal as RankMaximal,
        RoundRobin as RoundRobin,
        SerialDictatorship as SerialDictatorship,
    )
    from fairagents.rules.base import (
        MOST_WINNERS as MOST_WINNERS,
        RULES as RULES,
        TOLERANCE as TOLERANCE,
        Basis as Basis,
        CommitteeRule as CommitteeRule,
        Elected as Elected,
        Needs as Needs,
        Order as Order,
        OrderRule as OrderRule,
        Rule as Rule,
        Ties as Ties,
        levels_of as levels_of,
    )
    from fairagents.rules.bucklin import Bucklin as Bucklin
    from fairagents.rules.cardinal import (
        MajorityJudgment as MajorityJudgment,
        Median as Median,
        RangeVoting as RangeVoting,
        Star as Star,
    )
    from fairagents.rules.compare import compare_rules as compare_rules
    from fairagents.rules.dictatorship import (
        RandomDictatorship as RandomDictatorship,
        RandomSerialDictatorship as RandomSerialDictatorship,
    )
    from fairagents.rules.divisible import (
        AlphaFairDivision as AlphaFairDivision,
        LeximinDivision as LeximinDivision,
        MaximinDivision as MaximinDivision,
        MeanPlan as MeanPlan,
        NashDivision as NashDivision,
        UtilitarianDivision as UtilitarianDivision,
    )
    from fairagents.rules.elimination import Coombs as Coombs, InstantRunoff as InstantRunoff
    from fairagents.rules.fusion import (
        CombMnz as CombMnz,
        CombSum as CombSum,
        ReciprocalRankFusion as ReciprocalRankFusion,
    )
    from fairagents.rules.kemeny import Footrule as Footrule, Kemeny as Kemeny
    from fairagents.rules.lottery import (
        MaximalLottery as MaximalLottery,
        ProportionalBorda as ProportionalBorda,
    )
    from fairagents.rules.means import (
        Atkinson as Atkinson,
        GiniWelfare as GiniWelfare,
        Owa as Owa,
        PMean as PMean,
        Prioritarian as Prioritarian,
    )
    from fairagents.rules.meta import (
        Blend as Blend,
        LexicographicPriority as LexicographicPriority,
        VetoThen as VetoThen,
    )
    from fairagents.rules.nanson import Baldwin as Baldwin, Nanson as Nanson
    from fairagents.rules.pairwise import (
        Black as Black,
        Condorcet as Condorcet,
        Copeland as Copeland,
        Minimax as Minimax,
        Schwartz as Schwartz,
        Smith as Smith,
    )
    from fairagents.rules.paths import (
        RankedPairs as RankedPairs,
        Schulze as Schulze,
        SplitCycle as SplitCycle,
    )
    from fairagents.rules.phragmen import SequentialPhragmen as SequentialPhragmen
    from fairagents.rules.positional import (
        Borda as Borda,
        Dowdall as Dowdall,
        KApproval as KApproval,
        Plurality as Plurality,
        Scoring as Scoring,
        Veto as Veto,
    )
    from fairagents.rules.proportional import (
        SequentialProportionalBorda as SequentialProportionalBorda,
    )
    from fairagents.rules.sequential import (
        ReverseSequentialPav as ReverseSequentialPav,
        SequentialCc as SequentialCc,
        SequentialPav as SequentialPav,
    )
    from fairagents.rules.serial import ProbabilisticSerial as ProbabilisticSerial
    from fairagents.rules.shares import EqualShares as EqualShares
    from fairagents.rules.slates import (
        LeximinSlate as LeximinSlate,
        MaximinSlate as MaximinSlate,
        NashSlate as NashSlate,
        UtilitarianSlate as UtilitarianSlate,
    )
    from fairagents.rules.squared import SquaredKemeny as SquaredKemeny
    from fairagents.rules.stable import StableVoting as StableVoting
    from fairagents.rules.stv import SingleTransferableVote as SingleTransferableVote
    from fairagents.rules.thiele import ChamberlinCourant as ChamberlinCourant, Pav as Pav
    from fairagents.rules.trace import recount as recount
    from fairagents.rules.welfare import (
        Leximin as Leximin,
        Maximin as Maximin,
        Nash as Nash,
        RelativeUtilitarian as RelativeUtilitarian,
        ThresholdSum as ThresholdSum,
        Utilitarian as Utilitarian,
    )

_BASE = (
    "RULES Rule OrderRule CommitteeRule Order Elected Ties levels_of Needs Basis MOST_WINNERS "
    "TOLERANCE"
)
_PLACES = {cls: module for module, classes in NAMES.items() for cls in classes.values()}
_PLACES |= dict.fromkeys(_BASE.split(), "base")
_PLACES |= {"recount": "trace", "compare_rules": "compare"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'fairagents.rules' has no attribute {name!r}")
    return getattr(importlib.import_module(f"fairagents.rules.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
