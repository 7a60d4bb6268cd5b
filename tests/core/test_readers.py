"""Readers of files: what a file says is taken as it is, or refused with its place; never mended."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairagents.agents.recorded import Recorded
from fairagents.ballot import Approvals, Ranking
from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.council import Council
from fairagents.errors import BallotError, CatalogueError, SpecError
from fairagents.tables import parse_table, read_table, shown
from fairagents.usecase import Stakeholders
from tests.core.toys import TRIO, agents, case, party, trio
from usecases.tourism import load_synthtrips, own_catalogue
from usecases.tourism.catalogue import read_rows
from usecases.tourism.synthtrips import COLUMNS

BIG = 10**400


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# -- tables --------------------------------------------------------------------------------------

UNCLOSED = 'id,latitude,longitude,notes\nA,50,4,"hello\nB,40,5,x\nC,41,5,x\n'
TABLES: list[tuple[str, str]] = [
    (UNCLOSED, r"'t.csv', line 2: not CSV: unexpected end of data; a quoted cell ends with a"),
    ('id,latitude,longitude\nA,1,2\n"B"x,1,2\n', "line 3: not CSV: ',' expected after"),
    (f"id,latitude,longitude\nA,1,2\nB,1,{'2' * 131_073}\n", "line 3: not CSV: .* 131,072 char"),
    ("id,latitude,longitude,latitude\nA,1,2,3\n", "a column name is given twice: 'latitude'"),
    ('id,latitude,longitude\n"A\nB",1,2\nC,1\n', "line 4: 2 cells, not 3 as in the header"),
    ('id,latitude,longitude\nA,1,2\n"B\nC",1,2\n', r"row 2: id 'B\\nC' holds a control char"),
    ("id,latitude,longitude\nA\x1b[31m,1,2\n", r"row 1: id 'A\\x1b\[31m' holds a control char"),
    ('id,latitude,longitude\n"A\n",1,2\n', r"row 1: id 'A\\n' holds a control character"),
    ("id,latitude,longitude,a\x07b\nA,1,2,3\n", r"column name 'a\\x07b' holds a control"),
]


@pytest.mark.parametrize("read", [Catalogue.from_csv, own_catalogue])
@pytest.mark.parametrize(("text", "message"), TABLES, ids=[m for _, m in TABLES])
def test_a_table_that_is_not_one_is_refused_by_every_reader(
    tmp_path: Path, text: str, message: str, read: Any
) -> None:
    with pytest.raises(CatalogueError, match=message):
        read(written(tmp_path, text))


@pytest.mark.parametrize("read", [Catalogue.from_csv, own_catalogue, load_synthtrips, read_rows])
def test_files_that_are_no_tables_are_named(tmp_path: Path, read: Any) -> None:
    with pytest.raises(CatalogueError, match=r"can't read catalogue '.*none.csv': No such file"):
        read(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(CatalogueError, match=r"can't read catalogue '.*folder.csv': Is a dir"):
        read(tmp_path / "folder.csv")
    with pytest.raises(CatalogueError, match=r"catalogue '.*t.csv' is not UTF-8"):
        read(written(tmp_path, b"id\ncaf\xe9\n"))


def test_a_table_is_taken_as_it_is(tmp_path: Path) -> None:
    text = '\ufeffid , x\r\n\r\n"a\r\nb",""""\r\n c ,\u2028\r\n'
    header, rows, lines = read_table(written(tmp_path, text))
    assert header == ["id", "x"]
    assert rows == [["a\r\nb", '"'], [" c ", "\u2028"]]
    assert lines == [3, 5]
    assert parse_table("", "toy") == ([], [], [])


def test_a_header_alone_has_no_rows_whatever_is_expected_of_it(tmp_path: Path) -> None:
    path = written(tmp_path, "id,price\n")
    with pytest.raises(CatalogueError, match="has no rows"):
        Catalogue.from_csv(path, specs={"price": ColumnSpec(kind="numeric")})
    path = written(tmp_path, ",".join(COLUMNS) + "\n")
    with pytest.raises(CatalogueError, match="has no rows"):
        load_synthtrips(path)


# -- cells ---------------------------------------------------------------------------------------

ODD_KEY: dict[Any, Any] = {"id": "a", 3: 1}
TAGS = {"tags": ColumnSpec(kind="tags")}


