"""Social-choice rules; a name is imported when it is first used.

>>> from fairagents.rules import Borda
>>> Borda().label
'borda'
"""

from __future__ import annotations

import importlib
from typing import Any

from fairagents.rules.names import NAMES

_PLACES = {cls: module for module, classes in NAMES.items() for cls in classes.values()}
_BASE = [
    "RULES",
    "Rule",
    "OrderRule",
    "CommitteeRule",
    "Order",
    "Elected",
    "Ties",
    "levels_of",
    "Needs",
    "Basis",
    "MOST_WINNERS",
    "TOLERANCE",
]
_PLACES |= dict.fromkeys(_BASE, "base") | {"recount": "trace"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'fairagents.rules' has no attribute {name!r}")
    return getattr(importlib.import_module(f"fairagents.rules.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
