"""The tourism council with a small real model behind every stakeholder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from fairagents import LLM, Council, Cut, UseCase, Verdict
from tests.real_llm.serve import NAME
from usecases.tourism import TripRequest, trip_case

pytestmark = pytest.mark.real_llm

CASES = (
    trip_case(TripRequest(origin="Vienna", month=7, interests=("music",)), size=3),
    trip_case(TripRequest(origin="Lyon", month=5, budget="low", interests=("wine",)), size=3),
)


def council(url: str) -> Council:
    # What fits into 2,048 tokens and takes seconds: few columns, a short list, a short answer. One
    # question at a time, for the server has one thread; the time-out counts the wait for a turn.
    # At temperature 0 so small a model mostly repeats the first name.
    policy = LLM(
        model=f"ollama:{NAME}",
        url=url,
        attributes=2,
        temperature=0.8,
        num_ctx=2048,
        num_predict=120,
        concurrency=1,
        timeout=600,
    )
    # With the twins' help there is a decision even if nobody gives a ballot that counts.
    return Council(
        UseCase.load("tourism"),
        default=policy,
        cut=Cut(whole=0, top=3, sample=2),
        seed=1,
        on_abstain="twin",
    )


def report(verdicts: Sequence[Verdict]) -> str:
    """Return what became of the questions, in numbers."""
    votes = [vote for verdict in verdicts for vote in verdict.votes]
    calls = [call for verdict in verdicts for call in verdict.calls]
    counts: dict[str, Counter[Any]] = {
        "status": Counter(vote.status for vote in votes),
        "codes": Counter(code for vote in votes for code in vote.codes),
        "attempts": Counter(vote.attempts for vote in votes),
    }
    lines = [f"{NAME}: {len(votes)} votes, {len(calls)} calls, "
             f"at most {max(call.tokens_in for call in calls)} tokens of prompt"]  # fmt: skip
    return "\n  ".join([*lines, *(f"{what}: {dict(count)}" for what, count in counts.items())])


def test_tourism(smollm_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = [council(smollm_url).decide(case) for case in CASES]
    with capsys.disabled():
        print(f"\n{report(verdicts)}")
    votes = [vote for verdict in verdicts for vote in verdict.votes]
    assert len(votes) == 10 and all(len(v.agenda.ids) <= 17 for v in verdicts)
    for vote in votes:
        assert vote.status in ("ok", "repaired", "abstained")
        assert vote.status == "ok" or vote.codes
        assert vote.model == NAME and vote.attempts >= 1
    assert all(call.tokens_in <= 2048 - 120 for v in verdicts for call in v.calls)
    first = sum(vote.status == "ok" and vote.attempts == 1 for vote in votes)
    assert 10 * first >= len(votes)
    again = council(smollm_url).decide(CASES[-1])
    assert again.canonical() == verdicts[-1].canonical()
