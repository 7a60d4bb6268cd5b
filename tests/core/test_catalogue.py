"""Catalogues: what a cell may hold, what is unknown, and what is wrong where."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from fairagents.case import Pool
from fairagents.catalogue import Catalogue, ColumnSpec
from fairagents.errors import CatalogueError
from fairagents.spec import Column

CSV = """id,price,country,tags,season
a,2.5,Spain,sea|sun,1|2|3|4|5|6|7|8|9|10|11|12
b,,France,-,
c,7, ,sun,0|0|0|0|0|0|0|0|0|0|0|1
"""


def written(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_csv_file_gives_typed_columns_with_explicit_gaps(tmp_path: Path) -> None:
    c = Catalogue.from_csv(written(tmp_path, CSV))
    assert c.ids == ("a", "b", "c")
    assert {name: c.spec(name).kind for name in c.columns} == {
        "price": "numeric",
        "country": "category",
        "tags": "tags",
        "season": "monthly",
    }
    assert c.numeric("price").tolist() == pytest.approx([2.5, np.nan, 7.0], nan_ok=True)
    labels, codes = c.category("country")
    assert (labels, codes.tolist()) == (("France", "Spain"), [1, 0, -1])
    names, has, known = c.tags("tags")
    assert names == ("sea", "sun")
    assert has.tolist() == [[True, True], [False, False], [False, True]]
    assert known.all()
    assert c.monthly("season")[0].tolist() == list(range(1, 13))
    assert c.missing() == {"price": 1, "country": 1, "season": 1}
    assert [c.cell("b", name) for name in c.columns] == [None, "France", [], None]
    assert c.cell("c", "season")[-1] == 1.0


def test_rows_columns_and_frames_give_the_same_catalogue() -> None:
    class Inn(BaseModel):
        id: str
        price: float | None
        country: str

    class Frame:
        columns = ("id", "price", "country")

        def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
            return np.array({
                "id": ["a", "b"], "price": [1.0, np.nan], "country": ["X", None],
            }[name], dtype=float if name == "price" else object)  # fmt: skip

    rows = [Inn(id="a", price=1.0, country="X"), Inn(id="b", price=None, country="")]
    cells: dict[str, Any] = {"price": [1.0, None], "country": ["X", None]}
    arrays: Any = {**cells, "price": np.array([1, np.nan], np.float32)}
    made = [
        Catalogue.from_rows(rows),
        Catalogue.from_rows([row.model_dump() for row in rows]),
        Catalogue.from_cells("c", ["a", "b"], cells),
        Catalogue.from_cells("c", ["a", "b"], arrays),
        Catalogue.from_frame(Frame()),
    ]  # fmt: skip
    assert len({c.digest for c in made}) == 1


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (
            lambda c: Catalogue.from_cells("other name", c.ids, {"x": [1.0, 2.0], "k": ["u", "v"]}),
            1,
        ),
        (lambda c: Catalogue.from_cells("c", c.ids, {"k": ["u", "v"], "x": [1.0, 2.0]}), 1),
        (lambda c: Catalogue.from_cells("c", c.ids, {"x": [1.0, 2.5], "k": ["u", "v"]}), 0),
        (lambda c: Catalogue.from_cells("c", c.ids, {"x": [1.0, None], "k": ["u", "v"]}), 0),
        (lambda c: Catalogue.from_cells("c", c.ids, {"x": [1.0, 2.0], "k": ["u", "w"]}), 0),
        (lambda c: Catalogue.from_cells("c", ["b", "a"], {"x": [1.0, 2.0], "k": ["u", "v"]}), 0),
        (lambda c: c.replace("x", np.array([1.0, 2.0])), 1),
        (lambda c: c.replace("x", np.array([1.0, 3.0])), 0),
    ],
)
def test_the_digest_tells_contents_apart_and_nothing_else(change: Any, same: int) -> None:
    c = Catalogue.from_cells("c", ["a", "b"], {"x": [1.0, 2.0], "k": ["u", "v"]})
    assert (change(c).digest == c.digest) == bool(same)


def test_columns_can_not_be_written_to_and_replacing_leaves_the_callers_array_alone() -> None:
    c = Catalogue.from_cells("c", ["a", "b"], {"x": [1.0, 2.0], "t": ["u|v", "v"]})
    with pytest.raises(ValueError, match="read-only"):
        c.numeric("x")[0] = 9
    mine = np.array([3.0, 4.0])
    other = c.replace("x", mine)
    mine[0] = 9.0
    assert other.numeric("x").tolist() == [3.0, 4.0]
    assert c.numeric("x").tolist() == [1.0, 2.0]


NUMBER = {"price": ColumnSpec(kind="numeric")}

BAD: list[tuple[Any, str]] = [
    (lambda: Catalogue.from_rows([]), "has no rows"),
    (lambda: Catalogue.from_rows([{"id": "a"}, {"id": "a"}]), "id 'a' is given twice"),
    (lambda: Catalogue.from_rows([{"name": "a"}]), "row 1: no 'id'"),
    (lambda: Catalogue.from_rows([{"id": " "}]), "row 1: the id is empty"),
    (lambda: Catalogue.from_rows([{"id": 7}]), "row 1: id 7 is not a text"),
    (
        lambda: Catalogue.from_rows([{"id": "a", "price": "cheap"}], specs=NUMBER),
        "column 'price', 'a': 'cheap' is not a finite number",
    ),
    (
        lambda: Catalogue.from_rows([{"id": "a", "price": float("inf")}], specs=NUMBER),
        "inf is not a finite number",
    ),
    (
        lambda: Catalogue.from_rows([{"id": "a", "prize": 1}], specs=NUMBER),
        "lacks column 'price'; did you mean 'prize'",
    ),
    (
        lambda: Catalogue.from_rows(
            [{"id": "a", "season": [1, 2]}], specs={"season": ColumnSpec(kind="monthly")}
        ),
        "column 'season', 'a': .* is not twelve finite numbers",
    ),
    (
        lambda: Catalogue.from_rows(
            [{"id": "a", "country": 3}], specs={"country": ColumnSpec(kind="category")}
        ),
        "column 'country', 'a': 3 is not a word",
    ),
    (
        lambda: Catalogue.from_rows(
            [{"id": "a", "tags": "x||y"}], specs={"tags": ColumnSpec(kind="tags")}
        ),
        "column 'tags', 'a': .* empty tags",
    ),
    (
        lambda: Catalogue.from_cells("c", ["a", "b"], {"price": [1.0]}),
        "column 'price': 1 cells for 2 ids",
    ),
    (
        lambda: Catalogue.from_cells("c", ["a"], {"country": ["x", "y"]}),
        "column 'country': 2 cells for 1 ids",
    ),
    (lambda: Catalogue.from_cells("c", ["a"], {"x": [1.0]}).numeric("y"), "no column 'y'"),
    (lambda: Catalogue.from_cells("c", ["a"], {"x": [1.0]}).category("x"), "numeric, not category"),
    (lambda: Catalogue.from_cells("c", ["abc"], {"x": [1.0]}).row("abd", "here"), "here: 'abd' is "
     "not in catalogue 'c'; did you mean 'abc'"),
    (lambda: Catalogue.from_cells("c", ["a"], {"x": [1.0]}).replace("x", np.zeros(2)), r"\(1,\)"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), BAD, ids=[m for _, m in BAD])
def test_what_is_wrong_with_a_catalogue_is_said_with_its_place(make: Any, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("price\n1\n", "no column 'id'"),
        ("Id,price\na,1\n", "no column 'id'; did you mean 'Id'"),
        ("id,price,price\na,1,2\n", "a column name is given twice"),
        ("id,price\na,1\nb\n", "line 3: 1 cells, not 2 as in the header"),
        ("id,price\na,1\n\nb,2,3\n", "line 4: 3 cells, not 2"),
        ("", "no column 'id'"),
        ("id,price\n", "has no rows"),
    ],
)
def test_a_broken_csv_file_names_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        Catalogue.from_csv(written(tmp_path, text))


def test_files_that_can_not_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"can't read catalogue '.*none.csv'"):
        Catalogue.from_csv(tmp_path / "none.csv")
    path = tmp_path / "latin.csv"
    path.write_bytes("id,x\ncafé,1\n".encode("latin-1"))
    with pytest.raises(CatalogueError, match="is not UTF-8"):
        Catalogue.from_csv(path)


def test_a_hundred_thousand_rows_load_in_seconds_and_indicators_are_vectorised(
    tmp_path: Path,
) -> None:
    lines = [f"r{i},{i % 1000},{'XYZ'[i % 3]},{'u|v' if i % 2 else 'u'}" for i in range(100_000)]
    path = written(tmp_path, "id,price,country,tags\n" + "\n".join(lines) + "\n")
    start = time.process_time()
    c = Catalogue.from_csv(path)
    assert time.process_time() - start < 15  # a second or so on a machine of its own
    pool = Pool(c)
    start = time.process_time()
    values = pool.values(Column(column="price"))
    assert time.process_time() - start < 0.2
    assert values.shape == (100_000,)
    assert values.sum() == sum(i % 1000 for i in range(100_000))
    assert pool.values(Column(column="price")) is values
