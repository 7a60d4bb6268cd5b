"""The tourism council as a LangGraph graph, for `langgraph.json`."""

from __future__ import annotations

from fairagents.council import Council
from usecases.tourism import tourism

graph = Council(tourism).compile()
"""The compiled graph: takes `{"case": ...}`, gives `{"verdict": ...}`."""
