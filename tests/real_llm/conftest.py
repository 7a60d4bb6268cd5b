"""The server of the small real model, one for the whole run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_llm.serve import missing, serve

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def smollm_url() -> Iterator[str]:
    """The address of a server that has `smollm2:135m`.

    The model lies in the folder named by FAIRAGENTS_REAL_LLM, or else in `.cache/real-llm`.
    """
    if absent := missing():
        pytest.skip(f"needs {absent} (Node 20 or later)")
    folder = os.environ.get("FAIRAGENTS_REAL_LLM")
    with serve(Path(folder) if folder else _ROOT / ".cache" / "real-llm") as url:
        yield url
