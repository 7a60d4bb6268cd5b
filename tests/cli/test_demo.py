from __future__ import annotations

import csv
import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairagents import Council, UseCase
from fairagents.testing import FakeOllama
from tests.cli.conftest import Run

TRIP = ("--from", "Lyon", "--month", "May", "--interests", "wine,hiking", "--days", "5")


def document(run: Run, *arguments: str) -> Any:
    ran = run("demo", *arguments, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def test_shows_the_slate_the_reasons_the_standings_and_the_other_rules(run: Run) -> None:
    ran = run("demo", *TRIP)
    assert ran.code == 0 and ran.err == ""
    for text in (
        "Trips from Lyon in May, 5 days, medium budget, for wine, hiking",
        "kg CO2e",
        "Why each place",
        "Who gains, who loses",
        "The same ballots under every rule, and two baselines",
        "leximin",
        "Another time",
    ):
        assert text in ran.out


def test_is_plain_text_without_a_terminal(run: Run) -> None:
    ran = run("demo", *TRIP)
    assert "\x1b" not in ran.out
    assert not any(character in ran.out for character in "█░─│")
    assert max(map(len, ran.out.splitlines())) <= 110


def test_json_is_the_only_thing_on_standard_output(run: Run) -> None:
    data = document(run, *TRIP)
    assert len(data["lines"]) == 10
    assert {s["id"] for s in data["standings"]} == {
        "traveller",
        "residents",
        "providers",
        "environment",
        "platform",
    }
    assert [row["label"] for row in data["rules"]] == [
        "borda",
        "copeland",
        "utilitarian",
        "nash",
        "leximin",
    ]


def test_csv_has_a_row_per_place_with_its_quantities_and_its_reason(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(run("demo", *TRIP, "--csv", "--k", "4").out)))
    assert len(rows) == 4
    assert float(rows[0]["emissions"]) >= 0 and rows[0]["reason"]


def test_the_numbers_shown_are_those_of_the_verdict(run: Run) -> None:
    tourism = UseCase.load("tourism")
    data = document(run, *TRIP)
    assert tourism.request and tourism.make_case
    case = tourism.make_case(
        tourism.request(origin="Lyon", month="May", days=5, interests=["wine", "hiking"])
    )
    verdict = Council(tourism, rule="borda").decide(case)
    assert [line["id"] for line in data["lines"]] == list(verdict.decision.outcome.ids)
    setting = tourism.setting(case)
    worths = setting.of(verdict.decision.outcome)
    shown = [s["worth"] for s in data["standings"]]
    assert shown == pytest.approx(worths, abs=1e-6)
    attained = [s["attained"] for s in data["standings"]]
    assert attained == pytest.approx(1 - setting.regret(worths), abs=1e-6)
    emissions = next(f for f in tourism.facts if f.key == "emissions").indicator
    row = setting.pool.index[data["lines"][0]["id"]]
    assert data["lines"][0]["facts"]["emissions"] == pytest.approx(
        setting.pool.values(emissions)[row], abs=1e-3
    )


def test_each_reason_recounts(run: Run) -> None:
    """Strike a place, count the same ballots again by hand, and read who placed it higher."""
    data = document(run, *TRIP)
    tourism = UseCase.load("tourism")
    case = tourism.setting(Council(tourism).run(_case(data)).case).case
    verdict = Council(tourism).decide(case)
    ids = verdict.agenda.ids
    worth = {
        v.stakeholder: dict(zip(v.said.ids, v.said.values, strict=True))  # type: ignore[union-attr]
        for v in verdict.votes
    }

    def points(one: str, among: list[str]) -> float:
        return sum(
            sum(
                1.0 if own[one] > own[other] else 0.5 if own[one] == own[other] else 0.0
                for other in among
                if other != one
            )
            for own in worth.values()
        )

    slate = [line["id"] for line in data["lines"]]
    for line in data["lines"]:
        rest = [one for one in ids if one != line["id"]]
        totals = {one: points(one, rest) for one in rest}
        outside = [one for one in rest if one not in slate]
        best = max(totals[one] for one in outside)
        rival = line["reason"]["rival"]
        assert totals[rival] == best
        above = {who for who, own in worth.items() if own[line["id"]] > own[rival]}
        assert {who for who, _, _ in line["reason"]["carried"]} == above
        for who, place, _ in line["reason"]["carried"]:
            own = worth[who]
            assert place == 1 + sum(own[one] > own[line["id"]] for one in ids)


