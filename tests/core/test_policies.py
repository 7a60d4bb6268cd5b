"""Scripted and recorded policies, and what a brief tells."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairagents.agents.base import Agent, Brief, Policy
from fairagents.agents.recorded import Recorded
from fairagents.agents.scripted import Random, Utility
from fairagents.ballot import Abstention, Approvals, Ranking, Ratings, Vote
from fairagents.council import Council
from fairagents.errors import BallotError
from fairagents.task import Exclude
from tests.core.toys import TRIO, agents, case, party, table, trio


def test_utility_says_its_own_worth() -> None:
    verdict = trio().decide(case())
    said = verdict.votes[2].said
    assert isinstance(said, Ratings)
    assert said.ids == TRIO.ids
    assert said.values == tuple(TRIO.numeric("eve").tolist())
    ranked = trio(Utility(form="ranking")).decide(case()).votes[2].said
    assert isinstance(ranked, Ranking)
    assert ranked.tiers == (("b",), ("c",), ("d",), ("e",), ("f",), ("a",))


def test_worth_that_differs_beyond_the_digits_is_an_exact_tie() -> None:
    council = Council(
        table(ann=[0.5, 0.5 + 1e-9, 0.2]), agents(party("ann"), policy=Utility(form="ranking"))
    )
    said = council.decide(case(1)).votes[0].said
    assert isinstance(said, Ranking)
    assert said.sizes == (2, 1)


def test_random_orders_are_uniform_and_unrelated_between_cases_stakeholders_and_seeds() -> None:
    council = trio("random")
    verdicts = [council.run(case(id=f"c{i}")) for i in range(240)]
    firsts = Counter(v.votes[0].said.ids[0] for v in verdicts)  # type: ignore[union-attr]
    assert set(firsts) == set(TRIO.ids)
    assert min(firsts.values()) > 15
    orders = [tuple(vote.said.ids for vote in v.votes) for v in verdicts]  # type: ignore[union-attr]
    assert sum(len(set(order)) == 3 for order in orders) > 230
    other = trio("random", seed=1).run(case(id="c0"))
    assert other.votes != verdicts[0].votes


class Nosy(Policy):
    """Keeps the briefs it gets."""

    seen: list[Any] = []  # noqa: RUF012

    def propose(self, brief: Brief) -> Vote:
        self.seen.append(brief)
        return Utility().propose(brief)


def test_a_brief_holds_the_own_worth_lazily_and_nobody_elses() -> None:
    policy = Nosy(seen=[])
    secret = party("bob").model_copy(update={"persona": "SECRET-P", "principles": ("SECRET-Q",)})
    council = Council(TRIO, agents(party("ann"), secret, policy=policy))
    limit = Exclude(ids=("a",))
    council.run(case(limits=[limit]))
    own, other = policy.seen
    assert own.worth.tolist() == TRIO.numeric("ann").tolist()[1:]
    assert other.worth.tolist() == TRIO.numeric("bob").tolist()[1:]
    assert own.stakeholder.id == "ann"
    held = {k: v for k, v in vars(own).items() if k != "pool"}
    assert "SECRET" not in repr(held)
    assert "bob" not in repr({k: v for k, v in held.items() if k != "agenda"})
    for value in vars(own).values():
        assert not isinstance(value, np.ndarray) or value.dtype.kind == "i"
    assert (own.size, own.round, own.offer) == (2, 1, ())


# -- recorded ------------------------------------------------------------------------------------

ROWS: list[dict[str, Any]] = [
    {"case": "c", "stakeholder": "ann", "ranking": ["a", ["b", "c"]]},
    {"case": "c", "stakeholder": "bob", "ratings": {"f": 1, "e": 0.5}},
    {"case": "c", "stakeholder": "eve", "approved": ["b"], "round": 1},
]


def recorded(folder: Path, content: str | bytes, name: str = "votes.jsonl") -> Recorded:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Recorded(path=str(path))


def lines(*rows: dict[str, Any]) -> str:
    return "\n".join(json.dumps(row) for row in rows)


def test_ballots_of_another_system_are_read_from_jsonl(tmp_path: Path) -> None:
    policy = recorded(tmp_path, lines(*ROWS) + "\n\n")
    verdict = trio(policy).decide(case())
    assert [v.said for v in verdict.votes] == [
        Ranking(ids=("a", "b", "c"), sizes=(1, 2)),
        Ratings(ids=("f", "e"), values=(1.0, 0.5)),
        Approvals(ids=("b",)),
    ]
    assert verdict.canonical() == trio(policy).run(case()).canonical()
    assert all(v.status == "ok" for v in verdict.votes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("case,stakeholder,id,rank\nc,ann,b,1\nc,ann,c,2\nc,ann,a,2\n",
         Ranking(ids=("b", "c", "a"), sizes=(1, 2))),
        ("\ufeffcase,stakeholder,id,rank,round\nc,ann,a,30,1\nc,ann,b,7,1\nc,ann,c,1,2\n",
         Ranking(ids=("b", "a"))),
        ("case,stakeholder,id,rating\nc,ann,b,0.25\nc,ann,a,1\n",
         Ratings(ids=("b", "a"), values=(0.25, 1.0))),
    ],
)  # fmt: skip
def test_ballots_are_read_from_csv(tmp_path: Path, text: str, said: object) -> None:
    policy = recorded(tmp_path, text, "votes.csv")
    council = Council(TRIO, agents(party("ann"), policy=policy))
    assert council.decide(case(1)).votes[0].said == said


def test_no_recorded_ballot_is_an_abstention_with_its_reason(tmp_path: Path) -> None:
    verdict = trio(recorded(tmp_path, lines(ROWS[0]))).decide(case())
    assert [v.status for v in verdict.votes] == ["ok", "abstained", "abstained"]
    assert verdict.votes[1].codes == ("no_ballot",)
    assert isinstance(verdict.votes[1].said, Abstention)
    assert "holds no ballot of 'bob' for 'c'" in verdict.votes[1].said.detail


def test_what_is_not_on_the_agenda_is_left_out_and_the_vote_says_so(tmp_path: Path) -> None:
    policy = recorded(tmp_path, lines(*ROWS))
    votes = trio(policy).decide(case(1, limits=[Exclude(ids=("a", "b", "f"))])).votes
    assert votes[0].said == Ranking(ids=("c",))
    assert votes[1].said == Ratings(ids=("e",), values=(0.5,))
    assert [v.status for v in votes] == ["repaired", "repaired", "abstained"]
    assert {v.codes for v in votes} == {("off_agenda",)}


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    policy = recorded(tmp_path, lines(ROWS[0]))
    council = Council(TRIO, agents(party("ann"), policy=policy))
    assert council.decide(case(1)).decision.outcome.ids == ("a",)
    path = Path(policy.path)
    stamp = path.stat().st_mtime_ns
    recorded(tmp_path, lines({**ROWS[0], "ranking": ["f"]}))
    import os

    os.utime(path, ns=(stamp, stamp + 1_000_000))
    assert council.decide(case(1)).decision.outcome.ids == ("f",)


HEAD = "case,stakeholder,id,"

FAULTS: list[tuple[str, str | bytes, str]] = [
    ("v.jsonl", "{", "v.jsonl, line 1: not JSON"),
    ("v.jsonl", lines(ROWS[0]) + "\n[1]", r"line 2: a ballot is an object, not \[1\]"),
    ("v.jsonl", lines({"case": "c", "stakeholder": "ann"}), "give one of ranking, ratings, appro"),
    ("v.jsonl", lines({**ROWS[0], "approved": []}), "give one of ranking, ratings, approved"),
    ("v.jsonl", lines({"case": "c", "ranking": ["a"]}), "line 1: 'stakeholder' is missing"),
    ("v.jsonl", lines({**ROWS[0], "round": "x"}), "line 1: round 'x' is not a whole number"),
    ("v.jsonl", lines({**ROWS[0], "ranking": "ab"}), "line 1: ranking is a list, not 'ab'"),
    ("v.jsonl", lines({**ROWS[0], "ranking": ["a", "a"]}), "ranked id 'a' is given twice"),
    ("v.jsonl", lines({**ROWS[1], "ratings": {"a": 7}}), r"line 1: .*lie in \[0, 1\], not 7.0"),
    ("v.jsonl", lines({**ROWS[1], "ratings": {"a": "high"}}), "line 1: could not convert"),
    ("v.jsonl", lines({**ROWS[2], "approved": "ab"}), "line 1: approved is a list, not 'ab'"),
    ("v.jsonl", lines(ROWS[0], ROWS[0]), "line 2: a second ballot of 'ann' for 'c'"),
    ("v.jsonl", b"\xff\xfe", "are not UTF-8"),
    ("v.csv", "case,id,rank\nc,a,1\n", "v.csv: no column 'stakeholder'"),
    ("v.csv", HEAD + "score\nc,ann,a,1\n", "needs a column 'rank' or 'rating'"),
    ("v.csv", HEAD + "rank\nc,ann,a,first\n", "line 2: rank 'first' is not a finite number"),
    ("v.csv", HEAD + "rank\nc,ann,a,nan\n", "line 2: rank 'nan' is not a finite number"),
    ("v.csv", HEAD + "rank\nc,ann,a,1\nc,ann,a,2\n", "line 3: 'a' stands twice on one ballot"),
    ("v.csv", HEAD + "rating\nc,ann,a,3\n", r"case 'c', 'ann': .*lie in \[0, 1\], not 3.0"),
    ("v.csv", b"case\xff\n", "are not UTF-8"),
    ("v.xml", "", r"the name must end in .csv or .jsonl"),
]


@pytest.mark.parametrize(("name", "text", "message"), FAULTS, ids=[m for _, _, m in FAULTS])
def test_a_fault_in_the_file_shows_before_the_first_case(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    policy = recorded(tmp_path, text, name)
    with pytest.raises(BallotError, match=message):
        Council(TRIO, agents(party("ann"), policy=policy))


def test_a_missing_file_and_an_unknown_id_are_named(tmp_path: Path) -> None:
    with pytest.raises(BallotError, match=r"can't read ballots '.*none.csv'"):
        Council(TRIO, agents(party("ann"), policy=Recorded(path=str(tmp_path / "none.csv"))))
    policy = recorded(tmp_path, lines({**ROWS[0], "ranking": ["zz"]}))
    council = Council(TRIO, agents(party("ann"), policy=policy))
    with pytest.raises(BallotError, match="case 'c', 'ann': 'zz' is not in the catalogue"):
        council.decide(case())


def test_rules_work_on_existing_runs(tmp_path: Path) -> None:
    verdict = trio().decide(case(3))
    rows = [
        {"case": "c", "stakeholder": v.stakeholder,
         "ratings": dict(zip(v.said.ids, v.said.values, strict=True))}  # type: ignore[union-attr]
        for v in verdict.votes
    ]  # fmt: skip
    replayed = trio(recorded(tmp_path, lines(*rows))).decide(case(3))
    assert replayed.decision == verdict.decision
    assert [r.value for r in replayed.results] == [r.value for r in verdict.results]


def test_an_agent_is_written_and_read_back() -> None:
    for policy in (Utility(digits=3), Random(), Recorded(path="x.csv")):
        agent = Agent(stakeholder=party("ann"), policy=policy)
        assert Agent.from_toml(agent.to_toml()) == agent
