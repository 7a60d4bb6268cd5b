from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairagents import Experiment
from tests.cli.conftest import Run

CONFIGS = sorted(Path("configs").glob("*.toml"))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda p: p.stem)
def test_every_config_runs(run: Run, config: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    ran = run("run", str(config), "-o", str(out), "--limit", "2")
    assert ran.code == 0, ran.err
    lines = [json.loads(text) for text in out.read_text(encoding="utf-8").splitlines()]
    experiment = Experiment.load(config)
    assert len(lines) == 2 * len(experiment.rules) * len(experiment.seeds)
    assert [x["rule"] for x in lines[: len(experiment.rules)]] == [
        rule.label for rule in experiment.rules
    ]


def test_a_config_with_a_mistake_is_one_clear_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('usecase = "tourism"\nrules = ["bord"]\nsed = 1\n', encoding="utf-8")
    ran = run("run", str(path))
    assert ran.code == 2
    assert "no rule 'bord'; did you mean 'borda'?" in ran.err
    assert "Experiment.sed: no such field; did you mean 'seeds'?" in ran.err


def test_a_missing_config_is_one_clear_line(run: Run) -> None:
    ran = run("run", "nowhere.toml")
    assert ran.code == 2 and "nowhere.toml" in ran.err


def test_lists_what_there_is(run: Run) -> None:
    out = run("list").out
    assert "rules: plurality, veto" in out and "usecases: tourism" in out
    assert "did you mean 'rules'?" in run("list", "rule").err


def test_lists_rules_by_what_they_read_and_what_they_keep(run: Run) -> None:
    lines = run("list", "rules").out.splitlines()
    assert any(line.startswith("borda ") and "sum_v w_v" in line for line in lines)
    kept = run("list", "rules", "--needs", "ranking", "--axiom", "condorcet").out
    assert "\nschulze " in f"\n{kept}" and "borda" not in kept.split()
    assert "did you mean 'condorcet'?" in run("list", "rules", "--axiom", "condorct").err
    assert "did you mean 'ranks'?" in run("list", "rules", "--needs", "rank").err
    assert run("list", "policies", "--axiom", "condorcet").code == 2


def test_tells_all_of_one_rule(run: Run) -> None:
    out = run("list", "rules", "borda").out
    assert "holds: totals of two electorates add up" in out
    assert "fails: c wins every duel, the winners are a, c" in out
    assert "2 x c > a > b; 1 x a > b > c" in out
    assert "{a, d}" in run("list", "rules", "approval_voting").out
    assert "a 0.2, b 1" in run("list", "rules", "range_voting").out
    assert "did you mean 'borda'?" in run("list", "rules", "brda").err
    assert run("list", "policies", "utility").code == 2