class Frame:
    """Looks like a data frame."""

    def __init__(self, columns: Sequence[Any], *cells: Sequence[Any]) -> None:
        self.columns, self.cells = columns, cells

    def __getitem__(self, column: Any) -> np.ndarray[Any, Any]:
        return np.array(self.cells[self.columns.index(column)], dtype=object)


CELLS: list[tuple[Any, str]] = [
    (lambda: Catalogue.from_rows([{"id": "a", "tags": ["x", None]}]),
     r"column 'tags', 'a': \['x', None\] is not a list of words"),
    (lambda: Catalogue.from_rows([{"id": "a", "tags": ["x", 3]}]), "is not a list of words"),
    (lambda: Catalogue.from_rows([{"id": "a", "tags": "sea|-"}], specs=TAGS), "free of empty tags"),
    (lambda: Catalogue.from_rows([{"id": "a", "tags": ["-"]}], specs=TAGS), "'-' alone says"),
    (lambda: Catalogue.from_rows([{"id": "a", "x": BIG}]), "'x', 'a': 10+... is not a finite num"),
    (lambda: Catalogue.from_rows([{"id": "a", "x": 10**5000}]), "this int is not a finite number"),
    (lambda: Catalogue.from_rows([{"id": "a", "x": float("inf")}]), "inf is not a finite number"),
    (lambda: Catalogue.from_rows([{"id": "a", "x": [1] * 11 + [BIG]}],
                                 specs={"x": ColumnSpec(kind="monthly")}), "not twelve finite"),
    (lambda: Catalogue.from_rows([{"id": "a", "x": "1_0"}],
                                 specs={"x": ColumnSpec(kind="numeric")}), "'1_0' is not a finite"),
    (lambda: Catalogue.from_rows([{"id": "a\u2028b"}]), r"id 'a\\u2028b' holds a control"),
    (lambda: Catalogue.from_rows([{"id": "a\ud800"}]), r"id 'a\\ud800' holds a control"),
    (lambda: Catalogue.from_rows([ODD_KEY]), "column name 3 is not a text"),
    (lambda: Catalogue.from_frame(Frame(["id", "x", "x"], ["a"], [1], [2])), "name is given twice"),
    (lambda: Catalogue.from_frame(Frame(["id", 1, "1"], ["a"], [1], [2])), "name is given twice"),
    (lambda: Catalogue.from_frame(Frame(["id"], ["a", None])), "row 2: id None is not a text"),
    (lambda: Catalogue.from_frame(Frame(["id"], [1.0, np.nan])), "row 1: id 1.0 is not a text"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), CELLS, ids=[m for _, m in CELLS])