def _case(data: Any) -> Any:
    from fairagents import Case

    return Case.from_data(data["case"])


def test_a_weight_changes_the_decision_and_says_how(run: Run) -> None:
    plain = document(run, *TRIP)
    heavy = document(run, *TRIP, "--weight", "environment=4")
    before = {line["id"] for line in plain["lines"]}
    after = {line["id"] for line in heavy["lines"]}
    assert plain["weighting"] is None
    assert heavy["weighting"]["weights"] == {"environment": 4.0}
    assert set(heavy["weighting"]["enters"]) == after - before
    assert set(heavy["weighting"]["leaves"]) == before - after
    gain = {s["id"]: s["attained"] for s in heavy["standings"]}
    base = {s["id"]: s["attained"] for s in plain["standings"]}
    for who, change in heavy["weighting"]["change"].items():
        assert change == pytest.approx(gain[who] - base[who], abs=1e-5)
    assert heavy["weighting"]["change"]["environment"] > 0


def test_who_has_no_say_is_still_measured(run: Run) -> None:
    data = document(run, *TRIP, "--without", "platform")
    platform = next(s for s in data["standings"] if s["id"] == "platform")
    assert platform["vote"] == "no say" and platform["voice"] == 0
    assert platform["attained"] is not None
    mine = next(row for row in data["rules"] if row["label"] == data["rule"])
    assert mine["attained"]["platform"] == platform["attained"]
    assert mine["worst_off"] == data["worst_off"] == min(mine["attained"].values())


def test_an_excluded_place_is_not_in_the_slate(run: Run) -> None:
    first = document(run, *TRIP)["lines"][0]["id"]
    assert first not in {x["id"] for x in document(run, *TRIP, "--exclude", first)["lines"]}


def test_why_explains_a_place_that_is_in_and_one_that_is_not(run: Run) -> None:
    first = document(run, *TRIP)["lines"][0]["id"]
    inside = document(run, *TRIP, "--why", first)["why"]
    assert inside["position"] == 1
    outside = document(run, *TRIP, "--why", "London")["why"]
    text = run("demo", *TRIP, "--why", "London").out
    assert "London" in text
    if "places" in outside:
        assert all(1 <= place <= outside["among"] for _, place, _ in outside["places"])


def test_every_rule_decides(run: Run) -> None:
    for rule in ("borda", "copeland", "utilitarian", "nash", "leximin"):
        data = document(run, *TRIP, "--rule", rule)
        row = next(r for r in data["rules"] if r["label"] == rule)
        assert data["rule"] == rule and row["shared"] == 10 and row["enters"] == []


def test_the_null_baseline_lies_below_what_is_found_best(run: Run) -> None:
    data = document(run, *TRIP)
    random = [s["random"] for s in data["standings"]]
    assert min(random) < data["floor"] <= data["bound"] + 1e-9
    assert data["worst_off"] <= data["floor"] + 1e-9
    assert np.isfinite(random).all()


WRONG: dict[tuple[str, ...], str] = {
    ("--mont", "May"): "no option '--mont'; did you mean '--month'?",
    ("--rule", "bord"): "no rule 'bord'; did you mean 'borda'?",
    ("--from", "Vienne"): "did you mean 'Vienna'?",
    ("--month", "Mai"): "'Mai' is no English month name",
    ("--interests", "foood"): "did you mean 'food'?",
    ("--budget", "hihg"): "did you mean 'high'?",
    ("--days", "99"): "TripRequest.days",
    ("--days", "x"): "--days",
    ("--weight", "environmnt=2"): "did you mean 'environment'?",
    ("--weight", "environment=-1"): "a number > 0",
    ("--without", "plattform"): "did you mean 'platform'?",
    ("--exclude", "Venise"): "did you mean 'Venice'?",
    ("--why", "Venise"): "did you mean 'Venice'?",
    ("--k", "0"): "size",
    ("--k", "400"): "slate size 400",
    ("--catalogue", "nowhere.csv"): "nowhere.csv",
    ("--model", "openai:gpt"): "ollama",
    ("--json", "--csv"): "not both",
    ("--month", "²"): "'²' is no English month name",
}


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_a_mistake_is_one_clear_line(run: Run, arguments: tuple[str, ...]) -> None:
    ran = run("demo", *arguments)
    assert ran.code in (1, 2) and ran.out == ""
    assert WRONG[arguments] in ran.err
    assert "Traceback" not in ran.err


