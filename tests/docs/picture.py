"""Draws the README's picture: what the demo prints, as an SVG."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from fairagents import Council, UseCase
from fairagents.report.demo import show
from fairagents.report.terminal import render

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "demo.svg"
TITLE = "Trips from Vienna in July, 4 days, medium budget, for museums, food"


def draw() -> str:
    """Return the picture of `fairagents demo` with its defaults."""
    tourism = UseCase.load("tourism")
    assert tourism.request is not None and tourism.make_case is not None
    request = tourism.request(
        origin="Vienna", month="July", days=4, budget="medium", interests=["museums", "food"]
    )
    council = Council(tourism, rule="borda")
    verdict = council.decide(tourism.make_case(request))
    console = Console(
        record=True, width=118, force_terminal=True, file=io.StringIO(), highlight=False
    )
    render(show(tourism, council, verdict), console, title=TITLE)
    return console.export_svg(title="fairagents demo", unique_id="demo")


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