def test_a_cell_is_not_made_into_something_else(make: Any, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        make()


def test_whole_numbers_of_a_frame_are_ids_and_spaces_make_no_other_tag() -> None:
    assert Catalogue.from_frame(Frame(["id"], [7, "b"])).ids == ("7", "b")
    cells = {"tags": [" sea | sun", " - ", None, ["sea", "sea"], float("nan")]}
    read = Catalogue.from_cells("c", list("abcde"), cells, TAGS)
    assert [read.cell(one, "tags") for one in read.ids] == [["sea", "sun"], [], None, ["sea"], None]


def test_values_are_shown_in_one_short_line() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert [shown(v) for v in ("a\nb", 10**9999, deep)] == [r"'a\nb'", "this int", "this list"]
    assert len(shown("x" * 1000)) == 100


# -- the tourism use case's own readers ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,latitude,longitude\n,1,2\n", "row 1: the id is empty"),
        ("id,latitude,longitude\nA,,2\nB,,3\n", "'latitude', 'A': empty is not between -90"),
        ("id,latitude,longitude,season,load\nA,1,2,summer," + "|".join("1" * 12) + "\n",
         "has both 'season' and 'load'; keep one"),
    ],
)  # fmt: skip
def test_an_own_file_loses_no_required_cell(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        own_catalogue(written(tmp_path, text))


def test_spaces_make_no_other_season(tmp_path: Path) -> None:
    text = "id,latitude,longitude,season\nA,1,2, summer \nB,1,2, \n"
    read, _ = own_catalogue(written(tmp_path, text))
    assert read.cell("A", "season") == "summer"
    assert read.monthly("load")[0].mean() == pytest.approx(1, abs=0.01)
    assert read.missing() == {"season": 1, "load": 1}


def test_what_rows_of_one_city_say_differently_is_reported(tmp_path: Path) -> None:
    row = "Here,Land,High,Great,Good,Low,['January'],{},[],{},A tower"
    rows = [row.format("['May']", "see"), row.format("[]", "sleep"), row.format("[]", "")]
    read, report = load_synthtrips(written(tmp_path, "\n".join([",".join(COLUMNS), *rows])))
    assert read.cell("Here", "season") is None
    assert "season of Here set to unknown: rows differ" in report.lines
    assert "1 points of interest are of no known kind, 'sleep': in pois only" in report.lines
    assert "1 points of interest are of no known kind, '': in pois only" in report.lines
    assert read.cell("Here", "pois") == 3


# -- recorded ballots ----------------------------------------------------------------------------


def line(**row: Any) -> str:
    return json.dumps({"case": "c", "stakeholder": "ann", **row})


RANKED = line(ranking=["a", "b"])
HEAD = "case,stakeholder,id,"
JSONL: list[tuple[str, str]] = [
    (line(ratings={"a": True}), "line 1: could not convert True, the rating of 'a'"),
    (line(ratings={"a": "0.5"}), "convert '0.5', .*: write a number in .*, without quotes"),
    (line(ratings={"a": None}), "convert None, the rating of 'a'"),
    (line(ratings={"a": BIG}), "line 1: int too large to convert to float"),
    (line(ratings={"a": 10**4000}).replace("0" * 4000, "0" * 5000), "line 1: Exceeds the limit"),
    (line(ratings={"a": float("nan")}), "line 1: .*finite number, not nan"),
    (line(ratings={"a": float("inf")}), "line 1: .*finite number, not inf"),
    (RANKED.replace("}", ', "ranking": ["b"]}'), "line 1: key 'ranking' is given twice"),
    (line(ratings={"a": 1}).replace('"a": 1', '"a": 1, "a": 0'), "key 'a' is given twice"),
    *[
        (line(ranking=["a"], round=wrong), "line 1: round .* is not a whole number from 1 on")
        for wrong in (0, -1, 1.7, 1.0, "x", "1", [1], True, None)
    ],
    (line(ranking=["a", {"b": 1}]), "line 1: an id is a text, not {'b': 1}"),
    (line(ranking=["a", ["b", ["c"]]]), r"line 1: an id is a text, not \['c'\]"),
    (line(ranking=["a", 3]), "line 1: an id is a text, not 3"),
    (line(ranking=["a", []]), "line 1: an empty list among the ranked ids is no tie"),
    (line(approved=[["a"]]), r"line 1: an id is a text, not \['a'\]"),
    (line(ratings=[1]), r"line 1: ratings is an object of id: number, not \[1\]"),
    (line(ranking={"a": 1}), "line 1: ranking is a list, not {'a': 1}"),
    (line(ranking=[]), "line 1: ranking is empty; leave the line out to abstain"),
    (line(ratings={}), "line 1: ratings is empty; leave the line out to abstain"),
    (line(ranking=["a"], rond=2), "line 1: a ballot has no 'rond'; did you mean 'round'"),
    (line(ranking=["a"], case=1), "line 1: case is a text and not empty, not 1"),
    (line(ranking=["a"], stakeholder=""), "line 1: stakeholder is a text and not empty, not ''"),
    (RANKED + "\n\u2028\n", "line 2: not JSON"),
    ("[" * 200_000, "line 1: (maximum recursion depth|Stack overflow)"),
    ("[" * 900 + "]" * 900, r"line 1: (a ballot is an object|maximum recursion|Stack overflow)"),
]
CSV: list[tuple[str, str]] = [
    (HEAD + "rank\nc,ann,a,1,x\n", "v.csv, line 2: 5 cells, not 4"),
    (HEAD + "rank\nc,ann,a,1\n\nc,ann,b\n", "v.csv, line 4: 3 cells, not 4"),
    (HEAD + "rank,rating\nc,ann,a,1,1\n", "v.csv: needs a column 'rank' or 'rating' and has both"),
    (HEAD + "rank,rank\nc,ann,a,1,2\n", "v.csv: a column name is given twice: 'rank'"),
    (HEAD + "rank,rond\nc,ann,a,1,2\n", "v.csv: 'rond' is no column; did you mean 'round'"),
    (HEAD + "score\n", "v.csv: needs a column 'rank' or 'rating' and has 'case'"),
    ("stakeholder,id,rank\n", "v.csv: no column 'case'"),
    ("", "v.csv: no column 'case'"),
    (HEAD + 'rank\nc,ann,a,1\nc,ann,"b,2\nc,ann,c,3\n', "v.csv, line 3: not CSV: unexpected end"),
    (HEAD + f"rank\nc,ann,a,1\nc,ann,{'b' * 131_073},2\n", "v.csv, line 3: not CSV: field larger"),
    *[
        (HEAD + f"rank\nc,ann,a,{wrong}\n", "v.csv, line 2: rank .* is not a finite number")
        for wrong in ("", "inf", "1_0", "1e400", "٣", "1" * 400, "true", "0x1")
    ],
    *[
        (HEAD + f"rank,round\nc,ann,a,1,{wrong}\n", "v.csv, line 2: round .* is not a whole number")
        for wrong in ("0", "-1", "1.7", "x", "1_0", "٣", "1" * 400)
    ],
    (HEAD + "rank\n,ann,a,1\n", "v.csv, line 2: case is a text and not empty"),
    (HEAD + "rating\nc,ann,a,1\nc,ann,b,-0.1\n", r"v.csv, line 3, case 'c', 'ann': .*not -0.1"),
]
WRONG = [("v.jsonl", *one) for one in JSONL] + [("v.csv", *one) for one in CSV]


@pytest.mark.parametrize(
    ("name", "text", "message"), WRONG, ids=[f"{i}-{m[:50]}" for i, (_, _, m) in enumerate(WRONG)]
)
def test_a_recorded_ballot_is_never_another_one(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    policy = Recorded(path=str(written(tmp_path, text, name)))
    with pytest.raises(BallotError, match=message) as caught:
        policy.prepare()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["folder.csv", "folder.jsonl"])
def test_a_folder_is_no_file_of_ballots(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(BallotError, match=rf"can't read ballots '.*{name}': Is a directory"):
        Recorded(path=str(tmp_path / name)).prepare()


def one_vote(path: Path) -> Any:
    council = Council(TRIO, agents(party("ann"), policy=Recorded(path=str(path))))
    return council.decide(case(1)).votes[0].said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.jsonl", "\ufeff" + line(ranking=["a", ["b"]], round=1) + "\r\n\r\n"),
        ("v.jsonl", line(ranking=["a", "b"]) + "\n" + line(case="\u2028", approved=["a"])),
        ("v.csv", HEAD + "rank,round\r\nc, ann ,b,2e0,1\r\nc,ann, a,1,\r\n"),
        ("v.csv", HEAD + "rank\n\nc,ann,b,2\nc,ann,a,-1.5\n"),
    ],
)
def test_what_a_ballot_may_look_like(tmp_path: Path, name: str, text: str) -> None:
    # As a file may hold them: characters as they are, not escaped.
    text = text.replace("\\u2028", "\u2028")
    assert one_vote(written(tmp_path, text, name)) == Ranking(ids=("a", "b"))