def test_a_mistyped_command_or_use_case_is_named(run: Run) -> None:
    assert "demo" in run("dmeo").err
    assert "did you mean 'tourism'?" in run("demo", "turism").err


def test_a_missing_server_is_one_line_with_what_to_do(run: Run) -> None:
    ran = run("demo", "--model", "ollama:llama3.2", "--url", "http://127.0.0.1:9")
    assert ran.code == 3 and ran.out == ""
    assert len(ran.err.strip().splitlines()) == 1
    assert "ollama serve" in ran.err and "ollama pull llama3.2" in ran.err


def test_a_model_that_is_not_pulled_is_one_line_with_what_to_do(run: Run) -> None:
    with FakeOllama(models=("other:latest",)) as server:
        ran = run("demo", "--model", "ollama:llama3.2", "--url", server.url)
    assert ran.code == 3 and "ollama pull llama3.2" in ran.err and "other" in ran.err


def test_the_same_demo_on_a_model(run: Run) -> None:
    with FakeOllama(models=("llama3.2:latest",)) as server:
        data = document(run, *TRIP, "--model", "ollama:llama3.2", "--url", server.url)
        again = document(run, *TRIP, "--model", "ollama:llama3.2", "--url", server.url)
        assert len(server.chats) >= 10
    assert data == again
    assert data["model"] == "ollama:llama3.2"
    assert all(s["vote"].startswith("ok") for s in data["standings"])


def test_a_model_that_answers_nonsense_is_counted_not_hidden(run: Run) -> None:
    def answer(body: dict[str, Any]) -> str:
        return "empty" if "climate" in json.dumps(body).lower() else "valid"

    with FakeOllama(models=("llama3.2:latest",), script=answer) as server:
        ran = run("demo", *TRIP, "--model", "ollama:llama3.2", "--url", server.url)
    assert ran.code == 0
    assert "abstained: empty" in ran.out
    assert "environment abstained in round 1 (empty): decided without its voice (1 of 5)" in ran.out


def test_a_reader_that_stops_early_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -c 'from fairagents.cli import main; main()' demo --days 3 | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Trips from Vienna" in done.stdout and done.stderr == ""


def test_asks_when_started_without_flags_in_a_terminal() -> None:
    """In a pseudo-terminal it asks for the trip, and shows colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "60"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-c", "from fairagents.cli import main; main()", "demo"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    answers = {"Origin": "Lyon", "Month": "May", "Days": "", "Budget": "", "Interests": "wine"}
    seen = _talk(ours, answers)
    assert process.wait(30) == 0, seen
    assert "Trips from Lyon in May, 4 days, medium budget, for wine" in seen
    assert "\x1b[1m" in seen and "█" in seen


def _talk(terminal: int, answers: dict[str, str]) -> str:
    """Answer each question when it stands there, and return all that was shown."""
    seen, waiting, end = "", list(answers), time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        seen += data.decode(errors="replace")
        if waiting and f"{waiting[0]} (" in seen:
            os.write(terminal, (answers[waiting.pop(0)] + "\n").encode())
    os.close(terminal)
    return seen


def test_a_catalogue_of_your_own(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "id,latitude,longitude,interests,price,rail\n"
        + "\n".join(
            f"P{i},{45 + i / 10},{5 + i / 7},{'food|wine' if i % 2 else 'museums'},"
            f"{1 + i % 5},{i % 4}"
            for i in range(20)
        ),
        encoding="utf-8",
    )
    ran = run("demo", "--from", "45.0,5.0", "--catalogue", str(path), "--k", "3", "--json")
    assert ran.code == 0, ran.err
    assert len(json.loads(ran.out)["lines"]) == 3
    assert "visitors" in ran.err and "residents" in ran.err
