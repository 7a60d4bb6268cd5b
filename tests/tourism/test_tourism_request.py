"""The typed trip request and the case it becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairagents.case import Case
from fairagents.errors import SpecError
from usecases.tourism import TripRequest, load_cities, tourism, trip_case
from usecases.tourism.request import months_of


def left(case: Case) -> set[str]:
    """Return what may be on the slate."""
    setting = tourism.setting(case)
    return {one for one, ok in zip(setting.pool.ids, setting.feasible.allowed, strict=True) if ok}


@pytest.mark.parametrize("month", [7, "July", "july", "Jul"])
def test_months(month: Any) -> None:
    assert TripRequest(origin="Vienna", month=month).month == 7


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"month": "Jully"}, "did you mean 'July'"),
        ({"month": "Ju"}, "no English month name"),
        ({"month": 13}, "less than or equal to 12"),
        ({"days": 0}, "greater than or equal to 1"),
        ({"days": 31}, "less than or equal to 30"),
        ({"budget": "hihg"}, "did you mean 'high'"),
        ({"party": "famly"}, "did you mean 'family'"),
        ({"intrests": ["art"]}, "did you mean 'interests'"),
        ({"interests": ["art", "art"]}, "'art' is given twice"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        TripRequest(**{"origin": "Vienna", "month": 7, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"origin": "Viena"}, "did you mean 'Vienna'"),
        ({"origin": "95,10"}, "latitude is -90 to 90"),
        ({"interests": ["musik"]}, "TripRequest.interests: no 'musik'; did you mean 'music'"),
        ({"avoid": ["Venise"]}, "did you mean 'Venice'"),
        ({"require": ["trail"]}, "did you mean 'rail'"),
    ],
)
def test_a_wrong_word_is_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        trip_case(TripRequest(**{"origin": "Vienna", "month": 7, **fields}))


def test_a_city_to_leave_out_must_exist() -> None:
    with pytest.raises(SpecError, match="did you mean 'Graz'"):
        trip_case(TripRequest(origin="Vienna", month=7), exclude=["Grazz"])


def test_the_case_is_plain_json_and_needs_no_catalogue() -> None:
    case = trip_case(TripRequest(origin="Vienna", month=7, party="family"), size=5)
    assert Case.model_validate_json(case.model_dump_json()) == case
    request = json.loads(json.dumps(case.request))
    assert request["origin_lat"] == pytest.approx(48.2, abs=0.1)
    assert request["origin_lon"] == pytest.approx(16.4, abs=0.1)
    assert (request["origin_rail"], request["persons"]) == (3, 4)


def test_a_point_is_an_origin() -> None:
    case = trip_case(TripRequest(origin="48.2, 16.4", month=7))
    assert case.request["origin_lat"] == 48.2
    assert left(case) == set(load_cities().ids)


def test_origin_and_cities_to_avoid_are_left_out() -> None:
    request = TripRequest(origin="Vienna", month=7, avoid=("Venice", "nightlife"))
    all_left = left(trip_case(request, exclude=["Graz"]))
    assert set(load_cities().ids) - all_left == {"Vienna", "Venice", "Graz"}


def test_requirements_are_hard() -> None:
    cities = load_cities()
    some = left(trip_case(TripRequest(origin="Vienna", month=7, require=("rail", "beach"))))
    assert some
    for one in some:
        assert cities.cell(one, "rail") >= 2
        assert "beach" in cities.cell(one, "interests")


def test_different_requests_have_different_ids() -> None:
    ids = [case.id for case in tourism.cases()]
    assert len(set(ids)) == len(ids) == 90


def test_a_trip_has_a_sibling_in_every_month() -> None:
    case = trip_case(TripRequest(origin="Vienna", month=7))
    siblings = months_of(case)
    assert next(iter(siblings)) == "January"
    assert [one.request["month"] for one in siblings.values()] == list(range(1, 13))
    assert siblings["July"] == case
    assert len({one.id for one in siblings.values()}) == 12