def test_a_ballot_may_approve_of_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "\n".join(
        [line(approved=[]), line(stakeholder="bob", approved=["a"]), line(case="d", approved=[])]
    ), "v.jsonl")  # fmt: skip
    verdict = trio(Recorded(path=str(path))).decide(case())
    assert verdict.votes[0].said == Approvals(ids=())
    assert [vote.status for vote in verdict.votes] == ["ok", "ok", "abstained"]


def test_a_file_of_another_size_is_read_again_even_at_the_same_time(tmp_path: Path) -> None:
    path = written(tmp_path, line(ranking=["a", "b"]), "v.jsonl")
    stamp = path.stat().st_mtime_ns
    assert one_vote(path) == Ranking(ids=("a", "b"))
    written(tmp_path, line(ranking=["c"]), "v.jsonl")
    os.utime(path, ns=(stamp, stamp))
    assert one_vote(path) == Ranking(ids=("c",))


# -- stakeholders --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["s.toml", "s.json"])
def test_a_file_of_stakeholders_that_is_no_text_is_named(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, b'{"x": "caf\xe9"}', name)
    with pytest.raises(SpecError, match=rf"'.*{name}' is not UTF-8: invalid"):
        Stakeholders.load(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(SpecError, match=rf"can't read '.*{name}': Is a directory"):
        Stakeholders.load(path)
