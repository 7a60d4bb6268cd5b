"""Experiments: votes made once, equal bytes whatever the process, and mistakes named first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairagents.agents.base import Brief, Policy
from fairagents.agents.scripted import Utility
from fairagents.ballot import Vote
from fairagents.errors import SpecError
from fairagents.experiment import Experiment
from fairagents.usecase import UseCase
from tests.core.toys import TRIO, case, party

TOY = UseCase(
    name="toy",
    catalogue=TRIO,
    stakeholders=(party("zoe", *party("ann").objectives), party("x-10", *party("bob").objectives),
                  party("x-9", *party("eve").objectives)),
    make_cases=lambda: [case(2, id=f"c{i}") for i in range(4)],
)  # fmt: skip
WHERE = "tests.core.test_experiments:TOY"
RULES = ("borda", "copeland", "utilitarian", "nash", "leximin")

ASKED: list[tuple[str, str, int]] = []


class Counted(Policy):
    """A sincere policy that notes when it is asked."""

    def propose(self, brief: Brief) -> Vote:
        ASKED.append((brief.case, brief.stakeholder.id, brief.seed))
        return Utility().propose(brief)


def test_votes_are_cast_once_and_go_through_every_rule(tmp_path: Path) -> None:
    ASKED.clear()
    study = Experiment(usecase=WHERE, rules=RULES, policy=Counted(), seeds=(0, 5), limit=3)  # type: ignore[arg-type]
    done: list[tuple[int, int]] = []
    path = study.run(tmp_path / "deep" / "out.jsonl", lambda i, n: done.append((i, n)))
    assert len(ASKED) == len(set(ASKED)) == 3 * 3 * 2
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(r["seed"], r["case"], r["rule"]) for r in rows] == [
        (seed, f"c{i}", rule) for seed in (0, 5) for i in range(3) for rule in RULES
    ]
    assert done[-1] == (6, 6)
    assert [p.name for p in path.parent.iterdir()] == ["out.jsonl"]
    for seed in (0, 5):
        for one in TOY.cases()[:3]:
            for rule in RULES:
                council = study.model_copy(
                    update={"rules": study.rules[RULES.index(rule) :]}
                ).council(seed)
                verdict = council.decide(one)
                row = next(
                    r for r in rows if (r["seed"], r["case"], r["rule"]) == (seed, one.id, rule)
                )
                assert row["outcome"] == list(verdict.decision.outcome.ids)
                assert row["spec"] == verdict.spec
                assert row["results"]["gini/collective"]["value"] == verdict.value("gini")


CODE = """
import hashlib, sys
from fairagents.experiment import Experiment
from fairagents.council import Council
from tests.core.test_experiments import TOY, WHERE, RULES
study = Experiment(usecase=WHERE, rules=RULES, policy={policy!r}, seeds=(0, 1),
                   cut={{"whole": 3, "top": 2, "sample": 1}}, on_abstain="twin")
path = study.run(sys.argv[1])
council = study.council(2)
parts = [path.read_bytes(), council.setup.digest.encode()]
parts += [council.decide(c).canonical() for c in TOY.cases()]
parts += [v.canonical() for v in council.decide_many(TOY.cases(), engine=False, workers=3)]
print(hashlib.sha256(b"".join(parts)).hexdigest())
"""


def started(seed: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CODE.format(policy="random"), str(folder / f"{seed}.jsonl")],
        env={**os.environ, "PYTHONHASHSEED": seed},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_equal_bytes_whatever_the_hash_seed_of_the_process(tmp_path: Path) -> None:
    running = [started(seed, tmp_path) for seed in ("1", "4711")]
    found = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0]
    assert len(found) == 1
    assert len({p.read_bytes() for p in tmp_path.iterdir()}) == 1


def test_a_file_of_an_experiment_is_the_experiment(tmp_path: Path) -> None:
    study = Experiment(
        usecase=WHERE,
        rules=["borda", {"nash": {"disagreement": 0.1}}],  # type: ignore[arg-type]
        policies={"zoe": "random"},  # type: ignore[dict-item]
        evaluators=[{"alignment": {"k": 1}}, "gini"],  # type: ignore[arg-type]
        seeds=[1, 2],  # type: ignore[arg-type]
    )
    path = tmp_path / "study.toml"
    path.write_text(study.to_toml(), encoding="utf-8")
    assert Experiment.load(path) == study
    assert Experiment.from_json(study.to_json()) == study
    council = study.council()
    assert [a.policy.name for a in council.setup.agents] == ["random", "utility", "utility"]
    assert [e.label for e in council.setup.evaluators] == ["alignment(k=1)", "gini"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('usecase = "x"', r"study.toml: Experiment.rules: is required"),
        ('usecase = "x"\nrules = []', r"Experiment.rules: .*at least 1"),
        ('usecase = "x"\nrules = ["bord"]', "no rule 'bord'; did you mean 'borda'"),
        ('usecase = "x"\nrules = [{ nash = { floor = 1 } }]', "rule 'nash': Nash.floor: no such"),
        ('usecase = "x"\nrules = ["borda", "borda"]', "rule 'borda' is given twice"),
        ('usecase = "x"\nrules = ["borda"]\nseeds = []', "Experiment.seeds: .*at least 1"),
        ('usecase = "x"\nrules = ["borda"]\nseeds = [1, 1]', "seed '1' is given twice"),
        ('usecase = "x"\nrules = ["borda"]\nlimit = 0', "Experiment.limit"),
        ('usecase = "x"\nrules = ["borda"]\npolicy = "utilty"', "no policy 'utilty'"),
        ('usecase = "x"\nrules = ["borda"]\nruels = 1', "did you mean 'rules'"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=message):
        Experiment.load(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"usecase": "turism"}, "no usecase 'turism'; did you mean 'tourism'"),
        ({"policies": {"zo": "random"}}, "no stakeholder 'zo'; did you mean 'zoe'"),
        ({"quorum": 4}, r"quorum must lie in 1\.\.3, not 4"),
        ({"usecase": "tests.core.test_experiments:WHERE"}, "is (no|not a) use ?case"),
    ],
)
def test_a_mistake_shows_before_anything_runs(
    tmp_path: Path, fields: dict[str, object], message: str
) -> None:
    study = Experiment.model_validate({"usecase": WHERE, "rules": ["borda"], **fields})
    with pytest.raises(SpecError, match=message):
        study.run(tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_stakeholders_left_out_take_their_relations_along() -> None:
    smaller = TOY.without("zoe")
    assert [s.id for s in smaller.stakeholders] == ["x-10", "x-9"]
    with pytest.raises(SpecError, match="no stakeholder 'zo'; did you mean 'zoe'"):
        TOY.without("zo")
