"""Every row of the table of malformed answers, for each form; then what holds for any text."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from fairagents.agents.answers import CODES, KEYS, Answer, Asked, Form, normal, read, schema
from fairagents.errors import SpecError

IDS = ("poi_1", "poi_12", "poi_15", "café-royal", "old town")
FORMS: tuple[Form, ...] = ("rank", "approve", "rate")
SIZES = {"rank": 4, "approve": 3, "rate": 5}
GOOD: dict[Form, Any] = {
    "rank": {"ranking": ["poi_12", "poi_1", "old town", "café-royal"]},
    "approve": {"approved": ["poi_12", "poi_1", "old town"]},
    "rate": {"ratings": dict(zip(IDS, [3, 0, 10, 2.5, 7], strict=True))},
}


def asked(form: Form) -> Asked:
    return Asked(form, IDS, SIZES[form])


def both(text: str | None, form: Form, done: str | None = "stop") -> tuple[Answer, Answer]:
    """Read one text as a first and as a last answer."""
    first = read(text, done, asked(form), last=False)
    return first, read(text, done, asked(form), last=True)


def ballot(form: Form, value: Any, **more: Any) -> str:
    return json.dumps({KEYS[form]: value, **more})


@pytest.mark.parametrize("form", FORMS)
def test_good(form: Form) -> None:
    for answer in both(json.dumps(GOOD[form] | {"reason": "Near."}), form):
        assert (answer.verdict, answer.codes, answer.problem) == ("ok", (), "")
        assert answer.reason == "Near."
        if form == "rate":
            assert (answer.ids, answer.values) == (IDS, (3, 0, 10, 2.5, 7))
        else:
            assert (list(answer.ids), answer.values) == (GOOD[form][KEYS[form]], ())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "wrap",
    [
        "```json\n{}\n```",
        "```\n{}```",
        "<think>first {{a}}, then</think>\n{}",
        "<THINKING>\n</THINKING>{}",
        "so poi_1 it is</think>\n\n{}",
        "<think>x</think>```json\n{}\n```",
        "\ufeff ```json\n{}\n``` \n",
    ],
)
def test_wrapped_is_normalised(form: Form, wrap: str) -> None:
    for answer in both(wrap.format(json.dumps(GOOD[form])), form):
        assert (answer.verdict, answer.codes) == ("ok", ("normalised",))


@pytest.mark.parametrize("form", FORMS)
def test_surrounding_space_is_nothing(form: Form) -> None:
    assert both(f" \n{json.dumps(GOOD[form])}\n", form)[0].codes == ()


@pytest.mark.parametrize("said", [" POI 12 ", "Poi-12", "poi__12", "\uff30\uff2f\uff29_12"])
def test_spellings_of_one_id(said: str) -> None:
    answer = both(ballot("approve", [said, "CAFE ROYAL", "Old-Town"]), "approve")[0]
    assert (answer.verdict, answer.codes) == ("ok", ("normalised",))
    assert answer.ids == ("poi_12", "café-royal", "old town")
    rated = ballot("rate", {said: 1, "poi_1": 2, "poi_15": 3, "Cafe royal": 4, "OLD TOWN": 5})
    assert both(rated, "rate")[0].values == (2, 1, 3, 4, 5)


def test_a_spelling_of_two_ids_is_unknown_unless_exact() -> None:
    two = Asked("approve", ("a_b", "a b", "--"), 2)
    assert read('{"approved": ["a_b"]}', "stop", two, last=False).ids == ("a_b",)
    for said in ("A-B", "", " "):
        answer = read(json.dumps({"approved": [said]}), "stop", two, last=False)
        assert answer.codes == ("partial", "unknown_id")


UNUSABLE = {
    "prose": ("Sure! GOOD Enjoy.", "not_json"),
    "prose before a fence": ("Here:\n```json\nGOOD\n```", "not_json"),
    "two blocks": ("```json\nGOOD\n```\n```json\nGOOD\n```", "not_json"),
    "two objects": ("GOOD\nGOOD", "not_json"),
    "open think": ("<think>hm GOOD", "not_json"),
    "open fence": ("```json\nGOOD", "not_json"),
    "empty": ("", "empty"),
    "space": (" \n\t", "empty"),
    "only thoughts": ("<think>well</think>\n", "empty"),
    "empty fence": ("``````", "empty"),
    "root number": ("12", "wrong_shape"),
    "root string": ('"poi_1"', "wrong_shape"),
    "null": ("null", "wrong_shape"),
    "deep": ("[" * 100_000, "not_json"),
    "huge number": ('{"x": ' + "9" * 5000 + "}", "not_json"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("row", UNUSABLE)
def test_unusable(form: Form, row: str) -> None:
    template, code = UNUSABLE[row]
    first, last = both(template.replace("GOOD", json.dumps(GOOD[form])), form)
    assert (first.verdict, first.codes) == ("again", (code,))
    assert (last.verdict, last.codes) == ("abstained", (code,))
    assert (last.ids, last.values) == ((), ())
    assert first.problem == last.problem
    assert first.problem.endswith("shown." if form != "rate" else "from 0 to 10.")


@pytest.mark.parametrize("form", FORMS)
def test_quotes_and_commas(form: Form) -> None:
    for text in (str(GOOD[form]), json.dumps(GOOD[form])[:-1] + ",}"):
        assert [a.codes for a in both(text, form)] == [("not_json",)] * 2


@pytest.mark.parametrize("form", FORMS)
def test_wrong_shapes(form: Form) -> None:
    key, good = KEYS[form], GOOD[form]
    value = json.dumps(good[key])
    texts = [
        json.dumps(list(good[key])),
        json.dumps(schema(asked(form))),
        json.dumps({f"my_{key}": good[key]}),
        json.dumps({key: "poi_1"}),
        json.dumps({key: None}),
        json.dumps({key: ["poi_1"] if form == "rate" else {"poi_1": 1}}),
        f'{{"{key}": {value}, "{key}": {value}}}',
        f'{{"{key}": {value}, "reason": "a", "reason": "b"}}',
    ]
    for text in texts:
        first, last = both(text, form)
        assert (first.verdict, last.verdict) == ("again", "abstained"), text
        assert first.codes == last.codes == ("wrong_shape",), text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("done", ["length", None, "load", ""])
def test_unfinished_is_never_parsed(form: Form, done: str | None) -> None:
    first, last = both(json.dumps(GOOD[form]), form, done)
    assert (first.verdict, last.verdict) == ("again", "abstained")
    assert first.codes == last.codes == ("truncated",)


@pytest.mark.parametrize("form", FORMS)
def test_no_content(form: Form) -> None:
    first, last = both(None, form)
    assert (first.verdict, last.verdict) == ("again", "abstained")
    assert first.codes == ("no_answer",)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("more", [{"confidence": float("1")}, {"reason": 5}])
def test_extra_keys(form: Form, more: dict[str, Any]) -> None:
    for answer in both(json.dumps(GOOD[form] | more), form):
        assert (answer.verdict, answer.codes, answer.reason) == ("ok", ("extra_keys",), "")


LISTS: list[tuple[Form, list[Any], tuple[str, ...], str, tuple[str, ...]]] = [
    ("rank", ["poi_1", "x", "poi_12", "poi_15", "old town"], ("unknown_id",), "repaired",
     ("poi_1", "poi_12", "poi_15", "old town")),
    ("rank", ["poi_1", "x", "poi_12", "y"], ("partial", "unknown_id"), "repaired",
     ("poi_1", "poi_12")),
    ("rank", ["poi_1", "x", "z", "y"], ("partial", "unknown_id"), "abstained", ()),
    ("rank", ["poi_1", "poi_12", "poi_1", "POI 1"],
     ("duplicate", "normalised", "partial"), "repaired", ("poi_1", "poi_12")),
    ("rank", ["poi_12", "poi_1"], ("partial",), "repaired", ("poi_12", "poi_1")),
    ("rank", ["poi_12"], ("partial",), "abstained", ()),
    ("rank", [], ("partial",), "abstained", ()),
    ("rank", list(IDS), ("wrong_shape",), "repaired", IDS[:4]),
    ("rank", ["poi_1", 7, None, ["poi_12"], {"id": "poi_12"}, "poi_12"],
     ("partial", "unknown_id"), "repaired", ("poi_1", "poi_12")),
    ("approve", ["poi_1", "x"], ("unknown_id",), "repaired", ("poi_1",)),
    ("approve", ["poi_1", "x", "y"], ("unknown_id",), "abstained", ()),
    ("approve", ["poi_1", "poi_1", "x", "x"], ("duplicate", "unknown_id"), "repaired", ("poi_1",)),
    ("approve", [], ("partial",), "abstained", ()),
    ("approve", ["x"], ("partial", "unknown_id"), "abstained", ()),
    ("approve", list(IDS), ("wrong_shape",), "abstained", ()),
]  # fmt: skip


@pytest.mark.parametrize(("form", "said", "codes", "verdict", "ids"), LISTS)
def test_lists(
    form: Form, said: list[Any], codes: tuple[str, ...], verdict: str, ids: tuple[str, ...]
) -> None:
    first, last = both(ballot(form, said, reason="Near."), form)
    assert (first.verdict, first.codes, first.ids) == ("again", codes, ())
    assert (last.verdict, last.codes, last.ids) == (verdict, codes, ids)
    assert last.reason == "Near."


def test_nan_in_a_list_is_not_json() -> None:
    assert both('{"ranking": [NaN]}', "rank")[0].codes == ("not_json",)


RATINGS: list[tuple[str, tuple[str, ...], tuple[float | None, ...]]] = [
    ('"poi_1": NaN, "poi_12": 1, "poi_15": 2, "café-royal": 3, "old town": 4',
     ("bad_rating",), (None, 1, 2, 3, 4)),
    ('"poi_1": Infinity, "poi_12": 10.01, "poi_15": 2, "café-royal": 3, "old town": 4',
     ("bad_rating",), (None, None, 2, 3, 4)),
    ('"poi_1": "5", "poi_12": true, "poi_15": 2, "café-royal": 3, "old town": 4',
     ("bad_rating",), (None, None, 2, 3, 4)),
    ('"poi_1": 1e999, "poi_12": null, "poi_15": 2, "café-royal": 3, "old town": -0.0',
     ("bad_rating",), (None, None, 2, 3, 0)),
    ('"poi_12": 1, "poi_15": 2, "café-royal": 3', ("partial",), (None, 1, 2, 3, None)),
    ('"x": 9, "poi_1": 0, "poi_12": 1, "poi_15": 2, "café-royal": 3, "old town": 4',
     ("unknown_id",), (0, 1, 2, 3, 4)),
    ('"poi_1": 0, "poi_1": 0, "poi_12": 1, "POI 12": 2, "poi_15": 2, "café-royal": 3, '
     '"old town": 4', ("duplicate", "normalised"), (0, None, 2, 3, 4)),
    ('"poi_12": 1, "poi_15": 2, "x": 3', ("partial", "unknown_id"), ()),
    ('"poi_1": "1", "poi_12": "1", "poi_15": "2", "café-royal": 3, "old town": 4',
     ("bad_rating",), ()),
    ("", ("partial",), ()),
]  # fmt: skip


@pytest.mark.parametrize(("said", "codes", "values"), RATINGS)
def test_ratings(said: str, codes: tuple[str, ...], values: tuple[float | None, ...]) -> None:
    first, last = both(f'{{"ratings": {{{said}}}}}', "rate")
    assert (first.verdict, first.codes, first.values) == ("again", codes, ())
    assert (last.verdict, last.codes, last.values) == (
        "repaired" if values else "abstained", codes, values,
    )  # fmt: skip


def test_the_problem_names_what_was_wrong_and_what_is_right() -> None:
    said = ["pio_1", "poi_12", "poi_12", *"abcdef", "\ud800", "x" * 90]
    problem = both(ballot("rank", said), "rank")[0].problem
    assert problem.startswith("'pio_1', 'a', 'b', 'c', 'd' and 4 more are not any of the ids")
    assert "'poi_12' stood there more than once; only 1 of 4 ids ranked" in problem
    assert problem.endswith(": rank exactly 4 different ids out of those shown.")
    long = both(ballot("approve", ["\ud800", "x" * 90]), "approve")[0].problem
    assert long.encode() and "..." in long and "x" * 40 not in long
    bad = both('{"ratings": {"poi_1": 11}}', "rate")[0].problem
    assert "'poi_12', 'poi_15', 'café-royal', 'old town' are unrated" in bad
    assert "the rating of 'poi_1' is not a number from 0 to 10" in bad


def test_asked_is_checked() -> None:
    for form, ids, size in [
        ("rank", (), 1), ("rank", ("a", "a"), 1), ("rank", ("a",), 2), ("rank", ("a",), 0),
        ("rate", ("a", "b"), 1), ("best", ("a",), 1),
    ]:  # fmt: skip
        with pytest.raises(SpecError):
            Asked(form, ids, size)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="low 3"):
        Asked("rate", ("a",), 1, low=3, high=3)


def test_schema_is_flat_and_closed() -> None:
    rank = schema(asked("rank"))
    assert rank["properties"]["ranking"]["items"]["enum"] == list(IDS)
    assert (rank["properties"]["ranking"]["minItems"], rank["additionalProperties"]) == (4, False)
    assert schema(asked("approve"))["properties"]["approved"]["minItems"] == 1
    rate = schema(asked("rate"))["properties"]["ratings"]
    assert rate["required"] == list(IDS)
    assert rate["properties"]["poi_1"] == {"type": "number", "minimum": 0, "maximum": 10}


def check(answer: Answer, ask: Asked, last: bool) -> None:
    assert answer.verdict != ("again" if last else "repaired")
    assert last or answer.verdict != "abstained"
    assert list(answer.codes) == sorted(set(answer.codes)) and set(answer.codes) <= set(CODES)
    assert set(answer.ids) <= set(ask.ids) and len(set(answer.ids)) == len(answer.ids)
    assert bool(answer.problem) == (answer.verdict != "ok")
    answer.problem.encode(), answer.reason.encode()
    if answer.verdict in ("again", "abstained"):
        assert (answer.ids, answer.values) == ((), ())
    elif ask.form == "rate":
        assert answer.ids == ask.ids and len(answer.values) == len(ask.ids)
        assert all(v is None or ask.low <= v <= ask.high for v in answer.values)
    else:
        assert answer.values == () and 1 <= len(answer.ids) <= ask.size


ids_or_noise = st.one_of(
    st.sampled_from([*IDS, "POI 1", "Cafe royal", "x", "poi_9"]), st.text(max_size=6)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ids_or_noise,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(ids_or_noise, inner, max_size=5),
    max_leaves=8,
)
answers = st.one_of(
    st.text(max_size=80),
    json_values.map(json.dumps),
    st.dictionaries(st.sampled_from([*KEYS.values(), "reason", "x"]), json_values, max_size=3).map(
        json.dumps
    ),
    st.text(alphabet='{}[]",:`<>/think ranking\\u0d8e9.-\n', max_size=60),
)


@given(answers, st.sampled_from(FORMS), st.booleans(), st.sampled_from(["stop", "length", None]))
@settings(max_examples=200, deadline=None)
def test_any_text(text: str, form: Form, last: bool, done: str | None) -> None:
    check(read(text, done, asked(form), last=last), asked(form), last)


@given(st.lists(ids_or_noise, max_size=8), st.sampled_from(["rank", "approve"]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_lists_keep_their_order(said: list[str], form: Form, last: bool) -> None:
    ask = asked(form)
    answer = read(ballot(form, said), "stop", ask, last=last)
    check(answer, ask, last)
    meant = {normal(name): name for name in IDS}
    expected = list(dict.fromkeys(meant[normal(s)] for s in said if normal(s) in meant))
    if answer.ids:
        assert list(answer.ids) == expected[: len(answer.ids)]
    clean = len(said) == len(expected) and ask.size >= len(said) >= (4 if form == "rank" else 1)
    assert (answer.verdict == "ok") == clean


@given(st.integers())
@settings(max_examples=50, deadline=None)
def test_any_cut_of_a_good_answer_is_refused(seed: int) -> None:
    rng = random.Random(seed)
    form = rng.choice(FORMS)
    text = json.dumps(GOOD[form])
    first = read(text[: rng.randrange(len(text))], "stop", asked(form), last=False)
    assert first.verdict == "again" and first.codes in (("not_json",), ("empty",))
