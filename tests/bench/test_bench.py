"""The four figures of speed, printed; nothing is asserted of time: machines and load differ.

Run with `pytest tests/bench -o addopts= -s`, or `python -m tests.bench.figures`.
"""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.bench import figures


@pytest.mark.parametrize(
    "measure",
    [
        figures.import_figures,
        figures.decide_figures,
        figures.decide_many_figures,
        figures.verdict_figures,
    ],
    ids=lambda f: f.__name__,
)
def test_a_figure_is_measured_and_printed(benchmark: Any, measure: Any) -> None:
    found = benchmark.pedantic(measure, rounds=1)
    for figure in found:
        benchmark.extra_info[figure.what] = figure.value
        sys.stdout.write(f"\n{figure}\n")
    assert all(figure.value > 0 for figure in found)
